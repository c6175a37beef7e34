//! Which CPUs this process may use.
use std::fs;

/// CPUs of the affinity mask of the calling thread, cut by the cgroup's CPU quota (rounded up).
pub fn usable_cpus() -> usize {
    let mask = rustix::thread::sched_getaffinity(None).map(|set| set.count() as usize).unwrap_or(1);
    mask.min(cgroup_quota().unwrap_or(usize::MAX)).max(1)
}

/// Lets another thread run.
pub fn yield_now() {
    rustix::thread::sched_yield();
}

/// The CPU that the calling thread runs on at this moment.
pub fn current() -> usize {
    rustix::thread::sched_getcpu()
}

/// Moves the calling thread to the CPU of its affinity mask with the lowest `cost`, unless none is below
/// `limit`, and leaves the mask as it was. False where there is none, or the system refuses.
pub fn move_to_cheapest(limit: usize, cost: impl Fn(usize) -> usize) -> bool {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(mask) = sched_getaffinity(None) else { return false };
    let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu));
    let cheapest = allowed.map(|cpu| (cost(cpu), cpu)).min();
    let Some((_, cpu)) = cheapest.filter(|(cost, _)| *cost < limit) else { return false };
    let mut one = CpuSet::new();
    one.set(cpu);
    let moved = sched_setaffinity(None, &one).is_ok();
    moved && sched_setaffinity(None, &mask).is_ok()
}

/// Quota of the process's cgroup, v2 (`cpu.max`) or v1 (`cpu.cfs_*`), in whole CPUs.
fn cgroup_quota() -> Option<usize> {
    let quota = |text: &str| {
        let mut words = text.split_whitespace();
        let limit: f64 = words.next()?.parse().ok()?;
        let period: f64 = words.next()?.parse().ok()?;
        (limit > 0.0 && period > 0.0).then(|| (limit / period).ceil() as usize)
    };
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    if let Some(path) = path {
        let text = fs::read_to_string(format!("/sys/fs/cgroup{path}/cpu.max"))
            .or_else(|_| fs::read_to_string("/sys/fs/cgroup/cpu.max"));
        if let Some(cpus) = text.ok().and_then(|t| quota(&t)) {
            return Some(cpus);
        }
    }
    let v1 = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/cpu/{name}")).ok();
    quota(&format!("{} {}", v1("cpu.cfs_quota_us")?.trim(), v1("cpu.cfs_period_us")?.trim()))
}
