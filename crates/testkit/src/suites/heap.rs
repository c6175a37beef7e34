//! Symmetric memory management (OpenSHMEM section 9.3).
use super::pe::{Pe, Random, Sym, bytes};
use dushmem_core::error::{Error, Result};

/// Offset of a block from the first block that this heap gives out.
fn offset(pe: &Pe, block: *mut u8) -> usize {
    block as usize - pe.window().heap().0
}

/// Asserts that all PEs pass the same value.
fn same_on_all(pe: &Pe, what: &str, value: u64) {
    let team = pe.world_team();
    let both = pe.alloc::<u64>(1 + pe.n);
    both.write(0, value);
    pe.gather(team, both.slice(1, pe.n), both.slice(0, 1), 1).unwrap();
    assert_eq!(both.part(1, pe.n), vec![value; pe.n], "{what}");
    pe.release(both);
}

/// Random calls: blocks are disjoint, keep their bytes, and lie at the same offsets on all PEs.
pub fn random_calls(pe: &Pe) {
    let mut random = Random(2024);
    let mut live: Vec<(Sym<u8>, u64)> = Vec::new();
    let mut hash = 0u64;
    for step in 0..150 {
        let limit = if random.below(5) == 0 { 100_000 } else { 500 };
        let size = 1 + random.below(limit);
        let block = match random.below(6) {
            0 | 1 => pe.malloc(size).unwrap(),
            2 => {
                let block = pe.calloc(size, 1).unwrap();
                assert!(Sym::<u8>::foreign(block, size).to_vec().iter().all(|byte| *byte == 0), "calloc");
                block
            }
            3 => {
                let align = 8 << random.below(10);
                let block = pe.align(align, size).unwrap();
                assert_eq!(block as usize % align, 0);
                block
            }
            4 if !live.is_empty() => {
                let (old, seed) = live.swap_remove(random.below(live.len()));
                let block = pe.realloc(old.at(0), size).unwrap();
                let kept = size.min(old.len());
                assert!(Sym::foreign(block, size).part(0, kept) == bytes(seed, old.len())[..kept], "realloc");
                block
            }
            _ if !live.is_empty() => {
                let (old, seed) = live.swap_remove(random.below(live.len()));
                assert!(old.to_vec() == bytes(seed, old.len()), "a block changed");
                pe.release(old);
                continue;
            }
            _ => continue,
        };
        assert_eq!(block as usize % 16, 0);
        hash = hash.rotate_left(7) ^ offset(pe, block) as u64;
        let seed = step << 8 | pe.me as u64;
        let block = Sym::foreign(block, size);
        block.store(0, &bytes(seed, size));
        live.push((block, seed));
    }
    for (block, seed) in &live {
        assert!(block.to_vec() == bytes(*seed, block.len()), "a block changed");
    }
    same_on_all(pe, "offsets", hash);
    live.into_iter().for_each(|(block, _)| pe.release(block));
    assert_eq!(pe.heap_usage().used, 0);
    assert_eq!(pe.heap_usage().largest_free, pe.heap_usage().total);
}

/// What calls with size zero and null do, and that they do not synchronise.
pub fn nothing(pe: &Pe) {
    let word = pe.alloc::<u64>(1);
    // PE 0 makes the calls after all others have told it that they have returned.
    let calls = || {
        assert!(pe.malloc(0).unwrap().is_null());
        assert!(pe.align(64, 0).unwrap().is_null());
        assert!(pe.calloc(0, 8).unwrap().is_null());
        assert!(pe.calloc(8, 0).unwrap().is_null());
        assert!(pe.realloc(std::ptr::null_mut(), 0).unwrap().is_null());
        pe.free(std::ptr::null_mut()).unwrap();
    };
    if pe.me != 0 {
        calls();
        pe.signal(word.at(0), 1, dushmem_core::signal::SignalOp::Add, 0).unwrap();
    } else {
        pe.wait(word.at(0), dushmem_core::until::Cmp::Eq, pe.n as u64 - 1).unwrap();
        calls();
    }
    let block = pe.realloc(std::ptr::null_mut(), 100).unwrap();
    assert!(!block.is_null());
    assert!(pe.realloc(block, 0).unwrap().is_null(), "size 0 frees");
    pe.release(word);
    assert_eq!(pe.heap_usage().used, 0);
}

