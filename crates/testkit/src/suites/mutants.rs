//! Programs that rely on one rule of the memory model each, with the rule kept or left out.
//!
//! The right program never sees old data, on any transport. The one without the rule is a *mutant*: on the
//! transport that reorders it must see old data soon, or the suites on that transport prove nothing.
use super::pe::Pe;
use dushmem_core::amo::AmoOp;
use dushmem_core::signal::SignalOp;
use dushmem_core::until::Cmp;

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What is left out in the mutant.
    pub name: &'static str,
    /// One round: `kept` says whether the rule is. Gives the number of old values seen on this PE.
    pub round: fn(&Pe, round: u64, kept: bool, &Places) -> usize,
}

/// Symmetric memory of the programs.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    data: super::Sym<u64>,
    flag: super::Sym<u64>,
}

/// Words of data.
const WORDS: usize = 8;

/// All rules.
pub const RULES: [Rule; 13] = [
    Rule { name: "fence between data and flag", round: fence_before_flag },
    Rule { name: "fence between data and an atomic that returns a value", round: fence_before_fetch },
    Rule { name: "fence between an earlier put and a put with signal", round: fence_before_put_signal },
    Rule { name: "put with signal instead of put and signal", round: put_with_signal },
    Rule { name: "fence on the context of the data", round: fence_on_its_context },
    Rule { name: "quiet before telling a third PE", round: quiet_before_third },
    Rule { name: "quiet on the context of the data", round: quiet_on_its_context },
    Rule { name: "quiet before a get from the same place", round: quiet_before_get },
    Rule { name: "quiet, not fence, before a get from the same place", round: quiet_not_fence },
    Rule { name: "quiet before the source of put_nbi is used again", round: quiet_before_reuse },
    Rule { name: "quiet before the result of get_nbi is used", round: quiet_after_get },
    Rule { name: "quiet before the result of a non-blocking atomic is used", round: quiet_after_amo },
    Rule { name: "barrier, not sync, before others' puts are read", round: barrier_not_sync },
];

/// Runs `rounds` rounds of a rule's program and gives the number of old values that this PE has seen.
pub fn run(pe: &Pe, rule: &Rule, kept: bool, rounds: u64) -> usize {
    let places = Places { data: pe.alloc(WORDS), flag: pe.alloc(2) };
    let mut old = 0;
    for round in 1..=rounds {
        old += (rule.round)(pe, round, kept, &places);
        // Both the default context, which barrier_all quiets, and whatever else was used are idle now.
        pe.meet();
    }
    pe.release(places.flag);
    pe.release(places.data);
    old
}

fn words(round: u64) -> [u64; WORDS] {
    [round; WORDS]
}

/// Number of own words that are not those of this round.
fn old_words(at: &Places, round: u64) -> usize {
    at.data.to_vec().into_iter().filter(|&word| word != round).count()
}

fn fence_before_flag(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    pe.put(pe.ctx(), at.data.at(0), &words(round), pe.right()).unwrap();
    if kept {
        pe.fence(pe.ctx()).unwrap();
    }
    pe.p(pe.ctx(), at.flag.at(0), round, pe.right()).unwrap();
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    old_words(at, round)
}

fn fence_before_fetch(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    pe.put(pe.ctx(), at.data.at(0), &words(round), pe.right()).unwrap();
    if kept {
        pe.fence(pe.ctx()).unwrap();
    }
    pe.amo(at.flag.at(0), AmoOp::Add, 1, 0, pe.right()).unwrap();
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    old_words(at, round)
}

fn fence_before_put_signal(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    let half = WORDS / 2;
    pe.put(pe.ctx(), at.data.at(0), &words(round)[..half], pe.right()).unwrap();
    if kept {
        pe.fence(pe.ctx()).unwrap();
    }
    let update = (at.flag.at(0), round, SignalOp::Set);
    pe.put_signal((at.data.at(half), &words(round)[half..]), update, pe.right()).unwrap();
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    old_words(at, round)
}

fn put_with_signal(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    let data = words(round);
    if kept {
        let update = (at.flag.at(0), round, SignalOp::Set);
        pe.put_signal((at.data.at(0), &data), update, pe.right()).unwrap();
    } else {
        pe.put(pe.ctx(), at.data.at(0), &data, pe.right()).unwrap();
        pe.signal(at.flag.at(0), round, SignalOp::Set, pe.right()).unwrap();
    }
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    old_words(at, round)
}

fn fence_on_its_context(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    let ctx = pe.create_context(None, 0).unwrap();
    pe.put(&ctx, at.data.at(0), &words(round), pe.right()).unwrap();
    pe.fence(if kept { &ctx } else { pe.ctx() }).unwrap();
    pe.p(&ctx, at.flag.at(0), round, pe.right()).unwrap();
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    let old = old_words(at, round);
    pe.destroy_context(&ctx).unwrap();
    old
}

