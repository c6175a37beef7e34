//! Bad arguments of the data path: one line that names the argument, its value and the remedy.
use super::pe::Pe;
use dushmem_core::amo::AmoOp;
use dushmem_core::error::Result;
use dushmem_core::signal::SignalOp;
use std::fmt::Debug;

fn text<T: Debug>(result: Result<T>) -> String {
    let text = result.expect_err("a bad argument").to_string();
    assert!(!text.contains('\n'), "more than one line: {text}");
    text
}

/// PE numbers that don't exist, in every call that takes one.
pub fn wrong_pe(pe: &Pe) {
    let word = pe.alloc::<u64>(4);
    let mut back = [0u64; 1];
    let at = word.at(0);
    for nobody in [pe.n, pe.n + 1, i32::MAX as usize, u32::MAX as usize, i32::MIN as u32 as usize] {
        let shown = nobody as i32;
        let expected = format!("pe = {shown}: there is no such PE; this job has PEs 0 to {}", pe.n - 1);
        assert_eq!(text(pe.put(pe.ctx(), at, &[1], nobody)), expected);
        assert_eq!(text(pe.put::<u64>(pe.ctx(), at, &[], nobody)), expected, "also for nothing");
        assert_eq!(text(pe.put_nbi(pe.ctx(), at, &[1], nobody)), expected);
        assert_eq!(text(pe.get(pe.ctx(), &mut back, at, nobody)), expected);
        assert_eq!(text(pe.get_nbi(pe.ctx(), &mut back, at, nobody)), expected);
        assert_eq!(text(pe.p(pe.ctx(), at, 1, nobody)), expected);
        assert_eq!(text(pe.g(pe.ctx(), at, nobody)), expected);
        assert_eq!(text(pe.iput(at, &[1u64], (1, 1), 1, nobody)), expected);
        assert_eq!(text(pe.iget(&mut back, at, (1, 1), 1, nobody)), expected);
        assert_eq!(text(pe.amo(at, AmoOp::Add, 1, 0, nobody)), expected);
        assert_eq!(text(pe.post(pe.ctx(), at, AmoOp::Add, 1, nobody)), expected);
        assert_eq!(text(pe.amo_nbi(&mut back[0], at, AmoOp::Add, 1, 0, nobody)), expected);
        assert_eq!(text(pe.put_signal((at, &[1]), (word.at(1), 1, SignalOp::Set), nobody)), expected);
        assert_eq!(text(pe.signal(at, 1, SignalOp::Add, nobody)), expected);
        assert_eq!(text(pe.ptr(at.cast(), shown)), expected);
    }
    pe.meet();
    assert_eq!(word.to_vec(), [0; 4]);
    pe.release(word);
}

