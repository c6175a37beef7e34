//! Waits that the CPU looks at while the driver keeps a look waiting.
use super::*;
use crate::on_stream::compare::Shape;
use crate::on_stream::fakes::{Alone, Faked, Part};
use crate::on_stream::kernels;
use dushmem_core::device::Word;
use dushmem_core::error::Call;
use dushmem_testkit::job::until;
use std::sync::atomic::Ordering;

/// A stream that has come to the wait when it is enqueued, and the word that it waits for.
#[derive(Debug, Default)]
struct Stuck {
    /// What the stream waits for, and the word of the wait.
    word: AtomicU64,
    said: Box<AtomicU32>,
    /// Looks don't come back meanwhile; how many have begun.
    stuck: Mutex<bool>,
    answers: Condvar,
    looks: AtomicU32,
    /// What the graph calls.
    call: Mutex<Option<(HostFunction, usize)>>,
    kernels: AtomicU32,
}

impl Stuck {
    fn set_stuck(&self, stuck: bool) {
        *self.stuck.lock().unwrap() = stuck;
        self.answers.notify_all();
    }

    /// The graph comes to the wait.
    fn launch_graph(&self) {
        let (function, data) = self.call.lock().unwrap().expect("enqueued");
        // SAFETY: what was enqueued.
        unsafe { function(data as *mut c_void) };
    }

    /// What the word says, sooner or later, which the kernel takes back.
    #[track_caller]
    fn said(&self) -> u32 {
        let mut said = 0;
        until("the word says something", || {
            said = self.said.swap(0, Ordering::AcqRel);
            said != 0
        });
        said
    }
}

impl Part for Stuck {
    fn memory_ops(&self, ops: &[MemOp]) {
        let at = self.said.as_ptr() as u64;
        assert_eq!(ops, [MemOp::Wait32 { at, value: HOLDS, until: Until::Geq }]);
    }
    fn launch(&self, launch: &Launch) {
        assert_eq!(launch.args.get(6), [self.said.as_ptr() as u64]);
        self.kernels.fetch_add(1, Ordering::Relaxed);
    }
    fn call(&self, function: HostFunction, data: *mut c_void) {
        *self.call.lock().unwrap() = Some((function, data as usize));
    }
    fn read(&self, into: &mut [u8]) {
        // What it finds it has read before it waits.
        let word = self.word.load(Ordering::Acquire);
        self.looks.fetch_add(1, Ordering::AcqRel);
        drop(self.answers.wait_while(self.stuck.lock().unwrap(), |stuck| *stuck));
        into.copy_from_slice(&word.to_le_bytes()[..into.len()]);
    }
    fn host_word(&self) -> (*mut u32, u64) {
        (self.said.as_ptr(), self.said.as_ptr() as u64)
    }
}

/// A captured wait until the word is not 5.
fn watched() -> (Arc<Faked<Stuck>>, Watch) {
    let queue = Arc::new(Faked(Stuck { word: AtomicU64::new(5), ..Stuck::default() }));
    let records = Records::new(Arc::new(Alone), Arc::clone(&queue) as _, Box::new(|_| ()));
    let report: Report = Box::new(|call, why| panic!("{call}: {why}"));
    let watch = Watch::new(Arc::clone(&queue) as _, report, Arc::new(records));
    let what = What { call: Call::WaitUntil, team: -1, address: 0, bytes: 0 };
    let (shape, cmp) = (Shape::from(Word::U64(5)), Cmp::Ne);
    let look = Look { at: 4096, shape, cmp, n: 1, status: 0, values: Values::One };
    let wait = Wait { call: "wait_until", what, captured: true };
    let kernel = |said| kernels::wait(4096, shape, cmp, 0, said);
    // SAFETY: the queue reads nothing.
    unsafe { watch.enqueue(StreamHandle(0), wait, look, [None, None], &kernel) }.unwrap();
    assert_eq!(queue.kernels.load(Ordering::Relaxed), 1);
    (queue, watch)
}

#[test]
fn who_can_look_says_what_holds() {
    let (queue, _watch) = watched();
    for _ in 0..3 {
        queue.word.store(5, Ordering::Release);
        queue.launch_graph();
        // Longer than a look that the driver doesn't answer.
        std::thread::sleep(3 * STUCK);
        assert_eq!(queue.said.load(Ordering::Acquire), 0);
        queue.word.store(6, Ordering::Release);
        assert_eq!(queue.said(), HOLDS);
    }
}

#[test]
fn while_no_look_comes_back_kernels_wait() {
    let (queue, watch) = watched();
    queue.set_stuck(true);
    queue.launch_graph();
    assert_eq!(queue.said(), BY_KERNEL);
    // The driver is known not to answer: nobody waits for that again.
    for _ in 0..5 {
        queue.launch_graph();
        assert_eq!(queue.said(), BY_KERNEL);
    }
    queue.set_stuck(false);
    until("the look comes back", || watch.shared.asked.load(Ordering::Acquire) == 0);
    queue.word.store(6, Ordering::Release);
    queue.launch_graph();
    assert_eq!(queue.said(), HOLDS);
}

#[test]
fn an_old_look_says_nothing_of_a_new_wait() {
    let (queue, watch) = watched();
    queue.set_stuck(true);
    queue.word.store(6, Ordering::Release);
    queue.launch_graph();
    assert_eq!(queue.said(), BY_KERNEL);
    // The next launch, for which the word is as it shall not be; the look that comes back has seen another.
    queue.word.store(5, Ordering::Release);
    let looks = queue.looks.load(Ordering::Acquire);
    let (_, data) = queue.call.lock().unwrap().unwrap();
    // SAFETY: what the graph calls the function with, which is never freed.
    let entry = ManuallyDrop::new(unsafe { Arc::from_raw(data as *const Entry) });
    let mut active = watch.shared.active();
    queue.set_stuck(false);
    let number = active.begun + 1;
    active.waits.push((Arc::clone(&entry), number));
    drop(active);
    until("it is looked at again", || queue.looks.load(Ordering::Acquire) >= looks + 2);
    assert_eq!(queue.said.load(Ordering::Acquire), 0);
    queue.word.store(6, Ordering::Release);
    assert_eq!(queue.said(), HOLDS);
}
