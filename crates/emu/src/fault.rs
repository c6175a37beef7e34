//! Kernels that fail: traps and assertions, which end the kernel, and signals, which end the process.
use crate::error::Code;
use crate::{block, kernel, watch};
use dushmem_os::crash;
use dushmem_os::signal::number;
use std::fmt::Write;
use std::sync::Once;

/// Ends the grid of the calling GPU thread: no block of it runs on, and later calls of the runtime return the
/// code, as on a GPU. Outside kernels the process ends.
pub fn trap(code: Code, what: &str) -> ! {
    let Some(position) = block::position() else {
        dushmem_os::say::say(&format!("{}{what} outside of kernels", watch::heading()));
        crash::silence();
        std::process::abort();
    };
    dushmem_os::say::say(&format!("{}{position}: {what}", watch::heading()));
    block::fail_grid(code, &format!("{position}: {what}"));
    block::abandon();
    unreachable!("an abandoned thread does not run on");
}

/// Reports signals that end the process while the calling OS thread runs GPU threads.
pub(crate) fn watch_thread() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| crash::install(report));
    crash::watch_thread();
}

/// Text in a signal handler: nothing may be allocated.
struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let n = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

fn report(signal: i32, address: Option<usize>) {
    let Some(position) = block::position() else { return };
    let name = match signal {
        number::SIGSEGV => "SIGSEGV",
        number::SIGBUS => "SIGBUS",
        number::SIGABRT => "SIGABRT",
        4 => "SIGILL",
        8 => "SIGFPE",
        _ => "a signal",
    };
    let mut line = Line { bytes: [0; 512], len: 0 };
    let _ = match kernel::my_pe() {
        Some(pe) => write!(line, "dushmem: PE {pe}: {position}: {name}"),
        None => write!(line, "dushmem: {position}: {name}"),
    };
    if let Some(address) = address {
        let _ = match signal {
            number::SIGSEGV | number::SIGBUS if block::overflow(address).is_some() => {
                write!(
                    line,
                    ": its stack of {} KiB is full; {} makes stacks larger",
                    crate::fiber::stack_bytes() >> 10,
                    crate::fiber::STACK_VARIABLE
                )
            }
            number::SIGSEGV | number::SIGBUS => write!(line, ": no memory at {address:#x}"),
            _ => write!(line, " at {address:#x}"),
        };
    }
    let end = line.len.min(line.bytes.len() - 1);
    line.bytes[end] = b'\n';
    crash::write_line(&line.bytes[..=end]);
}
