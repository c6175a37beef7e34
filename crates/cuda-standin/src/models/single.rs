//! Kernels that one PE needs alone.
use super::call::{Call, Model};
use super::element;
use super::state::State;
use crate::code::Out;
use crate::work::{self, wait_until};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub const MODELS: &[Model] = &[
    Model { name: "dushmem_k_combine", sizes: &[8, 4, 4, 8, 4, 4], run: combine, quick: true },
    Model { name: "dushmem_k_combine_at", sizes: &[1024, 4, 4, 8, 4, 4], run: combine_at, quick: true },
    Model { name: "dushmem_k_amo", sizes: &[8, 8, 8, 4, 4, 8], run: amo, quick: true },
    Model { name: "dushmem_k_copy", sizes: &[8, 8, 8], run: copy, quick: true },
    Model { name: "dushmem_k_copy_strided", sizes: &[8, 8, 8, 8, 4, 8], run: copy_strided, quick: true },
    Model { name: "dushmem_k_wait", sizes: &[8, 4, 4, 4, 8, 8, 8], run: wait, quick: false },
    Model { name: "dushmem_k_wait_all", sizes: &[8, 4, 4, 8, 8, 4, 8, 4, 8, 8], run: wait_all, quick: false },
    Model { name: "dushmem_k_quiet", sizes: &[], run: |call| State::of(call)?.quiet(), quick: false },
    Model { name: "dushmem_k_signal_add", sizes: &[8, 8, 4], run: signal_add, quick: false },
];

fn combine(call: &Call<'_>) -> Out {
    let vectors = call.size(1) + call.size(2);
    let table: Out<Vec<usize>> =
        (0..vectors).map(|i| Ok(call.load(call.size(0) + 8 * i, 8)? as usize)).collect();
    combine_vectors(call, &table?)
}

fn combine_at(call: &Call<'_>) -> Out {
    let vectors = call.size(1) + call.size(2);
    let table: Vec<usize> = call.words(0).into_iter().take(vectors).map(|at| at as usize).collect();
    combine_vectors(call, &table)
}

fn combine_vectors(call: &Call<'_>, table: &[usize]) -> Out {
    let (sources, n, kind, op) = (call.size(1), call.size(3), call.word(4) as u32, call.word(5) as u32);
    let Some(bytes) = element::bytes(kind) else { return Err(call.fault(&format!("type {kind}"))) };
    let whole: Out<Vec<*mut u8>> = table.iter().map(|at| call.at(*at, n * bytes)).collect();
    let whole = whole?;
    let (sources, dests) = whole.split_at(sources);
    // With one source nothing is combined, and any operation will do.
    let f = element::combine(kind, op);
    if sources.is_empty() || sources.len() > 1 && f.is_none() {
        return Err(call.fault(&format!("operation {op} on type {kind} of {} sources", sources.len())));
    }
    let (mut result, mut other) = (vec![0; bytes], vec![0; bytes]);
    for i in 0..n {
        let element = |vector: &*mut u8| vector.wrapping_add(i * bytes);
        work::move_bytes(result.as_mut_ptr(), element(&sources[0]), bytes);
        for source in &sources[1..] {
            work::move_bytes(other.as_mut_ptr(), element(source), bytes);
            f.expect("checked above")(&mut result, &other);
        }
        for dest in dests {
            work::move_bytes(element(dest), result.as_ptr(), bytes);
        }
    }
    Ok(())
}

fn amo(call: &Call<'_>) -> Out {
    let (at, value, cond, op, wide) =
        (call.size(0), call.word(1), call.word(2), call.word(3), call.word(4) != 0);
    let change = |old: u64| match op {
        0 => Some(old),
        1 | 2 => Some(value),
        3 => Some(if old == cond { value } else { old }),
        4 => Some(old.wrapping_add(value)),
        5 => Some(old & value),
        6 => Some(old | value),
        7 => Some(old ^ value),
        _ => None,
    };
    if change(0).is_none() {
        return Err(call.fault(&format!("operation {op}")));
    }
    let word = call.word_at(at, if wide { 8 } else { 4 })?;
    let order = Ordering::SeqCst;
    let old = if wide {
        // SAFETY: a mapped and aligned word.
        let word = unsafe { AtomicU64::from_ptr(word.cast()) };
        word.fetch_update(order, order, change).unwrap_or_else(|old| old)
    } else {
        // SAFETY: a mapped and aligned word.
        let word = unsafe { AtomicU32::from_ptr(word.cast()) };
        let cond = |old: u32| {
            let narrow = if op == 3 && u64::from(old) == cond & 0xffff_ffff { Some(value) } else { None };
            Some(if op == 3 { narrow.map_or(old, |new| new as u32) } else { change(u64::from(old))? as u32 })
        };
        u64::from(word.fetch_update(order, order, cond).unwrap_or_else(|old| old))
    };
    match call.size(5) {
        0 => Ok(()),
        fetch => call.store(fetch, old, 8),
    }
}

