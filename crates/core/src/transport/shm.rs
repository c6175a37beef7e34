//! Peers whose memory is mapped: the engine loads and stores it itself and comes here only for what is
//! not worth an inline path.
use super::{Get, Put, Transport, mapped};
use crate::amo::AmoRequest;
use crate::context::Pending;
use crate::signal::Signal;
use crate::window::Window;
use std::sync::Arc;

/// Loads and stores through a window.
#[derive(Debug)]
pub struct Shm {
    window: Arc<Window>,
}

impl Shm {
    /// A transport over `window`.
    pub fn new(window: Arc<Window>) -> Shm {
        Shm { window }
    }

    fn at(&self, pe: usize, addr: usize, bytes: usize) -> *mut u8 {
        let found = self.window.locate(addr, bytes, pe);
        debug_assert!(found.is_some(), "the engine checks addresses before it comes here");
        found.unwrap_or(0) as *mut u8
    }
}

impl Transport for Shm {
    fn name(&self) -> &'static str {
        "shm"
    }

    fn maps(&self, _pe: usize) -> bool {
        true
    }

    unsafe fn put(&self, _: &Arc<Pending>, put: Put) {
        // SAFETY: the caller's source; the destination lies in the window.
        unsafe { mapped::copy(self.at(put.pe, put.dest, put.bytes), put.source, put.bytes) }
    }

    unsafe fn get(&self, _: &Arc<Pending>, get: Get) {
        // SAFETY: the caller's destination; the source lies in the window.
        unsafe { mapped::copy(get.dest, self.at(get.pe, get.source, get.bytes), get.bytes) }
    }

    fn amo(&self, _: &Arc<Pending>, pe: usize, addr: usize, request: AmoRequest) -> u64 {
        // SAFETY: the word lies in the window, and the engine has checked its alignment.
        unsafe { mapped::execute(self.at(pe, addr, request.width()), request) }
    }

    unsafe fn amo_later(
        &self,
        ctx: &Arc<Pending>,
        pe: usize,
        addr: usize,
        request: AmoRequest,
        fetch: *mut u8,
    ) {
        let old = self.amo(ctx, pe, addr, request);
        if !fetch.is_null() {
            // SAFETY: the caller's word.
            unsafe { request.store(fetch, old) };
        }
    }

    unsafe fn put_signal(&self, ctx: &Arc<Pending>, put: Put, signal: Signal) {
        if put.bytes > 0 {
            // SAFETY: the caller's source.
            unsafe { self.put(ctx, put) };
        }
        // The atomic operation releases the data before it.
        self.amo(ctx, put.pe, signal.addr, signal.request());
    }

    fn fence(&self, _: &Arc<Pending>) {}

    fn quiet(&self, _: &Arc<Pending>, _: Option<&[usize]>) {}

    fn drain(&self) {}
}
