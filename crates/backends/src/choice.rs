//! Which device a program uses: chosen once, at its first init.
use crate::{cuda, emu};
use dushmem_core::device::Device;
use dushmem_core::env::DeviceKind;
use dushmem_core::error::{Error, Result};
use std::sync::OnceLock;

/// The device that was chosen at the first init.
static CHOSEN: OnceLock<&'static dyn Device> = OnceLock::new();

/// The device whose streams and memory this program uses.
pub fn device() -> &'static dyn Device {
    CHOSEN.get().copied().unwrap_or(&emu::on_stream::Emulator)
}

/// The same, where one was chosen.
pub fn chosen() -> Option<&'static dyn Device> {
    CHOSEN.get().copied()
}

/// A choice between devices, and why.
#[derive(Debug)]
pub struct Choice {
    /// What was chosen.
    pub device: &'static dyn Device,
    /// For people: what it goes by.
    pub why: String,
}

/// What a program would use that has `units` translation units with kernels for GPUs.
pub fn choice(kind: DeviceKind, units: usize) -> Result<Choice> {
    let emulator = |why: String| Choice { device: &emu::on_stream::Emulator, why };
    // Kernels on the CPU would follow addresses of a GPU.
    let compiled = || dushmem_os::symbols::is_needed(b"dushmem_emu_");
    let wanted = match kind {
        DeviceKind::Emu => return Ok(emulator("DUSHMEM_DEVICE=emu".into())),
        DeviceKind::Cuda if units == 0 && compiled() => {
            return Err(Error::BadEnvironment {
                variable: "DUSHMEM_DEVICE".into(),
                value: "cuda".into(),
                why: "the program's kernels are compiled for the CPU; compile them with dushcc --device=cuda"
                    .into(),
            });
        }
        DeviceKind::Cuda => "DUSHMEM_DEVICE=cuda",
        DeviceKind::Auto if units > 0 => "the program has kernels for a GPU",
        DeviceKind::Auto if !cuda::is_loaded() => {
            return Ok(emulator("the program has no kernels for a GPU".into()));
        }
        DeviceKind::Auto if compiled() => return Ok(emulator("its kernels are compiled for the CPU".into())),
        DeviceKind::Auto => "the program uses the CUDA driver",
    };
    match cuda::device() {
        Ok(device) => Ok(Choice { device, why: wanted.into() }),
        Err(error) if kind == DeviceKind::Cuda => Err(Error::BadEnvironment {
            variable: "DUSHMEM_DEVICE".into(),
            value: "cuda".into(),
            why: error.to_string(),
        }),
        Err(error) => Ok(emulator(format!("{wanted}, but {error}"))),
    }
}

/// Chooses the device of this program, once: later calls give the same one.
pub fn choose(kind: DeviceKind, units: usize) -> Result<&'static dyn Device> {
    match chosen() {
        Some(device) => Ok(device),
        None => {
            let Choice { device, .. } = choice(kind, units)?;
            Ok(*CHOSEN.get_or_init(|| device))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_used_by_programs_that_have_kernels_for_them() {
        let why = |kind, units| choice(kind, units).map(|choice| (choice.device.has_memory(), choice.why));
        assert_eq!(why(DeviceKind::Emu, 3).unwrap(), (false, "DUSHMEM_DEVICE=emu".into()));
        // This program has not loaded the driver of a GPU.
        let (gpu, none) = why(DeviceKind::Auto, 0).unwrap();
        assert!(!gpu && none == "the program has no kernels for a GPU", "{none}");
        // Without a GPU a program with kernels for one runs on, and says so; one that insists does not.
        let (gpu, some) = why(DeviceKind::Auto, 1).unwrap();
        assert!(
            some.starts_with("the program has kernels for a GPU") && gpu != some.contains(", but "),
            "{some}"
        );
        match why(DeviceKind::Cuda, 0) {
            Ok((there, _)) => assert!(there && gpu),
            Err(error) => assert!(!gpu && error.to_string().starts_with("DUSHMEM_DEVICE=cuda: "), "{error}"),
        }
    }
}
