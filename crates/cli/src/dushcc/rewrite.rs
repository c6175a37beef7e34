//! Rewrites the two constructs of kernel sources that are not C++; every other byte stays as it is.
use super::token::{Kind, Token, left_out, tokens};
use super::{launch, shared, shared_os};
use std::ops::Range;

/// A change of the text.
#[derive(Debug)]
pub struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    /// Puts `text` before the byte at `at`.
    pub fn insert(at: usize, text: String) -> Edit {
        Edit { range: at..at, text }
    }

    /// Puts `text` in the place of the bytes of `range`.
    pub fn replace(range: Range<usize>, text: String) -> Edit {
        Edit { range, text }
    }
}

/// Something that can't be rewritten.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: &'static str,
}

/// An include line.
#[derive(Debug)]
pub struct Include {
    /// The bytes of the name with its quotes.
    pub range: Range<usize>,
    /// The name itself.
    pub name: Vec<u8>,
    /// `"x"` rather than `<x>`.
    pub quoted: bool,
}

/// A text and what is known about it.
#[derive(Debug)]
pub struct Source<'a> {
    /// The text as it was read.
    pub text: &'a [u8],
    /// Its tokens.
    pub tokens: Vec<Token>,
    left_out: Vec<Range<usize>>,
    os_threads: bool,
}

impl<'a> Source<'a> {
    /// Splits the text.
    pub fn new(text: &'a [u8]) -> Source<'a> {
        let tokens = tokens(text);
        let left_out = left_out(text, &tokens);
        Source { text, tokens, left_out, os_threads: false }
    }

    /// Whether GPU threads are OS threads in the program.
    pub fn os_threads(mut self, on: bool) -> Source<'a> {
        self.os_threads = on;
        self
    }

    /// Whether `__shared__` variables become something else altogether ([`super::shared_os`]).
    pub fn has_os_threads(&self) -> bool {
        self.os_threads
    }

    /// All changes that make plain C++ of the text; none where it is already.
    pub fn edits(&self) -> Result<Vec<Edit>, Failure> {
        let mut edits = Vec::new();
        launch::edits(self, &mut edits)?;
        shared::edits(self, &mut edits)?;
        if self.os_threads {
            shared_os::edits(self, &mut edits)?;
        }
        edits.sort_by_key(|edit| edit.range.start);
        // Text that is no C++ can open two launches for one `>>>(`.
        let clash = edits.windows(2).find(|pair| pair[0].range.end > pair[1].range.start);
        let twice = edits.windows(2).find(|pair| !pair[0].range.is_empty() && pair[0].range == pair[1].range);
        match clash.or(twice) {
            Some(pair) => {
                let message = "two `<<<` share one `>>>(`: not a launch that can be compiled";
                Err(self.failure_at(pair[1].range.start, message))
            }
            None => Ok(edits),
        }
    }

    /// The include lines, those of parts that `#if 0` leaves out aside.
    pub fn includes(&self) -> Vec<Include> {
        let headers =
            self.tokens.iter().filter(|token| token.kind == Kind::Header && !self.is_left_out(token.start));
        let include = |token: &Token| Include {
            range: token.range(),
            name: self.text[token.start + 1..token.end - 1].to_vec(),
            quoted: self.text[token.start] == b'"',
        };
        headers.map(include).collect()
    }