/// PE 0 puts to the last PE and tells PE 1, which reads from there.
fn quiet_before_third(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    let (target, third) = (pe.n - 1, 1 % pe.n);
    if pe.me == 0 {
        pe.put(pe.ctx(), at.data.at(0), &words(round), target).unwrap();
        if kept {
            pe.quiet(pe.ctx()).unwrap();
        } else {
            pe.fence(pe.ctx()).unwrap();
        }
        pe.signal(at.flag.at(0), round, SignalOp::Set, third).unwrap();
        // The barrier would complete the put.
        pe.wait(at.flag.at(1), Cmp::Eq, round).unwrap();
    }
    if pe.me != third {
        return 0;
    }
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    let mut seen = [0; WORDS];
    pe.get(pe.ctx(), &mut seen, at.data.at(0), target).unwrap();
    pe.signal(at.flag.at(1), round, SignalOp::Set, 0).unwrap();
    seen.into_iter().filter(|&word| word != round).count()
}

fn quiet_on_its_context(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    let ctx = pe.create_context(None, 0).unwrap();
    pe.put(&ctx, at.data.at(0), &words(round), pe.right()).unwrap();
    pe.quiet(if kept { &ctx } else { pe.ctx() }).unwrap();
    pe.signal(at.flag.at(0), round, SignalOp::Set, pe.right()).unwrap();
    pe.wait(at.flag.at(0), Cmp::Eq, round).unwrap();
    let old = old_words(at, round);
    pe.destroy_context(&ctx).unwrap();
    old
}

fn quiet_before_get(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    pe.put(pe.ctx(), at.data.at(0), &words(round), pe.right()).unwrap();
    if kept {
        pe.quiet(pe.ctx()).unwrap();
    }
    let mut seen = [0; WORDS];
    pe.get(pe.ctx(), &mut seen, at.data.at(0), pe.right()).unwrap();
    seen.into_iter().filter(|&word| word != round).count()
}

fn quiet_not_fence(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    pe.put(pe.ctx(), at.data.at(0), &words(round), pe.right()).unwrap();
    if kept {
        pe.quiet(pe.ctx()).unwrap()
    } else {
        pe.fence(pe.ctx()).unwrap()
    }
    usize::from(pe.g(pe.ctx(), at.data.at(WORDS - 1), pe.right()).unwrap() != round)
}

fn quiet_before_reuse(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    let mut source = words(round);
    pe.put_nbi(pe.ctx(), at.data.at(0), &source, pe.right()).unwrap();
    if kept {
        pe.quiet(pe.ctx()).unwrap();
    }
    overwrite(&mut source);
    pe.meet();
    old_words(at, round)
}

fn quiet_after_get(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    at.data.store(0, &words(round));
    pe.meet();
    let mut seen = [0; WORDS];
    pe.get_nbi(pe.ctx(), &mut seen, at.data.at(0), pe.right()).unwrap();
    if kept {
        pe.quiet(pe.ctx()).unwrap();
    }
    let old = look(&seen).into_iter().filter(|&word| word != round).count();
    pe.meet();
    old
}

fn quiet_after_amo(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    at.data.write(0, round);
    pe.meet();
    let mut seen = [0];
    pe.amo_nbi(&mut seen[0], at.data.at(0), AmoOp::Add, 1, 0, pe.right()).unwrap();
    if kept {
        pe.quiet(pe.ctx()).unwrap();
    }
    let old = usize::from(look(&seen)[0] != round);
    pe.meet();
    old
}

fn barrier_not_sync(pe: &Pe, round: u64, kept: bool, at: &Places) -> usize {
    pe.put(pe.ctx(), at.data.at(0), &words(round), pe.right()).unwrap();
    if kept {
        pe.barrier_all().unwrap()
    } else {
        pe.sync_all().unwrap()
    }
    let old = old_words(at, round);
    // Nobody may begin the next round while others read.
    pe.sync_all().unwrap();
    old
}

/// Writes to a buffer that a transport may be reading, as the mutant does.
fn overwrite(buffer: &mut [u64]) {
    for word in buffer {
        // SAFETY: a reference; volatile, so that the write takes place here.
        unsafe { std::ptr::from_mut(word).write_volatile(u64::MAX) };
    }
}

/// Reads a buffer that a transport may be writing, as the mutant does.
fn look(buffer: &[u64]) -> Vec<u64> {
    // SAFETY: references; volatile, so that the reads take place here.
    buffer.iter().map(|word| unsafe { std::ptr::from_ref(word).read_volatile() }).collect()
}
