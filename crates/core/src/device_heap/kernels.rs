//! What kernels on a device with memory of its own know of their PE, and teams as they see them.
use super::driver::Sharing;
use super::heap::{DeviceHeap, Plan};
use crate::coll::device_slot::DeviceSlot;
use crate::device::{KernelState, KernelTeam};
use crate::env::HeapKind;
use crate::error::{Call, Error, Result};
use crate::process;
use crate::proxy::queue_pairs;
use crate::team::{Team, handles};
use crate::world::World;
use std::sync::Arc;

/// Device addresses of the tables that kernels read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    /// By world PE.
    delta: usize,
    /// By team slot.
    teams: usize,
    /// By team slot: the members' world numbers.
    pes: usize,
}

impl Tables {
    /// Bytes of all of them in a world of so many PEs.
    pub(super) fn bytes(pes: usize, slots: usize) -> usize {
        pes * size_of::<i64>() + slots * (size_of::<KernelTeam>() + pes * size_of::<u32>())
    }

    /// Tables at that address of the device's memory.
    pub(super) fn at(address: usize, pes: usize, slots: usize) -> Tables {
        let teams = address + pes * size_of::<i64>();
        Tables { delta: address, teams, pes: teams + slots * size_of::<KernelTeam>() }
    }
}

/// The bytes of what tables are made of.
fn bytes_of<T: Copy>(entries: &[T]) -> &[u8] {
    // SAFETY: numbers, or teams, which are numbers without holes.
    unsafe { core::slice::from_raw_parts(entries.as_ptr().cast(), size_of_val(entries)) }
}

impl DeviceHeap {
    /// What kernels read.
    pub(super) fn kernel_state(&self, world: &World) -> KernelState {
        let (host, host_len) = world.window().heap();
        let remote = (0..self.plan.pes).filter(|&pe| !world.kernels_reach(pe)).count() as u32;
        let (heap, heap_len, internals) = match self.kind {
            // All that the heap can ever have: modules are told once.
            HeapKind::Device => {
                let heap = self.slice + self.plan.heap_at();
                (heap, self.plan.slice - self.plan.heap_at(), self.slice)
            }
            HeapKind::Host => (host, host_len, world.window().slice() as usize),
        };
        let strict = if world.settings().strict { KernelState::STRICT } else { 0 };
        let threads = self.agreed.sharing == Sharing::Threads && self.agreed.on_one as usize == self.plan.pes;
        let near = if threads && matches!(self.kind, HeapKind::Device) { KernelState::NEAR } else { 0 };
        let reached = |pe: usize| {
            if world.kernels_reach(pe) { self.delta[pe] as i64 } else { KernelState::UNREACHABLE }
        };
        let everybody = world
            .teams()
            .get(handles::WORLD)
            .map_or(KernelState::NONE.world, |team| self.entry(world, &team));
        let state = KernelState {
            magic: KernelState::MAGIC,
            my_pe: world.my_pe(),
            n_pes: world.n_pes(),
            heap: heap as u64,
            heap_len: heap_len as u64,
            delta: self.tables.delta as u64,
            teams: self.tables.teams as u64,
            team_count: self.plan.slots as u64,
            internals: internals as u64,
            remote,
            reserved: strict | near,
            sharing: KernelState::sharing_of(self.own_sharing()),
            queue_pairs: queue_pairs::end(),
            first_delta: KernelState::first_of((0..self.plan.pes).map(reached)),
            world: everybody,
            ..KernelState::NONE
        };
        self.with_host_words(world, state)
    }

    /// What kernels see of a team; its members' numbers as the host has them.
    fn entry(&self, world: &World, team: &Team) -> KernelTeam {
        let slot = team.slot();
        let entry = KernelTeam::of(team, world.device_slot(slot), self.plan.pes, world.reaches_all_of(team));
        match self.kind {
            HeapKind::Device => KernelTeam { slot: self.slot_at(slot) as u64, ..entry },
            HeapKind::Host => entry,
        }
    }

    /// The slot of a team, as kernels find it, and where its parts are. [`DeviceHeap::peer`] leads to those of the others.
    pub fn team_slot(&self, world: &World, slot: usize) -> DeviceSlot {
        match self.kind {
            // SAFETY: a slot in the internals, of which nobody loads a word through this here.
            HeapKind::Device => unsafe { DeviceSlot::new(self.slot_at(slot), self.plan.pes) },
            HeapKind::Host => world.device_slot(slot),
        }
    }

    /// The slot of a team in device memory.
    fn slot_at(&self, slot: usize) -> usize {
        self.slice + slot * DeviceSlot::bytes(self.plan.pes)
    }

    /// Changes this PE's counts in a slot, which are its first words.
    fn with_slot<R>(&self, slot: usize, act: impl FnOnce(&DeviceSlot) -> R) -> Result<R> {
        let bytes = DeviceSlot::counts(self.plan.pes);
        let mut words = vec![0u64; bytes / 8];
        // SAFETY: the own slot, in memory since the beginning.
        unsafe { self.device.peek(self.slot_at(slot), bytemuck::cast_slice_mut(&mut words))? };
        let before = words.clone();
        // SAFETY: all words of a slot that are looked at.
        let copy = unsafe { DeviceSlot::new(words.as_mut_ptr() as usize, self.plan.pes) };
        let result = act(&copy);
        // Others may be writing to their words, so only what has been changed goes back.
        let mut from = 0;
        while let Some(first) = (from..words.len()).find(|&i| words[i] != before[i]) {
            let end = (first..words.len()).find(|&i| words[i] == before[i]).unwrap_or(words.len());
            // SAFETY: own words of the slot; the copy lives until the flush.
            unsafe {
                let source = words.as_ptr().add(first) as usize;
                self.device.copy(self.slot_at(slot) + first * 8, source, (end - first) * 8)?;
            }
            from = end;
        }
        self.device.flush()?;
        Ok(result)
    }

