//! `cargo xtask test`: everything that has to hold, from a fresh clone.
use super::install::{self, Options};
use super::tools;
use super::workspace::{cargo, has, root, run, target};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Which tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    /// All of them.
    Full,
    /// The tests with several processes, without those named `long_...`.
    Short,
}

/// Installs what the tests need, then checks and tests the workspace. Goes on after a failure, so that one
/// run shows all of them.
pub fn command(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().flat_map(|word| word.split('=')).collect();
    let profile = match words.as_slice() {
        [] | ["--profile", "full"] => Profile::Full,
        ["--profile", "short"] => Profile::Short,
        _ => {
            return Err(format!(
                "test takes --profile short or --profile full, not `{}`; `cargo xtask test --help` says more",
                arguments.join(" ")
            ));
        }
    };
    let mut steps = Steps::default();
    let target = target()?;
    let prefix = target.join("prefix");
    let nvcc = tools::install(&target, profile == Profile::Full)?;
    // Nothing below works without it.
    steps.run("install into target/prefix", || {
        install::install(&Options { prefix: prefix.clone(), profile: "release".into(), compat_names: true })
    });
    if let Some(failed) = steps.failed.first() {
        return Err(format!("{failed} has failed"));
    }
    if profile == Profile::Full {
        steps.cargo(
            "generated files are up to date",
            &["run", "--quiet", "-p", "xtask", "--", "codegen", "--check"],
        );
        steps.run("kernels of the library are what is checked in", || {
            let mut command = cargo();
            command.args(["run", "--quiet", "-p", "xtask", "--", "ptx", "--check"]);
            run(with_tools(&mut command, &prefix, nvcc.as_deref()))
        });
        steps.cargo("format", &["fmt", "--all", "--check"]);
        steps.cargo("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
        steps.run("links in the crates' documentation", || {
            let mut command = cargo();
            command.args(["doc", "--quiet", "--no-deps", "-p", "dushmem", "-p", "dushmem-core"]);
            run(command.env("RUSTDOCFLAGS", "-D warnings"))
        });
        steps.run("protocols under loom", || loom(&target));
        steps.run("examples in the documentation", || {
            run(with_tools(
                cargo().args(["test", "--quiet", "--doc", "--workspace"]),
                &prefix,
                nvcc.as_deref(),
            ))
        });
    }
    steps.run("tests", || tests(profile, &prefix, nvcc.as_deref()));
    steps.end()
}

#[derive(Default)]
struct Steps {
    failed: Vec<String>,
    took: Vec<(String, Duration)>,
}

impl Steps {
    fn run(&mut self, name: &str, step: impl FnOnce() -> Result<(), String>) {
        println!("== {name}");
        let start = Instant::now();
        if let Err(message) = step() {
            println!("xtask: {message}");
            self.failed.push(name.to_string());
        }
        self.took.push((name.to_string(), start.elapsed()));
    }

    fn cargo(&mut self, name: &str, words: &[&str]) {
        self.run(name, || run(cargo().args(words)));
    }

    fn end(self) -> Result<(), String> {
        // On the error stream: the test runner's summary stays the last thing on the output.
        for (name, took) in &self.took {
            eprintln!("{:>5.0} s  {name}", took.as_secs_f64());
        }
        match self.failed.as_slice() {
            [] => Ok(()),
            failed => Err(format!("failed: {}", failed.join(", "))),
        }
    }
}

fn with_tools<'a>(command: &'a mut Command, prefix: &Path, nvcc: Option<&Path>) -> &'a mut Command {
    command.env("DUSHMEM_PREFIX", prefix);
    match nvcc {
        Some(nvcc) => command.env("DUSHMEM_NVCC", nvcc),
        None => command.env_remove("DUSHMEM_NVCC"),
    }
}

/// The tests that are compiled with `--cfg loom` only; apart, since everything is built again for them.
fn loom(target: &Path) -> Result<(), String> {
    let mut command = cargo();
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.args(["test", "--quiet", "--release", "-p", "dushmem-core", "--lib", "loom", "--target-dir"]);
    command.arg(target.join("loom")).env("RUSTFLAGS", format!("{flags} --cfg loom"));
    run(command.env("LOOM_MAX_PREEMPTIONS", "3"))
}

fn tests(profile: Profile, prefix: &Path, nvcc: Option<&Path>) -> Result<(), String> {
    // Programs that tests start from the build folder.
    run(cargo().args(["build", "--workspace", "--bins", "--examples"]))?;
    let mut command = cargo();
    if has("cargo-nextest") {
        let name = if profile == Profile::Short { "short" } else { "default" };
        command.args(["nextest", "run", "--workspace", "--no-fail-fast", "--profile", name]);
        // Many tests wait for others most of the time.
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        command.args(["--test-threads", &(cpus + cpus.div_ceil(2)).to_string()]);
    } else {
        println!("cargo-nextest is not installed: `cargo test` runs the tests, without their time limits");
        command.args(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    }
    command.current_dir(root());
    run(with_tools(&mut command, prefix, nvcc))
}
