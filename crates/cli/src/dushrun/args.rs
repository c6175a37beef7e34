//! The command line.
use crate::bind::Bind;
use crate::error::RunError;
use crate::foreign;
use crate::gpu_bind::GpuBind;
use crate::gpus::{Share, share};
use clap::{CommandFactory, Parser};
use dushmem_boot::launch::MAX_PES;
use dushmem_cli::usage::{self, Stop};
use std::ffi::OsString;
use std::time::Duration;

const EXIT_CODES: &str = "\
Parts separated by ' : ' make up one job of several programs; each part has its own -n and -x, and the PEs \
are numbered through. After '--' everything belongs to the program, ' : ' too.

Standard input goes to PE 0. A PE finds its number in DUSHMEM_PE and the number of PEs in DUSHMEM_NPES.

The first PE that fails ends the job: one that is ended by a signal, one that exits with a code other than 0 \
before finalize, one that leaves without finalize while others wait.

Exit codes: that of the first PE that failed, 128 + number of the signal if one ended it; the code of \
global_exit; 124: the time limit was reached; 125: dushrun itself failed; 126: the program cannot be \
executed; 127: there is no such program.";

const USAGE: &str =
    "dushrun [OPTIONS] [--] PROGRAM [ARGS]... [: [-n N] [-x NAME[=VALUE]]... PROGRAM [ARGS]...]...";

/// Which PEs run under a debugger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debugged {
    /// Each of them.
    All,
    /// This one.
    One(usize),
}

/// Starts a program as the PEs of one job on this machine.
#[derive(Debug, Parser)]
#[command(name = "dushrun", version, after_help = EXIT_CODES, override_usage = USAGE)]
pub struct Cli {
    /// First part.
    #[command(flatten)]
    pub part: Part,

    /// Put "[PE] " in front of each line of output
    #[arg(short = 'l', long)]
    pub prefix_output: bool,

    /// End the job after this time: seconds, or a number with s, m or h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// CPUs of the PEs: none, cpu (one each, in turn), spread (the usable CPUs shared out), or a list as
    /// 0,2,4-7 whose entries are given out in turn
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub bind: Bind,

    /// How PEs share GPUs: mps (a daemon of NVIDIA's, started for this job and ended with it, lets their kernels
    /// run at the same time), plain (they take turns), auto (mps where PEs outnumber GPUs and it is installed).
    /// Without it, as DUSHMEM_GPU_SHARE says, or as the environment has it
    #[arg(long, value_name = "HOW", value_parser = share)]
    pub gpu_share: Option<Share>,

    /// GPU of each PE, which then sees no other: none, each (those that are visible here, in turn), or a list as 0,1 or
    /// of names of nvidia-smi -L, whose entries are given out in turn
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub gpu_bind: GpuBind,

    /// Run every PE under gdb, or PE K only (then in this terminal). Every PE: each in an xterm where there
    /// is a display, else without interaction, printing a backtrace where a PE crashes
    #[arg(long, value_name = "K", num_args = 0..=1, require_equals = true, default_missing_value = "all",
          value_parser = debugged)]
    pub gdb: Option<Debugged>,
}

/// One program of the job.
#[derive(Debug, clap::Args)]
pub struct Part {
    /// Number of PEs, 1 to 65535, also as -np N; without it one for each CPU that this process may use
    #[arg(short = 'n', long = "np", value_name = "N", allow_negative_numbers = true, value_parser = pes)]
    pub pes: Option<u32>,

    /// Set an environment variable for the PEs; all others are inherited. NAME alone: one that must be set
    /// here
    #[arg(short = 'x', long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<OsString>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Parser)]
#[command(name = "dushrun", override_usage = USAGE)]
struct More {
    #[command(flatten)]
    part: Part,
}

/// The options, and all parts of the job.
#[derive(Debug)]
pub struct Args {
    /// What was given before the first program.
    pub cli: Cli,
    /// The parts after the first ' : '.
    pub more: Vec<Part>,
}

/// Options that take the next word as their value.
pub const WITH_VALUE: [&str; 8] =
    ["-n", "-x", "--np", "--env", "--timeout", "--bind", "--gpu-share", "--gpu-bind"];

/// Reads the command line, `words` with the program's name first.
pub fn read(words: impl Iterator<Item = OsString>) -> Result<Args, RunError> {
    let parts = split(words.skip(1).collect());
    if let Some(text) = parts.iter().find_map(|part| foreign::explain(part)) {
        return Err(RunError::Arguments(text));
    }
    let mut parts = parts.into_iter();
    let named = |part: Vec<OsString>| std::iter::once(OsString::from("dushrun")).chain(part).collect();
    let cli = usage::parse::<Cli>(named(parts.next().unwrap_or_default()))?;
    let more = parts.map(|part| match usage::parse::<More>(named(part)) {
        Err(Stop::Wrong(text)) => Err(RunError::Arguments(misplaced(&text).unwrap_or(text))),
        other => Ok(other?.part),
    });
    Ok(Args { cli, more: more.collect::<Result<_, RunError>>()? })
}

/// Another message where an option counts for the whole job, but stands before a later program.
fn misplaced(text: &str) -> Option<String> {
    let option = text.split_once(": there is no such option")?.0;
    let command = Cli::command();
    let mut known = command.get_opts();
    let same = |arg: &clap::Arg| {
        arg.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long))
            || arg
                .get_short()
                .is_some_and(|short| option.strip_prefix('-') == Some(short.to_string().as_str()))
    };
    known.any(same).then(|| format!("{option} counts for the whole job: write it before the first program"))
}

