//! The library's kernels that operations in streams launch, with their parameters (`kernels/*.cu`).
use super::compare::Shape;
use super::queue::{Args, Launch, Rows};
use dushmem_core::amo::AmoOp;
use dushmem_core::coll::reduce::{ElementKind, ReduceOp};
use dushmem_core::until::Cmp;

/// Threads of a block of a collective.
const WIDE: u32 = 512;
/// Words of the addresses that `dushmem_k_combine_at` takes.
pub const COMBINE_ADDRESSES: usize = 128;

fn launch(kernel: &'static str, blocks: u32, threads: u32, args: Args) -> Launch {
    Launch { kernel, blocks, threads, args }
}

/// Most members of a team that a kernel gets as an argument: `dushmem_k_most_few` of kernels/few.h.
pub const MOST_FEW: usize = 8;
/// Words of `dushmem_k_few`, which that argument is.
const FEW_WORDS: usize = 5 + MOST_FEW + MOST_FEW / 2;
/// Most threads of the kernels that take it, and the most 8-byte words that they send, for all members together: with more,
/// those that look teams up have more threads.
const FEW_THREADS: usize = 256;
const FEW_SENT: usize = 2048;
/// Most blocks, and threads, of those that divide longer data: `dushmem_k_flagged_blocks` of kernels/flagged.h.
const FLAGGED_BLOCKS: usize = 64;
const FLAGGED_THREADS: usize = 256;

/// What a kernel has to know of a team of few members that reach each other: nothing is looked up then.
#[derive(Clone, Copy, Debug)]
pub struct Few {
    /// This PE's rank.
    pub me: usize,
    /// Own address of the team's slot, of its arrays of words, and of its buffers of data with flags.
    pub slot: u64,
    /// See above.
    pub arrays: u64,
    /// See above.
    pub buffers: u64,
    /// Words of an array.
    pub words: usize,
    /// Bytes of a buffer.
    pub cell: usize,
    /// By rank: world numbers, and what leads from an own address to the member's copy.
    pub members: [(u32, i64); MOST_FEW],
    /// Members.
    pub n: usize,
}

impl Few {
    fn args(&self) -> Args {
        let pair = |low: usize, high: usize| low as u64 | (high as u64) << 32;
        let mut all = [0; FEW_WORDS];
        all[..5].copy_from_slice(&[
            self.slot,
            self.arrays,
            self.buffers,
            pair(self.words, self.cell),
            pair(self.me, self.n),
        ]);
        for (to, member) in all[5..].iter_mut().zip(&self.members) {
            *to = member.1 as u64;
        }
        for (to, two) in all[5 + MOST_FEW..].iter_mut().zip(self.members.chunks_exact(2)) {
            *to = pair(two[0].0 as usize, two[1].0 as usize);
        }
        Args::default().array(&all, FEW_WORDS)
    }

    /// Whether so many bytes from each to each go that way, and the binary logarithm of the words' places.
    pub fn takes(&self, bytes: usize) -> Option<u32> {
        let places = bytes.div_ceil(8).checked_next_power_of_two()?;
        (bytes > 0 && bytes <= self.cell / 2 && self.n * places <= FEW_SENT).then(|| places.ilog2())
    }

    /// How so many bytes from each to each are divided among the blocks of a grid, whose words lie in `area`; `None` where they
    /// are too many.
    pub fn divided(&self, area: &Area, bytes: usize, most_blocks: u32) -> Option<Parts> {
        let words = bytes.div_ceil(8);
        let blocks =
            words.div_ceil(FLAGGED_THREADS).clamp(1, FLAGGED_BLOCKS.min(most_blocks.max(1) as usize));
        let part = words.div_ceil(blocks) * 8;
        // Rounding may leave the last ones without a part.
        let blocks = bytes.div_ceil(part.max(8)) as u32;
        let cell = area.cell(self.n);
        let fits = bytes > 0 && bytes <= area.most_sent / self.n && part <= cell / 2;
        fits.then_some(Parts { few: Few { buffers: area.at, cell, ..*self }, blocks, part })
    }

    fn threads(&self, shift: u32) -> u32 {
        (self.n << shift).next_multiple_of(32).min(FEW_THREADS) as u32
    }
}

/// Where the words of grids with data and flag lie in the own memory.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its beginning.
    pub at: u64,
    /// Its bytes.
    pub bytes: usize,
    /// Most bytes that a member sends so, to all members together.
    pub most_sent: usize,
}

impl Area {
    /// Bytes of what a block of each of `n` members sends.
    fn cell(&self, n: usize) -> usize {
        self.bytes / (2 * FLAGGED_BLOCKS * n) / 16 * 16
    }
}

/// Data divided among the blocks of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    few: Few,
    blocks: u32,
    /// Bytes of each block.
    part: usize,
}

impl Parts {
    fn launch(&self, kernel: &'static str, dest: u64, source: u64, bytes: usize) -> Launch {
        let args = self.few.args().word(dest).word(source).word(bytes as u64).word(self.part as u64);
        launch(kernel, self.blocks, FLAGGED_THREADS as u32, args)
    }
}

