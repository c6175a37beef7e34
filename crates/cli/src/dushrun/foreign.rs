//! Options of other launchers, which command lines written for them have.
use crate::args::WITH_VALUE;
use std::ffi::OsString;

const OPEN_MPI: &str = "Open MPI";
const MPICH: &str = "MPICH";
const HERE: &str = "leave it out, with its value: all PEs run on this machine";

/// Options without their dashes, whose they are, and what to do instead.
const FOREIGN: [(&[&str], &str, &str); 8] = [
    (
        &["oversubscribe", "allow-run-as-root", "report-bindings", "display-map", "merge-stderr-to-stdout"],
        OPEN_MPI,
        "leave it out",
    ),
    (&["host", "H", "hostfile", "machinefile", "npernode", "ppr"], OPEN_MPI, HERE),
    (&["hosts", "f"], MPICH, HERE),
    (
        &["mca", "gmca", "omca", "am"],
        OPEN_MPI,
        "leave it out, with its values; DUSHMEM_ variables are the settings here",
    ),
    (&["tag-output", "timestamp-output"], OPEN_MPI, "leave it out; -l puts \"[PE] \" in front of each line"),
    (
        &["bind-to", "map-by", "rank-by"],
        OPEN_MPI,
        "leave it out, with its value; --bind says which CPUs the PEs get",
    ),
    (&["wdir", "wd"], OPEN_MPI, "leave it out, with its value, and change the folder before"),
    (
        &["stdin", "output-filename"],
        OPEN_MPI,
        "leave it out, with its value; PE 0 reads the input, and -l tells lines apart",
    ),
];

/// What to say about the first option of a part that is another launcher's.
pub fn explain(part: &[OsString]) -> Option<String> {
    let mut words = part.iter();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        let name = word.strip_prefix('-').map(|rest| rest.strip_prefix('-').unwrap_or(rest));
        let name = name.filter(|name| !name.is_empty())?;
        let name = name.split('=').next().unwrap_or_default();
        if let Some((_, launcher, remedy)) = FOREIGN.iter().find(|(names, ..)| names.contains(&name)) {
            let shown = word.split('=').next().unwrap_or_default();
            return Some(format!("{shown} is an option of {launcher}'s launcher; {remedy}"));
        }
        if WITH_VALUE.iter().any(|option| word == *option) {
            words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    fn said(line: &str) -> Option<String> {
        explain(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_of_other_launchers_are_known() {
        for (line, start) in [
            ("--oversubscribe -n 2 a", "--oversubscribe is an option of Open MPI's launcher; leave it out"),
            ("-n 2 -H a,b a", "-H is"),
            ("-x A=1 --hostfile=h a", "--hostfile is"),
            ("-host h a", "-host is"),
            (
                "-hosts x",
                "-hosts is an option of MPICH's launcher; leave it out, with its value: all PEs run on this",
            ),
            ("-l --mca btl self a", "--mca is"),
            ("--bind-to core a", "--bind-to is"),
        ] {
            assert!(said(line).is_some_and(|text| text.starts_with(start)), "{line}: {:?}", said(line));
        }
    }

    #[test]
    fn other_words_are_not() {
        for line in ["-n 2 a --oversubscribe", "-n 2 -- --mca", "-x --mca a", "--bind spread -l a", "a", ""] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn none_is_an_own_option() {
        let command = Cli::command();
        for name in FOREIGN.iter().flat_map(|(names, ..)| names.iter()) {
            let own = |arg: &clap::Arg| {
                arg.get_long() == Some(name) || arg.get_short().is_some_and(|c| c.to_string() == *name)
            };
            assert!(!command.get_opts().any(own), "{name}");
        }
    }
}
