//! What operations in streams need to know of the job: who shares a device with whom, and where things are.
use super::kernels::{Area, Few};
use super::meet::Words;
use dushmem_core::coll::device_slot::{DeviceSlot, Words as Array};
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::error::Result;
use dushmem_core::team::Team;
use std::fmt::Debug;

/// A checked symmetric object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where this process has the PE's copy.
    pub at: usize,
    /// True in a device heap, whose addresses are the device's own.
    pub on_device: bool,
    /// True in the memory of another device than this PE's.
    pub far: bool,
}

/// Device address of a word for meetings, from the array, the PE in whose slot it is, and the PE that writes it.
pub type WordAt<'a> = Box<dyn Fn(Words, usize, usize) -> u64 + 'a>;

impl Target {
    /// A local buffer of the program's, which may be anywhere.
    pub fn local(at: usize) -> Target {
        Target { at, on_device: false, far: false }
    }
}

/// The slot of a team in which kernels meet, by own addresses.
#[derive(Clone, Copy, Debug)]
pub struct TeamSlot {
    /// Its beginning.
    pub at: u64,
    /// PEs of the world.
    pub pes: usize,
}

impl TeamSlot {
    /// An array of words, by the world number of who writes them.
    pub fn array(&self, array: Array) -> u64 {
        self.at + DeviceSlot::array(array, self.pes) as u64
    }

    /// That of the first block of a grid.
    pub fn grid(&self) -> u64 {
        self.at + DeviceSlot::grids(self.pes) as u64
    }

    /// The buffers of words with data and flag, those of even calls first.
    pub fn buffers(&self) -> u64 {
        self.at + DeviceSlot::flagged(self.pes) as u64
    }
}

/// The job as one PE sees it.
pub trait Job: Debug + Send + Sync {
    /// This PE's number.
    fn my_pe(&self) -> usize;

    /// Number of PEs.
    fn n_pes(&self) -> usize;

    /// How PEs share devices; the same on all of them.
    fn sharing(&self) -> Sharing;

    /// Most blocks of a collective's kernel, so that those of all members are resident at the same time; the same on
    /// all PEs.
    fn blocks(&self) -> u32;

    /// The lowest PE that uses the same device as this one.
    fn first_on_device(&self, pe: usize) -> usize;

    /// True where kernels ask the proxy: for PEs that they don't reach, or for words that the CPU changes.
    fn has_remote(&self) -> bool;

    /// True where the CPU makes the atomic changes of an own word of the host's memory, since they would not be atomic
    /// against the device's.
    fn changes_by_cpu(&self, addr: usize) -> bool;

    /// True where the kernels of all of these PEs reach all of them; the same on all of them.
    fn is_direct(&self, pes: &[u32]) -> bool;

    /// What a kernel has to know of these members, of whom this PE is `me`, and their team slot of that number; `None` where
    /// they are too many, or don't all reach each other: the same on all of them but for the settings.
    fn few(&self, slot: usize, pes: &[u32], me: usize) -> Option<Few>;

    /// What the kernels of a grid have to know whose blocks exchange words with data and flag, and where these words are; `None`
    /// where those of that team slot have none: the same on all of them.
    fn flagged(&self, slot: usize, pes: &[u32], me: usize) -> Option<(Few, Area)>;

    /// Most bytes that a kernel copies instead of the driver, between memories of devices.
    fn copied_by_kernel(&self) -> usize;

    /// Where the words of the team slot of that number are.
    fn slot_words(&self, slot: usize) -> WordAt<'_>;

    /// Where kernels of this PE find that slot.
    fn team_slot(&self, slot: usize) -> TeamSlot;

    /// Where this process has PE `pe`'s copy of an own address of the internals.
    fn peer(&self, own: u64, pe: usize) -> u64;

    /// An error for a team that was destroyed.
    fn check_team(&self, team: &Team) -> Result<()>;

    /// Checks that `[addr, addr + len)`, argument `arg`, is own symmetric memory, aligned to `align`, and gives PE
    /// `pe`'s copy. Nothing is asked of the address where `len` is 0.
    fn target(&self, arg: &'static str, addr: usize, len: usize, align: usize, pe: i32) -> Result<Target>;

    /// The same of a word, which has no length and may not be at NULL.
    fn word(&self, arg: &'static str, addr: usize, len: usize, pe: i32) -> Result<Target>;
}
