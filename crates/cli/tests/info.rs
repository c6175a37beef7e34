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
    let json = job().words("--json").run().success().stdout;
    assert!(json.contains(r#""shmem": {"value": "5M", "origin": "SHMEM_SYMMETRIC_SIZE"}"#), "{json}");
    if tools::installed("python3") {
        let job =
            Job::of("python3".as_ref()).words("-m json.tool --json-lines").stdin(&json.replace('\n', " "));
        job.run().success();
    }
}

#[test]
fn what_init_would_refuse_is_an_error() {
    let outcome = Job::of(&tools::program("dushinfo")).env("DUSHMEM_SYMMETRIC_SIZE", "x").run();
    assert!(outcome.code == 1 && outcome.stdout.contains("error: DUSHMEM_SYMMETRIC_SIZE=x"), "{outcome:?}");
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
    assert!(outcome.stdout.contains("runs as PE 1 of the 2 PEs"), "{outcome:?}");
}
