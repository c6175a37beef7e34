//! The steps of collectives in a model: memory is a vector, and between two meetings the members' steps run in any order.
use super::*;

/// Bytes of a PE's memory.
const EACH: usize = 4096;
const DEST: usize = 2048;

struct Model {
    memory: Vec<u8>,
    random: u64,
}

impl Model {
    fn new(members: usize, seed: u64) -> Model {
        let mut model = Model { memory: vec![0; members * EACH], random: seed | 1 };
        for i in 0..model.memory.len() {
            model.memory[i] = model.below(256) as u8;
        }
        model
    }

    fn below(&mut self, n: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % n
    }

    fn bytes(&self, at: usize, len: usize) -> Vec<u8> {
        self.memory[at..at + len].to_vec()
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Meet => unreachable!("not work"),
            Step::Copy { dest, source, bytes } => {
                self.memory.copy_within(*source as usize..*source as usize + bytes, *dest as usize);
            }
            Step::Combine { sources, dests, n, elem, what } => {
                assert!(sources.len() + dests.len() <= COMBINE_ADDRESSES);
                for i in 0..*n {
                    let operand = |&at: &u64| self.bytes(at as usize + i * elem, *elem);
                    let result = sources.iter().map(operand).reduce(|a, b| combine(*what, &a, &b)).unwrap();
                    for &dest in dests {
                        assert_eq!(dest as usize % elem, 0);
                        self.memory[dest as usize + i * elem..][..*elem].copy_from_slice(&result);
                    }
                }
            }
        }
    }

    /// Runs all members' steps.
    fn run(&mut self, all: &[Vec<Step>]) {
        let phases: Vec<Vec<&[Step]>> =
            all.iter().map(|steps| steps.split(|step| matches!(step, Step::Meet)).collect()).collect();
        let count = phases[0].len();
        assert!(phases.iter().all(|phases| phases.len() == count), "members meet equally often");
        assert!(phases.iter().all(|phases| phases[0].is_empty() && phases[count - 1].is_empty()));
        for phase in 0..count {
            let mut next = vec![0; all.len()];
            loop {
                let left: Vec<usize> =
                    (0..all.len()).filter(|&member| next[member] < phases[member][phase].len()).collect();
                if left.is_empty() {
                    break;
                }
                let member = left[self.below(left.len())];
                self.step(&phases[member][phase][next[member]]);
                next[member] += 1;
            }
        }
    }
}

fn combine(what: Computes, a: &[u8], b: &[u8]) -> Vec<u8> {
    match (what.kind, what.op) {
        (ElementKind::U32, ReduceOp::Sum) => {
            let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
            number(a).wrapping_mul(3).wrapping_add(number(b)).to_le_bytes().to_vec()
        }
        (_, ReduceOp::Xor) => a.iter().zip(b).map(|(a, b)| a ^ b).collect(),
        other => panic!("{other:?}"),
    }
}

/// Members that share devices as the seed says: all one, each its own, or something in between.
fn places(members: usize, devices: usize, dest: usize) -> Vec<Places> {
    let device = |rank: usize| rank % devices;
    let worker: Vec<usize> =
        (0..members).map(|rank| (0..members).find(|&r| device(r) == device(rank)).unwrap()).collect();
    let at = |offset: usize| (0..members).map(|rank| (rank * EACH + offset) as u64).collect::<Vec<_>>();
    (0..members).map(|me| Places { me, dests: at(dest), sources: at(0), worker: worker.clone() }).collect()
}

/// All cases: members, devices, length of a block, and whether in place.
fn cases(mut f: impl FnMut(usize, usize, usize, bool)) {
    for members in [2, 3, 5, 8] {
        for devices in [1, 2, members] {
            for len in [0, 1, 8, 24, 61, 128] {
                f(members, devices, len, false);
                f(members, devices, len, true);
            }
        }
    }
}

fn dest(in_place: bool) -> usize {
    if in_place { 0 } else { DEST }
}

