//! `cargo xtask bench`: installs a release and runs `dushbench-peer` on it.
use super::install::{self, Options};
use super::workspace::{cargo, reason, run, target};
use std::process::{Command, ExitCode};

/// Passes the arguments on, and the exit code back: 0 where no row misses its target, 1 where one does, 2
/// where nothing could be measured.
pub fn command(arguments: &[String]) -> Result<ExitCode, String> {
    check(arguments)?;
    let target = target()?;
    let mut build = cargo();
    run(build.args(["build", "--quiet", "--release", "-p", "dushmem-bench", "--bin", "dushbench-peer"]))?;
    let program = target.join("release/dushbench-peer");
    let mut bench = Command::new(&program);
    bench.args(arguments);
    let has_prefix = arguments.iter().any(|word| word == "--prefix" || word.starts_with("--prefix="));
    if !has_prefix {
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

/// What an option takes.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    Text,
    OneOf(&'static [&'static str]),
    /// A number from here to there.
    Number(u64, u64),
    /// Such numbers, with commas between them.
    Numbers(u64, u64),
}

const OPTIONS: [(&str, Takes); 10] = [
    ("--peer", Takes::OneOf(&["openmpi", "raw"])),
    ("--pairs", Takes::Number(1, 999)),
    ("--pes", Takes::Numbers(1, 64)),
    ("--rows", Takes::Text),
    ("--active-sets", Takes::Nothing),
    ("--quick", Takes::Nothing),
    ("--limit", Takes::Number(1, u64::MAX)),
    ("--out", Takes::Text),
    ("--page", Takes::Text),
    ("--prefix", Takes::Text),
];

/// Refuses what `dushbench-peer` would refuse, before anything is built.
fn check(arguments: &[String]) -> Result<(), String> {
    let mut given = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (name, inline) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let Some((_, takes)) = OPTIONS.iter().find(|(option, _)| *option == name) else {
            return Err(format!("bench knows no {name}; `cargo xtask bench --help` lists the options"));
        };
        given.push(name);
        if matches!(takes, Takes::Nothing) {
            match inline {
                None => continue,
                Some(value) => return Err(format!("{name} takes no value, but was given {value}")),
            }
        }
        let value = inline.or_else(|| words.next().map(String::as_str));
        let value = value.filter(|value| inline.is_some() || !value.starts_with("--"));
        let value = value.ok_or_else(|| format!("{name}: its value is missing"))?;
        takes.accept(value).map_err(|why| format!("{name} {value}: {why}"))?;
    }
    match given.contains(&"--page") && !given.contains(&"--out") {
        true => Err("--page needs --out, the folder of the picture".into()),
        false => Ok(()),
    }
}

impl Takes {
    fn accept(self, value: &str) -> Result<(), String> {
        let within = |text: &str, from, to| text.parse().is_ok_and(|number| (from..=to).contains(&number));
        match self {
            Takes::OneOf(all) if !all.contains(&value) => Err(format!("give one of {}", all.join(", "))),
            Takes::Number(from, u64::MAX) if !within(value, from, u64::MAX) => {
                Err(format!("give a number of at least {from}"))
            }
            Takes::Number(from, to) if !within(value, from, to) => {
                Err(format!("give a number from {from} to {to}"))
            }
            Takes::Numbers(from, to) if !value.split(',').all(|text| within(text, from, to)) => {
                Err(format!("give numbers from {from} to {to}, with commas between them"))
            }
            Takes::Text if value.is_empty() => Err("it is empty".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    fn checked(line: &str) -> Result<(), String> {
        check(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn wrong_words_are_refused_before_anything_is_built() {
        for (line, part) in [
            ("--pers raw", "knows no --pers"),
            ("raw", "knows no raw"),
            ("--peer cray", "one of openmpi, raw"),
            ("--pairs 0", "from 1 to 999"),
            ("--pairs", "its value is missing"),
            ("--pairs --quick", "its value is missing"),
            ("--pes 2,65", "from 1 to 64"),
            ("--limit x", "at least 1"),
            ("--quick=1", "takes no value"),
            ("--rows=", "it is empty"),
            ("--page a.md", "--page needs --out"),
        ] {
            let error = checked(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
        let all = "--peer raw --peer=openmpi --pairs 3 --pes 2,4 --rows put,get --active-sets --quick --limit 9 \
                   --out a --page a/b.md --prefix c";
        assert_eq!(checked(all), Ok(()));
        assert_eq!(checked(""), Ok(()));
    }

    #[test]
    fn help_lists_these_options_and_the_program_has_them() {
        let help = help::of("bench").unwrap();
        let program = include_str!("../../crates/bench/src/peer/main.rs");
        let fields = program.split("struct Args {").nth(1).unwrap().split("\n}").next().unwrap();
        for (name, _) in OPTIONS {
            assert!(help.contains(&format!("\n  {name} ")), "{name}");
            assert!(fields.contains(&format!("\n    {}: ", name[2..].replace('-', "_"))), "{name}");
        }
        assert_eq!(fields.matches("#[arg(long").count(), OPTIONS.len());
    }
}
