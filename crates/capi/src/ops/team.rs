//! Teams.
use super::prelude::*;
use super::team_config;
use crate::job;
use crate::report::{host_only, must, or_else, status};
use dushmem_core::error::{Error, Result};
use dushmem_core::team::{Team, TeamConfig, handles};
use dushmem_core::world::World;

/// Status where the standard asks for one that is not zero of a call on the invalid team.
pub const NOT_A_TEAM: i32 = 1;

/// Asks a team something; the invalid team is no error but has the answer -1.
fn ask(name: Name, handle: i32, answer: impl FnOnce(&World, &Team) -> i32) -> i32 {
    if handle == handles::INVALID && job::is_initialised() {
        return -1;
    }
    or_else(name, |w| Ok(answer(w, &*w.team(handle)?)), |_| -1)
}

pub unsafe fn my_pe(team: i32, name: Name) -> i32 {
    ask(name, team, |_, team| team.my_pe())
}

pub unsafe fn n_pes(team: i32, name: Name) -> i32 {
    ask(name, team, |_, team| team.n_pes())
}

pub unsafe fn translate_pe(src_team: i32, src_pe: i32, dest_team: i32, name: Name) -> i32 {
    if dest_team == handles::INVALID {
        return -1;
    }
    ask(name, src_team, |w, source| match w.team(dest_team) {
        Ok(dest) => w.translate_pe(source, src_pe, &dest),
        Err(error) => {
            crate::report::print(name, &error);
            -1
        }
    })
}

/// Makes no team of the invalid one, which is a result that the standard defines, not a mistake.
unsafe fn none_of_invalid(parent: i32, new: &[*mut i32]) -> Option<i32> {
    for &team in new.iter().filter(|team| !team.is_null()) {
        // SAFETY: the caller's variable.
        unsafe { team.write(handles::INVALID) };
    }
    let complete = new.iter().all(|team| !team.is_null());
    (parent == handles::INVALID && complete).then_some(NOT_A_TEAM)
}

/// Stores a team that was made, and its configuration. A NULL is this PE's mistake alone: the others must not wait
/// for it in vain, so it is found after the team was made.
unsafe fn deliver(w: &World, made: i32, config: TeamConfig, arg: &'static str, team: *mut i32) -> Result<()> {
    if team.is_null() {
        return Err(Error::NoObject { arg });
    }
    w.team(made)?.set_config(config);
    // SAFETY: the caller's variable.
    unsafe { team.write(made) };
    Ok(())
}

/// Splits one team off a parent.
unsafe fn split(
    parent_team: i32,
    config: *const u8,
    config_mask: c_long,
    new_team: *mut i32,
    name: Name,
    make: impl FnOnce(&World, &Team) -> Result<Option<i32>>,
) -> i32 {
    host_only(name);
    // SAFETY: the caller's.
    if let Some(code) = unsafe { none_of_invalid(parent_team, &[new_team]) } {
        return code;
    }
    status(name, |w| {
        let parent = w.team(parent_team)?;
        // SAFETY: the caller's.
        let config = match unsafe { team_config::read(name, "config", config, config_mask) } {
            Ok(config) => config,
            Err(error) => return w.refuse_split(&parent, error),
        };
        match make(w, &parent)? {
            // SAFETY: the caller's.
            Some(made) => unsafe { deliver(w, made, config, "new_team", new_team) },
            None if new_team.is_null() => Err(Error::NoObject { arg: "new_team" }),
            None => Ok(()),
        }
    })
}

#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
pub unsafe fn split_strided(
    parent_team: i32,
    start: i32,
    stride: i32,
    size: i32,
    config: *const u8,
    config_mask: c_long,
    new_team: *mut i32,
    name: Name,
) -> i32 {
    let make = |w: &World, parent: &Team| w.split_strided(parent, start, stride, size);
    // SAFETY: the caller's.
    unsafe { split(parent_team, config, config_mask, new_team, name, make) }
}

