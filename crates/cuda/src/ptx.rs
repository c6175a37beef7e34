//! The library's kernels as they are checked in: `kernels/*.cu`, compiled by `cargo xtask ptx`.

/// A module's text.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Its source.
    pub name: &'static str,
    /// PTX, ending with a zero.
    pub ptx: &'static str,
}

/// All modules.
pub const IMAGES: &[Image] = &[];

impl Image {
    /// Names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> {
        self.ptx.lines().filter_map(|line| {
            let (_, name) = line.split_once(".entry ")?;
            name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_in_the_text() {
        let ptx =
            ".visible .entry first(\n.param .u64 a)\n{\nret;\n}\n// .entries\n.entry second()\n{ ret; }\n";
        let names: Vec<_> = Image { name: "a", ptx }.kernels().collect();
        assert_eq!(names, ["first", "second"]);
    }
}
