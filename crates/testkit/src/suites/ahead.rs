//! Broadcasts that don't wait for all members: roots that go on before the others have come.
use super::coll::teams;
use super::pe::{Pe, Random, Sym, bytes};
use dushmem_core::coll::post::CARGO;
use dushmem_core::error::{Error, Result};
use dushmem_core::sync::AHEAD;
use dushmem_core::team::{Team, handles};
use dushmem_core::until::Cmp;

/// On both sides of what a post carries.
const SIZES: [usize; 6] = [1, 8, CARGO - 1, CARGO, CARGO + 1, 20_000];

/// From then on broadcasts of these sizes, from these roots, run ahead.
fn agree(pe: &Pe, team: &Team, array: Sym<u8>, sizes: &[usize], roots: usize) {
    for &size in sizes {
        for root in 0..roots {
            pe.bcast(team, array, array, size, root as i32).unwrap();
        }
    }
    pe.team_sync(team).unwrap();
}

fn sent(root: usize, round: usize, len: usize) -> Vec<u8> {
    bytes((root as u64) << 40 | round as u64, len)
}

/// A root makes as many calls as it may before any other member makes one. Nothing of that gets into a destination whose
/// owner is not in the call, and each member gets what the source held then.
pub fn roots_go_on(pe: &Pe) {
    const CALLS: usize = AHEAD as usize - 1;
    let team = pe.team(handles::WORLD).unwrap();
    let (dest, source) = (pe.alloc::<u8>(CARGO), pe.alloc::<u8>(CARGO));
    let gone_on = pe.alloc::<u64>(1);
    gone_on.write(0, 0);
    pe.meet();
    for (round, size) in [8, CARGO].into_iter().enumerate() {
        agree(pe, &team, source, &[size], pe.n);
        for root in 0..pe.n {
            dest.fill(0xee);
            pe.meet();
            let flag = (round * pe.n + root + 1) as u64;
            if pe.me == root {
                for call in 0..CALLS {
                    source.store(0, &sent(root, call, size));
                    pe.bcast(&team, dest, source, size, root as i32).unwrap();
                    assert!(dest.part(0, size) == sent(root, call, size), "the root's own, call {call}");
                }
                (0..pe.n).for_each(|to| pe.p(pe.ctx(), gone_on.at(0), flag, to).unwrap());
                pe.quiet(pe.ctx()).unwrap();
            } else {
                pe.wait(gone_on.at(0), Cmp::Eq, flag).unwrap();
                for call in 0..CALLS {
                    assert!(dest.part(0, size).iter().all(|&byte| byte == 0xee), "before call {call}");
                    pe.bcast(&team, dest, source, size, root as i32).unwrap();
                    assert!(dest.part(0, size) == sent(root, call, size), "{size} bytes, call {call}");
                    dest.fill(0xee);
                }
            }
        }
    }
    pe.meet();
    pe.release(gone_on);
    pe.release(source);
    pe.release(dest);
}

/// Broadcasts of few sizes from all roots, other collectives among them, at every member's own pace. Sources change as soon
/// as a call returns, and destinations belong to their owner between its calls.
pub fn mixed(pe: &Pe) {
    const ROOM: usize = 20_000;
    let teams = teams(pe);
    let (dest, source) = (pe.alloc::<u8>(ROOM), pe.alloc::<u8>(ROOM));
    let (all, one) = (pe.alloc::<u8>(100 * pe.n), pe.alloc::<u8>(100));
    dest.fill(0xee);
    for (number, team) in teams.iter().enumerate() {
        let (n, me) = (team.n_pes() as usize, team.my_pe() as usize);
        agree(pe, team, source, &SIZES, n);
        let (mut plan, mut pace) = (Random(number as u64 + 1), Random(pe.me as u64 + 77));
        for round in 0..150 {
            if pace.below(6) == 0 {
                std::thread::yield_now();
            }
            let (kind, size, root) = (plan.below(12), SIZES[plan.below(SIZES.len())], plan.below(n));
            match kind {
                0 => pe.team_sync(team).unwrap(),
                1 => {
                    one.store(0, &sent(me, round, 100));
                    pe.gather(team, all, one, 100).unwrap();
                    let expected: Vec<u8> = (0..n).flat_map(|rank| sent(rank, round, 100)).collect();
                    assert!(all.part(0, 100 * n) == expected, "round {round}: fcollect");
                }
                2 => {
                    source.store(0, &sent(me, round, size));
                    pe.bcast(team, source, source, size, root as i32).unwrap();
                    assert!(
                        source.part(0, size) == sent(root, round, size),
                        "round {round}: {size} in place"
                    );
                }
                _ => {
                    source.store(0, &sent(me, round, size));
                    pe.bcast(team, dest, source, size, root as i32).unwrap();
                    source.slice(0, size).fill(0xdd);
                    assert!(
                        dest.part(0, size) == sent(root, round, size),
                        "round {round}: {size} from {root}"
                    );
                    dest.slice(0, size).fill(0xee);
                }
            }
            assert!(dest.part(0, size).iter().all(|&byte| byte == 0xee), "round {round}");
        }
    }
    teams.iter().skip(1).for_each(|team| pe.team_destroy(team.handle()).unwrap());
    pe.meet();
    pe.release(one);
    pe.release(all);
    pe.release(source);
    pe.release(dest);
}