#[test]
fn broadcasts_and_fcollects_bring_the_blocks_to_all() {
    cases(|members, devices, len, in_place| {
        let before = Model::new(members, len as u64);
        let (mut model, root) = (Model::new(members, len as u64), members / 2);
        let all = places(members, devices, dest(in_place));
        model.run(&all.iter().map(|places| broadcast(places, root, len)).collect::<Vec<_>>());
        for rank in 0..members {
            assert_eq!(model.bytes(rank * EACH + dest(in_place), len), before.bytes(root * EACH, len));
        }
        let mut model = Model::new(members, len as u64);
        let all = places(members, devices, DEST);
        model.run(&all.iter().map(|places| fcollect(places, len)).collect::<Vec<_>>());
        for rank in 0..members {
            let expected: Vec<u8> = (0..members).flat_map(|from| before.bytes(from * EACH, len)).collect();
            assert_eq!(model.bytes(rank * EACH + DEST, members * len), expected);
            let after = rank * EACH + DEST + members * len;
            assert_eq!(model.bytes(after, 64), before.bytes(after, 64), "nothing behind the destination");
        }
    });
}

#[test]
fn alltoalls_exchange_blocks_also_in_place() {
    cases(|members, devices, len, in_place| {
        let before = Model::new(members, 7 + len as u64);
        let mut model = Model::new(members, 7 + len as u64);
        let all = places(members, devices, dest(in_place));
        model.run(&all.iter().map(|places| alltoall(places, len, in_place)).collect::<Vec<_>>());
        for rank in 0..members {
            for from in 0..members {
                let got = model.bytes(rank * EACH + dest(in_place) + from * len, len);
                assert_eq!(
                    got,
                    before.bytes(from * EACH + rank * len, len),
                    "{members} {devices} {len} {in_place}"
                );
            }
        }
    });
}

#[test]
fn reductions_combine_by_rank_also_in_place() {
    let what = Computes { kind: ElementKind::U32, op: ReduceOp::Sum };
    cases(|members, devices, n, in_place| {
        let before = Model::new(members, 99 + n as u64);
        let expected = |at: usize| {
            let operand = |rank: usize| before.bytes(rank * EACH + at, 4);
            (0..members).map(operand).reduce(|a, b| combine(what, &a, &b)).unwrap()
        };
        let mut model = Model::new(members, 99 + n as u64);
        let all = places(members, devices, dest(in_place));
        model.run(&all.iter().map(|places| reduce(places, n, 4, what)).collect::<Vec<_>>());
        for rank in 0..members {
            for i in 0..n {
                let got = model.bytes(rank * EACH + dest(in_place) + i * 4, 4);
                assert_eq!(got, expected(i * 4), "element {i} of {n} at {rank} of {members}");
            }
        }
        // As many elements as fit before the destinations.
        let n = n.min(DEST / 4 / members);
        let mut model = Model::new(members, 99 + n as u64);
        let before = Model::new(members, 99 + n as u64);
        model.run(&all.iter().map(|p| reduce_scatter(p, n, 4, what, in_place)).collect::<Vec<_>>());
        for rank in 0..members {
            for i in 0..n {
                let operand = |from: usize| before.bytes(from * EACH + (rank * n + i) * 4, 4);
                let expected = (0..members).map(operand).reduce(|a, b| combine(what, &a, &b)).unwrap();
                let got = model.bytes(rank * EACH + dest(in_place) + i * 4, 4);
                assert_eq!(got, expected, "element {i} of {n} at {rank} of {members}, {in_place}");
            }
        }
    });
}

#[test]
fn one_process_works_for_all_on_a_device() {
    let what = Computes { kind: ElementKind::U32, op: ReduceOp::Sum };
    for (rank, places) in places(8, 1, DEST).iter().enumerate() {
        let work = |steps: Vec<Step>| steps.iter().filter(|step| !matches!(step, Step::Meet)).count();
        let counts =
            [work(reduce(places, 100, 4, what)), work(fcollect(places, 64)), work(broadcast(places, 3, 64))];
        assert_eq!(counts, if rank == 0 { [1, 8, 1] } else { [0, 0, 0] });
    }
}
