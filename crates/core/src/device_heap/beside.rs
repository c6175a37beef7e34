//! The heap of the host for kernels of a PE whose own heap is the device's. Both are one program's, so kernels reach both.
//!
//! Most programs have nothing in it, and what a device is to reach has to be memory, so it is pinned as far as it is in
//! use, in steps that double.
use super::driver::HeapDevice;
use super::heap::DeviceHeap;
use crate::device::KernelState;
use crate::env::{DebugLevel, HeapKind};
use crate::error::{Call, Error, Result, line};
use crate::size::Size;
use crate::world::World;
use std::sync::{MutexGuard, PoisonError};

/// Least bytes of one step.
const LEAST: usize = 64 << 20;

/// How far kernels reach the host's heap.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    /// Bytes from the beginning of every PE's heap.
    len: usize,
    /// Device address of the table by PE, once there is one.
    delta: usize,
    /// Where what was pinned begins.
    pins: Vec<usize>,
    /// It could not be pinned: kernels don't have it.
    refused: bool,
}

/// Pins `bytes` bytes `from` the beginning of the heaps of all PEs, and says where. All of it, or nothing.
fn pin(world: &World, device: &dyn HeapDevice, from: usize, bytes: usize) -> Result<Vec<usize>> {
    let (window, mut pins) = (world.window(), Vec::new());
    for pe in 0..world.n_pes() as usize {
        let at = window.peer(window.heap().0 + from, pe);
        // SAFETY: mapped as long as the world lives, which unpins it when it leaves.
        if let Err(error) = unsafe { device.pin(at, bytes) } {
            unpin(device, pins);
            return Err(error);
        }
        pins.push(at);
    }
    Ok(pins)
}

fn unpin(device: &dyn HeapDevice, pins: Vec<usize>) {
    for at in pins {
        let _ = device.unpin(at);
    }
}

impl DeviceHeap {
    fn beside(&self) -> MutexGuard<'_, Beside> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether kernels leave atomic operations on words of the host's heap to the CPU.
    fn leaves_host_words(&self) -> bool {
        !self.device.shares_atomics()
    }

    /// Whether kernels of this PE may have requests under way that no PE out of their reach is the reason of.
    pub fn posts_for_host_words(&self) -> bool {
        self.leaves_host_words() && (self.kind == HeapKind::Host || self.beside().len > 0)
    }

    /// The host's part in what kernels know.
    pub(super) fn with_host_words(&self, world: &World, state: KernelState) -> KernelState {
        let by_proxy = |flag| if self.leaves_host_words() { flag } else { 0 };
        if self.kind == HeapKind::Host {
            return KernelState { reserved: state.reserved | by_proxy(KernelState::HEAP_BY_PROXY), ..state };
        }
        let beside = self.beside();
        let refused = if beside.refused { KernelState::NO_OTHER } else { 0 };
        let state = KernelState { reserved: state.reserved | refused, ..state };
        if beside.len == 0 {
            return state;
        }
        KernelState {
            other_heap: world.window().heap().0 as u64,
            other_heap_len: beside.len as u64,
            other_delta: beside.delta as u64,
            // What is ordered on the device alone is not ordered for the host.
            reserved: state.reserved & !KernelState::NEAR | by_proxy(KernelState::OTHER_BY_PROXY),
            ..state
        }
    }

    /// Ends what [`World::let_kernels_reach`] began.
    pub(super) fn close_beside(&self) {
        let pins = std::mem::take(&mut *self.beside()).pins;
        unpin(&*self.device, pins);
    }

    /// The table that leads to the PEs' copies.
    fn beside_table(&self, world: &World) -> Result<usize> {
        let reach = |(pe, &delta): (usize, &isize)| match world.kernels_reach(pe) {
            true => delta as i64,
            false => KernelState::UNREACHABLE,
        };
        let delta: Vec<i64> = world.window().deltas().iter().enumerate().map(reach).collect();
        let table = self.device.table(size_of_val(&delta[..]))?;
        // SAFETY: a fresh table of that size; the source lives until the flush.
        unsafe { self.device.copy(table, delta.as_ptr() as usize, size_of_val(&delta[..]))? };
        self.device.flush()?;
        Ok(table)
    }
}

impl World {
    /// Sees to it that kernels reach the first `need` bytes of every host heap, beside the device's. Collective, with equal
    /// numbers. Where they can't be made to reach it, hosts and streams use it as before. True where kernels don't know yet
    /// that they reach more than before, or that they never will.
    fn extend_reach(&self, call: Call, heap: &DeviceHeap, need: usize) -> Result<bool> {
        // Not locked while others are waited for.
        let Beside { len: from, delta, refused, .. } = heap.beside().clone();
        let (_, all) = self.window().heap();
        if heap.kind != HeapKind::Device || need <= from || refused {
            return Ok(false);
        }
        let me = self.my_pe() as usize;
        let len = need.max(2 * from).max(LEAST).next_multiple_of(heap.plan.granule).min(all);
        // Streams reach those of PEs that are out of reach for kernels, too.
        let pinned = pin(self, &*heap.device, from, len - from);
        let (pins, table) = match pinned {
            Ok(pins) => (pins, if delta == 0 { heap.beside_table(self) } else { Ok(delta) }),
            Err(error) => (Vec::new(), Err(error)),
        };
        let table = self.all_well(call, "letting kernels use the heap of the host", table);
        let mut beside = heap.beside();
        match table {
            Ok(table) => {
                (beside.len, beside.delta) = (len, table);
                beside.pins.extend(pins);
                drop(beside);
                let text = || format!("kernels reach {} of the host's heap", Size::show(len as u64));
                self.note(DebugLevel::Info, text);
                Ok(true)
            }
            Err(error) => {
                // Some may have what others lack. What kernels reach already stays: they may be using it.
                beside.refused = true;
                drop(beside);
                unpin(&*heap.device, pins);
                if matches!(error, Error::Disagreement { .. }) {
                    return Err(error);
                }
                if me == 0 {
                    let text = format!("{error}; the job goes on, and kernels that use it end with an error");
                    dushmem_os::say::say(&line(Some(me), "warning", &text));
                }
                Ok(true)
            }
        }
    }

    /// The same, and tells the kernels.
    pub(crate) fn let_kernels_reach(&self, call: Call, need: usize) -> Result<()> {
        let Some(heap) = self.device_heap() else { return Ok(()) };
        if self.extend_reach(call, heap, need)? {
            let _one = self.devices().changing();
            heap.device.set_state(&heap.kernel_state(self))?;
        }
        Ok(())
    }
}