/// Calls of size zero are nobody else's business: teams that meet in between don't see them.
pub fn nothing_disturbs_teams(pe: &Pe) {
    let world = pe.team(0).unwrap();
    let handle = pe.split_strided(&world, 0, 1, pe.n as i32).unwrap().unwrap();
    let team = pe.team(handle).unwrap();
    // Half of the PEs call malloc(0) before the team meets, the others after: legal, since it is no barrier.
    let early = pe.me.is_multiple_of(2);
    if early {
        pe.malloc(0).unwrap();
    }
    pe.team_sync(&team).unwrap();
    if !early {
        pe.malloc(0).unwrap();
    }
    pe.team_destroy(handle).unwrap();
    pe.meet();
}

/// Memory from calloc is zero on every PE before any PE may write to it, also where it was in use.
pub fn calloc_is_zero(pe: &Pe) {
    for round in 0..20 {
        let block = pe.calloc(700, 8).unwrap();
        let block = Sym::<u64>::foreign(block.cast(), 700);
        // Somebody else may be a call ahead and have written here already.
        let (mine, theirs) = (1 + round, 100 + round);
        pe.put(pe.ctx(), block.at(350), &[theirs; 350], pe.right()).unwrap();
        assert_eq!(block.part(0, 350), vec![0; 350]);
        block.slice(0, 350).fill(mine);
        pe.meet();
        assert_eq!(block.part(350, 350), vec![theirs; 350], "zeroed too late");
        pe.release(block);
    }
}

/// A heap that is used up: the same error on all PEs, and nothing is lost by it.
pub fn exhaustion(pe: &Pe) {
    let total = pe.heap_usage().total;
    for (request, remedy) in
        [(total + 1, "set DUSHMEM_SYMMETRIC_SIZE to "), (usize::MAX / 2, "no heap can be larger than ")]
    {
        let error = pe.malloc(request).unwrap_err();
        assert_eq!(error.code(), 2);
        let text = error.to_string();
        let begin = format!(
            "the symmetric heap of {total} bytes has no room for {request} bytes: 0 bytes are in use and {total} free, \
             {total} of them in one piece; "
        );
        assert!(text.starts_with(&begin) && text.contains(remedy), "{text}");
    }
    let aligned = pe.align(4096, total + 1).unwrap_err().to_string();
    assert!(aligned.contains(&format!("{} bytes aligned to 4096: ", total + 1)), "{aligned}");
    let negative = pe.malloc(-8isize as usize).unwrap_err().to_string();
    assert!(negative.starts_with("size = -8: larger than any heap"), "{negative}");
    let product = pe.calloc(usize::MAX, 2).unwrap_err().to_string();
    assert!(product.starts_with("count = -1, size = 2: larger than any heap"), "{product}");
    let product = pe.calloc(total, 2).unwrap_err().to_string();
    assert!(product.contains(&format!("{} bytes (count = {total}, size = 2): ", 2 * total)), "{product}");
    let mut blocks = Vec::new();
    let size = total / 7;
    let error = loop {
        match pe.malloc(size) {
            Ok(block) => blocks.push(block),
            Err(error) => break error,
        }
    };
    same_on_all(pe, "number of blocks", blocks.len() as u64);
    assert!(blocks.len() >= 6 && matches!(error, Error::OutOfMemory { .. }));
    // realloc that fails leaves the block as it was.
    let first = Sym::<u8>::foreign(blocks[0], size);
    first.store(size - 100, &bytes(5, 100));
    assert!(matches!(pe.realloc(blocks[0], total), Err(Error::OutOfMemory { .. })));
    assert_eq!(first.part(size - 100, 100), bytes(5, 100));
    blocks.into_iter().for_each(|block| pe.free(block).unwrap());
    // The last block can grow where it stands, so it needs no more than a new one would.
    let remedy = |error: Error| error.to_string().split("; ").last().map(str::to_owned);
    let fresh = remedy(pe.malloc(total + (1 << 20)).unwrap_err());
    let block = pe.malloc(total / 2).unwrap();
    assert_eq!(remedy(pe.realloc(block, total + (1 << 20)).unwrap_err()), fresh);
    pe.free(block).unwrap();
    let all = pe.malloc(total).unwrap();
    pe.free(all).unwrap();
    assert_eq!(pe.heap_usage().used, 0);
}

