//! `cargo xtask ptx`: the library's own kernels, as text that the driver compiles for the GPU it finds, and beside it the
//! same compiled for the GPUs that are used most: the driver takes a second for the text, and milliseconds for that.
//!
//! Both are checked in, so building the library needs no compiler for GPUs. What nvcc writes depends on its version and
//! on where the sources lie; what says so is taken out, and the version stands in the first line.
use super::workspace::{reason, root, shown, target};
use super::{device_ptx, help, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What GPUs from this one on load.
const ARCHITECTURE: &str = "compute_80";

/// The version of PTX that the texts say they are: what the oldest driver that will do reads, that of CUDA 12.4. nvcc writes
/// its own version, and has no switch for another. What such a driver does not know is an error: ptxas, which makes the
/// machine code of the same text, refuses what is newer than the version in it.
const ISA: &str = "8.4";

/// Machine code beside the text, which is in the same file too.
const COMPILED: &str = "arch=compute_80,code=[sm_80,sm_90,compute_80]";

/// Folder of the sources, and of the text made of them.
const SOURCES: &str = "kernels";
const TEXTS: &str = "crates/cuda/ptx";

/// Writes the text, or with `--check` compares it.
pub fn command(arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [word] if word == "--check" => true,
        _ => return Err(format!("ptx takes --check, not `{}`\n{}", arguments.join(" "), help::TASKS)),
    };
    let Some(nvcc) = find_nvcc()? else {
        let message = "no nvcc: set DUSHMEM_NVCC, or have it in PATH";
        if !check {
            return Err(message.into());
        }
        println!("not checked: {message}");
        return Ok(());
    };
    let release = release(&nvcc)?;
    let work = target()?.join("ptx");
    let mut differ = Vec::new();
    let modules = modules()?;
    for source in &modules {
        let text = compiled(&nvcc, source, &release, &[])?;
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let place = |folder: &Path, kind: &str| folder.join(format!("{name}.{kind}"));
        let folder = if check { work.clone() } else { root().join(TEXTS) };
        let (ptx, fatbin) = (place(&folder, "ptx"), place(&folder, "fatbin"));
        write(&ptx, &text)?;
        let code = assembled(&nvcc, &ptx, &fatbin)?;
        if !check {
            let sizes = [text.len(), code.len()].map(|bytes| bytes.div_ceil(1024));
            println!("{TEXTS}/{name}: text {} KiB, compiled {} KiB", sizes[0], sizes[1]);
            continue;
        }
        let there = fs::read_to_string(place(&root().join(TEXTS), "ptx")).unwrap_or_default();
        if let Some(why) = difference(&there, &text) {
            differ.push(format!("{TEXTS}/{name}.ptx {why}"));
        }
        let compiled = fs::read(place(&root().join(TEXTS), "fatbin")).unwrap_or_default();
        if compiled.is_empty() || (there == text && compiled != code) {
            differ.push(format!("{TEXTS}/{name}.fatbin is not what the text gives"));
        }
    }
    let text = device_library(&nvcc, &release, &work)?;
    let place = root().join(device_ptx::TEXT);
    if !check {
        write(&place, &text)?;
        println!("{}: {} KiB", device_ptx::TEXT, text.len().div_ceil(1024));
    } else if let Some(why) = difference(&fs::read_to_string(&place).unwrap_or_default(), &text) {
        differ.push(format!("{} {why}", device_ptx::TEXT));
    }
    for stray in strays(&modules)? {
        if check {
            differ.push(format!("{TEXTS}/{} is made of no source", shown_name(&stray)));
        } else {
            fs::remove_file(&stray).map_err(|error| format!("{}: {}", stray.display(), reason(&error)))?;
        }
    }
    if differ.is_empty() {
        return Ok(());
    }
    Err(format!("{}; run `cargo xtask ptx`", differ.join(", ")))
}

/// Why the text that is checked in is not what the sources give; another nvcc has only to find the same kernels.
fn difference(there: &str, made: &str) -> Option<&'static str> {
    if there.is_empty() {
        return Some("is missing");
    }
    let same = if there.lines().next() == made.lines().next() {
        there == made
    } else {
        entries(there) == entries(made)
    };
    (!same).then_some("is not what its source gives")
}

