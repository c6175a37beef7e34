//! The word in which kernels say that they have lost their turn while they waited, on a device that processes use in turns.
use crate::pinned::Pinned;
use dushmem_core::error::line;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The word of one PE.
#[derive(Debug)]
pub struct Notice {
    word: Pinned,
    said: AtomicBool,
    pe: Option<usize>,
}

impl Notice {
    /// In that memory.
    pub fn new(word: Pinned, pe: Option<usize>) -> Notice {
        Notice { word, said: AtomicBool::new(false), pe }
    }

    /// Where kernels find it.
    pub fn device(&self) -> u64 {
        self.word.device()
    }

    /// Says so, once, where a kernel has said it.
    #[inline]
    pub fn look(&self) {
        // SAFETY: an aligned word, which kernels store to.
        let word = unsafe { AtomicU32::from_ptr(self.word.host().cast::<u32>().as_ptr()) };
        if word.load(Ordering::Relaxed) != 0 && !self.said.swap(true, Ordering::Relaxed) {
            self.say();
        }
    }

    #[cold]
    fn say(&self) {
        let text = "kernels of several PEs wait for each other on one GPU that their processes use in turns, and every \
                    turn takes about 2 ms: start the job with dushrun --gpu-share=mps, or wait on the host or in the \
                    stream; DUSHMEM_STRICT=1 makes this an error";
        dushmem_os::say::say(&line(self.pe, "a wait in a kernel", &text));
    }
}
