//! The options that are dushcc's own; all others are the compiler's.
use std::ffi::OsString;
use std::path::PathBuf;

/// `dushcc --help`.
pub const HELP: &str = "\
usage: dushcc [compiler options] files     (dushc++ for C++)

Calls the C or C++ compiler with the headers and the library of dushmem. Sources with kernels (.cu, .hip,
.hip.cpp, .cu.cpp, or after -x cuda or -x hip) are compiled for the CPU; options that only nvcc or hipcc
have are accepted there. With --device=cuda nvcc compiles everything, and kernels run on NVIDIA's GPUs.

  --device=cuda        kernels for GPUs, by nvcc; options of gcc are passed on to it, too
  --device=cpu         kernels for the CPU; what holds without the option
  --show               print the compiler calls, run nothing
  --show:compile       print the flags for compiling
  --show:link          print the flags for linking
  --show:command       print the compiler
  --show:source FILE   print what becomes of a source with kernels
  -fdushmem-os-threads give each GPU thread an OS thread: for kernels that spin on plain memory for each other
  --static-lib         link libdushmem.a instead of the shared library
  --verbose            say which options are left out, and print each call
  --help               this text; --version and all other options go to the compiler

DUSHMEM_CC and DUSHMEM_CXX name the compilers (else the first found of gcc, cc, clang, and of g++, c++,
clang++). DUSHMEM_NVCC names nvcc (else the one in PATH, in CUDA_HOME/bin, in CUDA_PATH/bin, in
/usr/local/cuda/bin), which then takes DUSHMEM_CXX as its host compiler.
";

/// What to print instead of running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Show {
    /// The calls.
    Calls,
    /// Flags for compiling.
    Compile,
    /// Flags for linking.
    Link,
    /// The compiler.
    Command,
    /// The rewritten text of a source.
    Source(PathBuf),
    /// Help.
    Help,
}

/// What kernels are compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The emulator.
    #[default]
    Cpu,
    /// NVIDIA's GPUs.
    Cuda,
}

/// dushcc's own options.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Print only.
    pub show: Option<Show>,
    /// `--device`.
    pub device: Device,
    /// `--static-lib`.
    pub static_lib: bool,
    /// `-fdushmem-os-threads`.
    pub os_threads: bool,
    /// `--verbose`.
    pub verbose: bool,
}

/// Takes dushcc's options out of the command line. MPICH's and Open MPI's spellings work too.
pub fn split(words: Vec<OsString>) -> Result<(Own, Vec<OsString>), String> {
    let mut own = Own::default();
    let mut rest = Vec::with_capacity(words.len());
    let alone = words.len() == 1;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let shown =
            ["--showme", "-showme", "--show", "-show"].iter().find_map(|start| text.strip_prefix(start));
        match (shown, &*text) {
            (Some(""), _) => own.show = Some(Show::Calls),
            (Some(":compile"), _) => own.show = Some(Show::Compile),
            (Some(":link"), _) => own.show = Some(Show::Link),
            (Some(":command"), _) => own.show = Some(Show::Command),
            (Some(":source"), _) => {
                let file = words.next().ok_or("--show:source needs the name of a file behind it")?;
                own.show = Some(Show::Source(file.into()));
            }
            (Some(other), _) if other.starts_with(':') => {
                return Err(format!(
                    "{text}: there are --show, --show:compile, --show:link, --show:command and --show:source"
                ));
            }
            (_, "--device=cpu") => own.device = Device::Cpu,
            (_, "--device=cuda") => own.device = Device::Cuda,
            (_, other) if other == "--device" || other.starts_with("--device=") => {
                return Err(format!("{text}: kernels are compiled for --device=cpu or --device=cuda"));
            }
            (_, "--static-lib") => own.static_lib = true,
            (_, "-fdushmem-os-threads") => own.os_threads = true,
            (_, "-fno-dushmem-os-threads") => own.os_threads = false,
            (_, "--verbose") => own.verbose = true,
            (_, "--help") if alone => own.show = Some(Show::Help),
            _ => {
                drop(text);
                rest.push(word);
            }
        }
    }
    Ok((own, rest))
}
