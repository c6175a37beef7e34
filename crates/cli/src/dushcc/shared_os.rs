//! `__shared__ T name, other[4];` for a program whose GPU threads are OS threads: a thread-local variable would be
//! each thread's own. The names become references to memory of the block.
//!
//! The declaration itself is kept, as that of a struct's members, so that nothing has to be understood but where the
//! declared names stand.
use super::rewrite::{Edit, Failure, Source};
use super::shared::{Scopes, start_of_declaration};
use super::token::Kind;

/// Adds the edits of every declaration of shared memory of fixed size.
pub fn edits(source: &Source<'_>, out: &mut Vec<Edit>) -> Result<(), Failure> {
    let mut scopes = Scopes::default();
    let mut done = 0;
    for at in 0..source.tokens.len() {
        scopes.pass(source, at);
        if at < done || source.word(at) != b"__shared__" || !source.live(at) {
            continue;
        }
        // A definition of the word itself.
        if at > 0 && source.word(at - 1) == b"define" {
            continue;
        }
        let in_function = scopes.in_function() || source.tokens[at].line != 0;
        let Some(stop) = end_of_declaration(source, at) else { continue };
        let start = start_of_declaration(source, at);
        done = stop;
        if (start..stop).any(|index| source.word(index) == b"extern") {
            continue;
        }
        out.push(rewrite(source, start, at, stop, in_function)?);
    }
    Ok(())
}

/// The token behind the declaration: its semicolon, or, in a macro, the end of the line.
fn end_of_declaration(source: &Source<'_>, at: usize) -> Option<usize> {
    let mut depth = 0;
    for index in at..source.tokens.len() {
        if !source.same_line(index, at) {
            if source.tokens[at].line != 0 {
                return Some(index);
            }
            continue;
        }
        match () {
            _ if source.is(index, b'{') || source.is(index, b'(') || source.is(index, b'[') => depth += 1,
            _ if source.is(index, b'}') || source.is(index, b')') || source.is(index, b']') => depth -= 1,
            _ if depth == 0 && source.is(index, b';') => return Some(index),
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    (source.tokens[at].line != 0).then_some(source.tokens.len())
}

fn rewrite(
    source: &Source<'_>,
    start: usize,
    at: usize,
    stop: usize,
    in_function: bool,
) -> Result<Edit, Failure> {
    let names = names(source, at, stop)?;
    let mut members = String::new();
    for index in start..stop {
        if !source.same_line(index, at) || matches!(source.word(index), b"__shared__" | b"static") {
            continue;
        }
        let wordy =
            |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80);
        if wordy(members.as_bytes().last()) && wordy(source.word(index).first()) {
            members.push(' ');
        }
        members.push_str(&String::from_utf8_lossy(source.word(index)));
    }
    let mut text = String::new();
    for (number, name) in names.iter().enumerate() {
        if number > 0 {
            text.push_str("; ");
        }
        text.push_str(&match in_function {
            // A type of its own for each place, and for each instance of a template.
            true => format!(
                "[[maybe_unused]] auto &{name} = ::dushmem::emu::block_shared([] {{ struct dushmem_shared {{ \
                 {members}; }}; return static_cast<dushmem_shared *>(nullptr); }}()).{name}"
            ),
            false => format!(
                "struct dushmem_shared_{name} {{ {members}; }}; [[maybe_unused]] static \
                 ::dushmem::emu::block_shared_member<&dushmem_shared_{name}::{name}> {name}"
            ),
        });
    }
    let range = source.tokens[start].start..source.tokens[stop - 1].end;
    let newline = if source.tokens[at].line == 0 { "\n" } else { "\\\n" };
    text.push_str(&newline.repeat(source.text[range.clone()].iter().filter(|&&byte| byte == b'\n').count()));
    Ok(Edit::replace(range, text))
}

/// The declared names: of each declarator the last word before its brackets.
fn names(source: &Source<'_>, at: usize, stop: usize) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    let (mut depth, mut angles) = (0, 0);
    let mut name: Option<usize> = None;
    let mut open = true;
    for index in at + 1..=stop {
        let end = index == stop;
        if !end && !source.same_line(index, at) {
            continue;
        }
        let is = |punct: u8| !end && source.is(index, punct);
        if depth == 0 && angles == 0 && (end || is(b',')) {
            let word = name.ok_or_else(|| {
                source.failure(
                    at,
                    "no name is found in this `__shared__` declaration; declare one plain variable or array",
                )
            })?;
            names.push(String::from_utf8_lossy(source.word(word)).into_owned());
            (name, open) = (None, true);
        } else if depth == 0 && is(b'<') {
            angles += 1;
        } else if depth == 0 && is(b'>') {
            angles -= 1;
        } else if is(b'[') || is(b'(') || is(b'{') {
            // What follows the name: bounds, or an initialiser. An alignment comes before it.
            open &= !(depth == 0 && angles == 0 && is(b'['));
            depth += 1;
        } else if is(b']') || is(b')') || is(b'}') {
            depth -= 1;
        } else if depth == 0 && angles == 0 {
            if is(b'=') || is(b':') && !source.touch(index) && !source.is(index - 1, b':') {
                open = false;
            } else if open && source.tokens[index].kind == Kind::Word {
                name = Some(index);
            }
        }
    }
    Ok(names)
}
