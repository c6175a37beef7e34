//! The command line, and what is written.
use super::build::{self, Library};
use super::measure::{Effort, Mode, Plan, Results};
use super::{page, picture};
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
    /// Nothing: dushmem's figures alone.
    None,
}

/// Measures dushmem beside NVSHMEM on one GPU: one program, built for each library and run in turn, its data
/// compared. Exit code 1: a row misses its target in every run, or moved wrong data.
#[derive(Debug, Parser)]
#[command(name = "dushbench gpu", version)]
struct Args {
    /// What stands beside dushmem.
    #[arg(long, value_enum, default_value_t = Peer::Nvshmem)]
    peer: Peer,
    /// Numbers of PEs.
    #[arg(long, value_delimiter = ',', default_value = "2,4,8", value_parser = clap::value_parser!(u16).range(2..=16))]
    pes: Vec<u16>,
    /// How the processes share the GPU; both if none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    mode: Vec<Mode>,
    /// Groups of rows: start host teams stream transfers collectives device put; all if none is named.
    #[arg(long, value_delimiter = ',')]
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
    let libraries: &[Library] = match args.peer {
        Peer::Nvshmem => &[Library::Dushmem, Library::Nvshmem],
        Peer::None => &[Library::Dushmem],
    };
    let nvshmem = build::nvshmem(args.nvshmem.as_deref());
    let workshop = build::Workshop::new(args.programs.as_deref(), nvshmem, &args.arch)?;
    if args.build_only {
        return libraries.iter().try_for_each(|&library| workshop.build(library)).map(|()| true);
    }
    for &library in libraries {
        workshop.provide(library)?;
    }
    let plan = Plan {
        pes: args.pes.iter().map(|&pes| usize::from(pes)).collect(),
        modes: if args.mode.is_empty() { vec![Mode::Mps, Mode::Plain] } else { args.mode.clone() },
        groups: args.groups.clone(),
        libraries: libraries.to_vec(),
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
    put("gpu.md", &format!("# dushmem beside NVSHMEM on one GPU\n\n{}", page::markdown(results, shown)))?;
    put("gpu.json", &page::json(results))
}
