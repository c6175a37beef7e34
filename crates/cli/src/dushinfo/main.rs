//! dushinfo: what this build, this machine and this environment mean to dushmem.
#![forbid(unsafe_code)]

mod facts;
mod gpus;
mod print;

use clap::Parser;
use dushmem_cli::usage;

/// Shows the library's version, what it can run on, and each environment variable with its value and where
/// that comes from. Exit code 1: a variable has a value that init would refuse, or the output can't be
/// written.
#[derive(Debug, Parser)]
#[command(name = "dushinfo", version)]
struct Cli {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show variables that have no effect too, set or not
    #[arg(long)]
    all: bool,
}

fn main() {
    let cli: Cli = usage::parse_or_exit();
    let variables: Vec<_> = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value))).collect();
    let facts = facts::gather(&variables);
    let text = if cli.json { print::json(&facts) } else { print::text(&facts, cli.all) };
    let written = usage::print(&text);
    if let Err(reason) = &written {
        dushmem_os::say::say(&format!("dushinfo: standard output: {reason}"));
    }
    std::process::exit(i32::from(written.is_err() || !facts.errors.is_empty()));
}

fn lossy(text: std::ffi::OsString) -> String {
    text.to_string_lossy().into_owned()
}
