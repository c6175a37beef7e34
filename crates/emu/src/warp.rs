//! Operations of warps: the lanes that take part meet, and the last one to come acts for all.
//!
//! A lane brings the address of its part, which lies on its stack and stays there while it waits. When
//! everybody is there, one function runs over all parts and writes the results into them; then the lanes
//! go on. So parts can have any size, and nothing has to be kept until the slowest lane has read it.
//!
//! Two kinds of meetings:
//!
//! * with a mask (`__shfl_sync`): complete when every lane of the mask that hasn't returned is there. Lanes
//!   may come from different lines of the program.
//! * without (`__activemask`, HIP's `__shfl` and `__ballot`): among those lanes that would run together on
//!   a device. Complete when all lanes of the warp that haven't returned are at that place, or when no
//!   thread of the block can run otherwise: then those at the first line of the program go on, as lanes
//!   behind in a branch or loop do on a device, until they catch up with the others.
//!
//! Nothing here suspends anybody: [`Warps`] is told who comes and who returns, and says who may go on.
use crate::board::Board;
use crate::called::{Made, Name};
use crate::{kernel, watch};
use std::ffi::{CStr, c_char, c_void};

/// Most lanes of a warp.
pub const MAX_LANES: usize = 64;

/// What a lane brings, as the headers describe it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Meeting {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// Line of the program that the call stands in.
    pub line: u32,
    /// Lanes that take part; 0: those that come here together.
    pub mask: u64,
    /// The operation's name, for messages; lives for ever.
    pub call: *const c_char,
    /// File of the line.
    pub file: *const c_char,
    /// Called once, with the parts of those that take part at the places of their lanes. None: nothing to do.
    pub act: Option<unsafe extern "C" fn(parts: *const *mut c_void, members: u64)>,
    /// Begins with a word that receives the lanes that took part.
    pub part: *mut u64,
}

impl Meeting {
    fn call(&self) -> std::borrow::Cow<'_, str> {
        // SAFETY: a C string that lives for ever, as the headers promise.
        if self.call.is_null() { "".into() } else { unsafe { CStr::from_ptr(self.call) }.to_string_lossy() }
    }

    fn same_place(&self, other: &Meeting) -> bool {
        let same_text = |a: *const c_char, b: *const c_char| {
            // SAFETY: as above.
            a == b || (!a.is_null() && !b.is_null() && unsafe { CStr::from_ptr(a) == CStr::from_ptr(b) })
        };
        self.line == other.line && same_text(self.file, other.file) && same_text(self.call, other.call)
    }

    /// The operation of one lane alone: what a call outside of kernels is.
    ///
    /// # Safety
    /// `part` and `act` are valid.
    pub unsafe fn alone(&self) {
        let parts = [self.part.cast::<c_void>()];
        // SAFETY: as the caller promises.
        unsafe {
            self.part.write(1);
            if let Some(act) = self.act {
                act(parts.as_ptr(), 1);
            }
        }
    }
}

/// A meeting under way.
#[derive(Clone, Copy)]
struct Round {
    warp: u32,
    what: Meeting,
    /// Lanes that are there.
    here: u64,
    /// The call of the library that the first one came in, that lane, and the lanes that came in it; that of the last other one.
    made: Made,
    first: u32,
    in_call: u64,
    other: Name,
    parts: [*mut c_void; MAX_LANES],
    /// How the scheduler knows them.
    who: [u32; MAX_LANES],
}

/// What becomes of a lane that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It waits; the scheduler gets its number back when it may go on.
    Waits,
    /// The operation is done; it goes on, and so do those whose numbers were given out.
    GoesOn,
}

/// Why lanes can't go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    /// What is wrong with a call of one lane.
    Call(String),
    /// Of the lanes of a warp, all of which have to make a call of the library alike, only some do, or with other arguments.
    Apart {
        /// The call.
        call: &'static str,
        /// Which do, and where the others are; or what they have passed.
        text: String,
    },
}

impl Wrong {
    /// Ends the job.
    #[cold]
    pub(crate) fn end(self, board: &Board) -> ! {
        let (call, text) = match self {
            Wrong::Call(text) => ("a call of a warp", text),
            Wrong::Apart { call, text } => (call, text),
        };
        kernel::end_at(call, &text, 1, &format!(" ({})", watch::place(board)))
    }
}

