//! Runs compiler calls one after the other, and cleans up when a signal ends them.
use super::copies::restore_names;
use super::response;
use super::scratch::Scratch;
use super::steps::Step;
use dushmem_os::interrupt::{self, Interrupts};
use dushmem_os::reason::reason;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Above this many bytes of arguments a call gets a response file.
const ARGUMENT_BYTES: usize = 512 << 10;

static CHILD: AtomicU32 = AtomicU32::new(0);
static STOPPED_BY: AtomicI32 = AtomicI32::new(0);
static INTERRUPTS: OnceLock<Interrupts> = OnceLock::new();

/// Makes signals that end a program wait until [`end`], and passes them on to the compiler at once.
pub fn watch_signals() -> Result<(), String> {
    let interrupts =
        Interrupts::block().map_err(|error| format!("can't block signals: {}", reason(&error)))?;
    let interrupts = *INTERRUPTS.get_or_init(|| interrupts);
    let watch = move || {
        loop {
            let number = interrupts.wait();
            STOPPED_BY.store(number, Ordering::SeqCst);
            interrupt::pass_on(CHILD.load(Ordering::SeqCst), number);
        }
    };
    let thread = std::thread::Builder::new().name("signals".into()).spawn(watch);
    thread.map(drop).map_err(|error| format!("can't start a thread: {}", reason(&error)))
}

/// Becomes the compiler: its exit code, its signals and its process are ours. Returns only if that fails.
pub fn become_compiler(step: &Step) -> String {
    let error = Command::new(&step.words[0]).args(&step.words[1..]).exec();
    format!("{}: {}", step.words[0].display(), reason(&error))
}

/// Whether the call's arguments fit a command line.
pub fn fits(step: &Step) -> bool {
    step.words.iter().map(|word| word.as_bytes().len() + 1).sum::<usize>() <= ARGUMENT_BYTES
}

/// Runs the calls until one fails. Gives the last one's status.
pub fn run(steps: &[Step], names: &[(PathBuf, PathBuf)], scratch: &Scratch) -> Result<ExitStatus, String> {
    let mut last = ExitStatus::default();
    for step in steps {
        if STOPPED_BY.load(Ordering::SeqCst) != 0 {
            break;
        }
        last = call(step, names, scratch)?;
        for file in &step.outputs {
            restore_file(file, names)?;
        }
        if !last.success() {
            break;
        }
    }
    Ok(last)
}

fn call(step: &Step, names: &[(PathBuf, PathBuf)], scratch: &Scratch) -> Result<ExitStatus, String> {
    let program = &step.words[0];
    let failed = |error: io::Error| format!("{}: {}", program.display(), reason(&error));
    let mut command = Command::new(program);
    if fits(step) {
        command.args(&step.words[1..]);
    } else {
        let file = scratch.folder()?.join("arguments");
        fs::write(&file, response::join(&step.words[1..]))
            .map_err(|error| format!("{}: {}", file.display(), reason(&error)))?;
        let mut word = OsString::from("@");
        word.push(&file);
        command.arg(word);
    }
    let restore = step.prints_names && !names.is_empty();
    if restore {
        command.stdout(Stdio::piped());
    }
    if let Some(interrupts) = INTERRUPTS.get() {
        interrupts.unblock_in(&mut command);
    }
    let mut child = command.spawn().map_err(failed)?;
    CHILD.store(child.id(), Ordering::SeqCst);
    // A signal between the look before the start and the line above has reached nobody.
    let stopped_by = STOPPED_BY.load(Ordering::SeqCst);
    if stopped_by != 0 {
        interrupt::pass_on(child.id(), stopped_by);
    }
    let status = if restore {
        let mut text = Vec::new();
        if let Some(mut out) = child.stdout.take() {
            io::Read::read_to_end(&mut out, &mut text).map_err(failed)?;
        }
        let written = io::stdout().lock().write_all(&restore_names(&text, names));
        let status = child.wait().map_err(failed)?;
        written.map_err(|error| format!("standard output: {}", reason(&error)))?;
        status
    } else {
        child.wait().map_err(failed)?
    };
    CHILD.store(0, Ordering::SeqCst);
    Ok(status)
}

fn restore_file(file: &PathBuf, names: &[(PathBuf, PathBuf)]) -> Result<(), String> {
    let Ok(text) = fs::read(file) else { return Ok(()) };
    let restored = restore_names(&text, names);
    if restored == text {
        return Ok(());
    }
    fs::write(file, restored).map_err(|error| format!("{}: {}", file.display(), reason(&error)))
}

/// The exit code; a signal that came, or that ended the compiler, ends this process too.
pub fn end(status: ExitStatus) -> u8 {
    let signal = match STOPPED_BY.load(Ordering::SeqCst) {
        0 => status.signal(),
        number => Some(number),
    };
    if let Some(number) = signal {
        interrupt::end_by(number);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
