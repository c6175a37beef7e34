//! What the tests of the installation and of the documentation share.
#![allow(dead_code, reason = "each test file uses a part")]
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").to_path_buf()
}

/// Where the library is installed: `$DUSHMEM_PREFIX`, else a folder of the build folder, where it is
/// installed if it is not there yet.
pub fn prefix() -> PathBuf {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(find_prefix).clone()
}

fn find_prefix() -> PathBuf {
    let complete = |prefix: &Path| prefix.join("bin/dushcc").is_file();
    if let Some(prefix) = std::env::var_os("DUSHMEM_PREFIX").map(PathBuf::from) {
        assert!(complete(&prefix), "nothing is installed in {}: run `cargo xtask test`", prefix.display());
        return prefix;
    }
    // CARGO_TARGET_TMPDIR is TARGET/tmp.
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("prefix");
    if !complete(&prefix) {
        let mut install = Command::new(env!("CARGO_BIN_EXE_xtask"));
        let status = install.args(["install", "--prefix"]).arg(&prefix).status();
        assert!(status.is_ok_and(|status| status.success()), "`cargo xtask install` has failed");
    }
    prefix
}

/// A folder of its own, removed at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// `$TMPDIR/dushmem-KIND-PROCESS-NAME`.
    pub fn new(kind: &str, name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dushmem-{kind}-{}-{name}", std::process::id()));
        fs::create_dir(&path).expect("a new folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a program is on the PATH.
pub fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
