//! The symmetric heap in a device's memory, and what the host does with it.
//!
//! | module | holds |
//! |---|---|
//! | [`driver`] | what the engine asks of a device |
//! | `bind` | choosing the devices of a job, all PEs together |
//! | [`heap`] | where the PEs' memory lies, and what it is used for |
//! | `grow` | getting memory, and the peers' |
//! | `beside` | the heap of the host, as far as kernels reach it too |
//! | `courier` | descriptors on their way between processes |
//! | `links` | whether devices reach each other's memory |
//! | `kernels` | what kernels know of the PE, and teams as they see them |
//! | `rma`, `coll` | transfers and collectives of the host |
//!
//! The device is bound late: programs select it after init. Until then there is no heap of a device.
mod beside;
mod bind;
mod coll;
mod courier;
pub mod driver;
mod grow;
pub mod heap;
mod kernels;
mod links;
mod rma;

pub(crate) use bind::Slot;
pub(crate) use coll::{Announce, Vectors};
pub use heap::DeviceHeap;
pub(crate) use heap::stream_bytes;
