//! The library's kernels as they are checked in: `kernels/*.cu`, compiled by `cargo xtask ptx`.

/// A module's text.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Its source.
    pub name: &'static str,
    /// PTX, ending with a zero.
    pub ptx: &'static str,
}

macro_rules! images {
    ($($(#[$doc:meta])* $list:ident: $($name:literal),*;)*) => {$(
        $(#[$doc])*
        pub const $list: &[Image] =
            &[$(Image { name: $name, ptx: concat!(include_str!(concat!("../ptx/", $name, ".ptx")), "\0") }),*];
    )*};
}

images! {
    /// Modules that every PE loads.
    NEAR: "words", "sync", "combine", "move", "reduce";
    /// What PEs load beside these that reach others through the proxy only: the driver takes long to compile it.
    FAR: "far";
}

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
    fn modules_are_there_and_have_a_state() {
        for image in NEAR.iter().chain(FAR) {
            assert!(image.kernels().count() > 0 && image.ptx.ends_with("\n\0"), "{}", image.name);
            assert!(image.ptx.contains(" dushmem_impl_state["), "{}", image.name);
        }
    }

    #[test]
    fn kernels_are_found_in_the_text() {
        let ptx =
            ".visible .entry first(\n.param .u64 a)\n{\nret;\n}\n// .entries\n.entry second()\n{ ret; }\n";
        let names: Vec<_> = Image { name: "a", ptx }.kernels().collect();
        assert_eq!(names, ["first", "second"]);
    }
}
