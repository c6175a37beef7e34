//! Getting memory for the slices, all PEs alike, and the peers' into this process.
use super::courier::Courier;
use super::driver::HeapDevice;
use super::heap::{DeviceHeap, Plan};
use crate::device::{DeviceMemory, Export};
use crate::env::DebugLevel;
use crate::error::{Call, Error, Result};
use crate::laps::Laps;
use crate::size::Size;
use crate::sync::tag;
use crate::world::World;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

/// Least bytes of one chunk: getting one takes a millisecond, however large it is.
const LEAST: usize = 64 << 20;
/// Most bytes of what stands for memory in another process.
const OPAQUE: usize = 128;

/// How the memory of peers is reached.
#[derive(Clone, Copy)]
pub(super) enum Peers<'a> {
    /// It is in this process.
    Here,
    /// By descriptors, at these addresses.
    Sent(&'a Courier),
    /// By what the driver tells, where it likes.
    Told,
}

/// Bytes of a reason that others get to know.
const REASON: usize = 320;

/// A chunk to be.
pub(super) struct Wanted<'a> {
    /// Its number, from 0 on.
    pub(super) number: u32,
    /// Where it lies in the own slice, and in a peer's.
    pub(super) at: usize,
    pub(super) others: &'a dyn Fn(usize) -> usize,
    pub(super) bytes: usize,
    pub(super) peers: Peers<'a>,
}

/// What a chunk came to.
pub(super) struct Chunk {
    /// Whether the peers' could be brought into this process.
    pub(super) reached: Result<()>,
    pub(super) own: Box<dyn DeviceMemory>,
    pub(super) theirs: Vec<Box<dyn DeviceMemory>>,
    /// By PE, where it lies in this process; 0 where it is not known here.
    pub(super) at: Vec<usize>,
}

impl Plan {
    /// Bytes of the next chunk, so that `need` bytes of a slice are memory where `mapped` are.
    pub(super) fn chunk(&self, mapped: usize, need: usize) -> usize {
        (need - mapped).max(LEAST).next_multiple_of(self.granule).min(self.slice - mapped)
    }
}

impl World {
    /// Tells all PEs whether each could do its part. Collective. Who failed gets its own error, the others one that
    /// says who it was, and why.
    pub(super) fn all_well<T>(&self, call: Call, step: &'static str, done: Result<T>) -> Result<T> {
        let sign = tag(&[call as u64, 0x5eed, step.len() as u64]);
        let all = self.exchange(self.world_team(), call, sign, 0, &[u8::from(done.is_ok())]);
        match all.map(|all| all.iter().position(|&well| well == 0)) {
            Ok(None) => done,
            Ok(Some(pe)) => {
                let why = self.reason(call, &done, pe);
                done?;
                Err(Error::Device(format!("{step} failed on PE {pe}: {}", why?)))
            }
            Err(error) => done.and(Err(error)),
        }
    }

