//! From a command line to the compiler's exit code.
use super::arguments::{Arguments, Input};
use super::copies::{Copies, Prepared, SearchPath};
use super::cuda_steps::{self, CudaPlan};
use super::mixing::Kernels;
use super::options::{self, Device, HELP, Own, Show};
use super::prefix::{Prefix, compiler};
use super::rewrite::{Source, apply};
use super::scratch::Scratch;
use super::steps::{Files, Plan, Step};
use super::{flags, foreign, nvcc, register, response, run};
use dushmem_os::reason::reason;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Does what the command line says; `called` is the name under which the program was started.
pub fn compile(called: &OsStr, words: Vec<OsString>) -> Result<u8, String> {
    let (own, words) = options::split(response::expand(words)?)?;
    if own.show == Some(Show::Help) {
        return print(HELP.as_bytes());
    }
    if let Some(Show::Source(file)) = &own.show {
        return show_source(file, own.os_threads);
    }
    let name = Path::new(called).file_name().unwrap_or_default().to_string_lossy();
    let get = |name: &str| std::env::var_os(name);
    // Other wrappers for C++ have names that are links to this one.
    let cxx = ["++", "CC", "cxx"].iter().any(|end| name.ends_with(end));
    if own.device == Device::Cuda {
        return compile_for_cuda(&own, words, cxx, &get);
    }
    let own_compiler = compiler(cxx, &get)?;
    if words.is_empty() && own.show == Some(Show::Command) {
        return print(&line(&own_compiler.0));
    }
    let prefix = Prefix::find()?;
    match own.show {
        Some(Show::Compile) => return print(&line(&flags::compile(&prefix))),
        Some(Show::Link) => {
            let linkage = if own.static_lib { flags::Linkage::Archive } else { flags::Linkage::Shared };
            return print(&line(&flags::link(&prefix, linkage)));
        }
        Some(Show::Command) => return print(&line(&own_compiler.0)),
        _ => {}
    }
    let arguments = Arguments::parse(words.clone(), Device::Cpu);
    let held = Kernels::of_objects(&arguments);
    let sources = arguments.inputs().any(|(_, kind)| kind == Input::Kernel);
    let emulated = sources || held.emulator.is_some();
    held.linked_for_cpu(&arguments, sources)?;
    let cxx = if emulated { compiler(true, &get)? } else { own_compiler.clone() };
    let plan = Plan {
        prefix: &prefix,
        own: own_compiler,
        cxx,
        static_lib: own.static_lib,
        os_threads: own.os_threads,
    };
    if !emulated {
        let step = plan.plain(words, &arguments);
        return plain(&own, step);
    }
    let mut notes = Vec::new();
    let arguments = foreign::translate(arguments, &mut notes);
    build(&own, &plan, &arguments, notes)
}

