//! What a start asks of the driver and of the other PEs, from a context that is there to a first object, counted on the
//! stand-in. A start is slow where one of these numbers grows, and a GPU is not needed to see that: on one, a module, a
//! stream and a piece of pinned memory take the driver a millisecond each, and PEs of one GPU wait for each other there.
mod common;
use common::calls;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{DebugLevel, HeapKind, Settings};
use dushmem_core::world::{InitOptions, World};
use dushmem_cuda::Cuda;
use dushmem_cuda::context::Context;
use dushmem_testkit::pe_test;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Calls of a start, by function: so many a PE, and so many more for each peer.
const BOUNDS: &[(&str, u64, u64)] = &[
    // The stand-in refuses binaries, so each module is tried twice.
    ("cuModuleLoadData", 2, 0),
    ("cuModuleGetGlobal_v2", 1, 0),
    ("cuStreamCreateWithPriority", 2, 0),
    ("cuEventCreate", 2, 0),
    ("cuMemHostAlloc", 1, 0),
    ("cuMemHostRegister_v2", 0, 0),
    ("cuMemAddressReserve", 1, 0),
    ("cuMemCreate", 1, 0),
    ("cuMemMap", 1, 1),
    ("cuMemSetAccess", 1, 1),
    ("cuMemExportToShareableHandle", 1, 0),
    ("cuMemImportFromShareableHandle", 0, 1),
    ("cuMemAlloc_v2", 0, 0),
    ("cuMemGetInfo_v2", 0, 0),
    ("cuMemsetD8Async", 1, 0),
    // The tables and the state of the library's kernels.
    ("cuMemcpyAsync", 2, 0),
    ("cuStreamWriteValue32_v2", 0, 0),
    ("cuStreamBatchMemOp_v2", 0, 0),
    ("cuLaunchKernel", 0, 0),
    ("cuCtxSynchronize", 0, 0),
    (ALL, 172, 9),
];

/// The name of all calls but those by which something is waited for, whose number depends on how long it takes.
const ALL: &str = "*";

/// The words in front of the numbers in a line about a start.
fn steps(line: &str) -> Vec<String> {
    let (_, steps) = line.split_once(" us: ").unwrap_or_else(|| panic!("no steps: {line}"));
    let name =
        |step: &str| step.trim_end_matches(" beside").rsplit_once(' ').map(|(name, _)| name.to_owned());
    steps.split(", ").map(|step| name(step).unwrap_or_else(|| panic!("{step}: {line}"))).collect()
}

/// What PEs wait for each other in: the first word of such steps.
const TOGETHER: &[&str] =
    &["offers", "meeting", "enough for all", "descriptors", "reached by all", "ready on all"];

/// Starts a PE, and compares what that took.
fn start(boot: Arc<dyn Bootstrap>, settings: Settings, bounds: &[(&str, u64, u64)], together: &[&str]) {
    common::choose(&[("CUDA_STANDIN_MPS", "1")]);
    let (me, n) = boot.place();
    let diary = std::env::temp_dir().join(format!("dushmem-start-{}", std::process::id()));
    let mut settings = Settings { heap_size: 16 << 20, team_slots: 16, ..settings };
    settings.debug = DebugLevel::Info;
    settings.debug_file = Some(diary.to_string_lossy().into_owned());
    let context = Context::primary(common::driver(), 0).unwrap();
    common::fail("");
    let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
    let world = World::init(boot, &settings, options).unwrap_or_else(|why| panic!("init: {why}"));
    world.calloc_on(settings.heap_kind, 512, 8).unwrap_or_else(|why| panic!("a first object: {why}"));
    let peers = n as u64 - 1;
    let waits = || ["cuStreamQuery", "cuStreamSynchronize", "cuCtxGetCurrent"].map(calls).iter().sum::<u64>();
    let asked = |name: &str| if name == ALL { calls(ALL) - waits() } else { calls(name) };
    let found: BTreeMap<&str, u64> = bounds.iter().map(|&(name, ..)| (name, asked(name))).collect();
    for &(name, each, a_peer) in bounds {
        let most = each + a_peer * peers;
        assert!(
            found[name] <= most,
            "PE {me} of {n}: {} calls of {name}, and {most} at most: {found:?}",
            found[name]
        );
    }
    let said = std::fs::read_to_string(&diary).unwrap();
    std::fs::remove_file(&diary).unwrap();
    let line =
        said.lines().find(|line| line.contains("start of the device: ")).unwrap_or_else(|| panic!("{said}"));
    let steps = steps(line);
    let waited: Vec<&str> = steps.iter().map(String::as_str).filter(|step| TOGETHER.contains(step)).collect();
    assert_eq!(waited, together, "PE {me} of {n}: {line}");
    let parts = ["properties", "stream", "pinned memory", "kernels", "their module", "units"];
    for step in parts.into_iter().chain(["zeroing and state", "choice"]) {
        assert!(steps.iter().any(|there| there == step), "{step}: {line}");
    }
    // What is left is made while the program goes on, and is there when it is asked for.
    world.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
    drop((world, context));
    assert_eq!(calls("cuStreamCreateWithPriority"), 2);
    for kind in ["memory", "mappings", "reservations", "streams", "events", "modules", "host", "contexts"] {
        assert_eq!(common::live(kind), 0, "{kind}");
    }
}

