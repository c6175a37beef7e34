//! Configurations of teams: OpenSHMEM's, and the versioned one of the others.
use super::prelude::*;
use dushmem_core::error::{Error, Result};
use dushmem_core::team::TeamConfig;

/// Mask bits.
pub const NUM_CONTEXTS: c_long = 1;
const UNIQUE_ID: c_long = 2;

/// The configuration of `dushmem_` and `nvshmem_`. Version 1 had padding in place of the id.
#[repr(C)]
struct Versioned {
    version: i32,
    num_contexts: i32,
    unique_id: u64,
    padding: [u8; 48],
}

const _: () = assert!(size_of::<Versioned>() == 64);

const V1: i32 = (1 << 16) + size_of::<Versioned>() as i32;
const V2: i32 = (2 << 16) + size_of::<Versioned>() as i32;

/// What a configuration says, as far as the mask goes.
///
/// # Safety
/// `config` is null or a configuration of the family.
pub unsafe fn read(name: Name, arg: &'static str, config: *const u8, mask: c_long) -> Result<TeamConfig> {
    let mut read = TeamConfig::default();
    if mask & (NUM_CONTEXTS | UNIQUE_ID) == 0 {
        return Ok(read);
    }
    if config.is_null() {
        return Err(Error::BadValue {
            arg: "config_mask",
            value: mask,
            why: "names parts of a configuration that is NULL",
        });
    }
    if name.family() == Family::Shmem {
        if mask & NUM_CONTEXTS != 0 {
            // SAFETY: the caller's configuration, which begins with the number.
            read.num_contexts = unsafe { config.cast::<i32>().read_unaligned() };
        }
    } else {
        let config = config.cast::<Versioned>();
        // SAFETY: the caller's configuration, of which every version has this size.
        let found = unsafe { config.read_unaligned() };
        if ![V1, V2].contains(&found.version) {
            return Err(Error::Bootstrap(format!(
                "{arg}->version = {:#x}: this library knows {V1:#x} (version 1) and {V2:#x} (version 2); start from \
                 TEAM_CONFIG_INITIALIZER",
                found.version
            )));
        }
        if mask & NUM_CONTEXTS != 0 {
            read.num_contexts = found.num_contexts;
        }
        if mask & UNIQUE_ID != 0 && found.version == V1 {
            let why = "the id of a team is in configurations of version 2 only";
            return Err(Error::BadValue { arg: "config_mask", value: mask, why });
        }
        if mask & UNIQUE_ID != 0 {
            read.unique_id = found.unique_id;
        }
    }
    if read.num_contexts < 0 {
        let value = read.num_contexts.into();
        return Err(Error::BadValue {
            arg: "config.num_contexts",
            value,
            why: "a number of contexts is not negative",
        });
    }
    Ok(read)
}

/// Stores a team's configuration.
///
/// # Safety
/// `config` is a configuration of the family.
pub unsafe fn write(name: Name, config: *mut u8, team: TeamConfig) {
    if name.family() == Family::Shmem {
        // SAFETY: the caller's structure, which begins with the number.
        unsafe { config.cast::<i32>().write_unaligned(team.num_contexts) };
        return;
    }
    let config = config.cast::<Versioned>();
    // SAFETY: the caller's structure, of which every version has this size; it need not be filled in.
    unsafe {
        (&raw mut (*config).num_contexts).write_unaligned(team.num_contexts);
        if (&raw const (*config).version).read_unaligned() != V1 {
            (&raw mut (*config).version).write_unaligned(V2);
            (&raw mut (*config).unique_id).write_unaligned(team.unique_id);
        }
    }
}
