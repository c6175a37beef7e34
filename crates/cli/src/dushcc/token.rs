//! Splits C++ text into tokens without losing a byte: what lies between two tokens is the text itself.
//!
//! Only as much of the language is known as is needed to be sure what is code and what is not: comments,
//! string and character literals, raw strings, digit separators, header names, and which tokens belong to
//! a preprocessor line.
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Identifier or keyword.
    Word,
    /// Number, with its separators and suffixes.
    Number,
    /// String or character literal, also one that the end of the line cuts off.
    Literal,
    /// The `"x.h"` or `<x.h>` of an include line.
    Header,
    /// One byte of punctuation.
    Punct,
}

/// One token. Comments, blanks and continued lines are not tokens.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where its first byte stands.
    pub start: usize,
    /// Where its last byte stands, plus one.
    pub end: usize,
    /// 0 for code, else the number of the preprocessor line that it belongs to.
    pub line: u32,
}

impl Token {
    /// The bytes of the token.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// All tokens of a text.
pub fn tokens(text: &[u8]) -> Vec<Token> {
    let mut scanner = Scanner { text, at: 0, out: Vec::new(), line: 0, lines: 0, line_start: true };
    while scanner.at < text.len() {
        scanner.step();
    }
    scanner.out
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<Token>,
    line: u32,
    lines: u32,
    line_start: bool,
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn in_word(byte: u8) -> bool {
    starts_word(byte) || byte.is_ascii_digit()
}

/// Length of a backslash-newline at the start of `text`; like gcc, blanks between the two are allowed.
fn splice(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'\\') {
        return None;
    }
    let blanks =
        text[1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)).count();
    (text.get(1 + blanks) == Some(&b'\n')).then_some(2 + blanks)
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, end: usize) {
        self.out.push(Token { kind, start: self.at, end, line: self.line });
        self.at = end;
        self.line_start = false;
    }

    fn step(&mut self) {
        let byte = self.peek(0);
        match byte {
            b'\n' => {
                self.at += 1;
                self.line = 0;
                self.line_start = true;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
            b'\\' => match splice(&self.text[self.at..]) {
                Some(len) => self.at += len,
                None => self.push(Kind::Punct, self.at + 1),
            },
            b'/' if self.peek(1) == b'/' => self.line_comment(),
            b'/' if self.peek(1) == b'*' => self.block_comment(),
            b'#' if self.line_start && self.line == 0 => {
                self.lines += 1;
                self.line = self.lines;
                self.push(Kind::Punct, self.at + 1);
            }
            b'"' | b'<' if self.header_follows() => self.header(),
            b'"' | b'\'' => {
                let end = self.literal_end(self.at);
                self.push(Kind::Literal, end);
            }
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            _ if byte.is_ascii_digit() => self.number(),
            _ if starts_word(byte) => self.word(),
            _ => self.push(Kind::Punct, self.at + 1),
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.text.len() && self.text[self.at] != b'\n' {
            self.at += splice(&self.text[self.at..]).unwrap_or(1);
        }
    }

    fn block_comment(&mut self) {
        let body = &self.text[self.at + 2..];
        let len = body.windows(2).position(|pair| pair == b"*/").map_or(body.len(), |at| at + 2);
        self.at += 2 + len;
    }

    /// Whether an include line's name comes next.
    fn header_follows(&self) -> bool {
        let [.., hash, name] = &self.out[..] else { return false };
        let name_text = &self.text[name.range()];
        self.line != 0
            && hash.line == self.line
            && self.out.len().checked_sub(3).is_none_or(|before| self.out[before].line != self.line)
            && matches!(name_text, b"include" | b"include_next" | b"import" | b"embed")
    }

    fn header(&mut self) {
        let close = if self.peek(0) == b'"' { b'"' } else { b'>' };
        let rest = &self.text[self.at + 1..];
        match rest.iter().position(|&byte| byte == close || byte == b'\n') {
            Some(at) if rest[at] == close => self.push(Kind::Header, self.at + at + 2),
            _ => self.push(Kind::Punct, self.at + 1),
        }
    }

    /// Where the literal ends whose quote stands at `quote`.
    fn literal_end(&self, quote: usize) -> usize {
        let close = self.text[quote];
        let mut at = quote + 1;
        while at < self.text.len() {
            match self.text[at] {
                byte if byte == close => return at + 1,
                b'\n' => return at,
                b'\\' => at += splice(&self.text[at..]).unwrap_or(2),
                _ => at += 1,
            }
        }
        self.text.len()
    }

    fn raw_literal_end(&self, quote: usize) -> Option<usize> {
        let rest = &self.text[quote + 1..];
        let open = rest.iter().take(17).position(|&byte| byte == b'(')?;
        let delimiter = &rest[..open];
        if delimiter.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, b')' | b'\\' | b'"')) {
            return None;
        }
        let mut closing = vec![b')'];
        closing.extend_from_slice(delimiter);
        closing.push(b'"');
        let body = &rest[open + 1..];
        let len = body.windows(closing.len()).position(|window| window == closing);
        Some(len.map_or(self.text.len(), |len| quote + 1 + open + 1 + len + closing.len()))
    }

    fn word(&mut self) {
        let mut end = self.at;
        while end < self.text.len() && in_word(self.text[end]) {
            end += 1;
        }
        let quote = self.text.get(end).copied().unwrap_or(0);
        let literal = match &self.text[self.at..end] {
            b"R" | b"LR" | b"uR" | b"UR" | b"u8R" if quote == b'"' => {
                Some(self.raw_literal_end(end).unwrap_or_else(|| self.literal_end(end)))
            }
            b"L" | b"u" | b"U" | b"u8" if quote == b'"' || quote == b'\'' => Some(self.literal_end(end)),
            _ => None,
        };
        match literal {
            Some(end) => self.push(Kind::Literal, end),
            None => self.push(Kind::Word, end),
        }
    }

    fn number(&mut self) {
        let mut end = self.at + 1;
        while let Some(&byte) = self.text.get(end) {
            let exponent = matches!(self.text[end - 1], b'e' | b'E' | b'p' | b'P');
            let separator = byte == b'\'' && self.text.get(end + 1).is_some_and(|&next| in_word(next));
            if !(in_word(byte) || byte == b'.' || separator || (exponent && matches!(byte, b'+' | b'-'))) {
                break;
            }
            end += 1;
        }
        self.push(Kind::Number, end);
    }
}

