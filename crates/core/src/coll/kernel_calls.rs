//! Collectives that kernels on the CPU call: what a member says of each call before it begins, so that members whose calls
//! differ are told, where their messages would be taken for those of the other call.
//!
//! A member writes down its call under the call's number, and then looks at what the members beside it by rank have written
//! down under that number. Of two neighbours the one that is later sees the other's call, and where all neighbours agree, all
//! members do. A member may be a few calls ahead, so the last ones stay.
use super::announced::differing;
use super::barrier::SAME_CALLS;
use super::reduce::ReduceOp;
use crate::error::{Error, Result, count_bytes};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU64, fence};

/// Calls of a member that stay.
const LAST: usize = 16;
/// Words of the name under which a call was made; the rest of a longer one is left out.
const NAME: usize = 7;

/// A call, as the kernel makes it.
#[derive(Clone, Copy, Debug)]
pub struct KernelCall<'a> {
    /// What it is: `reduce`.
    pub call: &'a str,
    /// How the program calls it: `nvshmem_int_sum_reduce`.
    pub name: &'a str,
    /// Elements, where members must have as many, and the bytes of each.
    pub nelems: u64,
    #[allow(missing_docs, reason = "said above")]
    pub elem: u64,
    /// The root of a broadcast; of reductions a number for operation and type.
    pub argument: u64,
}

/// What a PE has said in a team slot. All-zero bytes are the initial state.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct KernelCalls {
    /// Calls so far; counted from team to team, as the slot's other counts.
    count: AtomicU64,
    said: [Said; LAST],
}

#[repr(C, align(64))]
#[derive(Debug)]
struct Said {
    /// The call's number; 0 while it is written.
    number: AtomicU64,
    what: [AtomicU64; WORDS],
}

/// Words that members must agree on: the call, two of them, bytes, argument. Then the number of elements, and the name.
const SAME: usize = 4;
const WORDS: usize = SAME + 1 + NAME;

/// The first bytes of a text, in words.
fn words<const N: usize>(text: &str) -> [u64; N] {
    let mut bytes = text.bytes();
    std::array::from_fn(|_| u64::from_le_bytes(std::array::from_fn(|_| bytes.next().unwrap_or(0))))
}

fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).filter(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl KernelCall<'_> {
    fn words(&self) -> [u64; WORDS] {
        let [first, second] = words::<2>(self.call);
        let mut all = [0; WORDS];
        all[..SAME + 1].copy_from_slice(&[
            first,
            second,
            self.nelems.wrapping_mul(self.elem),
            self.argument,
            self.nelems,
        ]);
        all[SAME + 1..].copy_from_slice(&words::<NAME>(self.name));
        all
    }
}

/// Operation and type, where they are what members have to agree on; numbers as in `coll_team.h`.
fn reduced(what: &[u64; WORDS]) -> Vec<(&'static str, String)> {
    if matches!(&*text(&what[..2]), "barrier" | "sync" | "collect" | "broadcast" | "fcollect" | "alltoall") {
        return Vec::new();
    }
    let (op, kind, bytes) = (what[3] >> 16, what[3] >> 8 & 0xff, what[3] & 0xff);
    let op = if op == 8 { "maxloc" } else { ReduceOp::name((op as usize).wrapping_sub(1)) };
    let of = match (kind, bytes) {
        (1, _) => format!("int{}_t", 8 * bytes),
        (2, _) => format!("uint{}_t", 8 * bytes),
        (3, 4) => "float".into(),
        (3, 8) => "double".into(),
        (4, _) => "half".into(),
        (_, 2) => "bfloat16".into(),
        _ => format!("another one of {}", count_bytes(bytes)),
    };
    vec![("op", op.into()), ("type", of)]
}

/// A call for people.
fn show(pe: u32, what: &[u64; WORDS]) -> String {
    let (call, name) = (text(&what[..2]), text(&what[SAME + 1..]));
    let mut line = format!("PE {pe} calls {name}");
    if !matches!(&*call, "barrier" | "sync" | "collect") {
        let (total, elements) = (what[2], what[SAME]);
        line += &format!(
            " of {elements} element{} ({})",
            if elements == 1 { "" } else { "s" },
            count_bytes(total)
        );
    }
    if call == "broadcast" {
        line += &format!(" from root {}", what[3] as i32);
    }
    line
}

impl KernelCalls {
    /// Calls so far.
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Has the count begin at `base`, at which those of the team's other members begin too.
    pub fn begin(&self, base: u64) {
        self.count.store(base, Relaxed);
    }

    /// PE `me`, whose calls these are, begins a call; `others` are PEs beside it in the team, with what they have said. An
    /// error where one of them makes another call.
    pub fn announce<'a>(
        &self,
        me: u32,
        call: &KernelCall<'_>,
        others: impl IntoIterator<Item = (u32, &'a KernelCalls)>,
    ) -> Result<()> {
        let number = self.count() + 1;
        self.count.store(number, Relaxed);
        let mine = call.words();
        let said = &self.said[number as usize % LAST];
        said.number.store(0, Relaxed);
        fence(Release);
        said.what.iter().zip(mine).for_each(|(word, value)| word.store(value, Relaxed));
        said.number.store(number, Release);
        // Whoever is later sees what the other has said.
        fence(SeqCst);
        for (pe, other) in others {
            if let Some(theirs) = other.said(number).filter(|theirs| theirs[..SAME] != mine[..SAME]) {
                return Err(disagreement((me, &mine), (pe, &theirs)));
            }
        }
        Ok(())
    }

