//! The plan, and the script that runs it, on programs of shell.
use super::*;
use dushmem_testkit::folder::Folder;
use std::time::{Duration, Instant};

#[test]
fn every_program_of_the_plan_has_sources_and_every_suite_is_in_it() {
    let plan = fs::read_to_string(root().join(PLAN)).unwrap();
    let names = names(&plan);
    for name in names.iter().filter(|name| *name != SUITES) {
        for source in sources(name).unwrap() {
            assert!(source.is_file(), "{}", source.display());
        }
    }
    let suites = fs::read_dir(root().join("tests/cuda")).unwrap();
    for path in suites
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "cu"))
    {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn lines_of_the_plan_have_their_fields() {
    let plan = fs::read_to_string(root().join(PLAN)).unwrap();
    let modes = ["plain", "mps", "threads", "each", "pairs", "pairsmps"];
    for line in plan.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.len() >= 5, "{line}");
        assert!(words[1].split(',').all(|mode| modes.contains(&mode)), "{line}");
        let pes = words[2].split(',').map(|pes| pes.parse::<u32>().expect("a number"));
        let pes: Vec<u32> = pes.collect();
        assert!(pes.iter().all(|pes| (1..=8).contains(pes)) && pes.is_sorted(), "{line}");
        // On two GPUs these run with two PEs, and with four.
        let has = |mode: &str| words[1].split(',').any(|word| word == mode);
        assert!(!has("each") || pes.contains(&2), "{line}");
        assert!(!(has("pairs") || has("pairsmps")) || pes.contains(&4), "{line}");
        assert!(words[3].parse().is_ok_and(|limit: u32| limit <= 300), "{line}");
    }
}

#[test]
fn a_program_for_another_gpu_is_made_anew() {
    let folder = Folder::new("pack-words");
    let programs = folder.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let names = ["host_data".to_owned(), "stream_order".to_owned()];
    let carry = |arch: &str, names: &[String]| {
        let compiler = Compiler { prefix: "/nowhere".into(), arch: arch.into(), programs: programs.clone() };
        carry_sources(&compiler, &names.iter().collect::<Vec<_>>(), folder.path()).unwrap();
        let kept = names.iter().filter(|name| programs.join(name).exists()).count();
        names.iter().for_each(|name| fs::write(programs.join(name), "").unwrap());
        kept
    };
    assert_eq!(carry("sm_90", &names), 0);
    assert_eq!(carry("sm_90", &names), 2);
    assert_eq!(carry("sm_80", &names[..1]), 0);
    assert_eq!(carry("sm_80", &names), 1, "by which words the other was made is not known");
}

/// A pack whose programs are scripts.
struct Pack(Folder);

