//! The private folder for rewritten sources, gone when the compiler has run.
use dushmem_os::reason::reason;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// A folder that only its owner can look into, and that is removed with its content on drop.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
    folders: Cell<u32>,
}

impl Scratch {
    /// Makes one in `$TMPDIR` or /tmp.
    pub fn new() -> Result<Scratch, String> {
        let base = std::path::absolute(std::env::temp_dir()).unwrap_or_else(|_| PathBuf::from("/tmp"));
        for _ in 0..16 {
            let random = RandomState::new().build_hasher().finish();
            let root = base.join(format!("dushcc-{random:016x}"));
            match DirBuilder::new().mode(0o700).create(&root) {
                Ok(()) => return Ok(Scratch { root, folders: Cell::new(0) }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(format!(
                        "can't make a folder for rewritten sources in {} ({}); set TMPDIR to a folder that can be written to",
                        base.display(),
                        reason(&error)
                    ));
                }
            }
        }
        Err(format!("no free name for a folder in {}; set TMPDIR to another folder", base.display()))
    }

    /// A new folder in it.
    pub fn folder(&self) -> Result<PathBuf, String> {
        let number = self.folders.get();
        self.folders.set(number + 1);
        let path = self.root.join(number.to_string());
        fs::create_dir(&path).map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing useful can be done where it fails.
        let _ = fs::remove_dir_all(&self.root);
    }
}
