//! `cargo xtask install --compat-names`: the names under which build files of other projects look for an
//! OpenSHMEM or NVSHMEM installation. Links, and files of a few lines that lead to the own ones.
use super::install::{at, link, write};
use std::fs;
use std::path::Path;

/// Compiler wrappers and launchers, and what they are here.
const PROGRAMS: [(&str, &str); 5] = [
    ("oshcc", "dushcc"),
    ("oshc++", "dushc++"),
    ("oshCC", "dushc++"),
    ("oshcxx", "dushc++"),
    ("oshrun", "dushrun"),
];

/// Libraries: of the standard's reference, of its first implementation, of Open MPI, and of NVSHMEM, whose host
/// and device parts every installation has.
const LIBRARIES: [&str; 4] = ["shmem", "sma", "oshmem", "nvshmem"];

/// pkg-config's names, with the version of the interface that they promise.
const PACKAGES: [(&str, &str, &str); 4] = [
    ("shmem", "1.6", "OpenSHMEM"),
    ("sma", "1.6", "OpenSHMEM"),
    ("oshmem", "1.6", "OpenSHMEM"),
    ("nvshmem", NVSHMEM, "NVSHMEM"),
];

/// The NVSHMEM release whose interface this is: the constants of `nvshmem.h` say the same.
const NVSHMEM: &str = "3.2.0";

/// Whether this file, relative to the prefix, is one of those names.
pub fn makes(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split_once('.').map_or(&*name, |(stem, _)| stem);
    let library = |family: &&str| stem.strip_prefix("lib") == Some(*family);
    let known = PROGRAMS.iter().any(|(program, _)| *program == name)
        || LIBRARIES.iter().any(library)
        || PACKAGES.iter().any(|(package, ..)| name == format!("{package}.pc"));
    known || file.starts_with("lib/cmake/nvshmem")
}

/// Adds the names to what is to be installed.
pub fn add(stage: &Path) -> Result<(), String> {
    let (bin, lib) = (stage.join("bin"), stage.join("lib"));
    for (name, target) in PROGRAMS {
        link(target, &bin.join(name))?;
    }
    for name in LIBRARIES {
        link("libdushmem.so.0", &lib.join(format!("lib{name}.so")))?;
        link("libdushmem.a", &lib.join(format!("lib{name}.a")))?;
    }
    for (name, version, interface) in PACKAGES {
        let text = format!(
            "Name: {name}\nDescription: The {interface} interface of dushmem\nVersion: {version}\nRequires: dushmem\n"
        );
        write(&lib.join(format!("pkgconfig/{name}.pc")), &text)?;
    }
    let cmake = lib.join("cmake/nvshmem");
    fs::create_dir_all(&cmake).map_err(at(&cmake))?;
    write(&cmake.join("NVSHMEMConfig.cmake"), include_str!("../templates/NVSHMEMConfig.cmake"))?;
    let version = include_str!("../templates/dushmem-config-version.cmake").replace("@VERSION@", NVSHMEM);
    write(&cmake.join("NVSHMEMConfigVersion.cmake"), &version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_that_of_the_constants() {
        let table = fs::read_to_string(super::super::workspace::root().join("api/constants.tsv")).unwrap();
        let part = |name: &str| {
            let row = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
            let mut row = row.filter(|fields| fields[0] == name && fields[1] == "n");
            row.next().expect("a constant of NVSHMEM")[3].to_owned()
        };
        let parts = ["MAJOR", "MINOR", "PATCH"].map(|name| part(&format!("VENDOR_{name}_VERSION")));
        assert_eq!(parts.join("."), NVSHMEM);
    }
}
