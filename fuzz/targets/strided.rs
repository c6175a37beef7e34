//! Strided put and get by the C names, in a job of one PE.
#![no_main]
#[path = "../../crates/capi/tests/c_names/mod.rs"]
#[allow(dead_code, reason = "the process ends without finalize")]
mod c_names;
#[path = "../one_pe.rs"]
mod one_pe;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    dushmem_testkit::model::strided::run(one_pe::get(), input);
});
