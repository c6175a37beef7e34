//! PEs under gdb.
use crate::args::Debugged;
use dushmem_os::socket;
use std::ffi::OsString;

/// How a debugged PE meets its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// In dushrun's own terminal, or reading commands from dushrun's standard input.
    Here,
    /// In a terminal window.
    Window,
    /// Without interaction: runs, and prints a backtrace where the PE crashes.
    Batch,
}

/// The debugger of PE `pe` of `pes`, if it has one.
pub fn style(debugged: Option<Debugged>, pe: usize, pes: usize, window: bool) -> Option<Style> {
    match debugged? {
        Debugged::One(one) => (one == pe).then_some(Style::Here),
        Debugged::All if pes == 1 && socket::is_terminal(socket::standard()[0]) => Some(Style::Here),
        Debugged::All if window => Some(Style::Window),
        Debugged::All => Some(Style::Batch),
    }
}

/// Whether terminal windows can be opened.
pub fn has_windows() -> bool {
    std::env::var_os("DISPLAY").is_some_and(|d| !d.is_empty()) && crate::plan::find("xterm".as_ref()).is_ok()
}

/// The command that runs `command` as PE `pe` under the debugger.
pub fn wrap(style: Style, pe: usize, command: &[OsString]) -> Vec<OsString> {
    let gdb = "gdb -q -iex";
    let quiet = "set debuginfod enabled off";
    let title = format!("PE {pe}");
    let before: Vec<&str> = match style {
        Style::Here | Style::Batch => vec![],
        Style::Window => vec!["xterm", "-T", &title, "-e"],
    };
    let batch: &[&str] = match style {
        // Unlike a plain backtrace this one is no error where the program has ended.
        Style::Batch => {
            &["-batch", "-return-child-result", "-ex", "run", "-ex", "thread apply all backtrace"]
        }
        Style::Here | Style::Window => &[],
    };
    let words = before.into_iter().chain(gdb.split(' ')).chain([quiet]).chain(batch.iter().copied());
    words.chain(["--args"]).map(OsString::from).chain(command.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pe_is_debugged_here_and_no_other() {
        assert_eq!(style(Some(Debugged::One(1)), 1, 4, true), Some(Style::Here));
        assert_eq!(style(Some(Debugged::One(1)), 0, 4, true), None);
        assert_eq!(style(Some(Debugged::All), 3, 4, true), Some(Style::Window));
        assert_eq!(style(Some(Debugged::All), 3, 4, false), Some(Style::Batch));
        assert_eq!(style(None, 0, 1, true), None);
    }

    #[test]
    fn the_programs_own_arguments_stay_behind_args() {
        let words = wrap(Style::Batch, 0, &["a".into(), "-x".into()]);
        let at = words.iter().position(|word| word == "--args").unwrap();
        assert_eq!(words[at + 1..], [OsString::from("a"), OsString::from("-x")]);
        assert_eq!(wrap(Style::Window, 3, &["a".into()])[..3], ["xterm", "-T", "PE 3"].map(OsString::from));
    }
}
