//! Meetings in a model: each PE's stream is a list of memory operations, and a scheduler picks at random whose next
//! one runs. Nobody may leave a meeting before all of its members have come.
use super::*;
use std::collections::BTreeMap;

/// One PE's stream.
#[derive(Clone, Debug)]
enum Step {
    Memory(MemOp),
    Come(usize),
    Leave(usize),
}

/// What the PEs' streams do, and who takes part in which meeting.
struct Streams {
    steps: Vec<Vec<Step>>,
    members: Vec<Vec<u32>>,
    counts: BTreeMap<(usize, usize), Counts>,
    /// What is there before.
    memory: BTreeMap<u64, u32>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Eager,
    Captured,
    /// What must not work: the words of one half only.
    OneHalf,
}

fn address(slot: usize, words: Words, owner: usize, writer: usize) -> u64 {
    (((slot * 3 + words as usize) * 100 + owner) * 100 + writer) as u64 * 8
}

impl Streams {
    fn new(pes: usize) -> Streams {
        Streams {
            steps: vec![Vec::new(); pes],
            members: vec![],
            counts: BTreeMap::new(),
            memory: BTreeMap::new(),
        }
    }

    /// A meeting of these PEs, as a team in that slot.
    fn meet(&mut self, pes: &[u32], slot: usize, kind: Kind) {
        let (meeting, world) = (self.members.len(), self.steps.len());
        self.members.push(pes.to_vec());
        for (me, &pe) in pes.iter().enumerate() {
            let pe = pe as usize;
            let word = move |words, owner, writer| address(slot, words, owner, writer);
            let group = Group { pes, me, word: &word };
            let mut ops = Vec::new();
            match kind {
                Kind::Eager => {
                    let counts = self.counts.entry((pe, slot)).or_insert_with(|| Counts::new(world));
                    group.meet(counts, &mut ops);
                }
                Kind::Captured => {
                    group.meet_captured(Half::First, &mut ops);
                    group.meet_captured(Half::Second, &mut ops);
                }
                Kind::OneHalf => group.meet_captured(Half::First, &mut ops),
            }
            self.steps[pe].push(Step::Come(meeting));
            self.steps[pe].extend(ops.into_iter().map(Step::Memory));
            self.steps[pe].push(Step::Leave(meeting));
        }
    }

    /// Runs them; an error says what went wrong.
    fn run(&self, seed: u64) -> Result<(), String> {
        let mut random = Random(seed | 1);
        let mut memory = self.memory.clone();
        let mut next = vec![0; self.steps.len()];
        let mut came = vec![0; self.members.len()];
        loop {
            let unfinished: Vec<usize> =
                (0..next.len()).filter(|&pe| next[pe] < self.steps[pe].len()).collect();
            if unfinished.is_empty() {
                return match memory.iter().find(|(at, value)| **value != 0 && *at / 80_000 % 3 != 0) {
                    Some((at, value)) => Err(format!("word {at} is left as {value}")),
                    None => Ok(()),
                };
            }
            let ready = |&&pe: &&usize| match &self.steps[pe][next[pe]] {
                Step::Memory(MemOp::Wait32 { at, value, until }) => {
                    let word = memory.get(at).copied().unwrap_or(0);
                    match until {
                        Until::Geq => word.wrapping_sub(*value) as i32 >= 0,
                        Until::Eq => word == *value,
                        other => panic!("{other:?}"),
                    }
                }
                _ => true,
            };
            let ready: Vec<usize> = unfinished.iter().filter(ready).copied().collect();
            if ready.is_empty() {
                return Err(format!(
                    "all wait: {:?}",
                    unfinished.iter().map(|&pe| &self.steps[pe][next[pe]]).collect::<Vec<_>>()
                ));
            }
            // Some PEs run far ahead of others, as processes that have the device for a while.
            let pe = ready[random.below(ready.len())];
            for _ in 0..1 + random.below(6) {
                let Some(step) =
                    self.steps[pe].get(next[pe]).filter(|_| ready_again(&self.steps[pe], next[pe], &memory))
                else {
                    break;
                };
                match step {
                    Step::Memory(MemOp::Write32 { at, value }) => drop(memory.insert(*at, *value)),
                    Step::Memory(_) => {}
                    Step::Come(meeting) => came[*meeting] += 1,
                    Step::Leave(meeting) if came[*meeting] < self.members[*meeting].len() => {
                        return Err(format!("PE {pe} left meeting {meeting} too early"));
                    }
                    Step::Leave(_) => {}
                }
                next[pe] += 1;
            }
        }
    }
}

