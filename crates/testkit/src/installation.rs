//! The installation that tests use as a user would.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two folders below").to_path_buf()
}

/// The folder of the installation: `$DUSHMEM_PREFIX`, else one in the build folder, made once for all test
/// processes that one runner starts.
///
/// # Panics
/// Where there is nothing in `$DUSHMEM_PREFIX`, or the installation fails.
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| match std::env::var_os("DUSHMEM_PREFIX").map(PathBuf::from) {
        Some(prefix) => {
            let there = prefix.join("bin/dushcc").is_file();
            assert!(there, "nothing is installed in {}: run `cargo xtask test`", prefix.display());
            prefix
        }
        None => install(),
    })
}

fn install() -> PathBuf {
    let folder = built().join("tmp/installation");
    std::fs::create_dir_all(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let (prefix, stamp) = (folder.join("prefix"), folder.join("installed-for"));
    let runner = std::os::unix::process::parent_id();
    // A later process may have the runner's number, so the time of its start goes with it.
    let stat = std::fs::read_to_string(format!("/proc/{runner}/stat")).unwrap_or_default();
    let started = stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(20)).unwrap_or("?");
    let command =
        format!("cargo run --quiet -p xtask -- install --compat-names --prefix '{}'", prefix.display());
    once(&stamp, &format!("{runner} {started}"), &command, &root());
    prefix
}

/// The build folder, from the place of the running test: `target/PROFILE/deps/test-0123`.
pub(crate) fn built() -> PathBuf {
    let test = std::env::current_exe().expect("/proc is mounted");
    test.ancestors().nth(3).unwrap_or_else(|| panic!("{} lies in no build folder", test.display())).to_owned()
}

/// Runs a line of shell in the folder `at`, unless the file `stamp` has the text `state`, which is what it has
/// afterwards. Of several processes that ask for it at the same time, one does it while the others wait.
///
/// # Panics
/// Where the line fails, with what it printed.
#[track_caller]
pub fn once(stamp: &Path, state: &str, line: &str, at: &Path) {
    if std::fs::read_to_string(stamp).is_ok_and(|is| is.trim() == state) {
        return;
    }
    let script = format!(
        "[ \"$(cat '{stamp}' 2>/dev/null)\" = '{state}' ] || {{ {line} && echo '{state}' > '{stamp}'; }}",
        stamp = stamp.display(),
    );
    let mut lock = stamp.as_os_str().to_owned();
    lock.push(".lock");
    let done = Command::new("flock").arg(&lock).args(["sh", "-c", &script]).current_dir(at).output();
    let done = done.unwrap_or_else(|why| panic!("flock: {why}"));
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{line}\n{said}");
}
