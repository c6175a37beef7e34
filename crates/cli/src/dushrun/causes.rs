//! What is known of why a signal ended a PE.
use dushmem_boot::size::Size;
use dushmem_os::machine;
use dushmem_os::signal::number as sig;

/// Knows whether the kernel has killed a process for want of memory since the job began.
#[derive(Debug)]
pub struct MemoryWatch(Option<u64>);

impl MemoryWatch {
    /// Begins to watch.
    pub fn begin() -> MemoryWatch {
        MemoryWatch(machine::out_of_memory_kills().map(|(kills, _)| kills))
    }

    /// What to add to the name of the signal that ended a PE.
    pub fn hint(&self, number: i32, core: bool) -> String {
        match number {
            _ if core => " (core dumped)".to_owned(),
            sig::SIGBUS => " (no memory for a page, or a mapped file was cut)".to_owned(),
            sig::SIGKILL => killed(self.0, machine::out_of_memory_kills()),
            _ => String::new(),
        }
    }
}

/// Who sent SIGKILL, as far as the kernel's count of processes killed for want of memory tells.
fn killed(before: Option<u64>, now: Option<(u64, Option<u64>)>) -> String {
    match (before, now) {
        (Some(before), Some((kills, now_limit))) if kills > before => {
            let limit = |bytes| format!(" (limit of {} of its control group)", Size::show(bytes));
            format!(": killed by the kernel, out of memory{}", now_limit.map(limit).unwrap_or_default())
        }
        (Some(_), Some(_)) => {
            ": sent by the PE itself, by another process, or at a limit on CPU time (ulimit -t); memory did not run out"
                .to_owned()
        }
        _ => ": sent by the PE itself, by another process, at a limit on CPU time (ulimit -t), or by the kernel, out of \
              memory"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_named_where_it_has_counted_a_kill() {
        let text = killed(Some(2), Some((3, Some(256 << 20))));
        assert_eq!(text, ": killed by the kernel, out of memory (limit of 256M of its control group)");
        assert_eq!(killed(Some(0), Some((1, None))), ": killed by the kernel, out of memory");
    }

    #[test]
    fn memory_is_ruled_out_only_where_the_kernel_has_counted_no_kill() {
        let others = ": sent by the PE itself, by another process, ";
        let text = killed(Some(1), Some((1, Some(256 << 20))));
        assert_eq!(text, format!("{others}or at a limit on CPU time (ulimit -t); memory did not run out"));
        for (before, now) in [(None, Some((1, None))), (Some(1), None), (None, None)] {
            let text = killed(before, now);
            assert_eq!(
                text,
                format!("{others}at a limit on CPU time (ulimit -t), or by the kernel, out of memory")
            );
        }
    }
}
