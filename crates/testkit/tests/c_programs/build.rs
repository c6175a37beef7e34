//! Compiles the programs, each once for all processes of a test run.
use dushmem_testkit::installation::{once, prefix, root};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Where the programs lie.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
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
        let hash = |what: &dyn Fn(&mut DefaultHasher)| {
            let mut hash = DefaultHasher::new();
            what(&mut hash);
            format!("{:016x}", hash.finish())
        };
        let variant = hash(&|hash| (&self.source, &self.flags, self.cxx, self.compiler, prefix()).hash(hash));
        let headers = ["tests/c/check.h", "tests/c/faulty.h", "tests/c/traps/trap.h", "examples/c/program.h"];
        let headers = headers.map(|name| root().join(name));
        let installed =
            ["lib/libdushmem.a", "include/dushmem/impl/host_inline.h"].map(|name| prefix().join(name));
        let state = hash(&|hash| {
            for file in std::iter::once(&self.source).chain(&headers).chain(&installed) {
                let facts = std::fs::metadata(file).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
                (facts.len(), facts.modified().ok()).hash(hash);
            }
        });
        let name = self.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let out = folder().join(format!("{name}-{variant}"));
        // What it was built from is noted beside it, so that an older one is replaced.
        let stamp = folder().join(format!("{name}-{variant}.from"));
        let wrapper = prefix().join("bin").join(if self.cxx { "dushc++" } else { "dushcc" });
        let language = if self.cxx { "-x c++" } else { "-x c" };
        let behind =
            self.compiler.map_or(String::new(), |name| format!("DUSHMEM_CC={name} DUSHMEM_CXX={name} "));
        let (out_text, source) = (out.display(), self.source.display());
        let flags = self.flags.join(" ");
        let line = format!(
            "{behind}'{}' {language} '{source}' -x none {flags} -pthread -o '{out_text}.new' \
             && mv '{out_text}.new' '{out_text}'",
            wrapper.display(),
        );
        once(&stamp, &state, &line, &folder());
        out
    }
}
