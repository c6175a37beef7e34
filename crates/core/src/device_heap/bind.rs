//! Choosing the devices of a job. All PEs take part; nothing is chosen before each of them knows its own.
use super::courier::{Courier, Listener};
use super::driver::{Agreed, HeapDevice, Identity, Sharing};
use super::grow::{Chunk, Peers, Wanted};
use super::heap::{Chunks, DeviceHeap, Parts, Plan};
use super::kernels::Tables;
use super::links;
use crate::alike::{self, Told};
use crate::device::Device;
use crate::env::{DebugLevel, HeapKind, Words};
use crate::error::{Call, Error, Result};
use crate::laps::Laps;
use crate::size::Size;
use crate::sync::tag;
use crate::window::DEVICE_BASE;
use crate::world::World;
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Most bytes of a slice where nobody says how many.
const DEFAULT_MOST: u64 = 128 << 30;

/// The devices of a world: which could be bound, and what was.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    device: Option<&'static dyn Device>,
    world: OnceLock<Weak<World>>,
    bound: OnceLock<DeviceHeap>,
    changing: Mutex<()>,
}

impl Slot {
    pub(crate) fn new(device: Option<&'static dyn Device>) -> Slot {
        Slot { device, ..Slot::default() }
    }

    /// Says whose they are.
    pub(crate) fn belong_to(&self, world: &Arc<World>) {
        let _ = self.world.set(Arc::downgrade(world));
    }

    /// While this is held no heap is bound, and no team made or destroyed.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a PE has to offer when devices are bound.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Offer {
    uuid: [u8; 16],
    /// What others find it by.
    token: [u8; 16],
    memory: u64,
    granule: u64,
    /// Most bytes of a slice, as the environment says; 0: it does not.
    most: Told,
    /// Where programs' kernels allocate.
    kind: Told,
    /// Most bytes that a collective sends as words with its number, as the environment says.
    flagged: u64,
    pid: u32,
    processors: u32,
    /// [`offered`]
    state: u32,
    concurrent: u32,
    chunks: u32,
    /// Most blocks of a collective, as the environment says; 0: it does not.
    blocks: u32,
}

/// How far a PE is.
mod offered {
    /// The program may still choose a device.
    pub const NOTHING: u32 = 0;
    pub const DEVICE: u32 = 1;
    /// It can't use one.
    pub const ERROR: u32 = 2;
}

impl Offer {
    fn of(identity: &Identity) -> Offer {
        Offer {
            uuid: identity.uuid,
            memory: identity.memory,
            granule: identity.granule,
            processors: identity.processors,
            state: offered::DEVICE,
            concurrent: identity.concurrent.into(),
            chunks: identity.chunks.into(),
            ..Offer::zeroed()
        }
    }
}

/// What follows from all offers.
fn agree(offers: &[Offer]) -> Agreed {
    let with = |offer: &Offer| offers.iter().filter(|other| other.uuid == offer.uuid).count() as u32;
    let on_one = offers.iter().map(with).max().unwrap_or(1);
    let sharing = match () {
        _ if in_threads(offers) => Sharing::Threads,
        _ if on_one == 1 => Sharing::Alone,
        // Who has a device alone need not be a client of MPS.
        _ if offers.iter().all(|offer| offer.concurrent != 0 || with(offer) == 1) => Sharing::Concurrent,
        _ => Sharing::Turns,
    };
    let first = |at: usize| offers.iter().position(|other| other.uuid == offers[at].uuid) == Some(at);
    let devices = (0..offers.len()).filter(|&at| first(at)).count() as u32;
    // A multiprocessor takes two blocks of such a kernel, so two of different teams run at the same time.
    let resident = offers.iter().map(|offer| offer.processors / with(offer)).min();
    let asked = offers.iter().map(|offer| offer.blocks).filter(|&blocks| blocks > 0).min();
    let most = asked.unwrap_or(if devices > 1 { Agreed::LINK_BLOCKS } else { Agreed::MOST_BLOCKS });
    let blocks = resident.unwrap_or(1).min(most).clamp(1, Agreed::MOST_BLOCKS);
    let waits = sharing != Sharing::Turns && (2..=Agreed::MOST_FLAGGED).contains(&offers.len());
    let flagged = offers.iter().map(|offer| offer.flagged as usize).min().filter(|_| waits).unwrap_or(0);
    Agreed { sharing, on_one, devices, blocks, flagged }
}

