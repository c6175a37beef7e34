//! From the command line to what each PE is.
use crate::args::{Args, Debugged, Part};
use crate::debugger::{self, Style};
use crate::error::{RunError, system};
use crate::gpus::{self, Share};
use dushmem_os::process::CpuSet;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program with what all its PEs have in common.
#[derive(Debug)]
pub struct Program {
    /// Path of the file to execute.
    pub path: CString,
    /// Its arguments, its name first.
    pub args: Vec<CString>,
}

/// One PE.
#[derive(Debug)]
pub struct PePlan {
    /// What to execute.
    pub program: std::rc::Rc<Program>,
    /// The inherited environment with the part's own variables.
    pub env: std::rc::Rc<Vec<CString>>,
    /// The GPUs that it sees, where that is not as it was here.
    pub gpu: Option<String>,
    /// CPUs, where they are bound.
    pub cpus: Option<CpuSet>,
    /// Reads dushrun's standard input.
    pub stdin: bool,
    /// Has dushrun's own standard output and error instead of pipes.
    pub direct: bool,
}

/// The whole job.
#[derive(Debug)]
pub struct Plan {
    /// The PEs in their order.
    pub pes: Vec<PePlan>,
    /// Lines of output begin with their PE.
    pub prefix: bool,
    /// The job's time limit.
    pub limit: Option<Duration>,
    /// How PEs are to share GPUs.
    pub gpu_share: Option<Share>,
    /// A debugger shares this terminal.
    pub debugged_here: bool,
}

impl Plan {
    /// Finds the programs and decides about each PE.
    pub fn new(args: Args) -> Result<Plan, RunError> {
        let Args { cli, more } = args;
        let several = !more.is_empty();
        let parts: Vec<Part> = std::iter::once(cli.part).chain(more).collect();
        let count = |part: &Part| match part.pes {
            Some(pes) => Ok(pes as usize),
            None if several => {
                let program = part.command[0].display();
                Err(RunError::Arguments(format!(
                    "-n is missing for {program}: a job of several programs needs it"
                )))
            }
            None => Ok(dushmem_os::cpu::usable_cpus()),
        };
        let counts: Vec<usize> = parts.iter().map(count).collect::<Result<_, _>>()?;
        let total: usize = counts.iter().sum();
        if let Some(Debugged::One(pe)) = cli.gdb
            && pe >= total
        {
            return Err(RunError::Arguments(format!("--gdb={pe}: the job has PEs 0 to {}", total - 1)));
        }
        let usable: Vec<usize> = CpuSet::usable().map_err(system("read the CPU affinity"))?.iter().collect();
        let windows = cli.gdb.is_some() && debugger::has_windows();
        let here = |pe: usize| debugger::style(cli.gdb, pe, total, windows) == Some(Style::Here);
        let debugged = cli.gdb.and_then(|_| (0..total).find(|&pe| here(pe)));
        let reader = debugged.unwrap_or(0);

        let gpus_there = cli.gpu_bind.there();
        let mut pes = Vec::with_capacity(total);
        for (part, count) in parts.iter().zip(counts) {
            let program = std::rc::Rc::new(program(&part.command)?);
            let env = std::rc::Rc::new(environment(&part.env, cli.gpu_share, total)?);
            for _ in 0..count {
                let pe = pes.len();
                let program = match debugger::style(cli.gdb, pe, total, windows) {
                    Some(style) => {
                        std::rc::Rc::new(self::program(&debugger::wrap(style, pe, &part.command))?)
                    }
                    None => program.clone(),
                };
                let cpus = cli.bind.cpus(pe, total, &usable).map_err(RunError::Arguments)?;
                let gpu = cli.gpu_bind.of(pe, &env, gpus_there)?;
                let direct = (total == 1 && !cli.prefix_output) || debugged == Some(pe);
                pes.push(PePlan { program, env: env.clone(), gpu, cpus, stdin: pe == reader, direct });
            }
        }
        Ok(Plan {
            pes,
            prefix: cli.prefix_output,
            limit: cli.timeout,
            gpu_share: cli.gpu_share,
            debugged_here: debugged.is_some(),
        })
    }
}

fn program(command: &[OsString]) -> Result<Program, RunError> {
    let path = find(&command[0])?;
    let args = command.iter().map(|arg| c_string(arg.clone())).collect::<Result<_, _>>()?;
    Ok(Program { path: c_string(path.into_os_string())?, args })
}

