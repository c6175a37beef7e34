//! dushinfo: what this build, this machine and this environment mean to dushmem.
#![forbid(unsafe_code)]

mod facts;
mod print;

use clap::Parser;

/// Shows the library's version, what it can run on, and each environment variable with its value and where
/// that comes from. Exit code 1: a variable has a value that init would refuse.
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
    let cli: Cli = dushmem_cli::usage::parse_or_exit();
    let variables: Vec<_> = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value))).collect();
    let facts = facts::gather(&variables);
    let text = if cli.json { print::json(&facts) } else { print::text(&facts, cli.all) };
    // A reader that has seen enough is no error.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes());
    std::process::exit(i32::from(!facts.errors.is_empty()));
}

fn lossy(text: std::ffi::OsString) -> String {
    text.to_string_lossy().into_owned()
}
