//! What the launcher's tests share.
#![allow(dead_code, reason = "each test file uses a part")]
use dushmem_testkit::job::Job;
use dushmem_testkit::tools;

/// A job of `pes` PEs that do `words` (see `examples/pe.rs`), with `options` for dushrun.
pub fn pes_with(options: &str, pes: usize, words: &str) -> Job {
    Job::dushrun().words(options).args(["-n", &pes.to_string()]).args([tools::example("pe")]).words(words)
}

/// The same without options.
pub fn pes(pes: usize, words: &str) -> Job {
    pes_with("", pes, words)
}

/// Path of the PE, for shell commands.
pub fn pe() -> String {
    tools::example("pe").display().to_string()
}

/// A fresh folder for files of one test, removed when dropped.
pub struct Folder(std::path::PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dushmem-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Number of files whose name begins with `start`.
    pub fn count(&self, start: &str) -> usize {
        let names = std::fs::read_dir(&self.0).unwrap().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with(start)).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
