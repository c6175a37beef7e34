//! dushinfo as a program.
use dushmem_testkit::job::Job;
use dushmem_testkit::tools;

#[test]
fn values_and_their_origins_are_shown() {
    let job =
        || Job::of(&tools::program("dushinfo")).env("SHMEM_SYMMETRIC_SIZE", "5M").env("DUSHMEM_STATIC", "1");
    let text = job().run().success().stdout;
    for line in
        ["DUSHMEM_STATIC = 1  (DUSHMEM_STATIC)", "shmem_ names: 5M  (SHMEM_SYMMETRIC_SIZE)", "(default)"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.starts_with("dushmem 0.") && text.contains("shm, loopback"), "{text}");
    let json = job().env("NVSHMEM_IB_SL", "a \"quoted\"\nvalue\u{1}").words("--json").run().success().stdout;
    let facts: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
    let find = |name: &str| {
        let all = facts["variables"].as_array().expect("a list");
        all.iter().find(|v| v["name"] == name).unwrap_or_else(|| panic!("{name} is missing")).clone()
    };
    let size = find("DUSHMEM_SYMMETRIC_SIZE");
    assert_eq!(size["values"]["shmem"]["value"], 5 << 20);
    assert_eq!(size["values"]["shmem"]["text"], "5M");
    assert_eq!((&size["kind"], &size["values"]["dushmem"]["text"]), (&"size".into(), &().into()));
    assert_eq!(size["values"]["shmem"]["origin"], "SHMEM_SYMMETRIC_SIZE");
    assert_eq!(size["values"]["dushmem"]["origin"], "default");
    let level = find("NVSHMEM_IB_SL");
    assert_eq!(level["values"]["nvshmem"]["text"], "a \"quoted\"\nvalue\u{1}");
    assert_eq!(
        (&level["has_effect"], level["values"].as_object().map(|o| o.len())),
        (&false.into(), Some(1))
    );
}

#[test]
fn how_kernels_reach_other_pes_is_shown() {
    let info = || Job::of(&tools::program("dushinfo"));
    for (variable, value, path) in [
        ("DUSHMEM_EMU_REMOTE", "0", "load and store"),
        ("DUSHMEM_EMU_REMOTE", "1", "requests to the proxy"),
        ("DUSHMEM_EMU_REMOTE", "all", "requests to the proxy"),
        ("DUSHMEM_TRANSPORT", "loopback", "requests to the proxy"),
    ] {
        let text = info().env(variable, value).run().success().stdout;
        assert!(
            text.contains(&format!("\nkernels:    reach the other PEs by {path}\n")),
            "{variable}: {text}"
        );
        let json = info().env(variable, value).words("--json").run().success().stdout;
        let facts: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
        assert_eq!(facts["kernels_reach_pes_by"], path);
    }
    let outcome = info().env("DUSHMEM_EMU_REMOTE", "some").run();
    assert!(
        outcome.code == 1 && outcome.stdout.contains("error: DUSHMEM_EMU_REMOTE=some: write 1"),
        "{outcome:?}"
    );
}

#[test]
fn variables_without_effect_are_shown_where_set() {
    let info = || Job::of(&tools::program("dushinfo"));
    assert!(!info().run().success().stdout.contains("NVSHMEM_QP_DEPTH"));
    let set = info().env("NVSHMEM_QP_DEPTH", "7").run().success().stdout;
    assert!(set.contains("NVSHMEM_QP_DEPTH = 7  (NVSHMEM_QP_DEPTH)\n    no effect: no network"), "{set}");
    let all = info().words("--all").run().success().stdout;
    assert!(all.contains("NVSHMEM_QP_DEPTH = 1024  (default)"), "{all}");
    assert!(all.matches("no effect: ").count() > 80, "{all}");
}

#[test]
fn what_init_would_refuse_is_an_error() {
    let outcome = Job::of(&tools::program("dushinfo")).env("DUSHMEM_SYMMETRIC_SIZE", "x").run();
    assert!(outcome.code == 1 && outcome.stdout.contains("error: DUSHMEM_SYMMETRIC_SIZE=x"), "{outcome:?}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for (program, words, code) in [
        ("dushinfo", "", 1),
        ("dushinfo", "--json", 1),
        ("dushinfo", "--help", 1),
        ("dushrun", "--help", 125),
        ("dushrun", "--version", 125),
    ] {
        let path = tools::program(program);
        let line = format!("{} {words} > /dev/full", path.display());
        let outcome = Job::of("sh".as_ref()).args(["-c", &line]).run();
        let wanted = format!("{program}: standard output: No space left on device\n");
        assert_eq!((outcome.code, &*outcome.stderr), (code, &*wanted), "{line}");
    }
    // A reader that has seen enough is none.
    let line = format!("{{ {}; echo $? >&2; }} | true", tools::program("dushinfo").display());
    assert_eq!(Job::of("sh".as_ref()).args(["-c", &line]).run().stderr, "0\n");
}

#[test]
fn wrong_use_is_one_line() {
    for (words, line) in [
        ("--jsn", "dushinfo: --jsn: there is no such option; did you mean --json?\n"),
        ("all", "dushinfo: all: one argument too many\n"),
        ("--json=1", "dushinfo: --json takes no value, but was given \"1\"\n"),
    ] {
        let outcome = Job::of(&tools::program("dushinfo")).words(words).run();
        assert_eq!((outcome.code, &*outcome.stderr), (2, line));
    }
    assert!(Job::of(&tools::program("dushinfo")).words("--help").run().success().stdout.contains("--json"));
}

#[test]
fn a_pe_sees_that_it_is_one() {
    let outcome = Job::new(2, tools::program("dushinfo")).run().success();
    assert!(outcome.stdout.contains("runs as PE 1 of 2 in a dushrun job"), "{outcome:?}");
}
