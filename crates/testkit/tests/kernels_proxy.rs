//! Kernels whose peers are out of reach: `tests/kernels/proxy.cu`, compiled by dushcc, run by dushrun.
use dushmem_testkit::job::Job;
use dushmem_testkit::kernels::{Program, all_right};
use std::time::Duration;

struct Requests(Program);

impl Requests {
    fn new() -> Requests {
        Requests(Program::suite("proxy.cu"))
    }

    /// A job on memory that is mapped, but hidden from kernels.
    fn hidden(&self, pes: usize, what: &str) -> Job {
        let whom = if pes == 1 { "all" } else { "1" };
        self.job(pes, what).env("DUSHMEM_EMU_REMOTE", whom)
    }

    /// A job on the transport that reorders.
    fn reordered(&self, pes: usize, what: &str, seed: u32) -> Job {
        self.job(pes, what)
            .env("DUSHMEM_TRANSPORT", "loopback")
            .env("DUSHMEM_LOOPBACK_SEED", seed.to_string())
    }

    fn job(&self, pes: usize, what: &str) -> Job {
        self.0.job(pes).args([what])
    }
}

#[test]
fn everything_goes_by_requests() {
    let program = Requests::new();
    for (pes, seed) in [(1, 1), (2, 2), (4, 3), (8, 4)] {
        all_right(program.hidden(pes, "all"));
        all_right(program.reordered(pes, "all", seed));
    }
    let parts = program.hidden(2, "parts").run();
    // PE 1 may print its last line later.
    let last = parts.stdout.lines().rfind(|line| !line.starts_with("PE 1: "));
    assert!(parts.code == 0 && last == Some("all right"), "{parts:#?}");
    for part in ["PE 0: flood: 103424 requests in ", "PE 1: sizes: "] {
        assert!(parts.stdout.contains(part), "{part}: {parts:#?}");
    }
    // After a finalize, and in spite of a fork.
    all_right(program.hidden(1, "again"));
    all_right(program.hidden(3, "again"));
    all_right(program.reordered(2, "again", 1));
}

#[test]
fn jobs_end_while_requests_are_under_way() {
    let program = Requests::new();
    for pes in [1, 3] {
        for job in [program.hidden(pes, "exit"), program.reordered(pes, "exit", 1)] {
            let outcome = job.run();
            assert_eq!((outcome.code, &*outcome.stdout, &*outcome.stderr), (7, "", ""));
        }
        for job in [program.hidden(pes, "busy"), program.reordered(pes, "busy", 1)] {
            let outcome = job.run();
            assert!(outcome.time < Duration::from_secs(20), "{outcome:?}");
            outcome.failure(137, &[&format!("PE {}", pes - 1), "SIGKILL"]);
        }
    }
    bad_requests_end_the_job(&program);
}

/// Each bad request is told in one line: call, argument, value, PE, block and thread.
fn bad_requests_end_the_job(program: &Requests) {
    let place = "(block 1, thread 5): ";
    for (what, code, words) in [
        ("bad-pe", 1, &["put in a kernel to PE 6 ", "pe = 6: there is no such PE"][..]),
        ("bad-dest", 4, &["put in a kernel to PE 0 ", "dest = 0x", "(64 bytes): not in symmetric memory"]),
        ("bad-source", 1, &["put_nbi in a kernel to PE 0 ", "source is NULL"]),
        ("bad-scalar", 4, &["p in a kernel to PE 0 ", "dest = 0x", "not in symmetric memory"]),
        ("bad-get", 4, &["get in a kernel to PE 0 ", "source = 0x", "not in symmetric memory"]),
        ("bad-word", 1, &["atomic_add in a kernel to PE 0 ", "dest = 0x", "not aligned to 8 bytes"]),
        ("bad-signal", 1, &["signal_op in a kernel to PE 0 ", "sig_op = 12345: no signal operator"]),
        ("bad-stride", 1, &["iput in a kernel to PE 0 ", "dst = 0: strides count elements"]),
        ("bad-context", 1, &["quiet in a kernel (", "ctx = 0x", "not a context"]),
        ("bad-internal", 4, &["put in a kernel to PE 0 ", "dest = 0x", "not in symmetric memory"]),
        ("bad-request", 7, &["number 99 is no request", "compile the kernel with"]),
    ] {
        let outcome = program.hidden(2, what).run();
        let line = outcome.stderr.lines().next().unwrap_or_default();
        assert!(line.starts_with("dushmem: PE 1 (host "), "{what}: {outcome:?}");
        assert!(line.contains(place), "{what}: {line}");
        outcome.failure(code, words);
    }
}