fn in_chunks(boot: Arc<dyn Bootstrap>) {
    let settings = Settings { device_heap: Some(64 << 20), ..Settings::defaults() };
    let together: &[&str] = match boot.place().1 {
        1 => &["offers", "enough for all", "ready on all"],
        _ => &["offers", "meeting", "enough for all", "descriptors", "ready on all"],
    };
    start(boot, settings, BOUNDS, together);
}

pe_test!(of_one_pe, 1, in_chunks);
pe_test!(of_two_pes, 2, in_chunks);
pe_test!(of_five_pes, 5, in_chunks);

pe_test!(with_the_heap_of_the_host, 3, |boot| {
    let settings = Settings { heap_kind: HeapKind::Host, ..Settings::defaults() };
    // The heaps of all PEs are pinned, and the tables lie in memory of their own.
    let bounds: Vec<_> = BOUNDS
        .iter()
        .map(|&(name, each, a_peer)| match name {
            "cuMemHostRegister_v2" => (name, 1, 1),
            // The ring of the proxy, which makes the atomic operations on it.
            "cuMemHostAlloc" => (name, 2, 0),
            ALL => (name, 180, 9),
            "cuMemExportToShareableHandle" => (name, 0, 0),
            "cuMemMap" | "cuMemSetAccess" => (name, 1, 0),
            _ => (name, each, a_peer.min(1)),
        })
        .collect();
    start(boot, settings, &bounds, &["offers", "ready on all"]);
});

/// A start in which a call of the driver fails on PE 1 only: all PEs have an error that says what it was.
fn fails(boot: Arc<dyn Bootstrap>, failure: &str, what: &str) {
    let (me, _) = boot.place();
    let knob = [("CUDA_STANDIN_FAIL", failure)];
    common::choose(if me == 1 { &knob } else { &[] });
    let settings = Settings { heap_size: 16 << 20, team_slots: 16, ..Settings::defaults() };
    let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
    let error = World::init(boot, &settings, options).map(drop).expect_err("a start that fails").to_string();
    assert!(error.contains(what), "PE {me}: {error}");
    assert!(me == 1 || error.contains("PE 1"), "PE {me}: {error}");
}

/// Each of the calls that come after PEs have begun to wait for each other.
macro_rules! failures {
    ($($name:ident: $failure:literal, $what:literal;)*) => {$(
        pe_test!($name, 3, |boot| fails(boot, $failure, $what));
    )*};
}

failures! {
    without_a_stream: "cuStreamCreateWithPriority:1=2", "making a stream";
    without_pinned_memory: "cuMemHostAlloc:1=2", "pinned host memory";
    without_addresses: "cuMemAddressReserve:1+=2", "reserving";
    without_memory: "cuMemCreate:1=2", "device memory";
    without_access: "cuMemSetAccess:1=999", "device memory";
    without_a_descriptor: "cuMemExportToShareableHandle:1=999", "export";
    without_the_memory_of_a_peer: "cuMemImportFromShareableHandle:1=999", "importing a peer's device memory";
    without_kernels: "cuModuleLoadData:1+=999", "loading the library's kernels";
    without_zeros: "cuMemsetD8Async:1=999", "device memory";
    without_a_state: "cuMemcpyAsync:2=999", "storing the state";
}
