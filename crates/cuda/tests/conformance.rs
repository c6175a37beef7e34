//! The suites with their arrays in memory of a GPU, on the stand-in: PEs as threads.
mod common;
use dushmem_core::env::TransportKind;
use dushmem_cuda::Cuda;
use dushmem_testkit::suites::{self, matrix};

/// One test a suite.
macro_rules! conformance {
    ($($module:ident: $($suite:ident),+;)*) => {$(
        mod $module {
            use super::*;
            $(
                #[test]
                fn $suite() {
                    run(suites::$module::$suite);
                }
            )+
        }
    )*};
}

fn run(suite: fn(&suites::Pe)) {
    common::choose(&[("CUDA_STANDIN_HOST_ACCESS", "1")]);
    for backend in matrix(TransportKind::Shm, &[1, 3]) {
        let mut backend = backend.on(&Cuda);
        backend.settings.device_heap = Some(64 << 20);
        backend.run(suite);
    }
}

conformance! {
    rma: every_small_size, large_sizes, single_values, strides, blocks, non_blocking, source_is_free_at_return,
        to_itself, random_pieces;
    amo: every_operation, floats_are_bits, from_all_at_once, wrap_around;
    order: flag_after_fence, fence_keeps_order, quiet_before_telling_a_third, put_with_signal, signals,
        sources_after_quiet;
    until: types_and_comparisons, every_way_of_updating, sets;
    team: strided, made_again_and_again, from_several_threads;
    context: options_and_operations, orders_of_their_own;
    coll: barriers, broadcasts, back_to_back, gathers_and_exchanges, large, overlapping_buffers;
    reduce: integers, floats, sizes, reproducible, custom;
    uneven: collects, strided_exchanges;
    scan: sums, in_place, reduce_scatter;
    errors: wrong_addresses, misaligned;
}
