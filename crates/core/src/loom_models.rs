//! The waiting protocols in every interleaving that loom finds. A wake-up that gets lost is a deadlock here:
//! sleeping has no time limit in these models. (Taking the second look after arming out of
//! [`Doorbell::sleep`] gives such a deadlock; loom then ends the process, so no test expects it.)
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p dushmem-core --lib --release loom`
use crate::atomics::{AtomicU32, AtomicU64, Ordering};
use crate::coll::post::{Ahead, Posts};
use crate::job::WaitRecord;
use crate::proxy::ring::{Descriptor, Reply, Ring, WORDS};
use crate::sync::{AHEAD, Agreement, SyncLine};
use crate::wait::{Doorbell, SpinPolicy};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use std::time::Duration;

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

struct Team {
    line: SyncLine,
    policy: SpinPolicy,
    /// What each member wrote before it arrived.
    data: Vec<AtomicU32>,
}

/// Each member on a thread of its own, until all are through.
fn on_all<T: 'static>(members: u32, team: &Arc<T>, member: impl Fn(u32, &T) + Copy + 'static) {
    let others: Vec<_> = (1..members)
        .map(|me| {
            let team = Arc::clone(team);
            loom::thread::spawn(move || member(me, &team))
        })
        .collect();
    member(0, team);
    others.into_iter().for_each(|other| other.join().unwrap());
}

/// `members` synchronise `epochs` times; in epoch `odd` the last member passes another tag.
fn synchronise(members: u32, epochs: u32, odd: u32) {
    let data = (0..members).map(|_| AtomicU32::new(0)).collect();
    let policy = SpinPolicy::new(members as usize, 1);
    let team = Arc::new(Team { line: SyncLine::new(), policy, data });
    let member = move |me: u32, team: &Team| {
        for epoch in 1..=epochs {
            team.data[me as usize].store(epoch, Ordering::Relaxed);
            let tag = if epoch == odd && me + 1 == members { 8 } else { 7 };
            team.line.arrive(members, epoch, tag);
            let agreed = team.line.wait(epoch, &team.policy, None, WaitRecord::default);
            assert_eq!(agreed, if epoch == odd { Agreement::Differ } else { Agreement::Same });
            for word in &team.data {
                let seen = word.load(Ordering::Relaxed);
                assert!(seen == epoch || seen == epoch + 1, "epoch {epoch}: {seen}");
            }
        }
    };
    on_all(members, &team, member);
    assert_eq!(team.line.released_epoch(), epochs);
}

#[test]
fn two_members_three_epochs() {
    check(3, || synchronise(2, 3, 2));
}

#[test]
fn three_members_two_epochs() {
    check(2, || synchronise(3, 2, 1));
}

/// A team that broadcasts, and what its members post as roots, which is no atomic.
struct Broadcasts {
    line: SyncLine,
    policy: SpinPolicy,
    posts: Vec<Posts>,
    cargo: Vec<Vec<UnsafeCell<u32>>>,
}

/// One call of a team.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// Of this root, which goes on; `true`: when all have read.
    Broadcast(usize, bool),
    /// All wait for all.
    Sync,
}

impl Broadcasts {
    /// One call of member `me`, the `epoch`th; false where it is told that others make another one.
    fn call(&self, me: usize, epoch: u32, step: Step, released: &mut u32) -> bool {
        let members = self.posts.len() as u32;
        let none = WaitRecord::default;
        if !SyncLine::has_room(epoch, *released) {
            *released = self.line.wait_for_room(epoch, &self.policy, None, none);
        }
        let Step::Broadcast(root, reads_source) = step else {
            match self.line.count(members, epoch, 7) {
                Some(true) => self.line.release(epoch),
                Some(false) => self.part(epoch),
                None => {}
            }
            *released = epoch;
            return self.line.wait(epoch, &self.policy, None, none) == Agreement::Same;
        };
        let tag = 8 + root as u32;
        let ahead = Ahead { line: &self.line, posts: &self.posts[root], members, epoch, tag, next: false };
        let cargo = &self.cargo[root][(epoch % AHEAD) as usize];
        if me == root {
            // A race with a member that still reads what stood there would be found here.
            cargo.with_mut(|cargo| unsafe { *cargo = epoch });
            ahead.post();
        }
        if ahead.arrive() == Some(false) {
            self.part(epoch);
            return false;
        }
        if me == root {
            return !reads_source || ahead.wait_for_readers(&self.policy, None, none);
        }
        if !ahead.wait_for_root(&self.policy, None, none) {
            return false;
        }
        cargo.with(|cargo| assert_eq!(unsafe { *cargo }, epoch));
        if reads_source {
            ahead.acknowledge();
        }
        true
    }

    fn part(&self, epoch: u32) {
        self.line.release_differing(epoch, true);
        self.posts.iter().for_each(Posts::ring);
    }
}

/// `members` make these calls; `odd`: but the last one makes another in that epoch. Everybody has been told at the end.
fn broadcast(members: usize, steps: &'static [Step], odd: Option<(u32, Step)>, preemptions: usize) {
    check(preemptions, move || {
        let team = Arc::new(Broadcasts {
            line: SyncLine::new(),
            policy: SpinPolicy::new(members, 1),
            posts: (0..members).map(|_| Posts::new()).collect(),
            cargo: (0..members).map(|_| (0..AHEAD).map(|_| UnsafeCell::new(0)).collect()).collect(),
        });
        let member = move |me: usize, team: &Broadcasts| {
            let (mut released, mut told) = (0, 0);
            for (step, epoch) in steps.iter().zip(1..) {
                let other = odd.filter(|&(at, _)| at == epoch && me + 1 == members);
                let step = other.map_or(*step, |(_, step)| step);
                told += u32::from(!team.call(me, epoch, step, &mut released));
            }
            assert_eq!(told > 0, odd.is_some());
        };
        on_all(members as u32, &team, move |me, team| member(me as usize, team));
        assert_eq!(team.line.released_epoch(), steps.len() as u32);
    });
}

#[test]
fn a_root_goes_round_its_posts() {
    use Step::Broadcast;
    broadcast(2, &[Broadcast(0, false), Broadcast(0, false), Broadcast(0, false)], None, 3);
}

#[test]
fn roots_in_turn_and_a_synchronisation() {
    use Step::{Broadcast, Sync};
    broadcast(2, &[Broadcast(0, false), Broadcast(1, false), Sync, Broadcast(0, false)], None, 2);
}

#[test]
fn two_members_read_the_source_of_a_third() {
    use Step::Broadcast;
    broadcast(3, &[Broadcast(2, true), Broadcast(1, false)], None, 2);
}

#[test]
fn a_root_waits_for_the_one_that_reads_its_source() {
    use Step::Broadcast;
    broadcast(2, &[Broadcast(0, true), Broadcast(0, true)], None, 3);
}

#[test]
fn who_went_on_is_told_of_a_member_that_differs() {
    use Step::{Broadcast, Sync};
    broadcast(2, &[Broadcast(0, false), Sync], Some((1, Broadcast(1, false))), 2);
    broadcast(2, &[Broadcast(0, false), Sync], Some((1, Sync)), 2);
    broadcast(2, &[Broadcast(1, false), Sync], Some((1, Broadcast(0, true))), 2);
    broadcast(3, &[Broadcast(1, false), Sync], Some((1, Broadcast(0, false))), 1);
}

struct Words {
    bell: Doorbell,
    words: [AtomicU32; 2],
}

fn sleeper(shared: &Words, word: usize) {
    let ready = || shared.words[word].load(Ordering::Acquire) == 1;
    while !ready() {
        shared.bell.sleep(Duration::ZERO, ready);
    }
}

fn writer(shared: &Words, word: usize) {
    // As a put does: no barrier between the store and the look at the bell, but what `ring` contains.
    shared.words[word].store(1, Ordering::Release);
    shared.bell.ring();
}

fn ring(writers: usize, sleepers: usize, preemptions: usize) {
    check(preemptions, move || {
        let words = [AtomicU32::new(0), AtomicU32::new(0)];
        let shared = Arc::new(Words { bell: Doorbell::new(), words });
        let writing = (1..writers).map(|word| (true, word));
        let sleeping = (0..sleepers).map(|i| (false, i % writers));
        let threads: Vec<_> = writing
            .chain(sleeping)
            .map(|(writes, word)| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(
                    move || if writes { writer(&shared, word) } else { sleeper(&shared, word) },
                )
            })
            .collect();
        writer(&shared, 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn one_writer_one_sleeper() {
    ring(1, 1, 4);
}

#[test]
fn one_writer_two_sleepers() {
    ring(1, 2, 3);
}

#[test]
fn two_writers_one_sleeper_each() {
    ring(2, 2, 2);
}

/// The ring of requests to the proxy.
struct Requests {
    head: AtomicU64,
    descriptors: Vec<Descriptor>,
    replies: Vec<Reply>,
    /// The proxy's, and that of those who wait for it.
    bell: Doorbell,
    done: Doorbell,
}

impl Requests {
    fn new(slots: usize) -> Arc<Requests> {
        Arc::new(Requests {
            head: AtomicU64::new(0),
            descriptors: (0..slots).map(|_| Descriptor::default()).collect(),
            replies: (0..slots).map(|_| Reply::default()).collect(),
            bell: Doorbell::new(),
            done: Doorbell::new(),
        })
    }

    fn ring(&self) -> Ring<'_> {
        Ring::new(&self.head, &self.descriptors, &self.replies)
    }

    /// Waits as producers do: for what the proxy does next.
    fn wait<R>(&self, mut ready: impl FnMut() -> Option<R>) -> R {
        loop {
            if let Some(value) = ready() {
                return value;
            }
            let mut found = None;
            self.done.sleep(Duration::ZERO, || {
                found = ready();
                found.is_some()
            });
            if let Some(value) = found {
                return value;
            }
        }
    }

    /// Posts; `wants`: and gets the result, one more than what was asked.
    fn produce(&self, value: u64, wants: bool) {
        let words = core::array::from_fn::<u64, WORDS, _>(|_| value << 1 | u64::from(wants));
        let ring = self.ring();
        let ticket = loop {
            if let Some(ticket) = ring.try_post(&words) {
                break ticket;
            }
            self.wait(|| ring.has_room().then_some(()));
        };
        self.bell.ring();
        if wants {
            let result = self.wait(|| ring.take_result(ticket));
            assert_eq!(result, [value + 1, value + 2]);
            self.done.ring();
        }
    }

    /// Executes so many requests, and gives the sum of what they asked.
    fn consume(&self, total: u64) -> u64 {
        let ring = self.ring();
        let mut sum = 0;
        for ticket in 0..total {
            let words = loop {
                if let Some(words) = ring.next(ticket) {
                    break words;
                }
                self.bell.sleep(Duration::ZERO, || ring.next(ticket).is_some());
            };
            let value = words[0] >> 1;
            sum += value;
            ring.finish(ticket, (words[0] & 1 == 1).then_some([value + 1, value + 2]));
            self.done.ring();
        }
        sum
    }
}

/// Each producer posts its requests, one after another; `true`: with a result.
fn requests(slots: usize, producers: &'static [&'static [bool]], preemptions: usize) {
    check(preemptions, move || {
        let shared = Requests::new(slots);
        let threads: Vec<_> = producers
            .iter()
            .enumerate()
            .map(|(who, posts)| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    for (i, &wants) in posts.iter().enumerate() {
                        shared.produce(10 * who as u64 + i as u64, wants);
                    }
                })
            })
            .collect();
        let expected =
            |(who, posts): (usize, &&[bool])| (0..posts.len()).map(|i| 10 * who + i).sum::<usize>();
        let total = producers.iter().map(|posts| posts.len() as u64).sum();
        let sum = shared.consume(total);
        assert_eq!(sum as usize, producers.iter().enumerate().map(expected).sum::<usize>());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn one_producer_and_a_proxy_that_sleeps_go_round_the_ring() {
    requests(2, &[&[false, true, false]], 3);
}

#[test]
fn a_result_keeps_the_only_slot_from_another_producer() {
    requests(1, &[&[true], &[false]], 2);
}

#[test]
fn two_producers_without_results_share_a_slot() {
    requests(1, &[&[false], &[false]], 2);
}