/// Teams one after the other in one slot, whose first members, and so whose counts, differ: what a root has posted for one
/// is not taken for what it posts for the next.
pub fn teams_made_again(pe: &Pe) {
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    let (dest, source) = (pe.alloc::<u8>(64), pe.alloc::<u8>(64));
    for round in 0..2 * n {
        let (start, stride) = if round % 2 == 0 { (0, 1) } else { (n - 1, -1) };
        let team = pe.team(pe.split_strided(&world, start, stride, n).unwrap().unwrap()).unwrap();
        // The same PE is root in both orders where n is odd.
        let root = n / 2;
        for call in 0..4 {
            let value = (16 * round + call) as u8;
            source.fill(value);
            if team.my_pe() == root {
                (0..20).for_each(|_| std::thread::yield_now());
            }
            pe.bcast(&team, dest, source, 64, root).unwrap();
            assert_eq!(dest.to_vec(), [value; 64], "team {round}, call {call}");
        }
        pe.team_destroy(team.handle()).unwrap();
    }
    pe.meet();
    pe.release(source);
    pe.release(dest);
}

fn differs(result: &Result<()>) -> Option<&str> {
    match result {
        Ok(()) => None,
        Err(Error::Disagreement { text }) => Some(text),
        Err(other) => panic!("{other}"),
    }
}

/// One member makes another call than those that may go on: it is told at once, the others by the next call that all wait for,
/// and everything works afterwards.
pub fn told_later(pe: &Pe) {
    if pe.n == 1 {
        return;
    }
    let team = pe.team(handles::WORLD).unwrap();
    let (array, other) = (pe.alloc::<u8>(20_000 * pe.n), pe.alloc::<u8>(20_000));
    let last = pe.me + 1 == pe.n;
    let bcast = |size: usize, root: i32| pe.bcast(&team, array, other, size, root);
    type Other<'a> = (&'a str, &'a dyn Fn() -> Result<()>, usize, &'a [&'a str]);
    let from_0 = "broadcast of 16 bytes from root 0";
    let cases: [Other<'_>; 7] = [
        ("size", &|| bcast(24, 0), 16, &[from_0, "broadcast of 24 bytes from root 0"]),
        ("new size", &|| bcast(33, 0), 16, &[from_0, "broadcast of 33 bytes from root 0"]),
        ("root", &|| bcast(16, 1), 16, &[from_0, "broadcast of 16 bytes from root 1"]),
        ("call", &|| pe.sync_all(), 16, &[from_0, "sync_all"]),
        ("small", &|| bcast(16, 0), 20_000, &[from_0, "broadcast of 20000 bytes from root 0"]),
        ("large", &|| bcast(20_000, 0), 16, &[from_0, "broadcast of 20000 bytes from root 0"]),
        ("bad root", &|| bcast(16, -7), 16, &[from_0, "with an argument that is wrong (PE_root = -7: "]),
    ];
    for (what, wrong, size, words) in cases {
        // Forgotten each time that members differ.
        agree(pe, &team, other, &[16, 24, 20_000], 2);
        let shows = |text: &str| assert!(words.iter().all(|word| text.contains(word)), "{what}: {text}");
        let result = if last { wrong() } else { bcast(size, 0) };
        if what != "bad root" || !last {
            differs(&result).into_iter().for_each(shows);
        }
        // With two members the last one is the other root.
        assert!(result.is_err() || !last || (what == "root" && pe.n == 2), "{what}: {result:?}");
        // Where the root waits for those that read its source, it is told at once.
        let told = pe.sync_all();
        match differs(&told) {
            Some(text) => shows(text),
            None => assert!(result.is_err(), "{what}: not told"),
        }
        pe.sync_all().unwrap_or_else(|error| panic!("{what}: {error}"));
        let one = other.slice(0, 8);
        one.store(0, &sent(pe.me, 1, 8));
        pe.gather(&team, array, one, 8).unwrap();
        let expected: Vec<u8> = (0..pe.n).flat_map(|rank| sent(rank, 1, 8)).collect();
        assert!(array.part(0, 8 * pe.n) == expected, "{what}");
        pe.bcast(&team, array, one, 8, 0).unwrap();
        assert!(array.part(0, 8) == sent(0, 1, 8), "{what}");
    }
    agree(pe, &team, other, &[16], 1);
    // An allocation of size zero, which does not synchronise, is found by what follows.
    if last {
        assert!(pe.malloc(0).unwrap().is_null());
    }
    let (result, told) = (bcast(16, 0), pe.sync_all());
    assert!(result.is_err() || !last);
    let text = differs(&told).or_else(|| differs(&result)).unwrap_or("not told");
    assert!(text.contains("malloc with size 0"), "{text}");
    pe.sync_all().unwrap();
    // A root that is told changes its source: whoever is not told has read it before.
    for round in 0..40 {
        agree(pe, &team, other, &[20_000], 1);
        other.fill(round);
        pe.sync_all().unwrap();
        let result = bcast(if last { 24 } else { 20_000 }, 0);
        other.fill(0xee);
        assert!(result.is_err() || array.part(0, 20_000).iter().all(|&byte| byte == round), "round {round}");
        let _ = pe.sync_all();
        pe.sync_all().unwrap();
    }
    pe.meet();
    pe.release(other);
    pe.release(array);
}
