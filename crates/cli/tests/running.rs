//! dushrun while all is well: numbers, programs, input, output, environment, binding.
mod common;
use common::{pe, pes, pes_with};
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::Job;
use std::collections::HashMap;

#[test]
fn pes_meet_each_other() {
    for n in [1, 2, 3, 7, 64] {
        let outcome = pes(n, "join place barrier gather finalize").run().success();
        for pe in 0..n {
            assert_eq!(outcome.stdout.matches(&format!("({pe}, {n})")).count(), 1, "{outcome:?}");
        }
        let all: Vec<[u8; 2]> = (0..n as u8).map(|pe| [pe, 7]).collect();
        assert_eq!(outcome.stdout.matches(&format!("{all:?}")).count(), n, "{outcome:?}");
    }
}

#[test]
fn programs_that_never_join_are_run_too() {
    let outcome = Job::new(4, "echo").words("a -n 9 -l --help").run().success();
    assert_eq!(outcome.stdout, "a -n 9 -l --help\n".repeat(4));
}

#[test]
fn without_a_number_there_is_a_pe_for_each_usable_cpu() {
    let outcome = Job::dushrun().words("echo x").run().success();
    assert_eq!(outcome.stdout.lines().count(), dushmem_os::cpu::usable_cpus());
    let bound =
        Job::of("taskset".as_ref()).args(["-c", "0"]).args([dushmem_testkit::tools::program("dushrun")]);
    assert_eq!(bound.words("echo x").run().success().stdout, "x\n");
}

#[test]
fn several_programs_make_one_job() {
    let words = format!(
        "-n 2 -x WHO=first {0} join place env=WHO finalize : -n 1 -x WHO=second {0} join place env=WHO finalize",
        pe()
    );
    let outcome = Job::dushrun().words(&words).run().success();
    let lines = ["(0, 3)", "(1, 3)", "(2, 3)", "WHO=first", "WHO=first", "WHO=second"];
    assert_eq!(outcome.sorted_lines(), lines);
}

#[test]
fn after_two_dashes_colons_are_the_programs() {
    let outcome = Job::dushrun().words("-n 2 -- echo a : b").run().success();
    assert_eq!(outcome.stdout, "a : b\n".repeat(2));
}

#[test]
fn several_programs_need_their_numbers() {
    Job::dushrun().words("-n 1 true : true").run().failure(125, &["-n is missing for true"]);
}

#[test]
fn wrong_use_is_explained() {
    for (words, what) in [
        ("", "PROGRAM is missing"),
        ("-n 2", "PROGRAM is missing"),
        ("-n", "-n: its value is missing"),
        ("-n 0 true", "-n 0: give a number of PEs from 1 to 65535"),
        ("-n -3 true", "-n -3: give a number of PEs from 1 to 65535"),
        ("-n 65536 true", "-n 65536: give a number of PEs from 1 to 65535"),
        ("-np abc true", "-n abc: give a number of PEs from 1 to 65535"),
        ("--np abc true", "--np abc: give a number of PEs from 1 to 65535"),
        ("-n 1 -n 2 true", "-n is given twice"),
        ("--timeout never true", "give a time"),
        ("--bind 1;2 true", "give none, cpu, spread"),
        ("--nonsense true", "--nonsense: there is no such option; `dushrun --help` lists them"),
        ("--ppn 2 true", "--ppn: there is no such option; did you mean --np?"),
        ("--timeuot 2 true", "did you mean --timeout?"),
        ("-timeout 2 true", "-timeout: there is no such option; did you mean --timeout?"),
        ("--timeout -1 true", "--timeout -1: give a time above 0 as 30, 2.5, 90s, 5m or 1h"),
        ("--bind -1 true", "--bind -1: give none, cpu, spread"),
        ("--gpu-share -1 true", "--gpu-share -1: give mps, plain or auto"),
        ("-hosts x", "-hosts is an option of MPICH's launcher; leave it out"),
        ("-hlep true", "-hlep: there is no such option; did you mean --help?"),
        ("-Version", "-Version: there is no such option; did you mean --version?"),
        ("--gdb=x true", "--gdb x: give the number of a PE"),
        ("-n 1 -x DUSHMEM_TEST_UNSET true", "DUSHMEM_TEST_UNSET is not set in this environment"),
        ("-n 1 true : -n 1 --timeout 3 true", "--timeout counts for the whole job"),
        ("-n 1 true : -n 1 --nonsense true", "--nonsense: there is no such option"),
        ("-n 2 --gdb=2 true", "PEs 0 to 1"),
        ("-n 1 -x =3 true", "name is missing"),
        ("-n 2 true :", "PROGRAM is missing"),
        ("-n 40000 true : -n 40000 true", "80000 PEs"),
    ] {
        let outcome = Job::dushrun().words(words).run();
        let line = outcome.stderr.strip_prefix("dushrun: ").and_then(|line| line.strip_suffix('\n'));
        assert!(outcome.code == 125 && line.is_some_and(|line| !line.contains('\n')), "{words}: {outcome:?}");
        assert!(outcome.stderr.contains(what), "{words}: {outcome:?}");
    }
}

