//! Which CPUs the PEs of a node run on.
//!
//! The scheduler places a woken thread near the one that woke it, so under foreign load PEs that wait for each
//! other can end up on one CPU and stay there, while each of them could have one: a barrier then takes 20 us
//! instead of 0.3. Binding PEs to CPUs, as launchers do, makes two jobs on one machine share the first CPUs
//! instead. So a PE only steps aside when it meets others: where a spin has failed, it looks where the PEs of
//! the node were last seen, and moves to the CPU of its affinity mask that has the fewest, if that is better.
//! The mask itself stays as it is.
use crate::bootstrap::Bootstrap;
use crate::wait::SpinPolicy;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// At least this long between two looks of a PE.
const PAUSE: Duration = Duration::from_millis(1);

/// Has the waiters of PE `me` step aside.
pub(crate) fn spread(policy: &SpinPolicy, boot: Arc<dyn Bootstrap>, me: usize) {
    let (start, looked) = (Instant::now(), AtomicU64::new(0));
    policy.set_spread(move || {
        let now = start.elapsed().as_micros() as u64;
        if now.saturating_sub(looked.load(Ordering::Relaxed)) < PAUSE.as_micros() as u64 {
            return;
        }
        looked.store(now, Ordering::Relaxed);
        let (_, page) = boot.node_memory();
        let here = dushmem_os::cpu::current();
        page.card(me).set_cpu(here);
        let others = |cpu| (0..page.pes()).filter(|&pe| pe != me && page.card(pe).cpu() == Some(cpu)).count();
        let company = others(here);
        if company > 0 && dushmem_os::cpu::move_to_cheapest(company, others) {
            page.card(me).set_cpu(dushmem_os::cpu::current());
        }
    });
}
