use super::request::{Op, Request, flags};
use super::ring::{Ring, WORDS};
use super::{Header, Memory};
use std::sync::atomic::{AtomicU64, Ordering};

/// What producer `who` posts as its `i`-th request; odd ones ask for a result.
fn words(who: u64, i: u64) -> [u64; WORDS] {
    core::array::from_fn(|w| who << 40 | i << 8 | w as u64)
}

/// A consumer that checks each descriptor, and in which order those of one producer come.
fn consume(ring: Ring<'_>, total: u64, producers: usize) {
    let mut seen = vec![0; producers];
    for ticket in 0..total {
        let got = loop {
            match ring.next(ticket) {
                Some(got) => break got,
                None => std::thread::yield_now(),
            }
        };
        let (who, i) = (got[0] >> 40, got[0] >> 8 & 0xffff_ffff);
        assert_eq!(got, words(who, i), "ticket {ticket}");
        assert_eq!(seen[who as usize], i, "in order of posting");
        seen[who as usize] += 1;
        ring.finish(ticket, (i % 2 == 1).then_some([who, i]));
    }
}

fn produce(ring: Ring<'_>, who: u64, count: u64) {
    for i in 0..count {
        let ticket = loop {
            match ring.try_post(&words(who, i)) {
                Some(ticket) => break ticket,
                None => std::thread::yield_now(),
            }
        };
        if i % 2 == 1 {
            let result = loop {
                match ring.take_result(ticket) {
                    Some(result) => break result,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(result, [who, i]);
        } else if i % 8 == 0 {
            while !ring.is_executed(ticket) {
                std::thread::yield_now();
            }
        }
    }
}

/// Many laps of small and larger rings.
#[test]
fn every_request_comes_once_in_order_and_its_result_goes_to_its_owner() {
    const PRODUCERS: usize = 4;
    for (slots, count) in [(2, 2_000), (8, 5_000), (256, 10_000)] {
        let memory = Memory::of_process(slots).unwrap();
        let ring = memory.ring();
        std::thread::scope(|scope| {
            for who in 0..PRODUCERS as u64 {
                scope.spawn(move || produce(ring, who, count));
            }
            consume(ring, PRODUCERS as u64 * count, PRODUCERS);
        });
        assert_eq!(ring.reserved(), PRODUCERS as u64 * count);
        assert!(ring.next(ring.reserved()).is_none(), "the ring is empty");
    }
}

#[test]
fn a_full_ring_takes_nothing_and_a_result_keeps_its_slot() {
    let memory = Memory::of_process(4).unwrap();
    let ring = memory.ring();
    for i in 0..4 {
        assert_eq!(ring.try_post(&words(0, i)), Some(i));
    }
    assert_eq!(ring.try_post(&words(0, 4)), None);
    assert!(!ring.has_room() && ring.next(0).is_some() && !ring.is_executed(0));
    // The first asks for a result: its slot is free only when that has been taken, though later ones are done.
    ring.finish(0, Some([7, 8]));
    ring.finish(1, None);
    assert!(ring.is_executed(0) && ring.is_executed(1) && !ring.is_executed(2));
    assert_eq!(ring.try_post(&words(0, 4)), None);
    assert_eq!(ring.take_result(0), Some([7, 8]));
    assert_eq!(ring.take_result(0), None, "once");
    assert_eq!(ring.try_post(&words(0, 4)), Some(4));
    assert_eq!(ring.try_post(&words(0, 5)), Some(5));
    assert_eq!(ring.try_post(&words(0, 6)), None);
}

#[test]
fn requests_survive_their_descriptors() {
    let request = Request {
        op: Op::Amo as u8,
        flags: flags::RESULT | flags::INTERNAL,
        thread: 1023,
        ctx: -5,
        pe: -7,
        small: 16 + 4,
        block: 0xabcdef,
        a: [u64::MAX, 1, 2, 3, u64::MAX - 1],
    };
    assert_eq!(Request::decode(&request.encode()), request);
    assert_eq!(request.call(), "atomic_fetch_add");
    // Blocks beyond the field are shown as the largest.
    let far = Request { block: u32::MAX, ..request };
    assert_eq!(Request::decode(&far.encode()).block, 0xff_ffff);
    let unknown = Request { op: 77, ..request };
    assert_eq!((unknown.op(), unknown.call()), (None, "a request to the proxy"));
    // As far as the job page tells it.
    let told = Request::of_record(&request.record(9));
    assert_eq!(
        (told.call(), told.pe, told.ctx, told.a[0]),
        (request.call(), request.pe, request.ctx, request.a[0])
    );
    assert_eq!(request.record(9).detail, 9);
}

/// What kernels that count in memory of their own know without a look at the header is what stands there.
#[test]
fn a_device_counts_tickets_in_memory_of_its_own() {
    let mut memory = Memory::of_process(8).unwrap();
    assert_eq!(memory.tickets(), 0);
    memory.count_at(0x7000_0000_0040);
    assert_eq!(memory.tickets(), 0x7000_0000_0040 + 3);
    let here = memory.device_address();
    // SAFETY: the header of a ring in this process, whose first words stay as they are.
    let header = unsafe { *(here as *const [u64; 5]) };
    let after = here + size_of::<Header>() as u64;
    assert_eq!(header[2..], [8 | 3 << 32, after, after + 8 * 64]);
    // The host looks at its own word, which they raise.
    // SAFETY: an aligned word of the header.
    let shown = unsafe { AtomicU64::from_ptr((here + 64) as *mut u64) };
    shown.fetch_max(5, Ordering::Relaxed);
    assert_eq!(memory.ring().reserved(), 5);
}

/// The device header names the same numbers: a change of one side only is found here.
#[test]
fn the_device_header_has_the_same_numbers() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let header = std::fs::read_to_string(root.join("include/dushmem/impl/proxy.h")).unwrap();
    let has = |text: String| assert!(header.contains(&text), "{text}");
    has(format!("#define DUSHMEM_IMPL_PROXY_MAGIC {:#x}ull", Header::MAGIC));
    has(format!("#define DUSHMEM_IMPL_PROXY_VERSION {}u", Header::VERSION));
    let ops = [
        ("put", Op::Put),
        ("put_inline", Op::PutInline),
        ("get", Op::Get),
        ("get_small", Op::GetSmall),
        ("iput", Op::Iput),
        ("iget", Op::Iget),
        ("amo", Op::Amo),
        ("signal", Op::Signal),
        ("put_signal", Op::PutSignal),
        ("fence", Op::Fence),
        ("quiet", Op::Quiet),
    ];
    for (name, op) in ops {
        has(format!("  op_{name} = {},", op as u8));
    }
    has(format!("  op_exit = {} ", Op::Exit as u8));
    for (name, flag) in [("nbi", flags::NBI), ("internal", flags::INTERNAL), ("scalar", flags::SCALAR)] {
        has(format!("  flag_{name} = {flag},"));
    }
    has(format!("  flag_result = {} ", flags::RESULT));
    has(format!("inline_put = {}, inline_get = {};", super::request::INLINE_PUT, super::request::INLINE_GET));
    let kinds = ["fetch", "set", "swap", "compare_swap", "add", "and", "or", "xor"];
    for (number, kind) in kinds.into_iter().enumerate() {
        has(format!("  amo_{kind} = {number},"));
        let request = Request { small: number as u8, ..Request::new(Op::Amo, 0, &[]) };
        assert!(request.call().ends_with(kind), "{kind}: {}", request.call());
    }
}

#[test]
fn a_ring_has_a_power_of_two_of_slots() {
    for slots in [0, 1, 3, 100, (1 << 10) + 1] {
        let error = Memory::of_process(slots).expect_err("no ring").to_string();
        assert!(error.starts_with(&format!("slots = {slots}: ")), "{error}");
    }
    let memory = Memory::of_process(64).unwrap();
    assert_eq!((memory.slots(), memory.device_address() % 64), (64, 0));
}