/// Kernels with their parameters.
fn entries(text: &str) -> Vec<String> {
    let starts = text.match_indices(".entry ").map(|(at, _)| &text[at..]);
    let mut found: Vec<String> =
        starts.filter_map(|rest| rest.split_once(')')).map(|(head, _)| head.to_owned()).collect();
    found.sort();
    found
}

/// Files of a folder, in order.
fn files(folder: &str) -> Result<Vec<PathBuf>, String> {
    let folder = root().join(folder);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {}", folder.display(), reason(&error)))?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    Ok(found)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn shown_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Sources that become modules: those that no other one includes.
fn modules() -> Result<Vec<PathBuf>, String> {
    let mut found = files(SOURCES)?;
    found.retain(|path| has_extension(path, "cu"));
    let mut parts = Vec::new();
    for source in &found {
        let text = fs::read_to_string(source)
            .map_err(|error| format!("{}: {}", source.display(), reason(&error)))?;
        parts.extend(parts_of(&text));
    }
    found.retain(|path| !parts.contains(&shown_name(path)));
    Ok(found)
}

/// Other sources that a source includes.
fn parts_of(text: &str) -> Vec<String> {
    let included = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
    included.filter(|name| name.ends_with(".cu")).map(str::to_owned).collect()
}

/// What is there of sources that are gone.
fn strays(modules: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut found = files(TEXTS)?;
    found.retain(|path| !modules.iter().any(|module| module.file_stem() == path.file_stem()));
    Ok(found)
}

/// `$DUSHMEM_NVCC`, or that of the wheels in the build folder, or the one in PATH.
fn find_nvcc() -> Result<Option<PathBuf>, String> {
    if let Some(asked) = std::env::var_os("DUSHMEM_NVCC") {
        return Ok(Some(asked.into()));
    }
    Ok(tools::find_nvcc(&target()?).or_else(|| super::workspace::has("nvcc").then(|| "nvcc".into())))
}

fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|error| format!("{}: {}", shown(command), reason(&error)))?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    // What the compiler warns of is an error, as for all device code.
    if !done.status.success() || said.contains("warning") {
        return Err(format!("{}: {}\n{said}", shown(command), done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// "13.0, V13.0.88"
fn release(nvcc: &Path) -> Result<String, String> {
    let said = output(Command::new(nvcc).arg("--version"))?;
    let found = said.lines().find_map(|line| line.split_once("release "));
    let found = found.map(|(_, release)| release.trim().to_owned());
    found.ok_or_else(|| format!("{} --version names no release: {said}", nvcc.display()))
}

/// The device functions by name, made of a source in `work`, and assembled to see that it can be.
fn device_library(nvcc: &Path, release: &str, work: &Path) -> Result<String, String> {
    let source = work.join("dushmem_device.cu");
    device_ptx::write_source(&source)?;
    let text = compiled(nvcc, &source, release, &["-rdc=true"])?;
    let text = device_ptx::named_state(&text)?;
    let (ptx, object) = (work.join("dushmem_device.ptx"), work.join("dushmem_device.fatbin"));
    write(&ptx, &text)?;
    let mut command = Command::new(nvcc);
    command.args(["-fatbin", "-rdc=true", "-gencode", COMPILED]).arg(&ptx).arg("-o").arg(&object);
    output(&mut command)?;
    Ok(text)
}

fn compiled(nvcc: &Path, source: &Path, release: &str, more: &[&str]) -> Result<String, String> {
    let relative = source.strip_prefix(root()).unwrap_or(source);
    let mut command = Command::new(nvcc);
    command.current_dir(root()).args(["-ptx", "-std=c++17", "-I", "include"]);
    // The same bits as on the host: a product and a sum are two operations.
    command.args(["-fmad=false", "-arch", ARCHITECTURE, "-o", "/dev/stdout"]).args(more).arg(relative);
    let text = output(&mut command)?;
    let name = match relative.strip_prefix(SOURCES) {
        Ok(_) => relative.display().to_string(),
        Err(_) => "api/".into(),
    };
    Ok(format!(
        "// Made from {name} by `cargo xtask ptx` with nvcc {release}. Do not edit.\n{}",
        settled(&text)
    ))
}

/// Machine code of the text, and the text for other GPUs.
fn assembled(nvcc: &Path, ptx: &Path, fatbin: &Path) -> Result<Vec<u8>, String> {
    let mut command = Command::new(nvcc);
    command.args(["-fatbin", "-gencode", COMPILED]);
    // The driver takes longest for the smallest, in every start.
    command.args(["-Xfatbin", "-compress-all", "-Xfatbin", "-compress-mode=speed"]);
    output(command.arg(ptx).arg("-o").arg(fatbin))?;
    fs::read(fatbin).map_err(|error| format!("{}: {}", fatbin.display(), reason(&error)))
}

/// Without what depends on the machine, for old drivers; the state of the module can be found by its name.
fn settled(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("//") && !line.trim().is_empty());
    let mut all: Vec<String> = lines.map(without_hashes).collect();
    for line in &mut all {
        if line.starts_with(".version ") {
            *line = format!(".version {ISA}");
        }
        let variable = line.starts_with(".global") || line.starts_with(".const");
        if variable && line.contains(" dushmem_impl_state[") {
            line.insert_str(0, ".visible ");
        }
    }
    all.join("\n") + "\n"
}

/// Names of internal functions hold two hashes of the source's path: `_INTERNAL_d15a89f9_7_move_cu_be39cbc6`.
fn without_hashes(line: &str) -> String {
    let mut text = line.to_owned();
    // Where code is to be linked, variables are called so: `__nv_static_25__d15a89f9_7_move_cu_be39cbc6_name`.
    let statics = text.match_indices("__nv_static_").map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let number = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        at + mark.len() + number + "__".len()
    });
    for at in statics.collect::<Vec<_>>() {
        if text.get(at..at + 8).is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            text.replace_range(at..at + 8, "00000000");
        }
    }
    for (mark, digits) in [("_INTERNAL_", 8), ("_GLOBAL__N__", 8), ("_cu_", 8)] {
        let places: Vec<usize> = text.match_indices(mark).map(|(at, _)| at + mark.len()).collect();
        for at in places {
            if text.get(at..at + digits).is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
            {
                text.replace_range(at..at + digits, &"0".repeat(digits));
            }
        }
    }
    text
}

