//! The ring as another user, and with little or no /dev/shm.
use crate::build::Program;
use crate::{ring, trial};
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::prefix;
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use libtest_mimic::Trial;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Copies of what another user needs, in a folder that everybody can read.
fn readable(program: &Path) -> Folder {
    let folder = Folder::new("readable");
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
    open(folder.path()).expect("the folder is ours");
    let library = "libdushmem.so.0";
    let files = [
        ("dushrun", prefix().join("bin/dushrun")),
        ("ring", program.to_owned()),
        (library, prefix().join("lib").join(library)),
    ];
    for (name, from) in files {
        let to = folder.join(name);
        std::fs::copy(&from, &to).unwrap_or_else(|why| panic!("{}: {why}", from.display()));
        open(&to).expect("the file is ours");
    }
    folder
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0)
}

/// A ring in a mount namespace of its own, where /dev/shm is what `mount` makes of it.
fn in_namespace(mount: &str, pes: usize, built: &Path) -> Job {
    let script = format!("{mount} && exec \"$@\"");
    let dushrun = prefix().join("bin/dushrun");
    let job = Job::of("unshare".as_ref()).words("-m sh -c").args([&script, "sh"]).args([dushrun]);
    job.args(["-n", &pes.to_string()]).args([built])
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    if !is_root() {
        return;
    }
    if installed("setpriv") {
        for (long, times) in [("", 1), ("long_", 20)] {
            trials.push(trial(format!("ring::{long}another_user"), move || {
                let built = Program::example("ring").build();
                let copies = readable(&built);
                let start = |pes: usize| {
                    let job = Job::of("setpriv".as_ref()).words("--reuid=65534 --regid=65534 --clear-groups");
                    let job = job.args([copies.join("dushrun")]).args(["-n", &pes.to_string()]);
                    job.args([copies.join("ring")]).env("LD_LIBRARY_PATH", copies.path())
                };
                if times == 1 { start(3).run().prints_ring(3) } else { ring::all_sizes(times, start) }
            }));
        }
    }
    if installed("unshare") {
        let mounts = [
            ("small_dev_shm", "mount -t tmpfs -o size=64m none /dev/shm"),
            ("unusable_dev_shm", "mount -t tmpfs -o size=0,mode=000,ro none /dev/shm"),
            ("no_dev_shm", "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && [ ! -e /dev/shm ]"),
        ];
        for (name, mount) in mounts {
            for (long, times) in [("", 1), ("long_", 20)] {
                trials.push(trial(format!("ring::{long}{name}"), move || {
                    let built = Program::example("ring").build();
                    let start = |pes: usize| in_namespace(mount, pes, &built);
                    if times == 1 { start(3).run().prints_ring(3) } else { ring::all_sizes(times, start) }
                }));
            }
            trials.push(trial(format!("reinit::{name}"), move || {
                // 900 MB are allocated there, and the ends of it touched.
                let built = Program::new("reinit").build();
                crate::programs::succeeded(in_namespace(mount, 2, &built).run());
            }));
        }
    }
}