/// The meetings of one block.
#[derive(Default)]
pub struct Warps {
    /// Lanes of a warp.
    width: u32,
    /// Threads of the block.
    threads: u32,
    rounds: Vec<Round>,
    /// Lanes that have returned, by warp.
    returned: Vec<u64>,
}

impl std::fmt::Debug for Warps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Warps({} meetings)", self.rounds.len())
    }
}

impl Warps {
    /// A block of so many threads begins.
    pub fn begin(&mut self, threads: u32, width: u32) {
        self.width = width;
        self.threads = threads;
        self.rounds.clear();
        self.returned.clear();
        self.returned.resize(threads.div_ceil(width) as usize, 0);
        let last = threads % width;
        if let (Some(lanes), true) = (self.returned.last_mut(), last != 0) {
            // Lanes that the block has no threads for never come.
            *lanes = !0 << last;
        }
    }

    fn all_lanes(&self) -> u64 {
        !0 >> (64 - self.width)
    }

    /// A thread has returned; true if somebody may wait for it.
    #[inline]
    pub fn note_return(&mut self, thread: u32) -> bool {
        self.returned[(thread / self.width) as usize] |= 1 << (thread % self.width);
        !self.rounds.is_empty()
    }

    /// Ends the meetings that waited for nobody but a thread that has returned. `woken` receives who goes on.
    pub fn after_return(&mut self, thread: u32, woken: &mut impl Extend<u32>) -> Result<(), Wrong> {
        let warp = thread / self.width;
        let mut at = 0;
        while at < self.rounds.len() {
            if self.rounds[at].warp == warp && self.complete(at) {
                let round = self.rounds.swap_remove(at);
                self.check(&round)?;
                act(&round, woken, None);
            } else {
                at += 1;
            }
        }
        Ok(())
    }

    /// A call of the library is made by all lanes of a warp.
    #[inline]
    fn check(&self, round: &Round) -> Result<(), Wrong> {
        // Calls meet all lanes; a mask of some is the program's, or that of half a warp of 64.
        if round.what.mask != self.all_lanes() {
            return Ok(());
        }
        let all_came = round.here == self.lanes_of(round.warp);
        if round.in_call == round.here && (all_came || round.made.name.address().is_null()) {
            return Ok(());
        }
        Err(self.partly(round))
    }

    /// All lanes that a warp of the block has.
    fn lanes_of(&self, warp: u32) -> u64 {
        !0 >> (64 - (self.threads - warp * self.width).min(self.width))
    }

    #[cold]
    fn partly(&self, round: &Round) -> Wrong {
        let all = self.lanes_of(round.warp);
        let (mut made, mut elsewhere, mut other) = (round.in_call, round.here & !round.in_call, round.other);
        let call = round.made.name.text().unwrap_or_else(|| {
            // The first one was in none.
            (made, elsewhere, other) = (elsewhere, made, Name::NONE);
            round.other.text().unwrap_or_default()
        });
        let count = made.count_ones();
        let s = if count == 1 { "s" } else { "" };
        let mut text = format!(
            "{count} of the {} lanes of warp {} make{s} this call, and all have to: ",
            all.count_ones(),
            round.warp
        );
        text += &format!("{} wait{s} in it", lanes(made));
        if elsewhere != 0 {
            let s = if elsewhere.count_ones() == 1 { "s" } else { "" };
            text += &format!(
                "; {} wait{s} in {}",
                lanes(elsewhere),
                other.text().map_or(round.what.call(), Into::into)
            );
        }
        let ended = all & !round.here;
        if ended != 0 {
            text +=
                &format!("; {} {} ended", lanes(ended), if ended.count_ones() == 1 { "has" } else { "have" });
        }
        Wrong::Apart { call, text }
    }

    fn complete(&self, at: usize) -> bool {
        let round = &self.rounds[at];
        let wanted = if round.what.mask == 0 { self.all_lanes() } else { round.what.mask };
        wanted & !self.returned[round.warp as usize] & !round.here == 0
    }

