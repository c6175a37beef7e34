//! What is made while a PE goes on, by threads that end when it is done: the driver takes long for it.
use crate::context::Context;
use crate::kernels::Library;
use crate::ptx::Image;
use dushmem_core::error::{Error, Result};
use dushmem_os::image::Watcher;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of a thread's stack: the driver may compile in it.
const STACK: usize = 8 << 20;

/// Has a thread do something. Whoever gets the handle sees to it that it ends before the device goes away.
pub(crate) fn beside<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> std::io::Result<JoinHandle<R>> {
    // It writes to no global of the program.
    let watcher = Watcher::new();
    let body = move || {
        let done = work();
        drop(watcher);
        done
    };
    std::thread::Builder::new().name(name.into()).stack_size(STACK).spawn(body)
}

/// Waits for such a thread. In a forked child there is none.
pub(crate) fn end<R>(thread: JoinHandle<R>, context: &Context) -> Option<R> {
    if context.is_forked() {
        core::mem::forget(thread);
        return None;
    }
    thread.join().ok()
}

/// The library's kernels, which are loaded while the PE gets its memory. Nobody leaves init before they are there: loading
/// may wait for kernels of the program.
#[derive(Debug)]
pub(crate) struct Loading {
    context: Arc<Context>,
    thread: Mutex<Option<JoinHandle<Result<Loaded>>>>,
    loaded: OnceLock<Result<Loaded>>,
}

/// The library's kernels.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) library: Library,
    /// Blocks of so many threads as were asked for that the device runs at the same time.
    pub(crate) blocks: u32,
    /// How long the driver took.
    pub(crate) took: Duration,
}

fn load(context: &Arc<Context>, images: &[Image], threads: u32) -> Result<Loaded> {
    let begun = Instant::now();
    let library = Library::load(context, images)?;
    let blocks = library.resident(threads)?;
    Ok(Loaded { library, blocks, took: begun.elapsed() })
}

impl Loading {
    /// Begins to load `images`, whose kernels have blocks of so many threads.
    pub(crate) fn begin(context: &Arc<Context>, images: &[Image], threads: u32) -> Loading {
        let (theirs, copies) = (Arc::clone(context), images.to_vec());
        let thread = beside("dushmem-kernels", move || load(&theirs, &copies, threads)).ok();
        let loaded = OnceLock::new();
        if thread.is_none() {
            let _ = loaded.set(load(context, images, threads));
        }
        Loading { context: Arc::clone(context), thread: Mutex::new(thread), loaded }
    }

    /// The kernels, when they are there.
    pub(crate) fn wait(&self) -> Result<&Loaded> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let lost = || Err(Error::Device("loading the library's kernels was given up".into()));
            let _ = self.loaded.set(end(thread, &self.context).unwrap_or_else(lost));
        }
        drop(thread);
        let none = || Err(Error::Device("the library's kernels are not loaded".into()));
        self.loaded.get_or_init(none).as_ref().map_err(Error::clone)
    }

    /// The kernels, if they are there.
    #[inline]
    pub(crate) fn get(&self) -> Option<&Loaded> {
        self.loaded.get().and_then(|loaded| loaded.as_ref().ok())
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}