/// As [`few_exchange`].
pub fn flagged_exchange(parts: &Parts, dest: u64, source: u64, bytes: usize, all_to_all: bool) -> Launch {
    let launch = parts.launch("dushmem_k_flagged_exchange", dest, source, bytes);
    Launch { args: launch.args.word(all_to_all.into()), ..launch }
}

/// As [`few_broadcast`].
pub fn flagged_broadcast(parts: &Parts, dest: u64, source: u64, bytes: usize, root: i32) -> Launch {
    let launch = parts.launch("dushmem_k_flagged_broadcast", dest, source, bytes);
    Launch { args: launch.args.int(root), ..launch }
}

/// As [`few_reduce`].
pub fn flagged_reduce(
    parts: &Parts,
    dest: u64,
    source: u64,
    bytes: usize,
    what: Computes,
    scatter: bool,
) -> Launch {
    let launch = parts.launch("dushmem_k_flagged_reduce", dest, source, bytes);
    Launch { args: what.behind(launch.args, scatter), ..launch }
}

/// Sync, or barrier, of few members; requests to the proxy are not completed.
pub fn few_sync(few: &Few, barrier: bool) -> Launch {
    launch("dushmem_k_few_sync", 1, 32, few.args().int(barrier.into()))
}

/// A block from each to all, or, `all_to_all`, from each to each. `shift`: see [`Few::takes`], as below.
pub fn few_exchange(few: &Few, shift: u32, dest: u64, source: u64, bytes: usize, all_to_all: bool) -> Launch {
    let args = few.args().word(dest).word(source).word(bytes as u64).word(shift.into());
    launch("dushmem_k_few_exchange", 1, few.threads(shift), args.word(all_to_all.into()))
}

/// The root's data to all.
pub fn few_broadcast(few: &Few, shift: u32, dest: u64, source: u64, bytes: usize, root: i32) -> Launch {
    let args = few.args().word(dest).word(source).word(bytes as u64).word(shift.into());
    launch("dushmem_k_few_broadcast", 1, few.threads(shift), args.int(root))
}

/// A reduction of vectors of `bytes` bytes, or, `scatter`, of a block of so many for each member.
pub fn few_reduce(
    few: &Few,
    shift: u32,
    dest: u64,
    source: u64,
    bytes: usize,
    what: Computes,
    scatter: bool,
) -> Launch {
    let args = few.args().word(dest).word(source).word(bytes as u64).word(shift.into());
    launch("dushmem_k_few_reduce", 1, few.threads(shift), what.behind(args, scatter))
}

/// Sync, or barrier, of a team.
pub fn sync(team: i32, barrier: bool) -> Launch {
    launch("dushmem_k_sync", 1, 64, Args::default().int(team).int(barrier.into()))
}

/// Completes what kernels have begun on the default context.
pub fn quiet() -> Launch {
    launch("dushmem_k_quiet", 1, 1, Args::default())
}

impl Launch {
    /// The kernel that does the same for teams with members that kernels reach through the proxy only.
    pub fn far(self) -> Launch {
        let kernel = match self.kernel {
            "dushmem_k_reduce" => "dushmem_k_far_reduce",
            "dushmem_k_fcollect" => "dushmem_k_far_fcollect",
            "dushmem_k_alltoall" => "dushmem_k_far_alltoall",
            "dushmem_k_broadcast" => "dushmem_k_far_broadcast",
            other => other,
        };
        Launch { kernel, blocks: 1, ..self }
    }
}

/// What a reduction computes.
#[derive(Clone, Copy, Debug)]
pub struct Computes {
    /// Of what.
    pub kind: ElementKind,
    /// What.
    pub op: ReduceOp,
}

impl Computes {
    /// The last arguments of a reduction's kernel.
    fn behind(self, args: Args, scatter: bool) -> Args {
        args.word(self.kind as u64).word(self.op as u64).word(scatter.into())
    }
}

/// A reduction of `n` elements to all; or, `scatter`, of a block of `n` to each member.
pub fn reduce(
    blocks: u32,
    team: i32,
    dest: u64,
    source: u64,
    n: usize,
    what: Computes,
    scatter: bool,
) -> Launch {
    let args = Args::default().int(team).word(dest).word(source).word(n as u64);
    launch("dushmem_k_reduce", blocks, WIDE, what.behind(args, scatter))
}

/// Everybody's block to all.
pub fn fcollect(blocks: u32, team: i32, dest: u64, source: u64, bytes: usize) -> Launch {
    let args = Args::default().int(team).word(dest).word(source).word(bytes as u64);
    launch("dushmem_k_fcollect", blocks, WIDE, args)
}

/// A block from each to each.
pub fn alltoall(blocks: u32, team: i32, dest: u64, source: u64, bytes: usize) -> Launch {
    let args = Args::default().int(team).word(dest).word(source).word(bytes as u64);
    launch("dushmem_k_alltoall", blocks, WIDE, args)
}

/// The root's data to all.
pub fn broadcast(blocks: u32, team: i32, dest: u64, source: u64, bytes: usize, root: i32) -> Launch {
    let args = Args::default().int(team).word(dest).word(source).word(bytes as u64).int(root);
    launch("dushmem_k_broadcast", blocks, WIDE, args)
}

