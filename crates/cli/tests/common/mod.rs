//! What the launcher's tests share.
#![allow(dead_code, reason = "each test file uses a part")]
use dushmem_testkit::job::Job;
use dushmem_testkit::tools;

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
