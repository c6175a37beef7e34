//! Teams.
use super::prelude::*;
use crate::job;
use crate::report::{must, or_else, status};
use dushmem_core::error::{Error, Result};
use dushmem_core::team::{Team, handles};
use dushmem_core::world::World;

/// Status where the standard asks for one that is not zero of a call on the invalid team.
pub const NOT_A_TEAM: i32 = 1;

/// Offset of `num_contexts` in the family's team configuration: NVSHMEM's begins with a version.
fn num_contexts_at(name: Name) -> usize {
    if name.family() == Family::Shmem { 0 } else { 4 }
}

/// The mask bit of `num_contexts`.
const NUM_CONTEXTS: c_long = 1;

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
    if parent_team == handles::INVALID && !new_team.is_null() {
        // SAFETY: the caller's variable.
        unsafe { new_team.write(handles::INVALID) };
        return NOT_A_TEAM;
    }
    // A NULL here is this PE's mistake alone: the others must not wait for it in vain.
    let handle = status(name, |w| {
        let parent = w.team(parent_team)?;
        let made = w.split_strided(&parent, start, stride, size);
        if new_team.is_null() {
            return made.and(Err(Error::Null { arg: "new_team" }));
        }
        // SAFETY: the caller's variable.
        unsafe { new_team.write(handles::INVALID) };
        if let Some(handle) = made? {
            if config_mask & NUM_CONTEXTS != 0 && !config.is_null() {
                // SAFETY: the caller's configuration, which the mask says is filled in.
                let wanted = unsafe { config.add(num_contexts_at(name)).cast::<i32>().read_unaligned() };
                job::set_team_contexts(handle, wanted);
            }
            // SAFETY: as above.
            unsafe { new_team.write(handle) };
        }
        Ok(())
    });
    if handle != 0 && !new_team.is_null() {
        // SAFETY: as above.
        unsafe { new_team.write(handles::INVALID) };
    }
    handle
}

pub unsafe fn destroy(team: i32, name: Name) {
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
        job::set_team_contexts(team, 0);
        w.team_destroy(team)
    });
}

/// # Safety
/// `config` is a configuration of the family.
unsafe fn store_config(name: Name, w: &World, team: i32, config: *mut u8) -> Result<()> {
    let team = w.team(team)?;
    if config.is_null() {
        return Err(Error::Null { arg: "config" });
    }
    let num_contexts = job::team_contexts(team.handle());
    // SAFETY: the caller's structure.
    unsafe { config.add(num_contexts_at(name)).cast::<i32>().write_unaligned(num_contexts) };
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
    status(name, |w| match config_mask & NUM_CONTEXTS {
        0 => w.team(team).map(drop),
        // SAFETY: the caller's.
        _ => unsafe { store_config(name, w, team, config) },
    })
}
