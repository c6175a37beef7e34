//! Teams and collectives, with up to 8 PEs that are threads. The first byte says how many, and over which
//! transport.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    dushmem_testkit::model::teams::run_job(input);
});
