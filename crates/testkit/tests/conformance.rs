//! Every suite on both transports, with PEs as threads.
use dushmem_core::env::TransportKind;
use dushmem_testkit::suites::{self, matrix};

const ALL: &[usize] = &[1, 2, 3, 4, 7, 8];
const MANY: &[usize] = &[1, 2, 3, 4, 7, 8, 16];

/// One test a suite and transport.
macro_rules! conformance {
    ($($module:ident: $($suite:ident $(($pes:expr))?),+;)*) => {$(
        mod $module {
            use super::*;
            $(mod $suite {
                use super::*;

                #[test]
                fn shm() {
                    matrix(TransportKind::Shm, pes()).iter().for_each(|it| it.run(suites::$module::$suite));
                }

                #[test]
                fn loopback() {
                    matrix(TransportKind::Loopback, pes()).iter().for_each(|it| it.run(suites::$module::$suite));
                }

                fn pes() -> &'static [usize] {
                    [ALL $(, $pes)?].last().copied().unwrap_or(ALL)
                }
            })+
        }
    )*};
}

conformance! {
    rma: every_small_size, large_sizes, single_values(MANY), strides, bad_strides, blocks, bad_blocks, non_blocking(MANY),
        source_is_free_at_return, to_itself, random_pieces;
    amo: every_operation, floats_are_bits, from_all_at_once(MANY), wrap_around,
        many_pending;
    order: flag_after_fence(MANY), fence_keeps_order, quiet_before_telling_a_third, quiet_of_some_pes,
        store_buffer, put_with_signal(MANY), signals, sources_after_quiet;
    until: types_and_comparisons, every_way_of_updating, empty_sets, sets, any_is_fair,
        any_collects_from_all(MANY), refusals;
    team: predefined, strided(MANY), refusals, made_again_and_again, changing_pairs(MANY), exhaustion,
        from_several_threads, grids, grids_that_fail, lists, met(MANY), met_in_vain, met_by_threads;
    context: options_and_operations, orders_of_their_own, of_teams, several_threads;
    coll: barriers(MANY), barriers_of_teams, broadcasts, back_to_back(MANY), gathers_and_exchanges, large,
        mismatches, bad_arguments_of_one_member, overlapping_buffers;
    ahead: roots_go_on(MANY), mixed(MANY), teams_made_again, told_later;
    reduce: integers, floats, nan_and_negative_zero, sizes, unaligned, reproducible, mismatches, custom;
    uneven: collects, collects_that_are_refused, strided_exchanges, bad_strides;
    scan: sums, in_place, reduce_scatter, mismatches;
    active_set: barriers(MANY), every_collective, back_to_back, restored, one_array_after_another, refusals,
        disagreements;
    heap: random_calls, nothing, nothing_disturbs_teams, calloc_is_zero, exhaustion, bad_frees,
        disagreements, addresses;
    lock: mutual_exclusion(MANY), first_come_first_served, testing_and_threads;
    multiple: everything_at_once;
    errors: wrong_pe, wrong_addresses, null, misaligned, wrong_numbers;
}
