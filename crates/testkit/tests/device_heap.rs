//! The suites with their arrays in memory of a device, with PEs as threads: what the host does there by copies, and
//! by what else a device does for it.
use dushmem_core::env::TransportKind;
use dushmem_testkit::plain::{PlainDevice, Ways};
use dushmem_testkit::suites::{self, matrix};

const ALL: &[usize] = &[1, 2, 3, 4, 8];

/// One test a suite and transport. The ways of devices take turns.
macro_rules! conformance {
    ($($module:ident: $($suite:ident),+;)*) => {$(
        mod $module {
            use super::*;
            $(mod $suite {
                use super::*;

                #[test]
                fn shm() {
                    run(TransportKind::Shm, suites::$module::$suite);
                }

                #[test]
                fn loopback() {
                    run(TransportKind::Loopback, suites::$module::$suite);
                }
            })+
        }
    )*};
}

fn run(kind: TransportKind, suite: fn(&suites::Pe)) {
    let ways = [
        Ways::default(),
        Ways { late: true, ..Ways::default() },
        Ways { one_chunk: true, ..Ways::default() },
        Ways { moved: true, each: true, ..Ways::default() },
    ];
    for (i, backend) in matrix(kind, ALL).into_iter().enumerate() {
        let mut backend = backend.on(PlainDevice::new(ways[i % ways.len()]));
        // What a device that passes on one chunk has at most.
        backend.settings.device_heap = Some(64 << 20);
        backend.run(suite);
    }
}

conformance! {
    rma: every_small_size, large_sizes, single_values, strides, bad_strides, blocks, bad_blocks, non_blocking,
        source_is_free_at_return, to_itself, random_pieces;
    amo: every_operation, floats_are_bits, from_all_at_once, wrap_around, many_pending;
    order: flag_after_fence, fence_keeps_order, quiet_before_telling_a_third, quiet_of_some_pes, store_buffer,
        put_with_signal, signals, sources_after_quiet;
    until: types_and_comparisons, every_way_of_updating, empty_sets, sets, any_is_fair, any_collects_from_all,
        refusals;
    team: strided, made_again_and_again, from_several_threads;
    context: options_and_operations, orders_of_their_own, of_teams, several_threads;
    coll: barriers, broadcasts, back_to_back, gathers_and_exchanges, large, mismatches,
        bad_arguments_of_one_member, overlapping_buffers;
    reduce: integers, floats, nan_and_negative_zero, sizes, unaligned, reproducible, mismatches, custom;
    uneven: collects, collects_that_are_refused, strided_exchanges, bad_strides;
    scan: sums, in_place, reduce_scatter, mismatches;
    errors: wrong_pe, wrong_addresses, null, misaligned, wrong_numbers;
}
