//! `cargo xtask install`: a folder with programs, libraries and headers that works wherever it stands.
use super::compat;
use super::device_ptx;
use super::help;
use super::weaken::weaken;
use super::workspace::{cargo, reason, root, run, target};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// What an installation is made of.
#[derive(Debug)]
pub struct Options {
    /// Where it goes.
    pub prefix: PathBuf,
    /// Cargo's profile.
    pub profile: String,
    /// Whether names of other installations are added.
    pub compat_names: bool,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
const PROGRAMS: [&str; 4] = ["dushrun", "dushcc", "dushinfo", "dushbench"];
/// The list of what was installed, below the prefix.
const LIST: &str = "lib/dushmem/installed";

/// Reads the command line and installs.
pub fn command(arguments: &[String]) -> Result<(), String> {
    let usage = help::INSTALL.lines().next().unwrap_or_default();
    let mut prefix = None;
    let mut compat_names = false;
    let mut profile = "release".to_string();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--compat-names" {
            compat_names = true;
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, value.to_string()),
            None => (word.as_str(), words.next().cloned().unwrap_or_default()),
        };
        match name {
            _ if value.is_empty() => return Err(format!("{name} needs a value\n{usage}")),
            "--prefix" => prefix = Some(value),
            "--profile" => profile = value,
            _ => return Err(format!("install knows no {name}\n{usage}")),
        }
    }
    let prefix = prefix.ok_or_else(|| format!("--prefix is missing: name the folder\n{usage}"))?;
    not_a_home(&prefix)?;
    install(&Options { prefix: clean(Path::new(&prefix))?, profile, compat_names })
}

/// Refuses a `~` that no shell has replaced: bash does so at the beginning of a word only.
fn not_a_home(prefix: &str) -> Result<(), String> {
    match prefix.strip_prefix('~') {
        None => Ok(()),
        Some(rest) => Err(format!(
            "--prefix={prefix}: the shell has not replaced the ~; write --prefix ~{rest} with a blank and without \
             quotes, or ./~{rest} for a folder of that name"
        )),
    }
}

/// The path from the root on, without `.`, `..` and slashes too many. What is missing is made as far as a
/// `..` needs it.
fn clean(path: &Path) -> Result<PathBuf, String> {
    let full = std::path::absolute(path).map_err(at(path))?;
    let mut clean = PathBuf::new();
    for part in full.components() {
        if part == Component::ParentDir {
            // The folder above is that of what a link leads to.
            fs::create_dir_all(&clean).map_err(at(&clean))?;
            clean = clean.canonicalize().map_err(at(&clean))?;
            clean.pop();
        } else {
            clean.push(part);
        }
    }
    Ok(clean)
}

/// Builds, and puts everything under the prefix.
pub fn install(options: &Options) -> Result<(), String> {
    let mut build = cargo();
    build.args([
        "build",
        "--profile",
        &options.profile,
        "-p",
        "dushmem-capi",
        "-p",
        "dushmem-cli",
        "-p",
        "dushmem-bench",
    ]);
    run(build.args(["--lib", "--bins"]))?;
    let folder = if options.profile == "dev" { "debug" } else { &options.profile };
    let built = target()?.join(folder);
    let prefix = &options.prefix;
    let above = prefix.parent().ok_or("--prefix / is not possible: name a folder")?;
    fs::create_dir_all(above).map_err(at(above))?;
    let stage = above.join(format!(".dushmem-install-{}", std::process::id()));
    let staged =
        stage_files(&stage, &built, options.compat_names).and_then(|()| put_in_place(&stage, prefix));
    // After a failure nothing of it stays; after success it is empty or gone.
    let _ = fs::remove_dir_all(&stage);
    let (count, gone) = staged?;
    println!("installed {count} files into {}", prefix.display());
    if let Some(line) = removed_line(&gone) {
        println!("{line}");
    }
    println!("to find the programs: {}", path_line(&prefix.join("bin")));
    Ok(())
}

/// A line about files of an earlier installation that went.
fn removed_line(gone: &[PathBuf]) -> Option<String> {
    if gone.is_empty() {
        return None;
    }
    let names = gone.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let again = match gone.iter().any(|path| compat::makes(path)) {
        true => "; --compat-names makes the names of other projects again",
        false => "",
    };
    let files = if gone.len() == 1 { "1 file".to_owned() } else { format!("{} files", gone.len()) };
    Some(format!("removed {files} of the installation before: {names}{again}"))
}

/// The shell's command that puts a folder on the PATH.
fn path_line(folder: &Path) -> String {
    let text = folder.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,@%".contains(c);
    match text.chars().all(plain) {
        true => format!("export PATH={text}:$PATH"),
        false => format!("export PATH='{}':$PATH", text.replace('\'', "'\\''")),
    }
}

/// An error with the path in front.
pub fn at(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.to_path_buf();
    move |error| format!("{}: {}", path.display(), reason(&error))
}

