//! What streams do.
use crate::capture::Exec;
use crate::code::{self, Out};
use crate::context::Context;
use crate::module::Launch;
use crate::stream::Stream;
use crate::{memory, reach};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// Where a copy reads.
#[derive(Clone)]
pub enum Source {
    At(usize),
    /// Pageable memory, whose bytes were taken at the call.
    Staged(Arc<[u8]>),
}

/// A copy of rows.
#[derive(Clone, Copy)]
pub struct Rows {
    pub dest: usize,
    pub dest_pitch: usize,
    pub source: usize,
    pub source_pitch: usize,
    pub width: usize,
    pub height: usize,
}

#[derive(Clone)]
pub enum Work {
    Nothing,
    Copy {
        dest: usize,
        source: Source,
        len: usize,
    },
    CopyRows(Rows),
    /// `n` elements of `bytes`.
    Fill {
        dest: usize,
        value: u32,
        bytes: usize,
        n: usize,
    },
    Write {
        at: usize,
        value: u64,
        wide: bool,
    },
    Wait {
        at: usize,
        value: u64,
        wide: bool,
        how: u32,
    },
    Batch(Arc<[Work]>),
    Kernel(Arc<Launch>),
    Graph(Arc<Exec>),
    /// Another stream has come so far.
    After(Arc<Stream>, u64),
    Host {
        function: extern "C" fn(*mut c_void),
        data: usize,
    },
}

impl Work {
    /// Holds up what comes after it in the same connection.
    pub fn waits(&self) -> bool {
        match self {
            Work::Wait { .. } | Work::After(..) => true,
            Work::Batch(all) => all.iter().any(Work::waits),
            _ => false,
        }
    }

    /// Never waits for anything.
    pub fn is_quick(&self) -> bool {
        match self {
            Work::Nothing
            | Work::Copy { .. }
            | Work::CopyRows(_)
            | Work::Fill { .. }
            | Work::Write { .. } => true,
            Work::Kernel(launch) => launch.function.model.is_some_and(|model| model.quick),
            Work::Wait { .. } | Work::Batch(_) | Work::Graph(_) | Work::After(..) | Work::Host { .. } => {
                false
            }
        }
    }

    pub fn run(&self, context: &Arc<Context>) -> Out {
        fence(Ordering::SeqCst);
        let done = self.body(context);
        fence(Ordering::SeqCst);
        done
    }

    fn body(&self, context: &Arc<Context>) -> Out {
        let device = context.device;
        match self {
            Work::Nothing => Ok(()),
            Work::Copy { dest, source, len } => {
                let dest = reach::for_copy(*dest, *len, device)?;
                let source = match source {
                    Source::At(source) => reach::for_copy(*source, *len, device)?.cast_const(),
                    Source::Staged(bytes) => bytes.as_ptr(),
                };
                move_bytes(dest, source, *len);
                Ok(())
            }
            Work::CopyRows(rows) => {
                for row in 0..rows.height {
                    let dest = reach::for_copy(rows.dest + row * rows.dest_pitch, rows.width, device)?;
                    let source = reach::for_copy(rows.source + row * rows.source_pitch, rows.width, device)?;
                    move_bytes(dest, source, rows.width);
                }
                Ok(())
            }
            Work::Fill { dest, value, bytes, n } => {
                let to = reach::for_device(*dest, bytes * n, device)?;
                let first = *value as u8;
                if value.to_le_bytes()[..*bytes].iter().any(|byte| *byte != first) || *n == 1 {
                    (0..*n).for_each(|i| store(to.wrapping_add(i * bytes), u64::from(*value), *bytes));
                } else if first != 0 || !memory::read(|spaces| spaces.clear(*dest, bytes * n)) {
                    // SAFETY: found mapped above.
                    unsafe { to.write_bytes(first, bytes * n) };
                }
                Ok(())
            }
            Work::Write { at, value, wide } => {
                let bytes = if *wide { 8 } else { 4 };
                store(reach::for_device(*at, bytes, device)?, *value, bytes);
                Ok(())
            }
            Work::Wait { at, value, wide, how } => {
                let bytes = if *wide { 8 } else { 4 };
                let word = reach::for_device(*at, bytes, device)?;
                wait_until(context, || holds(load(word, bytes), *value, *wide, *how))
            }
            Work::Batch(all) => all.iter().try_for_each(|work| work.run(context)),
            Work::Kernel(launch) => launch.run(context),
            Work::Graph(exec) => exec.run(context),
            Work::After(stream, count) => {
                let (stream, count) = (stream.clone(), *count);
                // A stream that has failed does its work by leaving it out, so this ends.
                let _ = stream.wait(count);
                Ok(())
            }
            Work::Host { function, data } => {
                function(*data as *mut c_void);
                Ok(())
            }
        }
    }
}

