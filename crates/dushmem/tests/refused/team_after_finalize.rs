// A team and a context are used after finalize.
fn main() -> dushmem::Result<()> {
    let world = dushmem::World::init()?;
    let team = world.team()?;
    let ctx = team.context()?;
    world.finalize()?;
    ctx.quiet()?;
    team.barrier()
}
