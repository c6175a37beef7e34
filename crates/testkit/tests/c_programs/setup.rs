//! Set-up: teams of every making, processes that nobody started together, MPI, variables.
use crate::build::Program;
use crate::programs::FAMILIES;
use crate::trial;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::prefix;
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools::installed;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for family in FAMILIES {
        let program = Program::new("groups").family(family);
        for pes in [1, 2, 3, 4, 7, 8] {
            let program = program.clone();
            let long = if pes == 3 || pes > 4 { "long_" } else { "" };
            let name = format!("groups::{}::{long}{pes}_pes", family.to_lowercase());
            trials.push(trial(name, move || {
                for transport in ["shm", "loopback"] {
                    // The program provokes failures, whose lines name other things than its source.
                    let outcome = Job::new(pes, program.build()).env("DUSHMEM_TRANSPORT", transport).run();
                    assert!(outcome.code == 0 && !outcome.stderr.contains("groups.c"), "{outcome:#?}");
                }
            }));
        }
    }
    for family in ["NVSHMEM", "DUSHMEM"] {
        let name = |what: &str| format!("meeting::{}::{what}", family.to_lowercase());
        let program = Program::new("meet").family(family);
        for pes in [1, 2, 3, 8] {
            let program = program.clone();
            let name = name(&format!("ring_{pes}_pes"));
            trials.push(trial(name, move || ring(&program, pes)));
        }
        for &(what, codes, line) in FAILURES {
            let (program, name) = (program.clone(), name(what));
            trials.push(trial(name, move || failure(&program, what, codes, line)));
        }
        let program = program.clone();
        trials.push(trial(name("told_under_the_launcher"), move || under_the_launcher(&program)));
        trials.push(trial(format!("mpi::{}", family.to_lowercase()), move || mpi(family)));
    }
    trials.push(trial("variables::info_and_debug".into(), info_and_debug));
    trials.push(trial("variables::what_init_refuses".into(), refused));
}

/// What each PE of a meeting came to.
#[derive(Debug)]
struct Met {
    codes: Vec<i32>,
    errors: Vec<String>,
    outputs: Vec<String>,
    time: Duration,
}

/// Starts `pes` processes with nothing in common but a file for the id.
fn meet(program: &Program, pes: usize, what: &str, set: impl FnOnce(Job) -> Job) -> Met {
    let folder = Folder::new(&format!("meet-{what}"));
    let script = format!(
        "for r in $(seq 0 {last}); do (\"$0\" $r {pes} id {what} >out.$r 2>err.$r; echo $? >code.$r) & done; wait",
        last = pes - 1
    );
    let job = Job::of(Path::new("sh")).args(["-c", &script]).args([program.build()]).at(folder.path());
    let outcome = set(job).run();
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    let read = |kind: &str| -> Vec<String> {
        let file = |rank| std::fs::read_to_string(folder.join(format!("{kind}.{rank}")));
        (0..pes).map(|rank| file(rank).expect("every process leaves one")).collect()
    };
    let codes = read("code").iter().map(|code| code.trim().parse().expect("a number")).collect();
    // That a process was killed is the shell's news.
    let errors = read("err").iter().map(|error| error.replace("Killed\n", "")).collect();
    Met { codes, errors, outputs: read("out"), time: outcome.time }
}

fn ring(program: &Program, pes: usize) {
    for maker in [0, pes - 1] {
        let met = meet(program, pes, "ring", |job| job.env("MAKER", maker.to_string()));
        assert!(met.codes.iter().all(|&code| code == 0), "{met:#?}");
        let fine = |error: &String| error.lines().all(|line| line.contains("is initialised already, as PE"));
        assert!(met.errors.iter().all(fine), "{met:#?}");
    }
}

/// What is done, the codes of three PEs, and a line that some PE prints.
type Failure = (&'static str, [i32; 3], &'static str);

const FAILURES: &[Failure] = &[
    ("mute", [7, 7, 0], "PE 2 of 3 did not come within 1 s (DUSHMEM_BOOTSTRAP_TIMEOUT)"),
    ("twice", [7, 7, 7], "myrank = 0: both process"),
    ("count", [7, 7, 7], "nranks = 4 (process "),
    ("stale", [0, 7, 7], "nobody waits for the PEs of this unique id: process "),
    ("killed", [1, 137, 1], "PE 1 (process "),
    ("host", [137, 1, 1], "PE 0 (process "),
    ("leaves", [1, 0, 1], "ended without finalize, so the job ends"),
    ("abort", [7, 7, 7], ""),
    ("wrong", [4, 4, 4], "nothing"),
    ("early", [0, 0, 0], ""),
];

