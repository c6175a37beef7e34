//! Init and finalize (OpenSHMEM section 9.2): these functions take the bootstrap of a PE.
use super::pe::{Pe, Words};
use dushmem_core::amo::AmoOp;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{Settings, TransportKind};
use dushmem_core::error::{Error, Result};
use dushmem_core::signal::SignalOp;
use dushmem_core::until::Cmp;
use dushmem_core::world::{InitOptions, World};
use std::fmt::Debug;
use std::sync::Arc;

fn join(boot: &Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) -> Pe {
    let world = World::init(Arc::clone(boot), settings, options).unwrap_or_else(|why| panic!("init: {why}"));
    Pe::new(&world)
}

#[track_caller]
fn refused<T: Debug>(result: Result<T>) {
    let error = result.expect_err("the library is finalized");
    assert_eq!((error.code(), error.to_string().as_str()), (101, "not initialised: call init first"));
}

/// After finalize every call fails, and says why.
pub fn every_call_fails_after_finalize(boot: &Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) {
    let pe = join(boot, settings, options);
    let word = pe.alloc::<u64>(4);
    let bytes = word.as_bytes();
    let lock = word.at(3).cast::<i64>();
    let team = pe.team(0).unwrap();
    let own = pe.split_strided(&team, 0, 1, pe.n as i32).unwrap().unwrap();
    let ctx = pe.create_context(None, 0).unwrap();
    pe.meet();
    pe.finalize().unwrap();
    assert!(!pe.is_alive());
    let (at, mut back) = (word.at(0), [0u64; 1]);
    refused(pe.finalize());
    refused(pe.put(pe.ctx(), at, &[1], pe.me));
    refused(pe.put::<u64>(pe.ctx(), at, &[], pe.me));
    refused(pe.put_nbi(&ctx, at, &[1], pe.me));
    refused(pe.get(pe.ctx(), &mut back, at, pe.me));
    refused(pe.get_nbi(pe.ctx(), &mut back, at, pe.me));
    refused(pe.p(pe.ctx(), at, 1, pe.me));
    refused(pe.g(pe.ctx(), at, pe.me));
    refused(pe.iput(at, &[1u64], (1, 1), 1, pe.me));
    refused(pe.iget(&mut back, at, (1, 1), 1, pe.me));
    refused(pe.amo(at, AmoOp::Add, 1, 0, pe.me));
    refused(pe.post(&ctx, at, AmoOp::Add, 1, pe.me));
    refused(pe.amo_nbi(&mut back[0], at, AmoOp::Add, 1, 0, pe.me));
    refused(pe.put_signal((at, &[1]), (word.at(1), 1, SignalOp::Set), pe.me));
    refused(pe.signal(at, 1, SignalOp::Set, pe.me));
    refused(pe.signal_value(at));
    refused(pe.wait(at, Cmp::Eq, 0));
    refused(pe.is(at, Cmp::Eq, 0));
    let zero = 0;
    let set = Words::of(word, Cmp::Eq, &zero);
    refused(pe.wait_all(&set));
    refused(pe.wait_any(&set));
    refused(pe.wait_some(&set));
    refused(pe.test_all(&set));
    refused(pe.test_any(&set));
    refused(pe.test_some(&set));
    refused(pe.fence(pe.ctx()));
    refused(pe.quiet(&ctx));
    refused(pe.quiet_pes(pe.ctx(), &[0]));
    refused(pe.destroy_context(&ctx));
    refused(pe.create_context(None, 0));
    refused(pe.team(0));
    refused(pe.team_destroy(own));
    refused(pe.split_strided(&team, 0, 1, 1));
    refused(pe.barrier_all());
    refused(pe.sync_all());
    refused(pe.barrier(&team));
    refused(pe.team_sync(&team));
    refused(pe.bcast(&team, word, word, 1, 0));
    refused(pe.gather(&team, word, word, 0));
    refused(pe.exchange(&team, word, word, 0));
    let reducer =
        <u64 as dushmem_core::coll::reduce::ReduceNum>::reducer(dushmem_core::coll::reduce::ReduceOp::Sum);
    refused(pe.reduce(&team, bytes, bytes, 1, &reducer.unwrap()));
    refused(pe.malloc(8));
    refused(pe.malloc(0));
    refused(pe.calloc(8, 8));
    refused(pe.align(64, 8));
    refused(pe.realloc(at.cast(), 8));
    refused(pe.free(at.cast()));
    refused(pe.free(std::ptr::null_mut()));
    refused(pe.ptr(at.cast(), 0));
    refused(pe.lock(lock));
    refused(pe.try_lock(lock));
    refused(pe.unlock(lock));
    assert!(!pe.pe_accessible(0) && !pe.addr_accessible(at.cast(), 0));
    assert_eq!((pe.my_pe() as usize, pe.n_pes() as usize), (pe.me, pe.n), "these stay");
}