/// Splits at words ":" as far as they stand after a program that did not come after "--".
fn split(words: Vec<OsString>) -> Vec<Vec<OsString>> {
    let mut parts = vec![Vec::new()];
    let (mut in_options, mut is_value, mut verbatim) = (true, false, false);
    for mut word in words {
        let at_program = in_options && !is_value && !word.to_string_lossy().starts_with('-');
        in_options &= !at_program;
        if !in_options {
            if !verbatim && word == ":" {
                parts.push(Vec::new());
                (in_options, is_value) = (true, false);
                continue;
            }
        } else if is_value {
            is_value = false;
        } else if word == "--" {
            (in_options, verbatim) = (false, true);
        } else {
            if word == "-np" {
                // As other launchers spell it.
                word = "-n".into();
            }
            is_value = WITH_VALUE.iter().any(|option| word == *option);
        }
        if let Some(part) = parts.last_mut() {
            part.push(word);
        }
    }
    parts
}

fn pes(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=MAX_PES as u32).contains(number));
    number.ok_or_else(|| format!("give a number of PEs from 1 to {MAX_PES}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60.0),
        Some(number) if text.ends_with('h') => (number, 3600.0),
        Some(number) => (number, 1.0),
        None => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().filter(|s| *s > 0.0);
    let time = seconds.and_then(|s| Duration::try_from_secs_f64(s * unit).ok());
    time.ok_or_else(|| "give a time above 0 as 30, 2.5, 90s, 5m or 1h".to_owned())
}

fn debugged(text: &str) -> Result<Debugged, String> {
    match text {
        "all" => Ok(Debugged::All),
        _ => text.trim().parse().map(Debugged::One).map_err(|_| "give the number of a PE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn parts(text: &str) -> Vec<String> {
        let joined = |part: Vec<OsString>| part.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        split(words(text)).into_iter().map(joined).collect()
    }

    #[test]
    fn parts_are_split_at_colons_of_their_own() {
        assert_eq!(parts("-n 2 a x : -n 3 b"), ["-n 2 a x", "-n 3 b"]);
        assert_eq!(parts("-n 2 a -- x : b"), ["-n 2 a -- x", "b"]);
        assert_eq!(parts("a:b : c"), ["a:b", "c"]);
    }

    #[test]
    fn everything_after_two_dashes_is_the_programs() {
        assert_eq!(parts("-n 2 -- a x : b"), ["-n 2 -- a x : b"]);
        assert_eq!(parts("a : -- b : c"), ["a", "-- b : c"]);
    }

    #[test]
    fn values_of_options_are_not_programs() {
        assert_eq!(parts("-x : -n 1 a : b"), ["-x : -n 1 a", "b"]);
        assert_eq!(parts("-np 2 a"), ["-n 2 a"]);
        assert_eq!(parts("a -np 2"), ["a -np 2"]);
    }

    #[test]
    fn the_list_of_options_with_values_is_complete() {
        let command = Cli::command();
        let valued = command.get_arguments().filter(|arg| {
            arg.get_action().takes_values() && !arg.is_positional() && !arg.is_require_equals_set()
        });
        let names = valued.flat_map(|arg| {
            let short = arg.get_short().map(|name| format!("-{name}"));
            short.into_iter().chain(arg.get_long().map(|name| format!("--{name}")))
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        let mut listed = WITH_VALUE.map(str::to_owned);
        listed.sort();
        assert_eq!(names, listed);
        Cli::command().debug_assert();
        More::command().debug_assert();
    }

    #[test]
    fn options_after_the_program_are_the_programs() {
        let args = read(words("dushrun -n 2 a -n 3 --timeout x -l").into_iter()).unwrap();
        assert_eq!((args.cli.part.pes, args.cli.prefix_output), (Some(2), false));
        assert_eq!(args.cli.part.command, words("a -n 3 --timeout x -l"));
        let args = read(words("dushrun -l -- -strange x").into_iter()).unwrap();
        assert_eq!(args.cli.part.command, words("-strange x"));
    }

    #[test]
    fn times_have_units() {
        let ms = |text| duration(text).map(|d| d.as_millis());
        assert_eq!(
            (ms("1.5"), ms("2s"), ms("2m"), ms("1h")),
            (Ok(1500), Ok(2000), Ok(120_000), Ok(3_600_000))
        );
        for bad in ["", "0", "-1", "x", "1d", "s", "nan", "inf", "1e300h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_debugger_takes_an_optional_pe() {
        let gdb = |text: &str| read(words(text).into_iter()).unwrap().cli.gdb;
        assert_eq!(gdb("dushrun --gdb a"), Some(Debugged::All));
        assert_eq!(gdb("dushrun --gdb=1 a"), Some(Debugged::One(1)));
        assert!(read(words("dushrun --gdb=x a").into_iter()).is_err());
        assert!(read(words("dushrun -n 0 a").into_iter()).is_err());
        assert!(read(words("dushrun -n 2").into_iter()).is_err());
    }
}