/// Whether PEs are threads of one process.
fn in_threads(offers: &[Offer]) -> bool {
    offers.len() > 1 && offers.iter().all(|offer| offer.pid == offers[0].pid)
}

/// How the slices are laid out.
fn plan(offers: &[Offer], slots: usize, heap_size: u64) -> Result<Plan> {
    let chunks = offers.iter().all(|offer| offer.chunks != 0);
    let granule = offers.iter().map(|offer| offer.granule.max(4096)).max().unwrap_or(4096) as usize;
    let memory = offers.iter().map(|offer| offer.memory).min().unwrap_or(0);
    // A word is half data; and one call's are read while the next one's arrive.
    let flagged = agree(offers).flagged * 4;
    let mut plan = Plan { pes: offers.len(), slots, slice: 0, stride: 0, granule, flagged };
    let own = plan.heap_at() as u64;
    // A heap that is one chunk takes all its memory at once.
    let most = match offers[0].most.value {
        0 if chunks => memory.min(DEFAULT_MOST).saturating_sub(own),
        0 => heap_size,
        most => most,
    };
    let slice = most.checked_add(own).map(|slice| slice.next_multiple_of(granule as u64));
    let stride = slice.and_then(u64::checked_next_power_of_two);
    let (Some(slice), Some(stride)) = (slice, stride.filter(|stride| *stride <= 1 << 44)) else {
        return Err(Error::BadEnvironment {
            variable: "DUSHMEM_DEVICE_HEAP_SIZE".into(),
            value: most.to_string(),
            why: "more than any device has".into(),
        });
    };
    (plan.slice, plan.stride) = (slice as usize, stride as usize);
    Ok(plan)
}

impl World {
    /// What is bound.
    #[inline]
    pub fn device_heap(&self) -> Option<&DeviceHeap> {
        self.devices().bound.get()
    }

    /// True where there are devices with memory of their own, of which none is bound yet.
    pub fn awaits_device(&self) -> bool {
        self.has_devices() && self.device_heap().is_none()
    }

    /// Binds the devices of the job, if each PE has one. `insist`: a PE that has chosen none takes the first one.
    /// Collective over all PEs, in the call `call`; fails on all of them. Nothing happens where there are none, or
    /// where it has happened.
    pub fn bind_device(&self, call: Call, insist: bool) -> Result<Option<&DeviceHeap>> {
        let slot = self.devices();
        let (Some(device), Some(world)) = (slot.device, slot.world.get().and_then(Weak::upgrade)) else {
            return Ok(None);
        };
        if self.device_heap().is_none() {
            let mut laps = Laps::begin();
            let found = device.bind(&world, insist);
            if let Ok(Some(found)) = &found {
                laps.inner("choice", found.steps());
            }
            let asked = matches!(found, Ok(Some(_)));
            self.bind(call, found, &mut laps)?;
            if asked && self.device_heap().is_some() {
                // What the host's heap has already.
                self.let_kernels_reach(call, self.heap().high_water())?;
                self.note(DebugLevel::Info, || format!("start of the device: {}", laps.shown()));
            }
        }
        Ok(self.device_heap())
    }

