//! The measuring program, built for each library.
use clap::ValueEnum;
use dushmem_os::reason::reason;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Library {
    /// This one.
    Dushmem,
    /// NVIDIA's.
    Nvshmem,
}

impl Library {
    /// For readers.
    pub fn title(self) -> &'static str {
        match self {
            Library::Dushmem => "dushmem",
            Library::Nvshmem => "NVSHMEM",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Library::Dushmem => "beside_dushmem",
            Library::Nvshmem => "beside_nvshmem",
        }
    }
}

/// The program's text.
const SOURCES: [(&str, &str); 4] = [
    ("beside.h", include_str!("../../gpu/beside.h")),
    ("beside.cu", include_str!("../../gpu/beside.cu")),
    ("device.cu", include_str!("../../gpu/device.cu")),
    ("put.cu", include_str!("../../gpu/put.cu")),
];

/// Where the programs are, and what they need.
#[derive(Debug)]
pub struct Workshop {
    programs: PathBuf,
    /// Goes with this value.
    scratch: PathBuf,
    nvshmem: Option<PathBuf>,
    arch: String,
}

impl Workshop {
    /// With a folder of programs, or a new one for them.
    pub fn new(programs: Option<&Path>, nvshmem: Option<PathBuf>, arch: &str) -> Result<Workshop, String> {
        let scratch = env::temp_dir().join(format!("dushbench-gpu-{}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(|why| at(&scratch, &why))?;
        let programs = programs.map_or_else(|| scratch.clone(), Path::to_path_buf);
        fs::create_dir_all(&programs).map_err(|why| at(&programs, &why))?;
        Ok(Workshop { programs, scratch, nvshmem, arch: arch.to_owned() })
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
        for (name, text) in SOURCES {
            let path = self.scratch.join(name);
            fs::write(&path, text).map_err(|why| at(&path, &why))?;
        }
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
                let nvshmem = self.nvshmem.as_deref().ok_or(ABSENT)?;
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
        }
        let sources = SOURCES.iter().map(|(name, _)| name).filter(|name| name.ends_with(".cu"));
        command.args(sources.map(|name| self.scratch.join(name)));
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

    /// A run of it.
    pub fn command(&self, library: Library) -> Command {
        let mut command = Command::new(self.programs.join(library.program()));
        // As many as eight clients of one MPS server can have, for both libraries alike.
        if env::var_os("CUDA_DEVICE_MAX_CONNECTIONS").is_none() {
            command.env("CUDA_DEVICE_MAX_CONNECTIONS", "8");
        }
        if library == Library::Nvshmem {
            let own = self.nvshmem.iter().map(|folder| folder.join("lib"));
            let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
            let all = own.chain(env::split_paths(&before));
            if let Ok(path) = env::join_paths(all) {
                command.env("LD_LIBRARY_PATH", path);
            }
            // Without it the limits of MPS are read as a lack of room; multicast needs several GPUs.
            command
                .env("NVSHMEM_IGNORE_CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1")
                .env("NVSHMEM_DISABLE_NVLS", "1");
        }
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
    if let Some(named) = named {
        return Some(named.to_path_buf());
    }
    if let Some(home) = env::var_os("NVSHMEM_HOME").filter(|home| !home.is_empty()) {
        return Some(home.into());
    }
    let nvcc = nvcc();
    let beside = nvcc.parent()?.parent()?.parent()?.join("nvshmem");
    beside.join("lib/libnvshmem_host.so.3").is_file().then_some(beside)
}
