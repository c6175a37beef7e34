//! What a wait is noted as, for the launcher and for the watch of kernels: call, team, word.
use crate::atomics::{AtomicU64, Ordering, fence};
use crate::error::Call;
use crate::team::handles;
use crate::until::Cmp;
use std::fmt;
use std::time::Duration;

/// In [`WaitRecord::call`]: a stream of the PE waits, not one of its threads.
pub const IN_STREAM: u32 = 1 << 16;
/// The same: a thread of a kernel on the CPU waits, beside which others may run.
pub const IN_KERNEL: u32 = 1 << 17;

/// What a waiting thread, or stream, waits for. Zero means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitRecord {
    /// Number of the call ([`crate::error::Call`]), 0 for none.
    pub call: u32,
    /// Team handle, or -1.
    pub team: i32,
    /// World PE whose arrival or write is missing, or -1 for any.
    pub awaited: i32,
    /// Address of the word waited for, in the waiter's address space.
    pub address: u64,
    /// Size or value that the call was made with: shown where members disagree. Of a stream that waits for a word: what it
    /// was when it was last looked at.
    pub detail: u64,
    /// Who is in the team, and how it was made.
    pub members: Members,
    /// What is wanted of the word.
    pub wanted: Wanted,
}

/// How a team was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Made {
    /// In a way that nobody would know it by.
    #[default]
    Otherwise,
    /// `split_strided` with this start, stride and size.
    Strided([i64; 3]),
    /// As a row of `split_2d` with this width.
    Row(i64),
    /// As a column of the same.
    Column(i64),
    /// Out of a list of PEs.
    Listed,
    /// By PEs that met under this number.
    Met(u64),
    /// As the active set of a call.
    ActiveSet,
}

/// Members that are told of by number.
const SHOWN: usize = 8;

/// A team in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    made: Made,
    count: u32,
    /// World PEs of the first ones.
    first: [u32; SHOWN],
}

/// Where a word lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where the address alone is told.
    #[default]
    Somewhere,
    /// So many bytes behind the beginning of the heap, in an object that begins at the second offset and has as many bytes as
    /// the third number; 0 bytes where it is not known.
    Heap(u64, u64, u64),
    /// The same in the heap in memory of the device.
    DeviceHeap(u64, u64, u64),
    /// Among the program's globals.
    Global,
}

/// What a wait wants of a word, or of several behind each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The type of the words; none where it is not known what is wanted.
    pub kind: Option<Kind>,
    /// How they are compared, by its number.
    pub cmp: u8,
    /// With what; none if each has its own value.
    pub value: Option<u64>,
    /// Number of words, of a call that waits for several.
    pub count: Option<u32>,
    /// Where they lie.
    pub place: Place,
    /// Where in the file of the node's memory; 0 if they lie elsewhere.
    pub in_file: u64,
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// 2, 4 or 8.
    pub bytes: u8,
    #[allow(missing_docs, reason = "says it")]
    pub signed: bool,
}

impl Kind {
    /// A value of that type, which is in the low bits.
    pub fn show(self, bits: u64) -> String {
        let unused = 64 - 8 * u32::from(self.bytes).clamp(1, 8);
        match self.signed {
            true => ((bits << unused) as i64 >> unused).to_string(),
            false => (bits << unused >> unused).to_string(),
        }
    }
}

impl Members {
    /// A team of these PEs of the world.
    pub fn new(made: Made, pes: &[u32]) -> Members {
        let first = std::array::from_fn(|i| pes.get(i).copied().unwrap_or_default());
        Members { made, count: pes.len() as u32, first }
    }

    /// All members, where they are few enough to be noted.
    pub fn all(&self) -> Option<&[u32]> {
        (self.count > 0).then(|| self.first.get(..self.count as usize)).flatten()
    }

    fn words(&self) -> [u64; TEAM_WORDS] {
        let (kind, [a, b, c]) = match self.made {
            Made::Otherwise => (0, [0; 3]),
            Made::Strided(values) => (1, values),
            Made::Row(width) => (2, [width, 0, 0]),
            Made::Column(width) => (3, [width, 0, 0]),
            Made::Listed => (4, [0; 3]),
            Made::Met(number) => (5, [number as i64, 0, 0]),
            Made::ActiveSet => (6, [0; 3]),
        };
        let mut words = [kind << 32 | u64::from(self.count), a as u64, b as u64, c as u64, 0, 0, 0, 0];
        for (word, pair) in words[4..].iter_mut().zip(self.first.chunks_exact(2)) {
            *word = u64::from(pair[0]) << 32 | u64::from(pair[1]);
        }
        words
    }

