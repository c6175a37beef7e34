//! Kernels that a program launches by address: a call such as `cudaLaunchKernel((void *)k, ...)` loses the
//! kernel's type, so the type is noted down behind the kernel's definition.
use super::rewrite::{Edit, Source};
use super::token::Kind;
use std::collections::BTreeMap;

/// Whether the source calls something that launches by address.
pub fn launches_by_address(source: &Source<'_>) -> bool {
    let calls: [&[u8]; 7] = [
        b"LaunchKernel",
        b"LaunchKernelExC",
        b"LaunchCooperativeKernel",
        b"_collective_launch",
        b"_collective_launch_query_gridsize",
        b"GraphAddKernelNode",
        b"KernelNodeSetParams",
    ];
    (0..source.tokens.len()).any(|index| calls.iter().any(|call| source.word(index).ends_with(call)))
}

/// The edits that note down the kernels which the source defines. Templates and overloaded names have no
/// single type, so they are left alone.
pub fn edits(source: &Source<'_>) -> Vec<Edit> {
    let mut found: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    let mut scopes: Vec<bool> = Vec::new();
    let mut statement = 0;
    for at in 0..source.tokens.len() {
        if source.tokens[at].line != 0 {
            continue;
        }
        if source.is(at, b'{') {
            let opens_scope = (statement..at)
                .any(|index| matches!(source.word(index), b"namespace" | b"extern"))
                && !source.is(at.saturating_sub(1), b')');
            scopes.push(opens_scope);
        } else if source.is(at, b'}') {
            scopes.pop();
        }
        if [b'{', b'}', b';'].iter().any(|punct| source.is(at, *punct)) {
            statement = at + 1;
        }
        if source.word(at) == b"__global__" && source.live(at) && scopes.iter().all(|scope| *scope) {
            let template = (statement..at).any(|index| source.word(index) == b"template");
            if let Some((name, end)) = definition(source, at).filter(|_| !template) {
                found.entry(source.word(name)).or_default().push(end);
            }
        }
    }
    let single = found.into_iter().filter(|(_, ends)| ends.len() == 1);
    let edit = |(name, ends): (&[u8], Vec<usize>)| {
        let name = String::from_utf8_lossy(name);
        let text = format!(
            " static const ::dushmem::emu::registration dushmem_registered_{name}{{{name}, \"{name}\"}};"
        );
        Edit::insert(source.tokens[ends[0]].end, text)
    };
    single.map(edit).collect()
}

/// The name of the kernel that is defined behind this `__global__`, and the brace that ends its body.
fn definition(source: &Source<'_>, global: usize) -> Option<(usize, usize)> {
    let attributes: [&[u8]; 4] = [b"__launch_bounds__", b"__attribute__", b"alignas", b"__cluster_dims__"];
    let mut at = global + 1;
    while at < source.tokens.len() {
        if source.is(at, b'(') {
            let name = at - 1;
            if attributes.contains(&source.word(name)) {
                at = source.matching_forward(at)? + 1;
                continue;
            }
            let plain = source.tokens[name].kind == Kind::Word && name > global && !source.is(name - 1, b':');
            let body = (source.matching_forward(at)? + 1..source.tokens.len())
                .find(|&index| source.word(index) != b"noexcept")?;
            return if plain && source.is(body, b'{') {
                Some((name, source.matching_forward(body)?))
            } else {
                None
            };
        }
        if source.is(at, b';') || source.is(at, b'{') || source.is(at, b'}') {
            return None;
        }
        at += 1;
    }
    None
}
