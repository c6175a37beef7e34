//! Teams: ordered sets of PEs.
use crate::coll::Group;
use crate::context::OwnedContext;
use crate::error::Result;
use crate::world::World;
use dushmem_core::team::{Team as CoreTeam, handles};
use std::sync::Arc;

/// A team that this PE is a member of. Its PEs have numbers of their own, from 0.
///
/// Dropping it does not communicate: its place among `DUSHMEM_TEAM_SLOTS` is free again after
/// [`Team::destroy`] only.
#[derive(Debug)]
pub struct Team<'w> {
    world: &'w World,
    core: Arc<CoreTeam>,
}

impl World {
    /// The team of all PEs.
    pub fn team(&self) -> Result<Team<'_>> {
        self.predefined(handles::WORLD)
    }

    /// The team of the PEs on this node.
    pub fn node_team(&self) -> Result<Team<'_>> {
        self.predefined(handles::NODE)
    }

    /// The team of the PEs whose memory this PE can load and store ([`World::peer`]).
    pub fn shared_team(&self) -> Result<Team<'_>> {
        self.predefined(handles::SHARED)
    }

    fn predefined(&self, handle: i32) -> Result<Team<'_>> {
        let core = self.engine().name("team", self.engine().core.team(handle))?;
        Ok(Team { world: self, core })
    }
}

impl<'w> Team<'w> {
    /// This PE's number in the team.
    pub fn my_pe(&self) -> usize {
        self.core.my_pe() as usize
    }

    /// Number of PEs in the team.
    pub fn n_pes(&self) -> usize {
        self.core.n_pes() as usize
    }

    /// World number of the team's PE `pe`.
    pub fn world_pe(&self, pe: usize) -> Option<usize> {
        i32::try_from(pe).ok().and_then(|pe| self.core.world_pe(pe))
    }

    /// The number in `other` of this team's PE `pe`, if it is a member there.
    pub fn translate_pe(&self, pe: usize, other: &Team<'_>) -> Option<usize> {
        self.world_pe(pe).and_then(|world| other.core.rank_of(world))
    }

    /// Splits off the team of the PEs `start, start + stride, ...`, `size` of them; the stride may be
    /// negative. Collective over this team; `None` on PEs that are not members of the new one.
    ///
    /// ```
    /// dushmem::run(5, |world| {
    ///     let even = world.team()?.split_strided(0, 2, 3)?;
    ///     match &even {
    ///         Some(team) => assert_eq!(team.my_pe() * 2, world.my_pe()),
    ///         None => assert_eq!(world.my_pe() % 2, 1),
    ///     }
    ///     if let Some(team) = even {
    ///         team.barrier()?;
    ///         team.destroy()?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn split_strided(&self, start: usize, stride: isize, size: usize) -> Result<Option<Team<'w>>> {
        let engine = self.world.engine();
        // What does not fit is no number of any team; the engine refuses it on all PEs alike.
        let [start, size] = [start, size].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let made = engine.core.split_strided(&self.core, start, stride as i64, size);
        match engine.name("split_strided", made)? {
            None => Ok(None),
            Some(handle) => self.world.predefined(handle).map(Some),
        }
    }

    /// A context whose operations take this team's PE numbers.
    pub fn context(&self) -> Result<OwnedContext<'w>> {
        OwnedContext::new(self.world, Some(Arc::clone(&self.core)))
    }

    /// Waits for the team's PEs; everything issued on the default context is complete at its target.
    pub fn barrier(&self) -> Result<()> {
        let engine = self.world.engine();
        engine.name("barrier", engine.core.barrier(&self.core))
    }

    /// Waits for the team's PEs. Completes this thread's stores to symmetric memory only, no puts.
    pub fn sync(&self) -> Result<()> {
        let engine = self.world.engine();
        engine.name("team_sync", engine.core.team_sync(&self.core))
    }

    /// Ends the team. Collective over it; refused for those that the library made.
    pub fn destroy(self) -> Result<()> {
        let engine = self.world.engine();
        engine.name("team_destroy", engine.core.team_destroy(self.core.handle()))
    }

    pub(crate) fn group(&self) -> Group<'_> {
        Group { engine: self.world.engine(), team: &self.core }
    }
}