fn signal_add(call: &Call<'_>) -> Out {
    let state = State::of(call)?;
    state.fetch_add(call.size(0), call.word(1), call.number(2)).map(drop)
}

fn copy(call: &Call<'_>) -> Out {
    let (dest, source, bytes) = (call.size(0), call.size(1), call.size(2));
    work::move_bytes(call.at(dest, bytes)?, call.at(source, bytes)?, bytes);
    Ok(())
}

fn copy_strided(call: &Call<'_>) -> Out {
    let (dest, source) = (call.size(0), call.size(2));
    let (elem, n) = (call.size(4), call.size(5));
    for i in 0..n {
        let step = |stride: usize| (call.word(stride) as i64).wrapping_mul(i as i64) as usize;
        let to = call.at(dest.wrapping_add(step(1)), elem)?;
        let from = call.at(source.wrapping_add(step(3)), elem)?;
        work::move_bytes(to, from, elem);
    }
    Ok(())
}

/// Whether a word compares as wanted.
fn compares(word: u64, value: u64, bytes: usize, signed: bool, how: u32) -> bool {
    let shift = 64 - 8 * bytes as u32;
    let order = if signed {
        (((word << shift) as i64) >> shift).cmp(&(((value << shift) as i64) >> shift))
    } else {
        (word << shift).cmp(&(value << shift))
    };
    match how {
        0 => order.is_eq(),
        1 => order.is_ne(),
        2 => order.is_gt(),
        3 => order.is_le(),
        4 => order.is_lt(),
        _ => order.is_ge(),
    }
}

fn wait_for(call: &Call<'_>, at: usize, bytes: usize, signed: bool, how: u32, value: u64) -> Out {
    if how > 5 || ![1, 2, 4, 8].contains(&bytes) {
        return Err(call.fault(&format!("comparison {how} of {bytes} bytes")));
    }
    let word = call.word_at(at, bytes)?;
    wait_until(call.context, || compares(work::load(word, bytes), value, bytes, signed, how))
}

/// Says in the word at `mark`, unless that is 0, that the kernel waits, and that it goes on. There is nothing to wait for where
/// the word at `said`, unless that is 0, is 1; it is set back.
fn marked(call: &Call<'_>, mark: usize, said: usize, wait: impl FnOnce() -> Out) -> Out {
    let say = |at: usize, value: u64| if at == 0 { Ok(()) } else { call.store(at, value, 4) };
    say(mark, 1)?;
    if said == 0 || call.load(said, 4)? != 1 {
        wait()?;
    }
    say(mark, 2)?;
    say(said, 0)
}

fn wait(call: &Call<'_>) -> Out {
    marked(call, call.size(5), call.size(6), || wait_once(call))
}

fn wait_all(call: &Call<'_>) -> Out {
    marked(call, call.size(8), call.size(9), || wait_each(call))
}

fn wait_once(call: &Call<'_>) -> Out {
    wait_for(call, call.size(0), call.size(1), call.word(2) != 0, call.word(3) as u32, call.word(4))
}

fn wait_each(call: &Call<'_>) -> Out {
    let (at, bytes, signed, n) = (call.size(0), call.size(1), call.word(2) != 0, call.size(3));
    let (status, how, values, each) = (call.size(4), call.word(5) as u32, call.word(6), call.word(7) != 0);
    for i in 0..n {
        if status != 0 && call.load(status + 4 * i, 4)? != 0 {
            continue;
        }
        let value = if each { call.load(values as usize + bytes * i, bytes)? } else { values };
        wait_for(call, at + bytes * i, bytes, signed, how, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_know_widths_and_signs() {
        assert!(compares(0xff, 1, 1, true, 4) && !compares(0xff, 1, 1, false, 4));
        assert!(compares(0x1_0000_0001, 1, 4, true, 0) && !compares(0x1_0000_0001, 1, 8, true, 0));
        assert!(compares(u64::MAX, 0, 8, true, 3) && compares(u64::MAX, 0, 8, false, 2));
        assert!(compares(3, 3, 2, false, 5) && compares(3, 4, 2, false, 1));
    }
}
