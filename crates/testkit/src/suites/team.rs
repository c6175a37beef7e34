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
    assert_eq!(error(0, 1, 0), "start = 0, stride = 1, size = 0: a team has at least one PE");
    assert_eq!(error(0, 1, -3), "start = 0, stride = 1, size = -3: a team has at least one PE");
    let larger =
        format!("start = 0, stride = 1, size = {}: a larger size than that of the parent team, {n}", n + 1);
    assert_eq!(error(0, 1, n + 1), larger);
    let has = format!("; the parent team has PEs 0 to {}", n - 1);
    assert_eq!(error(n, 1, 1), format!("start = {n}, stride = 1, size = 1: there is no PE {n}{has}"));
    assert_eq!(error(-1, 1, 1), format!("start = -1, stride = 1, size = 1: there is no PE -1{has}"));
    if n > 1 {
        let zero = "start = 0, stride = 0, size = 2: a stride of zero is possible for a team of one PE only";
        assert_eq!(error(0, 0, 2), zero);
        for stride in [-1, n, i32::MIN, i32::MAX] {
            let line = format!("start = 0, stride = {stride}, size = 2: there is no PE {stride}{has}");
            assert_eq!(error(0, stride, 2), line);
        }
        assert_eq!(error(n, -1, 2), format!("start = {n}, stride = -1, size = 2: there is no PE {n}{has}"));
        let both = format!("start = -1, stride = {}, size = 2: there are no PEs -1, {n}{has}", n + 1);
        assert_eq!(error(-1, n + 1, 2), both);
        // Only so many are named.
        let many = error(0, -1, n);
        let names = ["-1", "-2", "-3", "-4", "..."].into_iter().take(n as usize - 1).collect::<Vec<_>>();
        assert!(many.contains(&format!(" {}{has}", names.join(", "))), "{many}");
        // Different arguments: found on all.
        let size = if pe.me == n as usize - 1 { 1 } else { 2 };
        let error = pe.split_strided(&world, 0, 1, size).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
        // Bad arguments on one PE only: an error on all.
        let size = if pe.me == 0 { -1 } else { 1 };
        assert!(pe.split_strided(&world, 0, 1, size).is_err());
    }
    let text = |handle| pe.team(handle).unwrap_err().to_string();
    let invalid = "the invalid team (TEAM_INVALID); the call that made it failed, or this PE is not a member";
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

/// Grids of every width: full, with a short last row, of one row, of one column; and of a team that is not the
/// world.
pub fn grids(pe: &Pe) {
    let n = pe.n as i32;
    let room = pe.alloc::<u64>(pe.n + 1);
    let world = pe.team(handles::WORLD).unwrap();
    let backwards = split(pe, &world, n - 1, -1, n).unwrap();
    for parent in [&world, &backwards] {
        let number = |rank: i32| parent.world_pe(rank).unwrap() as u64;
        for xrange in (1..=n).chain([n + 1, i32::MAX]) {
            let width = xrange.min(n);
            let (row, column) = pe.split_2d(parent, xrange).unwrap();
            let (row, column) = (pe.team(row).unwrap(), pe.team(column).unwrap());
            let (x, y) = (parent.my_pe() % width, parent.my_pe() / width);
            let in_row: Vec<u64> = (y * width..n.min((y + 1) * width)).map(number).collect();
            let in_column: Vec<u64> = (x..n).step_by(width as usize).map(number).collect();
            assert_eq!((row.my_pe(), column.my_pe()), (x, y), "xrange {xrange}");
            assert_eq!(members(pe, &row, room), in_row, "xrange {xrange}");
            assert_eq!(members(pe, &column, room), in_column, "xrange {xrange}");
            destroy(pe, Some(column));
            destroy(pe, Some(row));
        }
    }
    // A third team splits while the others do something else.
    let few = split(pe, &world, 0, 1, (n + 1) / 2);
    if let Some(few) = &few {
        let (row, column) = pe.split_2d(few, 2).unwrap();
        assert_eq!(pe.team(row).unwrap().n_pes(), (few.n_pes() - few.my_pe() / 2 * 2).min(2));
        pe.team_destroy(row).unwrap();
        pe.team_destroy(column).unwrap();
    }
    destroy(pe, few);
    for xrange in [0, -1, i32::MIN] {
        let text = pe.split_2d(&world, xrange).unwrap_err().to_string();
        assert_eq!(text, format!("xrange = {xrange}: a row has at least one PE"));
    }
    if n > 1 {
        let error = pe.split_2d(&world, if pe.me == 0 { 1 } else { 2 }).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
        // On one PE only: an error on all.
        assert!(pe.split_2d(&world, if pe.me == 0 { 0 } else { 1 }).is_err());
    }
    destroy(pe, Some(backwards));
    pe.meet();
    pe.release(room);
}

