//! Bodies of PEs: as threads of this process, or as the process itself.
use crate::builder::Builder;
use crate::error::{Error, Result};
use crate::world::World;
use dushmem_backends as backends;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::error::Error as Cause;
use dushmem_core::process::Place;
use dushmem_os::say::say;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Runs `pes` PEs as threads of this process and returns their results in the order of the PEs. Each gets
/// its own world, which is finalized when all have returned `Ok`.
///
/// Fails with the error of the first PE that returned one, and panics as the first one that did. PEs that
/// wait for one that has failed can't be ended like processes can: if all that still run have waited for
/// two seconds, the process ends, with a line that says which PE failed and who waited where. Where some have returned
/// `Ok` while all others wait so long, a line tells that.
///
/// ```
/// let squares = dushmem::run(4, |world| Ok(world.my_pe() * world.my_pe()))?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), dushmem::Error>(())
/// ```
pub fn run<R: Send>(pes: usize, body: impl Fn(&World) -> Result<R> + Sync) -> Result<Vec<R>> {
    Builder::from_env()?.run(pes, body)
}

/// Joins the job that this process was started in (by `dushrun`; alone it is PE 0 of 1), calls `body`, and
/// leaves the job. If `body` fails this returns its error without leaving: a process that then ends with a
/// non-zero code, as one does whose `main` returns the error, ends the job.
///
/// ```standalone_crate
/// fn main() -> dushmem::Result<()> {
///     dushmem::with_world(|world| {
///         println!("PE {} of {}", world.my_pe(), world.n_pes());
///         world.barrier()
///     })
/// }
/// ```
pub fn with_world<R>(body: impl FnOnce(&World) -> Result<R>) -> Result<R> {
    let world = World::init()?;
    let result = body(&world)?;
    world.finalize()?;
    Ok(result)
}

/// How a PE's body ended.
enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

impl Failure {
    fn show(&self, pe: usize) -> String {
        match self {
            Failure::Error(error) => error.to_string(),
            Failure::Panic(_) => format!("PE {pe} panicked"),
        }
    }
}

/// Where the PEs meet after their bodies.
struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
    pes: usize,
}

#[derive(Default)]
struct State {
    ended: usize,
    failed: Option<(usize, Failure)>,
}

/// How long all others must have waited before the process is ended because of a failed PE.
const GRACE: Duration = Duration::from_secs(2);

impl Meeting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A body has ended. Waits for the others; true if all were successful.
    fn arrive(&self, pe: usize, failure: Option<Failure>) -> bool {
        let mut state = self.lock();
        state.ended += 1;
        if let Some(failure) = failure
            && state.failed.is_none()
        {
            state.failed = Some((pe, failure));
        }
        self.changed.notify_all();
        let all = |state: &mut State| state.ended < self.pes;
        let state = self.changed.wait_while(state, all).unwrap_or_else(PoisonError::into_inner);
        state.failed.is_none()
    }

    /// Waits until all have arrived, or until a failure keeps the others waiting.
    fn watch(&self, boot: &dyn Bootstrap) {
        let mut stuck: Option<Instant> = None;
        let mut told = false;
        let mut state = self.lock();
        while state.ended < self.pes {
            state = self
                .changed
                .wait_timeout(state, Duration::from_millis(50))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if state.ended == 0 {
                continue;
            }
            let waiting = waiting(boot);
            if waiting.len() < self.pes - state.ended {
                stuck = None;
                continue;
            }
            let Some((pe, failure)) = &state.failed else {
                // A kernel or stream of a PE whose function has returned may still do what they wait for.
                let since = stuck.get_or_insert_with(Instant::now);
                if since.elapsed() > GRACE && !told {
                    told = true;
                    let (waits, ended) = (waiting.join(", "), self.pes - waiting.len());
                    say(&format!(
                        "dushmem: run: {waits}, and the functions of the other PEs ({ended} of {}) have returned: if a call \
                         of one of them is waited for, it never comes; every PE must make the same collectives in the same \
                         order",
                        self.pes
                    ));
                }
                continue;
            };
            if stuck.get_or_insert_with(Instant::now).elapsed() > GRACE && state.ended < self.pes {
                let line = format!("{}; ending the job, since {}", failure.show(*pe), waiting.join(", "));
                drop(state);
                boot.abort(1, &line);
            }
        }
    }
}

/// One phrase for each PE that waits.
fn waiting(boot: &dyn Bootstrap) -> Vec<String> {
    let (_, page) = boot.node_memory();
    let wait = |pe| page.card(pe).waits().iter().find_map(|slot| slot.read());
    (0..page.pes())
        .filter_map(|pe| wait(pe).map(|(record, _)| format!("PE {pe} waits in {}", record.name())))
        .collect()
}

pub(crate) fn threads<R: Send>(
    builder: &Builder,
    pes: usize,
    body: &(dyn Fn(&World) -> Result<R> + Sync),
) -> Result<Vec<R>> {
    let start = |cause| Error::Start { call: "run", cause };
    let boots = backends::threads(pes).map_err(start)?;
    let places = (0..pes).map(|_| Place::thread().map_err(start)).collect::<Result<Vec<Place>>>()?;
    let watched = Arc::clone(&boots[0]);
    let meeting = Meeting { state: Mutex::default(), changed: Condvar::new(), pes };
    let results: Vec<Option<R>> = thread::scope(|scope| {
        let meeting = &meeting;
        let spawn = |(pe, (boot, place))| {
            let one = move || one_pe(builder, pe, boot, place, body, meeting);
            thread::Builder::new().name(format!("PE {pe}")).spawn_scoped(scope, one).unwrap_or_else(|why| {
                // The PEs that were started wait for this one and can't be told otherwise.
                watched.abort(1, &format!("run: cannot start a thread for PE {pe}: {why}"))
            })
        };
        let handles: Vec<_> = boots.into_iter().zip(places).enumerate().map(spawn).collect();
        meeting.watch(&*watched);
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    match meeting.lock().failed.take() {
        Some((_, Failure::Error(error))) => Err(error),
        Some((_, Failure::Panic(panic))) => resume_unwind(panic),
        None => {
            let lost = || Cause::Bootstrap("a PE ended without a result".to_owned());
            results
                .into_iter()
                .map(|r| r.ok_or_else(|| Error::Start { call: "run", cause: lost() }))
                .collect()
        }
    }
}

/// The life of one PE. `None` after a failure, which the meeting knows.
fn one_pe<R>(
    builder: &Builder,
    pe: usize,
    boot: Arc<dyn Bootstrap>,
    place: Place,
    body: &(dyn Fn(&World) -> Result<R> + Sync),
    meeting: &Meeting,
) -> Option<R> {
    let world = match builder.join(boot, place, true, Instant::now()) {
        Ok(world) => world,
        Err(error) => {
            meeting.arrive(pe, Some(Failure::Error(error)));
            return None;
        }
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&world)));
    let (value, failure) = match result {
        Ok(Ok(value)) => (Some(value), None),
        Ok(Err(error)) => (None, Some(Failure::Error(error))),
        Err(panic) => (None, Some(Failure::Panic(panic))),
    };
    if !meeting.arrive(pe, failure) {
        return None;
    }
    match world.finalize() {
        Ok(()) => value,
        Err(error) => {
            meeting.lock().failed.get_or_insert((pe, Failure::Error(error)));
            None
        }
    }
}