fn stage_files(stage: &Path, built: &Path, compat_names: bool) -> Result<(), String> {
    for folder in ["bin", "lib/pkgconfig", "lib/cmake/dushmem", "lib/dushmem"] {
        let path = stage.join(folder);
        fs::create_dir_all(&path).map_err(at(&path))?;
    }
    for name in PROGRAMS {
        copy(&built.join(name), &stage.join("bin").join(name))?;
    }
    link("dushcc", &stage.join("bin/dushc++"))?;
    let lib = stage.join("lib");
    let shared = format!("libdushmem.so.{VERSION}");
    copy(&built.join("libdushmem_capi.so"), &lib.join(&shared))?;
    archive(&built.join("libdushmem_capi.a"), &lib.join("libdushmem.a"))?;
    link(&shared, &lib.join("libdushmem.so.0"))?;
    link("libdushmem.so.0", &lib.join("libdushmem.so"))?;
    // Build files of other installations link a host and a device library.
    for family in ["dushmem", "nvshmem"] {
        link("libdushmem.so.0", &lib.join(format!("lib{family}_host.so")))?;
        link("libdushmem.a", &lib.join(format!("lib{family}_host.a")))?;
        device_archive(family, &lib)?;
    }
    // For tools that link a library of the device and have no compiler for it.
    let [text, other] = device_ptx::INSTALLED;
    let functions = root().join(device_ptx::TEXT);
    let functions = fs::read_to_string(&functions).map_err(at(&functions))?;
    write(&lib.join(text), &functions)?;
    write(&lib.join(other), &device_ptx::for_nvshmem(&functions)?)?;
    write(&lib.join("pkgconfig/dushmem.pc"), &pkg_config())?;
    let cmake = lib.join("cmake/dushmem");
    write(&cmake.join("dushmem-config.cmake"), include_str!("../templates/dushmem-config.cmake"))?;
    write(&cmake.join("dushmem-options.cmake"), include_str!("../templates/dushmem-options.cmake"))?;
    let version = include_str!("../templates/dushmem-config-version.cmake").replace("@VERSION@", VERSION);
    write(&cmake.join("dushmem-config-version.cmake"), &version)?;
    copy_tree(&root().join("include"), &stage.join("include"))?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root().join(name), &stage.join("lib/dushmem").join(name))?;
    }
    if compat_names {
        compat::add(stage)?;
    }
    write(&stage.join(LIST), "")?;
    let list = files(stage)?.iter().map(|path| format!("{}\n", path.display())).collect::<String>();
    write(&stage.join(LIST), &list)
}

/// The device library of a family, which links and holds no function: those are in the headers. Its one object says
/// so to `strings` and `nm`.
fn device_archive(family: &str, lib: &Path) -> Result<(), String> {
    let (source, object) = (lib.join("marker.c"), lib.join("marker.o"));
    let text =
        format!("dushmem {VERSION}: the device functions are in the headers, there is nothing to link");
    write(&source, &format!("const char dushmem_impl_{family}_device_library[] = \"{text}\";\n"))?;
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    run(Command::new(compiler).args(["-c", "-fPIC", "-O1"]).arg(&source).arg("-o").arg(&object))?;
    let archive = lib.join(format!("lib{family}_device.a"));
    run(Command::new("ar").arg("rcsD").arg(&archive).arg(&object))?;
    for path in [source, object] {
        fs::remove_file(&path).map_err(at(&path))?;
    }
    Ok(())
}

fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: dushmem\nDescription: One partitioned global address space over CPUs, GPUs and nodes\nVersion: {VERSION}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -ldushmem\nLibs.private: -pthread -lutil -lrt -ldl -lm\n\
         Cflags: -I${{includedir}}\n"
    )
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("{} to {}: {}", from.display(), to.display(), reason(&error)))
}

/// Copies the static library; in the copy a program may define the public names too.
fn archive(from: &Path, to: &Path) -> Result<(), String> {
    let mut bytes = fs::read(from).map_err(at(from))?;
    if weaken(&mut bytes)? == 0 {
        return Err(format!("{}: no public names in it", from.display()));
    }
    fs::write(to, bytes).map_err(at(to))
}

/// A symbolic link at `path`.
pub fn link(target: &str, path: &Path) -> Result<(), String> {
    symlink(target, path).map_err(at(path))
}

/// A file with this text.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(at(path))
}

fn copy_tree(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(at(to))?;
    for entry in fs::read_dir(from).map_err(at(from))? {
        let path = entry.map_err(at(from))?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy_tree(&path, &target)? } else { copy(&path, &target)? }
    }
    Ok(())
}

/// All files and links below a folder, relative to it, in order.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        let path = folder.join(&relative);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
            let is_folder = entry.file_type().map_err(at(&path))?.is_dir();
            let name = relative.join(entry.file_name());
            if is_folder { open.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    Ok(found)
}