    fn of_words(words: &[u64]) -> Members {
        let values = [words[1] as i64, words[2] as i64, words[3] as i64];
        let made = match words[0] >> 32 {
            1 => Made::Strided(values),
            2 => Made::Row(values[0]),
            3 => Made::Column(values[0]),
            4 => Made::Listed,
            5 => Made::Met(words[1]),
            6 => Made::ActiveSet,
            _ => Made::Otherwise,
        };
        let first = std::array::from_fn(|i| (words[4 + i / 2] >> (32 * (1 - i % 2))) as u32);
        Members { made, count: words[0] as u32, first }
    }
}

/// "PEs 0, 2, 4: split_strided with start 0, stride 2, size 3"
impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.first[..SHOWN.min(self.count as usize)];
        let list = shown.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        match (self.count, self.all()) {
            (1, _) => write!(f, "PE {list}"),
            (_, Some(_)) => write!(f, "PEs {list}"),
            (count, None) => write!(f, "{count} PEs: {list}, ..."),
        }?;
        match self.made {
            Made::Otherwise => Ok(()),
            Made::Strided([start, stride, size]) => {
                write!(f, "; split_strided with start {start}, stride {stride}, size {size}")
            }
            Made::Row(width) => write!(f, "; a row of split_2d with xrange {width}"),
            Made::Column(width) => write!(f, "; a column of split_2d with xrange {width}"),
            Made::Listed => write!(f, "; made of a list of PEs"),
            Made::Met(number) => write!(f, "; team_init with unique id {number:#x}"),
            Made::ActiveSet => write!(f, "; an active set"),
        }
    }
}

impl Wanted {
    fn words(&self) -> [u64; WORD_WORDS] {
        let (place, [at, start, bytes]) = match self.place {
            Place::Somewhere => (0, [0; 3]),
            Place::Heap(at, start, bytes) => (1, [at, start, bytes]),
            Place::DeviceHeap(at, start, bytes) => (2, [at, start, bytes]),
            Place::Global => (3, [0; 3]),
        };
        let Kind { bytes: width, signed } = self.kind.unwrap_or(Kind { bytes: 0, signed: false });
        let flags = [
            width,
            signed.into(),
            self.cmp,
            place,
            self.value.is_some().into(),
            self.count.is_some().into(),
            0,
            0,
        ];
        [
            u64::from_le_bytes(flags),
            self.value.unwrap_or(0),
            self.count.unwrap_or(0).into(),
            at,
            start,
            bytes,
            self.in_file,
        ]
    }

    fn of_words(words: &[u64]) -> Wanted {
        let [width, signed, cmp, place, has_value, has_count, ..] = words[0].to_le_bytes();
        Wanted {
            kind: (width != 0).then_some(Kind { bytes: width, signed: signed != 0 }),
            cmp,
            value: (has_value != 0).then_some(words[1]),
            count: (has_count != 0).then_some(words[2] as u32),
            place: match place {
                1 => Place::Heap(words[3], words[4], words[5]),
                2 => Place::DeviceHeap(words[3], words[4], words[5]),
                3 => Place::Global,
                _ => Place::Somewhere,
            },
            in_file: words[6],
        }
    }

    /// The arguments as the program passed them: `ivar = heap + 4096, CMP_EQ, 5`. `address` is told where nothing better is
    /// known; `arg` is what the call names it.
    pub fn arguments(&self, arg: &str, address: u64) -> String {
        let object = |heap: &str, at: u64, start: u64, bytes: u64| match bytes {
            0 => format!("{heap} + {at}"),
            _ if at == start => format!("{heap} + {at}, where an object of {bytes} bytes begins"),
            _ => format!("{heap} + {at}, in the object of {bytes} bytes at {heap} + {start}"),
        };
        let place = match self.place {
            Place::Somewhere => format!("{address:#x}"),
            Place::Heap(at, start, bytes) => object("heap", at, start, bytes),
            Place::DeviceHeap(at, start, bytes) => object("device heap", at, start, bytes),
            Place::Global => format!("{address:#x}, a global of the program"),
        };
        let Some(kind) = self.kind else { return format!("{arg} = {place}") };
        let count = self.count.map_or_else(String::new, |count| format!(", nelems = {count}"));
        let cmp = Cmp::from_number(self.cmp.into()).map_or("?", Cmp::name);
        let value = self.value.map_or_else(|| "values of their own".to_owned(), |value| kind.show(value));
        format!("{arg} = {place}{count}, {cmp}, {value}")
    }
}

