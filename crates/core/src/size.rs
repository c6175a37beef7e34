//! Sizes as users write them: `64M`, `1.5g`, `4096`.

/// Parses a number of bytes as the OpenSHMEM text (section 8) wants it: a non-negative integer or decimal
/// fraction, then at most one of the suffixes k, m, g, t in either case (powers of 1024). The product is
/// rounded up. What stands after the suffix is ignored by the text; [`Size::rest`] holds it for a warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// Bytes.
    pub bytes: u64,
    /// What followed and was not understood.
    pub rest: String,
}

impl Size {
    /// Parses `text`, or says why it can't.
    pub fn parse(text: &str) -> Result<Size, &'static str> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, rest) = text.split_at(digits);
        if !number.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            || number.matches('.').count() > 1
            || number == "."
        {
            return Err("not a size; write a number of bytes, with K, M, G or T behind it where you like");
        }
        let mut rest = rest.trim_start().chars();
        let shift = match rest.clone().next().map(|c| c.to_ascii_lowercase()) {
            Some('k') => 10,
            Some('m') => 20,
            Some('g') => 30,
            Some('t') => 40,
            _ => 0,
        };
        if shift > 0 {
            rest.next();
        } else if rest.clone().next().is_some() {
            return Err("not a size; what follows the number is none of K, M, G, T");
        }
        let bytes = match number.split_once('.') {
            None => number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift)),
            Some(_) => {
                let value = format!("0{number}").parse::<f64>().unwrap_or(f64::MAX) * (1u64 << shift) as f64;
                (value < u64::MAX as f64).then(|| value.ceil() as u64)
            }
        };
        match bytes {
            Some(bytes) if bytes <= 1 << 46 => Ok(Size { bytes, rest: rest.as_str().to_string() }),
            _ => Err("larger than the address space of all PEs together, 64T"),
        }
    }

    /// The least round size of at least `bytes`, as messages recommend it: whole megabytes, and above 1G not more than a
    /// thousandth more than has to be.
    pub fn round_up(bytes: u64) -> u64 {
        bytes.checked_next_multiple_of(Size::step(bytes)).unwrap_or(bytes)
    }

    /// The largest round size of at most `bytes`.
    pub fn round_down(bytes: u64) -> u64 {
        bytes - bytes % Size::step(bytes)
    }

    /// From one round size of about `bytes` to the next.
    fn step(bytes: u64) -> u64 {
        (bytes >> 10).checked_next_power_of_two().unwrap_or(1).max(1 << 20)
    }

    /// `bytes` in the largest unit that divides it, as an environment variable takes it.
    pub fn show(bytes: u64) -> String {
        [("T", 40), ("G", 30), ("M", 20), ("K", 10)]
            .iter()
            .find(|(_, shift)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift))
            .map_or_else(|| bytes.to_string(), |(unit, shift)| format!("{}{unit}", bytes >> shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<u64, &'static str> {
        Size::parse(text).map(|s| s.bytes)
    }

    #[test]
    fn accepts_what_the_standard_accepts() {
        assert_eq!(bytes("0"), Ok(0));
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes(".5m"), Ok(512 << 10));
        assert_eq!(bytes("3.1M"), Ok(3_250_586));
        assert_eq!(bytes("20kk"), Ok(20 << 10));
        assert_eq!(Size::parse("20Mabc").map(|s| s.rest), Ok("abc".to_string()));
        assert_eq!(bytes("1T"), Ok(1 << 40));
        assert_eq!(bytes("1g"), Ok(1 << 30));
        assert_eq!(bytes(" 2 G "), Ok(2 << 30));
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in [
            "",
            "abc",
            "-1",
            "M",
            ".",
            "1.2.3",
            "99999999999999999999",
            "65T",
            "1e400x",
            "16E",
            "1X",
            "1 x",
            "4096 bytes",
        ] {
            assert!(bytes(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn round_sizes_are_next_to_what_is_needed() {
        for (bytes, up, down) in [
            (1, "1M", "0"),
            (8 << 20, "8M", "8M"),
            ((8 << 20) + 1, "9M", "8M"),
            (1 << 30, "1G", "1G"),
            ((3 << 30) + 64, "3076M", "3G"),
            (5 << 40, "5T", "5T"),
        ] {
            assert_eq!(
                (Size::show(Size::round_up(bytes)), Size::show(Size::round_down(bytes))),
                (up.into(), down.into())
            );
        }
    }

    #[test]
    fn shows_the_largest_unit() {
        assert_eq!(Size::show(3 << 30), "3G");
        assert_eq!(Size::show(1536 << 10), "1536K");
        assert_eq!(Size::show(1000), "1000");
    }
}