fn failure(program: &Program, what: &str, codes: [i32; 3], line: &str) {
    let limit = if what == "mute" { "1" } else { "50" };
    let met = meet(program, 3, what, |job| job.env("DUSHMEM_BOOTSTRAP_TIMEOUT", limit));
    assert_eq!(met.codes, codes, "{met:#?}");
    let all = met.errors.concat();
    match what {
        // The numbers that were wrong, told by each PE that is there.
        "mute" | "stale" => assert_eq!(all.matches(line).count(), 2, "{met:#?}"),
        "twice" | "count" => {
            assert!(all.contains(line), "{met:#?}");
            assert!(met.errors.iter().all(|error| error.lines().count() == 1), "{met:#?}");
        }
        // One line for the whole job, and what was printed before is not lost.
        "killed" | "host" | "leaves" => {
            assert!(all.lines().count() == 1 && all.contains(line), "{met:#?}");
            let waiting = met.outputs.iter().filter(|output| output.contains("waits")).count();
            assert_eq!(waiting, 2, "{met:#?}");
            assert!(met.time < Duration::from_secs(10), "{met:#?}");
        }
        "wrong" => assert!(all.lines().count() == 1 && all.contains("not in symmetric memory"), "{met:#?}"),
        _ => assert_eq!(all, "", "{met:#?}"),
    }
}

/// A program that dushrun has started, but that says itself which PE of which job it is.
fn under_the_launcher(program: &Program) {
    let folder = Folder::new("meet-launched");
    let script = "exec \"$0\" $((DUSHMEM_NPES - 1 - DUSHMEM_PE)) $DUSHMEM_NPES id ring";
    let outcome = Job::new(3, "sh").args(["-c", script]).args([program.build()]).at(folder.path()).run();
    let fine = outcome.stderr.lines().all(|line| line.contains("is initialised already, as PE"));
    assert!(outcome.code == 0 && fine, "{outcome:#?}");
}

/// Built with the wrapper of an MPI library, started by its launcher.
fn mpi(family: &str) {
    if !installed("mpicc") || !installed("mpirun") {
        return;
    }
    let folder = Folder::new("mpi");
    let (program, lib) = (folder.join("program"), prefix().join("lib"));
    let source = dushmem_testkit::installation::root().join("tests/c/mpi.c");
    let compiled = Command::new("mpicc")
        .args(["-std=c11", "-O1", "-o"])
        .arg(&program)
        .arg(format!("-DFAMILY_{family}"))
        .arg(format!("-I{}", prefix().join("include").display()))
        .arg(&source)
        .arg(format!("-L{}", lib.display()))
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .arg("-ldushmem")
        .output()
        .expect("mpicc runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    for (pes, line) in [(1, "1 of 1\n"), (4, "3 of 4\n")] {
        let job = Job::of(Path::new("mpirun"))
            .words(&format!("--allow-run-as-root --oversubscribe -np {pes}"))
            // Several mpiruns that make the same folder at once get into each other's way.
            .env("OMPI_MCA_orte_tmpdir_base", folder.file(""))
            .args([&program]);
        let outcome = job.run();
        assert!(outcome.code == 0 && outcome.stdout == line, "{outcome:#?}");
    }
    let early = Job::of(&program).words("early").run();
    assert!(
        early.code == 7 && early.stderr.contains("MPI is not initialised: call MPI_Init first"),
        "{early:#?}"
    );
}

fn variables(family: &str) -> std::path::PathBuf {
    Program::new("variables").family(family).build()
}

#[track_caller]
fn has(outcome: &Outcome, lines: &[&str]) {
    for line in lines {
        assert!(outcome.stderr.contains(line), "{line}: {outcome:#?}");
    }
}

