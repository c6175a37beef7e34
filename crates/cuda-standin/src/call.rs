//! What every call begins and ends with: counted, traced, failed on demand.
use crate::code::{self, Code, Out};
use crate::knobs::{self, KNOBS};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A failure to come.
struct Failure {
    name: String,
    from: u64,
    on: bool,
    code: Code,
}

#[derive(Default)]
struct Calls {
    counts: BTreeMap<&'static str, u64>,
    all: u64,
    failures: Vec<Failure>,
}

static CALLS: Mutex<Option<Calls>> = Mutex::new(None);
static READY: AtomicBool = AtomicBool::new(false);

/// Functions of the driver's interface. Their pointers are the caller's responsibility, as the driver's are.
macro_rules! driver {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            let _ = ($(&$arg,)*);
            $crate::call::enter(stringify!($name), || $body)
        }
    )*};
}

/// May be called before cuInit.
const EARLY: &[&str] =
    &["cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress_v2"];

fn parse(spec: &str) -> Option<Failure> {
    let (name, rest) = spec.split_once(':')?;
    let (from, code) = rest.split_once('=')?;
    let (on, from) = from.strip_suffix('+').map_or((false, from), |from| (true, from));
    Some(Failure {
        name: name.trim().to_owned(),
        from: from.trim().parse().ok()?,
        on,
        code: code.trim().parse().ok()?,
    })
}

fn with<T>(f: impl FnOnce(&mut Calls) -> T) -> T {
    let mut calls = CALLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    f(calls.get_or_insert_with(|| {
        let failures = knobs::text("FAIL").unwrap_or_default();
        let failures = failures.split(',').filter(|spec| !spec.is_empty());
        let parsed =
            |spec| parse(spec).unwrap_or_else(|| panic!("CUDA_STANDIN_FAIL: {spec}: not NAME:COUNT=CODE"));
        Calls { failures: failures.map(parsed).collect(), ..Calls::default() }
    }))
}

/// Counts the call, and gives the failure that was asked for.
fn counted(name: &'static str) -> Option<Code> {
    with(|calls| {
        calls.all += 1;
        let all = calls.all;
        let count = calls.counts.entry(name).or_default();
        *count += 1;
        let count = *count;
        let hit = |failure: &&Failure| {
            let reached = match failure.name.as_str() {
                "*" => all,
                other if other == name => count,
                _ => return false,
            };
            reached == failure.from || failure.on && reached > failure.from
        };
        calls.failures.iter().find(hit).map(|failure| failure.code)
    })
}

pub fn enter(name: &'static str, body: impl FnOnce() -> Out) -> u32 {
    let code = match counted(name) {
        Some(code) => code,
        None if !READY.load(Ordering::Acquire) && !EARLY.contains(&name) => code::NOT_INITIALIZED,
        None if KNOBS.missing.iter().any(|missing| missing == name) => code::NOT_FOUND,
        None => body().err().unwrap_or(0),
    };
    match KNOBS.trace.as_deref() {
        None => {}
        Some("errors") if code == 0 || code == code::NOT_READY => {}
        Some(_) => eprintln!(
            "cuda-standin: {} {:?} {name} -> {code}",
            std::process::id(),
            std::thread::current().id()
        ),
    }
    code
}

pub fn ready() {
    READY.store(true, Ordering::Release);
}

/// Writes a result of a call. Safe only as far as callers of the driver's interface give good pointers.
pub fn set<T>(at: *mut T, value: T) -> Out {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: a pointer that the caller gave for a result of this type, not null.
    unsafe { at.write_unaligned(value) };
    Ok(())
}

/// Reads an argument that was given by its address.
pub fn get<T: Copy>(at: *const T) -> Out<T> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: a pointer that the caller gave for an argument of this type, not null.
    Ok(unsafe { at.read_unaligned() })
}

/// A name that a caller gave.
pub fn name(at: *const c_char) -> Out<String> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: a text of C, not null.
    Ok(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

/// Adds failures, in the words of `CUDA_STANDIN_FAIL`; an empty text takes all away and has the counts begin again.
/// Gives 0, or 1 for what can't be read.
#[unsafe(no_mangle)]
pub extern "C" fn standin_fail(spec: *const c_char) -> u32 {
    let Ok(text) = name(spec) else { return 1 };
    let parsed: Option<Vec<Failure>> = text.split(',').filter(|spec| !spec.is_empty()).map(parse).collect();
    let Some(parsed) = parsed else { return 1 };
    with(|calls| {
        if text.is_empty() {
            *calls = Calls::default();
        }
        calls.failures.extend(parsed);
    });
    0
}

/// How often a function was called; all of them for `*`.
#[unsafe(no_mangle)]
pub extern "C" fn standin_calls(function: *const c_char) -> u64 {
    let Ok(function) = name(function) else { return 0 };
    with(
        |calls| {
            if function == "*" {
                calls.all
            } else {
                calls.counts.get(function.as_str()).copied().unwrap_or(0)
            }
        },
    )
}

/// The function table of `cuGetProcAddress`, and the newest form of each name.
pub fn address(symbol: &str, table: &[(&'static str, *const ())]) -> Option<*mut c_void> {
    let missing = &KNOBS.missing;
    if missing.iter().any(|name| name == symbol) {
        return None;
    }
    let newest = |name: &str| {
        let version = name.strip_prefix(symbol)?;
        if version.is_empty() { Some(1) } else { version.strip_prefix("_v")?.parse::<u32>().ok() }
    };
    let known = table.iter().filter(|(name, _)| !missing.iter().any(|gone| gone == name));
    let best = known.filter_map(|(name, at)| Some((newest(name)?, *at))).max()?;
    Some(best.1.cast_mut().cast())
}