    /// Binds what each PE has found. Collective.
    fn bind(&self, call: Call, found: Result<Option<Arc<dyn HeapDevice>>>, laps: &mut Laps) -> Result<()> {
        let (me, settings) = (self.my_pe() as usize, self.settings());
        let listener = Listener::new();
        let mut mine = match &found {
            Ok(Some(device)) => Offer::of(&device.identity()),
            Ok(None) => Offer { state: offered::NOTHING, ..Offer::zeroed() },
            Err(_) => Offer { state: offered::ERROR, ..Offer::zeroed() },
        };
        mine.pid = dushmem_os::fault::pid();
        mine.most = Told::new(settings, "DEVICE_HEAP_SIZE", settings.device_heap.unwrap_or(0));
        mine.kind = Told::new(settings, "HEAP_KIND", settings.heap_kind.into());
        mine.blocks = settings.collective_blocks;
        mine.flagged = settings.stream_flagged as u64;
        match &listener {
            Ok((_, token)) => mine.token = *token,
            Err(_) => mine.state = offered::ERROR,
        }
        let sign = tag(&[call as u64, 0xb15d]);
        let all = self.exchange(self.world_team(), call, sign, 0, bytemuck::bytes_of(&mine));
        laps.lap("offers");
        let ready = found.and_then(|found| listener.map(|(listener, _)| (found, listener)));
        let all = match all {
            Ok(all) => all,
            Err(error) => return ready.and(Err(error)),
        };
        let offers: Vec<Offer> =
            all.chunks_exact(size_of::<Offer>()).map(bytemuck::pod_read_unaligned).collect();
        if let Some(pe) = offers.iter().position(|offer| offer.state == offered::ERROR) {
            let why = self.reason(call, &ready, pe);
            ready?;
            return Err(Error::Device(format!("PE {pe} can't use its device: {}", why?)));
        }
        let (found, listener) = ready?;
        let chosen = offers.iter().all(|offer| offer.state == offered::DEVICE);
        let Some(device) = found.filter(|_| chosen) else { return Ok(()) };
        let check = |setting: &str, show: fn(u64) -> String, told: fn(&Offer) -> Told| {
            alike::check(setting, show, &offers.iter().map(told).collect::<Vec<_>>())
        };
        let most = |most| if most == 0 { "no bound".to_owned() } else { Size::show(most) };
        check("DEVICE_HEAP_SIZE", most, |offer| offer.most)?;
        check("HEAP_KIND", HeapKind::word_of, |offer| offer.kind)?;
        let (agreed, plan) = (agree(&offers), plan(&offers, self.team_slots(), settings.heap_size)?);
        device.set_agreed(agreed);
        if agreed.devices > 1 && settings.heap_kind == HeapKind::Device {
            let uuids: Vec<_> = offers.iter().map(|offer| offer.uuid).collect();
            self.all_well(call, "looking for links between devices", links::check(self, &*device, &uuids))?;
        }
        // Where this gives an error, all PEs have one. From here on each goes on to the last exchange, in which they tell each
        // other of what comes after it.
        let laid = match settings.heap_kind {
            HeapKind::Device => self.lay_out(call, &*device, &offers, plan, listener, laps)?,
            HeapKind::Host => self.pin_window(&*device),
        };
        let Laid { slice, delta, mapped, chunks, courier, reached } = laid;
        let tables = reached.and_then(|()| match slice {
            0 => device.table(Tables::bytes(plan.pes, plan.slots)),
            slice => Ok(slice + plan.tables_at()),
        });
        let kind = settings.heap_kind;
        let same = |offer: &Offer| offers.iter().position(|other| other.uuid == offer.uuid).unwrap_or(0);
        let (first, host_streams) = (offers.iter().map(same).collect(), self.internals().streams);
        let (name, starting) = (device.name(), Arc::clone(&device));
        let one = self.devices().changing();
        if tables.is_err() {
            // Memory that is being zeroed can't be given back.
            let _ = starting.ready();
        }
        let told = tables.and_then(|tables| {
            let tables = Tables::at(tables, plan.pes, plan.slots);
            let heap = DeviceHeap::new(Parts {
                device,
                agreed,
                kind,
                me,
                plan,
                first,
                host_streams,
                slice,
                delta,
                mapped,
                chunks,
                courier,
                tables,
            });
            heap.tell(self)?;
            Ok(heap)
        });
        laps.inner("tables", starting.steps());
        let heap = self.all_well(call, "preparing the devices", told)?;
        laps.lap("ready on all");
        let _ = self.devices().bound.set(heap);
        drop(one);
        self.note(DebugLevel::Info, || {
            let sharing = agreed.sharing;
            let Agreed { on_one, devices, blocks, .. } = agreed;
            format!("device {name}, one of {devices}, {sharing:?}, {on_one} PEs on one, {blocks} blocks")
        });
        Ok(())
    }

