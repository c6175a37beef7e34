//! What the tasks are, and how each is called.

/// All tasks, one line each with its options.
pub const TASKS: &str = "\
cargo xtask demo                     builds the library and runs the ring kernel on 8 PEs
cargo xtask test [--profile short|full]
                                     installs what the tests need and runs all checks and tests
cargo xtask install --prefix DIR [--compat-names] [--profile PROFILE]
                                     builds and installs programs, libraries and headers, if asked for also under
                                     the names that other projects' build files look for
cargo xtask bench [--peer openmpi|raw] [--pairs N] [--pes LIST] [--rows LIST] [--active-sets] [--quick] [--limit SECONDS] [--out DIR] [--page FILE] [--prefix DIR]
                                     the library beside another one, run in turn: table, JSON, picture
cargo xtask gpu-pack --out DIR [--arch ARCH] [--only LIST] [--sources] [--most MIB]
                                     what is run on a machine with a GPU, in one folder that can be carried there
cargo xtask codegen [--check]        writes headers, exported functions and tables from api/ (or only compares)
cargo xtask ptx [--check]            compiles kernels/ for GPUs, to files that are checked in (or only compares)
cargo xtask symbols [LIBRARY | --prefix DIR]
                                     compares the exported names of the library with the lists in api/names

`cargo xtask TASK --help` says more about one.";

const DEMO: &str = "\
usage: cargo xtask demo

Builds the library in release mode, installs it into target/prefix, compiles examples/kernel/ring.hip.cpp, runs it on
8 PEs and checks what it prints. Exit code 1: something of that has failed.";

const TEST: &str = "\
usage: cargo xtask test [--profile short|full]

Installs into target/prefix, then runs the checks and tests. Goes on after a failure, and names all at the end.

  --profile full    everything: generated files, format, lints, documentation, loom, all tests (the default)
  --profile short   the tests only, without those named long_...

Exit code 1: something has failed.";

pub const INSTALL: &str = "\
usage: cargo xtask install --prefix DIR [--compat-names] [--profile PROFILE]

Builds, and installs programs, libraries and headers. The folder works wherever it stands. Files of an earlier
installation that are no longer made are removed; other files in the folder stay.

  --prefix DIR        the folder; it is made
  --compat-names      also the names that other projects' build files look for: oshcc, oshrun, libshmem.so, shmem.pc, ...
  --profile PROFILE   cargo's profile: release (the default), dev, or another of Cargo.toml

Exit code 1: it has failed.";

const BENCH: &str = "\
usage: cargo xtask bench [OPTIONS]

Measures the library beside another one: one program, built for each, run in turn. About 15 minutes with the default of
9 pairs and 2, 4 and 8 PEs; nothing else should run meanwhile. The table goes to the standard output.

  --peer openmpi|raw   what stands beside it (openmpi); may be given more than once
  --pairs N            runs of each program, 1 to 999 (9, with --quick 3)
  --pes LIST           numbers of PEs of the collectives, 1 to 64 each (2,4,8, with --quick 2)
  --rows LIST          only rows with one of these words in their name, number of PEs or section
  --active-sets        also the active-set forms of the collectives
  --quick              few and short runs: to see that everything works, not for figures
  --limit SECONDS      a run that takes longer is ended (180)
  --out DIR            folder for PEER.md, PEER.json and PEER.svg; it is made
  --page FILE          page into whose marked part the table goes; needs --out
  --prefix DIR         the installation that is measured; without it a release is built and installed into target/prefix

Exit code 1: a row misses its target, with the whole interval of its ratio. 2: nothing could be measured.";

const GPU_PACK: &str = "\
usage: cargo xtask gpu-pack --out DIR [--arch ARCH] [--only LIST] [--sources] [--most MIB]

Installs a release, compiles the programs that tests/cuda/plan.txt names, and puts all of it into a folder with the
script run.sh, which runs them on a machine that has a GPU and no Rust; where that has nvcc, `run.sh build` compiles there
what is missing. Programs that are newer than
their sources are not compiled again.

  --out DIR     the folder; it is made
  --arch ARCH   the GPU (sm_90)
  --only LIST   these programs only
  --sources     compiles nothing here: run.sh does
  --most MIB    what the folder may weigh (48)

nvcc is the one that DUSHMEM_NVCC names, or that `cargo xtask test` has installed. Exit code 1: something has failed.";

const CODEGEN: &str = "\
usage: cargo xtask codegen [--check]

Writes headers, exported functions and tables of the documentation from the tables in api/.

  --check   only compares; exit code 1 where a file is not up to date";

const PTX: &str = "\
usage: cargo xtask ptx [--check]

Compiles the library's own kernels, kernels/*.cu, to crates/cuda/ptx/*.ptx, which the driver compiles for the GPU it finds,
and to *.fatbin, which hold machine code for some GPUs beside that text. Takes the nvcc in DUSHMEM_NVCC, that of
`cargo xtask test`, or the one in PATH.

  --check   only compares; without nvcc it says so. Text of another version of nvcc has to hold the same kernels

Exit code 1: there is no nvcc, a source does not compile, or a text is not what its source gives.";

const SYMBOLS: &str = "\
usage: cargo xtask symbols [LIBRARY | --prefix DIR]

Compares the exported names of a library, and the headers, with the lists in api/names. Without an argument a release is
built.

  --prefix DIR   library and headers of this installation

Exit code 1: they differ.";

/// The help of a task.
pub fn of(task: &str) -> Option<&'static str> {
    Some(match task {
        "demo" => DEMO,
        "test" => TEST,
        "install" => INSTALL,
        "bench" => BENCH,
        "gpu-pack" => GPU_PACK,
        "codegen" => CODEGEN,
        "ptx" => PTX,
        "symbols" => SYMBOLS,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a text that are long options.
    fn options(text: &str) -> Vec<&str> {
        let option = |c: char| !c.is_ascii_lowercase() && c != '-';
        let mut found: Vec<&str> = text.split(option).filter(|word| word.starts_with("--")).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn the_list_has_the_options_of_each_task() {
        let lines: Vec<&str> = TASKS.lines().filter(|line| line.starts_with("cargo xtask ")).collect();
        assert_eq!(lines.len(), 8);
        for line in lines {
            let task = line.split(' ').nth(2).unwrap();
            let help = of(task).unwrap_or_else(|| panic!("{task} has no help"));
            assert!(help.starts_with(&format!("usage: cargo xtask {task}")), "{help}");
            assert_eq!(options(line), options(help), "{task}");
        }
    }
}
