//! Records while the driver keeps a call waiting.
use super::*;
use crate::on_stream::job::{Target, TeamSlot, WordAt};
use crate::on_stream::kernels::{Area, Few};
use crate::on_stream::queue::{Capture, HostFunction, Launch, Place, Rows};
use dushmem_core::device::StreamHandle;
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::team::Team;
use dushmem_testkit::job::until;
use std::ffi::c_void;
use std::sync::{OnceLock, Weak, mpsc};

/// A PE alone.
#[derive(Debug)]
struct Alone;

impl Job for Alone {
    fn my_pe(&self) -> usize {
        0
    }
    fn n_pes(&self) -> usize {
        1
    }
    fn sharing(&self) -> Sharing {
        Sharing::Turns
    }
    fn blocks(&self) -> u32 {
        1
    }
    fn first_on_device(&self, _pe: usize) -> usize {
        0
    }
    fn has_remote(&self) -> bool {
        false
    }
    fn changes_by_cpu(&self, _addr: usize) -> bool {
        false
    }
    fn is_direct(&self, _pes: &[u32]) -> bool {
        true
    }
    fn flagged(&self, _slot: usize, _pes: &[u32], _me: usize) -> Option<(Few, Area)> {
        None
    }

    fn few(&self, _slot: usize, _pes: &[u32], _me: usize) -> Option<Few> {
        None
    }
    fn copied_by_kernel(&self) -> usize {
        0
    }
    fn slot_words(&self, _slot: usize) -> WordAt<'_> {
        unreachable!("no meeting")
    }
    fn team_slot(&self, _slot: usize) -> TeamSlot {
        unreachable!("no meeting")
    }
    fn peer(&self, own: u64, _pe: usize) -> u64 {
        own
    }
    fn check_team(&self, _team: &Team) -> Result<()> {
        Ok(())
    }
    fn target(&self, _: &'static str, _: usize, _: usize, _: usize, _: i32) -> Result<Target> {
        unreachable!("no operation")
    }
    fn word(&self, _: &'static str, _: usize, _: usize, _: i32) -> Result<Target> {
        unreachable!("no operation")
    }
}

/// Makes a word when a stream has called the host for a wait, as a driver may that finishes what is under way first.
#[derive(Debug, Default)]
struct Slow {
    records: OnceLock<Weak<Records>>,
    word: Box<AtomicU32>,
    /// A look at a word does not come back meanwhile.
    stuck: Mutex<bool>,
    answers: Condvar,
}

impl Queue for Slow {
    fn capture(&self, _stream: StreamHandle) -> Result<Capture> {
        Ok(Capture::No)
    }
    fn has_nor(&self) -> bool {
        false
    }
    fn place(&self, _address: usize) -> Place {
        Place::Device
    }
    unsafe fn memory_ops(&self, _: StreamHandle, _: bool, _: &[MemOp]) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn copy(&self, _: StreamHandle, _: usize, _: usize, _: usize) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn copy_rows(&self, _: StreamHandle, _: &Rows) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn store_small(&self, _: StreamHandle, _: u64, _: u16, _: usize) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn launch(&self, _: StreamHandle, _: Launch) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn call(&self, _: StreamHandle, _: HostFunction, _: *mut c_void) -> Result<()> {
        unreachable!("no operation")
    }
    fn join(&self, _stream: StreamHandle, _captured: bool) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn read(&self, _source: usize, into: &mut [u8]) -> Result<()> {
        drop(self.answers.wait_while(locked(&self.stuck), |stuck| *stuck));
        into.fill(0);
        Ok(())
    }
    fn host_word(&self) -> Result<(*mut u32, u64)> {
        let records = self.records.get().and_then(Weak::upgrade).expect("set by the test");
        let (called, over) = mpsc::channel();
        std::thread::spawn(move || {
            records.begin(1, WHAT);
            called.send(()).unwrap();
        });
        over.recv_timeout(Duration::from_secs(20)).expect("the stream's call returns meanwhile");
        Ok((self.word.as_ptr(), 4))
    }
    fn host_block(&self, _: usize) -> Result<(usize, u64)> {
        unreachable!("no operation")
    }
}

const WHAT: What = What { call: Call::WaitUntil, team: -1, address: 0, bytes: 0 };

#[test]
fn who_makes_a_word_holds_up_no_stream() {
    let queue = Arc::new(Slow::default());
    let records = Arc::new(Records::new(Arc::new(Alone), Arc::clone(&queue) as _, Box::new(|_| {})));
    queue.records.set(Arc::downgrade(&records)).unwrap();
    assert_eq!(records.mark(WHAT, false).unwrap().address(), 4);
    records.end(1);
}

#[test]
fn a_driver_that_does_not_answer_is_noted() {
    let noted = Arc::new(Mutex::new(None));
    let queue = Arc::new(Slow { stuck: Mutex::new(true), ..Slow::default() });
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
