//! dushbench: what each operation costs, beside the raw operation measured in the same run.
mod gpu;
mod launch;
mod report;
mod rows;
#[path = "peer/stats.rs"]
mod stats;
mod tools;

use clap::{Parser, ValueEnum};
use rows::Limit;
use std::process::ExitCode;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// p, put, g, fetch_add and p + quiet of 8 bytes.
    Scalar,
    /// put and get of 4 KiB to 1 MiB.
    Copy,
    /// barrier_all.
    Barrier,
    /// Start to end of a program that only initialises and finalizes.
    Launch,
    /// Memory of a PE beyond its heap, and sizes of the libraries.
    Memory,
    /// CPU time of PEs that wait.
    Idle,
    /// Kernels on the CPU: launches, threads, barriers of a block, puts by blocks.
    Emu,
}

/// Measures dushmem on this machine. Every row stands beside the raw operation, measured in turn in the
/// same run; both are medians. `dushbench gpu` measures beside NVSHMEM on a GPU: `dushbench gpu --help`.
#[derive(Debug, Parser)]
#[command(name = "dushbench", version)]
struct Args {
    /// What to measure; everything if none is named.
    sections: Vec<Section>,
    /// How to print the rows.
    #[arg(long, value_enum, default_value_t = report::Format::Text)]
    format: report::Format,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    // A command of its own, with its own options.
    if words.next().is_some_and(|word| word == "gpu") {
        return gpu::main(words);
    }
    let args: Args = dushmem_cli::usage::parse_or_exit();
    match run(&args) {
        Ok(rows) => {
            print!("{}", report::render(&rows, args.format));
            if rows.iter().all(|row| row.verdict() != Some(false)) {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(1)
            }
        }
        Err(error) => {
            eprintln!("dushbench: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<Vec<rows::Row>, tools::ToolError> {
    let wanted = |section| args.sections.is_empty() || args.sections.contains(&section);
    let program = tools::Program::build("host.c", include_str!("../c/host.c"))?;
    let mut rows = Vec::new();
    let mut measure = |section: Section, name: &str, pes: &[usize]| -> Result<(), tools::ToolError> {
        for &n in pes.iter().filter(|_| wanted(section)) {
            rows.extend(rows::parse(&program.run(n, &[name])?)?);
        }
        Ok(())
    };
    measure(Section::Scalar, "scalar", &[2])?;
    measure(Section::Copy, "copy", &[2])?;
    measure(Section::Barrier, "barrier", &[2, 4, 8, 64])?;
    measure(Section::Idle, "idle", &[8])?;
    measure(Section::Memory, "memory", &[8, 64])?;
    if wanted(Section::Memory) {
        rows.extend(program.tools().library_sizes()?);
    }
    if wanted(Section::Launch) {
        for n in [2, 8, 64] {
            rows.push(launch::measure(&program, n)?);
        }
    }
    if wanted(Section::Emu) {
        let kernels = tools::Program::build("emu.cu", include_str!("../c/emu.cu"))?;
        for (n, part) in [(1, "kernels"), (2, "put"), (2, "proxy")] {
            rows.extend(rows::parse(&kernels.run(n, &[part])?)?);
        }
    }
    for row in &mut rows {
        row.limit = Limit::of(row);
    }
    Ok(rows)
}