impl Pack {
    fn new(name: &str, plan: &str) -> Pack {
        let pack = Pack(Folder::new(&format!("pack-{name}")));
        for (name, text) in SCRIPT {
            pack.put(name, text);
        }
        pack.put("plan.txt", plan);
        // Hands on what ends it, and tells what PEs wait for, as dushrun does.
        pack.put(
            "prefix/bin/dushrun",
            "#!/bin/sh\n\
             trap 'echo dushrun: PE 1 waits in barrier_all >&2; kill $!; exit 143' TERM\n\
             export PES=$2 BIND=; shift 2\n\
             case $1 in --gpu-bind=*) BIND=$1; shift;; esac\n\
             \"$@\" & wait $!\n",
        );
        pack
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn program(&self, name: &str, script: &str) {
        self.put(&format!("programs/{name}"), &format!("#!/bin/sh\n{script}\n"));
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("bash");
        command.arg(self.0.join("run.sh")).arg("--out").arg(self.0.join("out")).args(words);
        // Whose folders can be found by this test alone.
        command.env("PACK", self.0.join("")).env_remove("OUT");
        command
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let done = self.command(words).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    }

    fn out(&self, name: &str) -> String {
        fs::read_to_string(self.0.join("out").join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    fn results(&self) -> Vec<Vec<String>> {
        let lines = self.out("results.tsv");
        lines.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    /// What is known of a program: number of PEs and verdict.
    fn verdicts(&self, program: &str) -> Vec<(u32, String)> {
        let mut found: Vec<(u32, String)> = self
            .results()
            .iter()
            .filter(|row| row[2] == program)
            .map(|row| (row[4].parse().unwrap(), row[5].clone()))
            .collect();
        found.sort();
        found
    }

    /// Processes of this pack that run.
    fn left(&self) -> Vec<String> {
        let own = format!("PACK={}", self.0.join("").display());
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let has = |path: &PathBuf| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == own.as_bytes())
        };
        let told = |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        processes.filter(has).map(told).filter(|words| !words.is_empty()).collect()
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        assert!(self.left().is_empty(), "{:?}", self.left());
    }
}

#[test]
fn the_script_tells_of_each_line_of_the_plan() {
    let pack = Pack::new(
        "lines",
        "# a comment\n\
         one plain,mps 1,2 9 good WANTED=x -- x\n\
         one plain 1,2,4 9 bad\n\
         one plain 2 9 refuses -- a b fails no such PE\n\
         one plain 2 9 refuses\n\
         one plain 1,3 9 ring ring\n\
         one plain 2 9 list says dest[0] = 0.0, * all\n\
         one mps 1 9 missing\n\
         two plain 1 9 good WANTED=1 alone -- @n\n\
         two plain 1 9 missing\n",
    );
    pack.program("good", "[ $WANTED = $1 ] && echo all right");
    pack.program("bad", "echo PE 1 is wrong; [ $PES != 2 ] && echo all right\nexit 0");
    pack.program("refuses", "echo pe = 9: no such PE >&2; exit 3");
    pack.program("ring", "for p in $(seq $PES); do echo PE $p: received 7, expected 7; done");
    pack.program("list", "echo 'dest[0] = 0.0, * all'");
    let (code, said) = pack.run(&["--jobs", "3", "one-plain", "two-plain"]);
    assert_eq!(code, Some(1), "{said}");
    for part in [
        "ok      one-plain      n=1 good WANTED=x -- x: ",
        "FAIL    one-plain      n=2 bad: ",
        "ok      one-plain      n=2 refuses -- a b fails no such PE: ",
        "FAIL    one-plain      n=2 refuses: ",
        "ok      one-plain      n=3 ring ring: ",
        "ok      one-plain      n=2 list says dest[0] = 0.0, * all: ",
        "==== one-plain: 8 right, 2 wrong, 0 not run; ",
        "ok      two-plain      n=1 good WANTED=1 alone -- @n: ",
        "missing two-plain      n=1 missing: ",
        "==== two-plain: 1 right, 1 wrong, 0 not run; ",
        "---- one-plain bad  n=2: exit 0",
        "PE 1 is wrong",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    // Few files, whatever was run: what the machine gives back is counted.
    let mut files: Vec<String> = fs::read_dir(pack.0.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["failures.txt", "logs.tgz", "results.tsv", "summary.json", "summary.md"]);
    let table = pack.out("summary.md");
    assert!(table.contains("9 right, 2 wrong, 0 that hang, 1 not in the pack, 0 not run."), "{table}");
    assert!(table.contains("| suite | program | 1 PE | 2 PEs | 3 PEs | 4 PEs |"), "{table}");
    let row = table.lines().find(|line| line.starts_with("| one-plain | bad |")).unwrap();
    assert!(row.contains("| **FAIL** 0 |") && row.matches(" s |").count() == 2, "{row}");
    assert!(table.contains("- one-plain, refuses, 2 PEs: FAIL, code 3, "), "{table}");
    let json: serde_json::Value = serde_json::from_str(&pack.out("summary.json")).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 12);
    let one = runs.iter().find(|run| run["program"] == "refuses" && run["verdict"] == "FAIL").unwrap();
    assert_eq!((one["pes"].as_u64(), one["code"].as_u64()), (Some(2), Some(3)));
    assert!(one["said"].as_str().unwrap().contains("no such PE"));

    assert_eq!(pack.run(&["--only", "good", "two-plain"]).0, Some(0));
    assert!(pack.run(&["three-plain"]).1.contains("FAIL three-plain: the plan has no such stage"));
    assert_eq!(pack.run(&["--list"]).1, "one-mps\none-plain\ntwo-plain\n");
    assert_eq!(pack.run(&["--bugdet", "9"]).0, Some(2));
    assert_eq!(pack.run(&["--daemons", "some", "two-plain"]).0, Some(2));
    pack.nothing_is_left();
}

#[test]
fn what_hangs_or_crashes_is_ended_with_all_that_it_has_started() {
    let pack = Pack::new(
        "hangs",
        "one plain 1,2 2 hangs\n\
         one plain 1,2 9 crashes\n\
         one plain 1,2 60 slow\n\
         one plain 1,2,4 9 good\n",
    );
    pack.program("hangs", "trap '' TERM\nsleep 71 & sleep 72 & wait; wait; sleep 73");
    pack.program("crashes", "sleep 74 & kill -SEGV $$");
    pack.program("slow", "sleep 75; echo all right");
    pack.program("good", "echo all right");
    let begun = Instant::now();
    let (code, said) = pack.run(&["--jobs", "2", "--limit", "3", "one-plain"]);
    assert_eq!(code, Some(1), "{said}");
    // Two that hang at the same time, 2 and 3 s; with more PEs they are not tried.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let verdicts = |program: &str| pack.verdicts(program);
    let each = |one: &str, two: &str| vec![(1, one.to_owned()), (2, two.to_owned())];
    assert_eq!(verdicts("hangs"), each("HANGS", "not run"));
    assert_eq!(verdicts("slow")[0], (1, "HANGS".to_owned()));
    assert_eq!(verdicts("crashes"), each("FAIL", "FAIL"));
    assert_eq!(verdicts("good").len(), 3);
    assert!(verdicts("good").iter().all(|(_, verdict)| verdict == "ok"));
    // What it was doing, and what dushrun says when it is ended.
    let report = pack.out("failures.txt");
    assert!(report.contains("what its threads were doing:\n") && report.contains(" sleep S "), "{report}");
    assert!(report.contains("dushrun: PE 1 waits in barrier_all"), "{report}");
    assert!(report.contains("crashes  n=1: exit 139"), "{report}");
    pack.nothing_is_left();
}

#[test]
fn the_budget_is_kept() {
    let pack = Pack::new("budget", "one plain 1 90 slow\none plain 1 9 good\none plain 2 9 good\n");
    pack.program("slow", "sleep 76; echo all right");
    pack.program("good", "echo all right");
    let (code, said) = pack.run(&["--budget", "-1", "one-plain"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("0 right, 0 wrong, 3 not run"), "{said}");
    // What runs when the time is up has some more, and then is no failure of its own.
    let begun = Instant::now();
    let (_, said) =
        pack.run(&["--jobs", "2", "--budget", "3", "--grace", "0", "--only", "slow", "one-plain"]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(pack.verdicts("slow"), [(1, "not run".to_owned())], "{said}");
    assert!(said.contains("the time was up while it ran"), "{said}");
    pack.nothing_is_left();
}

#[test]
fn a_call_that_is_ended_keeps_what_it_knows_and_leaves_nothing() {
    let pack = Pack::new("ended", "one plain 1 9 good\none plain 1 90 slow\n");
    pack.program("good", "echo all right");
    pack.program("slow", "sleep 77 & wait; echo all right");
    let mut command = pack.command(&["--jobs", "1", "one-plain"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    dushmem_testkit::job::until("the second one runs", || {
        pack.left().iter().any(|words| words == "sleep\x0077\0")
    });
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    child.wait().unwrap();
    assert_eq!(pack.verdicts("good"), [(1, "ok".to_owned())]);
    assert!(pack.out("summary.md").contains("1 right"));
    pack.nothing_is_left();
}

#[test]
fn what_was_right_before_is_not_run_again() {
    let pack = Pack::new("done", "one plain 1,2 9 good\none plain 1,2 9 first -- x\n");
    pack.program("good", "echo once >>$PACK/count; echo all right");
    pack.program("first", "[ -e $PACK/repaired ] || [ $PES = 1 ] && echo all right");
    assert_eq!(pack.run(&["one-plain"]).0, Some(1));
    fs::rename(pack.0.join("out/results.tsv"), pack.0.join("before.tsv")).unwrap();
    fs::write(pack.0.join("repaired"), "").unwrap();
    let before = pack.0.join("before.tsv").display().to_string();
    let (code, said) = pack.run(&["--done", &before, "one-plain"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("==== one-plain: 1 right, 0 wrong, 0 not run"), "{said}");
    assert_eq!(fs::read_to_string(pack.0.join("count")).unwrap().lines().count(), 2);
    // The table has all of it, with the last word about each.
    let table = pack.out("summary.md");
    assert!(table.contains("4 right, 0 wrong") && !table.contains("FAIL"), "{table}");
    assert!(pack.run(&["--skip", "good|first", "one-plain"]).1.contains("0 right, 0 wrong, 0 not run"));
}

/// A daemon that is a sleep, and notes whose it was.
const CONTROL: &str = "#!/bin/sh\n\
    case \"$1\" in\n\
    -d) [ -e $PACK/broken ] && { echo no device; exit 3; }\n\
        echo $CUDA_MPS_PIPE_DIRECTORY >>$PACK/daemons; sleep 78 & echo $! >$CUDA_MPS_PIPE_DIRECTORY/pid;;\n\
    *) read -r word; case \"$word\" in quit*) kill $(cat $CUDA_MPS_PIPE_DIRECTORY/pid);; esac;;\n\
    esac\n";

#[test]
fn programs_at_the_same_time_have_daemons_of_their_own_or_one() {
    let pack = Pack::new("mps", "one mps 1,2,4 9 good\none mps 1 1 hangs\none mps 2 9 long\n");
    pack.put("prefix/bin/nvidia-cuda-mps-control", CONTROL);
    let tell = "echo $CUDA_MPS_PIPE_DIRECTORY $CUDA_DEVICE_MAX_CONNECTIONS; echo all right";
    pack.program("good", &format!("sleep 0.3; kill -0 $(cat $CUDA_MPS_PIPE_DIRECTORY/pid) && {tell}"));
    // Runs still when the one that hangs is ended: a daemon that both use is not taken from under it.
    let ended = "[ -e $CUDA_MPS_PIPE_DIRECTORY/../../restart ] || [ $(wc -l <$PACK/daemons) = 3 ]";
    let long = format!("for i in $(seq 80); do {ended} && break; sleep 0.1; done");
    pack.program("long", &format!("{long}; kill -0 $(cat $CUDA_MPS_PIPE_DIRECTORY/pid) && {tell}"));
    pack.program("hangs", "sleep 79");
    let daemons = || {
        let told = fs::read_to_string(pack.0.join("daemons")).unwrap_or_default();
        let _ = fs::remove_file(pack.0.join("daemons"));
        let slot = |line: &str| line.trim_end_matches("/pipe").rsplit_once("mps").unwrap().1.to_owned();
        let mut slots: Vec<String> = told.lines().map(slot).collect();
        slots.sort();
        slots
    };
    let (_, said) = pack.run(&["--jobs", "2", "one-mps"]);
    assert!(said.contains("==== one-mps: 4 right, 1 wrong, 0 not run"), "{said}");
    // One each; that of the program that hung was started again.
    let slots = daemons();
    assert!(
        slots.len() == 3 && slots.contains(&"0".to_owned()) && slots.contains(&"1".to_owned()),
        "{slots:?}"
    );
    pack.nothing_is_left();
    let (_, said) = pack.run(&["--jobs", "2", "--daemons", "one", "one-mps"]);
    assert!(said.contains("==== one-mps: 4 right, 1 wrong, 0 not run"), "{said}");
    assert_eq!(daemons(), ["0", "0"]);
    pack.nothing_is_left();
    // Without a daemon nothing is run as if there were one.
    fs::write(pack.0.join("broken"), "").unwrap();
    let (code, said) = pack.run(&["one-mps"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no device") && said.contains("0 right, 0 wrong, 5 not run"), "{said}");
}

#[test]
fn few_pes_run_at_the_same_time() {
    let pack = Pack::new(
        "contexts",
        "one plain 2,4 20 busy -- a\n\
         one plain 2,4 20 busy -- b\n\
         one plain 2,4 20 busy -- c\n\
         one plain 2,8 20 busy -- d\n\
         one threads 1,2 20 busy alone -- a\n\
         one threads 1,2 20 busy alone -- b\n",
    );
    // Four of two PEs wait for each other, to be seen at the same time.
    pack.program(
        "busy",
        "cd $PACK; mkdir -p run; echo ${PES:-100} >run/$$\n\
         sum() { cat run/* 2>/dev/null | awk '{ s += $1 } END { print s + 0 }' | tee -a sums; }\n\
         for i in $(seq 100); do\n\
         now=$(sum); [ ${PES:-0} != 2 ] || [ $now = 8 ] || [ -e all ] && break; sleep 0.1; done\n\
         [ ${PES:-0} != 2 ] || >all; sleep 0.3; sum; rm run/$$; echo all right",
    );
    let most = || {
        let sums = fs::read_to_string(pack.0.join("sums")).unwrap();
        let _ = fs::remove_file(pack.0.join("sums"));
        sums.lines().filter_map(|line| line.parse::<u32>().ok()).max().unwrap()
    };
    let (code, said) = pack.run(&["--jobs", "6", "one-plain"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(most(), 8, "{said}");
    // PEs that are threads: one program alone.
    let (code, said) = pack.run(&["--jobs", "6", "one-threads"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(most(), 100, "{said}");
}

#[test]
fn on_several_gpus_each_pe_has_its_own() {
    let pack = Pack::new(
        "gpus",
        "one each,pairs 1,2,3,4,8 9 bound says --gpu-bind=each, all right\n\
         one each 2 9 bound unbound says none, all right\n\
         one plain 1,2 9 bound says none, all right\n",
    );
    pack.program("bound", "echo ${BIND:-none}, all right");
    let run = |gpus: &str, stage: &str| {
        let done = pack.command(&[stage]).env("GPUS", gpus).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(done.status.code(), Some(0), "{said}");
        pack.verdicts("bound").into_iter().map(|(pes, _)| pes).collect::<Vec<_>>()
    };
    assert_eq!(run("2", "one-each"), [2, 2]);
    assert_eq!(run("4", "one-each"), [2, 2, 3, 4]);
    assert_eq!(run("2", "one-pairs"), [4]);
    assert!(run("1", "one-pairs").is_empty());
    assert!(run("1", "one-each").is_empty());
    assert_eq!(run("2", "one-plain"), [1, 2]);
}