/// Remote addresses that are not symmetric: stack, null, another PE's memory, beyond the end of the heap.
pub fn wrong_addresses(pe: &Pe) {
    let word = pe.alloc::<u64>(4);
    let mut local = 5u64;
    let to = pe.right();
    let stack = &raw mut local;
    let begin = |arg: &str, len: usize| {
        format!("{arg} = {:#x} ({len} bytes): not in symmetric memory; ", stack as usize)
    };
    let mut back = [0u64; 1];
    for seen in [
        text(pe.put(pe.ctx(), stack, &[1], to)),
        text(pe.put_nbi(pe.ctx(), stack, &[1], to)),
        text(pe.p(pe.ctx(), stack, 1, to)),
        text(pe.iput(stack, &[1u64], (1, 1), 1, to)),
        text(pe.amo(stack, AmoOp::Swap, 1, 0, to)),
        text(pe.put_signal((stack, &[1]), (word.at(1), 1, SignalOp::Set), to)),
    ] {
        assert!(seen.starts_with(&begin("dest", 8)), "{seen}");
        assert!(seen.contains("pass the address of this PE's own copy of an object from malloc"), "{seen}");
        assert!(seen.contains("C globals are not symmetric here"), "{seen}");
    }
    for seen in [
        text(pe.get(pe.ctx(), &mut back, stack, to)),
        text(pe.get_nbi(pe.ctx(), &mut back, stack, to)),
        text(pe.g(pe.ctx(), stack, to)),
        text(pe.iget(&mut back, stack, (1, 1), 1, to)),
    ] {
        assert!(seen.starts_with(&begin("source", 8)), "{seen}");
    }
    let seen = text(pe.put_signal((word.at(0), &[1]), (stack, 1, SignalOp::Set), to));
    assert!(seen.starts_with(&begin("sig_addr", 8)), "{seen}");
    assert_eq!(local, 5);
    // The end of the heap.
    let (base, len) = pe.window().heap();
    let last = (base + len - 8) as *mut u64;
    let seen = text(pe.put(pe.ctx(), last, &[1, 2], to));
    assert!(
        seen.contains("(16 bytes): starts in the symmetric heap and goes 8 bytes past the end; "),
        "{seen}"
    );
    pe.put(pe.ctx(), last, &[9], to).unwrap();
    pe.quiet(pe.ctx()).unwrap();
    let seen = text(pe.p(pe.ctx(), last.wrapping_add(1), 1, to));
    assert!(seen.contains("starts where the symmetric heap ends, and goes 8 bytes past that"), "{seen}");
    let seen = text(pe.g(pe.ctx(), last.wrapping_add(3), to));
    assert!(
        seen.contains("source = 0x") && seen.contains("starts 16 bytes past the end of the symmetric heap"),
        "{seen}"
    );
    // SAFETY: refused.
    let long =
        unsafe { pe.world.put(pe.ctx(), word.at(0).cast(), (&raw const local).cast(), 1 << 40, to as i32) };
    let seen = text(long);
    assert!(seen.contains(&format!("starts in an object of {} bytes and goes ", 8 * word.len())), "{seen}");
    assert!(seen.contains(" bytes past the end of the "), "{seen}");
    assert!(pe.p(pe.ctx(), (base - 8) as *mut u64, 1, to).is_err(), "internals are not symmetric memory");
    pe.meet();
    pe.release(word);
}

/// Null, and zero lengths, for which null is legal.
pub fn null(pe: &Pe) {
    let word = pe.alloc::<u64>(4);
    let null = std::ptr::null_mut::<u64>();
    let is_null = |arg: &str| format!("{arg} is NULL; NULL is allowed for operations of length 0 only");
    let no_word =
        |arg: &str| format!("{arg} is NULL; this call needs the address of an object in symmetric memory");
    let to = pe.right();
    let mut back = [0u64; 1];
    assert_eq!(text(pe.put(pe.ctx(), null, &[1], to)), is_null("dest"));
    assert_eq!(text(pe.p(pe.ctx(), null, 1, to)), no_word("dest"));
    assert_eq!(text(pe.get(pe.ctx(), &mut back, null, to)), is_null("source"));
    assert_eq!(text(pe.g(pe.ctx(), null, to)), no_word("source"));
    assert_eq!(text(pe.amo(null, AmoOp::Fetch, 0, 0, to)), no_word("dest"));
    assert_eq!(text(pe.signal(null, 0, SignalOp::Set, to)), no_word("sig_addr"));
    assert_eq!(text(pe.signal_value(null)), no_word("sig_addr"));
    assert_eq!(text(pe.put_signal((word.at(0), &[1]), (null, 0, SignalOp::Set), to)), no_word("sig_addr"));
    let raw = RawCalls(pe);
    assert_eq!(text(raw.put(word.at(0), null, 8)), is_null("source"));
    assert_eq!(text(raw.get(null, word.at(0), 8)), is_null("dest"));
    assert_eq!(text(raw.iput(word.at(0), null, 2)), is_null("source"));
    assert_eq!(text(raw.iget(null, word.at(0), 2)), is_null("dest"));
    assert_eq!(
        text(raw.amo_nbi(null, word.at(0))),
        "fetch is NULL; this call needs the address of an object of the program"
    );
    for at in [null, word.at(0)] {
        raw.put(at, null, 0).unwrap();
        raw.get(null, at, 0).unwrap();
        raw.iput(at, null, 0).unwrap();
        raw.iget(null, at, 0).unwrap();
    }
    pe.meet();
    assert_eq!(word.to_vec(), [0; 4]);
    pe.release(word);
}

