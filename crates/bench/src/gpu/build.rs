//! The measuring program, built for each library.
use super::measure::Mode;
use dushmem_os::reason::reason;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    /// This one.
    Dushmem,
    /// NVIDIA's, of the same kind.
    Nvshmem,
    /// NVIDIA's collectives.
    Nccl,
    /// The same in buffers that it has made, and all ranks registered.
    NcclWindows,
}

impl Library {
    /// All of them; what is not dushmem stands beside it.
    pub const ALL: [Library; 4] = [Library::Dushmem, Library::Nvshmem, Library::Nccl, Library::NcclWindows];

    /// For readers.
    pub fn title(self) -> &'static str {
        match self {
            Library::Dushmem => "dushmem",
            Library::Nvshmem => "NVSHMEM",
            Library::Nccl => "NCCL",
            Library::NcclWindows => "NCCL, windows",
        }
    }

    /// For programs.
    pub fn key(self) -> &'static str {
        match self {
            Library::Dushmem => "dushmem",
            Library::Nvshmem => "nvshmem",
            Library::Nccl => "nccl",
            Library::NcclWindows => "nccl_windows",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Library::Dushmem => "beside_dushmem",
            Library::Nvshmem => "beside_nvshmem",
            Library::Nccl | Library::NcclWindows => "beside_nccl",
        }
    }

    /// What its program is made of.
    fn sources(self) -> &'static [&'static str] {
        match self {
            Library::Dushmem | Library::Nvshmem => &["beside.cu", "device.cu", "put.cu"],
            Library::Nccl | Library::NcclWindows => &["nccl.cu"],
        }
    }
}

/// The programs' text.
const SOURCES: [(&str, &str); 6] = [
    ("beside.h", include_str!("../../gpu/beside.h")),
    ("collectives.h", include_str!("../../gpu/collectives.h")),
    ("beside.cu", include_str!("../../gpu/beside.cu")),
    ("nccl.cu", include_str!("../../gpu/nccl.cu")),
    ("device.cu", include_str!("../../gpu/device.cu")),
    ("put.cu", include_str!("../../gpu/put.cu")),
];

/// Where the programs are, and what they need.
#[derive(Debug)]
pub struct Workshop {
    programs: PathBuf,
    /// Goes with this value.
    scratch: PathBuf,
    others: Others,
    arch: String,
}

/// Where the other libraries are: folders with `lib` below, and `include` where something is compiled.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// NVSHMEM.
    pub nvshmem: Option<PathBuf>,
    /// NCCL; without it the loader looks for it.
    pub nccl: Option<PathBuf>,
}

