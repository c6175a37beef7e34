//! The suites that run on GPUs (`tests/cuda`), on the CPU: calls of hosts and on streams, whose objects may lie in
//! memory that the host does not reach.
use dushmem_testkit::kernels::Program;
use std::time::Duration;

#[track_caller]
fn is_right(source: &str, arguments: &[&str], pes: &[usize]) {
    let program = Program::of(&[&format!("tests/cuda/{source}.cu")], &[]);
    for &pes in pes {
        let outcome = program.job(pes).limit(Duration::from_secs(150)).args(arguments).run();
        assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{pes} PEs: {outcome:#?}");
    }
}

macro_rules! suites {
    ($($name:ident)*) => { $(#[test] fn $name() { is_right(stringify!($name), &[], &[1, 3]); })* };
}

suites! {
    host_data
    host_atomics
    host_collectives
    host_growth
    host_mixed
    launch_limits
    host_words
    memory_model
    stream_order
    stream_collectives
    stream_graphs
}

#[test]
fn beside_a_capture_and_by_turns() {
    is_right("bad_input", &["capture"], &[1, 2]);
    is_right("bad_input", &["spin"], &[2]);
}

#[test]
fn copies_of_all_alignments() {
    is_right("copies", &["3"], &[1, 2]);
}

/// The way that kernels copy on a GPU, made on the CPU: the same code on other loads and stores.
#[test]
fn copies_as_on_a_gpu() {
    let program = Program::of(&["tests/cuda/copies.cu"], &["-DDUSHMEM_IMPL_COPY_AS_ON_GPU"]);
    for (pes, every) in [(1, "2"), (2, "9")] {
        let outcome = program.job(pes).limit(Duration::from_secs(150)).args([every]).run();
        assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{pes} PEs: {outcome:#?}");
    }
    // The other suites with copies of many shapes.
    let program = Program::of(&["tests/kernels/device_scopes.cu"], &["-DDUSHMEM_IMPL_COPY_AS_ON_GPU"]);
    let outcome = program.job(2).limit(Duration::from_secs(150)).run();
    assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{outcome:#?}");
}

#[test]
fn the_benchmark_of_the_device_side_runs() {
    let program = Program::of(&["tests/cuda/bench_device.cu"], &[]);
    for (pes, row) in
        [(1, "row\tp by a handle, one thread\t4\t"), (2, "row\tfloat sum_reduce, block of 512\t4096\t")]
    {
        let outcome = program.job(pes).limit(Duration::from_secs(150)).args(["brief"]).run();
        let right = outcome.stdout.contains(row) && outcome.stdout.ends_with("all right\n");
        assert!(outcome.code == 0 && right && !outcome.stdout.contains("wrong"), "{pes} PEs: {outcome:#?}");
    }
}
