//! Kernels of `test.ptx`.
use super::call::{Call, Model};
use crate::code::Out;
use crate::work::{load, wait_until};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model { name: "standin_spin", sizes: &[8, 8], run: spin },
    Model { name: "standin_delay", sizes: &[4], run: delay },
    Model { name: "standin_store", sizes: &[8, 8], run: |call| call.store(call.size(0), call.word(1), 8) },
    Model { name: "standin_fault", sizes: &[], run: |call| Err(call.fault("asked for")) },
];

fn spin(call: &Call<'_>) -> Out {
    let (word, value) = (call.word_at(call.size(0), 8)?, call.word(1));
    wait_until(call.context, || load(word, 8) == value)
}

fn delay(call: &Call<'_>) -> Out {
    std::thread::sleep(Duration::from_micros(call.word(0)));
    Ok(())
}
