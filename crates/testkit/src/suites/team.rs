//! Teams (OpenSHMEM section 9.4).
use super::pe::Pe;
use dushmem_core::error::Error;
use dushmem_core::team::{Team, handles};
use std::sync::Arc;

/// Makes a team with `split_strided`; `None` on PEs that are not members.
fn split(pe: &Pe, parent: &Team, start: i32, stride: i32, size: i32) -> Option<Arc<Team>> {
    let handle = pe.split_strided(parent, start, stride, size).unwrap();
    handle.map(|handle| pe.team(handle).unwrap())
}

fn destroy(pe: &Pe, team: Option<Arc<Team>>) {
    if let Some(team) = team {
        pe.team_destroy(team.handle()).unwrap();
    }
}

/// A collective of the team that tells who is in it: world numbers by rank.
fn members(pe: &Pe, team: &Team, room: super::Sym<u64>) -> Vec<u64> {
    room.write(0, 100 + pe.me as u64);
    let dest = room.slice(1, team.n_pes() as usize);
    pe.gather(team, dest, room.slice(0, 1), 1).unwrap();
    dest.to_vec().iter().map(|word| word - 100).collect()
}

/// The predefined teams.
pub fn predefined(pe: &Pe) {
    let room = pe.alloc::<u64>(pe.n + 1);
    let world = pe.team(handles::WORLD).unwrap();
    assert_eq!((world.my_pe() as usize, world.n_pes() as usize), (pe.me, pe.n));
    assert!(members(pe, &world, room).into_iter().eq(0..pe.n as u64));
    let node = pe.team(handles::NODE).unwrap();
    assert_eq!(node.n_pes() as usize, pe.n);
    assert!(members(pe, &node, room).into_iter().eq(0..pe.n as u64));
    // SHARED: those whose heap can be loaded from.
    let shared = pe.team(handles::SHARED).unwrap();
    let reachable = |other: usize| !pe.ptr(room.at(0).cast(), other as i32).unwrap().is_null();
    let expected: Vec<u64> = (0..pe.n).filter(|&other| reachable(other)).map(|other| other as u64).collect();
    assert_eq!(members(pe, &shared, room), expected);
    assert_eq!(pe.team(handles::SAME_MYPE_NODE).unwrap().n_pes(), 1);
    for handle in [handles::WORLD, handles::SHARED, handles::NODE] {
        let text = pe.team_destroy(handle).unwrap_err().to_string();
        assert_eq!(text, format!("team = {handle}: a predefined team, which lives as long as the library"));
    }
    pe.meet();
    pe.release(room);
}

/// Strides forwards, backwards, and of one PE; nested; ranks and translation.
pub fn strided(pe: &Pe) {
    let n = pe.n as i32;
    let room = pe.alloc::<u64>(pe.n + 1);
    let world = pe.team(handles::WORLD).unwrap();
    for (start, stride, size) in [
        (0, 1, n),
        (0, 2, (n + 1) / 2),
        (n - 1, -1, n),
        (n - 1, -2, (n + 1) / 2),
        (n / 2, 0, 1),
        (n - 1, 77, 1),
        (1 % n, 1, (n - 1).max(1)),
    ] {
        let expected: Vec<u64> = (0..size).map(|i| (start + i * stride) as u64).collect();
        let team = split(pe, &world, start, stride, size);
        let rank = expected.iter().position(|&member| member == pe.me as u64);
        assert_eq!(team.as_ref().map(|team| team.my_pe() as usize), rank, "{start} {stride} {size}");
        if let Some(team) = &team {
            assert_eq!(team.n_pes(), size);
            assert_eq!(members(pe, team, room), expected);
            for other in -1..=n {
                let rank = expected.iter().position(|&member| member as i32 == other);
                assert_eq!(pe.translate_pe(&world, other, team), rank.map_or(-1, |rank| rank as i32));
            }
            for (rank, &member) in expected.iter().enumerate() {
                assert_eq!(pe.translate_pe(team, rank as i32, &world), member as i32);
            }
            assert_eq!(pe.translate_pe(team, size, &world), -1);
            // A team of the team: backwards, every second member.
            let (start, size) = (size - 1, (size + 1) / 2);
            let nested = split(pe, team, start, -2, size);
            let inner: Vec<u64> = (0..size).map(|i| expected[(start - 2 * i) as usize]).collect();
            assert_eq!(nested.is_some(), inner.contains(&(pe.me as u64)));
            if let Some(nested) = &nested {
                assert_eq!(members(pe, nested, room), inner);
                pe.barrier(nested).unwrap();
            }
            pe.barrier(team).unwrap();
            destroy(pe, nested);
        }
        destroy(pe, team);
    }
    pe.meet();
    pe.release(room);
}

