//! Limits of the system: memory of a control group, address space, open files, processes.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::installation::prefix;
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};

/// A control group with a limit on memory, removed when dropped.
struct Group(PathBuf);

impl Group {
    /// `None`, after saying why, where this process can't make one.
    fn of(bytes: u64) -> Option<Group> {
        let name = format!("dushmem-test-{}", std::process::id());
        let kinds = [
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
        ];
        let mut reasons = Vec::new();
        for (root, limit, with_swap) in kinds {
            let group = Group(Path::new(root).join(&name));
            if let Err(why) = std::fs::create_dir(&group.0) {
                reasons.push(format!("{}: {why}", group.0.display()));
                continue;
            }
            // Where the other version is mounted below it, this is an ordinary folder.
            if !group.0.join(limit).exists() {
                reasons.push(format!("{}: no control group", group.0.display()));
                continue;
            }
            match std::fs::write(group.0.join(limit), bytes.to_string()) {
                Ok(()) => {
                    // Swap would only make it slow.
                    let swap = if root.ends_with("memory") { bytes } else { 0 };
                    let _ = std::fs::write(group.0.join(with_swap), swap.to_string());
                    return Some(group);
                }
                Err(why) => reasons.push(format!("{}/{limit}: {why}", group.0.display())),
            }
        }
        println!("skipped: no control group with a limit on memory: {}", reasons.join("; "));
        None
    }

    /// dushrun in it.
    fn job(&self, pes: usize, program: &Path) -> Job {
        let script = format!("echo $$ > '{}/cgroup.procs' && exec \"$@\"", self.0.display());
        let job = Job::of("sh".as_ref()).args(["-c", &script, "sh"]).args([prefix().join("bin/dushrun")]);
        job.args(["-n", &pes.to_string()]).args([program])
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// dushrun behind a line of shell.
fn behind(shell: &str, pes: usize, program: &Path) -> Job {
    let script = format!("{shell}; exec \"$@\"");
    let job = Job::of("sh".as_ref()).args(["-c", &script, "sh"]).args([prefix().join("bin/dushrun")]);
    job.args(["-n", &pes.to_string()]).args([program])
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    trials.push(trial("limits::memory_of_a_control_group".into(), || {
        let Some(group) = Group::of(96 << 20) else { return };
        let touch = Program::new("touch").build();
        // A heap may be larger than the limit: what counts is what is touched.
        let outcome = group.job(3, &touch).args(["16"]).env("DUSHMEM_SYMMETRIC_SIZE", "4G").run();
        assert_eq!((outcome.code, &*outcome.stdout), (0, "16 MiB\n"), "{outcome:?}");
        let outcome = group.job(3, &touch).args(["300"]).env("DUSHMEM_SYMMETRIC_SIZE", "4G").run();
        outcome.failure(137, &[
            "dushrun: PE 1 (pid ",
            ") was ended by SIGKILL: killed by the kernel, out of memory (limit of 96M of its control group)",
        ]);
    }));
    trials.push(trial("limits::address_space".into(), || {
        let ring = Program::example("ring").build();
        // 600 MB: a default heap has no place, a small one has.
        let outcome = behind("ulimit -v 600000", 2, &ring).run();
        outcome.failure(1, &["shmem_init: DUSHMEM_SYMMETRIC_SIZE=1G (set, or the default): ", "(ulimit -v)"]);
        let small = behind("ulimit -v 600000", 2, &ring).env("DUSHMEM_SYMMETRIC_SIZE", "1M").run();
        small.prints_ring(2);
    }));
    trials.push(trial("limits::open_files_of_a_pe".into(), || {
        let ring = Program::example("ring").build();
        let with = |files: u32| {
            let script = format!("ulimit -n {files}; exec '{}'", ring.display());
            Job::new(2, "sh").args(["-c", &script]).run()
        };
        for files in [8, 16] {
            with(files).prints_ring(2);
        }
        // Too few to look at the own globals.
        with(4).failure(4, &["not in symmetric memory", "C globals are not symmetric"]);
    }));
    if installed("setpriv") && installed("bash") {
        trials.push(trial("limits::processes".into(), || {
            let user = Job::of("setpriv".as_ref()).words("--reuid=65533 --regid=65533 --clear-groups");
            let job = user.args(["bash", "-c", "ulimit -u 4; exec \"$@\"", "bash"]);
            let outcome = job.args([prefix().join("bin/dushrun")]).words("-n 8 sleep 30").run();
            if outcome.stderr.contains("failed") || outcome.stderr.contains("Permission denied") {
                println!(
                    "skipped: another user can't be, or can't read the installation: {}",
                    outcome.stderr.trim()
                );
                return;
            }
            outcome.failure(125, &["cannot start PE ", "raise the limit on processes (ulimit -u)"]);
        }));
    }
}
