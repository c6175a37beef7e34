//! What members say of a call, as messages about members that differ show it.
use super::barrier::AHEAD;
use super::reduce::{ElementKind, ReduceOp, Reducer, type_tag};
use super::slot::Announced;
use crate::error::{Call, count_bytes};
use crate::job::Made;
use crate::sync::tag;
use std::fmt;

/// Set in an argument of which nobody but a comparison makes anything.
const HASH: u64 = 1 << 63;

/// The argument of a call whose arguments are all shown otherwise, or not at all.
pub(crate) fn hash(sign: u32) -> u64 {
    HASH | u64::from(sign)
}

/// Those of a call of the malloc family: an alignment, or where the block was, and which heap.
pub(crate) fn of_heap(value: usize, device: bool) -> u64 {
    (value as u64) << 1 & !HASH | u64::from(device)
}

/// In the argument of a scan: without the own operand.
const EXCLUSIVE: u64 = 1 << 16;

/// Where in the argument of a reduction its tag stands.
const TAG: u32 = 24;

/// That of a reduction, or a scan.
pub(crate) fn of_reducer(reducer: &Reducer, exclusive: bool) -> u64 {
    let kind = reducer.kind.map_or(0, |kind| kind as u64 + 1);
    let exclusive = if exclusive { EXCLUSIVE } else { 0 };
    u64::from(reducer.tag) << TAG | exclusive | kind << 8 | reducer.op as u64
}

/// Those of alltoalls; larger ones are told apart by the tag alone.
pub(crate) fn of_strides(dst: isize, sst: isize) -> u64 {
    let half = |stride: isize| stride.clamp(0, i32::MAX as isize) as u64;
    half(dst) << 32 | half(sst)
}

/// Where in the argument of a split its kind stands.
const SPLIT: u32 = 61;

/// How a team is made; `list` stands for the members of one that is made of a list.
pub(crate) fn of_split(made: Made, list: u64) -> u64 {
    let (kind, value) = match made {
        // The start is a PE's number in its team, and so is what the stride leads to, unless nobody looks at it.
        Made::Strided([start, stride, _]) => (0, (start as u64 & 0xffff) << 32 | u64::from(stride as u32)),
        Made::Row(xrange) | Made::Column(xrange) => (1, u64::from(xrange as u32)),
        _ => (2, tag(&[list]).into()),
    };
    kind << SPLIT | value
}

/// Arguments by name, with what two PEs have passed: those that are not the same.
pub(super) fn differing(
    pes: [u32; 2],
    both: impl IntoIterator<Item = (&'static str, [String; 2])>,
) -> String {
    let show = |(name, [one, other]): (&str, [String; 2])| {
        format!("{name} = {one} on PE {}, {other} on PE {}", pes[0], pes[1])
    };
    let all: Vec<String> = both.into_iter().filter(|(_, [one, other])| one != other).map(show).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) }
}

impl ReduceOp {
    const NAMES: [&'static str; 7] = ["and", "or", "xor", "max", "min", "sum", "prod"];

    /// The operation of that number, as names of calls have it.
    pub(super) fn name(number: usize) -> &'static str {
        Self::NAMES.get(number).copied().unwrap_or("another one")
    }
}

impl ElementKind {
    const NAMES: [&'static str; 14] = [
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "float",
        "double",
        "half",
        "bfloat16",
        "float complex",
        "double complex",
    ];
}

/// The type of a reduction with that argument.
fn type_name(argument: u64) -> &'static str {
    let of_type = (argument >> TAG) as u32 & !0xff00;
    if of_type == type_tag::<usize>() || of_type == type_tag::<isize>() {
        return if of_type == type_tag::<usize>() { "size_t" } else { "ptrdiff_t" };
    }
    let kind = ((argument >> 8 & 0xff) as usize).checked_sub(1);
    kind.and_then(|kind| ElementKind::NAMES.get(kind).copied()).unwrap_or("long double")
}

