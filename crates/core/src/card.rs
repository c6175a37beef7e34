//! What a PE tells the others at init before the layout is fixed, and whether they can live together.
use crate::alike::{self, Told};
use crate::bootstrap::Bootstrap;
use crate::device::Device;
use crate::env::{Settings, TransportKind, Words};
use crate::error::{Error, Result};
use crate::job::SHARED_ABI;
use crate::size::Size;
use crate::statics::{self, Offer, Refusal};
use bytemuck::{Pod, Zeroable};

/// What one PE tells.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Card {
    abi: u32,
    /// 1: offers its globals.
    pub(crate) flags: u32,
    heap: Told,
    team_slots: Told,
    static_len: u64,
    pub(crate) static_identity: u64,
    /// Bytes of globals that this process has moved into the node's memory before.
    pub(crate) moved: u64,
    /// Whether peers are mapped: [`TransportKind`].
    transport: Told,
    /// CPUs that this PE counts with.
    pub(crate) cpus: u64,
    /// First letters of the name of the device whose memory it uses; 0: of none.
    device: u64,
}

/// CPUs to count with.
pub(crate) fn cpus(settings: &Settings) -> usize {
    if settings.cpus > 0 { settings.cpus } else { dushmem_os::cpu::usable_cpus() }
}

/// Exchanges the cards and checks that the PEs can live together.
pub(crate) fn exchange(
    boot: &dyn Bootstrap,
    settings: &Settings,
    offered: &core::result::Result<Offer, Refusal>,
    offer: &Offer,
    device: Option<&dyn Device>,
) -> Result<Vec<Card>> {
    let kind = device.map_or(0, |device| {
        let mut letters = [0; 8];
        letters.iter_mut().zip(device.name().bytes()).for_each(|(to, from)| *to = from);
        u64::from_ne_bytes(letters)
    });
    let mine = Card {
        abi: SHARED_ABI,
        flags: offered.is_ok().into(),
        heap: Told::new(settings, "SYMMETRIC_SIZE", settings.heap_size),
        team_slots: Told::new(settings, "TEAM_SLOTS", settings.team_slots as u64),
        static_len: offer.len as u64,
        static_identity: offer.identity,
        moved: statics::moved() as u64,
        transport: Told::new(settings, "TRANSPORT", settings.transport.into()),
        cpus: cpus(settings) as u64,
        device: kind,
    };
    let cards: Vec<Card> = boot
        .allgather(bytemuck::bytes_of(&mine))
        .iter()
        .map(|bytes| bytemuck::pod_read_unaligned(bytes))
        .collect();
    if let Some(pe) = cards.iter().position(|card| card.abi != cards[0].abi) {
        let (all, other) = (cards[0].abi, cards[pe].abi);
        let text = format!(
            "version of the shared memory (PEs use different builds of the library): PE 0 has {all}, PE {pe} has {other}; \
             start all PEs alike"
        );
        return Err(Error::Disagreement { text });
    }
    let check = |setting: &str, show: fn(u64) -> String, told: fn(&Card) -> Told| {
        alike::check(setting, show, &cards.iter().map(told).collect::<Vec<_>>())
    };
    check("SYMMETRIC_SIZE", Size::show, |card| card.heap)?;
    check("TEAM_SLOTS", |slots| slots.to_string(), |card| card.team_slots)?;
    check("TRANSPORT", TransportKind::word_of, |card| card.transport)?;
    if let Some(pe) = cards.iter().position(|card| card.device != cards[0].device) {
        let show = |card: &Card| match card.device {
            0 => "none".to_owned(),
            letters => {
                let letters = letters.to_ne_bytes();
                String::from_utf8_lossy(&letters).trim_end_matches('\0').to_owned()
            }
        };
        let text = format!(
            "device whose memory is used: PE 0 uses {}, PE {pe} uses {}; compile all programs of the job for the same \
             device, or set DUSHMEM_DEVICE to cuda or emu for all of them",
            show(&cards[0]),
            show(&cards[pe])
        );
        return Err(Error::Disagreement { text });
    }
    Ok(cards)
}