/// Addresses that are no blocks.
pub fn bad_frees(pe: &Pe) {
    let block = pe.malloc(1000).unwrap();
    let mut local = 0u8;
    let text = |block: *mut u8| pe.free(block).unwrap_err().to_string();
    let outside = "not in the symmetric heap; free takes what malloc, calloc, align or realloc returned";
    assert_eq!(text(&raw mut local), format!("ptr = {:#x}: {outside}", &raw mut local as usize));
    let realloc = |block: *mut u8| pe.realloc(block, 10).unwrap_err().to_string();
    let taken = outside.replace("free takes", "realloc takes");
    assert_eq!(realloc(&raw mut local), format!("ptr = {:#x}: {taken}", &raw mut local as usize));
    let inside = block.wrapping_add(64);
    let why = "inside a block; free takes the address of its beginning";
    assert_eq!(text(inside), format!("ptr = {:#x}: {why}", inside as usize));
    let taken = why.replace("free takes", "realloc takes");
    assert_eq!(realloc(inside), format!("ptr = {:#x}: {taken}", inside as usize));
    let beyond = block.wrapping_add(4096);
    let why = "not a block in use; it may have been freed before";
    assert_eq!(text(beyond), format!("ptr = {:#x}: {why}", beyond as usize));
    pe.free(block).unwrap();
    assert_eq!(text(block), format!("ptr = {:#x}: {why}", block as usize));
    assert_eq!(pe.realloc(block, 10).unwrap_err().to_string(), format!("ptr = {:#x}: {why}", block as usize));
    for align in [0, 1, 4, 24, 1000] {
        let text = pe.align(align, 10).unwrap_err().to_string();
        assert_eq!(text, format!("alignment = {align}: not a power of two of at least 8"));
    }
    for shift in 3..=21 {
        let block = pe.align(1 << shift, 10).unwrap();
        assert_eq!(block as usize % (1 << shift), 0);
        pe.free(block).unwrap();
    }
    pe.meet();
}

#[track_caller]
fn told<T: std::fmt::Debug>(pe: &Pe, what: &str, result: Result<T>, words: &[&str]) {
    match result {
        Err(Error::Disagreement { text, .. }) => {
            assert!(words.iter().all(|word| text.contains(word)), "{what}: {text}");
        }
        other => panic!("{what}: PE {} got {other:?}", pe.me),
    }
}

