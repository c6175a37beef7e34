//! Teams and collectives on them: a list of PEs says what each team is, on each of its members.
use super::api::{Api, Buffers, Strides, TeamHandle};
use super::input::Input;
use crate::suites::pe::bytes;
use crate::suites::{Pe, loopback, shm};
use crate::threads;
use dushmem_core::env::Settings;

/// Teams of a PE that a program's job is set up with, predefined ones included.
pub const TEAM_SLOTS: usize = 16;
/// Of these are the library's own.
const PREDEFINED: usize = 6;
/// Most bytes of a member in a collective.
const PART: usize = 300;

struct Team {
    /// World PEs of the members, by rank.
    pes: Vec<usize>,
    /// This PE's handle, where it is a member.
    handle: Option<TeamHandle>,
}

struct Program<'a, A: Api> {
    api: &'a A,
    teams: Vec<Team>,
    buffers: Buffers,
    step: u64,
}

/// Runs the program that `input` stands for. Every PE of the job calls this with the same input, and none
/// knows what it is told of the teams that it is not in.
///
/// # Panics
/// Where a team or a buffer is not as it has to be.
pub fn run<A: Api>(api: &A, input: &[u8]) {
    let mut input = Input::new(input);
    let n = api.n();
    let [dest, source] = [(); 2].map(|()| api.malloc((PART * n).max(64)));
    assert!(!dest.is_null() && !source.is_null());
    let world = Team { pes: (0..n).collect(), handle: Some(0) };
    let mut program = Program { api, teams: vec![world], buffers: Buffers { dest, source }, step: 0 };
    while !input.is_empty() && program.step < 120 {
        program.step += 1;
        program.one(&mut input);
    }
    while program.teams.len() > 1 {
        program.destroy(program.teams.len() - 1);
    }
    // SAFETY: in use.
    unsafe {
        api.free(source);
        api.free(dest);
    }
}

/// Runs the program with as many PEs, which are threads, and over the transport that the first byte says.
///
/// # Panics
/// As [`run`].
pub fn run_job(input: &[u8]) {
    let Some((&first, rest)) = input.split_first() else { return };
    let pes = 1 + usize::from(first % 8);
    let backend = if first & 8 == 0 { shm(pes) } else { loopback(pes, first.into()) };
    let heap_size = super::alloc::HEAP as u64;
    let settings = Settings { heap_size, team_slots: TEAM_SLOTS, ..backend.settings };
    let rest = rest.to_vec();
    threads::run(pes, &settings, move |world| run(&Pe::new(world), &rest));
}