fn ready_again(steps: &[Step], next: usize, memory: &BTreeMap<u64, u32>) -> bool {
    match &steps[next] {
        Step::Memory(MemOp::Wait32 { at, value, until }) => {
            let word = memory.get(at).copied().unwrap_or(0);
            if *until == Until::Eq { word == *value } else { word.wrapping_sub(*value) as i32 >= 0 }
        }
        _ => true,
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn everybody(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

#[test]
fn nobody_leaves_before_all_have_come() {
    for n in [1, 2, 3, 4, 5, 7, 8, 13, 64] {
        for kind in [Kind::Eager, Kind::Captured] {
            let mut streams = Streams::new(n);
            (0..6).for_each(|_| streams.meet(&everybody(n), 0, kind));
            for seed in 0..if n == 64 { 5 } else { 60 } {
                streams
                    .run(seed * 77 + 5)
                    .unwrap_or_else(|why| panic!("{n} PEs, {kind:?}, seed {seed}: {why}"));
            }
        }
    }
}

#[test]
fn captured_and_other_meetings_follow_each_other_in_any_order() {
    for seed in 0..150 {
        let mut random = Random(seed * 31 + 1);
        let n = 2 + random.below(7);
        let mut streams = Streams::new(n);
        for _ in 0..12 {
            let kind = if random.below(2) == 0 { Kind::Eager } else { Kind::Captured };
            streams.meet(&everybody(n), 0, kind);
        }
        streams.run(seed).unwrap_or_else(|why| panic!("{n} PEs, seed {seed}: {why}"));
    }
}

#[test]
fn later_teams_use_a_slot_without_agreeing_on_anything() {
    for seed in 0..150 {
        let mut random = Random(seed * 17 + 3);
        let n = 3 + random.below(8);
        let mut streams = Streams::new(n);
        for _ in 0..6 {
            // A team of any members, in any order, that meets a few times; its slot is the last one's, or another.
            let mut pes: Vec<u32> = (0..n as u32).filter(|_| random.below(3) > 0).collect();
            let from = random.below(pes.len() + 1);
            pes.rotate_left(from);
            let slot = random.below(2);
            for _ in 0..3 {
                let kind = if random.below(3) > 0 { Kind::Eager } else { Kind::Captured };
                if !pes.is_empty() {
                    streams.meet(&pes, slot, kind);
                }
            }
        }
        streams.run(seed).unwrap_or_else(|why| panic!("{n} PEs, seed {seed}: {why}"));
    }
}

#[test]
fn one_half_is_not_enough_for_constants() {
    for n in [2, 3, 4, 8] {
        let mut streams = Streams::new(n);
        (0..6).for_each(|_| streams.meet(&everybody(n), 0, Kind::OneHalf));
        let failed = (0..2000).any(|seed| streams.run(seed * 7919).is_err());
        assert!(failed, "{n} PEs: the model finds nothing wrong with words that are set again at once");
    }
}

#[test]
fn counts_go_round() {
    let (n, near) = (4, u32::MAX - 2);
    let mut streams = Streams::new(n);
    for pe in 0..n {
        streams.counts.insert((pe, 0), Counts { sent: vec![near; n].into(), got: vec![near; n].into() });
        streams.memory.extend((0..n).map(|writer| (address(0, Words::Epoch, pe, writer), near)));
    }
    (0..8).for_each(|_| streams.meet(&everybody(n), 0, Kind::Eager));
    for seed in 0..60 {
        streams.run(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

/// Streams stop where one PE puts nothing more into its stream: those that wait for it say so, and the others wait for one
/// that waits, too.
#[test]
fn a_stream_that_waits_is_seen_and_for_whom() {
    let each = |kind| (2..10).flat_map(move |n| (0..40).map(move |seed| (kind, n, seed)));
    for (kind, n, seed) in each(Kind::Eager).chain(each(Kind::Captured)) {
        let mut random = Random(seed * 19 + n as u64);
        let mut streams = Streams::new(n);
        let before = 1 + random.below(4);
        (0..before).for_each(|_| streams.meet(&everybody(n), 0, kind));
        let late = random.below(n);
        let mut ends = streams.steps[late].len();
        let counts = streams.counts.get(&(late, 0)).cloned();
        (0..3).for_each(|_| streams.meet(&everybody(n), 0, kind));
        // It may have come to the first half of the next one.
        if matches!(kind, Kind::Captured) && seed % 2 == 1 {
            ends += (streams.steps[late].len() - ends) / 3 / 2;
        }
        streams.steps[late].truncate(ends);
        if let Some(counts) = counts {
            streams.counts.insert((late, 0), counts);
        }
        let (mut memory, mut next) = (BTreeMap::new(), vec![0; n]);
        loop {
            let may = |pe: &usize| {
                next[*pe] < streams.steps[*pe].len() && ready_again(&streams.steps[*pe], next[*pe], &memory)
            };
            let ready: Vec<usize> = (0..n).filter(may).collect();
            let Some(&pe) = ready.get(random.below(ready.len().max(1))) else { break };
            if let Step::Memory(MemOp::Write32 { at, value }) = &streams.steps[pe][next[pe]] {
                memory.insert(*at, *value);
            }
            next[pe] += 1;
        }
        let word = |words, owner, writer| address(0, words, owner, writer);
        let pes = everybody(n);
        for (pe, &next) in next.iter().enumerate() {
            let group = Group { pes: &pes, me: pe, word: &word };
            let mut read = |at| Ok(memory.get(&at).copied().unwrap_or(0));
            let awaited = match kind {
                Kind::Captured => group.awaited_captured(&mut read).unwrap(),
                _ => group.awaited(&streams.counts[&(pe, 0)], &mut read).unwrap().map(|(pe, _)| pe),
            };
            // The word of which PE it really is.
            let really = streams.steps[pe].get(next).map(|step| match step {
                Step::Memory(MemOp::Wait32 { at, .. }) => (*at / 8 % 100) as i32,
                other => panic!("stands at {other:?}"),
            });
            // Of a captured meeting only who waits is asked.
            if matches!(kind, Kind::Eager) || really.is_some() {
                assert_eq!(awaited, really, "{kind:?}, PE {pe} of {n}, seed {seed}, {late} is late");
            }
            assert_eq!(really.is_none(), pe == late);
        }
    }
}

#[test]
fn a_meeting_fits_into_one_call_of_the_driver() {
    let word = |words, owner, writer| address(0, words, owner, writer);
    let pes = everybody(64);
    let group = Group { pes: &pes, me: 5, word: &word };
    let mut ops = Vec::new();
    group.meet_captured(Half::First, &mut ops);
    group.meet_captured(Half::Second, &mut ops);
    assert!(ops.len() <= crate::on_stream::queue::BATCH, "{}", ops.len());
}