    /// Thread number `thread` of the block comes to a meeting; the scheduler knows it as `who`. `woken`
    /// receives who else goes on. An error says what is wrong with the call.
    ///
    /// # Safety
    /// The meeting's part is valid until the thread goes on; `act` may be called with it.
    pub unsafe fn come(
        &mut self,
        thread: u32,
        who: u32,
        what: &Meeting,
        made: Made,
        woken: &mut impl Extend<u32>,
    ) -> Result<Came, Wrong> {
        let (warp, lane) = (thread / self.width, thread % self.width);
        let mut what = *what;
        if what.mask != 0 {
            if what.mask & 1 << lane == 0 {
                return Err(Wrong::Call(format!(
                    "{}: mask = {:#x} does not name the calling lane {lane}",
                    what.call(),
                    what.mask
                )));
            }
            // The default of __syncwarp is all lanes, however many a warp has.
            if what.mask == !0 {
                what.mask = self.all_lanes();
            }
            if what.mask & !self.all_lanes() != 0 {
                return Err(Wrong::Call(format!(
                    "{}: mask = {:#x} names lanes that a warp of {} has not",
                    what.call(),
                    what.mask,
                    self.width
                )));
            }
        }
        let same = |round: &Round| {
            round.warp == warp
                && round.what.mask == what.mask
                && (what.mask != 0 || round.what.same_place(&what))
        };
        let at = match self.rounds.iter().position(same) {
            Some(at) => at,
            None => {
                self.rounds.push(Round {
                    warp,
                    what,
                    here: 0,
                    made,
                    first: lane,
                    in_call: 0,
                    other: Name::NONE,
                    parts: [std::ptr::null_mut(); MAX_LANES],
                    who: [0; MAX_LANES],
                });
                self.rounds.len() - 1
            }
        };
        let round = &mut self.rounds[at];
        let differs = round.what.act.map(|f| f as usize) != what.act.map(|f| f as usize);
        if differs && !round.what.same_place(&what) {
            return Err(Wrong::Call(format!(
                "{} with mask {:#x}: other lanes of the mask wait in {}",
                made.name.text().map_or(what.call(), Into::into),
                what.mask,
                round.made.name.text().map_or(round.what.call(), Into::into)
            )));
        }
        if round.made.name.same(made.name) {
            let whose = || [round.first, lane].map(|lane| format!("lane {lane}"));
            if let Some(text) = round.made.differs(&made, whose) {
                let text = format!(
                    "{text} of warp {warp}; all lanes of the warp make this call with the same arguments"
                );
                return Err(Wrong::Apart { call: made.name.text().unwrap_or_default(), text });
            }
            round.in_call |= 1 << lane;
        } else {
            round.other = made.name;
        }
        round.here |= 1 << lane;
        round.parts[lane as usize] = what.part.cast();
        round.who[lane as usize] = who;
        if !self.complete(at) {
            return Ok(Came::Waits);
        }
        let round = self.rounds.swap_remove(at);
        self.check(&round)?;
        act(&round, woken, Some(lane));
        Ok(Came::GoesOn)
    }

    /// No thread of the block can run: of each warp's meetings without a mask, the one at the first line
    /// ends. False if there is none.
    pub fn settle(&mut self, woken: &mut impl Extend<u32>) -> bool {
        let mut any = false;
        for warp in 0..self.returned.len() as u32 {
            any |= self.settle_warp(warp * self.width, woken);
        }
        any
    }

    /// As [`Warps::settle`], for the warp of one thread.
    pub fn settle_warp(&mut self, thread: u32, woken: &mut impl Extend<u32>) -> bool {
        let warp = thread / self.width;
        let open = |(_, round): &(usize, &Round)| round.warp == warp && round.what.mask == 0;
        let first = self.rounds.iter().enumerate().filter(open).min_by_key(|(_, round)| round.what.line);
        let Some((at, _)) = first else { return false };
        let round = self.rounds.swap_remove(at);
        act(&round, woken, None);
        true
    }

    /// Lanes of the thread's warp that have returned, or wait in a meeting.
    pub fn accounted(&self, thread: u32) -> u64 {
        let warp = thread / self.width;
        let waiting = self.rounds.iter().filter(|round| round.warp == warp).map(|round| round.here);
        waiting.fold(self.returned[warp as usize], |lanes, here| lanes | here)
    }