/// Arguments for which no team exists: the same error on all members of the parent, which stays usable.
pub fn refusals(pe: &Pe) {
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    let error = |start, stride, size| pe.split_strided(&world, start, stride, size).unwrap_err().to_string();
    assert_eq!(error(0, 1, 0), "size = 0: a team has at least one PE");
    assert_eq!(error(0, 1, -3), "size = -3: a team has at least one PE");
    assert_eq!(error(0, 1, n + 1), format!("size = {}: more PEs than the parent team has", n + 1));
    assert_eq!(
        error(n, 1, 1),
        format!("start = {n}: there is no such PE; the parent team has PEs 0 to {}", n - 1)
    );
    assert_eq!(
        error(-1, 1, 1),
        format!("start = -1: there is no such PE; the parent team has PEs 0 to {}", n - 1)
    );
    if n > 1 {
        assert_eq!(error(0, 0, 2), "stride = 0: zero is possible for a team of one PE only");
        let leaves = "start = 0: start + (size - 1) * stride is no PE of the parent team";
        assert_eq!(error(0, n, 2), leaves);
        assert_eq!(error(0, i32::MIN, 2), leaves);
        assert_eq!(error(0, i32::MAX, 2), leaves);
        // Different arguments: found on all.
        let size = if pe.me == n as usize - 1 { 1 } else { 2 };
        let error = pe.split_strided(&world, 0, 1, size).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
        // Bad arguments on one PE only: an error on all.
        let size = if pe.me == 0 { -1 } else { 1 };
        assert!(pe.split_strided(&world, 0, 1, size).is_err());
    }
    let text = |handle| pe.team(handle).unwrap_err().to_string();
    let invalid = "the invalid team; the call that made it failed, or this PE is not a member";
    assert_eq!(text(handles::INVALID), format!("team = -1: {invalid}"));
    assert_eq!(text(-7), "team = -7: not a team");
    assert_eq!(text(5), "team = 5: not a team");
    assert_eq!(text(4000), "team = 4000: not a team, or one that was destroyed");
    assert!(pe.team(i32::MAX).is_err() && pe.team(i32::MIN).is_err());
    pe.team_sync(&world).unwrap();
}

/// Teams made and destroyed again and again, of changing members: slots are used again without mixing
/// up old and new teams, and handles of destroyed teams are refused.
pub fn made_again_and_again(pe: &Pe) {
    let n = pe.n as i32;
    let room = pe.alloc::<u64>(pe.n + 1);
    let world = pe.team(handles::WORLD).unwrap();
    let mut old = Vec::new();
    for round in 0..60 {
        let size = 1 + round % n;
        let start = round * 5 % (n - size + 1);
        let team = split(pe, &world, start, 1, size);
        if let Some(team) = &team {
            let expected: Vec<u64> = (start..start + size).map(|member| member as u64).collect();
            assert_eq!(members(pe, team, room), expected, "round {round}");
            if round % 3 == 0 {
                pe.team_sync(team).unwrap();
            }
            old.push(team.handle());
        }
        destroy(pe, team);
        for &handle in &old {
            assert!(matches!(pe.team(handle), Err(Error::BadTeam { .. })), "handle {handle:#x}");
            assert!(matches!(pe.team_destroy(handle), Err(Error::BadTeam { .. })));
        }
    }
    // A new team in a slot that an old handle names, and that an old team still points to.
    let gone = split(pe, &world, 0, 1, n).unwrap();
    destroy(pe, Some(Arc::clone(&gone)));
    let team = split(pe, &world, 0, 1, n);
    let destroyed = |result: dushmem_core::error::Result<()>| {
        assert_eq!(
            result.unwrap_err().to_string(),
            format!("team = {}: a team that was destroyed", gone.handle())
        );
    };
    destroyed(pe.barrier(&gone));
    destroyed(pe.team_sync(&gone));
    destroyed(pe.bcast(&gone, room, room, 1, 0));
    destroyed(pe.gather(&gone, room.slice(1, pe.n), room, 1));
    destroyed(pe.exchange(&gone, room, room, 1));
    destroyed(pe.split_strided(&gone, 0, 1, 1).map(drop));
    for &handle in &old {
        let why = pe.team(handle).unwrap_err().to_string();
        assert!(why.ends_with("destroyed"), "{why}");
    }
    destroy(pe, team);
    pe.meet();
    pe.release(room);
}