/// Moves the stage to the prefix: in one step where nothing is there, else file by file, each in one step.
/// Files of an earlier installation that are no longer made go. Returns the number of files, and those that went.
fn put_in_place(stage: &Path, prefix: &Path) -> Result<(usize, Vec<PathBuf>), String> {
    let new = files(stage)?;
    if !prefix.exists() {
        fs::rename(stage, prefix).map_err(at(prefix))?;
        return Ok((new.len(), Vec::new()));
    }
    let old = fs::read_to_string(prefix.join(LIST)).unwrap_or_default();
    // Libraries before the programs and headers that expect them, the list last.
    let rank = |path: &Path| match path {
        path if path == Path::new(LIST) => 3,
        path if path.starts_with("lib") => 0,
        path if path.starts_with("include") => 1,
        _ => 2,
    };
    let mut order = new.clone();
    order.sort_by_key(|path| (rank(path), path.clone()));
    for file in &order {
        let to = prefix.join(file);
        let folder = to.parent().unwrap_or(prefix);
        fs::create_dir_all(folder).map_err(at(folder))?;
        fs::rename(stage.join(file), &to).map_err(at(&to))?;
    }
    let mut gone = Vec::new();
    for stale in old.lines().map(PathBuf::from).filter(|path| path.is_relative() && !new.contains(path)) {
        let inside = stale.components().all(|part| matches!(part, Component::Normal(_)));
        if inside && fs::remove_file(prefix.join(&stale)).is_ok() {
            gone.push(stale);
        }
    }
    Ok((new.len(), gone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dushmem_testkit::folder::Folder;

    fn stage(folder: &Path, names: &[&str]) -> PathBuf {
        let stage = folder.join("stage");
        for name in names.iter().chain(&[LIST]) {
            let path = stage.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{name} of {}", names.len())).unwrap();
        }
        fs::write(stage.join(LIST), names.iter().map(|name| format!("{name}\n")).collect::<String>())
            .unwrap();
        stage
    }

    #[test]
    fn paths_are_clean() {
        let folder = std::env::temp_dir().join(format!("dushmem-clean-test-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        symlink("a/b", folder.join("link")).unwrap();
        let base = folder.canonicalize().unwrap();
        let cleaned = |text: &str| clean(&base.join(text)).unwrap();
        assert_eq!(cleaned("./new//x/."), base.join("new/x"));
        assert_eq!(cleaned("link/x/"), base.join("link/x"));
        assert_eq!(cleaned("link/../x"), base.join("a/x"));
        assert_eq!(cleaned("new/../other/../x"), base.join("x"));
        assert!(clean(Path::new("relative")).unwrap().is_absolute());
        fs::write(base.join("file"), "").unwrap();
        let error = clean(&base.join("file/../x")).unwrap_err();
        assert!(error.contains("file") && !error.contains("os error"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_home_that_no_shell_has_replaced_is_refused() {
        assert!(not_a_home("~/zz").unwrap_err().contains("--prefix ~/zz with a blank"));
        assert!(not_a_home("~").is_err());
        assert_eq!([not_a_home("./~/zz"), not_a_home("/opt/a~b")], [Ok(()), Ok(())]);
    }

    #[test]
    fn what_goes_is_told() {
        let line = |names: &[&str]| removed_line(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(line(&[]), None);
        assert_eq!(line(&["lib/a"]).unwrap(), "removed 1 file of the installation before: lib/a");
        let compat = line(&["bin/oshcc", "lib/pkgconfig/sma.pc"]).unwrap();
        assert!(compat.contains("bin/oshcc, lib/pkgconfig/sma.pc; --compat-names"), "{compat}");
    }

    #[test]
    fn a_shell_understands_the_line_about_the_path() {
        for folder in ["/opt/dushmem/bin", "/with blank/it's $HOME/bin"] {
            let line = format!("PATH=/bin; {}; printf %s \"$PATH\"", path_line(Path::new(folder)));
            let out = std::process::Command::new("/bin/sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), format!("{folder}:/bin"), "{line}");
        }
    }

    #[test]
    fn an_earlier_installation_is_replaced_and_other_files_stay() {
        let folder = Folder::new("install");
        let prefix = folder.join("prefix");
        let first = stage(folder.path(), &["bin/a", "lib/old.so", "include/x/y.h"]);
        assert_eq!(put_in_place(&first, &prefix), Ok((4, vec![])));
        assert!(!first.exists(), "moved in one step");
        fs::write(prefix.join("bin/other"), "").unwrap();
        // A list that somebody has changed removes nothing outside of the prefix.
        fs::write(folder.join("outside"), "").unwrap();
        let list = fs::read_to_string(prefix.join(LIST)).unwrap();
        fs::write(prefix.join(LIST), format!("{list}../outside\n{}\n", folder.join("outside").display()))
            .unwrap();
        let second = stage(folder.path(), &["bin/a", "lib/new.so"]);
        let gone = ["include/x/y.h", "lib/old.so"].map(PathBuf::from);
        let (count, mut removed) = put_in_place(&second, &prefix).unwrap();
        removed.sort();
        assert_eq!((count, removed.as_slice()), (3, gone.as_slice()));
        let found = files(&prefix).unwrap();
        let wanted = ["bin/a", "bin/other", LIST, "lib/new.so"];
        assert_eq!(found, wanted.map(PathBuf::from));
        assert_eq!(fs::read_to_string(prefix.join("bin/a")).unwrap(), "bin/a of 2");
        assert!(folder.join("outside").exists());
    }
}
