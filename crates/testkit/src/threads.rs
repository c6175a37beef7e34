//! Jobs whose PEs are threads of the test.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::Settings;
use dushmem_core::job::JobPage;
use dushmem_core::world::{InitOptions, World};
use std::any::Any;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long a job may take. Jobs of the suites take a second or two.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How a PE that is a thread joins.
pub const THREAD_PE: InitOptions = InitOptions { static_data: false, thread_pe: true, device: None };

/// Runs `body` as each of `pes` PEs, between init and finalize.
///
/// # Panics
/// Where a PE panics, with what it said; and where the job does not end within [`LIMIT`], with what each PE
/// waits for. The other threads are left behind then: they may wait for the one that failed.
#[track_caller]
pub fn run(pes: usize, settings: &Settings, body: impl Fn(&Arc<World>) + Send + Sync + 'static) {
    run_with(pes, settings, THREAD_PE, body);
}

/// As [`run`], with other options.
#[track_caller]
pub fn run_with(
    pes: usize,
    settings: &Settings,
    options: InitOptions,
    body: impl Fn(&Arc<World>) + Send + Sync + 'static,
) {
    let settings = settings.clone();
    run_boots(pes, LIMIT, move |boot| {
        let world = World::init(boot, &settings, options).unwrap_or_else(|why| panic!("init: {why}"));
        body(&world);
        world.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
    });
}

/// Runs `body` as each of `pes` PEs, which initialise and finalise themselves.
///
/// # Panics
/// As [`run`], after `limit`.
#[track_caller]
pub fn run_boots(pes: usize, limit: Duration, body: impl Fn(Arc<dyn Bootstrap>) + Send + Sync + 'static) {
    let boots = dushmem_boot::threads::job(pes).expect("memory for a job");
    let watched = Arc::clone(&boots[0]);
    let body = Arc::new(body);
    let (send, receive) = mpsc::channel();
    let mut threads = Vec::with_capacity(pes);
    for (pe, boot) in boots.into_iter().enumerate() {
        let (send, body) = (send.clone(), Arc::clone(&body));
        let main = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| body(boot)));
            drop(body);
            let _ = send.send((pe, outcome.err().map(|panic| said(&*panic))));
        };
        threads.push(std::thread::Builder::new().name(format!("PE {pe}")).spawn(main).expect("a thread"));
    }
    let mut left = Instant::now() + limit;
    let mut running = vec![true; pes];
    let mut failures = String::new();
    while running.contains(&true) {
        match receive.recv_timeout(left.saturating_duration_since(Instant::now())) {
            Ok((pe, None)) => running[pe] = false,
            Ok((pe, Some(text))) => {
                running[pe] = false;
                let _ = writeln!(failures, "PE {pe} of {pes} panicked: {text}");
                // Others may fail for a reason of their own, or wait for this one for ever.
                left = left.min(Instant::now() + Duration::from_millis(300));
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    if !failures.is_empty() {
        panic!("{failures}{}", waits(watched.node_memory().1, &running));
    }
    if running.contains(&true) {
        panic!("{pes} PEs did not end within {limit:?}\n{}", waits(watched.node_memory().1, &running));
    }
    // They have said that they are done; now they are gone, with what belonged to them.
    threads.into_iter().for_each(|thread| thread.join().expect("panics were caught"));
}

fn said(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        _ => "something that is not text".to_owned(),
    }
}

/// One line for each wait of the PEs that still run.
fn waits(page: &JobPage, running: &[bool]) -> String {
    let now = dushmem_os::clock::monotonic_ns();
    let mut text = String::new();
    for pe in (0..running.len()).filter(|&pe| running[pe]) {
        let mut seen = false;
        for (record, since) in page.card(pe).waits().iter().filter_map(|slot| slot.read()) {
            seen = true;
            let _ = writeln!(
                text,
                "PE {pe}{} waits in {} (team {:#x}, for PE {}, at {:#x}, detail {}) for {} ms",
                if record.in_stream() { ": a stream" } else { "" },
                record.name(),
                record.team,
                record.awaited,
                record.address,
                record.detail,
                now.saturating_sub(since) / 1_000_000
            );
        }
        if !seen {
            let _ = writeln!(text, "PE {pe} runs without waiting");
        }
    }
    text
}
