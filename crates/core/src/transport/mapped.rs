//! Loads and stores on mapped memory: what every path does in the end on one node.
use crate::amo::AmoRequest;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Copies `bytes` bytes. Aligned copies of 1, 2, 4 or 8 bytes are one access: a reader that polls such a
/// word never sees half of it.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes; they may overlap.
#[inline(always)]
pub unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    let both = dest as usize | source as usize;
    // SAFETY: the caller's ranges; each access is aligned as tested.
    unsafe {
        match bytes {
            8 if both.is_multiple_of(8) => {
                AtomicU64::from_ptr(dest.cast()).store(
                    AtomicU64::from_ptr(source.cast_mut().cast()).load(Ordering::Relaxed),
                    Ordering::Relaxed,
                );
            }
            4 if both.is_multiple_of(4) => {
                AtomicU32::from_ptr(dest.cast()).store(
                    AtomicU32::from_ptr(source.cast_mut().cast()).load(Ordering::Relaxed),
                    Ordering::Relaxed,
                );
            }
            2 if both.is_multiple_of(2) => {
                AtomicU16::from_ptr(dest.cast()).store(
                    AtomicU16::from_ptr(source.cast_mut().cast()).load(Ordering::Relaxed),
                    Ordering::Relaxed,
                );
            }
            1 => {
                AtomicU8::from_ptr(dest)
                    .store(AtomicU8::from_ptr(source.cast_mut()).load(Ordering::Relaxed), Ordering::Relaxed);
            }
            _ => core::ptr::copy(source, dest, bytes),
        }
    }
}

/// Executes an atomic operation and returns the old value, zero-extended.
///
/// # Safety
/// `addr` is a valid word of the request's width, aligned to it.
#[inline(always)]
pub unsafe fn execute(addr: *mut u8, request: AmoRequest) -> u64 {
    use crate::amo::AmoOp::{Add, And, CompareSwap, Fetch, Or, Set, Swap, Xor};
    const O: Ordering = Ordering::AcqRel;
    macro_rules! on {
        ($atomic:ty, $int:ty) => {{
            // SAFETY: the caller's word.
            let word = unsafe { <$atomic>::from_ptr(addr.cast()) };
            let value = request.value as $int;
            u64::from(match request.op {
                Fetch => word.load(Ordering::Acquire),
                Set => {
                    word.store(value, Ordering::Release);
                    0
                }
                Swap => word.swap(value, O),
                CompareSwap => {
                    match word.compare_exchange(request.cond as $int, value, O, Ordering::Acquire) {
                        Ok(old) | Err(old) => old,
                    }
                }
                Add => word.fetch_add(value, O),
                And => word.fetch_and(value, O),
                Or => word.fetch_or(value, O),
                Xor => word.fetch_xor(value, O),
            })
        }};
    }
    if request.wide { on!(AtomicU64, u64) } else { on!(AtomicU32, u32) }
}
