//! Elements of reductions: types and operations by number.
use super::half;

/// Bytes of an element of a type.
pub fn bytes(kind: u32) -> Option<usize> {
    [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2, 8, 16].get(kind as usize).copied()
}

/// What combines two elements into the first.
pub type Combine = fn(&mut [u8], &[u8]);

const AND: u32 = 0;
const OR: u32 = 1;
const XOR: u32 = 2;
const MAX: u32 = 3;
const MIN: u32 = 4;
const SUM: u32 = 5;
const PROD: u32 = 6;

fn apply<T, const N: usize>(
    into: &mut [u8],
    other: &[u8],
    from: fn([u8; N]) -> T,
    to: fn(T) -> [u8; N],
    f: fn(T, T) -> T,
) {
    let (a, b) = (from(into.try_into().expect("an element")), from(other.try_into().expect("an element")));
    into.copy_from_slice(&to(f(a, b)));
}

macro_rules! integer {
    ($type:ty, $op:expr) => {{
        macro_rules! with {
            ($f:expr) => {
                |a, b| apply(a, b, <$type>::from_le_bytes, <$type>::to_le_bytes, $f)
            };
        }
        let found: Option<Combine> = match $op {
            AND => Some(with!(|a, b| a & b)),
            OR => Some(with!(|a, b| a | b)),
            XOR => Some(with!(|a, b| a ^ b)),
            MAX => Some(with!(|a, b| a.max(b))),
            MIN => Some(with!(|a, b| a.min(b))),
            SUM => Some(with!(|a, b| a.wrapping_add(b))),
            PROD => Some(with!(|a, b| a.wrapping_mul(b))),
            _ => None,
        };
        found
    }};
}

macro_rules! floating {
    ($from:expr, $to:expr, $op:expr) => {{
        macro_rules! with {
            ($f:expr) => {
                |a, b| apply(a, b, $from, $to, $f)
            };
        }
        let found: Option<Combine> = match $op {
            // An operand that is not a number is the result.
            MAX => Some(with!(|a, b| if a.is_nan() || a >= b { a } else { b })),
            MIN => Some(with!(|a, b| if a.is_nan() || a <= b { a } else { b })),
            SUM => Some(with!(|a, b| a + b)),
            PROD => Some(with!(|a, b| a * b)),
            _ => None,
        };
        found
    }};
}

macro_rules! complex {
    ($type:ty, $half:literal, $whole:literal, $op:expr) => {{
        type Pair = ($type, $type);
        fn from(bytes: [u8; $whole]) -> Pair {
            let (real, imaginary) = bytes.split_at($half);
            let part = |bytes: &[u8]| <$type>::from_le_bytes(bytes.try_into().expect("half of it"));
            (part(real), part(imaginary))
        }
        fn to(value: Pair) -> [u8; $whole] {
            let mut bytes = [0; $whole];
            bytes[..$half].copy_from_slice(&value.0.to_le_bytes());
            bytes[$half..].copy_from_slice(&value.1.to_le_bytes());
            bytes
        }
        let found: Option<Combine> = match $op {
            SUM => Some(|a, b| apply(a, b, from, to, |a: Pair, b: Pair| (a.0 + b.0, a.1 + b.1))),
            PROD => Some(|a, b| {
                apply(a, b, from, to, |a: Pair, b: Pair| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0))
            }),
            _ => None,
        };
        found
    }};
}

/// The operation `op` on elements of type `kind`, if there is one.
pub fn combine(kind: u32, op: u32) -> Option<Combine> {
    match kind {
        0 => integer!(u8, op),
        1 => integer!(u16, op),
        2 => integer!(u32, op),
        3 => integer!(u64, op),
        4 => integer!(i8, op),
        5 => integer!(i16, op),
        6 => integer!(i32, op),
        7 => integer!(i64, op),
        8 => floating!(f32::from_le_bytes, f32::to_le_bytes, op),
        9 => floating!(f64::from_le_bytes, f64::to_le_bytes, op),
        10 => floating!(
            |bytes: [u8; 2]| half::from_half(u16::from_le_bytes(bytes)),
            |value: f32| half::to_half(value).to_le_bytes(),
            op
        ),
        11 => floating!(
            |bytes: [u8; 2]| half::from_bfloat(u16::from_le_bytes(bytes)),
            |value: f32| half::to_bfloat(value).to_le_bytes(),
            op
        ),
        12 => complex!(f32, 4, 8, op),
        13 => complex!(f64, 8, 16, op),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<const N: usize>(kind: u32, op: u32, mut a: [u8; N], b: [u8; N]) -> [u8; N] {
        assert_eq!(bytes(kind), Some(N));
        combine(kind, op).unwrap()(&mut a, &b);
        a
    }

    #[test]
    fn operations() {
        assert_eq!(one(4, SUM, 100i8.to_le_bytes(), 100i8.to_le_bytes()), (-56i8).to_le_bytes());
        assert_eq!(one(7, MIN, 1i64.to_le_bytes(), (-1i64).to_le_bytes()), (-1i64).to_le_bytes());
        assert_eq!(one(3, MIN, 1u64.to_le_bytes(), u64::MAX.to_le_bytes()), 1u64.to_le_bytes());
        assert_eq!(one(2, XOR, 6u32.to_le_bytes(), 3u32.to_le_bytes()), 5u32.to_le_bytes());
        assert_eq!(one(8, MAX, 1f32.to_le_bytes(), 2f32.to_le_bytes()), 2f32.to_le_bytes());
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(f64::from_le_bytes(one(9, MIN, a.to_le_bytes(), b.to_le_bytes())).is_nan());
        }
        assert_eq!(one(10, PROD, 0x4000u16.to_le_bytes(), 0x4200u16.to_le_bytes()), 0x4600u16.to_le_bytes());
        let i = [0f32.to_le_bytes(), 1f32.to_le_bytes()].concat().try_into().unwrap();
        assert_eq!(one::<8>(12, PROD, i, i)[..4], (-1f32).to_le_bytes());
        assert!(combine(8, AND).is_none() && combine(12, MAX).is_none() && combine(14, SUM).is_none());
    }
}