/// Sizes and calls that differ are found on every PE, each time, and the heaps stay alike.
pub fn disagreements(pe: &Pe) {
    if pe.n == 1 {
        return;
    }
    let (first, last) = (pe.me == 0, pe.me + 1 == pe.n);
    let keep = pe.alloc::<u64>(10);
    told(
        pe,
        "sizes",
        pe.malloc(if last { 100 } else { 101 }),
        &["malloc of 100 bytes", "malloc of 101 bytes"],
    );
    // Three sizes whose mean is the middle one.
    let size = 100 + 10 * (pe.me % 3);
    told(pe, "three sizes", pe.malloc(size), &["malloc of "]);
    let each = pe.malloc(1000 + pe.me);
    told(pe, "a size each", each, &["PE 0 calls malloc of 1000 bytes, PE 1 calls malloc of 1001 bytes"]);
    let mixed = if first { pe.malloc(64) } else { pe.calloc(8, 8) };
    told(pe, "malloc and calloc", mixed, &["PE 0 calls malloc of 64 bytes, PE 1 calls calloc of 64 bytes"]);
    let mixed = pe.align(if first { 64 } else { 128 }, 64);
    told(pe, "alignments", mixed, &["PE 1 calls align of 64 bytes (alignment = 64 on PE 0, 128 on PE 1); "]);
    let other = pe.alloc::<u64>(10);
    let block = if last { keep } else { other };
    told(pe, "free of different blocks", pe.free(block.at(0).cast()), &["calls free of the block at offset"]);
    told(
        pe,
        "realloc of different blocks",
        pe.realloc(block.at(0).cast(), 9),
        &["realloc of 9 bytes (ptr = the block at offset ", " of the heap on PE 0, "],
    );
    let block = if last { pe.free(keep.at(0).cast()) } else { pe.malloc(50).map(drop) };
    told(pe, "free and malloc", block, &["free", "malloc of 50 bytes"]);
    // Nothing was given out or taken by all this.
    pe.release(other);
    let again = pe.alloc::<u64>(10);
    assert_eq!(again.at(0), other.at(0));
    pe.release(again);
    // Size 0 on some PEs. They don't wait, so they are found at their next call.
    for zeros in 0..3 {
        let result = match zeros {
            0 if last => pe.malloc(0).and_then(|_| pe.malloc(100)),
            0 => pe.malloc(100),
            // Each PE has made another number of empty calls.
            1 => (0..pe.me).try_for_each(|_| pe.malloc(0).map(drop)).and_then(|()| pe.malloc(100)),
            _ if first => pe.malloc(0).and_then(|_| pe.barrier_all()).map(|()| std::ptr::null_mut()),
            _ => pe.malloc(1 << 20),
        };
        told(pe, "size 0", result, &[]);
        // All have been told: the count begins anew.
        pe.meet();
        let block = pe.malloc(64).unwrap();
        same_on_all(pe, "offset", offset(pe, block) as u64);
        pe.free(block).unwrap();
    }
    pe.release(keep);
}

/// Every block is at the same address on all PEs, where PEs are processes of equal layout; at the same
/// offset always. `ptr` shows the peers' copies, and nothing for what is not in the heap.
pub fn addresses(pe: &Pe) {
    let word = pe.alloc::<u64>(1);
    same_on_all(pe, "offset", offset(pe, word.at(0).cast()) as u64);
    word.write(0, 500 + pe.me as u64);
    pe.meet();
    for other in 0..pe.n {
        let at = pe.ptr(word.at(0).cast(), other as i32).unwrap().cast::<u64>();
        assert!(pe.pe_accessible(other as i32) && pe.addr_accessible(word.at(0).cast(), other as i32));
        if other == pe.me {
            assert_eq!(at, word.at(0));
        } else if pe.is_mapped() {
            assert_eq!(Sym::foreign(at, 1).read(0), 500 + other as u64);
            // What ptr gives is a local address, which no call takes for a symmetric one.
            let text = pe.p(pe.ctx(), at, 1, other).unwrap_err().to_string();
            assert!(text.contains("this is another PE's memory, as ptr shows it"), "{text}");
        } else {
            assert!(at.is_null());
        }
    }
    let local = 0u64;
    let (base, len) = pe.window().heap();
    for outside in [(&raw const local).cast::<u8>(), std::ptr::null(), (base + len) as *const u8] {
        assert!(pe.ptr(outside, pe.right() as i32).unwrap().is_null());
        assert!(!pe.addr_accessible(outside, pe.right() as i32));
    }
    for nobody in [-1, pe.n as i32, i32::MAX, i32::MIN] {
        assert!(pe.ptr(word.at(0).cast(), nobody).is_err());
        assert!(!pe.pe_accessible(nobody) && !pe.addr_accessible(word.at(0).cast(), nobody));
    }
    pe.meet();
    pe.release(word);
}
