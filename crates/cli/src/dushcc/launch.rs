//! Finds kernel launches, `NAME<<<configuration>>>(arguments)`, and says how to write them in plain C++.
use super::rewrite::{Edit, Failure, Source};
use super::token::Kind;

/// Adds the edits of every launch of the source.
///
/// `NAME<<<CFG>>>(ARGS)` becomes `launcher("NAME", [=](auto f) -> decltype(f(NAME)) { return f(NAME); },
/// [=](auto... a) { NAME(a...); }, config(CFG))(ARGS)`: the first lambda tells the kernel's address. The
/// three parts keep their order and their text, so that lines stay where they are, macros and
/// preprocessor lines among the arguments keep working, and launches nest.
pub fn edits(source: &Source<'_>, out: &mut Vec<Edit>) -> Result<(), Failure> {
    let mut at = 0;
    while at < source.tokens.len() {
        let Some(open) = opening(source, at) else {
            at += 1;
            continue;
        };
        at = open.end;
        let Some(start) = name_start(source, open.start) else { continue };
        let close = closing(source, open.end)
            .ok_or_else(|| source.failure(open.start, "`<<<` opens a launch, but no `>>>(` closes it"))?;
        if close.start == open.end {
            return Err(
                source.failure(open.start, "a launch needs a grid and a block size between `<<<` and `>>>`")
            );
        }
        launch(source, start, open, close, out);
    }
    Ok(())
}

/// Tokens `start..end`.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// `<<<` at this token, also as `<< <`, which some formatters make of it.
fn opening(source: &Source<'_>, at: usize) -> Option<Span> {
    let len = source.run(at, b'<');
    if !(len == 2 || len == 3) {
        return None;
    }
    let start_of_run = at == 0 || !source.is(at - 1, b'<') || !source.touch(at - 1);
    if !start_of_run || !source.live(at) {
        return None;
    }
    let three = len == 3 || (len == 2 && source.run(at + 2, b'<') == 1 && source.same_line(at, at + 2));
    let operator = at > 0 && source.word(at - 1) == b"operator";
    (three && !operator).then_some(Span { start: at, end: at + 3 })
}

const KEYWORDS: [&[u8]; 14] = [
    b"return",
    b"if",
    b"else",
    b"while",
    b"for",
    b"switch",
    b"case",
    b"do",
    b"throw",
    b"sizeof",
    b"new",
    b"delete",
    b"operator",
    b"co_return",
];

/// The token with which the name begins that ends before token `end`.
fn name_start(source: &Source<'_>, end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        // One primary with what follows it: `f`, `f<int>`, `f(1)`, `f[2]`, `(f)`.
        at = postfix_start(source, at)?;
        let before = |n: usize| at.checked_sub(n).filter(|&index| source.same_line(index, end));
        if before(1).is_some_and(|index| source.word(index) == b"template") {
            at -= 1;
        }
        let connector = |n: usize| at.checked_sub(n).filter(|&index| source.same_line(index, end));
        match (connector(2), connector(1)) {
            (Some(a), Some(b)) if source.is(a, b':') && source.is(b, b':') => {
                at = a;
                let qualified =
                    a.checked_sub(1).filter(|&index| source.same_line(index, end)).is_some_and(|index| {
                        (source.tokens[index].kind == Kind::Word && !KEYWORDS.contains(&source.word(index)))
                            || (source.is(index, b'>') && postfix_start(source, a).is_some())
                    });
                if !qualified {
                    return Some(at);
                }
            }
            (Some(a), Some(b)) if source.is(a, b'-') && source.is(b, b'>') => at = a,
            (_, Some(b)) if source.is(b, b'.') => at = b,
            _ => return Some(at),
        }
    }
}

fn postfix_start(source: &Source<'_>, end: usize) -> Option<usize> {
    let mut end = end;
    loop {
        let last = end.checked_sub(1)?;
        let token = &source.tokens[last];
        if token.kind == Kind::Word {
            return (!KEYWORDS.contains(&source.word(last))).then_some(last);
        }
        if token.kind != Kind::Punct {
            return None;
        }
        match source.text[token.start] {
            b']' => end = source.matching_back(last, b'[', b']')?,
            b'>' => {
                let open = source.matching_back(last, b'<', b'>')?;
                let name = open.checked_sub(1)?;
                if source.tokens[name].kind != Kind::Word || KEYWORDS.contains(&source.word(name)) {
                    return None;
                }
                return Some(name);
            }
            b')' => {
                let open = source.matching_back(last, b'(', b')')?;
                let called = open.checked_sub(1).is_some_and(|name| {
                    source.same_line(name, last)
                        && ((source.tokens[name].kind == Kind::Word
                            && !KEYWORDS.contains(&source.word(name)))
                            || source.is(name, b']')
                            || (source.is(name, b'>') && postfix_start(source, open).is_some()))
                });
                if !called {
                    return Some(open);
                }
                end = open;
            }
            _ => return None,
        }
    }
}