impl WaitRecord {
    /// A look at words on the GPU that has not come back. Each look is noted; [`WaitSlot::read`] tells of those that take
    /// longer than any does that the driver lets through.
    pub const NO_ANSWER: WaitRecord = WaitRecord {
        call: IN_STREAM,
        team: -1,
        awaited: -1,
        address: 0,
        detail: 0,
        members: Members { made: Made::Otherwise, count: 0, first: [0; SHOWN] },
        wanted: Wanted { kind: None, cmp: 0, value: None, count: None, place: Place::Somewhere, in_file: 0 },
    };

    /// Whether a stream of the PE waits, not one of its threads.
    pub fn in_stream(&self) -> bool {
        self.call & IN_STREAM != 0
    }

    /// Whether a thread of a kernel on the CPU waits.
    pub fn in_kernel(&self) -> bool {
        self.call & IN_KERNEL != 0
    }

    /// Number of the call alone.
    pub fn number(&self) -> u32 {
        self.call & !(IN_STREAM | IN_KERNEL)
    }

    /// Name of the call without a family prefix.
    pub fn name(&self) -> &'static str {
        Call::name(self.number())
    }

    /// The call with its team, or with the word that it waits for.
    pub fn call_text(&self) -> String {
        let name = self.name();
        match self.team_text() {
            Some(team) => format!("{name} ({team})"),
            None if self.address != 0 => {
                format!("{name}({})", self.wanted.arguments(self.argument(), self.address))
            }
            None => name.to_owned(),
        }
    }

    /// What the call names the word that it waits for.
    fn argument(&self) -> &'static str {
        const SIGNAL: u32 = Call::SignalWaitUntil as u32;
        const LOCK: u32 = Call::SetLock as u32;
        match self.number() {
            SIGNAL => "sig_addr",
            LOCK => "lock",
            _ if self.wanted.count.is_some() => "ivars",
            _ => "ivar",
        }
    }

    /// The team in words, if there is one: by its name, or by its members.
    pub fn team_text(&self) -> Option<String> {
        match (self.team, self.members.count) {
            (handles::WORLD, _) => Some("TEAM_WORLD".into()),
            (handles::SHARED, _) => Some("TEAM_SHARED".into()),
            (handles::NODE, _) => Some("TEAM_NODE".into()),
            (handles::SAME_MYPE_NODE, _) => Some("TEAM_SAME_MYPE_NODE".into()),
            (i32::MIN..0, 0) => None,
            (i32::MIN..0, _) => Some(self.members.to_string()),
            (handle, 0) => Some(format!("team {handle}")),
            (handle, _) => Some(format!("team of {}; handle {handle}", self.members)),
        }
    }

    fn words(&self) -> [u64; RECORD_WORDS] {
        let mut words = [0; RECORD_WORDS];
        words[0] = u64::from(self.call) << 32 | u64::from(self.team as u32);
        words[1] = self.awaited as u32 as u64;
        words[2] = self.address;
        words[3] = self.detail;
        words[4..4 + TEAM_WORDS].copy_from_slice(&self.members.words());
        words[4 + TEAM_WORDS..].copy_from_slice(&self.wanted.words());
        words
    }

    fn of_words(words: &[u64; RECORD_WORDS]) -> WaitRecord {
        WaitRecord {
            call: (words[0] >> 32) as u32,
            team: words[0] as u32 as i32,
            awaited: words[1] as u32 as i32,
            address: words[2],
            detail: words[3],
            members: Members::of_words(&words[4..]),
            wanted: Wanted::of_words(&words[4 + TEAM_WORDS..]),
        }
    }
}

const TEAM_WORDS: usize = 4 + SHOWN / 2;
const WORD_WORDS: usize = 7;
const RECORD_WORDS: usize = 4 + TEAM_WORDS + WORD_WORDS;

/// A [`WaitRecord`] in shared memory, with the time since when.
#[repr(C)]
#[derive(Debug)]
pub struct WaitSlot {
    /// Nanoseconds of the monotonic clock; 0: not waiting.
    since: AtomicU64,
    /// When who waits last looked whether the wait is over.
    looked: AtomicU64,
    record: [AtomicU64; RECORD_WORDS],
}

/// Clears the slot again when dropped.
#[derive(Debug)]
pub struct Noted<'a>(&'a WaitSlot);

/// Longer than from one look of a host thread to the next, and what the machine takes to run it.
const LIVE_NS: u64 = 5 * WaitSlot::LOOK.as_nanos() as u64;

/// A look at a GPU takes less, on a machine that has much to do, too.
const LOOK_NS: u64 = 1_000_000_000;