/// A job can begin again, with another heap, and finds fresh memory, teams and counters.
pub fn again_and_again(boot: &Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) {
    let mut kept = Vec::new();
    for (round, heap) in [4096, 16 << 20, 64 << 10, 8 << 20, 100_000, 16 << 20].into_iter().enumerate() {
        let settings = Settings { heap_size: heap, team_slots: 16 + 8 * (round % 3), ..settings.clone() };
        let pe = join(boot, &settings, options);
        let total = pe.heap_usage().total;
        assert!(total as u64 >= heap && total as u64 <= heap + 4096);
        let world = pe.team(0).unwrap();
        let handle = pe.split_strided(&world, 0, 1, pe.n as i32).unwrap().unwrap();
        assert_eq!(handle & 0xfff, 6, "the first slot is free again");
        // Everything is zero, and is left full of ones.
        let block = pe.malloc(total / 2 / 64 * 64).unwrap();
        let block = super::Sym::<u8>::foreign(block, total / 2 / 64 * 64);
        for at in (0..block.len()).step_by(512) {
            assert_eq!(block.read(at), 0, "round {round}, byte {at}");
        }
        pe.meet();
        for at in (0..block.len()).step_by(512) {
            block.write(at, 0xff);
        }
        pe.p(pe.ctx(), block.at(1), 7, pe.right()).unwrap();
        pe.barrier(&pe.team(handle).unwrap()).unwrap();
        assert_eq!(block.read(1), 7);
        // Teams and contexts that live at finalize are the library's.
        let ctx = pe.create_context(None, 0).unwrap();
        pe.finalize().unwrap();
        kept.push((pe, ctx));
        if round % 2 == 1 {
            // Worlds may be dropped late.
            kept.clear();
        }
    }
}

/// Finalize completes what was issued on every context: nothing arrives later, in the memory of the next
/// job.
pub fn finalize_completes_every_context(
    boot: &Arc<dyn Bootstrap>,
    settings: &Settings,
    options: InitOptions,
) {
    for _ in 0..6 {
        let pe = join(boot, settings, options);
        let words = pe.alloc::<u64>(64);
        assert_eq!(words.to_vec(), [0; 64], "a put of the job before has arrived here");
        pe.meet();
        let ctx = pe.create_context(None, 0).unwrap();
        for i in 0..64 {
            pe.p(&ctx, words.at(i), 99, pe.right()).unwrap();
        }
        pe.finalize().unwrap();
    }
}

/// Settings that differ between PEs are found on all of them.
pub fn unequal_settings(boot: &Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) {
    let (me, n) = boot.place();
    let odd = me + 1 == n && n > 1;
    let other = |change: fn(&mut Settings)| {
        let mut settings = settings.clone();
        if odd {
            change(&mut settings);
        }
        World::init(Arc::clone(boot), &settings, options).map(|world| world.finalize())
    };
    let told = |what: &str, result: Result<Result<()>>| match result {
        Err(Error::Disagreement { text, .. }) => {
            assert!(n > 1 && text.contains(what) && text.contains("start all PEs alike"), "{text}")
        }
        other => assert!(n == 1 && other.is_ok(), "{what}: {other:?}"),
    };
    told("DUSHMEM_SYMMETRIC_SIZE: PE 0 has ", other(|s| s.heap_size += 1 << 20));
    told("DUSHMEM_TEAM_SLOTS: PE 0 has ", other(|s| s.team_slots += 1));
    let words = match settings.transport {
        TransportKind::Shm => ["shm", "loopback"],
        TransportKind::Loopback => ["loopback", "shm"],
    };
    told(
        &format!("DUSHMEM_TRANSPORT: PE 0 has {}, PE {} has {}; ", words[0], n - 1, words[1]),
        other(|s| {
            s.transport = match s.transport {
                TransportKind::Shm => TransportKind::Loopback,
                TransportKind::Loopback => TransportKind::Shm,
            }
        }),
    );
    let pe = join(boot, settings, options);
    pe.meet();
    pe.finalize().unwrap();
}

/// A heap that does not fit into the address space is an error on every PE, also where only one has it.
pub fn heap_too_large(boot: &Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) {
    let settings = Settings { heap_size: 1 << 46, ..settings.clone() };
    let error = World::init(Arc::clone(boot), &settings, options).expect_err("64 TiB a PE");
    assert!(error.to_string().starts_with("DUSHMEM_SYMMETRIC_SIZE=64T (set, or the default): "), "{error}");
}

/// A heap of no bytes is legal: everything but allocations works.
pub fn empty_heap(boot: &Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) {
    let settings = Settings { heap_size: 0, ..settings.clone() };
    let pe = join(boot, &settings, options);
    assert_eq!(pe.heap_usage().total, 0);
    assert!(matches!(pe.malloc(1), Err(Error::OutOfMemory { .. })));
    assert!(pe.malloc(0).unwrap().is_null());
    let heap = pe.window().heap().0 as *mut u8;
    assert!(pe.p(pe.ctx(), heap, 1, pe.me).is_err());
    pe.meet();
    pe.finalize().unwrap();
}