    /// What PE `pe` has to say, which has failed: the first PE that gives up may end the job before the others have said
    /// a word. Collective.
    pub(super) fn reason<T>(&self, call: Call, own: &Result<T>, pe: usize) -> Result<String> {
        let mut said = [0; REASON];
        if let Err(error) = own {
            let text = error.to_string();
            let fits = text.len().min(REASON);
            said[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        }
        let all = self.exchange(self.world_team(), call, tag(&[call as u64, 0x3ea5]), 0, &said)?;
        let text = String::from_utf8_lossy(&all[pe * REASON..(pe + 1) * REASON]);
        Ok(text.trim_end_matches(['\0', char::REPLACEMENT_CHARACTER]).to_owned())
    }

    /// A chunk in every slice, which is zeroed, and in reach of this PE, when the device is ready; `before`: what had to be
    /// done for it. Collective: where one PE gets none, all get an error. What comes after that, bringing the peers' into this
    /// process, is for the caller to tell the others of.
    pub(super) fn chunk(
        &self,
        call: Call,
        device: &dyn HeapDevice,
        wanted: &Wanted<'_>,
        before: Result<()>,
        laps: &mut Laps,
    ) -> Result<Chunk> {
        let (me, n) = (self.my_pe() as usize, self.n_pes() as usize);
        let prepared = before.is_ok();
        let own = before.and_then(|()| device.begin_allocate(wanted.at, wanted.bytes));
        laps.lap("memory");
        // Before PEs wait for each other, since it takes as long as all the rest.
        let exported = match (&own, wanted.peers) {
            (Ok(own), Peers::Sent(_)) if n > 1 => Some(own.export()),
            _ => None,
        };
        if exported.is_some() {
            laps.lap("export");
        }
        if let Err(error) = self.enough(call, device, prepared, &own, wanted.bytes) {
            // Memory that is being zeroed can't be given back.
            let _ = device.ready();
            return Err(error);
        }
        laps.lap("enough for all");
        let own = own?;
        let mut chunk = Chunk { at: vec![0; n], theirs: Vec::new(), reached: Ok(()), own };
        chunk.at[me] = chunk.own.base();
        if n == 1 {
            return Ok(chunk);
        }
        let Chunk { own, theirs, at, reached } = &mut chunk;
        *reached = match wanted.peers {
            Peers::Here => {
                let mine = at[me];
                *at = (0..n).map(wanted.others).collect();
                at[me] = mine;
                Ok(())
            }
            Peers::Sent(courier) => {
                // Who has nothing to give still takes part, so that nobody waits.
                let (fd, failed) = match exported {
                    Some(Ok(Export::Fd(fd))) => (Some(fd), None),
                    Some(Err(error)) => (None, Some(error)),
                    _ => (None, Some(Error::Device(format!("{} exports no descriptor", device.name())))),
                };
                let got = courier.exchange(wanted.number, fd.as_ref());
                laps.lap("descriptors");
                let got = got.and_then(|got| failed.map_or(Ok(got), Err));
                got.and_then(|got| self.import_sent(device, wanted, own.len(), got, theirs, at))
            }
            Peers::Told => self.import_told(call, device, &**own, theirs, at),
        };
        laps.lap("peers' memory");
        Ok(chunk)
    }

    /// Tells all PEs whether each has got its memory; an error that is the same on all of them where one has not. Where one
    /// was not even `prepared`, it gets its own error, and the others one that says why.
    fn enough(
        &self,
        call: Call,
        device: &dyn HeapDevice,
        prepared: bool,
        own: &Result<Box<dyn DeviceMemory>>,
        bytes: usize,
    ) -> Result<()> {
        const WELL: u64 = 0;
        const NO_MEMORY: u64 = 1;
        const UNPREPARED: u64 = 2;
        let mut said = [0; 16];
        let how = match (own, prepared) {
            (Ok(_), _) => WELL,
            (Err(_), true) => NO_MEMORY,
            (Err(_), false) => UNPREPARED,
        };
        said[..8].copy_from_slice(&how.to_ne_bytes());
        if how == NO_MEMORY {
            said[8..].copy_from_slice(&device.free_memory().unwrap_or(0).to_ne_bytes());
        }
        let sign = tag(&[call as u64, 0xc4a2, bytes as u64]);
        let all = self.exchange(self.world_team(), call, sign, bytes as u64, &said)?;
        let word =
            |said: &[u8], at: usize| u64::from_ne_bytes(said[at..at + 8].try_into().unwrap_or_default());
        if let Some(pe) = all.chunks(16).position(|said| word(said, 0) == UNPREPARED) {
            let why = self.reason(call, own, pe);
            return Err(match own {
                Err(error) if pe == self.my_pe() as usize => error.clone(),
                _ => Error::Device(format!("PE {pe} can't have device memory: {}", why?)),
            });
        }
        let Some(pe) = all.chunks(16).position(|said| word(said, 0) != WELL) else { return Ok(()) };
        if let Err(error) = own {
            self.note(DebugLevel::Warn, || format!("{bytes} bytes of device memory: {error}"));
        }
        let free = word(&all[pe * 16..], 8);
        let error = Error::NoDeviceMemory { request: bytes, pe, free: Size::show(free) };
        Err(error.found_at(self.world_team().place()))
    }

    /// Brings the memory of the peers into this process, whose descriptors have come.
    fn import_sent(
        &self,
        device: &dyn HeapDevice,
        wanted: &Wanted<'_>,
        bytes: usize,
        got: Vec<Option<OwnedFd>>,
        theirs: &mut Vec<Box<dyn DeviceMemory>>,
        at: &mut [usize],
    ) -> Result<()> {
        for (pe, fd) in got.into_iter().enumerate().filter(|(pe, _)| *pe as i32 != self.my_pe()) {
            let lost = || Error::Device(format!("PE {pe} could not export its device memory"));
            let memory = device.import(&Export::Fd(fd.ok_or_else(lost)?), (wanted.others)(pe), bytes);
            let memory = memory.map_err(|why| of_pe(pe, &why))?;
            at[pe] = memory.base();
            theirs.push(memory);
        }
        Ok(())
    }

    fn import_told(
        &self,
        call: Call,
        device: &dyn HeapDevice,
        own: &dyn DeviceMemory,
        theirs: &mut Vec<Box<dyn DeviceMemory>>,
        at: &mut [usize],
    ) -> Result<()> {
        let export = own.export();
        let mut said = [0u8; 8 + OPAQUE];
        if let Ok(Export::Opaque(opaque)) = &export
            && opaque.len() <= OPAQUE
        {
            said[..8].copy_from_slice(&(opaque.len() as u64).to_ne_bytes());
            said[8..8 + opaque.len()].copy_from_slice(opaque);
        }
        let sign = tag(&[call as u64, 0x1bc, own.len() as u64]);
        let all = self.exchange(self.world_team(), call, sign, own.len() as u64, &said)?;
        export?;
        for (pe, said) in all.chunks(said.len()).enumerate().filter(|(pe, _)| *pe as i32 != self.my_pe()) {
            let len = u64::from_ne_bytes(said[..8].try_into().unwrap_or_default()) as usize;
            if len == 0 || len > OPAQUE {
                return Err(Error::Device(format!("PE {pe} could not export its device memory")));
            }
            let memory = device.import(&Export::Opaque(said[8..8 + len].into()), 0, own.len());
            let memory = memory.map_err(|why| of_pe(pe, &why))?;
            at[pe] = memory.base();
            theirs.push(memory);
        }
        Ok(())
    }

    /// Sees to it that the first `need` bytes of every heap are memory. Collective, with equal numbers.
    pub(crate) fn grow_device_heap(&self, call: Call, heap: &DeviceHeap, need: usize) -> Result<()> {
        let mapped = heap.mapped.load(Ordering::Acquire);
        let need = need + heap.plan.heap_at();
        if need <= mapped {
            return Ok(());
        }
        let bytes = heap.plan.chunk(mapped, need);
        let mut chunks = heap.chunks();
        let peers = match &heap.courier {
            Some(courier) => Peers::Sent(courier),
            None => Peers::Here,
        };
        let at = heap.slice + mapped;
        let others = |pe: usize| heap.peer(at, pe);
        let (mut laps, number) = (Laps::begin(), chunks.own.len() as u32);
        let wanted = Wanted { number, at, others: &others, bytes, peers };
        let mut chunk = self.chunk(call, &*heap.device, &wanted, Ok(()), &mut laps)?;
        let reached = std::mem::replace(&mut chunk.reached, Ok(()));
        let done = heap.device.ready();
        laps.lap("zeroing");
        self.all_well(call, "reaching the other PEs' device memory", reached.and(done))?;
        laps.lap("reached by all");
        chunks.own.push(chunk.own);
        chunks.theirs.extend(chunk.theirs);
        heap.mapped.store(mapped + bytes, Ordering::Release);
        self.note(DebugLevel::Info, || {
            let all = Size::show((mapped + bytes - heap.plan.heap_at()) as u64);
            format!("device heap has {all} now; growth: {}", laps.shown())
        });
        Ok(())
    }
}

fn of_pe(pe: usize, why: &Error) -> Error {
    Error::Device(format!("memory of PE {pe}: {why}"))
}
