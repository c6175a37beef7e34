//! A kernel's arguments, and the memory that it reaches.
use super::{collective, single, test};
use crate::code::{self, Out};
use crate::context::Context;
use crate::module::Launch;
use crate::{reach, work};
use std::sync::Arc;

/// A kernel.
pub struct Model {
    pub name: &'static str,
    /// Bytes of the parameters.
    pub sizes: &'static [usize],
    pub run: fn(&Call<'_>) -> Out,
    /// Never waits.
    pub quick: bool,
}

/// A launch that runs.
pub struct Call<'a> {
    pub launch: &'a Launch,
    pub context: &'a Arc<Context>,
}

/// The model of a kernel.
pub fn find(name: &str) -> Option<&'static Model> {
    [collective::MODELS, single::MODELS, test::MODELS].into_iter().flatten().find(|model| model.name == name)
}

impl Call<'_> {
    /// A parameter of up to 8 bytes.
    pub fn word(&self, index: usize) -> u64 {
        let bytes = &self.launch.arguments[index];
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    pub fn size(&self, index: usize) -> usize {
        self.word(index) as usize
    }

    pub fn number(&self, index: usize) -> i32 {
        self.word(index) as i32
    }

    /// A parameter that is a structure of words.
    pub fn words(&self, index: usize) -> Vec<u64> {
        let words = self.launch.arguments[index].chunks_exact(8);
        words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
    }

    /// Where the stand-in finds a range that the kernel uses.
    pub fn at(&self, address: usize, len: usize) -> Out<*mut u8> {
        let found = reach::for_device(address, len, self.context.device);
        found.map_err(|code| {
            self.complain(code, &format!("{len} bytes at {address:#x}: not memory of the device"))
        })
    }

    /// The same for one word.
    pub fn word_at(&self, address: usize, bytes: usize) -> Out<*mut u8> {
        if !address.is_multiple_of(bytes) {
            return Err(self
                .complain(code::MISALIGNED_ADDRESS, &format!("{address:#x}: not a word of {bytes} bytes")));
        }
        self.at(address, bytes)
    }

    pub fn load(&self, address: usize, bytes: usize) -> Out<u64> {
        Ok(work::load(self.word_at(address, bytes)?, bytes))
    }

    pub fn store(&self, address: usize, value: u64, bytes: usize) -> Out {
        work::store(self.word_at(address, bytes)?, value, bytes);
        Ok(())
    }

    /// Says what is wrong with a launch; a GPU would only give the code.
    pub fn complain(&self, code: code::Code, what: &str) -> code::Code {
        eprintln!("cuda-standin: {}: {what}", self.launch.function.name);
        code
    }

    pub fn fault(&self, what: &str) -> code::Code {
        self.complain(code::LAUNCH_FAILED, what)
    }
}
