//! `cargo xtask gpu-pack`: everything that is run on a machine with a GPU, in one folder that can be carried there.
use super::install::{self, Options, at, write};
use super::tools;
use super::workspace::{cargo, root, run, target};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

const PLAN: &str = "tests/cuda/plan.txt";
/// The PEs' own test program, which cargo builds.
const SUITES: &str = "suites";

/// Programs whose sources are not `tests/cuda/NAME.cu` or `tests/kernels/NAME.cu` alone.
const SEVERAL: [(&str, &[&str]); 3] = [
    ("simple_shift", &["tests/kernels/simple_shift.hip.cpp"]),
    ("graph_names", &["tests/kernels/graph_names.hip.cpp"]),
    ("language", &["tests/kernels/language.cu", "tests/kernels/language_part.cu"]),
];
/// Programs of `examples/c`, whose hosts touch symmetric memory.
const EXAMPLE: &str = "example_";
/// Groups of the names that a family's device API has, a generated source each.
const NAMES: [&str; 6] = ["collect", "data", "pairs", "reduce", "scopes", "words"];

/// What runs there.
const SCRIPT: [(&str, &str); 2] = [
    ("run.sh", include_str!("../templates/gpu/run.sh")),
    ("parts.sh", include_str!("../templates/gpu/parts.sh")),
];

/// What is asked for.
#[derive(Debug)]
struct Wanted {
    out: PathBuf,
    arch: String,
    /// Programs, all where none is named.
    only: Vec<String>,
    /// Whether the other machine compiles them.
    sources: bool,
    most: u64,
}

/// Reads the command line, and makes the pack.
pub fn command(arguments: &[String]) -> Result<(), String> {
    let mut wanted =
        Wanted { out: PathBuf::new(), arch: "sm_90".into(), only: Vec::new(), sources: false, most: 48 };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--sources" {
            wanted.sources = true;
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), words.next().cloned()),
        };
        let value = value.filter(|value| !value.is_empty()).ok_or(format!("{name} needs a value"));
        match name {
            "--out" => wanted.out = PathBuf::from(value?),
            "--arch" => wanted.arch = value?,
            "--only" => wanted.only = value?.split(',').map(str::to_owned).collect(),
            "--most" => {
                let text = value?;
                wanted.most = text.parse().map_err(|_| format!("--most {text}: give a number of MiB"))?;
            }
            _ => {
                return Err(format!(
                    "gpu-pack knows no {name}; `cargo xtask gpu-pack --help` lists the options"
                ));
            }
        }
    }
    if wanted.out.as_os_str().is_empty() {
        return Err("--out is missing: name the folder".into());
    }
    make(&wanted)
}

fn make(wanted: &Wanted) -> Result<(), String> {
    let target = target()?;
    let out = std::path::absolute(&wanted.out).map_err(at(&wanted.out))?;
    let programs = out.join("programs");
    fs::create_dir_all(&programs).map_err(at(&programs))?;
    let prefix = target.join("prefix");
    install::install(&Options { prefix: prefix.clone(), profile: "release".into(), compat_names: false })?;
    carry(&prefix, &out.join("prefix"))?;
    let plan = fs::read_to_string(root().join(PLAN)).map_err(at(&root().join(PLAN)))?;
    let names = names(&plan);
    let chosen = |name: &&String| wanted.only.is_empty() || wanted.only.contains(name);
    let compiled: Vec<&String> = names.iter().filter(|name| *name != SUITES).filter(chosen).collect();
    let compiler = Compiler { prefix, arch: wanted.arch.clone(), programs };
    carry_sources(&compiler, &compiled, &out)?;
    write(&out.join("plan.txt"), &plan)?;
    for (name, text) in SCRIPT {
        let script = out.join(name);
        write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).map_err(at(&script))?;
    }
    if names.contains(SUITES) && chosen(&&SUITES.to_owned()) {
        suites(&target, &compiler.programs)?;
    }
    if !wanted.sources {
        compiler.all(&compiled, &tools::nvcc(&target)?)?;
    }
    weigh(&out, wanted.most)
}

