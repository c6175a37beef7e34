//! Calls in kernels that only the host makes. A device compiler refuses them; here they are functions like any others, and
//! would wait for the kernel itself, or do what no GPU can.
//!
//! Only the compiler knows what is compiled, so such a call gets an assertion beside it, which fails where it is. What
//! may be something else of that name is left alone: names that the program declares or defines itself, members, names
//! of other namespaces, macros, and functions that are the host's as well.
use super::rewrite::{Edit, Source};
use super::token::Kind;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

const FAMILIES: [&str; 5] = ["nvshmem_", "nvshmemx_", "shmem_", "shmemx_", "dushmem"];

/// Names that a library exports and names that kernels may call.
struct Names {
    host: HashSet<&'static str>,
    generic: HashSet<&'static str>,
    device: HashSet<&'static str>,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let lists = [
            include_str!("../../../../api/names/openshmem-1.6.txt"),
            include_str!("../../../../api/names/nvshmem-host.txt"),
            include_str!("../../../../api/names/dushmem.txt"),
        ];
        // Inline functions there, so that no list has them.
        let inline = [
            concat!("nvshmem", "_init"),
            concat!("nvshmem", "_init_thread"),
            concat!("nvshmem", "_finalize"),
            concat!("nvshmemx", "_init_attr"),
        ];
        let device = include_str!("../../../../api/names/device.txt");
        let device: HashSet<&str> = device.lines().filter_map(|line| line.split('\t').next()).collect();
        let generic: HashSet<&str> = include_str!("../../../../api/names/generics.txt").lines().collect();
        let exported = lists.iter().flat_map(|list| list.lines()).map(str::trim);
        let host = exported.chain(generic.iter().copied()).chain(inline);
        let host = host.filter(|name| FAMILIES.iter().any(|family| name.starts_with(family)));
        Names { host: host.filter(|name| !device.contains(name)).collect(), generic, device }
    })
}

