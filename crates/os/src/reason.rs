//! Why the system refused something, in words for users.
use std::io;

/// The system's words without the number behind them: "No such file or directory"; where a limit of this process is what is in
/// the way, the limit and what to do as well.
pub fn reason(error: &io::Error) -> String {
    let mut text = error.to_string();
    if let Some(number) = error.raw_os_error() {
        let behind = format!(" (os error {number})");
        if text.ends_with(&behind) {
            text.truncate(text.len() - behind.len());
        }
    }
    if error.raw_os_error() == Some(libc::EMFILE)
        && let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current
    {
        text += &format!(": the limit is {limit} a process; raise it (ulimit -n)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_left_out() {
        assert_eq!(reason(&io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(reason(&io::Error::other("a (os error 2)")), "a (os error 2)");
    }

    #[test]
    fn a_limit_is_named() {
        let text = reason(&io::Error::from_raw_os_error(libc::EMFILE));
        let rest =
            text.strip_prefix("Too many open files: the limit is ").and_then(|rest| rest.split_once(' '));
        let (limit, rest) = rest.expect("a limit");
        assert!(limit.parse::<u64>().is_ok() && rest == "a process; raise it (ulimit -n)", "{text}");
    }
}
