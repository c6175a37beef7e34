//! dushcc and dushc++: the user's compiler with dushmem's headers and library, like mpicc; and sources
//! with kernels, compiled for the CPU or, by nvcc, for GPUs.
mod arguments;
mod copies;
mod cuda_steps;
mod driver;
mod flags;
mod foreign;
mod launch;
mod mixing;
mod nvcc;
mod options;
mod prefix;
mod register;
mod response;
mod rewrite;
mod run;
mod scratch;
mod shared;
mod shared_os;
mod steps;
#[cfg(test)]
mod tests;
mod token;

fn main() -> std::process::ExitCode {
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default();
    match driver::compile(&called, words.collect()) {
        Ok(code) => std::process::ExitCode::from(code),
        Err(message) => {
            dushmem_os::say::say(&format!("dushcc: {message}"));
            std::process::ExitCode::FAILURE
        }
    }
}
