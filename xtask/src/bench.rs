//! `cargo xtask bench`: installs a release and runs `dushbench-peer` on it.
use super::install::{self, Options};
use super::workspace::{cargo, reason, run, target};
use std::process::{Command, ExitCode};

/// Passes the arguments on, and the exit code back: 0 where no row misses its target, 1 where one does, 2
/// where nothing could be measured.
pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    let target = target()?;
    let mut build = cargo();
    run(build.args(["build", "--quiet", "--release", "-p", "dushmem-bench", "--bin", "dushbench-peer"]))?;
    let program = target.join("release/dushbench-peer");
    let mut bench = Command::new(&program);
    bench.args(arguments);
    let only_asks = arguments.iter().any(|word| ["--help", "-h", "--version", "-V"].contains(&word.as_str()));
    let has_prefix = arguments.iter().any(|word| word == "--prefix" || word.starts_with("--prefix="));
    if !only_asks && !has_prefix {
        let prefix = target.join("prefix");
        install::install(&Options {
            prefix: prefix.clone(),
            profile: "release".into(),
            compat_names: false,
        })?;
        bench.arg("--prefix").arg(prefix);
    }
    let status = bench.status().map_err(|error| format!("{}: {}", program.display(), reason(&error)))?;
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(ExitCode::from(code)),
        None => Err(format!("{}: {status}", program.display())),
    }
}
