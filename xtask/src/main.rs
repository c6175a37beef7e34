//! `cargo xtask <task>`: what building, checking and trying out this workspace needs beyond cargo itself.
mod codegen;
mod symbols;

use std::process::ExitCode;

const TASKS: &str = "\
cargo xtask codegen [--check]   writes headers, exported functions and tables from api/ (or only compares)
cargo xtask symbols [LIBRARY]   counts the exported names of the library, and its size";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", &[][..]),
    };
    let outcome = match task {
        "codegen" => codegen::run(rest),
        "symbols" => symbols::run(rest),
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
