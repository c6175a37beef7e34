//! Compiles the programs, each once for all processes of a test run.
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where what is built here lies.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}

/// Folder of the installation.
pub fn prefix() -> PathBuf {
    PathBuf::from(std::env::var_os("DUSHMEM_PREFIX").expect("set at the start"))
}

/// Uses `$DUSHMEM_PREFIX`, or makes an installation, once for all processes that one test runner starts.
pub fn use_an_installation() {
    if std::env::var_os("DUSHMEM_PREFIX").is_some() {
        return;
    }
    let prefix = folder().join("prefix");
    let stamp = folder().join("installed-for");
    let runner = std::os::unix::process::parent_id();
    let started = std::fs::read_to_string(format!("/proc/{runner}/stat")).unwrap_or_default();
    let run = format!(
        "{runner} {}",
        started.rsplit(')').next().and_then(|rest| rest.split(' ').nth(20)).unwrap_or("?")
    );
    let script = format!(
        "[ \"$(cat '{stamp}' 2>/dev/null)\" = '{run}' ] || \
         {{ cargo run --quiet -p xtask -- install --prefix '{prefix}' && echo '{run}' > '{stamp}'; }}",
        stamp = stamp.display(),
        prefix = prefix.display(),
    );
    under_lock("install", &script, &root());
    // SAFETY: nothing else runs in this process yet.
    unsafe { std::env::set_var("DUSHMEM_PREFIX", &prefix) };
}

/// Runs a shell script that no other test process may run at the same time.
fn under_lock(name: &str, script: &str, at: &Path) {
    let lock = folder().join(format!("{name}.lock"));
    let done = Command::new("flock").arg(&lock).args(["sh", "-c", script]).current_dir(at).output();
    let done = done.unwrap_or_else(|why| panic!("flock: {why}"));
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{script}\n{said}");
}

/// How to make a program of a source file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    source: PathBuf,
    flags: Vec<String>,
    cxx: bool,
    compiler: Option<&'static str>,
}

impl Program {
    /// A source of `tests/c`, without `.c`, in C11 and with all warnings as errors.
    pub fn new(name: &str) -> Program {
        let source = root().join("tests/c").join(name).with_extension("c");
        Program { source, ..Program::default() }.flags("-std=c11 -g -O1 -Wall -Wextra -Werror")
    }

    /// An example of `examples/c`.
    pub fn example(name: &str) -> Program {
        Program { source: root().join("examples/c").join(name).with_extension("c"), ..Program::default() }
    }

    /// Further flags, separated by spaces.
    pub fn flags(mut self, flags: &str) -> Program {
        self.flags.extend(flags.split_whitespace().map(str::to_owned));
        self
    }

    /// For one of the families SHMEM, NVSHMEM, DUSHMEM.
    pub fn family(self, family: &str) -> Program {
        self.flags(&format!("-DFAMILY_{family}"))
    }

    /// As C++ of this standard.
    pub fn cxx(mut self, standard: &str) -> Program {
        self.flags.retain(|flag| !flag.starts_with("-std="));
        self.flags.push(format!("-std={standard}"));
        self.cxx = true;
        self
    }

    /// With another compiler behind dushcc.
    pub fn compiler(mut self, compiler: &'static str) -> Program {
        self.compiler = Some(compiler);
        self
    }

    /// The executable.
    pub fn build(&self) -> PathBuf {
        let mut hash = DefaultHasher::new();
        (&self.flags, self.cxx, self.compiler, prefix()).hash(&mut hash);
        let headers = ["check.h"].map(|name| root().join("tests/c").join(name));
        let installed =
            ["lib/libdushmem.a", "include/dushmem/impl/host_inline.h"].map(|name| prefix().join(name));
        for file in std::iter::once(&self.source).chain(&headers).chain(&installed) {
            let facts = std::fs::metadata(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
            (file, facts.len(), facts.modified().ok()).hash(&mut hash);
        }
        let name = self.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let out = folder().join(format!("{name}-{:016x}", hash.finish()));
        if out.is_file() {
            return out;
        }
        let wrapper = prefix().join("bin").join(if self.cxx { "dushc++" } else { "dushcc" });
        let language = if self.cxx { "-x c++" } else { "-x c" };
        let behind =
            self.compiler.map_or(String::new(), |name| format!("DUSHMEM_CC={name} DUSHMEM_CXX={name} "));
        let (out_text, source) = (out.display(), self.source.display());
        let flags = self.flags.join(" ");
        let script = format!(
            "[ -e '{out_text}' ] || {{ {behind}'{}' {language} '{source}' -x none {flags} -pthread -o '{out_text}.new' \
             && mv '{out_text}.new' '{out_text}'; }}",
            wrapper.display()
        );
        let key = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
        under_lock(&key, &script, &folder());
        out
    }
}
