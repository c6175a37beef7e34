//! Globals of the executable over several inits. Without the test harness, whose threads would be refused:
//! globals move while the main thread is alone.
use dushmem_boot::singleton;
use dushmem_core::env::Settings;
use dushmem_core::world::{InitOptions, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A global with a value, so that it lies in a writable segment of the file.
static WORD: AtomicU64 = AtomicU64::new(0x1234_5678);
static BLOCK: [AtomicU64; 4096] = [const { AtomicU64::new(7) }; 4096];

fn globals_keep_their_values_whatever_later_inits_want() {
    let boot = singleton::job().expect("memory");
    let word = WORD.as_ptr();
    for (round, static_data) in [true, false, true, false].into_iter().enumerate() {
        let settings = Settings { heap_size: (1 + round as u64) << 20, ..Settings::defaults() };
        let options = InitOptions { static_data, thread_pe: false, device: None };
        let world = World::init(Arc::clone(&boot), &settings, options).expect("init");
        assert_eq!(world.statics().is_none(), static_data, "round {round}");
        assert_eq!(WORD.load(Ordering::Relaxed), 0x1234_5678 + round as u64, "after init {round}");
        let ctx = world.default_context();
        // SAFETY: an own global; where globals are not symmetric the call is refused.
        let put = unsafe { world.p(ctx, word, 99, 0) };
        assert_eq!(put.is_ok(), static_data);
        if static_data {
            // SAFETY: as above.
            assert_eq!(unsafe { world.g(ctx, word, 0) }, Ok(99));
            assert_eq!(WORD.load(Ordering::Relaxed), 99);
        }
        // A heap that lay over the moved globals would show it now.
        let size = world.heap_usage().total;
        let block = world.malloc(size).expect("the whole heap");
        // SAFETY: a block of that size.
        unsafe { block.write_bytes(0xff, size) };
        assert!(BLOCK.iter().all(|word| word.load(Ordering::Relaxed) == 7), "round {round}");
        WORD.store(0x1234_5678 + round as u64 + 1, Ordering::Relaxed);
        world.finalize().expect("finalize");
        assert_eq!(WORD.load(Ordering::Relaxed), 0x1234_5678 + round as u64 + 1, "after finalize {round}");
        assert!(BLOCK.iter().all(|word| word.load(Ordering::Relaxed) == 7), "round {round}");
    }
}

fn main() {
    let name = "globals_keep_their_values_whatever_later_inits_want";
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|w| w == word);
    if has("--list") {
        if !has("--ignored") {
            println!("{name}: test");
        }
        return;
    }
    // As the harness does: run where no filter excludes the test.
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    if !has("--ignored")
        && (filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())))
    {
        globals_keep_their_values_whatever_later_inits_want();
        println!("test {name} ... ok");
    }
}