pub fn write(place: &Path, text: &str) -> Result<(), String> {
    let folder = place.parent().unwrap_or(place);
    let said = |error: std::io::Error| format!("{}: {}", place.display(), reason(&error));
    fs::create_dir_all(folder).map_err(said)?;
    fs::write(place, text).map_err(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.version 9.0
.const .align 8 .b8 dushmem_impl_state[96];
.visible .entry dushmem_k_sync(
\t.param .u32 dushmem_k_sync_param_0
)
{ call _ZN37_INTERNAL_d15a89f9_7_move_cu_be39cbc67dushmem; }
";

    #[test]
    fn the_text_does_not_depend_on_where_it_was_made() {
        let settled = settled(&format!("//\n// by nvcc\n\n{TEXT}"));
        assert!(!settled.contains("//") && !settled.contains("d15a89f9") && !settled.contains("be39cbc6"));
        assert!(settled.contains("_INTERNAL_00000000_7_move_cu_000000007dushmem"), "{settled}");
        assert!(settled.contains("\n.visible .const .align 8 .b8 dushmem_impl_state[96];"), "{settled}");
        assert!(settled.starts_with(&format!(".version {ISA}\n")), "{settled}");
    }

    #[test]
    fn a_source_that_another_includes_is_no_module() {
        let text =
            "#include \"one.cu\"\n#include \"library.h\"\n#include <two.cu>\n// #include \"three.cu\"\n";
        assert_eq!(parts_of(text), ["one.cu"]);
        let modules: Vec<String> = modules().unwrap().iter().map(|path| shown_name(path)).collect();
        assert_eq!(modules, ["far.cu", "near.cu"]);
        assert_eq!(strays(&super::modules().unwrap()).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_difference_is_seen() {
        let one = format!("// nvcc 1\n{TEXT}");
        assert_eq!(difference(&one, &one), None);
        assert!(difference("", &one).is_some());
        assert!(difference(&one, &one.replace("9.0", "9.1")).is_some());
        // By another compiler everything may be different but the kernels.
        let other = one.replace("nvcc 1", "nvcc 2").replace("9.0", "9.1");
        assert_eq!(difference(&one, &other), None);
        assert!(difference(&one, &other.replace(".u32", ".u64")).is_some());
    }
}