/// The name at a token, if only the host calls it.
fn host_name(source: &Source<'_>, at: usize) -> Option<&'static str> {
    let word = source.word(at);
    let begins = FAMILIES.iter().any(|family| word.starts_with(family.as_bytes()));
    let name = begins.then(|| std::str::from_utf8(word).ok()).flatten()?;
    names().host.get(name).copied()
}

/// The names among those of the host's calls that the text uses for something of its own.
pub fn own_names(source: &Source<'_>) -> HashSet<&'static str> {
    let own = |&at: &usize| source.live(at) && is_own(source, at);
    (0..source.tokens.len()).filter(own).filter_map(|at| host_name(source, at)).collect()
}

/// The token of code before one.
fn before(source: &Source<'_>, at: usize) -> Option<usize> {
    (0..at).rev().find(|&index| source.tokens[index].line == 0)
}

/// Words before a name that is called.
const BEFORE_CALL: [&[u8]; 9] =
    [b"return", b"else", b"do", b"case", b"throw", b"and", b"or", b"not", b"co_return"];

/// Whether the name at a token is declared there, or is no function that is called.
fn is_own(source: &Source<'_>, at: usize) -> bool {
    if host_name(source, at).is_none() {
        return false;
    }
    if source.tokens[at].line != 0 {
        // `#define NAME`
        return at.checked_sub(1).is_some_and(|before| source.word(before) == b"define");
    }
    if !source.is(at + 1, b'(') {
        return true;
    }
    let Some(before) = before(source, at) else { return true };
    if source.tokens[before].kind == Kind::Word {
        return !BEFORE_CALL.contains(&source.word(before));
    }
    if !b"*&>".iter().any(|&punct| source.is(before, punct)) || source.is_arrow(before) {
        return false;
    }
    // `int *name(...) {`, `int *name(...);`: the second may be a product as well, but then it is a part of something.
    let Some(close) = source.matching_forward(at + 1) else { return true };
    let mut start = before;
    while let Some(earlier) = self::before(source, start).filter(|&earlier| {
        let word = source.tokens[earlier].kind == Kind::Word && !BEFORE_CALL.contains(&source.word(earlier));
        word || b"*&<>:,".iter().any(|&punct| source.is(earlier, punct))
    }) {
        start = earlier;
    }
    let begins = self::before(source, start)
        .is_none_or(|earlier| b";{}".iter().any(|&punct| source.is(earlier, punct)));
    source.is(close + 1, b'{') || (source.is(close + 1, b';') && begins && start < before)
}

/// Adds the assertions to a text; `own` are names that the program has for something else.
pub fn edits(source: &Source<'_>, own: &HashSet<&'static str>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for body in bodies(source) {
        for at in body {
            if source.tokens[at].line != 0 || !source.is(at + 1, b'(') {
                continue;
            }
            let Some(name) = host_name(source, at).filter(|name| !own.contains(name)) else { continue };
            let Some((start, close)) = call(source, at) else { continue };
            let text = format!(
                "([](auto host_only) {{ static_assert(sizeof host_only == 0, \"{name} in a kernel: {}\"); }}(0), ",
                why(name)
            );
            edits.push(Edit::insert(source.tokens[start].start, text));
            edits.push(Edit::insert(source.tokens[close].end, ")".into()));
        }
    }
    edits
}

/// The first and the last token of the call of the function that is named at a token; None where it is a member, is
/// another namespace's, or is not called.
fn call(source: &Source<'_>, at: usize) -> Option<(usize, usize)> {
    let close = source.matching_forward(at + 1)?;
    let mut start = at;
    let before = |index: usize| before(source, index);
    if before(at).is_some_and(|index| source.is(index, b':')) {
        start = at.checked_sub(2).filter(|&index| source.is(index, b':'))?;
        let qualifies = |index: usize| {
            source.tokens[index].kind == Kind::Word && !BEFORE_CALL.contains(&source.word(index))
                || source.is(index, b'>')
        };
        if before(start).is_some_and(qualifies) {
            return None;
        }
    }
    if let Some(index) = before(start) {
        let member = source.is(index, b'.') || (source.is(index, b'>') && source.is_arrow(index));
        let unevaluated = source.is(index, b'(')
            && before(index).is_some_and(|word| {
                matches!(source.word(word), b"decltype" | b"sizeof" | b"noexcept" | b"alignof")
            });
        if member || unevaluated {
            return None;
        }
    }
    Some((start, close))
}

/// What to do about it.
fn why(name: &str) -> String {
    let device = |name: &str| names().device.contains(name);
    // In the family of the kernel's names: those of OpenSHMEM are the host's alone.
    let family = |name: &str| match name.strip_prefix("shmem") {
        Some(rest) => format!("nvshmem{rest}"),
        None => name.to_owned(),
    };
    let host = if name.starts_with("shmem") {
        "names of OpenSHMEM are the host's"
    } else {
        "only the host makes this call"
    };
    if device(&family(name)) {
        return format!("{host}; kernels call {}", family(name));
    }
    if names().generic.contains(name) {
        let (prefix, operation) = name.split_once('_').unwrap_or((name, ""));
        let of = |ty: &str| family(&format!("{prefix}_{ty}_{operation}"));
        if device(&of("int")) {
            return format!("{host}; kernels call {}, for int {}", of("TYPE"), of("int"));
        }
    }
    if let Some(now) = name.strip_suffix("_on_stream") {
        let plain = now.replacen("shmemx_", "shmem_", 1);
        if let Some(call) = [plain, now.to_owned()].into_iter().find(|call| device(call)) {
            return format!("streams are the host's; kernels call {call}");
        }
    }
    format!("{host}; make it before or after the launch")
}

/// The tokens of the bodies of all functions that are for kernels and not for the host as well.
fn bodies(source: &Source<'_>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.tokens.len() {
        let begins = source.tokens[at].line == 0 && matches!(source.word(at), b"__global__" | b"__device__");
        match begins.then(|| body(source, at)).flatten() {
            Some((body, host_too)) => {
                at = body.end;
                if !host_too {
                    found.push(body);
                }
            }
            None => at += 1,
        }
    }
    found
}

/// The body of the function whose declaration has `__global__` or `__device__` at a token, and whether it is the host's, too.
fn body(source: &Source<'_>, at: usize) -> Option<(Range<usize>, bool)> {
    let ends = |index: usize| b";{}".iter().any(|&punct| source.is(index, punct));
    let start = (0..at).rev().take_while(|&index| source.tokens[index].line == 0 && !ends(index)).last();
    let mut parameters = false;
    let mut index = at + 1;
    while index < source.tokens.len() {
        if source.tokens[index].line != 0 {
            index += 1;
            continue;
        }
        match source.word(index) {
            b"(" => {
                parameters = true;
                index = source.matching_forward(index)?;
            }
            b"[" => index = source.matching_forward(index)?,
            b";" | b"}" | b"=" => return None,
            b"{" => {
                let before = index - 1;
                let behind = source.is(before, b')')
                    || matches!(
                        source.word(before),
                        b"const" | b"noexcept" | b"override" | b"final" | b"mutable"
                    );
                if !(parameters && behind) {
                    return None;
                }
                let close = source.matching_forward(index)?;
                let host = (start.unwrap_or(at)..index).any(|word| source.word(word) == b"__host__");
                return Some((index + 1..close, host));
            }
            _ => {}
        }
        index += 1;
    }
    None
}