    /// What the member says of the call with that number, while it is known.
    #[inline]
    fn said(&self, number: u64) -> Option<[u64; WORDS]> {
        let said = &self.said[number as usize % LAST];
        if said.number.load(Acquire) != number {
            return None;
        }
        let what = std::array::from_fn(|i| said.what[i].load(Relaxed));
        fence(Acquire);
        (said.number.load(Relaxed) == number).then_some(what)
    }
}

#[cold]
fn disagreement(one: (u32, &[u64; WORDS]), other: (u32, &[u64; WORDS])) -> Error {
    let (first, second) = if one.0 < other.0 { (one, other) } else { (other, one) };
    let mut text = format!("{}, {}", show(first.0, first.1), show(second.0, second.1));
    // Names say what is computed of what, except those of templates.
    if first.1[..2] == second.1[..2] && first.1[SAME + 1..] == second.1[SAME + 1..] {
        let both = reduced(first.1).into_iter().zip(reduced(second.1));
        text += &differing([first.0, second.0], both.map(|((name, a), (_, b))| (name, [a, b])));
    }
    Error::Disagreement { text: format!("{text}; {SAME_CALLS}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Box<KernelCalls> {
        // SAFETY: all-zero bytes are the initial state.
        unsafe { Box::new(std::mem::zeroed()) }
    }

    const fn call<'a>(call: &'a str, name: &'a str, nelems: u64, argument: u64) -> KernelCall<'a> {
        KernelCall { call, name, nelems, elem: 4, argument }
    }

    /// What the second of two members is told, if their second calls are these.
    fn told(one: KernelCall<'_>, other: KernelCall<'_>) -> Option<String> {
        let (a, b) = (none(), none());
        for (first, second) in [(call("barrier", "same", 0, 0), call("barrier", "same", 0, 0)), (one, other)]
        {
            a.announce(3, &first, [(5, &*b)]).expect("nobody else is there yet");
            if let Err(error) = b.announce(5, &second, [(3, &*a)]) {
                return Some(error.to_string());
            }
        }
        None
    }

    #[test]
    fn calls_that_differ_are_told() {
        let (int_sum, int_max, float_sum) =
            (6 << 16 | 1 << 8 | 4, 4 << 16 | 1 << 8 | 4, 6 << 16 | 3 << 8 | 4);
        let sum = call("reduce", "nvshmemx_int_sum_reduce_block", 5, int_sum);
        for same in [sum, call("collect", "nvshmem_int_collect", 0, 0)] {
            assert_eq!(told(same, same), None);
        }
        // The name's family and scope are nobody's business, nor is the type of what is only moved.
        assert_eq!(told(sum, call("reduce", "dushmem_int_sum_reduce", 5, int_sum)), None);
        let mem = KernelCall { elem: 1, ..call("broadcast", "nvshmem_broadcastmem", 20, 1) };
        assert_eq!(told(mem, call("broadcast", "nvshmem_int_broadcast", 5, 1)), None);
        let sums = "PE 3 calls nvshmemx_int_sum_reduce_block of 5 elements (20 bytes), PE 5 calls ";
        for (other, what) in [
            (call("barrier", "nvshmem_barrier_all", 0, 0), "nvshmem_barrier_all"),
            (
                call("reduce", "nvshmem_int_sum_reduce", 1, int_sum),
                "nvshmem_int_sum_reduce of 1 element (4 bytes)",
            ),
            (
                call("reduce", "nvshmem_int_max_reduce", 5, int_max),
                "nvshmem_int_max_reduce of 5 elements (20 bytes)",
            ),
            (
                call("reduce", "nvshmemx_int_sum_reduce_block", 5, int_max),
                "nvshmemx_int_sum_reduce_block of 5 elements (20 bytes) (op = sum on PE 3, max on PE 5)",
            ),
            (
                call("reduce", "nvshmemx_int_sum_reduce_block", 5, float_sum),
                "nvshmemx_int_sum_reduce_block of 5 elements (20 bytes) (type = int32_t on PE 3, float on PE 5)",
            ),
            (
                call("broadcast", "nvshmem_int_broadcast", 5, -1i32 as u64),
                "nvshmem_int_broadcast of 5 elements (20 bytes) from root -1",
            ),
        ] {
            let want = format!(
                "PEs disagree: {sums}{what}; every member must make the same calls in the same order"
            );
            assert_eq!(told(sum, other), Some(want));
        }
        let root = |root| call("broadcast", "nvshmem_int_broadcast", 5, root);
        let text = told(root(0), root(1)).expect("they differ");
        assert!(text.contains("from root 0, PE 5 calls") && text.contains("from root 1; every"), "{text}");
    }

    #[test]
    fn a_member_may_be_ahead() {
        let (a, b) = (none(), none());
        for i in 0..LAST as u64 {
            a.announce(0, &call("reduce", "ahead", i, 0), [(1, &*b)]).expect("nobody is there");
        }
        for i in 0..LAST as u64 - 1 {
            b.announce(1, &call("reduce", "behind", i, 0), [(0, &*a)]).expect("the same calls");
        }
        assert!(b.announce(1, &call("reduce", "behind", 0, 0), [(0, &*a)]).is_err());
        // Calls of an earlier team are no calls of this one.
        let base = a.count().max(b.count());
        a.begin(base);
        b.begin(base);
        for _ in 0..2 * LAST {
            b.announce(1, &call("sync", "new", 0, 0), [(0, &*a)]).expect("nobody is there");
            a.announce(0, &call("sync", "new", 0, 0), [(1, &*b)]).expect("the same calls");
        }
    }
}
