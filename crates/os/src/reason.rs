//! Why the system refused something, in words for users.
use std::io;

/// The system's words without the number behind them: "No such file or directory".
pub fn reason(error: &io::Error) -> String {
    let mut text = error.to_string();
    if let Some(number) = error.raw_os_error() {
        let behind = format!(" (os error {number})");
        if text.ends_with(&behind) {
            text.truncate(text.len() - behind.len());
        }
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
}