/// Numbers of the preprocessor lines and ranges of bytes that `#if 0` leaves out.
pub fn left_out(text: &[u8], tokens: &[Token]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    // For each open conditional: the start of the part that is left out, if it is an `#if 0` in that part.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let line = tokens[at].line;
        if line == 0 {
            at += 1;
            continue;
        }
        let len = tokens[at..].iter().take_while(|token| token.line == line).count();
        let words: Vec<&[u8]> = tokens[at..at + len].iter().map(|token| &text[token.range()]).collect();
        let start = tokens[at].start;
        match words.get(1) {
            Some(&(b"if" | b"ifdef" | b"ifndef")) => {
                let zero = words[1] == b"if" && words[2..] == [b"0"];
                open.push(zero.then_some(tokens[at + len - 1].end));
            }
            Some(&(b"else" | b"elif" | b"elifdef" | b"elifndef")) => {
                if let Some(from) = open.last_mut().and_then(Option::take) {
                    ranges.push(from..start);
                }
            }
            Some(&b"endif") => {
                if let Some(from) = open.pop().flatten() {
                    ranges.push(from..start);
                }
            }
            _ => {}
        }
        at += len;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text.as_bytes()).iter().map(|token| &text[token.range()]).collect()
    }

    #[test]
    fn literals_and_comments_are_whole() {
        assert_eq!(words(r#"a "b \" c" 'd' '\'' e"#), ["a", r#""b \" c""#, "'d'", r"'\''", "e"]);
        assert_eq!(words("a /* b <<< \n */ c // d \\\n e\nf"), ["a", "c", "f"]);
        assert_eq!(words("R\"x(a)\" )y\" )x\" b"), ["R\"x(a)\" )y\" )x\"", "b"]);
        assert_eq!(words("u8R\"(\\)\"b"), ["u8R\"(\\)\"", "b"]);
        assert_eq!(words("L\"a\" u8'c' R(x)"), ["L\"a\"", "u8'c'", "R", "(", "x", ")"]);
    }

    #[test]
    fn numbers_keep_their_separators_and_signs() {
        assert_eq!(
            words("1'000'000 0x1p-3 1e+5f .5 a'b'"),
            ["1'000'000", "0x1p-3", "1e+5f", ".5", "a", "'b'"]
        );
    }

    #[test]
    fn an_apostrophe_in_text_ends_with_its_line() {
        assert_eq!(words("#error don't\nint a;"), ["#", "error", "don", "'t", "int", "a", ";"]);
    }

    #[test]
    fn include_lines_hold_names() {
        assert_eq!(
            words("#include <a//b'c.h>\n#include \"x\\y.h\"\n"),
            ["#", "include", "<a//b'c.h>", "#", "include", "\"x\\y.h\""]
        );
        assert_eq!(words("x include <a>"), ["x", "include", "<", "a", ">"]);
    }

    #[test]
    fn continued_lines_belong_to_their_directive() {
        let text = "#define A b \\\n c /* d\n e */ f\ng";
        let found: Vec<(&str, u32)> =
            tokens(text.as_bytes()).iter().map(|token| (&text[token.range()], token.line)).collect();
        assert_eq!(found, [("#", 1), ("define", 1), ("A", 1), ("b", 1), ("c", 1), ("f", 1), ("g", 0)]);
    }

    #[test]
    fn if_0_is_left_out_up_to_its_else() {
        let text = "a\n#if 0\nb\n#if 1\nc\n#endif\nd\n#else\ne\n#endif\nf";
        let tokens = tokens(text.as_bytes());
        let out = left_out(text.as_bytes(), &tokens);
        assert_eq!(out.len(), 1);
        assert_eq!(&text[out[0].clone()], "\nb\n#if 1\nc\n#endif\nd\n");
    }

    proptest! {
        #[test]
        fn tokens_are_in_order_and_within_the_text(text in "[a-z0-9 \\n\\\\\"'/*#<>(){}\\[\\]R.;,-]{0,80}") {
            let mut end = 0;
            for token in tokens(text.as_bytes()) {
                prop_assert!(token.start >= end && token.end > token.start && token.end <= text.len());
                end = token.end;
            }
        }
    }
}
