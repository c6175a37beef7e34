//! Response files: `@file` stands for the arguments in the file, as gcc reads them.
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

const DEPTH: usize = 64;

/// The arguments with each `@file` replaced by what the file holds. A name that can't be read stays as it
/// is, which is gcc's rule.
pub fn expand(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let mut out = Vec::with_capacity(arguments.len());
    expand_into(arguments, 0, &mut out)?;
    Ok(out)
}

fn expand_into(arguments: Vec<OsString>, depth: usize, out: &mut Vec<OsString>) -> Result<(), String> {
    for argument in arguments {
        let file = argument.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes);
        match file.and_then(|file| fs::read(Path::new(file)).ok()) {
            None => out.push(argument),
            Some(_) if depth == DEPTH => {
                return Err(format!(
                    "response file {} is nested more than {DEPTH} deep; does it name itself?",
                    argument.display()
                ));
            }
            Some(text) => expand_into(split(&text), depth + 1, out)?,
        }
    }
    Ok(())
}

/// Splits at blanks; quotes of both kinds hold blanks, a backslash takes the next character as it is.
pub fn split(text: &[u8]) -> Vec<OsString> {
    let mut out = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (_, None) if byte.is_ascii_whitespace() || byte == 0x0b => {
                out.extend(word.take().map(OsString::from_vec))
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    out.extend(word.map(OsString::from_vec));
    out
}

/// The text of a response file that holds these arguments.
pub fn join(arguments: &[OsString]) -> Vec<u8> {
    let mut out = Vec::new();
    for argument in arguments {
        out.push(b'"');
        for &byte in argument.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.extend_from_slice(b"\"\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_and_backslashes_hold_blanks() {
        assert_eq!(
            split(b"-c 'a b.c'\t-DX=\"y z\" q\\ r \"\" \n-o x"),
            ["-c", "a b.c", "-DX=y z", "q r", "", "-o", "x"]
        );
        assert_eq!(split(b"'a\\'b' \"c'd\""), ["a'b", "c'd"]);
    }

    proptest! {
        #[test]
        fn what_is_joined_splits_into_the_same(words in proptest::collection::vec("[a-z \"'\\\\\\n\\t@=-]{0,12}", 0..8)) {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            prop_assert_eq!(split(&join(&words)), words);
        }
    }
}