/// The programs that a plan names.
fn names(plan: &str) -> BTreeSet<String> {
    let lines = plan.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().nth(4)).map(str::to_owned).collect()
}

/// Sources of a program, below the root.
fn sources(name: &str) -> Result<Vec<PathBuf>, String> {
    if let Some(family) = name.strip_prefix("names_") {
        let generated = NAMES.iter().map(|group| format!("gen/{family}_{group}.cu"));
        let all = generated.chain(["main.cu".to_owned()]);
        return Ok(all.map(|file| root().join("tests/kernels/names").join(file)).collect());
    }
    if let Some(example) = name.strip_prefix(EXAMPLE) {
        return Ok(vec![root().join(format!("examples/c/{example}.c"))]);
    }
    if let Some((_, files)) = SEVERAL.iter().find(|(known, _)| *known == name) {
        return Ok(files.iter().map(|file| root().join(file)).collect());
    }
    let places = ["tests/cuda", "tests/kernels"].map(|folder| root().join(folder).join(format!("{name}.cu")));
    let found = places.iter().find(|path| path.is_file());
    found.map(|path| vec![path.clone()]).ok_or(format!("{PLAN}: {name}: there is no tests/cuda/{name}.cu"))
}

/// What runs of an installation, without the names of its functions, and what compiles.
fn carry(prefix: &Path, to: &Path) -> Result<(), String> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(at(to))?;
    }
    let mut strip = Command::new("strip");
    for file in install::files(prefix)? {
        let (name, from, path) = (file.to_string_lossy(), prefix.join(&file), to.join(&file));
        let library = name.starts_with("lib/libdushmem.so");
        if !library && !name.starts_with("bin/") && !name.starts_with("include/") {
            continue;
        }
        let above = path.parent().unwrap_or(to);
        fs::create_dir_all(above).map_err(at(above))?;
        if let Ok(target) = fs::read_link(&from) {
            install::link(&target.to_string_lossy(), &path)?;
            continue;
        }
        fs::copy(&from, &path).map_err(at(&from))?;
        if library || name.starts_with("bin/") {
            strip.arg(path);
        }
    }
    run(&mut strip)
}

/// The host's suites as a program. In the dev profile: a suite that fails unwinds.
fn suites(target: &Path, programs: &Path) -> Result<(), String> {
    run(cargo().args(["build", "--quiet", "-p", "dushmem-cuda", "--example", SUITES]))?;
    let (from, to) = (target.join("debug/examples").join(SUITES), programs.join(SUITES));
    fs::copy(&from, &to).map_err(at(&from))?;
    run(Command::new("strip").arg(&to))
}

/// What a machine with nvcc makes the programs of: sources, and a line for each with dushcc's words. A program that was made
/// by other words goes.
fn carry_sources(compiler: &Compiler, names: &[&String], out: &Path) -> Result<(), String> {
    for folder in ["tests/kernels", "tests/cuda", "examples/c"] {
        for file in install::files(&root().join(folder))? {
            let to = out.join("src").join(folder).join(&file);
            let above = to.parent().unwrap_or(out);
            fs::create_dir_all(above).map_err(at(above))?;
            fs::copy(root().join(folder).join(&file), &to).map_err(at(&to))?;
        }
    }
    let list = out.join("build.txt");
    let before = fs::read_to_string(&list).unwrap_or_default();
    let mut lines = String::new();
    for name in names {
        let sources = sources(name)?;
        let sources =
            sources.iter().map(|path| path.strip_prefix(root()).unwrap_or(path).display().to_string());
        let words: Vec<String> = compiler.options(name).into_iter().chain(sources).collect();
        let line = format!("{name} {}", words.join(" "));
        let program = compiler.programs.join(name);
        if program.exists() && !before.lines().any(|known| known == line) {
            fs::remove_file(&program).map_err(at(&program))?;
        }
        lines += &line;
        lines.push('\n');
    }
    write(&list, &lines)
}

struct Compiler {
    prefix: PathBuf,
    arch: String,
    programs: PathBuf,
}

