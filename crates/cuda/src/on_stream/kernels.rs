//! The library's kernels that operations in streams launch, with their parameters (`kernels/*.cu`).
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
    let args = args.word(what.kind as u64).word(what.op as u64).word(scatter.into());
    launch("dushmem_k_reduce", blocks, WIDE, args)
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

/// A strided copy, by device addresses.
pub fn copy_strided(dest: u64, source: u64, rows: &Rows) -> Launch {
    let args =
        Args::default().word(dest).word(rows.dest_pitch as u64).word(source).word(rows.source_pitch as u64);
    let args = args.word(rows.width as u64).word(rows.rows as u64);
    // Each thread copies some elements.
    let blocks = rows.rows.div_ceil(1024).clamp(1, 256);
    launch("dushmem_k_copy_strided", blocks as u32, 256, args)
}

/// Waits for a word.
pub fn wait(at: u64, bytes: usize, signed: bool, cmp: Cmp, value: u64) -> Launch {
    let args = Args::default().word(at).word(bytes as u64).word(signed.into()).word(cmp as u64).word(value);
    launch("dushmem_k_wait", 1, 32, args)
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

/// Waits for several words.
pub fn wait_all(what: &WaitAll) -> Launch {
    let args =
        Args::default().word(what.at).word(what.bytes as u64).word(what.signed.into()).word(what.n as u64);
    let args = args.word(what.status).word(what.cmp as u64).word(what.values).word(what.each.into());
    launch("dushmem_k_wait_all", 1, 32, args)
}
