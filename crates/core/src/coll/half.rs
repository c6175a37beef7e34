//! Reductions of 16-bit floating-point numbers: each step is computed with 32 bits, and rounded to nearest,
//! which gives the same as computing with 16 bits and rounding once.
use super::reduce::{ElementKind, ReduceNum, ReduceOp, Reducer};
use crate::half::{BFloat16, Half};

macro_rules! halves {
    ($($t:ident $tag:literal;)*) => {$(
        impl ReduceNum for $t {
            fn reducer(op: ReduceOp) -> Option<Reducer> {
                macro_rules! by {
                    ($f:expr) => {{
                        unsafe fn combine(acc: *mut u8, other: *const u8, n: usize) {
                            let (acc, other) = (acc.cast::<u16>(), other.cast::<u16>());
                            for i in 0..n {
                                // SAFETY: element i of both vectors, which the caller has.
                                unsafe {
                                    let a = $t::from_bits(acc.add(i).read_unaligned()).to_f32();
                                    let b = $t::from_bits(other.add(i).read_unaligned()).to_f32();
                                    let result: f32 = $f(a, b);
                                    acc.add(i).write_unaligned($t::from_f32(result).to_bits());
                                }
                            }
                        }
                        let (kind, tag) = (Some(ElementKind::$t), (op as u32) << 8 | $tag << 16 | 2);
                        Some(Reducer { elem: 2, kind, op, combine, tag })
                    }};
                }
                match op {
                    ReduceOp::Max => by!(max),
                    ReduceOp::Min => by!(min),
                    ReduceOp::Sum => by!(|a, b| a + b),
                    ReduceOp::Prod => by!(|a, b| a * b),
                    _ => None,
                }
            }
        }
    )*};
}
halves! {
    Half 0x4846;
    BFloat16 0x4246;
}

/// As for other floating-point numbers: a NaN is the result, whichever rank it comes from, and -0 < 0.
fn max(a: f32, b: f32) -> f32 {
    match () {
        _ if a.is_nan() || a > b => a,
        _ if b.is_nan() || b > a => b,
        _ if a.is_sign_negative() => b,
        _ => a,
    }
}

fn min(a: f32, b: f32) -> f32 {
    match () {
        _ if a.is_nan() || a < b => a,
        _ if b.is_nan() || b < a => b,
        _ if a.is_sign_negative() => a,
        _ => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(op: ReduceOp, a: f32, b: f32) -> f32 {
        let reducer = Half::reducer(op).expect("an operation of floating-point numbers");
        // At an odd address, as a user's vector may be.
        let mut bytes = [0u8; 5];
        bytes[1..3].copy_from_slice(&Half::from_f32(a).to_bits().to_ne_bytes());
        bytes[3..].copy_from_slice(&Half::from_f32(b).to_bits().to_ne_bytes());
        let (acc, other) = bytes.split_at_mut(3);
        // SAFETY: one element each.
        unsafe { (reducer.combine)(acc[1..].as_mut_ptr(), other.as_ptr(), 1) };
        Half::from_bits(u16::from_ne_bytes([acc[1], acc[2]])).to_f32()
    }

    #[test]
    fn results_are_rounded_and_nan_is_kept() {
        assert_eq!(half(ReduceOp::Sum, 2048.0, 1.0), 2048.0, "half way, to even");
        assert_eq!(half(ReduceOp::Sum, 2048.0, 3.0), 2052.0, "half way, to even");
        assert_eq!(half(ReduceOp::Prod, 300.0, 300.0), f32::INFINITY);
        assert_eq!(half(ReduceOp::Max, -1.5, 2.5), 2.5);
        assert_eq!(half(ReduceOp::Min, -1.5, 2.5), -1.5);
        assert!(half(ReduceOp::Max, 0.0, -0.0).is_sign_positive());
        assert!(half(ReduceOp::Min, 0.0, -0.0).is_sign_negative());
        for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum, ReduceOp::Prod] {
            assert!(half(op, f32::NAN, 1.0).is_nan() && half(op, 1.0, f32::NAN).is_nan(), "{op:?}");
        }
        assert!(Half::reducer(ReduceOp::Xor).is_none());
    }

    #[test]
    fn members_that_disagree_about_the_type_are_found() {
        let tag = |reducer: Option<Reducer>| reducer.expect("a sum").tag;
        let half = tag(Half::reducer(ReduceOp::Sum));
        for other in
            [BFloat16::reducer(ReduceOp::Sum), i16::reducer(ReduceOp::Sum), u16::reducer(ReduceOp::Sum)]
        {
            assert_ne!(half, tag(other));
        }
    }
}
