//! What can be an element of symmetric memory.
use bytemuck::Pod;

/// Plain data: any bytes are a valid value, there is no padding, and nothing points into one process.
///
/// All types that are [`bytemuck::Pod`], `Send` and `Sync`: numbers, arrays of them, and structs with
/// `#[repr(C)]` and `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`. A peer may be writing to the element
/// while it is read; that is why every combination of bytes has to be a value.
///
/// ```
/// use bytemuck::{Pod, Zeroable}; // as a dependency of the program's own
///
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f64,
/// }
///
/// dushmem::run(2, |world| {
///     let seen = world.alloc_zeroed::<Particle>(4)?;
///     let mine = Particle { position: [0.0, 1.0, world.my_pe() as f64], charge: -1.0 };
///     world.p(&seen[3], mine, 1 - world.my_pe())?;
///     world.barrier()?;
///     assert_eq!(seen[3].load().position[2], (1 - world.my_pe()) as f64);
///     Ok(())
/// })?;
/// # Ok::<(), dushmem::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data, so it can't be in symmetric memory",
    note = "any bytes must be a value, without padding and pointers: numbers, arrays of them, and structs \
            with `#[repr(C)]` and `#[derive(bytemuck::Pod, bytemuck::Zeroable)]`"
)]
pub trait Data: Pod + Send + Sync {}

impl<T: Pod + Send + Sync> Data for T {}
