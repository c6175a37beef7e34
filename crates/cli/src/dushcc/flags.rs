//! What dushcc adds to the user's arguments.
use super::prefix::Prefix;
use std::ffi::OsString;
use std::path::Path;

/// An option and a path in one word.
pub fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

/// For every compilation.
pub fn compile(prefix: &Prefix) -> Vec<OsString> {
    vec![joined("-I", &prefix.include())]
}

/// For sources with kernels, before the user's options: our `cuda_runtime.h` has to be found before one
/// that a build file points to.
pub fn emulator(prefix: &Prefix) -> Vec<OsString> {
    let header = |name: &str| prefix.include().join("dushmem/impl").join(name).into_os_string();
    vec![
        "-include".into(),
        header("emu.h"),
        "-include".into(),
        header("launcher.h"),
        joined("-I", &prefix.emu_include()),
        joined("-I", &prefix.include()),
        "-pthread".into(),
        // `#pragma unroll` belongs to the language of kernels, and loops do the same without it.
        "-Wno-unknown-pragmas".into(),
    ]
}

/// For every compilation by nvcc; HIP's names lead to CUDA's.
pub fn cuda_compile(prefix: &Prefix) -> Vec<OsString> {
    vec![joined("-I", &prefix.include()), joined("-I", &prefix.nvcc_include())]
}

/// For every link by nvcc, after the user's arguments.
pub fn cuda_link(prefix: &Prefix) -> Vec<OsString> {
    let lib = prefix.lib();
    let rpath = ["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), lib.clone().into_os_string()];
    [joined("-L", &lib)].into_iter().chain(rpath).chain(["-ldushmem".into()]).collect()
}

/// How to link the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// The shared one, found at run time where it is now.
    Shared,
    /// The archive, in a program that links other libraries dynamically.
    Archive,
    /// The archive, in a program without shared libraries.
    Static,
}

/// For every link, after the user's arguments.
pub fn link(prefix: &Prefix, linkage: Linkage) -> Vec<OsString> {
    let lib = prefix.lib();
    let mut words = vec![joined("-L", &lib)];
    if linkage == Linkage::Shared {
        if lib.to_string_lossy().contains(',') {
            words.extend(["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), lib.into_os_string()]);
        } else {
            words.push(joined("-Wl,-rpath,", &lib));
        }
        words.push("-ldushmem".into());
        return words;
    }
    words.push(lib.join("libdushmem.a").into_os_string());
    words.extend(["-pthread", "-lutil", "-lrt", "-ldl", "-lm"].map(OsString::from));
    words.push(if linkage == Linkage::Static { "-lgcc_eh".into() } else { "-lgcc_s".into() });
    words
}
