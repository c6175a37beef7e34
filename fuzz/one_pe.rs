//! This process as the only PE of a job, initialised at the first use.
use crate::c_names::CNames;
use dushmem_testkit::model::alloc::HEAP;
use std::sync::OnceLock;

pub fn get() -> &'static CNames {
    static PE: OnceLock<CNames> = OnceLock::new();
    PE.get_or_init(|| {
        // SAFETY: the process has one thread.
        unsafe { std::env::set_var("DUSHMEM_SYMMETRIC_SIZE", HEAP.to_string()) };
        CNames::init()
    })
}
