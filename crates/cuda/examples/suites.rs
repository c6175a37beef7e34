//! The host's suites with their arrays in memory of a real GPU, as a program that can be carried to it:
//! `suites threads PES [MODULE]`, or `dushrun -n PES suites processes [MODULE]`.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{Settings, TransportKind};
use dushmem_core::error::Call;
use dushmem_core::job::PeState;
use dushmem_core::world::{InitOptions, World};
use dushmem_cuda::context::Context;
use dushmem_cuda::lane::Lane;
use dushmem_cuda::waiting::Waiting;
use dushmem_cuda::{Cuda, driver};
use dushmem_testkit::suites::{self, Pe, look_by, matrix};
use std::process::ExitCode;
use std::sync::Arc;

/// A suite, under the name of its module and its own.
type Suite = (&'static str, &'static str, fn(&Pe));

macro_rules! suites {
    ($($module:ident: $($suite:ident),+;)*) => {
        &[$($((stringify!($module), stringify!($suite), suites::$module::$suite as fn(&Pe)),)+)*]
    };
}

const SUITES: &[Suite] = suites! {
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
};

/// Arrays are looked at in a stream of their own, which waits for none of the library's.
fn copy(dest: usize, source: usize, bytes: usize) {
    thread_local! {
        static LANE: Lane = {
            let driver = driver::get().unwrap_or_else(|why| panic!("{why}"));
            let context = Context::primary(driver, 0).unwrap_or_else(|why| panic!("{why}"));
            Lane::new(&Arc::new(context))
        };
    }
    if bytes == 0 {
        return;
    }
    LANE.with(|lane| {
        let driver = driver::get().unwrap_or_else(|why| panic!("{why}"));
        // SAFETY: arrays of the suites, and their vectors; finish waits.
        lane.begin(|stream| unsafe { driver.memcpy_async(dest as _, source as _, bytes, stream) })
            .and_then(|()| lane.finish(&Waiting::alone()))
            .unwrap_or_else(|why| panic!("a copy of {bytes} bytes from {source:#x} to {dest:#x}: {why:?}"));
    });
}

/// Heap of a PE on the device: room for every suite.
const HEAP: u64 = 256 << 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    look_by(copy);
    let chosen = |module: Option<&&str>| {
        let module = module.copied();
        SUITES.iter().filter(move |suite| module.is_none_or(|module| suite.0 == module)).collect::<Vec<_>>()
    };
    let (done, pe) = match words[..] {
        ["processes", ..] => processes(&chosen(words.get(1))),
        ["threads", pes, ..] => match pes.parse() {
            Ok(pes) => (threads(pes, &chosen(words.get(2))), 0),
            Err(_) => (0, 0),
        },
        _ => (0, 0),
    };
    match (done, pe) {
        (0, _) => {
            eprintln!("usage: suites threads PES [MODULE], or dushrun -n PES suites processes [MODULE]");
            ExitCode::from(2)
        }
        (done, 0) => {
            println!("{done} suites: all right");
            ExitCode::SUCCESS
        }
        _ => ExitCode::SUCCESS,
    }
}

fn threads(pes: usize, chosen: &[&Suite]) -> usize {
    for (module, name, suite) in chosen {
        eprintln!("{module}::{name}");
        for backend in matrix(TransportKind::Shm, &[pes]) {
            let mut backend = backend.on(&Cuda);
            backend.settings.device_heap = Some(HEAP);
            backend.run(*suite);
        }
    }
    chosen.len()
}

/// This process is one PE; a suite that fails ends it, and so the job.
fn processes(chosen: &[&Suite]) -> (usize, usize) {
    let boot = dushmem_boot::connect().unwrap_or_else(|error| panic!("{error}"));
    boot.report(PeState::Joined);
    let me = boot.place().0;
    all(Arc::clone(&boot), chosen);
    boot.barrier();
    boot.report(PeState::Finalized);
    (chosen.len(), me)
}

fn all(boot: Arc<dyn Bootstrap>, chosen: &[&Suite]) {
    let settings =
        Settings { heap_size: 16 << 20, team_slots: 64, device_heap: Some(HEAP), ..Settings::defaults() };
    let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
    let world = World::init(boot, &settings, options).unwrap_or_else(|why| panic!("init: {why}"));
    world.bind_device(Call::Malloc, true).unwrap_or_else(|why| panic!("the device: {why}"));
    let pe = Pe::on_device(&world);
    for (module, name, suite) in chosen {
        if pe.me == 0 {
            eprintln!("{module}::{name}");
        }
        suite(&pe);
    }
    pe.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
}
