//! Runs what the documentation tells its readers to run: README.md and every page of docs/guide.
//!
//! A fenced block says what it is behind its three backticks; a block of any other kind fails the test, so
//! that nothing stands there untested:
//!
//! | block | what happens |
//! |---|---|
//! | `c file=NAME`, also `cpp`, `rust`, `toml`, `cmake`, `make` | the file is written into the page's folder |
//! | `sh` | every line is run there by bash, and must succeed |
//! | `sh exit=N` | the last line must end with this code |
//! | `sh needs=PROGRAM` | left out where the program is not installed |
//! | `text output`, `text errors` | what the lines of the `sh` block before it printed, in any order; `...` stands for anything, alone in a line for any number of lines |
//! | `text` | prose |
//!
//! `cargo xtask` lines are compared with the tasks that there are, and `export PATH` is what the test does
//! itself; they are not run.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time that one line may take.
const LIMIT: Duration = Duration::from_secs(500);

fn main() {
    let mut pages = vec![root().join("README.md"), root().join("examples/README.md")];
    let guide = fs::read_dir(root().join("docs/guide")).expect("the guide").flatten();
    pages.extend(guide.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md")));
    pages.sort();
    let mut trials = vec![Trial::test("blocks_and_output_are_compared", || {
        blocks_are_read()?;
        output_is_compared()
    })];
    trials.push(Trial::test("links_lead_somewhere", || Ok(links()?)));
    trials
        .extend(pages.into_iter().map(|page| Trial::test(name(&page), move || Ok(Page::new(&page)?.run()?))));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// A page's name among the tests: that of its file, with the folder's where several have it.
fn name(page: &Path) -> String {
    let stem = page.file_stem().expect("a name").to_string_lossy().into_owned();
    match page.parent().filter(|folder| stem == "README" && **folder != *root()).and_then(Path::file_name) {
        Some(folder) => format!("{stem}-{}", folder.display()),
        None => stem,
    }
}

/// A fenced block.
#[derive(Debug)]
struct Block {
    /// Number of the line with its first backticks.
    line: usize,
    kind: String,
    /// What stands behind the kind.
    words: Vec<String>,
    text: String,
}

impl Block {
    fn value(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (at, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(info)) => {
                let mut words = info.split_whitespace().map(str::to_owned);
                let kind = words.next().unwrap_or_default();
                open = Some(Block { line: at + 1, kind, words: words.collect(), text: String::new() });
            }
            (Some(_), Some("")) => found.extend(open.take()),
            (Some(block), _) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    match open {
        Some(block) => Err(format!("line {}: the block has no end", block.line)),
        None => Ok(found),
    }
}

/// What the lines of an `sh` block printed.
#[derive(Default)]
struct Printed {
    stdout: String,
    stderr: String,
}

/// A page with the folder in which its lines run.
struct Page {
    blocks: Vec<Block>,
    folder: Folder,
    name: String,
    /// Behind lines that were left out there is nothing to compare.
    printed: Option<Printed>,
}

impl Page {
    fn new(path: &Path) -> Result<Page, String> {
        let name = name(path);
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let blocks = blocks(&text).map_err(|why| format!("{}: {why}", path.display()))?;
        let folder = Folder::new(&format!("docs-{name}"));
        let at = |error: std::io::Error| format!("{}: {error}", folder.path().display());
        for part in ["work", "bin", "tmp"] {
            fs::create_dir(folder.join(part)).map_err(at)?;
        }
        // Pages take the reader to be beside a clone.
        symlink(root(), folder.join("dushmem")).map_err(at)?;
        if let Ok(nvcc) = std::env::var("DUSHMEM_NVCC") {
            let wrapper = folder.join("bin/nvcc");
            fs::write(&wrapper, format!("#!/bin/sh\nexec '{nvcc}' \"$@\"\n")).map_err(at)?;
            fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).map_err(at)?;
        }
        Ok(Page { blocks, folder, name, printed: None })
    }

    fn run(mut self) -> Result<(), String> {
        for block in std::mem::take(&mut self.blocks) {
            self.block(&block).map_err(|why| format!("{}, line {}: {why}", self.name, block.line))?;
        }
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Result<(), String> {
        let words: Vec<&str> = block.words.iter().map(String::as_str).collect();
        match (&*block.kind, words.as_slice()) {
            ("c" | "cpp" | "rust" | "toml" | "cmake" | "make", [_]) if block.value("file").is_some() => {
                self.write(block.value("file").unwrap_or_default(), &block.text)
            }
            ("sh", words) if words.iter().all(|w| w.starts_with("exit=") || w.starts_with("needs=")) => {
                self.shell(block)
            }
            ("text", []) => Ok(()),
            ("text", ["output"]) => self.compare(&block.text, |printed| &printed.stdout),
            ("text", ["errors"]) => self.compare(&block.text, |printed| &printed.stderr),
            (kind, words) => Err(format!("no test knows blocks `{kind} {}`", words.join(" "))),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join("work").join(name);
        if name.split('/').any(|part| part == "..") || name.starts_with('/') {
            return Err(format!("{name} is outside of the page's folder"));
        }
        let written =
            fs::create_dir_all(path.parent().expect("a folder")).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{name}: {error}"))?;
        if name.ends_with("Cargo.toml") {
            // The versions that the workspace has been built with are there without a network.
            let lock = fs::copy(root().join("Cargo.lock"), path.with_file_name("Cargo.lock"));
            lock.map_err(|error| format!("Cargo.lock: {error}"))?;
        }
        Ok(())
    }

    fn shell(&mut self, block: &Block) -> Result<(), String> {
        if let Some(program) = block.value("needs")
            && !self.folder.join("bin").join(program).is_file()
            && !installed(program)
        {
            self.printed = None;
            return Ok(());
        }
        let last: i32 = block.value("exit").unwrap_or("0").parse().map_err(|_| "exit= is no number")?;
        let text = block.text.replace("\\\n", " ");
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut printed = Printed::default();
        for (at, line) in lines.iter().enumerate() {
            let wanted = if at + 1 == lines.len() { last } else { 0 };
            self.line(line, wanted, &mut printed).map_err(|why| format!("`{line}`: {why}"))?;
        }
        self.printed = Some(printed);
        Ok(())
    }

    fn line(&self, line: &str, wanted: i32, printed: &mut Printed) -> Result<(), String> {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        match words.as_slice() {
            [] => return Ok(()),
            ["cargo", "xtask", task, rest @ ..] => return is_task(task, rest),
            ["export", path] if path.starts_with("PATH=") && path.contains("/bin:") => return Ok(()),
            ["cd" | "export" | "set", ..] => return Err("has no effect on the lines after it".into()),
            _ => {}
        }
        let out = self.job(line).run();
        if out.code != wanted {
            return Err(format!("code {} instead of {wanted}\n{}\n{}", out.code, out.stdout, out.stderr));
        }
        printed.stdout += &out.stdout;
        printed.stderr += &out.stderr;
        Ok(())
    }

    fn job(&self, line: &str) -> Job {
        let mut job = Job::of("bash".as_ref()).args(["-c", line]).limit(LIMIT);
        // As in a shell of the reader's, not in one under cargo.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let ours = ["DUSHMEM_", "NVSHMEM_", "SHMEM_", "SMA_", "CARGO", "NEXTEST"];
            let kept = ["CARGO_HOME", "CARGO_NET_OFFLINE"];
            if ours.iter().any(|start| text.starts_with(start)) && !kept.contains(&&*text) {
                job = job.without(&name);
            }
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        if let Some(nvcc) = std::env::var_os("DUSHMEM_NVCC") {
            // dushcc finds the toolkit's libraries beside the program itself.
            job = job.env("DUSHMEM_NVCC", nvcc);
        }
        let before = [self.folder.join("bin"), prefix().join("bin")];
        let all = before.into_iter().chain(std::env::split_paths(&path));
        job.without("LD_LIBRARY_PATH")
            .without("DISPLAY")
            .env("PATH", std::env::join_paths(all).expect("folders without colons"))
            .env("prefix", prefix())
            // What was downloaded for the workspace is enough, and pages share what they compile.
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_BUILD_BUILD_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs"))
            .env("TMPDIR", self.folder.join("tmp"))
            .at(&self.folder.join("work"))
    }

    fn compare(&self, wanted: &str, part: fn(&Printed) -> &String) -> Result<(), String> {
        match &self.printed {
            Some(printed) => compare(wanted, part(printed)),
            None => Ok(()),
        }
    }
}

/// Whether `cargo xtask TASK` exists and its usage line has the options.
fn is_task(task: &str, rest: &[&str]) -> Result<(), String> {
    let out = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("help").output();
    let out = out.map_err(|error| error.to_string())?;
    let help = String::from_utf8_lossy(&out.stdout).into_owned();
    let usage = help.lines().find(|line| line.starts_with(&format!("cargo xtask {task} ")));
    let usage = usage.ok_or_else(|| format!("there is no task {task}\n{help}"))?;
    match rest.iter().find(|word| word.starts_with('-') && !usage.contains(**word)) {
        Some(option) => Err(format!("{task} has no {option}\n{usage}")),
        None => Ok(()),
    }
}

/// Compares lines in any order.
fn compare(wanted: &str, printed: &str) -> Result<(), String> {
    let open = wanted.lines().any(|line| line == "...");
    let mut left: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let mut missing = Vec::new();
    // Lines without dots first, so that no pattern takes what they mean.
    let mut lines: Vec<&str> = wanted.lines().map(str::trim_end).filter(|line| *line != "...").collect();
    lines.sort_by_key(|line| line.contains("..."));
    for line in lines {
        match left.iter().position(|found| matches(line, found)) {
            Some(at) => drop(left.remove(at)),
            None => missing.push(line),
        }
    }
    if missing.is_empty() && (open || left.is_empty()) {
        return Ok(());
    }
    Err(format!("missing: {missing:#?}\nnot expected: {left:#?}\nall that was printed:\n{printed}"))
}

/// Whether the line is as the pattern, in which `...` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<&str> = pattern.split("...").collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    if parts.len() == 1 {
        return pattern == line;
    }
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Links to files, from every page of the repository.
fn links() -> Result<(), String> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"]
            .map(|name| root().join(name))
            .into();
    for folder in ["docs", "docs/guide", "docs/design"] {
        let entries = fs::read_dir(root().join(folder)).map_err(|error| format!("{folder}: {error}"))?;
        let paths = entries.flatten().map(|entry| entry.path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    let (mut seen, mut dead) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
        // Every other part stands in a block.
        let prose: String = text.split("```").step_by(2).collect();
        for target in prose.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next()) {
            let path = page.parent().expect("a folder").join(target);
            seen += 1;
            if !target.contains("://") && !path.exists() {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    if seen < 20 {
        return Err(format!("only {seen} links seen"));
    }
    if dead.is_empty() { Ok(()) } else { Err(format!("links to nothing: {}", dead.join(", "))) }
}

fn blocks_are_read() -> Result<(), Failed> {
    let found = blocks("a\n```sh exit=2\nx\n\n```\n```text\ny\n```\n")?;
    let shown: Vec<_> = found.iter().map(|b| (b.line, &*b.kind, b.value("exit"), &*b.text)).collect();
    assert_eq!(shown, [(2, "sh", Some("2"), "x\n\n"), (6, "text", None, "y\n")]);
    assert!(blocks("```sh\nx\n").is_err());
    for unknown in
        ["```\nx\n```\n", "```c\nx\n```\n", "```python file=x\nx\n```\n", "```sh skip\nfalse\n```\n"]
    {
        assert!(trial(unknown).is_err(), "{unknown}");
    }
    assert!(trial("```sh\ntrue\n```\n").is_ok());
    for wrong in ["false", "cargo xtask dmeo", "cargo xtask demo --fast", "cd x"] {
        assert!(trial(&format!("```sh\n{wrong}\n```\n")).is_err(), "{wrong}");
    }
    assert!(trial("```sh exit=1\ntrue\nfalse\n```\n").is_ok());
    assert!(trial("```sh\necho a\n```\n```text output\nb\n```\n").is_err());
    Ok(())
}

fn trial(text: &str) -> Result<(), String> {
    let folder = Folder::new("docs-trial");
    let page: PathBuf = folder.join("trial-page.md");
    fs::write(&page, text).expect("written");
    Page::new(&page)?.run()
}

fn output_is_compared() -> Result<(), Failed> {
    assert!(compare("a\nb\n", "b\na\n").is_ok());
    assert!(compare("a\n", "a\na\n").is_err());
    assert!(compare("a\nb\n", "a\n").is_err());
    assert!(compare("a\n...\n", "x\na\ny\n").is_ok());
    assert!(compare("PE ... of 3: ... s\nPE 1 of 3: 2 s\n", "PE 1 of 3: 2 s\nPE 0 of 3: 2 s\n").is_ok());
    assert!(matches("a...b...c", "a1b2c") && !matches("a...b...c", "a1c2b") && !matches("a...", "ba"));
    assert!(!matches("ab", "abc") && matches("...", ""));
    Ok(())
}
