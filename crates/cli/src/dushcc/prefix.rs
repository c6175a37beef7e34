//! Where dushmem is installed, and which compilers there are.
use dushmem_os::reason::reason;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder above the `bin` in which the running program stands, wherever it has been moved to.
#[derive(Clone, Debug)]
pub struct Prefix(PathBuf);

impl Prefix {
    /// Of the running program.
    pub fn find() -> Result<Prefix, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("can't find out where dushcc stands: {}", reason(&error)))?;
        let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        if !prefix.join("include/dushmem.h").is_file() {
            return Err(format!(
                "{} is missing: dushcc works from the bin folder of an installation; make one with `cargo xtask install --prefix DIR`",
                prefix.join("include/dushmem.h").display()
            ));
        }
        Ok(Prefix(prefix.to_path_buf()))
    }

    /// The headers.
    pub fn include(&self) -> PathBuf {
        self.0.join("include")
    }

    /// The headers of the device runtimes on the CPU.
    pub fn emu_include(&self) -> PathBuf {
        self.0.join("include/dushmem/emu")
    }

    /// HIP's names for nvcc.
    pub fn nvcc_include(&self) -> PathBuf {
        self.0.join("include/dushmem/nvcc")
    }

    /// The libraries.
    pub fn lib(&self) -> PathBuf {
        self.0.join("lib")
    }
}

/// A compiler: its program and the arguments that always come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler(pub Vec<OsString>);

/// The C or the C++ compiler: from the environment's variable for it, else the first of the usual names.
pub fn compiler(cxx: bool, get: &dyn Fn(&str) -> Option<OsString>) -> Result<Compiler, String> {
    let (variable, names): (_, [&str; 3]) =
        if cxx { ("DUSHMEM_CXX", ["g++", "c++", "clang++"]) } else { ("DUSHMEM_CC", ["gcc", "cc", "clang"]) };
    if let Some(value) = get(variable).filter(|value| !value.is_empty()) {
        return named(variable, &value, get);
    }
    // CC and CXX are not asked: builds set them to dushcc itself.
    names
        .iter()
        .find_map(|name| in_path(OsStr::new(name), get))
        .map(|path| Compiler(vec![path.into()]))
        .ok_or_else(|| {
            let kind = if cxx { "C++" } else { "C" };
            format!(
                "no {kind} compiler: none of {} is in PATH; install one, or name it in {variable}",
                names.join(", ")
            )
        })
}

/// The compiler that a variable names, with its arguments.
pub fn named(
    variable: &str,
    value: &OsStr,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Compiler, String> {
    let words = match in_path(value, get) {
        Some(_) => vec![value.to_os_string()],
        None => super::response::split(std::os::unix::ffi::OsStrExt::as_bytes(value)),
    };
    let program = words.first().and_then(|word| in_path(word, get));
    let Some(program) = program else {
        return Err(format!(
            "{variable}={}: there is no such program; set it to a compiler, or unset it",
            value.display()
        ));
    };
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    if own.is_some() && program.canonicalize().ok() == own {
        return Err(format!(
            "{variable}={} is dushcc itself; set it to the compiler that dushcc is to call",
            value.display()
        ));
    }
    Ok(Compiler(std::iter::once(program.into()).chain(words.into_iter().skip(1)).collect()))
}

/// The program that a shell would start under this name.
pub fn in_path(name: &OsStr, get: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let runs = |path: &Path| {
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let path = Path::new(name);
    if path.components().count() != 1 || path.is_absolute() {
        return runs(path).then(|| path.to_path_buf());
    }
    std::env::split_paths(&get("PATH")?).map(|folder| folder.join(name)).find(|path| runs(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name| {
            let own = pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
            own.or_else(|| if name == "PATH" { std::env::var_os("PATH") } else { None })
        }
    }

    #[test]
    fn the_variable_wins_and_may_hold_arguments() {
        let found = compiler(false, &environment(&[("DUSHMEM_CC", "sh -x 'a b'"), ("CC", "false")])).unwrap();
        assert!(Path::new(&found.0[0]).ends_with("sh"));
        assert_eq!(found.0[1..], ["-x", "a b"]);
    }

    #[test]
    fn a_wrong_variable_is_named() {
        let error = compiler(true, &environment(&[("DUSHMEM_CXX", "no-such-compiler -g")])).unwrap_err();
        assert!(error.starts_with("DUSHMEM_CXX=no-such-compiler -g: there is no such program"), "{error}");
        let error = compiler(true, &environment(&[("PATH", "/nowhere")])).unwrap_err();
        assert!(error.contains("g++, c++, clang++") && error.contains("DUSHMEM_CXX"), "{error}");
    }
}
