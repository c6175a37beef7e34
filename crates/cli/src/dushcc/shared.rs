//! Finds `extern __shared__ T name[];` and says how to write it in plain C++.
use super::rewrite::{Edit, Failure, Source};
use super::token::Kind;

/// Adds the edits of every declaration of dynamic shared memory.
///
/// Within a function the name becomes a reference to an array of unknown length, which is what the
/// declaration means; at namespace scope it is an object that finds the running block's memory at each use. Where
/// the language doesn't look for a conversion of such an object (casts, deduced parameters, `auto`), its uses are
/// wrapped in a function that gives the array. That function gives back anything else as it is, since the name
/// may be a local variable's, too.
pub fn edits(source: &Source<'_>, out: &mut Vec<Edit>) -> Result<(), Failure> {
    let mut scopes = Scopes::default();
    let mut outside: Vec<&[u8]> = Vec::new();
    for at in 0..source.tokens.len() {
        scopes.pass(source, at);
        if source.word(at) == b"__shared__" && source.live(at) {
            let in_function = scopes.in_function() || source.tokens[at].line != 0;
            if let Some((name, edit)) = declaration(source, at, in_function)? {
                out.push(edit);
                if !in_function {
                    outside.push(source.word(name));
                }
            } else if !source.has_os_threads() {
                alignment_to_front(source, at, out);
            }
        } else if outside.contains(&source.word(at)) && scopes.in_function() && is_operand(source, at) {
            out.push(Edit::insert(source.tokens[at].start, "::dushmem::emu::shared_array(".into()));
            out.push(Edit::insert(source.tokens[at].end, ")".into()));
        }
    }
    Ok(())
}

/// `__shared__ alignas(16) int x;`: in C++ an alignment stands before all specifiers, of which `__shared__` is one.
fn alignment_to_front(source: &Source<'_>, at: usize, out: &mut Vec<Edit>) {
    let word = |index: usize| source.word(index);
    let mut found = at + 1;
    while matches!(word(found), b"static" | b"const" | b"volatile" | b"inline") {
        found += 1;
    }
    let close = (word(found) == b"alignas" && source.same_line(found, at))
        .then(|| source.matching_forward(found + 1))
        .flatten();
    let Some(close) = close else { return };
    let mut first = at;
    while let Some(before) = first.checked_sub(1).filter(|&before| source.same_line(before, at)) {
        if !matches!(word(before), b"static" | b"const" | b"volatile" | b"inline") {
            break;
        }
        first = before;
    }
    let range = source.tokens[found].start..source.tokens[close].end;
    let lines = source.text[range.clone()].iter().filter(|&&byte| byte == b'\n').count();
    let newline = if source.tokens[at].line == 0 { "\n" } else { "\\\n" };
    out.push(Edit::insert(source.tokens[first].start, format!("{} ", source.plain(found, close + 1))));
    out.push(Edit::replace(range, newline.repeat(lines)));
}

/// Whether the name is an argument, the operand of a cast, or a value: by the token before it, where a declaration
/// of the name would have its type.
fn is_operand(source: &Source<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1).filter(|_| source.tokens[at].line == 0 && source.live(at)) else {
        return false;
    };
    if source.is(before, b',') {
        return in_call(source, before);
    }
    source.word(before) == b"return" || [b'(', b')', b'='].iter().any(|punct| source.is(before, *punct))
}

/// Whether a comma stands between arguments: in parentheses that are no `for` statement's.
fn in_call(source: &Source<'_>, comma: usize) -> bool {
    let mut depth = 0;
    for at in (0..comma).rev() {
        if [b')', b']', b'}'].iter().any(|punct| source.is(at, *punct)) {
            depth += 1;
        } else if [b'(', b'[', b'{'].iter().any(|punct| source.is(at, *punct)) {
            if depth == 0 {
                return source.is(at, b'(') && at.checked_sub(1).is_none_or(|of| source.word(of) != b"for");
            }
            depth -= 1;
        } else if source.is(at, b';') && depth == 0 {
            return false;
        }
    }
    false
}

/// Which of the open braces are function bodies.
#[derive(Default)]
pub struct Scopes(Vec<bool>);

impl Scopes {
    /// Whether the last token passed is in one.
    pub fn in_function(&self) -> bool {
        self.0.last().copied().unwrap_or(false)
    }

    /// Goes on by the token `at`.
    pub fn pass(&mut self, source: &Source<'_>, at: usize) {
        if source.tokens[at].line != 0 {
            return;
        }
        if source.is(at, b'}') {
            self.0.pop();
        }
        if source.is(at, b'{') {
            let body = at.checked_sub(1).is_some_and(|before| {
                source.is(before, b')')
                    || matches!(
                        source.word(before),
                        b"const" | b"noexcept" | b"override" | b"final" | b"try" | b"mutable"
                    )
            });
            self.0.push(self.in_function() || body);
        }
    }
}