/// A grid for which one PE has no slot left, at the rows or at the columns: no team on any PE, and no slot lost.
pub fn grids_that_fail(pe: &Pe) {
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    let alone = split(pe, &world, 0, 1, 1);
    let mut mine = Vec::new();
    if let Some(alone) = &alone {
        while let Ok(Some(handle)) = pe.split_strided(alone, 0, 1, 1) {
            mine.push(handle);
        }
    }
    for slots_left in 0..2 {
        for _ in 0..3 {
            let error = pe.split_2d(&world, 2.min(n)).unwrap_err();
            assert_eq!(error.code(), 100, "{slots_left}: {error}");
        }
        if let Some(last) = mine.pop() {
            pe.team_destroy(last).unwrap();
        }
        pe.meet();
    }
    let (row, column) = pe.split_2d(&world, 2.min(n)).unwrap();
    pe.team_destroy(row).unwrap();
    pe.team_destroy(column).unwrap();
    for handle in mine {
        pe.team_destroy(handle).unwrap();
    }
    destroy(pe, alone);
    pe.meet();
}

/// Lists of PEs in any order.
pub fn lists(pe: &Pe) {
    let n = pe.n as i32;
    let room = pe.alloc::<u64>(pe.n + 1);
    let world = pe.team(handles::WORLD).unwrap();
    let shuffled: Vec<i32> =
        (0..n).filter(|i| i % 2 == 1).chain((0..n).rev().filter(|i| i % 2 == 0)).collect();
    for list in [vec![n - 1], vec![0], shuffled.clone(), shuffled[..shuffled.len().div_ceil(2)].to_vec()] {
        let team = pe.split_listed(&world, &list).unwrap().map(|handle| pe.team(handle).unwrap());
        assert_eq!(team.is_some(), list.contains(&(pe.me as i32)), "{list:?}");
        if let Some(team) = &team {
            assert!(members(pe, team, room).into_iter().eq(list.iter().map(|&member| member as u64)));
        }
        destroy(pe, team);
    }
    let text = |list: &[i32]| pe.split_listed(&world, list).unwrap_err().to_string();
    assert_eq!(text(&[]), "npes = 0: a team has at least one PE");
    assert_eq!(text(&[0, 0]), "pes = 0: a PE is in a team once only");
    assert_eq!(text(&[n]), format!("pes = {n}: there is no such PE; the parent team has PEs 0 to {}", n - 1));
    assert!(text(&[-1]).starts_with("pes = -1: there is no such PE"));
    if n > 1 {
        let error = pe.split_listed(&world, &[pe.me as i32]).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
    }
    pe.meet();
    pe.release(room);
}

