//! Kernels: closures that run once for each thread of a grid, on the CPU.
#[derive(Debug, Default)]
pub(crate) struct Kernels;
impl Kernels {
    pub(crate) fn finish(&self) {}
}