/// The declaration that holds the `__shared__` at token `at`, if it is an `extern` one: its name and its edit.
fn declaration(source: &Source<'_>, at: usize, in_function: bool) -> Result<Option<(usize, Edit)>, Failure> {
    let within = |index: &usize| source.same_line(*index, at);
    let mut end = at;
    while end < source.tokens.len() && !(source.is(end, b';') || source.is(end, b'{') || source.is(end, b'}'))
    {
        end += 1;
    }
    let ends = source.is(end, b';') && within(&end);
    // In a macro the semicolon may stand where the macro is used.
    let stop = if ends { end } else { (at..end).take_while(within).last().map_or(at, |last| last + 1) };
    let Some(start) = declaration_start(source, at, stop) else { return Ok(None) };
    if !(ends || source.tokens[at].line != 0) {
        return Ok(None);
    }
    let Some(array) = (at..stop).find(|&index| source.is(index, b'[') && source.is(index + 1, b']')) else {
        return Ok(None);
    };
    let name = array - 1;
    if source.tokens[name].kind != Kind::Word || name <= at {
        return Ok(None);
    }
    if let Some(comma) = (array..stop).find(|&index| source.is(index, b',')) {
        return Err(source.failure(comma, "one `extern __shared__` declaration can hold only one array here"));
    }
    let mut kind = type_text(source, start, name);
    kind.push_str(&source.plain(array + 2, stop));
    let at_name = name;
    let name = String::from_utf8_lossy(source.word(name)).into_owned();
    let range = source.tokens[start].start..source.tokens[stop - 1].end;
    let mut text = match in_function {
        true => format!("[[maybe_unused]] auto &{name} = ::dushmem::emu::dynamic_shared_array<{kind}>()"),
        false => format!("[[maybe_unused]] static ::dushmem::emu::dynamic_shared<{kind}> {name}"),
    };
    let newline = if source.tokens[at].line == 0 { "\n" } else { "\\\n" };
    text.push_str(&newline.repeat(source.text[range.clone()].iter().filter(|&&byte| byte == b'\n').count()));
    Ok(Some((at_name, Edit::replace(range, text))))
}

/// The first token of the declaration, which is `extern`, `__shared__`, or a qualifier before them. None
/// where there is no `extern`.
fn declaration_start(source: &Source<'_>, at: usize, stop: usize) -> Option<usize> {
    let (mut start, mut seen) = (at, at);
    while let Some(before) = seen.checked_sub(1).filter(|&index| source.same_line(index, at)) {
        match source.word(before) {
            b"extern" => start = before,
            b"const" | b"volatile" if start == seen => start = before,
            b")" => {
                // An alignment between `extern` and `__shared__`.
                let open = source.matching_back(before, b'(', b')')?;
                let word = open.checked_sub(1).filter(|&word| ALIGNMENT.contains(&source.word(word)));
                match word {
                    Some(word) => {
                        seen = word;
                        continue;
                    }
                    None => break,
                }
            }
            _ if source.tokens[before].kind == Kind::Word => {}
            _ => break,
        }
        seen = before;
    }
    (start..stop).any(|index| source.word(index) == b"extern").then_some(start)
}

/// The first token of the declaration that the `__shared__` at token `at` stands in: its words before that.
pub fn start_of_declaration(source: &Source<'_>, at: usize) -> usize {
    let mut start = at;
    while let Some(before) = start.checked_sub(1).filter(|&index| source.same_line(index, at)) {
        let aligned = source.is(before, b')').then(|| source.matching_back(before, b'(', b')')).flatten();
        let aligned = aligned.and_then(|open| open.checked_sub(1));
        match aligned.filter(|&word| ALIGNMENT.contains(&source.word(word))) {
            Some(word) => start = word,
            // `#define NAME __shared__ ...`: the name is no part of it, nor is what a macro's head ends with.
            None if source.tokens[at].line == 0 && source.tokens[before].kind == Kind::Word => start = before,
            None if BEFORE.contains(&source.word(before)) => start = before,
            None => break,
        }
    }
    start
}

/// What may stand before `__shared__` in a macro.
const BEFORE: [&[u8]; 4] = [b"static", b"const", b"volatile", b"extern"];

const ALIGNMENT: [&[u8]; 4] = [b"alignas", b"__align__", b"__attribute__", b"_Alignas"];

/// The type: everything before the name except storage, alignment and attributes.
fn type_text(source: &Source<'_>, start: usize, name: usize) -> String {
    let mut text = String::new();
    let mut at = start;
    while at < name {
        match source.word(at) {
            b"extern" | b"__shared__" | b"static" => at += 1,
            word if ALIGNMENT.contains(&word) => {
                let mut depth = 0;
                at += 1;
                while at < name {
                    depth += i32::from(source.is(at, b'(')) - i32::from(source.is(at, b')'));
                    at += 1;
                    if depth <= 0 {
                        break;
                    }
                }
            }
            _ => {
                let piece = source.plain(at, at + 1);
                let apart =
                    text.as_bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
                if apart && source.tokens[at].kind != Kind::Punct {
                    text.push(' ');
                }
                text.push_str(&piece);
                at += 1;
            }
        }
    }
    text
}
