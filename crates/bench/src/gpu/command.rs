//! The command line, and what is written.
use super::build::{self, Library, Others};
use super::measure::{Effort, GROUPS, Mode, Plan, Results};
use super::{page, picture};
use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};
use dushmem_os::reason::reason;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What stands beside dushmem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// NVSHMEM 3, as its wheel or its installation has it.
    Nvshmem,
    /// NCCL's collectives, in ordinary buffers and, where it has them, in registered ones; with a GPU for each PE.
    Nccl,
    /// Nothing: dushmem's figures alone.
    None,
}

/// Measures dushmem beside NVSHMEM, and with a GPU for each PE beside NCCL: one program, built for each library and run in
/// turn, its data compared. Exit code 1: a row misses its target in every run, or moved wrong data.
#[derive(Debug, Parser)]
#[command(name = "dushbench gpu", version)]
struct Args {
    /// What stands beside dushmem, one or several.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "nvshmem")]
    peer: Vec<Peer>,
    /// Numbers of PEs.
    #[arg(long, value_delimiter = ',', default_value = "2,4,8", value_parser = clap::value_parser!(u16).range(2..=16))]
    pes: Vec<u16>,
    /// How the processes share one GPU, or that each has its own; if none is named, by MPS and by turns.
    #[arg(long, value_enum, value_delimiter = ',')]
    mode: Vec<Mode>,
    /// Groups of rows; all if none is named.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(GROUPS))]
    groups: Vec<String>,
    /// Runs of each program.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=99))]
    runs: Option<u16>,
    /// Few and short runs: to see that everything works, not for figures.
    #[arg(long)]
    quick: bool,
    /// Seconds after which a run is ended.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Seconds after which no run begins.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    budget: u64,
    /// Folder for gpu.md, gpu.json and gpu.svg; it is made.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Where NVSHMEM is: a folder with include and lib. Without it NVSHMEM_HOME, or the wheel beside nvcc's.
    #[arg(long)]
    nvshmem: Option<PathBuf>,
    /// Where NCCL is: a folder with lib/libnccl.so.2. Without it NCCL_HOME, the wheel beside nvcc's, or the loader's.
    #[arg(long)]
    nccl: Option<PathBuf>,
    /// Folder with programs that --build-only has made; without it they are built.
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Builds the programs into --programs, and runs nothing.
    #[arg(long, requires = "programs")]
    build_only: bool,
    /// GPU that they are built for.
    #[arg(long, default_value = "sm_90")]
    arch: String,
}

/// Runs it with the words behind `gpu`.
pub fn main(words: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let words = std::iter::once("dushbench gpu".into()).chain(words);
    match run(&dushmem_cli::usage::parse_words_or_exit(words.collect())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("dushbench gpu: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let mut libraries = vec![Library::Dushmem];
    for peer in &args.peer {
        libraries.extend_from_slice(match peer {
            Peer::Nvshmem => &[Library::Nvshmem],
            Peer::Nccl => &[Library::Nccl, Library::NcclWindows],
            Peer::None => &[],
        });
    }
    libraries.sort();
    libraries.dedup();
    let nvshmem = build::nvshmem(args.nvshmem.as_deref());
    let others = Others { nvshmem, nccl: build::nccl(args.nccl.as_deref()) };
    let workshop = build::Workshop::new(args.programs.as_deref(), others, &args.arch)?;
    if args.build_only {
        // One program with NCCL, all at the same time.
        let programs = libraries.iter().filter(|&&library| library != Library::NcclWindows);
        let built = std::thread::scope(|scope| {
            let workshop = &workshop;
            let workers: Vec<_> =
                programs.map(|&library| scope.spawn(move || workshop.build(library))).collect();
            let done = workers.into_iter().map(|worker| worker.join());
            done.map(|done| done.unwrap_or_else(|_| Err("a thread that compiles panicked".to_owned())))
                .collect::<Result<Vec<()>, String>>()
        });
        return built.map(|_| true);
    }
    for &library in &libraries {
        workshop.provide(library)?;
    }
    let plan = Plan {
        pes: args.pes.iter().map(|&pes| usize::from(pes)).collect(),
        modes: if args.mode.is_empty() { vec![Mode::Mps, Mode::Plain] } else { args.mode.clone() },
        groups: args.groups.clone(),
        libraries,
    };
    let effort = Effort {
        runs: args.runs.map_or(if args.quick { 1 } else { 3 }, usize::from),
        quick: args.quick,
        limit: Duration::from_secs(args.limit),
        budget: Duration::from_secs(args.budget),
    };
    // What there is stays, should somebody end this program.
    let mut saved = Ok(());
    let results = plan.run(&workshop, &effort, |results| {
        if let Some(folder) = &args.out {
            saved = write(results, folder);
        }
    })?;
    saved?;
    if results.rows.is_empty() {
        let why: Vec<String> = results.failures.iter().take(3).map(|failure| failure.to_string()).collect();
        return Err(format!("nothing was measured: {}", why.join("; ")));
    }
    print!("{}", page::markdown(&results, None));
    Ok(results.all_met())
}

fn write(results: &Results, folder: &Path) -> Result<(), String> {
    let at = |path: &Path, why: std::io::Error| format!("{}: {}", path.display(), reason(&why));
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|why| at(&path, why))
    };
    std::fs::create_dir_all(folder).map_err(|why| at(folder, why))?;
    let picture = picture::svg(results);
    if let Some(picture) = &picture {
        put("gpu.svg", picture)?;
    }
    let shown = picture.is_some().then_some("gpu.svg");
    let title = page::title(results);
    put("gpu.md", &format!("# {title}\n\n{}", page::markdown(results, shown)))?;
    put("gpu.json", &page::json(results))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_there_is_not_is_told_with_those_that_there_are() {
        let args = |groups: &str| Args::try_parse_from(["dushbench gpu", "--groups", groups]);
        assert_eq!(args("host,put").unwrap().groups, ["host", "put"]);
        let said = args("host,colectives").unwrap_err().to_string();
        assert!(said.contains("'colectives'") && said.contains("collectives"), "{said}");
    }
}
