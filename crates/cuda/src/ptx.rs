//! The library's kernels as they are checked in: `kernels/*.cu`, compiled by `cargo xtask ptx`.

/// A module.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Its source.
    pub name: &'static str,
    /// PTX, ending with a zero.
    pub ptx: &'static str,
    /// The same compiled for some GPUs, so that the driver need not; empty where there is none.
    pub compiled: &'static [u8],
}

/// Bytes at an address that loaders of binaries may expect.
#[repr(C, align(16))]
struct Aligned<T: ?Sized>(T);

macro_rules! images {
    ($($(#[$doc:meta])* $list:ident: $($name:literal),*;)*) => {$(
        $(#[$doc])*
        pub const $list: &[Image] = &[$({
            static COMPILED: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!("../ptx/", $name, ".fatbin")));
            Image {
                name: $name,
                ptx: concat!(include_str!(concat!("../ptx/", $name, ".ptx")), "\0"),
                compiled: &COMPILED.0,
            }
        }),*];
    )*};
}

images! {
    /// Modules that every PE loads.
    NEAR: "near";
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
    use crate::driver::OLDEST;

    #[test]
    fn modules_are_there_and_have_a_state() {
        for image in NEAR.iter().chain(FAR) {
            assert!(image.kernels().count() > 0 && image.ptx.ends_with("\n\0"), "{}", image.name);
            assert!(image.ptx.contains(" dushmem_impl_state["), "{}", image.name);
            assert!(image.compiled.as_ptr().addr().is_multiple_of(16) && image.compiled.len() > 1000);
        }
    }

    #[test]
    fn the_oldest_driver_reads_the_text() {
        // Each release of CUDA from 11.0 on has its version of PTX: 12.0 has 8.0, 12.4 has 8.4.
        assert!((12_000..13_000).contains(&OLDEST));
        let newest = (8, (OLDEST - 12_000) / 10);
        for image in NEAR.iter().chain(FAR) {
            let version = image.ptx.lines().find_map(|line| line.strip_prefix(".version ")).unwrap();
            let (major, minor) = version.split_once('.').unwrap();
            let version: (i32, i32) = (major.parse().unwrap(), minor.parse().unwrap());
            assert!(version <= newest, "{} is PTX {version:?}, and {newest:?} is the newest", image.name);
        }
    }

    #[test]
    fn kernels_are_found_in_the_text() {
        let ptx =
            ".visible .entry first(\n.param .u64 a)\n{\nret;\n}\n// .entries\n.entry second()\n{ ret; }\n";
        let names: Vec<_> = Image { name: "a", ptx, compiled: &[] }.kernels().collect();
        assert_eq!(names, ["first", "second"]);
    }
}
