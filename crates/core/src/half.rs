//! Floating-point numbers of 16 bits. They travel as bits, and are computed with as 32-bit numbers.

/// IEEE 754 binary16: 1 sign bit, 5 of the exponent, 10 of the fraction.
///
/// A structure, as C programs pass it: its register is not extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Half {
    bits: u16,
}

/// The upper half of a 32-bit number: 1 sign bit, 8 of the exponent, 7 of the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BFloat16 {
    bits: u16,
}

/// `value` without its lowest `bits` bits, rounded to nearest, to even where two are equally near.
fn round_off(value: u32, bits: u32) -> u32 {
    let (kept, rest, middle) = (value >> bits, value & ((1 << bits) - 1), 1 << (bits - 1));
    kept + u32::from(rest > middle || (rest == middle && kept & 1 == 1))
}

impl Half {
    /// The number with these bits.
    pub const fn from_bits(bits: u16) -> Half {
        Half { bits }
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.bits
    }

    /// The same number, exactly.
    pub fn to_f32(self) -> f32 {
        let (sign, exponent) = (u32::from(self.bits >> 15) << 31, u32::from(self.bits >> 10) & 31);
        let fraction = u32::from(self.bits) & 0x3ff;
        let magnitude = match exponent {
            // Without the leading 1, in units of 2^-24.
            0 => (fraction as f32 * 2f32.powi(-24)).to_bits(),
            31 => 0x7f80_0000 | fraction << 13,
            _ => (exponent + 127 - 15) << 23 | fraction << 13,
        };
        f32::from_bits(sign | magnitude)
    }

    /// The nearest number, of two the even one; infinite from 65520 on. A NaN stays one.
    pub fn from_f32(value: f32) -> Half {
        let bits = value.to_bits();
        let (sign, magnitude) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
        let rounded = match magnitude {
            // The quiet bit keeps a fraction that would be cut off from becoming an infinity.
            0x7f80_0001.. => 0x7e00 | (magnitude >> 13) & 0x3ff,
            0x477f_f000.. => 0x7c00,
            // From 2^-14 on: another bias, less fraction. A carry moves into the exponent, as it should.
            0x3880_0000.. => round_off(magnitude - ((127 - 15) << 23), 13),
            // At least 2^-25: a fraction in units of 2^-24.
            0x3300_0000.. => {
                let (exponent, fraction) = (magnitude >> 23, magnitude & 0x7f_ffff | 0x80_0000);
                round_off(fraction, 126 - exponent)
            }
            _ => 0,
        };
        Half { bits: sign | rounded as u16 }
    }
}

impl BFloat16 {
    /// The number with these bits.
    pub const fn from_bits(bits: u16) -> BFloat16 {
        BFloat16 { bits }
    }

    /// Its bits.
    pub const fn to_bits(self) -> u16 {
        self.bits
    }

