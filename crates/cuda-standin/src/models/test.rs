//! Kernels of `test.ptx`.
use super::call::{Call, Model};
use super::state::State;
use crate::code::Out;
use crate::work::{load, move_bytes, wait_until};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model { name: "standin_spin", sizes: &[8, 8], run: spin, quick: false },
    Model { name: "standin_delay", sizes: &[4], run: delay, quick: false },
    Model {
        name: "standin_store",
        sizes: &[8, 8],
        run: |call| call.store(call.size(0), call.word(1), 8),
        quick: true,
    },
    Model { name: "standin_put", sizes: &[8, 8, 8, 4], run: put, quick: false },
    Model { name: "standin_get", sizes: &[8, 8, 8, 4], run: fetch, quick: false },
    Model { name: "standin_fetch_add", sizes: &[8, 8, 4, 8], run: fetch_add, quick: false },
    Model { name: "standin_p", sizes: &[8, 8, 8, 4], run: p, quick: false },
    Model { name: "standin_fault", sizes: &[], run: |call| Err(call.fault("asked for")), quick: false },
];

fn spin(call: &Call<'_>) -> Out {
    let (word, value) = (call.word_at(call.size(0), 8)?, call.word(1));
    wait_until(call.context, || load(word, 8) == value)
}

fn delay(call: &Call<'_>) -> Out {
    std::thread::sleep(Duration::from_micros(call.word(0)));
    Ok(())
}

fn put(call: &Call<'_>) -> Out {
    State::of(call)?.put(call.size(0), call.size(1), call.size(2), call.number(3))
}

fn fetch(call: &Call<'_>) -> Out {
    let mut bytes = vec![0; call.size(2)];
    State::of(call)?.get(&mut bytes, call.size(1), call.number(3))?;
    move_bytes(call.at(call.size(0), bytes.len())?, bytes.as_ptr(), bytes.len());
    Ok(())
}

fn p(call: &Call<'_>) -> Out {
    let (state, pe) = (State::of(call)?, call.number(3));
    (0..call.size(2)).try_for_each(|i| state.put_word(call.size(0) + 8 * i, call.word(1) + i as u64, pe))
}

fn fetch_add(call: &Call<'_>) -> Out {
    let old = State::of(call)?.fetch_add(call.size(0), call.word(1), call.number(2))?;
    call.store(call.size(3), old, 8)
}
