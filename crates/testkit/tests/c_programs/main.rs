//! Programs in C and C++ as users write them: compiled with `dushcc` from an installation, run under
//! `dushrun`. The programs lie in `tests/c`, check themselves, and say on one line what did not hold.
//!
//! Each program with each number of PEs is a test of its own. Names with `long_` are left out of the short
//! profile. A program is compiled once for all tests that run it.
mod bad;
mod build;
mod full;
mod hangs;
mod life;
mod limits;
mod locks;
mod mismatch;
mod older;
mod programs;
mod ring;
mod setup;
mod statics;
mod surroundings;
mod tools;
mod traps;
mod variants;
mod whole;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    if !arguments.list {
        // dushrun is to come from there, too.
        let prefix = dushmem_testkit::installation::prefix();
        // SAFETY: nothing else runs in this process yet.
        unsafe { std::env::set_var("DUSHMEM_PREFIX", prefix) };
    }
    let mut trials = Vec::new();
    programs::add(&mut trials);
    life::add(&mut trials);
    limits::add(&mut trials);
    ring::add(&mut trials);
    setup::add(&mut trials);
    whole::add(&mut trials);
    statics::add(&mut trials);
    variants::add(&mut trials);
    surroundings::add(&mut trials);
    bad::add(&mut trials);
    full::add(&mut trials);
    mismatch::add(&mut trials);
    locks::add(&mut trials);
    hangs::add(&mut trials);
    tools::add(&mut trials);
    older::add(&mut trials);
    traps::add(&mut trials);
    libtest_mimic::run(&arguments, trials).exit();
}

/// A test that fails by a panic.
fn trial(name: String, body: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(name, move || {
        body();
        Ok(())
    })
}
