//! Records while the driver keeps a call waiting.
use super::*;
use crate::on_stream::fakes::{Alone, Faked, Part};
use dushmem_testkit::job::until;
use std::sync::{OnceLock, Weak, mpsc};

/// Makes a word when a stream has called the host for a wait, as a driver may that finishes what is under way first.
#[derive(Debug, Default)]
struct Slow {
    records: OnceLock<Weak<Records>>,
    word: Box<AtomicU32>,
    /// A look at a word does not come back meanwhile.
    stuck: Mutex<bool>,
    answers: Condvar,
}

impl Part for Slow {
    fn read(&self, into: &mut [u8]) {
        drop(self.answers.wait_while(locked(&self.stuck), |stuck| *stuck));
        into.fill(0);
    }
    fn host_word(&self) -> (*mut u32, u64) {
        let records = self.records.get().and_then(Weak::upgrade).expect("set by the test");
        let (called, over) = mpsc::channel();
        std::thread::spawn(move || {
            records.begin(1, WHAT);
            called.send(()).unwrap();
        });
        over.recv_timeout(Duration::from_secs(20)).expect("the stream's call returns meanwhile");
        (self.word.as_ptr(), 4)
    }
}

const WHAT: What = What { call: Call::WaitUntil, team: -1, address: 0, bytes: 0 };

#[test]
fn who_makes_a_word_holds_up_no_stream() {
    let queue = Arc::new(Faked(Slow::default()));
    let records = Arc::new(Records::new(Arc::new(Alone), Arc::clone(&queue) as _, Box::new(|_| {})));
    queue.records.set(Arc::downgrade(&records)).unwrap();
    assert_eq!(records.mark(WHAT, false).unwrap().address(), 4);
    records.end(1);
}

#[test]
fn a_driver_that_does_not_answer_is_noted() {
    let noted = Arc::new(Mutex::new(None));
    let queue = Arc::new(Faked(Slow { stuck: Mutex::new(true), ..Slow::default() }));
    let note = {
        let noted = Arc::clone(&noted);
        move |wait: Option<(WaitRecord, u64)>| *locked(&noted) = wait
    };
    let records = Arc::new(Records::new(Arc::new(Alone), Arc::clone(&queue) as _, Box::new(note)));
    queue.records.set(Arc::downgrade(&records)).unwrap();
    let what = What { address: 8, bytes: 4, ..WHAT };
    records.mark(what, false).unwrap();
    records.end(1);
    queue.word.store(CAME, Ordering::Release);
    let since = |record: WaitRecord| locked(&noted).filter(|noted| noted.0 == record).map(|noted| noted.1);
    let second = 1_000_000_000;
    until("the look is noted", || {
        since(WaitRecord::NO_ANSWER)
            .is_some_and(|since| dushmem_os::clock::monotonic_ns() > since + second / 2)
    });
    *locked(&queue.stuck) = false;
    queue.answers.notify_all();
    until("the wait is noted", || since(what.record(-1, 0)).is_some());
}