fn compile_for_cuda(
    own: &Own,
    words: Vec<OsString>,
    cxx: bool,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Result<u8, String> {
    let nvcc = nvcc::find(get)?;
    let prefix = Prefix::find()?;
    match own.show {
        Some(Show::Compile) => return print(&line(&flags::cuda_compile(&prefix))),
        Some(Show::Link) => return print(&line(&flags::cuda_link(&prefix))),
        Some(Show::Command) => return print(&line(&nvcc.0[..1])),
        _ => {}
    }
    let mut notes = Vec::new();
    if own.os_threads {
        notes.push("`-fdushmem-os-threads` has no meaning on a GPU and is left out".to_owned());
    }
    let arguments = nvcc::translate(Arguments::parse(words, Device::Cuda), &mut notes)?;
    notes.extend(cuda_steps::notes(&arguments));
    Kernels::of_objects(&arguments).linked_for_cuda()?;
    let plan = CudaPlan { prefix: &prefix, nvcc, cxx, static_lib: own.static_lib };
    if own.show == Some(Show::Calls) {
        let steps = plan.steps(&arguments, &mut |source| Originals.object(source))?;
        let lines: Vec<Vec<u8>> = steps.iter().map(|step| line(&step.words)).collect();
        return print(&lines.concat());
    }
    run::watch_signals()?;
    let scratch = Scratch::new()?;
    let outcome = run_cuda(own, &plan, &arguments, &notes, &scratch);
    drop(scratch);
    Ok(run::end(outcome?))
}

fn run_cuda(
    own: &Own,
    plan: &CudaPlan<'_>,
    arguments: &Arguments,
    notes: &[String],
    scratch: &Scratch,
) -> Result<std::process::ExitStatus, String> {
    let steps = plan.steps(arguments, &mut |source| object_in(scratch, source))?;
    if own.verbose {
        notes.iter().for_each(|note| eprintln!("dushcc: note: {note}"));
        steps.iter().for_each(tell);
    }
    run::run(&steps, &[], scratch)
}

fn plain(own: &Own, step: Step) -> Result<u8, String> {
    if own.show == Some(Show::Calls) {
        return print(&line(&step.words));
    }
    if own.verbose {
        tell(&step);
    }
    if run::fits(&step) {
        return Err(run::become_compiler(&step));
    }
    run::watch_signals()?;
    let scratch = Scratch::new()?;
    let status = run::run(&[step], &[], &scratch);
    drop(scratch);
    Ok(run::end(status?))
}

fn build(own: &Own, plan: &Plan<'_>, arguments: &Arguments, mut notes: Vec<String>) -> Result<u8, String> {
    if own.show == Some(Show::Calls) {
        let steps = plan.emulated(arguments, &mut Originals, &mut notes)?;
        let lines: Vec<Vec<u8>> = steps.iter().map(|step| line(&step.words)).collect();
        return print(&lines.concat());
    }
    run::watch_signals()?;
    let scratch = Scratch::new()?;
    let outcome = build_in(own, plan, arguments, notes, &scratch);
    drop(scratch);
    // Only now may a signal end the process.
    Ok(run::end(outcome?))
}

fn build_in(
    own: &Own,
    plan: &Plan<'_>,
    arguments: &Arguments,
    mut notes: Vec<String>,
    scratch: &Scratch,
) -> Result<std::process::ExitStatus, String> {
    let search = SearchPath {
        quoted: arguments.values("-iquote").map(PathBuf::from).collect(),
        all: arguments.values("-I").chain(arguments.values("-isystem")).map(PathBuf::from).collect(),
    };
    let mut files = Written { copies: Copies::new(scratch, &search, own.os_threads), scratch };
    let steps = plan.emulated(arguments, &mut files, &mut notes)?;
    if own.verbose {
        notes.dedup();
        notes.iter().for_each(|note| eprintln!("dushcc: note: {note}"));
        steps.iter().for_each(tell);
    }
    run::run(&steps, files.copies.names(), scratch)
}

/// Copies on disk.
struct Written<'a> {
    copies: Copies<'a>,
    scratch: &'a Scratch,
}

impl Files for Written<'_> {
    fn prepare(&mut self, source: &Path) -> Result<Prepared, String> {
        self.copies.prepare(source)
    }

    fn object(&mut self, source: &Path) -> Result<PathBuf, String> {
        object_in(self.scratch, source)
    }
}

/// A folder of its own for each: several sources may have one name.
fn object_in(scratch: &Scratch, source: &Path) -> Result<PathBuf, String> {
    let base = Path::new(source.file_name().unwrap_or(source.as_os_str()));
    Ok(scratch.folder()?.join(base.with_extension("o")))
}

/// For `--show`: the sources stand for their copies, and nothing is written.
struct Originals;

impl Files for Originals {
    fn prepare(&mut self, source: &Path) -> Result<Prepared, String> {
        Ok(Prepared { path: source.to_path_buf(), moved: None })
    }

    fn object(&mut self, source: &Path) -> Result<PathBuf, String> {
        Ok(Path::new(source.file_name().unwrap_or(source.as_os_str())).with_extension("o"))
    }
}

fn show_source(file: &Path, os_threads: bool) -> Result<u8, String> {
    let text = fs::read(file).map_err(|error| format!("{}: {}", file.display(), reason(&error)))?;
    let source = Source::new(&text).os_threads(os_threads);
    let edits = source.edits();
    let mut edits = edits
        .map_err(|failure| format!("{}:{}: error: {}", file.display(), failure.line, failure.message))?;
    if register::launches_by_address(&source) {
        edits.extend(register::edits(&source));
    }
    print(&apply(&text, edits))
}

fn print(text: &[u8]) -> Result<u8, String> {
    match io::stdout().lock().write_all(text) {
        Ok(()) => Ok(0),
        Err(error) => Err(format!("standard output: {}", reason(&error))),
    }
}

fn tell(step: &Step) {
    let _ = io::stderr().lock().write_all(&line(&step.words));
}

/// The words as a shell would need them, and a newline.
fn line(words: &[OsString]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        let bytes = word.as_bytes();
        let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=+./,:@%^~".contains(byte);
        if !bytes.is_empty() && bytes.iter().all(safe) {
            out.extend_from_slice(bytes);
        } else {
            out.push(b'\'');
            for &byte in bytes {
                if byte == b'\'' {
                    out.extend_from_slice(b"'\\''");
                } else {
                    out.push(byte);
                }
            }
            out.push(b'\'');
        }
    }
    out.push(b'\n');
    out
}