#[test]
fn blanks_about_a_value_do_no_harm_and_are_shown() {
    let job = |options: [&str; 2]| Job::dushrun().args(options).words("-n 1 echo x").run();
    for options in
        [["--gpu-share", "plain "], ["--bind", " none"], ["--gpu-bind", "none "], ["--timeout", " 50 "]]
    {
        assert_eq!(job(options).success().stdout, "x\n", "{options:?}");
    }
    job(["--gpu-share", "plan "]).failure(125, &["--gpu-share \"plan \": give mps, plain or auto"]);
}

#[test]
fn help_and_version_are_no_failures() {
    let help = Job::dushrun().words("--help").run().success();
    for option in [
        "-n",
        "--prefix-output",
        "--timeout",
        "--bind",
        "--gdb",
        "-x",
        "Exit codes",
        "124",
        "-np N",
        "1 to 65535",
    ] {
        assert!(help.stdout.contains(option), "{option}: {help:?}");
    }
    assert!(Job::dushrun().words("--version").run().success().stdout.starts_with("dushrun 0."));
}

#[test]
fn programs_that_cannot_be_run_are_named() {
    Job::new(3, "no-such-program").run().failure(127, &["no-such-program", "on the PATH"]);
    Job::new(3, "/no/such/program").run().failure(127, &["/no/such/program"]);
    Job::new(3, "/etc/passwd").run().failure(126, &["/etc/passwd is not an executable program"]);
    Job::new(3, "/etc").run().failure(126, &["/etc is not an executable program: it is a folder"]);
    let folder = Folder::new("cannot");
    // Whether its permissions call it one or not.
    for (name, bits, text) in
        [("a.c", 0o644, &b"int main(void) {}\n"[..]), ("b.cu", 0o755, b"//"), ("c", 0o755, b"a\0b")]
    {
        let file = folder.file(name);
        std::fs::write(&file, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(bits);
        std::fs::set_permissions(&file, mode).unwrap();
        let hint = if name == "c" { "" } else { ": compile it by dushcc" };
        Job::new(3, &file)
            .run()
            .failure(126, &[&format!("dushrun: {file} is not an executable program{hint}")]);
    }
    let script = folder.file("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    Job::new(3, &script).run().failure(126, &[&script, "interpreter"]);
    // As shells do.
    std::fs::write(&script, "echo plain\n").unwrap();
    assert_eq!(Job::new(2, &script).run().success().stdout, "plain\nplain\n");
}

#[test]
fn input_goes_to_pe_0() {
    let outcome = pes_with("-l", 3, "cat").stdin("hello\n").run().success();
    assert_eq!(outcome.sorted_lines(), ["[0] hello", "[1] ", "[2] "]);
    let big = "0123456789\n".repeat(50_000);
    let outcome = Job::new(2, "wc").words("-c").stdin(&big).run().success();
    assert_eq!(outcome.sorted_lines(), ["0", &big.len().to_string()]);
}

#[test]
fn output_and_error_stay_apart() {
    let outcome = pes_with("-l", 2, "out=O err=E").run();
    assert_eq!(outcome.sorted_lines(), ["[0] O", "[1] O"]);
    let mut errors: Vec<_> = outcome.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] E", "[1] E"]);
}

#[test]
fn big_outputs_keep_their_lines_whole_and_in_order() {
    const LINES: usize = 10_000;
    let text = |line: usize| "x".repeat(line % 97);
    for options in ["", "-l"] {
        let outcome = pes_with(options, 4, &format!("lines={LINES}")).run().success();
        let mut next = HashMap::new();
        for line in outcome.stdout.lines() {
            let (prefix, line) = match options {
                "" => (None, line),
                _ => line[1..].split_once("] ").map(|(pe, rest)| (Some(pe), rest)).unwrap(),
            };
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            assert!(prefix.is_none_or(|pe| pe == words[0]), "{line}");
            let count = next.entry(words[0].to_owned()).or_insert(0);
            assert_eq!((words[1], words[2]), (&*count.to_string(), &*text(*count)), "{line}");
            *count += 1;
        }
        assert_eq!(next.len(), 4);
        assert!(next.values().all(|count| *count == LINES), "{next:?}");
    }
}

#[test]
fn a_slow_line_is_not_broken_by_others() {
    let outcome = pes(2, "0:part=slow 0:sleep=300 0:out=-end 1:sleep=100 1:out=quick").run().success();
    assert_eq!(outcome.sorted_lines(), ["quick", "slow-end"]);
}

#[test]
fn unfinished_last_lines_are_printed() {
    assert_eq!(pes(1, "part=last").run().success().stdout, "last");
    let outcome = pes(3, "part=last").run().success();
    assert_eq!(outcome.stdout, "last\nlast\nlast");
    let outcome = pes_with("-l", 2, "part=last").run().success();
    assert_eq!(outcome.sorted_lines(), ["[0] last", "[1] last"]);
}

#[test]
fn a_very_long_line_arrives_whole_from_one_pe() {
    let command = "head -c 5000000 /dev/zero | tr '\\0' y; echo";
    let outcome =
        Job::new(2, "sh").args(["-c", &format!("[ $DUSHMEM_PE = 1 ] || {{ {command}; }}")]).run().success();
    assert_eq!((outcome.stdout.len(), outcome.stdout.lines().count()), (5_000_001, 1));
}

#[test]
fn output_of_a_pe_that_crashes_is_not_lost() {
    let outcome = pes(2, "join barrier 1:out=before 1:part=it 1:kill=11 hold").run();
    assert_eq!(outcome.sorted_lines(), ["before", "it"]);
    outcome.failure(139, &["PE 1", "SIGSEGV"]);
}

#[test]
fn the_environment_is_inherited_and_can_be_set() {
    let job = pes_with("-x B=two -x C= -x B=three -x A", 2, "env=A env=B env=C env=DUSHMEM_NPES");
    let outcome = job.env("A", "one").env("B", "x").env("C", "y").run().success();
    assert_eq!(
        outcome.sorted_lines(),
        ["A=one", "A=one", "B=three", "B=three", "C=", "C=", "DUSHMEM_NPES=2", "DUSHMEM_NPES=2"]
    );
}

#[test]
fn the_launchers_variable_leaves_the_environment_at_init() {
    let inner = format!("sh={} join place", pe());
    let job = Job::dushrun().args(["-n", "2", &pe(), "join", &inner, "env=DUSHMEM_LAUNCH", "finalize"]);
    let outcome = job.run().success();
    assert_eq!(outcome.sorted_lines(), ["(0, 1)", "(0, 1)", "DUSHMEM_LAUNCH=", "DUSHMEM_LAUNCH="]);
}

#[test]
fn a_job_inside_a_job_is_a_job_of_its_own() {
    let inner =
        format!("{} -n 2 {} join place finalize", dushmem_testkit::tools::program("dushrun").display(), pe());
    let outcome = Job::new(2, "sh").args(["-c", &inner]).run().success();
    assert_eq!(outcome.sorted_lines(), ["(0, 2)", "(0, 2)", "(1, 2)", "(1, 2)"]);
}

#[test]
fn a_job_can_init_again_after_finalize() {
    let words = "join gather finalize ".repeat(3);
    let outcome = pes(3, &words).run().success();
    assert_eq!(outcome.stdout, "[[0, 7], [1, 7], [2, 7]]\n".repeat(9));
}

#[test]
fn pes_are_bound_as_asked() {
    let usable: Vec<usize> = dushmem_os::process::CpuSet::usable().unwrap().iter().collect();
    let one = format!("[{}]", usable[0]);
    let outcome = pes_with(&format!("--bind {}", usable[0]), 2, "cpus").run().success();
    assert_eq!(outcome.sorted_lines(), [&*one, &*one]);
    let outcome = pes_with("--bind cpu", usable.len(), "cpus").run().success();
    outcome.prints(usable.iter().map(|cpu| format!("[{cpu}]")));
    let outcome = pes_with("--bind spread", 1, "cpus").run().success();
    assert_eq!(outcome.stdout.trim(), format!("{usable:?}"));
    pes_with("--bind 1000", 2, "cpus").run().failure(125, &["CPU 1000", "may be used"]);
}

#[test]
fn a_closed_output_ends_the_job_quietly() {
    let dushrun = dushmem_testkit::tools::program("dushrun").display().to_string();
    for n in [1, 2] {
        let command = format!("{dushrun} -n {n} yes | head -n 1; echo ${{PIPESTATUS[0]}}");
        let outcome = Job::of("bash".as_ref()).args(["-c", &command]).run().success();
        assert_eq!(outcome.stdout, "y\n141\n");
    }
}

#[test]
fn whoever_reads_slowly_does_not_stop_the_time_limit() {
    let mut command = std::process::Command::new(dushmem_testkit::tools::program("dushrun"));
    command.args(["--timeout", "0.5", "-n", "2", "yes"]).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let began = std::time::Instant::now();
    // The pipe is full after 64 KiB, and nobody reads it.
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(124));
    assert!(began.elapsed().as_secs() < 5);
}

#[test]
fn nothing_is_lost_when_the_reader_is_slow() {
    let dushrun = dushmem_testkit::tools::program("dushrun").display().to_string();
    // More than dushrun keeps, and pieces that come one after the other.
    let reader =
        "sleep 0.3; while IFS= read -r -N 30000 part; do printf %s \"$part\"; done; printf %s \"$part\"";
    let command =
        format!("{dushrun} -n 4 {} lines=15000 | {{ {reader}; }} | cut -d' ' -f1 | sort | uniq -c", pe());
    let outcome = Job::of("bash".as_ref()).args(["-c", &command]).run().success();
    let counts: Vec<Vec<&str>> =
        outcome.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(counts, [["15000", "0"], ["15000", "1"], ["15000", "2"], ["15000", "3"]]);
}
