//! The programs of `examples/kernel`, which check themselves: directly, through the proxy, over a transport that
//! reorders, with other orders of threads; and with a call that loses something, which they have to notice.
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::kernels::Program;
use dushmem_testkit::programs::reads_its_words;

/// A compiled example.
struct Example {
    name: &'static str,
    program: Program,
}

impl Example {
    fn of(name: &'static str, options: &[&str]) -> Example {
        Example::behind("", name, options)
    }

    fn behind(text: &str, name: &'static str, options: &[&str]) -> Example {
        let options = [&["-O2"], options].concat();
        let source = format!("examples/kernel/{name}.hip.cpp");
        Example { name, program: Program::behind(text, &[&source], &options) }
    }

    fn job(&self, pes: usize, words: &str) -> Job {
        self.program.job(pes).words(words)
    }

    /// With so many PEs, these words and variables.
    #[track_caller]
    fn is_correct(&self, pes: usize, words: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut job = self.job(pes, words);
        for (name, value) in variables {
            job = job.env(name, value);
        }
        let outcome = job.run().success();
        let begins = format!("{}: {pes} PE{}, ", self.name, if pes == 1 { "" } else { "s" });
        let line = outcome.stdout.strip_suffix(" ms: correct\n").and_then(|line| line.strip_prefix(&begins));
        assert!(line.is_some_and(|line| !line.contains('\n')), "{variables:?}: {outcome:#?}");
        outcome
    }

    /// By every path, with a small size and a number of PEs that suits none of it.
    #[track_caller]
    fn is_correct_by_every_path(&self, words: &str) {
        for pes in [1, 2, 3, 4, 8] {
            self.is_correct(pes, "", &[]);
        }
        self.is_correct(5, words, &[]);
        self.is_correct(4, "", &[("DUSHMEM_EMU_REMOTE", "1")]);
        self.is_correct(1, words, &[("DUSHMEM_EMU_REMOTE", "all")]);
        for seed in ["1", "2", "3"] {
            self.is_correct(2, words, &[("DUSHMEM_EMU_SEED", seed)]);
            self.is_correct(3, words, &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]);
        }
    }
}

/// Compiles it so that a call of a kernel goes wrong, as the macro says, and expects it to notice.
#[track_caller]
fn finds(name: &'static str, fault: &str) {
    let includes =
        "#include <dushmem.h>\n#include <dushmemx.h>\n#include <nvshmem.h>\n#include <nvshmemx.h>\n";
    let outcome = Example::behind(&format!("{includes}#define {fault}\n"), name, &[]).job(3, "").run();
    let line = outcome.stdout.lines().last().unwrap_or_default();
    let told = outcome.stderr.lines().any(|line| line.starts_with(&format!("{name}: PE ")));
    let found = outcome.code == 1 && line.starts_with(&format!("{name}: ")) && told;
    assert!(found && line.trim_end_matches('s').ends_with(" error"), "{outcome:#?}");
}

#[test]
fn pipeline() {
    let example = Example::of("pipeline", &[]);
    example.is_correct_by_every_path("31 --slices 3 --depth 1 --items 20");
    // Fewer words than slices.
    example.is_correct(2, "3 --slices 5 --depth 4 --items 3", &[]);
    finds(
        "pipeline",
        "dushmemx_putmem_signal_nbi_block(d, s, n, ...) (dushmemx_putmem_signal_nbi_block)(d, s, (n) - 8, __VA_ARGS__)",
    );
}

#[test]
fn allgather_matmul() {
    let example = Example::of("allgather_matmul", &[]);
    example.is_correct_by_every_path("17 --depth 5 --columns 33 --layers 2");
    example.is_correct(3, "1 --depth 1 --columns 1 --layers 1", &[]);
    finds(
        "allgather_matmul",
        "dushmemx_float_put_signal_nbi_block(d, s, n, ...) \
         (dushmemx_float_put_signal_nbi_block)(d, s, (n) - 1, __VA_ARGS__)",
    );
}

#[test]
fn moe() {
    let example = Example::of("moe", &[]);
    example.is_correct_by_every_path("7 --width 9 --experts 3 --layers 4");
    // One expert on all: both choices are the same.
    example.is_correct(1, "3 --width 1 --experts 1", &[]);
    finds(
        "moe",
        "nvshmemx_putmem_signal_nbi_block(d, s, n, ...) (nvshmemx_putmem_signal_nbi_block)(d, s, (n) - 4, __VA_ARGS__)",
    );
}

#[test]
fn stencil() {
    let example = Example::of("stencil", &[]);
    example.is_correct_by_every_path("9 --steps 21 --blocks 3");
    // A row each, a cell each, one block for everything.
    example.is_correct(3, "3 --steps 10 --blocks 1", &[]);
    example.is_correct(4, "2 --steps 10", &[]);
    let outcome = example.job(8, "1").run();
    let said = outcome.stderr.lines().next().unwrap_or_default();
    assert!(outcome.code == 2 && said == "stencil: --size is at least 4 with 8 PEs", "{outcome:#?}");
    finds(
        "stencil",
        "dushmemx_double_put_signal_nbi_block(d, s, n, ...) \
         (dushmemx_double_put_signal_nbi_block)(d, s, (n) - 1, __VA_ARGS__)",
    );
}

#[test]
fn work_queue() {
    let example = Example::of("work_queue", &[]);
    example.is_correct_by_every_path("6 --blocks 3");
    // Queues that are often full, and boards without a solution.
    example.is_correct(3, "8 --rows 6 --slots 2", &[]);
    example.is_correct(2, "3", &[]);
    example.is_correct(2, "1 --rows 16", &[]);
    finds("work_queue", "nvshmem_uint64_p(d, v, pe) (nvshmem_uint64_p)(d, (v) & ~(uint64_t)1, pe)");
}

#[test]
fn all_reduce() {
    let example = Example::of("all_reduce", &[]);
    example.is_correct_by_every_path("1001 --blocks 3");
    // Fewer elements than PEs, more blocks than elements.
    example.is_correct(4, "2 --blocks 7 --rounds 5", &[]);
    finds(
        "all_reduce",
        "nvshmemx_float_put_signal_nbi_block(d, s, n, ...) \
         (nvshmemx_float_put_signal_nbi_block)(d, s, (n) - 1, __VA_ARGS__)",
    );
}

#[test]
fn words_are_read() {
    let example = Example::of("pipeline", &[]);
    reads_its_words("pipeline", |words| example.job(2, words));
}