/// Words that are not aligned, in every call that works on a word.
pub fn misaligned(pe: &Pe) {
    let area = pe.alloc::<u8>(64);
    let to = pe.right();
    for shift in [1, 2, 4] {
        let wide = area.at(shift).cast::<u64>();
        let told = |arg: &str, align: usize| {
            format!("{arg} = {:#x}: not aligned to {align} bytes, which this operation needs", wide as usize)
        };
        assert_eq!(text(pe.amo(wide, AmoOp::Add, 1, 0, to)), told("dest", 8));
        assert_eq!(text(pe.post(pe.ctx(), wide, AmoOp::Set, 1, to)), told("dest", 8));
        assert_eq!(text(pe.signal(wide, 1, SignalOp::Set, to)), told("sig_addr", 8));
        assert_eq!(text(pe.signal_value(wide)), told("sig_addr", 8));
        let update = (wide, 1, SignalOp::Add);
        assert_eq!(text(pe.put_signal((area.at(8), &[1u8]), update, to)), told("sig_addr", 8));
        if shift < 4 {
            assert_eq!(text(pe.amo(wide.cast::<u32>(), AmoOp::Swap, 1, 0, to)), told("dest", 4));
        }
        assert!(pe.lock(wide.cast()).is_err());
    }
    pe.meet();
    assert_eq!(area.to_vec(), [0; 64]);
    pe.release(area);
}

/// Numbers of C programs that stand for nothing.
pub fn wrong_numbers(_: &Pe) {
    let seen = SignalOp::from_number(3).unwrap_err().to_string();
    assert_eq!(seen, "sig_op = 3: no signal operator; there are SIGNAL_SET and SIGNAL_ADD");
    assert_eq!(SignalOp::from_number(9).unwrap(), SignalOp::Set);
    assert_eq!(SignalOp::from_number(10).unwrap(), SignalOp::Add);
}

/// Calls with pointers that no slice has.
struct RawCalls<'a>(&'a Pe);

impl RawCalls<'_> {
    fn to(&self) -> i32 {
        self.0.right() as i32
    }

    fn put(&self, dest: *mut u64, source: *const u64, bytes: usize) -> Result<()> {
        // SAFETY: `source` is null, which the call refuses or does not follow.
        unsafe { self.0.world.put(self.0.ctx(), dest.cast(), source.cast(), bytes, self.to()) }
    }

    fn get(&self, dest: *mut u64, source: *const u64, bytes: usize) -> Result<()> {
        // SAFETY: `dest` is null, as above.
        unsafe { self.0.world.get(self.0.ctx(), dest.cast(), source.cast(), bytes, self.to()) }
    }

    fn iput(&self, dest: *mut u64, source: *const u64, n: usize) -> Result<()> {
        // SAFETY: `source` is null, as above.
        unsafe { self.0.world.iput(self.0.ctx(), dest.cast(), source.cast(), 1, 1, 8, n, self.to()) }
    }

    fn iget(&self, dest: *mut u64, source: *const u64, n: usize) -> Result<()> {
        // SAFETY: `dest` is null, as above.
        unsafe { self.0.world.iget(self.0.ctx(), dest.cast(), source.cast(), 1, 1, 8, n, self.to()) }
    }

    fn amo_nbi(&self, fetch: *mut u64, dest: *mut u64) -> Result<()> {
        // SAFETY: `fetch` is null, as above.
        unsafe { self.0.world.amo_nbi(self.0.ctx(), fetch, dest, AmoOp::Fetch, 0, 0, self.to()) }
    }
}