    /// The bytes of a token; none beyond the end.
    pub fn word(&self, index: usize) -> &'a [u8] {
        self.tokens.get(index).map_or(&[], |token| &self.text[token.range()])
    }

    /// Whether the token is this punctuation.
    pub fn is(&self, index: usize, punct: u8) -> bool {
        self.tokens
            .get(index)
            .is_some_and(|token| token.kind == Kind::Punct && self.text[token.start] == punct)
    }

    /// Whether nothing lies between this token and the next.
    pub fn touch(&self, index: usize) -> bool {
        self.tokens.get(index + 1).is_some_and(|next| self.tokens[index].end == next.start)
    }

    /// How many of this punctuation stand side by side from here.
    pub fn run(&self, index: usize, punct: u8) -> usize {
        let mut len = 0;
        while self.is(index + len, punct) && (len == 0 || self.touch(index + len - 1)) {
            len += 1;
        }
        len
    }

    /// Whether both belong to the code, or to the same preprocessor line.
    pub fn same_line(&self, a: usize, b: usize) -> bool {
        let line = |index: usize| self.tokens.get(index).map(|token| token.line);
        line(a) == line(b)
    }

    /// Whether the `>` is the end of `->`.
    pub fn is_arrow(&self, index: usize) -> bool {
        index > 0 && self.is(index - 1, b'-') && self.touch(index - 1)
    }

    /// Whether the token is code: in no `#if 0`, and in no preprocessor line other than `#define`.
    pub fn live(&self, index: usize) -> bool {
        let token = &self.tokens[index];
        !self.is_left_out(token.start)
            && (token.line == 0 || self.word(self.line_start(index) + 1) == b"define")
    }

    fn is_left_out(&self, at: usize) -> bool {
        self.left_out.iter().any(|range| range.contains(&at))
    }

    fn line_start(&self, index: usize) -> usize {
        let line = self.tokens[index].line;
        self.tokens[..index].iter().rposition(|token| token.line != line).map_or(0, |before| before + 1)
    }

    /// The bracket that the one at `index` closes.
    pub fn matching_back(&self, index: usize, open: u8, close: u8) -> Option<usize> {
        let mut depth = 0usize;
        let mut at = index;
        loop {
            if self.same_line(at, index) {
                if self.is(at, close) && !(close == b'>' && self.is_arrow(at)) {
                    depth += 1;
                } else if self.is(at, open) {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                } else if close == b'>' {
                    if self.is(at, b')') {
                        at = self.matching_back(at, b'(', b')')?;
                    } else if self.is(at, b';') || self.is(at, b'{') || self.is(at, b'}') {
                        return None;
                    }
                }
            }
            at = at.checked_sub(1)?;
        }
    }

    /// The bracket that closes the one at `index`; all kinds of brackets have to pair up in between.
    pub fn matching_forward(&self, index: usize) -> Option<usize> {
        let mut open = Vec::new();
        for at in index..self.tokens.len() {
            if !self.same_line(at, index) || self.tokens[at].kind != Kind::Punct {
                continue;
            }
            match self.text[self.tokens[at].start] {
                bracket @ (b'(' | b'[' | b'{') => open.push(bracket),
                b')' if open.pop() != Some(b'(') => return None,
                b']' if open.pop() != Some(b'[') => return None,
                b'}' if open.pop() != Some(b'{') => return None,
                _ => {}
            }
            if open.is_empty() {
                return Some(at);
            }
        }
        None
    }

    /// The tokens `start..end` on one line, without comments.
    pub fn plain(&self, start: usize, end: usize) -> String {
        let mut text = String::new();
        for index in start..end.min(self.tokens.len()) {
            if index > start && !self.touch(index - 1) {
                let (last, next) =
                    (self.text[self.tokens[index - 1].end - 1], self.text[self.tokens[index].start]);
                let wordy = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
                if wordy(last) && wordy(next) {
                    text.push(' ');
                }
            }
            text.push_str(&String::from_utf8_lossy(self.word(index)));
        }
        text
    }

    /// The name, where the tokens `start..end` are one parameter of the macro that is defined there.
    pub fn macro_parameter(&self, start: usize, end: usize) -> Option<String> {
        let line = self.tokens[start].line;
        if line == 0 || end != start + 1 {
            return None;
        }
        // `# define NAME ( a , b )`, with no blank before the parenthesis.
        let head = self.line_start(start);
        if !self.is(head + 3, b'(') || !self.touch(head + 2) {
            return None;
        }
        let close = (head + 3..start).find(|&index| self.is(index, b')'))?;
        let parameter = (head + 4..close).any(|index| self.word(index) == self.word(start));
        parameter.then(|| String::from_utf8_lossy(self.word(start)).into_owned())
    }

    /// A failure at a token.
    pub fn failure(&self, index: usize, message: &'static str) -> Failure {
        self.failure_at(self.tokens[index].start, message)
    }

    /// A failure at a byte.
    fn failure_at(&self, at: usize, message: &'static str) -> Failure {
        let before = &self.text[..at];
        Failure { line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(), message }
    }
}

/// The text with its edits carried out, none of which overlap.
pub fn apply(text: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.range.start);
    let mut out = Vec::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(&text[at..edit.range.start]);
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.range.end;
    }
    out.extend_from_slice(&text[at..]);
    out
}
