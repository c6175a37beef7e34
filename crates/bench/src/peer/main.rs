//! dushbench-peer: dushmem beside another library, the same program built for each and run in turn.
mod json;
mod machine;
mod measure;
mod page;
mod picture;
mod plan;
mod programs;
mod results;
mod run;
mod stats;
mod table;

use clap::Parser;
use measure::{Effort, Measurement};
use plan::Wanted;
use programs::{Peer, Program, Workshop};
use results::Results;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Measures dushmem beside another library: one program, built for each, run in turn. A row is missed only
/// if the whole interval of its ratio lies beyond the target; then the exit code is 1.
#[derive(Debug, Parser)]
#[command(name = "dushbench-peer", version)]
struct Args {
    /// What stands beside dushmem; may be given more than once.
    #[arg(long, value_enum, default_values_t = [Peer::Openmpi])]
    peer: Vec<Peer>,
    /// Runs of each program (9, quick: 3).
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=999))]
    pairs: Option<u16>,
    /// Numbers of PEs of the collectives (2,4,8, quick: 2).
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=64))]
    pes: Vec<u16>,
    /// Only rows with one of these words in their name, number of PEs or section.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Also the active-set forms of the collectives.
    #[arg(long)]
    active_sets: bool,
    /// Few and short runs: to see that everything works, not for figures.
    #[arg(long)]
    quick: bool,
    /// Seconds after which a run is ended.
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Folder for PEER.md, PEER.json and PEER.svg; it is made.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Page into whose marked part the table goes.
    #[arg(long, requires = "out")]
    page: Option<PathBuf>,
    /// The installation of dushmem that is measured.
    #[arg(long)]
    prefix: PathBuf,
}

fn main() -> ExitCode {
    let args: Args = dushmem_cli::usage::parse_or_exit();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("dushbench-peer: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let numbers = |given: &[u16]| given.iter().map(|&pes| usize::from(pes)).collect::<Vec<_>>();
    let pes = match (numbers(&args.pes), args.quick) {
        (given, _) if !given.is_empty() => given,
        (_, true) => vec![2],
        (_, false) => vec![2, 4, 8],
    };
    let wanted =
        Wanted { pes, patterns: args.rows.clone(), active_sets: args.active_sets, quick: args.quick };
    let jobs = plan::jobs(&wanted);
    if jobs.is_empty() {
        return Err(format!("--rows {}: there is no such row", args.rows.join(",")));
    }
    let effort = Effort {
        pairs: args.pairs.map_or(if args.quick { 3 } else { 9 }, usize::from),
        batches: if args.quick { 5 } else { 31 },
        batch_us: if args.quick { 50 } else { 200 },
        limit: Duration::from_secs(args.limit),
    };
    let workshop = Workshop::new().map_err(|error| error.to_string())?;
    let mut peers = args.peer.clone();
    peers.dedup();
    // A peer that is not installed is told at once.
    let peers = peers.into_iter().map(|peer| workshop.peer(peer)).collect::<Result<Vec<_>, _>>();
    let peers = peers.map_err(|error| error.to_string())?;
    let ours = workshop.dushmem(&args.prefix, args.active_sets).map_err(|error| error.to_string())?;
    let programs: Vec<Program> = std::iter::once(ours).chain(peers).collect();
    for program in &programs {
        program.try_out(effort.limit).map_err(|error| error.to_string())?;
    }
    let mut measurement = Measurement::new(&programs, &jobs, effort);
    let terminal = std::io::stderr().is_terminal();
    let mut last = String::new();
    for pair in 0..effort.pairs {
        measurement.pair(pair, &mut |line| {
            let start = line.split(": ").next().unwrap_or_default().to_string();
            if terminal {
                eprint!("\r\x1b[K{line}");
            } else if start != last {
                eprintln!("{start}");
            }
            last = start;
        });
        // What there is stays, should somebody end this program.
        if let Some(folder) = &args.out {
            write(measurement.results(), folder, args.page.as_deref())?;
        }
    }
    if terminal {
        eprint!("\r\x1b[K");
    }
    print!("{}", table::markdown(measurement.results(), None));
    Ok(measurement.results().all_met())
}

/// Writes the three files, and the marked part of the page.
fn write(results: &Results, folder: &Path, page: Option<&Path>) -> Result<(), String> {
    let at = |path: &Path, why: std::io::Error| {
        format!("{}: {}", path.display(), dushmem_os::reason::reason(&why))
    };
    let put = |path: &Path, text: &str| std::fs::write(path, text).map_err(|why| at(path, why));
    std::fs::create_dir_all(folder).map_err(|why| at(folder, why))?;
    let name = results.programs[1].title.to_lowercase().replace(' ', "");
    let picture = picture::svg(results);
    let picture_name = format!("{name}.svg");
    if let Some(picture) = &picture {
        put(&folder.join(&picture_name), picture)?;
    }
    let shown = picture.is_some().then_some(picture_name.as_str());
    let title = format!("# dushmem beside {}\n\n", results.programs[1].title);
    put(&folder.join(format!("{name}.md")), &(title + &table::markdown(results, shown)))?;
    put(&folder.join(format!("{name}.json")), &json::document(results))?;
    let Some(page) = page else { return Ok(()) };
    let text = std::fs::read_to_string(page).map_err(|why| at(page, why))?;
    let from = page.parent().unwrap_or(Path::new(""));
    let link = folder.strip_prefix(from).unwrap_or(folder).join(&picture_name).display().to_string();
    let shown = picture.is_some().then_some(link.as_str());
    let replaced = page::replace(&text, &table::markdown(results, shown));
    put(page, &replaced.map_err(|why| format!("{} {why}", page.display()))?)
}