/// Teams that only their members make: in any order, several times, while others do nothing.
pub fn met(pe: &Pe) {
    let n = pe.n;
    let room = pe.alloc::<u64>(n + 1);
    let ids = pe.alloc::<u64>(4);
    if pe.me == 0 {
        let numbers: Vec<u64> = (0..4).map(|_| pe.team_unique_id().unwrap()).collect();
        (0..n).for_each(|to| pe.put(pe.ctx(), ids.at(0), &numbers, to).unwrap());
        assert!(numbers.windows(2).all(|two| two[0] != two[1]));
    }
    pe.meet();
    let numbers = ids.to_vec();
    // Backwards, and in two halves, one of which is at it several times.
    let half: Vec<usize> = (pe.me % 2..n).step_by(2).collect();
    let all: Vec<usize> = (0..n).rev().collect();
    let mut teams = Vec::new();
    for (number, list, times) in
        [(numbers[0], &all, 2), (numbers[1 + pe.me % 2], &half, 1 + 3 * (pe.me % 2)), (numbers[3], &all, 1)]
    {
        let index = list.iter().position(|&member| member == pe.me).unwrap() as i32;
        for _ in 0..times {
            let handle = pe.team_init(number, list.len() as i32, index).unwrap();
            let team = pe.team(handle).unwrap();
            assert_eq!((team.my_pe(), team.n_pes()), (index, list.len() as i32));
            assert!(members(pe, &team, room).into_iter().eq(list.iter().map(|&member| member as u64)));
            teams.push(team);
        }
    }
    teams.into_iter().rev().for_each(|team| destroy(pe, Some(team)));
    // A number of the program's own.
    let handle = pe.team_init(77, n as i32, pe.me as i32).unwrap();
    pe.team_destroy(handle).unwrap();
    pe.meet();
    pe.release(ids);
    pe.release(room);
}

/// Wrong numbers: an error on all members, and the next team is made.
pub fn met_in_vain(pe: &Pe) {
    let (n, me) = (pe.n as i32, pe.me as i32);
    let disagreement = |id: u64, npes: i32, index: i32, text: &str| {
        let error = pe.team_init(id, npes, index).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }) && error.to_string().contains(text), "{error}");
    };
    disagreement(1000, n, n, "a member has pe_idx");
    disagreement(1001, n, -1, "a member has pe_idx");
    disagreement(1002, n + 1, me, "which is no team of this job");
    disagreement(1003, 0, 0, "which is no team of this job");
    disagreement(1004, -5, 0, "which is no team of this job");
    if n > 1 {
        disagreement(1005, n, 0, "pe_idx 0 is that of PE");
        let made = pe.team_init(1006, if me == n - 1 { n - 1 } else { n }, me % (n - 1));
        // One PE by itself is a whole team; the other finds that out.
        assert!(made.is_err() || (n, me) == (2, 1), "{made:?}");
        made.into_iter().for_each(|handle| pe.team_destroy(handle).unwrap());
        // Those that come late are told as well.
        let late = std::time::Duration::from_millis(if me == 0 { 30 } else { 0 });
        std::thread::sleep(late);
        disagreement(1007, n, if me == 1 { 77 } else { me }, "has pe_idx 77 of npes");
    }
    let text = pe.team_init(u64::MAX, n, me).unwrap_err().to_string();
    assert!(text.starts_with("config.uniqueid = -1: no number to meet under"), "{text}");
    // More failures than a desk has places, which are kept for those that come late for as long as possible.
    pe.meet();
    for id in 0..100 {
        assert!(pe.team_init(2000 + id, 0, 0).is_err());
    }
    let handle = pe.team_init(5, n, n - 1 - me).unwrap();
    pe.team_sync(&pe.team(handle).unwrap()).unwrap();
    pe.team_destroy(handle).unwrap();
    pe.meet();
}

/// Several threads of each PE make teams of the same members in different orders.
pub fn met_by_threads(pe: &Pe) {
    let (n, me) = (pe.n as i32, pe.me as i32);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..8 {
                    let id = 1 + ((thread + me as u64) % 4) + 4 * round;
                    let team = pe.team(pe.team_init(id, n, me).unwrap()).unwrap();
                    pe.team_sync(&team).unwrap();
                    destroy(pe, Some(team));
                }
            });
        }
    });
    pe.meet();
}