fn c_string(text: OsString) -> Result<CString, RunError> {
    let shown = text.display().to_string();
    CString::new(text.into_vec()).map_err(|_| RunError::Arguments(format!("{shown:?} contains a zero byte")))
}

/// Variables that only dushrun sets.
const OWN: [&str; 3] = [dushmem_boot::launch::VARIABLE, "DUSHMEM_PE", "DUSHMEM_NPES"];

fn environment(set: &[OsString], share: Option<Share>, pes: usize) -> Result<Vec<CString>, RunError> {
    let mut extra: Vec<(&OsStr, OsString)> = Vec::new();
    for word in set {
        let bytes = word.as_bytes();
        let end = bytes.iter().position(|b| *b == b'=');
        let name = OsStr::from_bytes(&bytes[..end.unwrap_or(bytes.len())]);
        if name.is_empty() {
            return Err(RunError::Arguments(format!("-x {}: the name is missing", word.display())));
        }
        let value = match end {
            Some(at) => OsStr::from_bytes(&bytes[at + 1..]).to_owned(),
            // Everything is passed on, but whoever names a variable counts on it.
            None => std::env::var_os(name).ok_or_else(|| {
                let name = name.display();
                RunError::Arguments(format!(
                    "-x {name}: {name} is not set in this environment; export it, or write -x {name}=VALUE"
                ))
            })?,
        };
        extra.push((name, value));
    }
    for (name, value) in gpus::of_cuda(share, pes, &|name| std::env::var_os(name))? {
        if std::env::var_os(name).is_none() && !extra.iter().any(|(set, _)| *set == name) {
            extra.push((OsStr::new(name), value.into()));
        }
    }
    let inherited = std::env::vars_os()
        .filter(|(name, _)| !OWN.iter().any(|own| name == own) && !extra.iter().any(|(set, _)| name == set));
    let pair = |name: &OsStr, value: &OsStr| {
        let mut word = name.to_owned();
        word.push("=");
        word.push(value);
        c_string(word)
    };
    let mut all: Vec<CString> =
        inherited.map(|(name, value)| pair(&name, &value)).collect::<Result<_, _>>()?;
    for (at, (name, value)) in extra.iter().enumerate() {
        // The last of several settings counts.
        if !extra[at + 1..].iter().any(|(later, _)| later == name) {
            all.push(pair(name, value)?);
        }
    }
    Ok(all)
}

/// The path of a program.
pub fn as_path(text: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(text.to_bytes()))
}

/// Whether a shell may run the file, which is executable but of no kind that the kernel knows: text, and no
/// source of a compiler's.
pub fn is_script(path: &Path) -> bool {
    let mut start = [0; 512];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    read.is_ok_and(|len| !start[..len].contains(&0)) && no_program_hint(path).is_empty()
}

/// What a file that is no program may be instead.
pub fn no_program_hint(path: &Path) -> &'static str {
    match path.extension().map(OsStr::as_bytes) {
        Some(b"c" | b"cc" | b"cpp" | b"cxx" | b"cu" | b"hip") => ": compile it by dushcc, and run the result",
        Some(b"rs") => ": compile it by cargo, and run the result",
        _ => "",
    }
}

/// The file that a program's name means.
pub fn find(name: &OsStr) -> Result<PathBuf, RunError> {
    let shown = || name.display().to_string();
    if name.as_bytes().contains(&b'/') {
        let path = Path::new(name);
        return match std::fs::metadata(path) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Err(RunError::NotFound { program: shown(), hint: String::new() })
            }
            Err(why) => Err(RunError::NotExecutable { program: shown(), why }),
            Ok(meta) if meta.is_dir() => {
                Err(RunError::NoProgram { program: shown(), hint: ": it is a folder" })
            }
            Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
                Err(RunError::NoProgram { program: shown(), hint: no_program_hint(path) })
            }
            Ok(_) => Ok(path.to_owned()),
        };
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let runs = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(&search).map(|dir| dir.join(name)).find(runs);
    found.ok_or_else(|| {
        let hint = match (name.as_bytes(), Path::new(name).is_file()) {
            (b"gdb", _) => "; install it, or leave out --gdb".to_owned(),
            (_, true) => format!(" on the PATH; the one in this folder is ./{}", name.display()),
            (_, false) => " on the PATH".to_owned(),
        };
        RunError::NotFound { program: shown(), hint }
    })
}
