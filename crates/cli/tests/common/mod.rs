//! What the launcher's tests share.
#![allow(dead_code, reason = "each test file uses a part")]
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools;
use std::time::Duration;

/// A job of `pes` PEs that do `words` (see `examples/pe.rs`), with `options` for dushrun.
pub fn pes_with(options: &str, pes: usize, words: &str) -> Job {
    Job::dushrun().words(options).args(["-n", &pes.to_string()]).args([tools::example("pe")]).words(words)
}

/// The same without options.
pub fn pes(pes: usize, words: &str) -> Job {
    pes_with("", pes, words)
}

/// Path of the PE, for shell commands.
pub fn pe() -> String {
    tools::example("pe").display().to_string()
}

/// For what is seen only if PEs get somewhere within a time: tries it with more and more time, in steps of
/// `first`, 4 and 16 times that. `right` says whether an outcome is what is wanted; the last one is returned.
pub fn patiently(
    first: Duration,
    mut attempt: impl FnMut(Duration) -> Outcome,
    right: impl Fn(&Outcome) -> bool,
) -> Outcome {
    let outcome = attempt(first);
    if right(&outcome) {
        return outcome;
    }
    let outcome = attempt(first * 4);
    if right(&outcome) { outcome } else { attempt(first * 16) }
}