impl<A: Api> Program<'_, A> {
    fn one(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.teams.len());
        match input.below(12) {
            0..=2 => self.split(input, which),
            3 => self.split_2d(input, which),
            4 | 5 if which > 0 => self.destroy(which),
            kind => self.collective(input, which, kind % 6),
        }
        let other = input.below(self.teams.len());
        self.compare(which.min(self.teams.len() - 1), other);
    }

    /// Number of the program's teams that `pe` is a member of.
    fn load(&self, pe: usize) -> usize {
        self.teams[1..].iter().filter(|team| team.pes.contains(&pe)).count()
    }

    fn split(&mut self, input: &mut Input<'_>, parent: usize) {
        let (start, stride, size) = (input.small(), input.small(), input.small());
        // Half of the programs would be errors otherwise.
        let n = self.teams[parent].pes.len() as i32;
        let (start, size) = if input.one_in(4) { (start, size) } else { (start.rem_euclid(n), size.abs()) };
        let ranks: Vec<i64> =
            (0..i64::from(size)).map(|i| i64::from(start) + i * i64::from(stride)).collect();
        let legal = !ranks.is_empty()
            && ranks.iter().all(|rank| (0..i64::from(n)).contains(rank))
            && (stride != 0 || size == 1);
        let pes: Vec<usize> = if legal {
            ranks.iter().map(|&rank| self.teams[parent].pes[rank as usize]).collect()
        } else {
            Vec::new()
        };
        let Some(handle) = self.teams[parent].handle else {
            // Whether it works is not told to PEs outside: it has to be clear to them.
            if legal && !self.may_be_full(&pes) {
                self.teams.push(Team { pes, handle: None });
            }
            return;
        };
        let full = legal && self.may_be_full(&pes);
        if full && parent > 0 {
            return;
        }
        let (made, team) = self.api.split(handle, start, stride, size);
        let what = format!("split of {n} PEs: {start}, {stride}, {size}");
        assert!(made == legal || full && !made, "{what}: {made}");
        if full {
            self.same_on_all(made, &what);
        }
        let legal = made;
        let pes = if made { pes } else { Vec::new() };
        let member = pes.contains(&self.api.me());
        assert_eq!(team >= 0, member, "{what}: {team}");
        assert!(
            self.teams.iter().all(|other| team < 0 || other.handle != Some(team)),
            "{what}: a handle in use"
        );
        if legal {
            self.teams.push(Team { pes, handle: member.then_some(team) });
        }
    }

    fn split_2d(&mut self, input: &mut Input<'_>, parent: usize) {
        let (xrange, Team { pes, handle }) = (input.small() + 2, &self.teams[parent]);
        // Each PE is then in two teams more.
        if self.load_of(pes) + pes.len() >= TEAM_SLOTS - PREDEFINED {
            return;
        }
        let (pes, handle) = (pes.clone(), *handle);
        let width = usize::try_from(xrange).unwrap_or(0).min(pes.len());
        let told = handle.map(|handle| self.api.split_2d(handle, xrange));
        if let Some((made, x, y)) = told {
            assert_eq!(
                (made, x >= 0, y >= 0),
                (width > 0, width > 0, width > 0),
                "split_2d of {pes:?}: {xrange}"
            );
        }
        if width == 0 {
            return;
        }
        let me = self.api.me();
        let mut add = |pes: Vec<usize>, own: Option<TeamHandle>| {
            let handle = own.filter(|_| pes.contains(&me));
            self.teams.push(Team { pes, handle });
        };
        for row in pes.chunks(width) {
            add(row.to_vec(), told.map(|(_, x, _)| x));
        }
        for x in 0..width {
            add(pes.iter().skip(x).step_by(width).copied().collect(), told.map(|(_, _, y)| y));
        }
    }

    /// All PEs were told the same.
    fn same_on_all(&self, made: bool, what: &str) {
        let at = self.buffers;
        // SAFETY: room for a byte of each PE, at a time when nothing else uses the buffers.
        unsafe {
            at.source.cast_mut().write(made.into());
            self.ready(0);
            assert!(self.api.fcollect(0, at, 1));
            self.holds(0, &vec![made.into(); self.api.n()], what);
        }
        self.ready(0);
    }

    /// Members have no slot in common for certain only where none has room for so many teams.
    fn may_be_full(&self, pes: &[usize]) -> bool {
        self.load_of(pes) >= TEAM_SLOTS - PREDEFINED
    }

    fn load_of(&self, pes: &[usize]) -> usize {
        pes.iter().map(|&pe| self.load(pe)).sum()
    }

    fn destroy(&mut self, which: usize) {
        let team = self.teams.swap_remove(which);
        if let Some(handle) = team.handle {
            self.api.destroy(handle);
            assert_eq!((self.api.team_me(handle), self.api.team_n(handle)), (-1, -1), "a team destroyed");
        }
    }

    /// What is told of two teams.
    fn compare(&self, one: usize, other: usize) {
        let (one, other) = (&self.teams[one], &self.teams[other]);
        let Some(handle) = one.handle else { return };
        let me = self.api.me();
        let rank = |team: &Team, pe: usize| team.pes.iter().position(|&is| is == pe).map_or(-1, |r| r as i32);
        assert_eq!(self.api.team_n(handle), one.pes.len() as i32);
        assert_eq!(self.api.team_me(handle), rank(one, me));
        let Some(to) = other.handle else { return };
        for (at, &pe) in one.pes.iter().enumerate() {
            assert_eq!(self.api.translate(handle, at as i32, to), rank(other, pe), "{:?} {at}", one.pes);
        }
        for beyond in [-1, one.pes.len() as i32, i32::MAX, i32::MIN] {
            assert_eq!(self.api.translate(handle, beyond, to), -1);
        }
    }

    /// What member `rank` contributes to this step.
    fn part(&self, pe: usize, len: usize) -> Vec<u8> {
        bytes(self.step << 16 | pe as u64, len)
    }

    fn collective(&self, input: &mut Input<'_>, which: usize, kind: usize) {
        let team = &self.teams[which];
        let n = team.pes.len();
        let (len, root) = (input.below(PART + 1), input.below(n));
        let strides = (input.below(5), input.below(5));
        let Some(handle) = team.handle else { return };
        let (api, me, at) = (self.api, self.api.me(), self.buffers);
        let rank = team.pes.iter().position(|&pe| pe == me).expect("a member");
        let source = at.source.cast_mut();
        // SAFETY: the buffers have room for a part of each PE; before the call nobody else accesses the
        // source, and the destination is this PE's until the others have its part.
        unsafe {
            match kind {
                0 => {
                    source.copy_from(self.part(me, len).as_ptr(), len);
                    self.ready(handle);
                    assert!(api.broadcast(handle, at, len, root as i32), "broadcast");
                    self.holds(0, &self.part(team.pes[root], len), "broadcast");
                }
                1 => {
                    source.copy_from(self.part(me, len).as_ptr(), len);
                    self.ready(handle);
                    assert!(api.fcollect(handle, at, len), "fcollect");
                    for (from, &pe) in team.pes.iter().enumerate() {
                        self.holds(from * len, &self.part(pe, len), "fcollect");
                    }
                }
                2 => {
                    source.copy_from(self.part(me, len * n).as_ptr(), len * n);
                    self.ready(handle);
                    assert!(api.alltoall(handle, at, len), "alltoall");
                    for (from, &pe) in team.pes.iter().enumerate() {
                        let theirs = self.part(pe, len * n);
                        self.holds(from * len, &theirs[rank * len..(rank + 1) * len], "alltoall");
                    }
                }
                3 => {
                    // Each as many as it likes.
                    let lens: Vec<usize> = team.pes.iter().map(|pe| (len + 97 * pe) % (PART + 1)).collect();
                    source.copy_from(self.part(me, lens[rank]).as_ptr(), lens[rank]);
                    self.ready(handle);
                    assert!(api.collect(handle, at, lens[rank]), "collect");
                    let parts = team.pes.iter().zip(&lens).flat_map(|(&pe, &len)| self.part(pe, len));
                    self.holds(0, &parts.collect::<Vec<u8>>(), "collect");
                }
                4 => {
                    let (dst, sst) = (1 + strides.0, 1 + strides.1);
                    // All elements of all pairs lie in the buffers.
                    let nelems = len.min(PART / dst.max(sst));
                    let all = PART * n;
                    source.copy_from(self.part(me, all).as_ptr(), all);
                    at.dest.write_bytes(0xcc, all);
                    self.ready(handle);
                    assert!(api.alltoalls(handle, at, Strides { dst, sst, nelems }), "alltoalls");
                    let mut expected = vec![0xcc; all];
                    for (from, &pe) in team.pes.iter().enumerate() {
                        let theirs = self.part(pe, all);
                        for i in 0..nelems {
                            expected[(from * nelems + i) * dst] = theirs[(rank * nelems + i) * sst];
                        }
                    }
                    self.holds(0, &expected, "alltoalls");
                }
                _ => {
                    let count = len / 8;
                    let numbers = |pe: usize| {
                        let part = self.part(pe, count * 8);
                        let number = |word: &[u8]| u64::from_ne_bytes(word.try_into().expect("8 bytes"));
                        part.chunks_exact(8).map(number).collect::<Vec<_>>()
                    };
                    source.copy_from(self.part(me, count * 8).as_ptr(), count * 8);
                    self.ready(handle);
                    assert!(api.sum(handle, at, count), "reduce");
                    let mut sums = vec![0u64; count];
                    for &pe in &team.pes {
                        sums.iter_mut()
                            .zip(numbers(pe))
                            .for_each(|(sum, term)| *sum = sum.wrapping_add(term));
                    }
                    let expected: Vec<u8> = sums.iter().flat_map(|sum| sum.to_ne_bytes()).collect();
                    self.holds(0, &expected, "reduce");
                }
            }
        }
        // Nobody fills its source for the next collective while others still read it.
        self.ready(handle);
    }

    /// All members have come here: their destinations may be written to.
    fn ready(&self, handle: TeamHandle) {
        assert!(self.api.sync(handle), "sync");
    }

    /// # Safety
    /// Nobody writes to the destination now.
    unsafe fn holds(&self, at: usize, expected: &[u8], call: &str) {
        // SAFETY: within the buffer; the caller's promise.
        let is = unsafe { std::slice::from_raw_parts(self.buffers.dest.add(at), expected.len()) };
        assert!(is == expected, "{call}: step {}, {} bytes from {at}", self.step, expected.len());
    }
}
