//! Folders for the files of a test.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder in `$TMPDIR`, removed with all that is in it when this value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes `$TMPDIR/dushmem-NAME-PROCESS-COUNT`, as an absolute path without symbolic links.
    ///
    /// # Panics
    /// Where it cannot be made.
    #[track_caller]
    pub fn new(name: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir();
        let base = base.canonicalize().unwrap_or_else(|why| panic!("{}: {why}", base.display()));
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("dushmem-{name}-{}-{count}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Folder(path),
                // Of an earlier process with this number, which was killed.
                Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(why) => panic!("{}: {why}", path.display()),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Path of a file in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// The same as text, for command lines.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Number of files whose name begins with `start`.
    pub fn count(&self, start: &str) -> usize {
        let names = std::fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with(start)).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