fn info_and_debug() {
    let program = variables("SHMEM");
    let job = || Job::new(2, &program);
    job().run().success();
    let info = job().env("SHMEM_INFO", "").env("SMA_SYMMETRIC_SIZE", "20kk").run();
    has(
        &info,
        &[
            "  SMA_SYMMETRIC_SIZE = 20kk (set)\n      symmetric heap a PE",
            "  SHMEM_DEBUG = unset (default)\n",
            "SMA_SYMMETRIC_SIZE=20kk: read as 20480 bytes; \"k\" behind the size was ignored",
        ],
    );
    assert_eq!(info.stderr.matches("environment variables").count(), 1, "on one PE: {info:#?}");
    assert!(!info.stderr.contains("  NVSHMEM_"), "{info:#?}");
    let debug = job().env("SHMEM_DEBUG", "1").env("SHMEM_SYMMETRIC_SIZE", "3M").run();
    has(
        &debug,
        &[
            "debug: setting SHMEM_SYMMETRIC_SIZE=3M",
            "debug: heap of 3M at 0x",
            "transport shm",
            "debug: C globals are symmetric",
            "this PE is number 0 of [0]",
            "destroyed",
            "debug: finalized",
        ],
    );
    assert!(!debug.stderr.contains("bytes of heap at"), "{debug:#?}");
    has(&job().env("SHMEM_DEBUG", "trace").run(), &["debug: 100 bytes of heap at 0x"]);
    let version = job().env("SHMEM_VERSION", "0").run();
    assert!(version.stderr.lines().count() == 1 && version.stderr.contains("dushmem 0."), "{version:#?}");
    has(&version, &[": 2 PEs, "]);
    has(&Job::new(1, &program).env("SHMEM_VERSION", "1").run(), &[": 1 PE, "]);
    has(&Job::new(1, &program).env("SHMEM_DEBUG", "1").run(), &["debug: one of 1 PE, process "]);
    has(
        &job().env("SHMEM_SYMMETRIC_HEAP_SIZE", "1M").run(),
        &["dushmem: SHMEM_SYMMETRIC_HEAP_SIZE is set; is SHMEM_SYMMETRIC_SIZE meant?"],
    );
    for (name, told) in [
        ("DUSHMEM_HEAP_SIZE", "is set; is DUSHMEM_SYMMETRIC_SIZE meant?"),
        ("DUSHMEM_NONSENSE", "is set, but dushmem has no such variable; dushinfo lists those there are"),
    ] {
        let outcome = job().env(name, "1M").run();
        let lines: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains(name)).collect();
        assert_eq!(lines, [format!("dushmem: {name} {told}")], "{outcome:#?}");
    }
    let nowhere = job().env("SHMEM_DEBUG", "1").env("SHMEM_DEBUG_FILE", "/no/such/folder/log").run();
    for pe in 0..2 {
        let line = nowhere.stderr.lines().find(|line| {
            line.starts_with(&format!("dushmem: PE {pe} (host ")) && line.contains("SHMEM_DEBUG_FILE=/no")
        });
        let line = line.unwrap_or_else(|| panic!("PE {pe}: {nowhere:#?}"));
        assert!(
            line.ends_with(
                ": init: SHMEM_DEBUG_FILE=/no/such/folder/log: No such file or directory; diagnostic lines go to \
                 standard error"
            ),
            "{line}"
        );
    }
    // NVSHMEM's switches, file, and table of teams.
    let program = variables("NVSHMEM");
    let folder = Folder::new("debug-file");
    Job::new(2, &program).env("NVSHMEM_INFO", "0").env("NVSHMEM_DEBUG", "").run().success();
    let all = Job::new(1, &program).env("NVSHMEM_INFO", "1").env("NVSHMEM_INFO_HIDDEN", "1").run();
    has(
        &all,
        &[
            "  NVSHMEM_IB_SL = 0 (default)\n      no effect: no network",
            "  NVSHMEM_MAX_TEAMS = 128 (default)\n",
        ],
    );
    let job = Job::new(2, &program).env("NVSHMEM_DEBUG", "INFO").env("NVSHMEM_MAX_TEAMS", "32");
    job.env("NVSHMEM_DEBUG_FILE", folder.join("log.%p")).run().success();
    let logs = std::fs::read_dir(folder.path()).expect("the folder").flatten();
    let logs: Vec<String> = logs.map(|log| std::fs::read_to_string(log.path()).expect("a log")).collect();
    assert_eq!(logs.len(), 2, "{logs:#?}");
    assert!(logs.iter().all(|log| log.contains("debug: setting NVSHMEM_MAX_TEAMS=32")), "{logs:#?}");
}

/// init_thread returns a number that is not 0, init ends the job; each with one line for all PEs.
fn refused() {
    for (family, variable, value, why) in [
        ("SHMEM", "SHMEM_SYMMETRIC_SIZE", "abc", "not a size"),
        ("SHMEM", "SMA_SYMMETRIC_SIZE", "-1", "not a size"),
        ("NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE", "1Gb", "nothing may follow"),
        ("NVSHMEM", "NVSHMEM_MAX_TEAMS", "x", "not a whole number"),
        ("DUSHMEM", "DUSHMEM_STATIC", "perhaps", "neither yes nor no"),
        ("SHMEM", "DUSHMEM_BOOTSTRAP_TIMEOUT", "-1", "not a whole number from 1 to 2147483648"),
        (
            "DUSHMEM",
            "DUSHMEM_BOOTSTRAP",
            "slurm",
            "there is no such bootstrap; use auto, launcher or singleton",
        ),
        ("NVSHMEM", "DUSHMEM_EMU_DEVICES", "0", "not a whole number from 1 to 4096"),
        ("NVSHMEM", "DUSHMEM_EMU_WARP", "16", "a warp has 32 or 64 lanes"),
        ("DUSHMEM", "DUSHMEM_EMU_STACK", "1K", "a size from 64K to 1G is needed"),
    ] {
        let line = format!("{variable}={value}: ");
        let program = variables(family);
        let returned = Job::new(2, &program).env(variable, value).run();
        assert_eq!(
            (returned.code, returned.stdout.matches("init_thread gives 1").count()),
            (0, 2),
            "{returned:#?}"
        );
        has(&returned, &[&line, why]);
        let ended = Job::new(2, &program).words("init").env(variable, value).run();
        assert!(ended.code != 0 && ended.stdout.is_empty(), "{ended:#?}");
        has(&ended, &[&line, why]);
        assert!([returned, ended].iter().all(|job| job.stderr.lines().count() == 1), "{line}");
        let alone = Job::of(&program).words("init").env(variable, value).run();
        assert!(alone.code != 0 && alone.stdout.is_empty(), "{alone:#?}");
        has(&alone, &[&line, why]);
    }
}
