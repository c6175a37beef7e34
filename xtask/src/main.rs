//! `cargo xtask <task>`: what building, checking and trying out this workspace needs beyond cargo itself.
mod bench;
mod codegen;
mod compat;
mod demo;
mod device_ptx;
mod help;
mod install;
mod pack;
mod ptx;
mod symbols;
mod test;
mod tools;
mod weaken;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", &[][..]),
    };
    if let Some(text) = help::of(task)
        && rest.iter().any(|word| word == "--help" || word == "-h")
    {
        println!("{text}");
        return ExitCode::SUCCESS;
    }
    let outcome = match task {
        "bench" => {
            return bench::command(rest).unwrap_or_else(|message| {
                eprintln!("xtask: {message}");
                ExitCode::from(2)
            });
        }
        "codegen" => codegen::run(rest),
        "ptx" => ptx::command(rest),
        "symbols" => symbols::run(rest),
        "demo" => demo::command(rest),
        "gpu-pack" => pack::command(rest),
        "install" => install::command(rest),
        "test" => test::command(rest),
        "help" | "--help" | "-h" => {
            println!("{}", help::TASKS);
            Ok(())
        }
        other => Err(format!("there is no task `{other}`\n{}", help::TASKS)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
