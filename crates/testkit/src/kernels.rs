//! Programs with kernels, compiled by the installed dushcc for the CPU.
//!
//! Compiling takes longer than most tests run, and many tests run the same program: what was compiled is kept in the
//! build folder, under a name made of all that goes into it.
use crate::folder::Folder;
use crate::installation::{built, once, prefix, root};
use crate::job::Job;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Options of every test: warnings are errors, and a fault has its line.
const OPTIONS: [&str; 5] = ["-O1", "-g", "-Wall", "-Wextra", "-Werror"];

/// A compiled program, in a folder of its own.
#[derive(Debug)]
pub struct Program {
    /// Where it lies; for what a test adds.
    pub folder: Folder,
}

impl Program {
    /// From sources, whose paths begin at the root of the repository, with these options besides.
    #[track_caller]
    pub fn of(sources: &[&str], options: &[&str]) -> Program {
        Program::behind("", sources, options)
    }

    /// As [`Program::of`], with a text in front of each source.
    #[track_caller]
    pub fn behind(text: &str, sources: &[&str], options: &[&str]) -> Program {
        let place = built().join(format!("tmp/programs/{:016x}", fingerprint(text, sources, options)));
        std::fs::create_dir_all(&place).unwrap_or_else(|why| panic!("{}: {why}", place.display()));
        let (made, header) = (place.join("made"), place.join("before.h"));
        let mut words = vec![prefix().join("bin/dushcc").display().to_string()];
        words.extend(OPTIONS.iter().chain(options).map(|&option| option.to_owned()));
        if !text.is_empty() {
            std::fs::write(&header, text).unwrap_or_else(|why| panic!("{}: {why}", header.display()));
            words.extend(["-include".to_owned(), header.display().to_string()]);
        }
        words.extend(sources.iter().map(|source| root().join(source).display().to_string()));
        words.extend(["-o".to_owned(), made.display().to_string()]);
        let line: Vec<String> =
            words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        once(&place.join("state"), "made", &line.join(" "), &place);
        let program = Program { folder: Folder::new("kernels") };
        let linked = std::fs::hard_link(&made, program.path());
        linked
            .or_else(|_| std::fs::copy(&made, program.path()).map(drop))
            .expect("the program can be copied");
        program
    }

    /// One source of `tests/kernels`.
    #[track_caller]
    pub fn suite(source: &str) -> Program {
        Program::of(&[&format!("tests/kernels/{source}")], &[])
    }

    /// The executable.
    pub fn path(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// A job of it, with the time limit that is enough for every suite.
    pub fn job(&self, pes: usize) -> Job {
        Job::new(pes, self.path()).limit(Duration::from_secs(100))
    }

    /// A job of it with these variables.
    pub fn job_with(&self, pes: usize, variables: &[(&str, &str)]) -> Job {
        variables.iter().fold(self.job(pes), |job, (name, value)| job.env(name, value))
    }
}

/// Runs a job of a suite, which says `all right` and nothing else if it finds nothing wrong.
#[track_caller]
pub fn all_right(job: Job) {
    let outcome = job.run();
    assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{outcome:#?}");
}

/// A number for all that a program is made of, and for where it is installed.
fn fingerprint(text: &str, sources: &[&str], options: &[&str]) -> u64 {
    static TOOLS: OnceLock<u64> = OnceLock::new();
    let tools = TOOLS.get_or_init(|| {
        let mut hash = DefaultHasher::new();
        prefix().hash(&mut hash);
        add(&prefix().join("bin/dushcc"), &mut hash);
        add(&prefix().join("include"), &mut hash);
        hash.finish()
    });
    let mut hash = DefaultHasher::new();
    (tools, text, options, sources).hash(&mut hash);
    for source in sources {
        // With what lies beside it: that is what it includes.
        add(root().join(source).parent().unwrap_or(&root()), &mut hash);
    }
    hash.finish()
}

/// A file, or all files of a folder.
fn add(path: &Path, hash: &mut DefaultHasher) {
    if !path.is_dir() {
        path.hash(hash);
        return std::fs::read(path).unwrap_or_else(|why| panic!("{}: {why}", path.display())).hash(hash);
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().for_each(|entry| add(entry, hash));
}