impl Compiler {
    /// What dushcc is told beside sources and names.
    fn options(&self, name: &str) -> Vec<String> {
        let words = ["--device=cuda", "-O2"];
        let mut options: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if !name.starts_with(EXAMPLE) {
            options.extend(["-std=c++17", "-lineinfo"].map(str::to_owned));
        }
        options.push(format!("-arch={}", self.arch));
        if let Some(family) = name.strip_prefix("names_") {
            // Thousands of small functions: what optimising them costs, their run does not give back.
            options.extend(["-Xcicc", "-O0", "-Xptxas", "-O1"].map(str::to_owned));
            // Calls through pointers reach all of them, and what a kernel reaches ptxas compiles for that kernel anew, unless
            // it is relocatable: more than 8 minutes and 13 GB became 90 s and 1.1 GB.
            options.push("-rdc=true".into());
            options.push(format!("-DFAMILY_{}", family.to_uppercase()));
        }
        options
    }

    /// All programs, two at a time; every failure is told.
    fn all(&self, names: &[&String], nvcc: &Path) -> Result<(), String> {
        let next = Mutex::new(names.iter());
        let take = || next.lock().ok().and_then(|mut names| names.next());
        let failed = std::thread::scope(|scope| {
            let worker = || {
                let mut failed = Vec::new();
                while let Some(name) = take() {
                    if let Err(message) = self.one(name, nvcc) {
                        eprintln!("xtask: {name}: {message}");
                        failed.push(name.to_string());
                    }
                }
                failed
            };
            let workers = [scope.spawn(worker), scope.spawn(worker)];
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect::<Vec<_>>()
        });
        if failed.is_empty() { Ok(()) } else { Err(format!("not compiled: {}", failed.join(", "))) }
    }

    /// A program, where something that it may be made of is newer.
    fn one(&self, name: &str, nvcc: &Path) -> Result<(), String> {
        let (sources, program) = (sources(name)?, self.programs.join(name));
        if newest(&sources).is_some_and(|newest| modified(&program).is_some_and(|made| made > newest)) {
            return Ok(());
        }
        println!("== {name}");
        let mut command = Command::new(self.prefix.join("bin/dushcc"));
        command.env("DUSHMEM_NVCC", nvcc).args(self.options(name)).args(&sources);
        run(command.arg("-o").arg(&program))?;
        run(Command::new("strip").arg(&program))
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// When the last of the sources, of the headers beside them, or of the installed headers was changed.
fn newest(sources: &[PathBuf]) -> Option<SystemTime> {
    let headers =
        ["include", "tests/kernels", "tests/cuda", "crates/bench/gpu"].map(|folder| root().join(folder));
    let headers = headers.iter().filter_map(|folder| Some((folder, install::files(folder).ok()?)));
    let headers = headers.flat_map(|(folder, files)| files.into_iter().map(move |file| folder.join(file)));
    let is_header = |path: &PathBuf| path.extension().is_some_and(|end| end == "h" || end == "inc");
    headers.filter(is_header).chain(sources.iter().cloned()).filter_map(|path| modified(&path)).max()
}

/// Says what the pack weighs, and refuses more than can be carried.
fn weigh(out: &Path, most: u64) -> Result<(), String> {
    let size = |file: &PathBuf| fs::symlink_metadata(out.join(file)).map_or(0, |data| data.len());
    let mut files: Vec<(u64, PathBuf)> =
        install::files(out)?.into_iter().map(|file| (size(&file), file)).collect();
    files.sort_by(|a, b| b.cmp(a));
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let all = mib(files.iter().map(|(bytes, _)| bytes).sum());
    println!("{}: {} files, {all} MiB", out.display(), files.len());
    if all <= most {
        return Ok(());
    }
    let large: Vec<String> =
        files.iter().take(5).map(|(bytes, file)| format!("{} {} MiB", file.display(), mib(*bytes))).collect();
    Err(format!(
        "the pack has {all} MiB, and {most} MiB can be carried (--most); largest: {}",
        large.join(", ")
    ))
}

#[cfg(test)]
#[path = "tests/pack.rs"]
mod tests;
