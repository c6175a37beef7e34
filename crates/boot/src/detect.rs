//! Which bootstrap this process uses.
use crate::error::BootError;
use crate::launch::{LaunchLine, VARIABLE};
use crate::launcher::Launched;
use crate::singleton;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{BootstrapKind, bootstrap, variable};
use dushmem_os::process;
use std::sync::{Arc, Mutex, PoisonError};

/// What was chosen.
#[derive(Debug, PartialEq, Eq)]
pub enum Choice {
    /// The launcher that started this process.
    Launcher(LaunchLine),
    /// One PE by itself.
    Singleton,
}

/// A launcher that dushmem cannot talk to, and how its processes recognise it.
struct Foreign {
    name: &'static str,
    /// Number of processes.
    size: &'static str,
    /// Must be set as well, unless empty.
    also: &'static str,
}

/// The first that fits names the launcher, so those that others set as well come last.
const FOREIGN: [Foreign; 13] = [
    Foreign { name: "Open MPI's mpirun", size: "OMPI_COMM_WORLD_SIZE", also: "" },
    Foreign { name: "MVAPICH2's mpirun", size: "MV2_COMM_WORLD_SIZE", also: "" },
    Foreign { name: "Flux", size: "FLUX_JOB_SIZE", also: "FLUX_TASK_RANK" },
    Foreign { name: "IBM's jsrun", size: "JSM_NAMESPACE_SIZE", also: "" },
    Foreign { name: "Slurm's srun", size: "SLURM_STEP_NUM_TASKS", also: "SLURM_PROCID" },
    Foreign { name: "Slurm", size: "SLURM_NTASKS", also: "SLURM_PROCID" },
    Foreign { name: "Slurm", size: "SLURM_NPROCS", also: "SLURM_PROCID" },
    Foreign { name: "PALS", size: "PALS_SIZE", also: "PALS_RANKID" },
    Foreign { name: "a PMI launcher", size: "PMI_SIZE", also: "" },
    Foreign { name: "a Hydra launcher", size: "MPI_LOCALNRANKS", also: "MPI_LOCALRANKID" },
    Foreign { name: "torchrun", size: "WORLD_SIZE", also: "RANK" },
    // These tell a rank, but no size.
    Foreign { name: "a PMIx launcher", size: "", also: "PMIX_RANK" },
    Foreign { name: "a PMI launcher", size: "", also: "PMI_RANK" },
];

/// Chooses from the environment, which `get` reads.
pub fn choose(get: &dyn Fn(&str) -> Option<String>) -> Result<Choice, BootError> {
    let launch = || get(VARIABLE).map(|value| LaunchLine::parse(&value).map(Choice::Launcher));
    match bootstrap(get) {
        Ok(BootstrapKind::Auto) => {}
        Ok(BootstrapKind::Launcher) => return launch().unwrap_or(Err(BootError::NotLaunched)),
        Ok(BootstrapKind::Singleton) => return Ok(Choice::Singleton),
        // In its job, a PE whose init reads the settings tells it once for all.
        Err(error) => return launch().unwrap_or(Err(error.into())),
    }
    if let Some(choice) = launch() {
        return choice;
    }
    match foreign(get) {
        Some(error) => Err(error),
        None => Ok(Choice::Singleton),
    }
}

/// The launcher that started this process as one of several, as an error.
fn foreign(get: &dyn Fn(&str) -> Option<String>) -> Option<BootError> {
    let mut alone = false;
    for Foreign { name, size, also } in FOREIGN {
        let Some(mark) = (if also.is_empty() { Some(String::new()) } else { get(also) }) else { continue };
        if size.is_empty() {
            // Only a rank: one process of one has rank 0 too, but then a size said so.
            if !alone {
                let count = "an unknown number".to_owned();
                return Some(BootError::ForeignLauncher {
                    launcher: name,
                    variable: also,
                    value: mark,
                    count,
                });
            }
            continue;
        }
        let Some(value) = get(size) else { continue };
        match value.trim().parse::<u64>() {
            Ok(0 | 1) => alone = true,
            Ok(n) => {
                let count = n.to_string();
                return Some(BootError::ForeignLauncher { launcher: name, variable: size, value, count });
            }
            Err(_) => {}
        }
    }
    None
}

/// The job that this process was launched into, so that init after finalize finds it again.
static LAUNCHED: Mutex<Option<Arc<Launched>>> = Mutex::new(None);