    /// The highest count of this PE's kernels in a slot.
    fn high_water(&self, slot: usize) -> Result<u64> {
        match self.kind {
            HeapKind::Device => self.with_slot(slot, |slot| slot.high_water()),
            HeapKind::Host => Ok(0),
        }
    }

    /// Makes a team known to kernels, whose flags begin at `base`.
    fn publish(&self, world: &World, team: &Arc<Team>, base: u64) -> Result<()> {
        let slot = team.slot();
        let mut entry = self.entry(world, team);
        if self.kind == HeapKind::Device && base > 0 {
            self.with_slot(slot, |slot| slot.begin(base))?;
        }
        if entry.pes != 0 {
            let pes = self.members_at(slot);
            // SAFETY: the slot's part of the table, which no kernel reads; the team's list lives until the flush.
            unsafe { self.device.copy(pes, team.pes().as_ptr() as usize, size_of_val(team.pes()))? };
            self.device.flush()?;
            entry.pes = pes as u64;
        }
        self.device.set_team(self.tables.teams, slot, &entry)
    }

    /// Where the members' numbers of a slot's team stand.
    fn members_at(&self, slot: usize) -> usize {
        self.tables.pes + slot * self.plan.pes * size_of::<u32>()
    }

    /// What the tables hold when kernels first see them: the PEs, and the teams that there are.
    fn first_tables(&self, world: &World) -> Vec<u8> {
        let Plan { pes, slots, .. } = self.plan;
        let delta: Vec<i64> = (0..pes)
            .map(|pe| if world.kernels_reach(pe) { self.delta[pe] as i64 } else { KernelState::UNREACHABLE })
            .collect();
        let (mut teams, mut members) = (vec![KernelTeam::NONE; slots], vec![0u32; slots * pes]);
        for team in world.teams().each() {
            let slot = team.slot();
            teams[slot] = self.entry(world, &team);
            if teams[slot].pes != 0 {
                teams[slot].pes = self.members_at(slot) as u64;
                members[slot * pes..][..team.pes().len()].copy_from_slice(team.pes());
            }
        }
        [bytes_of(&delta), bytes_of(&teams), bytes_of(&members)].concat()
    }

    /// Has kernels know their PE and the teams that there are. What was begun for the heap is done afterwards.
    pub(super) fn tell(&self, world: &World) -> Result<()> {
        let first = self.first_tables(world);
        // SAFETY: own tables; the source lives until all is done.
        let begun = unsafe { self.device.fill(self.tables.delta, &first) };
        let told = begun.and_then(|()| self.device.set_state(&self.kernel_state(world)));
        let done = self.device.ready();
        told.and(done)?;
        // Where a team's kernels have called collectives before, on a device that there was then.
        let counts = |team: &Arc<Team>| match (self.kind, team.kernel_base()) {
            (HeapKind::Host, _) | (_, 0) => Ok(()),
            (_, base) => self.with_slot(team.slot(), |slot| slot.begin(base)),
        };
        world.teams().each().iter().try_for_each(counts)
    }
}

impl World {
    /// PEs, at most, whose kernels are on one device at the same time: a grid that has to be resident on each of them gets
    /// its part of the device. As many as there can be, where devices are not bound yet.
    pub fn kernels_at_once(&self) -> u32 {
        match self.device_heap() {
            Some(heap) => heap.agreed.at_once(),
            None if self.awaits_device() => self.n_pes() as u32,
            None => 1,
        }
    }

    /// The same for a launch by all PEs, which binds the devices.
    pub fn share_device_for_launch(&self) -> Result<u32> {
        self.check_alive()?;
        self.bind_device(Call::CollectiveLaunch, true)?;
        Ok(self.kernels_at_once())
    }

    /// Gives out `count` queue pairs, of which kernels know from now on: the number of the first.
    pub fn create_queue_pairs(&self, count: i32) -> Result<i32> {
        self.check_alive()?;
        let _one = self.devices().changing();
        let Some(first) = queue_pairs::create(count) else {
            let why = "there are no numbers left for so many";
            return Err(Error::BadValue { arg: "num_qps", value: count.into(), why });
        };
        if let Some(heap) = self.device_heap() {
            heap.device.set_state(&heap.kernel_state(self))?;
        }
        Ok(first)
    }

    /// The highest count of this PE's kernels in a team slot.
    pub(crate) fn kernel_count(&self, slot: usize) -> u64 {
        let slots = self.device_slot(slot);
        // SAFETY: in the own internals.
        let host = slots.high_water().max(unsafe { &*slots.calls() }.count());
        let Some(heap) = self.device_heap() else { return host };
        host.max(self.or_end(heap.high_water(slot)))
    }

    /// A team was made: kernels on a device of its own memory learn of it, too.
    pub(crate) fn publish_on_device(&self, team: &Arc<Team>) {
        let _one = self.devices().changing();
        if let Some(heap) = self.device_heap() {
            self.or_end(heap.publish(self, team, team.kernel_base()));
        }
    }

    /// The team of that slot is destroyed.
    pub(crate) fn withdraw_on_device(&self, slot: usize) {
        let _one = self.devices().changing();
        if let Some(heap) = self.device_heap() {
            self.or_end(heap.device.set_team(heap.tables.teams, slot, &KernelTeam::NONE));
        }
    }

    /// A device that fails in the middle of what all members of a team do alike is lost, and with it the job.
    fn or_end<R>(&self, done: Result<R>) -> R {
        done.unwrap_or_else(|error| process::fail(self, "teams of kernels", &error))
    }
}