/// The condition of a stream's wait.
fn holds(word: u64, value: u64, wide: bool, how: u32) -> bool {
    let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
    match how {
        0 if wide => word.wrapping_sub(value) as i64 >= 0,
        0 => (word as u32).wrapping_sub(value as u32) as i32 >= 0,
        1 => word == value & mask,
        2 => word & value & mask != 0,
        _ => !(word | value) & mask != 0,
    }
}

/// Looks again and again, less and less often, until it is so or the context has ended.
pub fn wait_until(context: &Context, mut ready: impl FnMut() -> bool) -> Out {
    let mut round = 0u32;
    while !ready() {
        context.check()?;
        match round {
            0..30 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(u64::from(round.min(300)))),
        }
        round += 1;
    }
    fence(Ordering::SeqCst);
    Ok(())
}

/// Copies, an aligned word by one access.
pub fn move_bytes(dest: *mut u8, source: *const u8, len: usize) {
    let word = matches!(len, 2 | 4 | 8) && (dest as usize | source as usize).is_multiple_of(len);
    if word {
        store(dest, load(source, len), len);
    } else {
        // SAFETY: the caller found both ranges mapped; other threads may write there, as on a device.
        unsafe { ptr::copy(source, dest, len) };
    }
}

/// Stores a word of 1, 2, 4 or 8 bytes, which is aligned, by one access.
pub fn store(at: *mut u8, value: u64, bytes: usize) {
    // SAFETY: the caller found the word mapped, and it is aligned.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(at).store(value as u8, Ordering::SeqCst),
            2 => AtomicU16::from_ptr(at.cast()).store(value as u16, Ordering::SeqCst),
            4 => AtomicU32::from_ptr(at.cast()).store(value as u32, Ordering::SeqCst),
            _ => AtomicU64::from_ptr(at.cast()).store(value, Ordering::SeqCst),
        }
    }
}

/// Loads a word of 1, 2, 4 or 8 bytes, which is aligned, by one access.
pub fn load(at: *const u8, bytes: usize) -> u64 {
    let at = at.cast_mut();
    // SAFETY: the caller found the word mapped, and it is aligned.
    unsafe {
        match bytes {
            1 => u64::from(AtomicU8::from_ptr(at).load(Ordering::SeqCst)),
            2 => u64::from(AtomicU16::from_ptr(at.cast()).load(Ordering::SeqCst)),
            4 => u64::from(AtomicU32::from_ptr(at.cast()).load(Ordering::SeqCst)),
            _ => AtomicU64::from_ptr(at.cast()).load(Ordering::SeqCst),
        }
    }
}

/// Refuses what is not aligned for its size.
pub fn aligned(at: usize, bytes: usize) -> Out {
    if at.is_multiple_of(bytes) { Ok(()) } else { Err(code::INVALID_VALUE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_compare_cyclically() {
        assert!(holds(5, 5, true, 0) && holds(6, 5, true, 0) && !holds(4, 5, true, 0));
        assert!(holds(3, u64::MAX - 2, true, 0) && !holds(u64::MAX - 2, 3, true, 0));
        assert!(holds(3, u64::from(u32::MAX) - 2, false, 0) && !holds(u64::from(u32::MAX) - 2, 3, false, 0));
        assert!(holds(7, 7, false, 1) && holds(7, 7 | 1 << 40, false, 1) && !holds(7, 7 | 1 << 40, true, 1));
        assert!(holds(6, 2, true, 2) && !holds(5, 2, true, 2));
        assert!(holds(1, 2, true, 3) && !holds(u64::from(u32::MAX), 0, false, 3));
    }
}
