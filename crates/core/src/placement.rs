//! Which CPUs the PEs of a node run on.
//!
//! The scheduler places a woken thread near the one that woke it, so under foreign load two PEs that wait for
//! each other can end up on one CPU and stay there, while each of them could have one: a barrier then takes
//! 20 us instead of 0.3. Binding PEs to CPUs, as launchers do, makes two jobs on one machine share the first
//! CPUs instead. So a PE only steps aside when it meets another one: where a spin has failed, it compares
//! where the PEs of the node were last seen, and moves to a CPU of its affinity mask where none is. The mask
//! itself stays as it is.
use crate::bootstrap::Bootstrap;
use crate::wait::SpinPolicy;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// At least this long between two moves of a PE.
const PAUSE: Duration = Duration::from_millis(2);

/// Has the waiters of PE `me` step aside.
pub(crate) fn spread(policy: &SpinPolicy, boot: Arc<dyn Bootstrap>, me: usize) {
    let (start, moved) = (Instant::now(), AtomicU64::new(0));
    policy.set_spread(move || {
        let (_, page) = boot.node_memory();
        let here = dushmem_os::cpu::current();
        page.card(me).set_cpu(here);
        let taken = |cpu| (0..page.pes()).any(|pe| pe != me && page.card(pe).cpu() == Some(cpu));
        if !taken(here) {
            return;
        }
        let now = start.elapsed().as_micros() as u64;
        if now.saturating_sub(moved.load(Ordering::Relaxed)) < PAUSE.as_micros() as u64 {
            return;
        }
        moved.store(now, Ordering::Relaxed);
        if dushmem_os::cpu::move_to(|cpu| !taken(cpu)) {
            page.card(me).set_cpu(dushmem_os::cpu::current());
        }
    });
}
