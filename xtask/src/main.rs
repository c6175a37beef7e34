//! `cargo xtask <task>`: what building, checking and trying out this workspace needs beyond cargo itself.
mod bench;
mod codegen;
mod compat;
mod demo;
mod install;
mod symbols;
mod test;
mod tools;
mod weaken;
mod workspace;

use std::process::ExitCode;

const TASKS: &str = "\
cargo xtask demo                     builds the library and runs the ring kernel on 8 PEs
cargo xtask test [--profile short]   installs what the tests need and runs all checks and tests
cargo xtask install --prefix DIR [--compat-names]
                                     builds and installs programs, libraries and headers, if asked for also under
                                     the names that other projects' build files look for
cargo xtask bench [--peer openmpi|raw] [--pairs N] [--pes LIST] [--rows LIST] [--active-sets] [--quick] [--limit SECONDS] [--out DIR] [--page FILE] [--prefix DIR]
                                     the library beside another one, run in turn: table, JSON, picture
cargo xtask codegen [--check]        writes headers, exported functions and tables from api/ (or only compares)
cargo xtask symbols [LIBRARY]        compares the exported names of the library with the lists in api/names";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", &[][..]),
    };
    let outcome = match task {
        "bench" => {
            return bench::command(rest).unwrap_or_else(|message| {
                eprintln!("xtask: {message}");
                ExitCode::from(2)
            });
        }
        "codegen" => codegen::run(rest),
        "symbols" => symbols::run(rest),
        "demo" => demo::command(rest),
        "install" => install::command(rest),
        "test" => test::command(rest),
        "help" | "--help" | "-h" => {
            println!("{TASKS}");
            Ok(())
        }
        other => Err(format!("there is no task `{other}`\n{TASKS}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
