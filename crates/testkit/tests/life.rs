//! Init and finalize, on both transports, with PEs as threads.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{Settings, TransportKind};
use dushmem_core::world::InitOptions;
use dushmem_testkit::suites::{life, matrix};
use dushmem_testkit::threads::{LIMIT, THREAD_PE, run_boots};
use std::sync::Arc;

type Life = fn(&Arc<dyn Bootstrap>, &Settings, InitOptions);

fn on_both(suite: Life) {
    for kind in [TransportKind::Shm, TransportKind::Loopback] {
        for backend in matrix(kind, &[1, 2, 3, 8]) {
            run_boots(backend.pes, LIMIT, move |boot| suite(&boot, &backend.settings, THREAD_PE));
        }
    }
}

#[test]
fn every_call_fails_after_finalize() {
    on_both(life::every_call_fails_after_finalize);
}

#[test]
fn again_and_again() {
    on_both(life::again_and_again);
}

#[test]
fn finalize_completes_every_context() {
    on_both(life::finalize_completes_every_context);
}

#[test]
fn unequal_settings() {
    on_both(life::unequal_settings);
}

#[test]
fn heap_too_large() {
    on_both(life::heap_too_large);
}

#[test]
fn empty_heap() {
    on_both(life::empty_heap);
}