impl Announced {
    fn call(&self) -> u32 {
        self.call & !AHEAD
    }

    fn is(&self, call: Call) -> bool {
        self.call() == call as u32
    }

    /// Arguments that [`Announced`]'s own text doesn't show, by name.
    fn arguments(&self) -> Vec<(&'static str, String)> {
        let argument = self.argument;
        if argument & HASH != 0 {
            return Vec::new();
        }
        if self.is(Call::Reduce) || self.is(Call::ReduceScatter) || self.is(Call::Scan) {
            let op = ReduceOp::name((argument & 0xff) as usize);
            return vec![("op", op.into()), ("type", type_name(argument).into())];
        }
        if self.is(Call::Alltoalls) {
            let (dst, sst) = (argument >> 32, argument & u64::from(u32::MAX));
            return vec![("dst", dst.to_string()), ("sst", sst.to_string())];
        }
        if self.is(Call::TeamSplit) {
            let value = argument & u64::from(u32::MAX);
            return match argument >> SPLIT {
                0 => vec![
                    ("start", (argument >> 32 & 0xffff).to_string()),
                    ("stride", (value as i32).to_string()),
                    ("size", self.detail.to_string()),
                ],
                1 => vec![("xrange", (value as i32).to_string())],
                _ => vec![("npes", self.detail.to_string())],
            };
        }
        let in_heap = (Call::Malloc as u32..=Call::Free as u32).contains(&self.call());
        if !in_heap {
            return Vec::new();
        }
        let heap = if argument & 1 == 0 { "the host's" } else { "the device's" };
        let mut all = vec![("heap", heap.into())];
        if self.is(Call::Align) {
            all.push(("alignment", (argument >> 1).to_string()));
        } else if self.is(Call::Realloc) {
            all.push(("ptr", format!("the block at offset {} of the heap", argument >> 1)));
        }
        all
    }

    /// Of two that are not the same, which PEs `pes` have announced: in which arguments that their texts don't show.
    pub(super) fn differs(&self, other: &Announced, pes: [u32; 2]) -> String {
        let same = self.call() == other.call();
        let both =
            self.arguments().into_iter().zip(other.arguments()).filter(|(one, two)| same && one.0 == two.0);
        let told = differing(pes, both.map(|((name, one), (_, other))| (name, [one, other])));
        match told.is_empty() && self.to_string() == other.to_string() {
            true if self.is(Call::TeamSplit) => " with another list of PEs".into(),
            true => " with other arguments".into(),
            false => told,
        }
    }
}

/// Call and size, without what a member that refuses it says.
impl fmt::Display for Announced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, detail, readable) = (self.call(), self.detail, self.argument & HASH == 0);
        let name = match () {
            _ if !readable => Call::name(call),
            _ if self.is(Call::Scan) && self.argument & EXCLUSIVE != 0 => "exscan",
            _ if self.is(Call::Scan) => "inscan",
            _ if self.is(Call::TeamSplit) && self.argument >> SPLIT == 0 => "team_split_strided",
            _ if self.is(Call::TeamSplit) && self.argument >> SPLIT == 1 => "team_split_2d",
            _ if self.is(Call::TeamSplit) => "team_split_list",
            _ => Call::name(call),
        };
        let takes_size = (Call::Malloc as u32..=Call::Realloc as u32).contains(&call)
            || (Call::Broadcast as u32..=Call::Reduce as u32).contains(&call)
            || (Call::Alltoalls as u32..=Call::ReduceScatter as u32).contains(&call);
        match () {
            _ if self.is(Call::Broadcast) => {
                write!(f, "{name} of {} from root {}", count_bytes(detail), self.argument as i32)
            }
            _ if takes_size => write!(f, "{name} of {}", count_bytes(detail)),
            _ if self.is(Call::Free) => write!(f, "{name} of the block at offset {detail} of the heap"),
            _ => f.write_str(name),
        }
    }
}