    /// The slices, with memory for the library's part.
    fn lay_out(
        &self,
        call: Call,
        device: &dyn HeapDevice,
        offers: &[Offer],
        plan: Plan,
        listener: Listener,
        laps: &mut Laps,
    ) -> Result<Laid> {
        let (me, n, stride) = (self.my_pe() as usize, plan.pes, plan.stride);
        let here = in_threads(offers);
        let chunks = offers.iter().all(|offer| offer.chunks != 0);
        let need = if chunks { plan.chunk(0, plan.heap_at()) } else { plan.slice };
        let (mut slice, mut courier, mut before) = (0, None, Ok(()));
        let mut delta: Box<[isize]> = (0..n).map(|pe| (((pe + n - me) % n) * stride) as isize).collect();
        let total = n.checked_mul(stride).ok_or_else(|| too_much(n, stride));
        if here {
            // One reservation, of PE 0's device, in which every PE has its place.
            let base = match me {
                0 if chunks => total.and_then(|total| reserve(device, total)),
                _ => Ok(0),
            };
            let said = *base.as_ref().unwrap_or(&0);
            let base = base.and(self.everybodys(call, said).map(|all| all[0]));
            before = match base {
                // Its own error is the one that all get to know.
                Ok(0) if chunks => Err(Error::Device("PE 0 could reserve no addresses".into())),
                base => base.map(|base| slice = base + me * stride),
            };
            delta = (0..n).map(|pe| (pe as isize - me as isize) * stride as isize).collect();
        } else if chunks {
            before = total.and_then(|total| reserve(device, total)).map(|base| slice = base);
            laps.lap("addresses");
            // Also a PE that has failed meets the others, which would wait for it.
            if n > 1 {
                let others: Vec<_> = offers.iter().map(|offer| (offer.token, offer.pid)).collect();
                let met = listener.meet(me, &others).map(|met| courier = Some(met));
                before = before.and(met);
                laps.lap("meeting");
            }
        }
        let peers = match &courier {
            Some(courier) => Peers::Sent(courier),
            None if here => Peers::Here,
            None => Peers::Told,
        };
        let others = |pe: usize| slice.wrapping_add_signed(delta[pe]);
        let wanted = Wanted { number: 0, at: slice, others: &others, bytes: need, peers };
        let Chunk { own, theirs, mut at, mut reached } = self.chunk(call, device, &wanted, before, laps)?;
        if !chunks {
            // Each lies where the driver has put it.
            slice = at[me];
            if here {
                match self.everybodys(call, slice) {
                    Ok(all) => at = all,
                    Err(error) => reached = Err(error),
                }
            }
            delta = at.iter().map(|&at| at.wrapping_sub(slice) as isize).collect();
        }
        let chunks = Chunks { own: vec![own], theirs };
        Ok(Laid { slice, delta, mapped: need, chunks, courier, reached })
    }

    /// One number of each PE.
    fn everybodys(&self, call: Call, mine: usize) -> Result<Vec<usize>> {
        let sign = tag(&[call as u64, 0xe7e7]);
        let all = self.exchange(self.world_team(), call, sign, 0, &mine.to_ne_bytes())?;
        Ok(all
            .chunks_exact(8)
            .map(|word| usize::from_ne_bytes(word.try_into().unwrap_or_default()))
            .collect())
    }

    /// Lets the device use the host's heaps of all PEs.
    fn pin_window(&self, device: &dyn HeapDevice) -> Laid {
        let window = self.window();
        let (slice, (heap, len)) = (window.slice() as usize, window.heap());
        let mut reached = Ok(());
        for pe in 0..self.n_pes() as usize {
            // SAFETY: mapped as long as this world lives, which owns the heap that unpins it.
            reached =
                reached.and_then(|()| unsafe { device.pin(window.peer(slice, pe), heap + len - slice) });
        }
        let (delta, chunks) = (window.deltas().into(), Chunks::default());
        Laid { slice: 0, delta, mapped: 0, chunks, courier: None, reached }
    }
}

/// What [`World::lay_out`] has made.
struct Laid {
    slice: usize,
    delta: Box<[isize]>,
    mapped: usize,
    chunks: Chunks,
    courier: Option<Courier>,
    /// Whether this PE has the memory of the others in its reach.
    reached: Result<()>,
}

fn too_much(n: usize, stride: usize) -> Error {
    Error::BadEnvironment {
        variable: "DUSHMEM_DEVICE_HEAP_SIZE".into(),
        value: Size::show(stride as u64),
        why: format!("for {n} PEs more than the address space"),
    }
}

