//! A daemon of MPS for the time of a measurement.
use dushmem_os::reason::reason;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONTROL: &str = "nvidia-cuda-mps-control";

/// Ends with this value.
#[derive(Debug)]
pub struct Daemon {
    pipes: PathBuf,
    logs: PathBuf,
}

impl Daemon {
    /// Starts one whose files are in `folder`.
    pub fn start(folder: &Path) -> Result<Daemon, String> {
        let daemon = Daemon { pipes: folder.join("mps"), logs: folder.join("mps-log") };
        for path in [&daemon.pipes, &daemon.logs] {
            std::fs::create_dir_all(path).map_err(|why| format!("{}: {}", path.display(), reason(&why)))?;
        }
        let mut command = Command::new(CONTROL);
        daemon.set(&mut command);
        match command.arg("-d").stdin(Stdio::null()).status() {
            Ok(status) if status.success() => Ok(daemon),
            Ok(status) => Err(format!("{CONTROL} -d: {status}; --mode plain measures without MPS")),
            Err(why) => Err(format!("{CONTROL}: {}; --mode plain measures without MPS", reason(&why))),
        }
    }

    /// Has a program use it.
    pub fn set(&self, command: &mut Command) {
        command.env("CUDA_MPS_PIPE_DIRECTORY", &self.pipes).env("CUDA_MPS_LOG_DIRECTORY", &self.logs);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let mut command = Command::new(CONTROL);
        self.set(&mut command);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return };
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(b"quit -t 10\n");
        }
        let _ = child.wait();
    }
}