/// Element i of every destination becomes element i of the sources, combined in their order. Waits for nobody.
pub fn combine(blocks: u32, sources: &[u64], dests: &[u64], n: usize, what: Computes) -> Launch {
    let at: Vec<u64> = sources.iter().chain(dests).copied().collect();
    let args = Args::default().array(&at, COMBINE_ADDRESSES);
    let args = args.word(sources.len() as u64).word(dests.len() as u64).word(n as u64);
    launch("dushmem_k_combine_at", blocks, WIDE, args.word(what.kind as u64).word(what.op as u64))
}

/// One atomic operation.
pub fn amo(at: u64, op: AmoOp, wide: bool, value: u64) -> Launch {
    let args = Args::default().word(at).word(value).word(0).word(op as u64).word(wide.into()).word(0);
    launch("dushmem_k_amo", 1, 1, args)
}

/// Adds to a signal in the host's heap, by its own address: the CPU does it, which kernels ask.
pub fn signal_add(own: usize, value: u64, pe: i32) -> Launch {
    launch("dushmem_k_signal_add", 1, 1, Args::default().word(own as u64).word(value).int(pe))
}

/// A copy, by device addresses, at any alignment.
pub fn copy(dest: u64, source: u64, bytes: usize) -> Launch {
    // A thread copies 16 bytes at a time.
    let threads = bytes.div_ceil(16).next_multiple_of(32).clamp(32, 256);
    let blocks = bytes.div_ceil(64 * threads).clamp(1, 132);
    let args = Args::default().word(dest).word(source).word(bytes as u64);
    launch("dushmem_k_copy", blocks as u32, threads as u32, args)
}

/// A strided copy, by device addresses.
pub fn copy_strided(dest: u64, source: u64, rows: &Rows) -> Launch {
    let args =
        Args::default().word(dest).word(rows.dest_pitch as u64).word(source).word(rows.source_pitch as u64);
    let args = args.word(rows.width as u64).word(rows.rows as u64);
    // Each thread copies some elements.
    let blocks = rows.rows.div_ceil(1024).clamp(1, 256);
    launch("dushmem_k_copy_strided", blocks as u32, 256, args)
}

/// Waits for a word. `mark`: the device's address of a word that says so. `said`: that of one which the CPU has set, to 1 where
/// there is nothing to wait for, and which becomes 0 again; or 0.
pub fn wait(at: u64, shape: Shape, cmp: Cmp, mark: u64, said: u64) -> Launch {
    let Shape { bytes, signed, bits } = shape;
    let args = Args::default().word(at).word(bytes as u64).word(signed.into()).word(cmp as u64).word(bits);
    launch("dushmem_k_wait", 1, 32, args.word(mark).word(said))
}

/// Words that a kernel waits for, with their status array and values.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the arguments of wait_until_all")]
pub struct WaitAll {
    pub at: u64,
    pub bytes: usize,
    pub signed: bool,
    pub n: usize,
    pub status: u64,
    pub cmp: Cmp,
    /// One value, or the address of one each.
    pub values: u64,
    pub each: bool,
}

/// Waits for several words. `mark`, `said`: as above.
pub fn wait_all(what: &WaitAll, mark: u64, said: u64) -> Launch {
    let args =
        Args::default().word(what.at).word(what.bytes as u64).word(what.signed.into()).word(what.n as u64);
    let args = args.word(what.status).word(what.cmp as u64).word(what.values).word(what.each.into());
    launch("dushmem_k_wait_all", 1, 32, args.word(mark).word(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few(n: usize) -> Few {
        let (slot, arrays, buffers) = (4096, 8192, 16384);
        Few { me: 0, slot, arrays, buffers, words: 8, cell: 64, members: [(0, 0); MOST_FEW], n }
    }

    #[test]
    fn parts_of_blocks_are_all_of_the_data_and_fit_into_their_buffers() {
        for n in 2..=MOST_FEW {
            let area = Area { at: 1 << 20, bytes: 8 << 20, most_sent: 2 << 20 };
            for bytes in
                (0..14).chain((0..=22).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 5]))
            {
                for most_blocks in [0, 1, 3, 64, 128] {
                    let Some(Parts { few, blocks, part }) = few(n).divided(&area, bytes, most_blocks) else {
                        assert!(
                            bytes == 0
                                || bytes * n > 2 << 20
                                || most_blocks < 64
                                || bytes > area.cell(n) * 32,
                            "{bytes} bytes of {n} members, {most_blocks} blocks"
                        );
                        continue;
                    };
                    let blocks = blocks as usize;
                    assert!(part.is_multiple_of(8) && 2 * part <= few.cell && few.cell.is_multiple_of(16));
                    assert!(
                        (blocks - 1) * part < bytes && bytes <= blocks * part,
                        "{bytes}: {blocks} of {part}"
                    );
                    assert!(blocks <= (most_blocks as usize).clamp(1, FLAGGED_BLOCKS));
                    // Both parities of the last block's last member.
                    assert!(2 * FLAGGED_BLOCKS * n * few.cell <= area.bytes);
                }
            }
        }
    }
}