impl WaitSlot {
    /// Who waits looks at least so often.
    pub const LOOK: Duration = Duration::from_millis(100);

    fn write(&self, record: &WaitRecord, since: u64) {
        // Who reads meanwhile shall not take parts of two records for one.
        self.since.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        for (place, word) in self.record.iter().zip(record.words()) {
            place.store(word, Ordering::Relaxed);
        }
        self.looked.store(since, Ordering::Relaxed);
        self.since.store(since, Ordering::Release);
    }

    /// Who noted the wait looks once more, and waits on.
    pub fn looks(&self) {
        self.looked.store(dushmem_os::clock::monotonic_ns(), Ordering::Relaxed);
    }

    /// Whether somebody still looks: a thread that has left the library by a jump, or has ended, leaves the record behind.
    pub fn is_live(&self) -> bool {
        let now = dushmem_os::clock::monotonic_ns();
        now.saturating_sub(self.looked.load(Ordering::Relaxed)) < LIVE_NS
    }

    /// Notes a wait that begins now.
    pub fn note(&self, record: &WaitRecord) -> Noted<'_> {
        self.write(record, dushmem_os::clock::monotonic_ns());
        Noted(self)
    }

    /// Shows a wait that began at a time of the monotonic clock, or that there is none, until it is called again.
    pub fn show(&self, wait: Option<(WaitRecord, u64)>) {
        match wait {
            Some((record, since)) => self.write(&record, since),
            None => self.since.store(0, Ordering::Release),
        }
    }

    /// The wait noted here, and since when.
    pub fn read(&self) -> Option<(WaitRecord, u64)> {
        let since = self.since.load(Ordering::Acquire);
        let record = WaitRecord::of_words(&std::array::from_fn(|i| self.record[i].load(Ordering::Relaxed)));
        fence(Ordering::Acquire);
        if since == 0 || self.since.load(Ordering::Relaxed) != since {
            // No wait, or one that is just over.
            return None;
        }
        let young = || dushmem_os::clock::monotonic_ns().saturating_sub(since) < LOOK_NS;
        (record != WaitRecord::NO_ANSWER || !young()).then_some((record, since))
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.0.since.store(0, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was_noted() {
        let members = Members::new(Made::Strided([7, -2, 3]), &[7, 5, 3]);
        let wanted = Wanted {
            kind: Some(Kind { bytes: 4, signed: true }),
            cmp: 5,
            value: Some(-3i64 as u64),
            count: Some(9),
            place: Place::Heap(4104, 4096, 64),
            in_file: 1 << 40,
        };
        let record = WaitRecord { call: 9, team: 4102, awaited: -1, address: 1, detail: 2, members, wanted };
        let mades = [
            Made::Otherwise,
            Made::Row(3),
            Made::Column(4),
            Made::Listed,
            Made::Met(u64::MAX),
            Made::ActiveSet,
        ];
        let places = [Place::Somewhere, Place::DeviceHeap(3, 2, 1), Place::Global];
        let mut all = vec![record, WaitRecord::NO_ANSWER, WaitRecord::default()];
        all.extend(mades.map(|made| WaitRecord { members: Members::new(made, &[1]), ..record }));
        all.extend(places.map(|place| {
            let wanted = Wanted { place, value: None, count: None, kind: None, ..wanted };
            WaitRecord { wanted, ..record }
        }));
        for record in all {
            assert_eq!(WaitRecord::of_words(&record.words()), record);
        }
    }

    #[test]
    fn a_team_is_told_by_its_name_or_its_members() {
        let text = |team: i32, made: Made, pes: &[u32]| {
            WaitRecord { team, members: Members::new(made, pes), ..WaitRecord::default() }.team_text()
        };
        let names = ["TEAM_WORLD", "TEAM_SHARED", "TEAM_NODE", "TEAM_SAME_MYPE_NODE"];
        for (team, name) in (0..).zip(names) {
            assert_eq!(text(team, Made::Otherwise, &[0, 1]).unwrap(), name);
        }
        assert_eq!(
            text(4102, Made::Strided([0, 2, 3]), &[0, 2, 4]).unwrap(),
            "team of PEs 0, 2, 4; split_strided with start 0, stride 2, size 3; handle 4102"
        );
        let many: Vec<u32> = (10..74).collect();
        assert_eq!(
            text(7, Made::Column(2), &many).unwrap(),
            "team of 64 PEs: 10, 11, 12, 13, 14, 15, 16, 17, ...; a column of split_2d with xrange 2; handle 7"
        );
        assert_eq!(text(-1, Made::Otherwise, &[]), None);
    }
}
