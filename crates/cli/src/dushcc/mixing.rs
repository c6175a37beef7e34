//! Objects and archives with kernels: those for the CPU and those for GPUs don't go into one program.
use super::arguments::{Arguments, Input, Stage};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// In what uses the emulator, and in the library's archive.
const EMULATOR: &[u8] = b"dushmem_emu_";
/// In every object that dushcc compiles for the CPU from a source with kernels, as a part of a C++ symbol.
const FOR_CPU: &[u8] = b"dushmem3emu10unit_kinds";
/// In objects that nvcc compiles from a source with kernels: as a whole, and with relocatable device code, of old and
/// new versions.
const FOR_CUDA: [&[u8]; 3] =
    [b"__cudaUnregisterFatBinary", b"__cudaRegisterLinkedBinary", b"__nv_cudaEntityRegisterCallback"];

/// The first object or archive of each kind among the inputs of a link.
#[derive(Debug, Default)]
pub struct Kernels {
    /// With what uses the emulator; the program then needs the C++ library.
    pub emulator: Option<PathBuf>,
    /// With kernels for the CPU.
    pub cpu: Option<PathBuf>,
    /// With kernels for GPUs.
    pub cuda: Option<PathBuf>,
}

impl Kernels {
    /// Reads the inputs, if they are linked.
    pub fn of_objects(arguments: &Arguments) -> Kernels {
        let mut found = Kernels::default();
        if arguments.stage != Stage::Link {
            return found;
        }
        for (path, _) in arguments.inputs().filter(|(_, kind)| *kind == Input::Object) {
            let object = matches!(path.extension().map(OsStr::as_bytes), Some(b"o" | b"a" | b"lo"));
            // What can't be read is the linker's to tell.
            let Some(bytes) = object.then(|| fs::read(path).ok()).flatten() else { continue };
            let note = |place: &mut Option<PathBuf>, texts: &[&[u8]]| {
                if place.is_none() && texts.iter().any(|text| holds(&bytes, text)) {
                    *place = Some(path.to_owned());
                }
            };
            note(&mut found.emulator, &[EMULATOR]);
            note(&mut found.cpu, &[FOR_CPU]);
            note(&mut found.cuda, &FOR_CUDA);
        }
        found
    }

    /// Refuses kernels for GPUs in a program for the CPU. `sources`: kernels for the CPU are compiled, too.
    pub fn linked_for_cpu(&self, arguments: &Arguments, sources: bool) -> Result<(), String> {
        let Some(path) = &self.cuda else { return Ok(()) };
        // Whoever links CUDA's runtime knows what the object is.
        let runtime = arguments.values("-l").any(|library| library.as_bytes().starts_with(b"cudart"))
            || arguments.inputs().any(|(path, _)| {
                path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"libcudart"))
            });
        if sources || self.cpu.is_some() || !runtime {
            return Err(format!(
                "{}: holds kernels compiled for GPUs, which go into no program for the CPU; write --device=cuda here, and \
                 where the other sources are compiled",
                path.display()
            ));
        }
        Ok(())
    }

    /// Refuses kernels for the CPU in a program for GPUs.
    pub fn linked_for_cuda(&self) -> Result<(), String> {
        match &self.cpu {
            None => Ok(()),
            Some(path) => Err(format!(
                "{}: holds kernels compiled for the CPU, which go into no program for GPUs; compile its source with \
                 --device=cuda, too",
                path.display()
            )),
        }
    }
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
