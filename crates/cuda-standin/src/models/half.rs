//! Floating-point numbers of 16 bits.

/// The value of an IEEE half.
pub fn from_half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    match exponent {
        0 => sign * fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// The nearest IEEE half, ties to even.
pub fn to_half(value: f32) -> u16 {
    let sign = ((value.to_bits() >> 31) as u16) << 15;
    let size = f64::from(value.abs());
    if value.is_nan() {
        return sign | 0x7e00;
    }
    // Halves between two powers of two are equally spaced: 2^-24 below 2^-14, then more.
    let exponent =
        if size < 2f64.powi(-14) { -14 } else { (((f64::to_bits(size) >> 52) & 0x7ff) as i32) - 1023 };
    let steps = (size / 2f64.powi(exponent - 10)).round_ties_even();
    let bits = if exponent > 15 { f64::from(0x7c00) } else { f64::from((exponent + 14) << 10) + steps };
    sign | (bits as u16).min(0x7c00)
}

/// The value of a bfloat16.
pub fn from_bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat16, ties to even.
pub fn to_bfloat(value: f32) -> u16 {
    if value.is_nan() {
        return (value.to_bits() >> 16) as u16 | 0x40;
    }
    let bits = value.to_bits();
    (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives() {
        for bits in 0..=u16::MAX {
            let value = from_half(bits);
            assert!(value.is_nan() || to_half(value) == bits, "{bits:#x} {value} {:#x}", to_half(value));
            let value = from_bfloat(bits);
            assert!(value.is_nan() || to_bfloat(value) == bits, "{bits:#x} {value}");
        }
        assert_eq!(to_half(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(to_half(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(to_half(65520.0), 0x7c00);
        assert_eq!(to_half(65519.0), 0x7bff);
        assert_eq!(to_half(2f32.powi(-14) * (1.0 - 2f32.powi(-12))), 0x0400);
        assert_eq!(to_bfloat(1.0 + 1.0 / 256.0), 0x3f80);
    }
}
