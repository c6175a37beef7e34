//! What the producers of requests call: `include/dushmem/impl/proxy_mem.h`.
use dushmem_core::proxy::Shared;
use std::sync::atomic::{AtomicU64, Ordering};

/// # Safety
/// `host` is what the header of a ring says, whose proxy runs.
unsafe fn shared(host: u64) -> &'static Shared {
    // SAFETY: as the caller promises; the proxy outlives the streams' work.
    unsafe { &*(host as *const Shared) }
}

/// Waits until the word of a ring is at least so large: other threads of the block run meanwhile.
///
/// # Safety
/// `host` is what the header of a ring says, whose proxy runs, and `word` a word of that ring.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_proxy_wait(host: u64, word: *const u64, at_least: u64) {
    // SAFETY: as the caller promises.
    let (shared, word) = unsafe { (shared(host), AtomicU64::from_ptr(word.cast_mut())) };
    shared.wait(at_least, || (word.load(Ordering::Acquire) >= at_least).then_some(()));
}

/// Wakes the proxy.
///
/// # Safety
/// As for [`dushmem_emu_proxy_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_proxy_wake(host: u64) {
    // SAFETY: as the caller promises.
    unsafe { shared(host) }.wake();
}

/// A slot is free again: wakes producers that sleep.
///
/// # Safety
/// As for [`dushmem_emu_proxy_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_proxy_freed(host: u64) {
    // SAFETY: as the caller promises.
    unsafe { shared(host) }.freed();
}