/// Connects this process to its job. May be called again after finalize.
///
/// The launcher's variable leaves the environment here: programs that a PE starts are jobs of their own.
pub fn connect() -> Result<Arc<dyn Bootstrap>, BootError> {
    let mut launched = LAUNCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = launched.as_ref().filter(|l| !l.is_forked_child()) {
        return Ok(Arc::clone(same) as Arc<dyn Bootstrap>);
    }
    match choose(&variable)? {
        Choice::Singleton => singleton::job(),
        Choice::Launcher(line) => {
            let joined = Arc::new(Launched::join(&line)?);
            // SAFETY: init is the first call of a program, before threads that use the environment.
            unsafe { process::remove_env(VARIABLE) };
            *launched = Some(Arc::clone(&joined));
            Ok(joined)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &'static [(&'static str, &'static str)]) -> Result<Choice, BootError> {
        choose(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn an_empty_environment_is_one_pe() {
        assert_eq!(with(&[]).unwrap(), Choice::Singleton);
        assert_eq!(with(&[("DUSHMEM_BOOTSTRAP", "auto")]).unwrap(), Choice::Singleton);
    }

    #[test]
    fn the_launcher_goes_before_foreign_ones() {
        let line = LaunchLine { sock: 3, mem: 4, life: 5, pe: 0, npes: 2, by: 1, job: "x".into() };
        let launch = line.to_string();
        let choice = choose(&|name| match name {
            "DUSHMEM_LAUNCH" => Some(launch.clone()),
            "OMPI_COMM_WORLD_SIZE" => Some("4".into()),
            _ => None,
        });
        assert_eq!(choice.unwrap(), Choice::Launcher(line));
    }

    #[test]
    fn foreign_launchers_are_named() {
        let cases: [(&'static [(&str, &str)], &str); 11] = [
            (&[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "0")], "OMPI_COMM_WORLD_SIZE=4"),
            (&[("PMI_SIZE", "2"), ("PMI_RANK", "1")], "PMI_SIZE=2"),
            (&[("PMI_RANK", "1")], "PMI_RANK=1"),
            (&[("PMIX_RANK", "3"), ("PMIX_NAMESPACE", "j")], "PMIX_RANK=3"),
            (&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "3")], "SLURM_NTASKS=8"),
            (
                &[("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "3"), ("SLURM_NTASKS", "16")],
                "SLURM_STEP_NUM_TASKS=8",
            ),
            (&[("MV2_COMM_WORLD_SIZE", "2")], "MV2_COMM_WORLD_SIZE=2"),
            (&[("WORLD_SIZE", "2"), ("RANK", "0")], "WORLD_SIZE=2"),
            (&[("FLUX_JOB_SIZE", "2"), ("FLUX_TASK_RANK", "0")], "FLUX_JOB_SIZE=2"),
            (&[("PALS_SIZE", "2"), ("PALS_RANKID", "0")], "PALS_SIZE=2"),
            (&[("MPI_LOCALNRANKS", "2"), ("MPI_LOCALRANKID", "0")], "MPI_LOCALNRANKS=2"),
        ];
        for (env, found) in cases {
            let error = with(env).unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
            assert!(error.contains("dushrun") && error.contains("DUSHMEM_BOOTSTRAP=singleton"), "{error}");
        }
    }

    #[test]
    fn one_process_of_a_foreign_launcher_is_one_pe() {
        let cases: [&'static [(&str, &str)]; 5] = [
            &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")],
            &[("PMI_SIZE", "1"), ("PMI_RANK", "0")],
            &[("SLURM_NTASKS", "8")],
            &[("WORLD_SIZE", "8")],
            &[("WORLD_SIZE", "1"), ("RANK", "0")],
        ];
        for env in cases {
            assert_eq!(with(env).unwrap(), Choice::Singleton, "{env:?}");
        }
    }

    #[test]
    fn the_users_choice_goes_before_all() {
        let env: &'static [_] = &[("DUSHMEM_BOOTSTRAP", "singleton"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(with(env).unwrap(), Choice::Singleton);
        let error = with(&[("DUSHMEM_BOOTSTRAP", "launcher")]).unwrap_err().to_string();
        assert!(error.contains("DUSHMEM_LAUNCH is not set") && error.contains("dushrun"), "{error}");
        let error = with(&[("DUSHMEM_BOOTSTRAP", "slurm")]).unwrap_err().to_string();
        assert!(error.contains("DUSHMEM_BOOTSTRAP=slurm") && error.contains("singleton"), "{error}");
    }
}
