//! How the PEs of a job share GPUs: `--gpu-share`, and the variables that CUDA reads when a PE starts.
use crate::error::RunError;
use crate::keeper::Keeper;
use crate::plan;
pub use dushmem_boot::env::Share;
use dushmem_boot::env::{self, Words};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// NVIDIA's program that starts, asks and ends the daemon of its Multi-Process Service.
pub const CONTROL: &str = "nvidia-cuda-mps-control";
/// Where a program looks for the daemon.
pub const PIPES: &str = "CUDA_MPS_PIPE_DIRECTORY";
/// Where the daemon writes.
pub const LOGS: &str = "CUDA_MPS_LOG_DIRECTORY";
/// What `--gpu-share` is without the option; PEs find there what dushrun has arranged.
pub const VARIABLE: &str = "DUSHMEM_GPU_SHARE";
/// Hardware queues of a context. With the usual 8, streams that wait for each other by memory operations can stand
/// behind each other in one queue, for ever.
const QUEUES: usize = 32;
/// Queues of all processes that a server of MPS takes: with 4 clients of 32 each, an H200 made no context any more.
const QUEUES_OF_MPS: usize = 64;

impl Sharing {
    /// Whether this `NAME=value` is of a variable that is set here.
    pub fn sets(&self, variable: &[u8]) -> bool {
        let is = |name: &str| {
            variable.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'='))
        };
        self.variables.iter().any(|(name, _)| is(name))
    }
}

/// The value of `--gpu-share`.
pub fn share(text: &str) -> Result<Share, String> {
    env::of_word(text).ok_or_else(|| "give mps, plain or auto".to_owned())
}