/// Address space, at the usual place if that is free.
fn reserve(device: &dyn HeapDevice, bytes: usize) -> Result<usize> {
    device.reserve(Some(DEVICE_BASE), bytes).or_else(|_| device.reserve(None, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(device: u8, pid: u32, concurrent: bool) -> Offer {
        let identity = Identity {
            uuid: [device; 16],
            memory: 141 << 30,
            granule: 2 << 20,
            concurrent,
            processors: 132,
            chunks: true,
        };
        Offer { pid, ..Offer::of(&identity) }
    }

    #[test]
    fn how_devices_are_shared() {
        let shared = |offers: &[Offer]| agree(offers).sharing;
        assert_eq!(shared(&[offer(1, 10, false)]), Sharing::Alone);
        assert_eq!(shared(&[offer(1, 10, false), offer(2, 11, false)]), Sharing::Alone);
        assert_eq!(shared(&[offer(1, 10, false), offer(1, 11, false)]), Sharing::Turns);
        assert_eq!(
            shared(&[offer(1, 10, true), offer(1, 11, true), offer(2, 12, true)]),
            Sharing::Concurrent
        );
        assert_eq!(shared(&[offer(1, 10, true), offer(1, 11, false)]), Sharing::Turns);
        assert_eq!(shared(&[offer(1, 10, false), offer(1, 10, false)]), Sharing::Threads);
        // A PE alone on its device says nothing about MPS; those that share one do.
        assert_eq!(
            shared(&[offer(1, 10, true), offer(1, 11, true), offer(2, 12, false)]),
            Sharing::Concurrent
        );
        assert_eq!(shared(&[offer(1, 10, false), offer(1, 11, false), offer(2, 12, true)]), Sharing::Turns);
    }

    #[test]
    fn blocks_fit_the_device_and_the_link() {
        let agreed = agree(&[offer(1, 10, true), offer(1, 11, true)]);
        assert_eq!((agreed.on_one, agreed.devices, agreed.blocks), (2, 1, 66));
        assert_eq!(agree(&vec![offer(1, 10, true); 8]).blocks, 16);
        let agreed = agree(&[offer(2, 10, true), offer(1, 11, true), offer(2, 12, true)]);
        assert_eq!((agreed.on_one, agreed.devices, agreed.blocks), (2, 2, Agreed::LINK_BLOCKS));
        let asked = |blocks: [u32; 2]| {
            let of = |device: u8, blocks| Offer { blocks, ..offer(device, device.into(), false) };
            agree(&[of(1, blocks[0]), of(2, blocks[1])]).blocks
        };
        assert_eq!([asked([0, 0]), asked([8, 16]), asked([0, 100]), asked([500, 500])], [64, 8, 100, 128]);
    }

    #[test]
    fn kernels_are_on_a_device_at_the_same_time() {
        let at_once = |offers: &[Offer]| agree(offers).at_once();
        assert_eq!(at_once(&[offer(1, 10, true), offer(2, 11, true)]), 1);
        assert_eq!(at_once(&[offer(1, 10, true), offer(1, 11, true), offer(2, 12, true)]), 2);
        // Each has the whole device in its turn; threads of a process share it.
        assert_eq!(at_once(&[offer(1, 10, false), offer(1, 11, false)]), 1);
        assert_eq!(at_once(&[offer(1, 10, false), offer(1, 10, false), offer(2, 10, false)]), 2);
    }

    #[test]
    fn words_of_grids_are_for_few_pes_whose_kernels_may_wait() {
        let of = |device: u8, flagged| Offer { flagged, ..offer(device, device.into(), true) };
        let flagged = |offers: &[Offer]| (agree(offers).flagged, plan(offers, 256, 1 << 30).unwrap().flagged);
        assert_eq!(flagged(&[of(1, 2 << 20), of(2, 1 << 20)]), (1 << 20, 4 << 20));
        assert_eq!(flagged(&[of(1, 2 << 20), of(2, 0)]), (0, 0));
        assert_eq!(flagged(&[of(1, 2 << 20)]), (0, 0));
        let many = |n| (1..=n).map(|device| of(device, 2 << 20)).collect::<Vec<_>>();
        assert_eq!(flagged(&many(8)), (2 << 20, 8 << 20));
        assert_eq!(flagged(&many(9)), (0, 0));
        let turns = [1, 2].map(|pid| Offer { flagged: 2 << 20, ..offer(1, pid, false) });
        assert_eq!(flagged(&turns), (0, 0));
    }

    #[test]
    fn slices_are_powers_of_two_and_hold_what_was_asked_for() {
        let mut offers = [offer(1, 10, true), offer(1, 11, true)];
        let plan = |offers: &[Offer]| super::plan(offers, 256, 1 << 30);
        let all = plan(&offers).unwrap();
        assert_eq!((all.slice, all.stride), (128 << 30, 128 << 30));
        offers.iter_mut().for_each(|offer| offer.most.value = 1 << 30);
        let one = plan(&offers).unwrap();
        assert!(one.slice - one.heap_at() >= 1 << 30 && one.stride == 2 << 30, "{one:?}");
        offers.iter_mut().for_each(|offer| offer.most.value = u64::MAX);
        assert!(plan(&offers).is_err());
    }
}