    /// True if some thread waits here.
    pub fn busy(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// What the waiting lanes wait for; `thread` spells a thread's number. Empty if nobody waits.
    pub fn explain(&self, thread: impl Fn(u32) -> String) -> String {
        let mut lines = Vec::new();
        for round in &self.rounds {
            let first = round.warp * self.width + round.here.trailing_zeros();
            let missing = round.what.mask & !round.here & !self.returned[round.warp as usize];
            lines.push(format!(
                "thread {} and {} more wait in {} (mask {:#x}) for {}",
                thread(first),
                round.here.count_ones() - 1,
                round.made.name.text().map_or(round.what.call(), Into::into),
                round.what.mask,
                lanes(missing)
            ));
        }
        lines.join("; ")
    }
}

/// Lanes as people write them: "lanes 0 to 3, 7".
fn lanes(mut set: u64) -> String {
    let mut parts = Vec::new();
    let one = set.count_ones() == 1;
    while set != 0 {
        let start = set.trailing_zeros();
        let len = (set >> start).trailing_ones();
        parts.push(if len == 1 { start.to_string() } else { format!("{start} to {}", start + len - 1) });
        set &= if start + len >= 64 { 0 } else { !0 << (start + len) };
    }
    format!("lane{} {}", if one { "" } else { "s" }, parts.join(", "))
}

/// Runs the operation, and says who goes on: all but the one that is running.
fn act(round: &Round, woken: &mut impl Extend<u32>, running: Option<u32>) {
    let members = round.here;
    let mut left = members;
    while left != 0 {
        let lane = left.trailing_zeros();
        left &= left - 1;
        // SAFETY: a part begins with this word, and its lane waits (`Warps::come`).
        unsafe { round.parts[lane as usize].cast::<u64>().write(members) };
        if running != Some(lane) {
            woken.extend([round.who[lane as usize]]);
        }
    }
    if let Some(act) = round.what.act {
        // SAFETY: as above.
        unsafe { act(round.parts.as_ptr(), members) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static SUM: Cell<u64> = const { Cell::new(0) };
    }

    unsafe extern "C" fn sum(parts: *const *mut c_void, members: u64) {
        let lanes = (0..64).filter(|lane| members >> lane & 1 == 1);
        // SAFETY: parts are two words in these tests.
        let total: u64 = lanes.map(|lane| unsafe { *(*parts.add(lane)).cast::<u64>().add(1) }).sum();
        SUM.set(total);
    }

    fn at(line: u32, mask: u64, part: &mut [u64; 2]) -> Meeting {
        let (call, file) = (c"__test".as_ptr(), c"file".as_ptr());
        Meeting { size: 0, line, mask, call, file, act: Some(sum), part: part.as_mut_ptr() }
    }

    fn come(
        warps: &mut Warps,
        thread: u32,
        line: u32,
        mask: u64,
        woken: &mut Vec<u32>,
    ) -> Result<Came, Wrong> {
        let part: &mut [u64; 2] = Box::leak(Box::new([0, u64::from(thread)]));
        // SAFETY: the part lives for ever.
        unsafe { warps.come(thread, thread, &at(line, mask, part), Made::default(), woken) }
    }

    #[test]
    fn a_mask_is_met_from_different_lines_and_without_those_that_returned() {
        let (mut warps, mut woken) = (Warps::default(), Vec::new());
        warps.begin(40, 32);
        assert_eq!(come(&mut warps, 0, 1, 0b1011, &mut woken), Ok(Came::Waits));
        assert_eq!(come(&mut warps, 1, 2, 0b1011, &mut woken), Ok(Came::Waits));
        assert!(!warps.settle(&mut woken));
        assert!(warps.note_return(3));
        assert_eq!(warps.after_return(3, &mut woken), Ok(()));
        assert_eq!(woken, [0, 1]);
        assert_eq!(SUM.get(), 1);
        // The second warp has 8 lanes.
        woken.clear();
        for thread in 32..39 {
            assert_eq!(come(&mut warps, thread, 1, 0xffff_ffff, &mut woken), Ok(Came::Waits));
        }
        assert_eq!(come(&mut warps, 39, 1, 0xffff_ffff, &mut woken), Ok(Came::GoesOn));
        assert_eq!(woken, [32, 33, 34, 35, 36, 37, 38]);
    }

    #[test]
    fn without_a_mask_the_lanes_that_are_behind_go_first() {
        let (mut warps, mut woken) = (Warps::default(), Vec::new());
        warps.begin(4, 32);
        assert_eq!(come(&mut warps, 0, 9, 0, &mut woken), Ok(Came::Waits));
        assert_eq!(come(&mut warps, 1, 5, 0, &mut woken), Ok(Came::Waits));
        assert_eq!(come(&mut warps, 2, 5, 0, &mut woken), Ok(Came::Waits));
        assert_eq!(come(&mut warps, 3, 9, 0, &mut woken), Ok(Came::Waits));
        assert!(warps.settle(&mut woken));
        assert_eq!((&*woken, SUM.get()), (&[1, 2][..], 3));
        woken.clear();
        assert_eq!(come(&mut warps, 1, 9, 0, &mut woken), Ok(Came::Waits));
        assert_eq!(come(&mut warps, 2, 9, 0, &mut woken), Ok(Came::GoesOn));
        assert_eq!(woken, [0, 1, 3]);
        assert!(!warps.busy());
    }

    #[test]
    fn calls_of_the_library_are_made_by_all_lanes() {
        // SAFETY: literals.
        let [put, get] = [c"put_warp", c"get_warp"].map(|name| unsafe { Name::new(name.as_ptr()) });
        let made = |name| Made { name, ..Made::default() };
        let all = 0xffff_ffff;
        let begin = |lanes: u32, names: &dyn Fn(u32) -> Name| {
            let (mut warps, mut woken) = (Warps::default(), Vec::new());
            warps.begin(40, 32);
            let mut last = Ok(Came::GoesOn);
            for lane in 0..lanes {
                let part: &mut [u64; 2] = Box::leak(Box::new([0, 0]));
                // SAFETY: the part lives for ever.
                last = unsafe { warps.come(lane, lane, &at(1, all, part), made(names(lane)), &mut woken) };
            }
            (warps, woken, last)
        };
        let wrong = |call, text: &str| Wrong::Apart { call, text: text.into() };
        assert_eq!(begin(32, &|_| put).2, Ok(Came::GoesOn));
        let (_, woken, last) = begin(32, &|lane| if lane < 10 { put } else { Name::NONE });
        let text = "10 of the 32 lanes of warp 0 make this call, and all have to: lanes 0 to 9 wait in it; \
                    lanes 10 to 31 wait in __test";
        assert_eq!((woken.len(), last), (0, Err(wrong("put_warp", text))));
        let (_, _, last) = begin(32, &|lane| if lane == 31 { get } else { Name::NONE });
        let text = "1 of the 32 lanes of warp 0 makes this call, and all have to: lane 31 waits in it; \
                    lanes 0 to 30 wait in __test";
        assert_eq!(last, Err(wrong("get_warp", text)));
        let (_, _, last) = begin(32, &|lane| if lane == 31 { get } else { put });
        let text = "31 of the 32 lanes of warp 0 make this call, and all have to: lanes 0 to 30 wait in it; \
                    lane 31 waits in get_warp";
        assert_eq!(last, Err(wrong("put_warp", text)));
        // The lanes of a mask are the program's business.
        let (mut warps, mut woken) = (Warps::default(), Vec::new());
        warps.begin(64, 64);
        for lane in 0..32 {
            let part: &mut [u64; 2] = Box::leak(Box::new([0, 0]));
            // SAFETY: the part lives for ever.
            let came = unsafe { warps.come(lane, lane, &at(1, all, part), made(put), &mut woken) };
            assert_eq!(came, Ok(if lane < 31 { Came::Waits } else { Came::GoesOn }));
        }
        // Who returns is missed by calls of the library only.
        for (name, ends) in [
            (Name::NONE, Ok(())),
            (
                put,
                Err(wrong(
                    "put_warp",
                    "31 of the 32 lanes of warp 0 make this call, and all have to: lanes 0 to 30 \
                                         wait in it; lane 31 has ended",
                )),
            ),
        ] {
            let (mut warps, mut woken, last) = begin(31, &|_| name);
            assert_eq!(last, Ok(Came::Waits));
            assert!(warps.note_return(31));
            assert_eq!(warps.after_return(31, &mut woken), ends);
        }
    }

    #[test]
    fn bad_masks() {
        let (mut warps, mut woken) = (Warps::default(), Vec::new());
        warps.begin(32, 32);
        let text = |text: &str| Err(Wrong::Call(text.into()));
        let wrong = come(&mut warps, 4, 1, 0b1111, &mut woken);
        assert_eq!(wrong, text("__test: mask = 0xf does not name the calling lane 4"));
        let wrong = come(&mut warps, 4, 1, 0x1_0000_0010, &mut woken);
        assert_eq!(wrong, text("__test: mask = 0x100000010 names lanes that a warp of 32 has not"));
        assert_eq!(come(&mut warps, 4, 1, 0b1111_0101, &mut woken), Ok(Came::Waits));
        let text = warps.explain(|thread| format!("#{thread}"));
        assert_eq!(text, "thread #4 and 0 more wait in __test (mask 0xf5) for lanes 0, 2, 5 to 7");
    }
}