/// What holds for a job.
#[derive(Debug, Default)]
pub struct Sharing {
    /// Variables of every PE, in the place of inherited ones.
    pub variables: Vec<(&'static str, OsString)>,
    /// The daemon that was started for the job.
    pub keeper: Option<Keeper>,
    /// What the user should know.
    pub warning: Option<String>,
}

/// Does what `asked`, or the variable, says for a job of `pes` PEs. Without either everything stays as it is here.
pub fn arrange(
    asked: Option<Share>,
    pes: usize,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Sharing, RunError> {
    let Some((share, by)) = choose(asked, get)? else { return Ok(Sharing::default()) };
    match share {
        Share::Plain => Ok(plain(get)),
        Share::Mps => mps(&by, get),
        Share::Auto if helps(pes, count(get)) && plan::find(OsStr::new(CONTROL)).is_ok() => Ok(mps(&by, get)
            .unwrap_or_else(|error| Sharing {
                warning: Some(format!("{error}; the PEs take turns on a GPU instead")),
                ..plain(get)
            })),
        Share::Auto => Ok(Sharing::default()),
    }
}

/// What PEs get unless the user has set it: the number of queues, and that a program's kernels are loaded when it starts.
/// One that is loaded at its first launch waits for kernels that run, which may wait for it.
pub fn of_cuda(
    asked: Option<Share>,
    pes: usize,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<[(&'static str, String); 2], RunError> {
    let mps = match choose(asked, get)? {
        Some((Share::Mps, _)) => true,
        Some((Share::Plain, _)) => false,
        Some((Share::Auto, _)) => helps(pes, count(get)),
        None => pipes(get).join("control").exists(),
    };
    let queues = if mps { (QUEUES_OF_MPS / pes.max(1)).clamp(2, QUEUES) } else { QUEUES };
    Ok([("CUDA_DEVICE_MAX_CONNECTIONS", queues.to_string()), ("CUDA_MODULE_LOADING", "EAGER".to_owned())])
}

/// Whether a daemon is of use: some PEs have the same GPU.
fn helps(pes: usize, gpus: usize) -> bool {
    gpus > 0 && pes > gpus
}

fn choose(
    asked: Option<Share>,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<(Share, String)>, RunError> {
    if let Some(share) = asked {
        return Ok(Some((share, format!("--gpu-share={}", share.word()))));
    }
    let text = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
    let share = env::gpu_share(&text).map_err(|error| RunError::Gpus(error.to_string()))?;
    Ok(share.map(|share| (share, format!("{VARIABLE}={}", share.word()))))
}

/// Where a daemon that serves this environment would be found.
fn pipes(get: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    get(PIPES).filter(|value| !value.is_empty()).map_or_else(|| "/tmp/nvidia-mps".into(), PathBuf::from)
}

fn plain(get: &dyn Fn(&str) -> Option<OsString>) -> Sharing {
    let mut variables = vec![(VARIABLE, OsString::from(Share::Plain.word()))];
    if pipes(get).join("control").exists() {
        // No daemon is ever found below a file, and a program that finds none does without.
        variables.push((PIPES, "/dev/null".into()));
    }
    Sharing { variables, ..Sharing::default() }
}

fn mps(by: &str, get: &dyn Fn(&str) -> Option<OsString>) -> Result<Sharing, RunError> {
    let control = plan::find(OsStr::new(CONTROL)).map_err(|_| {
        RunError::Gpus(format!(
            "{by}: there is no {CONTROL} on the PATH; install the utilities of NVIDIA's driver, or write --gpu-share=plain"
        ))
    })?;
    let mut variables = vec![(VARIABLE, OsString::from(Share::Mps.word()))];
    let there = pipes(get);
    if there.join("control").exists() && Keeper::answers(&control, &there) {
        return Ok(Sharing { variables, ..Sharing::default() });
    }
    let keeper = Keeper::start(&control).map_err(|why| RunError::Gpus(format!("{by}: {why}")))?;
    variables.push((PIPES, keeper.pipes().into_os_string()));
    variables.push((LOGS, keeper.logs().into_os_string()));
    Ok(Sharing { variables, keeper: Some(keeper), warning: None })
}

/// GPUs that a program started from here can see.
fn count(get: &dyn Fn(&str) -> Option<OsString>) -> usize {
    visible(there(), get("CUDA_VISIBLE_DEVICES").as_deref())
}

/// GPUs of this machine.
pub fn there() -> usize {
    let digits = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let names = std::fs::read_dir(Path::new("/dev")).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.strip_prefix("nvidia").is_some_and(digits)).count()
}

/// As many of `there` GPUs as the variable lets a program see.
fn visible(there: usize, variable: Option<&OsStr>) -> usize {
    match variable.map(OsStr::to_string_lossy) {
        None => there,
        Some(list) => {
            let named = list.split(',').map(str::trim);
            named.take_while(|name| !name.is_empty() && *name != "-1").count().min(there)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_gpus_as_the_variable_names() {
        let seen = |there, list: &str| visible(there, Some(OsStr::new(list)));
        assert_eq!((visible(4, None), seen(4, ""), seen(4, "1"), seen(4, "0, 2")), (4, 0, 1, 2));
        assert_eq!((seen(4, "0,-1,2"), seen(1, "0,1"), seen(8, "GPU-8932f937,GPU-1")), (1, 1, 2));
    }

    #[test]
    fn clients_of_mps_divide_its_queues() {
        let queues = |share, pes| of_cuda(Some(share), pes, &|_| None).unwrap()[0].1.clone();
        assert_eq!(
            ["32", "32", "16", "8", "2"].map(str::to_owned),
            [1, 2, 4, 8, 64].map(|pes| queues(Share::Mps, pes))
        );
        assert_eq!(queues(Share::Plain, 8), "32");
    }

    #[test]
    fn a_daemon_is_for_pes_that_share() {
        assert!(helps(2, 1) && helps(9, 8));
        assert!(!helps(1, 1) && !helps(8, 8) && !helps(4, 0));
    }

    #[test]
    fn the_option_stands_before_the_variable() {
        let of = |asked, value: Option<&str>| {
            choose(asked, &|name| value.filter(|_| name == VARIABLE).map(OsString::from))
        };
        assert!(matches!(of(None, None), Ok(None)) && matches!(of(None, Some("")), Ok(None)));
        let found = of(Some(Share::Mps), Some("plain")).unwrap();
        assert_eq!(found, Some((Share::Mps, "--gpu-share=mps".into())));
        let found = of(None, Some("plain")).unwrap();
        assert_eq!(found, Some((Share::Plain, "DUSHMEM_GPU_SHARE=plain".into())));
        assert!(matches!(of(None, Some("Plain ")), Ok(Some((Share::Plain, _)))));
        let error = of(None, Some("often")).unwrap_err().to_string();
        assert_eq!(error, "DUSHMEM_GPU_SHARE=often: write mps, plain or auto, or unset it");
    }
}
