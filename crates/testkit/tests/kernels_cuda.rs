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
    stream_order
    stream_collectives
    stream_graphs
}

#[test]
fn beside_a_capture_and_by_turns() {
    is_right("bad_input", &["capture"], &[1, 2]);
    is_right("bad_input", &["spin"], &[2]);
}
