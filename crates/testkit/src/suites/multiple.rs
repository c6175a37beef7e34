//! SHMEM_THREAD_MULTIPLE (section 9.2): many threads of each PE at the same time.
use super::pe::{Pe, Random, Sym, bytes};
use dushmem_core::amo::AmoOp;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::context::options;
use dushmem_core::signal::SignalOp;
use dushmem_core::team::Team;
use dushmem_core::until::Cmp;
use std::sync::Arc;

const THREADS: usize = 4;
const ROUNDS: u64 = 25;
const BLOCK: usize = 2000;

/// What one thread number has on every PE.
#[derive(Clone)]
struct Room {
    id: usize,
    team: Arc<Team>,
    block: Sym<u8>,
    sig: Sym<u64>,
    sums: Sym<u64>,
}

/// Threads with contexts and teams of their own put, signal, wait, add, lock and meet, while the first thread allocates
/// and frees.
pub fn everything_at_once(pe: &Pe) {
    let world = pe.team(0).unwrap();
    let (lock, counted, added) = (pe.alloc::<i64>(1), pe.alloc::<u64>(1), pe.alloc::<u64>(1));
    let rooms: Vec<Room> = (0..THREADS)
        .map(|id| {
            let handle = pe.split_strided(&world, 0, 1, pe.n as i32).unwrap().unwrap();
            let team = pe.team(handle).unwrap();
            Room { id, team, block: pe.alloc(BLOCK), sig: pe.alloc(1), sums: pe.alloc(2) }
        })
        .collect();
    pe.meet();
    std::thread::scope(|scope| {
        for room in rooms.clone() {
            scope.spawn(move || work(pe, &room, (lock, counted, added)));
        }
        let mut random = Random(5);
        for _ in 0..30 {
            let size = 1 + random.below(5000);
            let block = Sym::<u8>::foreign(pe.calloc(size, 1).unwrap(), size);
            assert!(block.to_vec().iter().all(|byte| *byte == 0));
            block.fill(0xaa);
            let block = Sym::<u8>::foreign(pe.realloc(block.at(0), 2 * size).unwrap(), 2 * size);
            assert_eq!(block.part(0, size), vec![0xaa; size]);
            pe.release(block);
        }
    });
    pe.meet();
    if pe.me == 0 {
        let all = (THREADS * pe.n) as u64;
        assert_eq!((counted.read(0), added.read(0)), (all * ROUNDS / 5, all * ROUNDS));
    }
    for room in rooms {
        pe.team_destroy(room.team.handle()).unwrap();
        pe.release(room.sums);
        pe.release(room.sig);
        pe.release(room.block);
    }
    pe.release(added);
    pe.release(counted);
    pe.release(lock);
}

fn work(pe: &Pe, room: &Room, (lock, counted, added): (Sym<i64>, Sym<u64>, Sym<u64>)) {
    let kind = if room.id.is_multiple_of(2) { options::SERIALIZED } else { 0 };
    let ctx = pe.create_context(Some(Arc::clone(&room.team)), kind).unwrap();
    let sum = <u64 as ReduceNum>::reducer(ReduceOp::Sum).unwrap();
    for round in 0..ROUNDS {
        let seed = |pe: usize| round << 24 | (room.id as u64) << 16 | pe as u64;
        let mine = bytes(seed(pe.me), BLOCK);
        pe.put_nbi(&ctx, room.block.at(0), &mine[..BLOCK / 2], pe.right()).unwrap();
        pe.put(&ctx, room.block.at(BLOCK / 2), &mine[BLOCK / 2..], pe.right()).unwrap();
        pe.quiet(&ctx).unwrap();
        // On the default context, which all threads share.
        pe.signal(room.sig.at(0), round + 1, SignalOp::Set, pe.right()).unwrap();
        pe.wait(room.sig.at(0), Cmp::Eq, round + 1).unwrap();
        assert!(room.block.to_vec() == bytes(seed(pe.left()), BLOCK), "round {round}, thread {}", room.id);
        pe.post(&ctx, added.at(0), AmoOp::Add, 1, 0).unwrap();
        if round % 5 == 4 {
            pe.lock(lock.at(0)).unwrap();
            let seen = pe.g(&ctx, counted.at(0), 0).unwrap();
            pe.p(&ctx, counted.at(0), seen + 1, 0).unwrap();
            pe.quiet(&ctx).unwrap();
            pe.unlock(lock.at(0)).unwrap();
        }
        room.sums.write(0, round + pe.me as u64);
        let (to, from) = (room.sums.slice(1, 1).as_bytes(), room.sums.slice(0, 1).as_bytes());
        pe.reduce(&room.team, to, from, 1, &sum).unwrap();
        let n = pe.n as u64;
        assert_eq!(room.sums.read(1), round * n + n * (n - 1) / 2, "round {round}, thread {}", room.id);
        pe.team_sync(&room.team).unwrap();
    }
    pe.destroy_context(&ctx).unwrap();
}
