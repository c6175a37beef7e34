//! Other users, small or missing /dev/shm, other launchers, damaged launch variables.
mod common;
use common::{pe, pes};
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools;
use std::time::Duration;

fn root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

/// Runs three PEs by the shell command `before`, in which RUN stands for the job.
fn shell(before: &str, words: &str) -> Outcome {
    let run = format!("{} -n 3 {} {words}", tools::program("dushrun").display(), pe());
    Job::of("sh".as_ref()).args(["-c", &before.replace("RUN", &run)]).run()
}

#[test]
fn another_user_than_root_can_run_jobs() {
    if !root() {
        // Then all other tests have shown it.
        return;
    }
    // Copies that the other user can reach, wherever the build folder is.
    let folder = Folder::new("nobody");
    std::fs::set_permissions(folder.file(""), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let copy = |from: std::path::PathBuf, name: &str| {
        std::fs::copy(from, folder.file(name)).unwrap();
        folder.file(name)
    };
    let (run, pe) = (copy(tools::program("dushrun"), "dushrun"), copy(tools::example("pe"), "pe"));
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", &run, "-n", "3", &pe];
    let job = Job::of("setpriv".as_ref()).args(user).words("join place barrier finalize");
    assert_eq!(job.run().success().sorted_lines(), ["(0, 3)", "(1, 3)", "(2, 3)"]);
    let job = Job::of("setpriv".as_ref()).args(user).words("join barrier 1:kill=11 hold");
    job.run().failure(139, &["PE 1", "SIGSEGV"]);
}

#[test]
fn limits_are_kept_or_named() {
    // The soft limit on open files is raised where the hard one allows, for dushrun alone.
    let outcome = shell("ulimit -S -n 16; RUN", "'sh=ulimit -n'");
    assert_eq!((outcome.code, &*outcome.stdout), (0, "16\n16\n16\n"), "{outcome:?}");
    for limit in 5..=12 {
        let told = format!("Too many open files: the limit is {limit} a process; raise it (ulimit -n)");
        shell(&format!("ulimit -n {limit}; RUN"), "join").failure(125, &[&told]);
    }
    // Less than a job's memory, which is a file for the kernel.
    let outcome = shell("ulimit -f 100; RUN 2>&1 | cat >&2; exit 125", "join");
    outcome.failure(125, &["limit on file sizes is", "raise it (ulimit -f)"]);
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let words = "join lines=50 sleep=200 finalize";
    let outcome = shell("RUN >/dev/full", words);
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(125, &["dushrun: cannot write the output: No space left on device"]);
    // Everything comes at the end.
    shell("RUN >/dev/full", "out=last").failure(125, &["cannot write the output"]);
}

#[test]
fn dev_shm_may_be_small_or_missing() {
    let mounts = [
        "mount -t tmpfs -o size=64m none /dev/shm",
        "mount -t tmpfs -o size=4k none /dev/shm",
        // Nothing can be created there.
        "mount -t tmpfs -o ro none /dev/shm",
    ];
    for mount in mounts {
        let outcome =
            shell(&format!("unshare -rm sh -c '{mount} && RUN || exit 77'"), "join place barrier finalize");
        if outcome.code == 77 {
            println!("not tested: the kernel refuses: {}", outcome.stderr.trim());
            return;
        }
        assert_eq!(outcome.success().sorted_lines(), ["(0, 3)", "(1, 3)", "(2, 3)"]);
    }
}

#[test]
fn without_proc_pes_run_and_end_with_their_launcher() {
    let folder = Folder::new("no-proc");
    let (up, said) = (folder.file("up"), folder.file("said"));
    // What the PEs have said has passed the launcher before it is killed.
    let outcome = shell(
        "unshare -rm sh -c 'mount -t tmpfs none /proc && { RUN >SAID & run=$!; for i in $(seq 100); do sleep 0.1; \
         test -e UP && test $(wc -l <SAID) = 3 && break; done; kill -9 $run; wait $run; status=$?; cat SAID; echo $status; } || exit 77'"
            .replace("UP", &up)
            .replace("SAID", &said)
            .as_str(),
        &format!("join place barrier touch={up} hold"),
    );
    if outcome.code == 77 {
        println!("not tested: the kernel refuses: {}", outcome.stderr.trim());
        return;
    }
    assert!(outcome.stdout.contains("(2, 3)") && outcome.stdout.ends_with("137\n"), "{outcome:?}");
}

#[test]
fn other_launchers_are_named() {
    for (name, value, more) in [
        ("OMPI_COMM_WORLD_SIZE", "4", ("OMPI_COMM_WORLD_RANK", "0")),
        ("PMI_SIZE", "2", ("PMI_RANK", "0")),
        ("PMIX_RANK", "1", ("PMIX_NAMESPACE", "x")),
        ("SLURM_NTASKS", "8", ("SLURM_PROCID", "1")),
        ("MV2_COMM_WORLD_SIZE", "3", ("MV2_COMM_WORLD_RANK", "0")),
        ("WORLD_SIZE", "2", ("RANK", "1")),
    ] {
        let job = || Job::of(pe().as_ref()).words("join place").env(name, value).env(more.0, more.1);
        let found = format!("{name}={value}");
        job().run().failure(3, &[&found, "dushrun", "DUSHMEM_BOOTSTRAP=singleton"]);
        let outcome = job().env("DUSHMEM_BOOTSTRAP", "singleton").run().success();
        assert_eq!(outcome.stdout, "(0, 1)\n");
        // Inside of another launcher's job dushrun's jobs work as ever.
        assert_eq!(
            pes(2, "join place finalize")
                .env(name, value)
                .env(more.0, more.1)
                .run()
                .success()
                .sorted_lines()
                .len(),
            2
        );
    }
}

#[test]
fn alone_a_program_is_one_pe() {
    let outcome = Job::of(pe().as_ref())
        .words("join place gather barrier finalize join place finalize")
        .run()
        .success();
    assert_eq!(outcome.stdout, "(0, 1)\n[[0, 7]]\n(0, 1)\n");
}

#[test]
fn a_damaged_launch_variable_is_explained() {
    let abi = dushmem_boot::job::SHARED_ABI;
    let good = format!("v1,abi={abi},sock=3,mem=4,life=5,pe=0,npes=2,by=1,job=x");
    let good = good.as_str();
    for (value, why) in [
        ("", "version \"\""),
        ("rubbish", "version \"rubbish\""),
        (&good.replace("v1", "v9"), "\"v9\""),
        (&good.replace(&format!("abi={abi}"), "abi=7"), "another build"),
        (&good.replace("pe=0", "pe=-1"), "pe=-1"),
        (&good.replace("npes=2", "npes=1000000"), "npes=1000000"),
        // Nothing was inherited.
        (good, "file descriptor 3 (sock) is closed"),
        (&good.replace("sock=3", "sock=0"), "file descriptor 0 (sock) is not a control socket"),
    ] {
        let outcome = Job::of(pe().as_ref()).words("join").env("DUSHMEM_LAUNCH", value).run();
        outcome.failure(3, &[&format!("DUSHMEM_LAUNCH={value}"), why, "dushrun"]);
    }
    Job::of(pe().as_ref())
        .words("join")
        .env("DUSHMEM_BOOTSTRAP", "launcher")
        .run()
        .failure(3, &["DUSHMEM_LAUNCH is not set"]);
    Job::of(pe().as_ref())
        .words("join")
        .env("DUSHMEM_BOOTSTRAP", "pigeon")
        .run()
        .failure(3, &["DUSHMEM_BOOTSTRAP=pigeon"]);
}

#[test]
fn descriptors_that_a_wrapper_closed_or_replaced_are_explained() {
    let each = |shell: &str| {
        // The descriptors as the variable names them, one after the other.
        let fds = "for key in sock mem life; do v=${DUSHMEM_LAUNCH#*$key=}; eval $key=${v%%,*}; done";
        let command = format!("{fds}; {} exec {} join", shell, pe());
        Job::new(1, "bash").args(["-c", &command]).run()
    };
    for key in ["sock", "mem", "life"] {
        let outcome = each(&format!("eval \"exec ${key}<&-\";"));
        assert!(outcome.stderr.contains(&format!("({key}) is closed")), "{key}: {outcome:?}");
        let outcome = each(&format!("eval \"exec ${key}</dev/null\";"));
        assert!(outcome.stderr.contains(&format!("({key}) is not ")), "{key}: {outcome:?}");
        assert_eq!(outcome.code, 3);
    }
}

#[test]
fn a_second_process_cannot_take_the_place_of_a_pe() {
    // The inner shell starts the program twice with the same variable.
    let command = format!("{0} join sleep=500 finalize & sleep 0.2; {0} join; wait", pe());
    let outcome = Job::new(1, "sh").args(["-c", &command]).run();
    assert!(outcome.stderr.contains("PE 0 of this job is already process"), "{outcome:?}");
}