/// Groups that pair up differently in each round, without anything that all PEs do in between: state of
/// one team must not leak into the next one that uses the slot.
pub fn changing_pairs(pe: &Pe) {
    let n = pe.n as i32;
    let room = pe.alloc::<u64>(pe.n + 1);
    let world = pe.team(handles::WORLD).unwrap();
    // Halves, and inside each half teams of two, made and destroyed at different speeds.
    let half = (n + 1) / 2;
    let low = split(pe, &world, 0, 1, half);
    let high = split(pe, &world, half.min(n - 1), 1, (n - half).max(1));
    for (group, rounds) in [(&low, 40), (&high, 25)] {
        let Some(group) = group else { continue };
        let size = group.n_pes();
        for round in 0..rounds {
            let start = round % size;
            let pair = (size - start).min(2);
            let team = split(pe, group, start, 1, pair);
            if let Some(team) = &team {
                let first = group.world_pe(start).unwrap() as u64;
                let expected: Vec<u64> = (first..first + pair as u64).collect();
                for _ in 0..=round % 3 {
                    assert_eq!(members(pe, team, room), expected, "round {round}");
                }
            }
            destroy(pe, team);
        }
    }
    destroy(pe, low);
    destroy(pe, high);
    pe.meet();
    pe.release(room);
}

/// All slots in use: the same code on all members, also on those that have slots free, and everything
/// works again after a destruction.
pub fn exhaustion(pe: &Pe) {
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    // PE 0 alone uses up its slots.
    let mut mine = Vec::new();
    let alone = split(pe, &world, 0, 1, 1);
    if let Some(alone) = &alone {
        loop {
            match pe.split_strided(alone, 0, 1, 1) {
                Ok(handle) => mine.push(handle.expect("PE 0 is a member")),
                Err(error) => {
                    assert_eq!(error.code(), 100);
                    let slots = pe.team_slots();
                    let text = format!(
                        "team slots of a PE: all {slots} are in use; set DUSHMEM_TEAM_SLOTS to a larger number"
                    );
                    assert_eq!(error.to_string(), text);
                    break;
                }
            }
        }
        assert_eq!(mine.len() + 1 + handles::FIRST_USER, pe.team_slots());
    }
    for _ in 0..2 {
        let error = pe.split_strided(&world, 0, 1, n).unwrap_err();
        assert_eq!(error.code(), 100, "on every member: {error}");
    }
    // A team without PE 0 is possible all the time, and its making needs PE 0 as part of the parent only.
    if n > 1 {
        let others = split(pe, &world, 1, 1, n - 1);
        assert_eq!(others.is_some(), pe.me > 0);
        destroy(pe, others);
    }
    if let Some(last) = mine.pop() {
        pe.team_destroy(last).unwrap();
    }
    let team = split(pe, &world, 0, 1, n);
    pe.team_sync(team.as_ref().unwrap()).unwrap();
    destroy(pe, team);
    for handle in mine {
        pe.team_destroy(handle).unwrap();
    }
    destroy(pe, alone);
    pe.meet();
}

/// Several threads of each PE split different teams at the same time.
pub fn from_several_threads(pe: &Pe) {
    const ROUNDS: i32 = 25;
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    let parents: Vec<Arc<Team>> = (0..3).filter_map(|_| split(pe, &world, 0, 1, n)).collect();
    let rooms: Vec<super::Sym<u64>> = parents.iter().map(|_| pe.alloc(pe.n + 1)).collect();
    std::thread::scope(|scope| {
        for (parent, &room) in parents.iter().zip(&rooms) {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let size = 1 + round % n;
                    let team = split(pe, parent, 0, 1, size);
                    if let Some(team) = &team {
                        assert!(members(pe, team, room).into_iter().eq(0..size as u64));
                    }
                    destroy(pe, team);
                }
            });
        }
    });
    parents.into_iter().for_each(|parent| destroy(pe, Some(parent)));
    pe.meet();
    rooms.into_iter().for_each(|room| pe.release(room));
}
