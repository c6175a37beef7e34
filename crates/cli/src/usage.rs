//! Command lines, and one line about what is wrong with one.
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command, Parser};
use dushmem_boot::env::quoted;
use dushmem_os::reason::reason;
use std::error::Error as _;
use std::ffi::OsString;
use std::io::Write;

/// Why there are no options.
#[derive(Debug)]
pub enum Stop {
    /// Help or the version was asked for.
    Asked(Error),
    /// What is wrong, without the program's name.
    Wrong(String),
}

/// Reads `words`, the program's name first.
pub fn parse<P: Parser>(words: Vec<OsString>) -> Result<P, Stop> {
    // "-1" after an option that takes a value is its value, right or wrong.
    let mut command = P::command().mut_args(|arg| {
        let option = arg.get_action().takes_values() && !arg.is_positional();
        if option { arg.allow_negative_numbers(true) } else { arg }
    });
    let read = command.try_get_matches_from_mut(&words).and_then(|matches| P::from_arg_matches(&matches));
    read.map_err(|error| match error.use_stderr() {
        false => match words.iter().skip(1).find_map(|word| asks(&word.to_string_lossy(), &command)) {
            Some(Err(word)) => Stop::Wrong(unknown(&word, &command, &words)),
            _ => Stop::Asked(error),
        },
        true => Stop::Wrong(explain(&error, &command, &words)),
    })
}

/// Whether a word asks for help or the version; the word, where clap takes it for that by its first letters alone, as `-hosts`.
fn asks(word: &str, command: &Command) -> Option<Result<(), String>> {
    if let Some(long) = word.strip_prefix("--") {
        return ["help", "version"].contains(&long).then_some(Ok(()));
    }
    let letters = word.strip_prefix('-')?;
    let known = |letter| command.get_arguments().find(|arg| arg.get_short() == Some(letter));
    let takes_value = |letter| known(letter).is_some_and(|arg| arg.get_action().takes_values());
    let asking =
        |letter| known(letter).is_some_and(|arg| ["help", "version"].contains(&arg.get_id().as_str()));
    let at = letters.find(|letter| takes_value(letter) || asking(letter))?;
    let (letter, rest) = (letters[at..].chars().next()?, &letters[at + 1..]);
    let all_known = || rest.chars().all(|letter| known(letter).is_some());
    asking(letter).then(|| if all_known() { Ok(()) } else { Err(word.to_owned()) })
}

/// Reads this process's command line; ends it, with code 2 where something is wrong.
pub fn parse_or_exit<P: Parser>() -> P {
    parse_words_or_exit(std::env::args_os().collect())
}

/// The same with these words, the program's name first.
pub fn parse_words_or_exit<P: Parser>(words: Vec<OsString>) -> P {
    parse(words).unwrap_or_else(|stop| {
        let code = match stop {
            Stop::Asked(text) => match outcome(text.print()) {
                Ok(()) => 0,
                Err(reason) => {
                    dushmem_os::say::say(&format!("{}: standard output: {reason}", P::command().get_name()));
                    1
                }
            },
            Stop::Wrong(line) => {
                dushmem_os::say::say(&format!("{}: {line}", P::command().get_name()));
                2
            }
        };
        std::process::exit(code)
    })
}

/// Writes to the standard output, or says why that can't be done. A reader that has seen enough is no error.
pub fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    outcome(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Why the standard output could not be written.
pub fn outcome(written: std::io::Result<()>) -> Result<(), String> {
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(reason(&error)),
        _ => Ok(()),
    }
}

fn explain(error: &Error, command: &Command, words: &[OsString]) -> String {
    let one = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    };
    let arg = one(ContextKind::InvalidArg).unwrap_or_default();
    let name = as_written(&arg, command, words);
    let value = one(ContextKind::InvalidValue).filter(|value| !value.is_empty());
    match (error.kind(), value) {
        (ErrorKind::UnknownArgument, _) if arg.starts_with('-') => unknown(&arg, command, words),
        (ErrorKind::UnknownArgument, _) => format!("{arg}: one argument too many"),
        (ErrorKind::ValueValidation, Some(value)) => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{name} {}: {why}", quoted(&value))
        }
        (ErrorKind::InvalidValue, Some(value)) => {
            let value = quoted(&value);
            let shown = if name.starts_with('-') { format!("{name} {value}") } else { value.into_owned() };
            match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => {
                    format!("{shown}: there is no such value; give one of {}", valid.join(", "))
                }
                _ => format!("{shown}: there is no such value"),
            }
        }
        (ErrorKind::InvalidValue | ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues, _) => {
            format!("{name}: its value is missing")
        }
        (ErrorKind::TooManyValues, Some(value)) => format!("{name} takes no value, but was given {value:?}"),
        (ErrorKind::ArgumentConflict, _) => format!("{name} is given twice"),
        (ErrorKind::MissingRequiredArgument, _) => {
            let what = arg.trim_matches(['<', '>', '.']);
            format!("{what} is missing; `{} --help` shows what to write", command.get_name())
        }
        (ErrorKind::InvalidUtf8, _) => "an argument is not UTF-8".to_owned(),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    }
}

