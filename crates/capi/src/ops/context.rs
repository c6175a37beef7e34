//! Communication contexts.
use super::prelude::*;
use super::team::NOT_A_TEAM;
use crate::report::{must, status};
use dushmem_core::error::Error;
use dushmem_core::team::handles;

/// Makes a context on a team. Its handle is invalid on failure, which leaves the library as it was.
unsafe fn make(team: Option<i32>, options: c_long, ctx: *mut Ctx, name: Name) -> i32 {
    if ctx.is_null() {
        return status(name, |_| Err(Error::NoObject { arg: "ctx" }));
    }
    // SAFETY: the caller's variable.
    unsafe { ctx.write(Ctx::INVALID) };
    if team == Some(handles::INVALID) {
        // A result that the standard defines, not a mistake.
        return NOT_A_TEAM;
    }
    status(name, |w| {
        let team = team.map(|handle| w.team(handle)).transpose()?;
        let made = Ctx::enter(w.create_context(team, options)?)?;
        // SAFETY: as above.
        unsafe { ctx.write(made) };
        Ok(())
    })
}

pub unsafe fn create(options: c_long, ctx: *mut Ctx, name: Name) -> i32 {
    // SAFETY: the caller's.
    unsafe { make(None, options, ctx, name) }
}

pub unsafe fn team_create(team: i32, options: c_long, ctx: *mut Ctx, name: Name) -> i32 {
    // SAFETY: the caller's.
    unsafe { make(Some(team), options, ctx, name) }
}

pub unsafe fn destroy(ctx: Ctx, name: Name) {
    if ctx == Ctx::INVALID {
        return;
    }
    must(name, |w| match ctx {
        Ctx::DEFAULT => {
            let why = "the default context lives as long as the library";
            Err(Error::BadContext { handle: ctx.0, why })
        }
        _ => w.destroy_context(&*ctx.leave()?),
    });
}

pub unsafe fn get_team(ctx: Ctx, team: *mut i32, name: Name) -> i32 {
    if team.is_null() {
        return status(name, |_| Err(Error::NoObject { arg: "team" }));
    }
    // SAFETY: the caller's variable.
    unsafe { team.write(handles::INVALID) };
    if ctx == Ctx::INVALID {
        return NOT_A_TEAM;
    }
    status(name, |w| {
        let on = ctx.of(w)?.team().map_or(handles::WORLD, |team| team.handle());
        // SAFETY: as above.
        unsafe { team.write(on) };
        Ok(())
    })
}

/// The mask bit of the number of operations in a session's configuration, which has nothing else.
const TOTAL_OPS: c_long = 1;

pub unsafe fn session_start(ctx: Ctx, options: c_long, config: *const u8, config_mask: c_long, name: Name) {
    if ctx == Ctx::INVALID {
        return;
    }
    must(name, |w| {
        let total = match config_mask & TOTAL_OPS {
            0 => None,
            _ if config.is_null() => return Err(Error::NoObject { arg: "config" }),
            // SAFETY: the caller's configuration, which the mask says is filled in.
            _ => Some(unsafe { config.cast::<usize>().read_unaligned() }),
        };
        ctx.of(w)?.start_session(options, total);
        Ok(())
    });
}

pub unsafe fn session_stop(ctx: Ctx, name: Name) {
    if ctx != Ctx::INVALID {
        must(name, |w| ctx.of(w).map(|context| context.stop_session()));
    }
}