impl Workshop {
    /// With a folder of programs, or a new one for them.
    pub fn new(programs: Option<&Path>, others: Others, arch: &str) -> Result<Workshop, String> {
        let scratch = env::temp_dir().join(format!("dushbench-gpu-{}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(|why| at(&scratch, &why))?;
        let programs = programs.map_or_else(|| scratch.clone(), Path::to_path_buf);
        fs::create_dir_all(&programs).map_err(|why| at(&programs, &why))?;
        for (name, text) in SOURCES {
            let path = scratch.join(name);
            fs::write(&path, text).map_err(|why| at(&path, &why))?;
        }
        Ok(Workshop { programs, scratch, others, arch: arch.to_owned() })
    }

    /// A folder for what a run needs.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Builds the program unless it is there.
    pub fn provide(&self, library: Library) -> Result<(), String> {
        if self.programs.join(library.program()).is_file() { Ok(()) } else { self.build(library) }
    }

    /// Compiles and links.
    pub fn build(&self, library: Library) -> Result<(), String> {
        let own = env::current_exe().map_err(|why| at(Path::new("dushbench"), &why))?;
        let prefix = own.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let nvcc = nvcc();
        let mut command = Command::new(&nvcc);
        command.args(["-O3", "-std=c++17"]).arg(format!("-arch={}", self.arch));
        if let Some(lib) = toolkit_libraries(&nvcc) {
            command.arg("-L").arg(lib);
        }
        match library {
            Library::Dushmem => {
                command
                    .arg("-I")
                    .arg(prefix.join("include"))
                    .arg("-L")
                    .arg(prefix.join("lib"))
                    .arg("-ldushmem");
                // Where both are installed, and where they are carried to.
                for folder in [prefix.join("lib"), "$ORIGIN/../prefix/lib".into()] {
                    command.args(["-Xlinker", "-rpath", "-Xlinker"]).arg(folder);
                }
            }
            Library::Nvshmem => {
                let nvshmem = self.others.nvshmem.as_deref().ok_or(ABSENT)?;
                let lib = nvshmem.join("lib");
                command.arg("-rdc=true").arg("-I").arg(nvshmem.join("include")).arg("-L").arg(&lib);
                // The wheel has no name of the host library without a number.
                command.arg("-Xlinker").arg(lib.join("libnvshmem_host.so.3")).args([
                    "-lnvshmem_device",
                    "-lcuda",
                    "-lpthread",
                ]);
                // Where there is no driver, its part of the toolkit stands for it.
                command.args(["-L"]).arg(self.stub()?);
            }
            // Loaded when it runs.
            Library::Nccl | Library::NcclWindows => {
                command.arg("-ldl");
            }
        }
        command.args(library.sources().iter().map(|name| self.scratch.join(name)));
        command.arg("-o").arg(self.programs.join(library.program()));
        let done = command.output().map_err(|why| at(&nvcc, &why))?;
        if done.status.success() {
            return Ok(());
        }
        let said =
            String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
        let telling = said.lines().find(|line| line.contains("error")).or(said.lines().last());
        Err(format!(
            "{} cannot build the program for {}: {}",
            nvcc.display(),
            library.title(),
            telling.unwrap_or("")
        ))
    }

    /// A folder with a driver to link against.
    fn stub(&self) -> Result<PathBuf, String> {
        let (source, library) = (self.scratch.join("stub.c"), self.scratch.join("libcuda.so"));
        fs::write(&source, "").map_err(|why| at(&source, &why))?;
        let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-shared", "-Wl,-soname,libcuda.so.1"]).arg(&source).arg("-o").arg(&library);
        match cc.status() {
            Ok(status) if status.success() => Ok(self.scratch.clone()),
            Ok(status) => Err(format!("cc: {status}")),
            Err(why) => Err(at(Path::new("cc"), &why)),
        }
    }

    /// A run of it, by PEs that use GPUs in that mode.
    pub fn command(&self, library: Library, mode: Mode) -> Command {
        let mut command = Command::new(self.programs.join(library.program()));
        let each = mode == Mode::Each;
        command.env("BESIDE_EACH", if each { "1" } else { "0" });
        // On one GPU as many as eight clients of one MPS server can have, for all libraries alike.
        if env::var_os("CUDA_DEVICE_MAX_CONNECTIONS").is_none() {
            command.env("CUDA_DEVICE_MAX_CONNECTIONS", if each { "32" } else { "8" });
        }
        let Others { nvshmem, nccl } = &self.others;
        match library {
            Library::Dushmem => {}
            Library::Nvshmem => {
                // With a GPU for each PE its collectives are NCCL's, where it finds that.
                let own = nvshmem.iter().chain(nccl).map(|folder| folder.join("lib"));
                let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
                let all = own.chain(env::split_paths(&before));
                if let Ok(path) = env::join_paths(all) {
                    command.env("LD_LIBRARY_PATH", path);
                }
                // Without it the limits of MPS are read as a lack of room.
                command.env("NVSHMEM_IGNORE_CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1");
            }
            Library::Nccl | Library::NcclWindows => {
                if let Some(nccl) = nccl {
                    command.env("BESIDE_NCCL", nccl.join("lib/libnccl.so.2"));
                }
                command.env("BESIDE_WINDOWS", if library == Library::NcclWindows { "1" } else { "0" });
            }
        }
        // No library uses multicast, which dushmem does not.
        command.env("NVSHMEM_DISABLE_NVLS", "1").env("NCCL_NVLS_ENABLE", "0");
        command
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

const ABSENT: &str = "NVSHMEM is missing: pip install nvidia-nvshmem-cu13, or name its folder with --nvshmem or \
                      NVSHMEM_HOME; --peer none measures dushmem alone";

fn at(path: &Path, why: &std::io::Error) -> String {
    format!("{}: {}", path.display(), reason(why))
}

fn nvcc() -> PathBuf {
    env::var_os("DUSHMEM_NVCC").map_or_else(|| "nvcc".into(), PathBuf::from)
}

/// The wheels' nvcc does not find its own libraries.
fn toolkit_libraries(nvcc: &Path) -> Option<PathBuf> {
    let lib = nvcc.parent()?.parent()?.join("lib");
    lib.join("libcudart_static.a").is_file().then_some(lib)
}

/// Where NVSHMEM is.
pub fn nvshmem(named: Option<&Path>) -> Option<PathBuf> {
    place(named, "NVSHMEM_HOME", "nvshmem", "lib/libnvshmem_host.so.3")
}

/// Where NCCL is, if not where the loader looks.
pub fn nccl(named: Option<&Path>) -> Option<PathBuf> {
    place(named, "NCCL_HOME", "nccl", "lib/libnccl.so.2")
}

/// A library's folder: the one that is named, that of its variable, or a wheel's.
fn place(named: Option<&Path>, variable: &str, wheel: &str, file: &str) -> Option<PathBuf> {
    let home = || env::var_os(variable).filter(|home| !home.is_empty()).map(PathBuf::from);
    named.map(Path::to_path_buf).or_else(home).or_else(|| beside_nvcc(wheel, file))
}

/// A wheel's folder that has this file, where nvcc is a wheel's, too.
fn beside_nvcc(name: &str, file: &str) -> Option<PathBuf> {
    let nvcc = nvcc();
    let beside = nvcc.parent()?.parent()?.parent()?.join(name);
    beside.join(file).is_file().then_some(beside)
}