/// An option's name as the command line has it, from clap's name for it.
fn as_written(shown: &str, command: &Command, words: &[OsString]) -> String {
    let name = shown.split([' ', '=', '[']).next().unwrap_or_default();
    let written = |word: &OsString| word.to_string_lossy().split('=').next() == Some(name);
    let short = |arg: &Arg| Some(arg.get_short()).filter(|_| arg.get_long() == name.strip_prefix("--"))?;
    match command.get_arguments().find_map(short) {
        Some(short) if !words.iter().any(written) => format!("-{short}"),
        _ => name.to_owned(),
    }
}

fn unknown(arg: &str, command: &Command, words: &[OsString]) -> String {
    // Of `-timeout` clap names the first letter only.
    let long_with_one_dash = |word: &OsString| {
        let word = word.to_string_lossy();
        let rest = word.strip_prefix('-')?;
        let whole = rest.len() > 1 && !rest.starts_with('-') && word.starts_with(arg);
        whole.then(|| word.split('=').next().unwrap_or_default().to_owned())
    };
    let whole = words.iter().skip(1).find_map(long_with_one_dash).filter(|_| !arg.starts_with("--"));
    let shown = whole.unwrap_or_else(|| arg.to_owned());
    match nearest(shown.trim_start_matches('-'), command) {
        Some(option) => format!("{shown}: there is no such option; did you mean {option}?"),
        None => {
            format!("{shown}: there is no such option; `{} --help` lists them", command.get_name())
        }
    }
}

/// The options of a command, with those that clap adds.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_positional())
}

/// The option whose name is most like `name`, if one is.
fn nearest(name: &str, command: &Command) -> Option<String> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        let same = |short: &char| short.eq_ignore_ascii_case(&letter);
        return options(command).filter_map(Arg::get_short).find(same).map(|short| format!("-{short}"));
    }
    let far = (name.chars().count() / 3).max(2);
    let longs = options(command).filter_map(Arg::get_long);
    let distance = |long: &str| if long.starts_with(name) { 1 } else { edits(name, long) };
    let best = longs.map(|long| (distance(long), long)).min()?;
    (best.0 <= far).then(|| format!("--{}", best.1))
}

/// How many letters have to be put in, left out or changed to make one word from the other.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let changed = diagonal + usize::from(letter != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    #[command(name = "tool", version = "1")]
    struct Tool {
        /// How long
        #[arg(short = 't', long)]
        timeout: Option<u8>,
        /// How
        #[arg(long, value_parser = ["left", "right"])]
        bind: Option<String>,
        /// Also
        #[arg(long)]
        json: bool,
        /// What
        #[arg(required = true)]
        file: Option<String>,
    }

    fn wrong(line: &str) -> String {
        let words = std::iter::once("tool").chain(line.split_whitespace()).map(OsString::from);
        match parse::<Tool>(words.collect()) {
            Err(Stop::Wrong(text)) => text,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn one_line_says_what_is_wrong() {
        for (line, text) in [
            ("-hosts x a", "-hosts: there is no such option; `tool --help` lists them"),
            ("-help a", "-help: there is no such option; did you mean --help?"),
            ("-version", "-version: there is no such option; did you mean --version?"),
            ("-bindx=3 a", "-bindx: there is no such option; did you mean --bind?"),
            ("--bind -1 a", "--bind -1: there is no such value; give one of left, right"),
            ("--jsn a", "--jsn: there is no such option; did you mean --json?"),
            ("--tiemout 3 a", "--tiemout: there is no such option; did you mean --timeout?"),
            ("--time=3 a", "--time: there is no such option; did you mean --timeout?"),
            ("-bind left a", "-bind: there is no such option; did you mean --bind?"),
            ("-B left a", "-B: there is no such option; `tool --help` lists them"),
            ("-T 3 a", "-T: there is no such option; did you mean -t?"),
            ("--frobnicate a", "--frobnicate: there is no such option; `tool --help` lists them"),
            ("a b", "b: one argument too many"),
            ("--bind up a", "--bind up: there is no such value; give one of left, right"),
            ("--bind", "--bind: its value is missing"),
            ("a -t", "-t: its value is missing"),
            ("--json=3 a", "--json takes no value, but was given \"3\""),
            ("-t 1 -t 2 a", "-t is given twice"),
            ("--timeout 1 --timeout=2 a", "--timeout is given twice"),
            ("", "FILE is missing; `tool --help` shows what to write"),
        ] {
            assert_eq!(wrong(line), text, "{line}");
        }
        assert!(wrong("-t x a").starts_with("-t x: invalid digit"), "{}", wrong("-t x a"));
        assert!(wrong("-t -1 a").starts_with("-t -1: -1 is not in"), "{}", wrong("-t -1 a"));
        let with_blank = ["tool", "--bind", "left ", "a"].map(OsString::from).to_vec();
        let told = |words| format!("{:?}", parse::<Tool>(words).unwrap_err());
        assert!(told(with_blank).contains(r#"--bind \"left \": there is no"#));
    }

    #[test]
    fn help_is_no_error() {
        for word in ["--help", "-h", "-V", "-hV"] {
            let words = ["tool", word].map(OsString::from).to_vec();
            assert!(matches!(parse::<Tool>(words), Err(Stop::Asked(_))), "{word}");
        }
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, count) in [("", "ab", 2), ("np", "np", 0), ("ppn", "np", 2), ("tiemout", "timeout", 2)] {
            assert_eq!((edits(a, b), edits(b, a)), (count, count), "{a} {b}");
        }
    }
}