    /// The same number, exactly.
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.bits) << 16)
    }

    /// The nearest number, of two the even one. A NaN stays one.
    pub fn from_f32(value: f32) -> BFloat16 {
        let bits = value.to_bits();
        let rounded = if value.is_nan() { bits >> 16 | 0x40 } else { round_off(bits, 16) };
        BFloat16 { bits: rounded as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest of all numbers of a type, found by looking at all of them.
    fn nearest(value: f32, all: &[(f32, u16)]) -> u16 {
        let right = all.partition_point(|(candidate, _)| *candidate < value);
        let (high, low) = (all.get(right), right.checked_sub(1).map(|at| all[at]));
        match (low, high) {
            (Some(low), Some(&high)) => {
                // An infinity counts as the number that would come next.
                let far = |number: f32| {
                    let next = if number.is_infinite() {
                        beyond(all).copysign(number.into())
                    } else {
                        number.into()
                    };
                    (next - f64::from(value)).abs()
                };
                match far(low.0).partial_cmp(&far(high.0)) {
                    Some(std::cmp::Ordering::Less) => low.1,
                    Some(std::cmp::Ordering::Greater) => high.1,
                    _ => {
                        if low.1 & 1 == 0 {
                            low.1
                        } else {
                            high.1
                        }
                    }
                }
            }
            (low, high) => low.or(high.copied()).expect("numbers").1,
        }
    }

    fn beyond(all: &[(f32, u16)]) -> f64 {
        let finite: Vec<f64> =
            all.iter().map(|(number, _)| f64::from(*number)).filter(|number| number.is_finite()).collect();
        2.0 * finite[finite.len() - 1] - finite[finite.len() - 2]
    }

    fn check(to_f32: fn(u16) -> f32, from_f32: fn(f32) -> u16) {
        let mut all: Vec<(f32, u16)> =
            (0..=u16::MAX).map(|bits| (to_f32(bits), bits)).filter(|(number, _)| !number.is_nan()).collect();
        for &(number, bits) in &all {
            assert_eq!(from_f32(number), bits, "{number} there and back");
        }
        let nans = (0..=u16::MAX).filter(|bits| to_f32(*bits).is_nan());
        for bits in nans {
            let back = from_f32(to_f32(bits));
            assert!(to_f32(back).is_nan() && back & 0x8000 == bits & 0x8000, "{bits:#x}: {back:#x}");
        }
        // -0 and 0 compare equal: the one of the sign asked for is checked above.
        all.retain(|(number, bits)| *number != 0.0 || *bits == 0);
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        // Between and beside all neighbours.
        for pair in all.windows(2).filter(|pair| pair[0].0.is_finite() && pair[1].0.is_finite()) {
            let middle = ((f64::from(pair[0].0) + f64::from(pair[1].0)) / 2.0) as f32;
            for value in [middle.next_down(), middle, middle.next_up()] {
                let (found, wanted) = (from_f32(value), nearest(value, &all));
                let zero = to_f32(found) == 0.0 && to_f32(wanted) == 0.0;
                assert!(found == wanted || zero, "{value:e}: {found:#x}, not {wanted:#x}");
            }
        }
        for value in [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-30, -1e-30, 65519.996, 65520.0, -65520.0] {
            let (found, wanted) = (from_f32(value), nearest(value, &all));
            let zero = to_f32(found) == 0.0 && to_f32(wanted) == 0.0;
            assert!(found == wanted || zero, "{value:e}: {found:#x}, not {wanted:#x}");
        }
        // A NaN whose fraction lies in the bits that are cut off.
        assert!(to_f32(from_f32(f32::from_bits(0x7f80_0001))).is_nan());
    }

    #[test]
    fn half_is_the_nearest_of_its_numbers() {
        check(|bits| Half::from_bits(bits).to_f32(), |value| Half::from_f32(value).to_bits());
        assert_eq!(Half::from_f32(1.0).to_bits(), 0x3c00);
        assert_eq!(Half::from_f32(-2.5).to_bits(), 0xc100);
        assert_eq!(Half::from_f32(65504.0).to_bits(), 0x7bff);
        assert_eq!(Half::from_bits(1).to_f32(), 2f32.powi(-24));
        assert_eq!(Half::from_f32(f32::INFINITY).to_bits(), 0x7c00);
    }

    #[test]
    fn bfloat16_is_the_nearest_of_its_numbers() {
        check(|bits| BFloat16::from_bits(bits).to_f32(), |value| BFloat16::from_f32(value).to_bits());
        assert_eq!(BFloat16::from_f32(1.0).to_bits(), 0x3f80);
        assert_eq!(BFloat16::from_f32(-2.5).to_bits(), 0xc020);
        assert_eq!(BFloat16::from_f32(1.0 + 1.0 / 256.0).to_bits(), 0x3f80, "half way, to even");
        assert_eq!(BFloat16::from_f32(1.0 + 3.0 / 256.0).to_bits(), 0x3f82, "half way, to even");
    }
}