#[allow(clippy::too_many_arguments, reason = "what splitting needs")]
pub unsafe fn split_list(
    parent_team: i32,
    pes: *const i32,
    npes: i32,
    config: *const u8,
    config_mask: c_long,
    new_team: *mut i32,
    name: Name,
) -> i32 {
    let make = |w: &World, parent: &Team| {
        let wrong = match npes {
            _ if npes < 1 || npes > parent.n_pes() => {
                let why = "a team has at least one PE and at most those of its parent";
                Error::BadValue { arg: "npes", value: npes.into(), why }
            }
            _ if pes.is_null() => Error::NoObject { arg: "pes" },
            // SAFETY: the caller's array.
            _ => return w.split_listed(parent, unsafe { core::slice::from_raw_parts(pes, npes as usize) }),
        };
        w.refuse_split(parent, wrong)
    };
    // SAFETY: the caller's.
    unsafe { split(parent_team, config, config_mask, new_team, name, make) }
}

#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
pub unsafe fn split_2d(
    parent_team: i32,
    xrange: i32,
    xaxis_config: *const u8,
    xaxis_mask: c_long,
    xaxis_team: *mut i32,
    yaxis_config: *const u8,
    yaxis_mask: c_long,
    yaxis_team: *mut i32,
    name: Name,
) -> i32 {
    host_only(name);
    // SAFETY: the caller's.
    if let Some(code) = unsafe { none_of_invalid(parent_team, &[xaxis_team, yaxis_team]) } {
        return code;
    }
    status(name, |w| {
        let parent = w.team(parent_team)?;
        // SAFETY: the caller's.
        let configs = unsafe {
            team_config::read(name, "xaxis_config", xaxis_config, xaxis_mask)
                .and_then(|x| Ok((x, team_config::read(name, "yaxis_config", yaxis_config, yaxis_mask)?)))
        };
        let (x, y) = match configs {
            Ok(configs) => configs,
            Err(error) => return w.refuse_split(&parent, error),
        };
        let (row, column) = w.split_2d(&parent, xrange)?;
        // SAFETY: the caller's.
        unsafe {
            let delivered = deliver(w, row, x, "xaxis_team", xaxis_team);
            deliver(w, column, y, "yaxis_team", yaxis_team).and(delivered)
        }
    })
}

pub unsafe fn get_uniqueid(uniqueid: *mut u64, name: Name) -> i32 {
    status(name, |w| {
        if uniqueid.is_null() {
            return Err(Error::NoObject { arg: "uniqueid" });
        }
        // SAFETY: the caller's variable.
        unsafe { uniqueid.write(w.team_unique_id()?) };
        Ok(())
    })
}

pub unsafe fn init(
    team: *mut i32,
    config: *mut u8,
    config_mask: c_long,
    npes: i32,
    pe_idx_in_team: i32,
    name: Name,
) -> i32 {
    host_only(name);
    // SAFETY: the caller's.
    unsafe { none_of_invalid(handles::WORLD, &[team]) };
    status(name, |w| {
        // SAFETY: the caller's.
        let config = unsafe { team_config::read(name, "config", config, config_mask) }?;
        let made = w.team_init(config.unique_id, npes, pe_idx_in_team)?;
        // SAFETY: the caller's.
        unsafe { deliver(w, made, config, "team", team) }
    })
}

pub unsafe fn destroy(team: i32, name: Name) {
    host_only(name);
    if team == handles::INVALID {
        return;
    }
    must(name, |w| {
        let ending = w.team(team)?;
        // Contexts that the program has left on the team go with it.
        let on_it = |ctx: &dushmem_core::context::Context| {
            ctx.team().is_some_and(|other| other.handle() == ending.handle())
        };
        for context in Ctx::leave_all(on_it) {
            w.destroy_context(&context)?;
        }
        w.team_destroy(team)
    });
}

/// # Safety
/// `config` is a configuration of the family.
unsafe fn store_config(name: Name, w: &World, team: i32, config: *mut u8) -> Result<()> {
    let team = w.team(team)?;
    if config.is_null() {
        return Err(Error::NoObject { arg: "config" });
    }
    // SAFETY: the caller's structure.
    unsafe { team_config::write(name, config, team.config()) };
    Ok(())
}

pub unsafe fn get_config(team: i32, config: *mut u8, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { store_config(name, w, team, config) });
}

pub unsafe fn get_config_mask(team: i32, config_mask: c_long, config: *mut u8, name: Name) -> i32 {
    if team == handles::INVALID {
        return NOT_A_TEAM;
    }
    status(name, |w| match config_mask & team_config::NUM_CONTEXTS {
        0 => w.team(team).map(drop),
        // SAFETY: the caller's.
        _ => unsafe { store_config(name, w, team, config) },
    })
}