/// The `>>>` that closes the launch whose configuration begins at token `from`.
fn closing(source: &Source<'_>, from: usize) -> Option<Span> {
    let mut nesting: Vec<u8> = Vec::new();
    // Angle brackets that may belong to template arguments, outside of all other brackets.
    let mut angles = 0usize;
    let mut fallback = None;
    let mut at = from;
    while at < source.tokens.len() {
        let token = &source.tokens[at];
        if !source.same_line(from - 1, at) {
            // A preprocessor line inside of a launch is passed over; the end of a macro ends the search.
            if source.tokens[from - 1].line != 0 {
                break;
            }
            at += 1;
            continue;
        }
        if token.kind != Kind::Punct {
            at += 1;
            continue;
        }
        match source.text[token.start] {
            open @ (b'(' | b'[' | b'{') => nesting.push(open),
            close @ (b')' | b']' | b'}') => {
                let wanted = match close {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                if nesting.pop() != Some(wanted) {
                    break;
                }
            }
            b';' if nesting.is_empty() => break,
            b'<' if nesting.is_empty() => {
                let len = source.run(at, b'<').max(1);
                if len == 1 && at > from && source.tokens[at - 1].kind == Kind::Word {
                    angles += 1;
                }
                at += len;
                continue;
            }
            b'>' if nesting.is_empty() && !source.is_arrow(at) => {
                let mut len = source.run(at, b'>').max(1);
                if len == 2 && source.run(at + 2, b'>') == 1 {
                    len = 3;
                }
                let end = at + len;
                if len >= 3 && source.is(end, b'(') && source.same_line(at, end) {
                    let span = Span { start: end - 3, end };
                    if angles < 3 && angles >= len - 3 {
                        return Some(span);
                    }
                    fallback.get_or_insert(span);
                }
                // `>>` that closes no template arguments is a shift.
                angles = angles.saturating_sub(len);
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    fallback
}

fn launch(source: &Source<'_>, start: usize, open: Span, close: Span, out: &mut Vec<Edit>) {
    let at = source.tokens[start].start;
    let name = source.plain(start, open.start);
    let shown = match source.macro_parameter(start, open.start) {
        Some(parameter) => format!("#{parameter}"),
        None => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    let zeros = literal_zeros(source, close.end);
    // With a literal 0 or NULL the header has to find out whether the kernel takes a number or a pointer
    // there, so the call must fail softly.
    let result = match zeros.is_empty() {
        true => String::new(),
        false => format!(" -> decltype(static_cast<void>({name}(dushmem_a...)))"),
    };
    // `:` before `::` would be read as one of its colons.
    let space = if at > 0 && matches!(source.text[at - 1], b':' | b'<') { " " } else { "" };
    out.push(Edit::insert(
        at,
        format!(
            "{space}::dushmem::emu::launcher({shown}, [=](auto dushmem_f) -> decltype(dushmem_f({name})) \
             {{ return dushmem_f({name}); }}, [=](auto... dushmem_a){result} {{ "
        ),
    ));
    out.push(Edit::replace(
        source.tokens[open.start].start..source.tokens[open.end - 1].end,
        "(dushmem_a...); }, ::dushmem::emu::config(".to_string(),
    ));
    out.push(Edit::replace(
        source.tokens[close.start].start..source.tokens[close.end - 1].end,
        "))".to_string(),
    ));
    for zero in zeros {
        out.push(Edit::replace(source.tokens[zero].range(), "::dushmem::emu::literal_zero()".to_string()));
    }
}

/// The arguments that are nothing but `0` or `NULL`, given the token of the opening parenthesis.
fn literal_zeros(source: &Source<'_>, open: usize) -> Vec<usize> {
    let mut zeros = Vec::new();
    let mut depth = 0;
    let mut at = open;
    while at < source.tokens.len() {
        if source.same_line(open, at) {
            match source.text[source.tokens[at].start] {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            let alone = depth == 1
                && at + 1 < source.tokens.len()
                && (source.is(at - 1, b',') || at - 1 == open)
                && (source.is(at + 1, b',') || source.is(at + 1, b')'));
            if alone && matches!(source.word(at), b"0" | b"NULL") {
                zeros.push(at);
            }
            if depth == 0 {
                break;
            }
        }
        at += 1;
    }
    zeros
}
