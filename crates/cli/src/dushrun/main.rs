//! dushrun: starts the PEs of a job, and ends with them.
#![forbid(unsafe_code)]

mod args;
mod asked;
mod bind;
mod causes;
mod circle;
mod debugger;
mod descendants;
mod error;
mod foreign;
mod gpu_bind;
mod gpus;
mod hang;
mod job;
mod keeper;
mod output;
mod plan;

fn main() {
    if let Some(code) = keeper::be_keeper(std::env::args_os()) {
        dushmem_os::process::exit_now(code);
    }
    let code =
        match args::read(std::env::args_os()).and_then(plan::Plan::new).and_then(|plan| job::run(&plan)) {
            Ok(code) => code,
            Err(error) => error.show(),
        };
    // Nothing is left to be done, so the process need not take itself apart.
    dushmem_os::process::exit_now(code)
}
