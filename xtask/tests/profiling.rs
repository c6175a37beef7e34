//! A tool that defines public names takes the calls, and reaches the library by the names with a `p`: as a
//! shared library in front, in the program itself, and linked before the static library.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use std::path::{Path, PathBuf};
use std::process::Command;

#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}

fn source(name: &str) -> PathBuf {
    root().join("xtask/tests/sources").join(name)
}

/// Compiles in a folder; the words name files there, or begin as paths do.
#[track_caller]
fn compile(folder: &Folder, cxx: bool, words: &[&str]) {
    let mut command = Command::new(prefix().join("bin").join(if cxx { "dushc++" } else { "dushcc" }));
    succeed(command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(words).current_dir(folder.path()));
}

/// What 3 PEs print: each writes to its right, which the tool has changed if it saw the call.
#[track_caller]
fn prints(program: &Path, tool: bool, preload: Option<&Path>) {
    let mut job = Job::new(3, program);
    if let Some(tool) = preload {
        job = job.args::<&str>([]).env("LD_PRELOAD", tool);
    }
    let added = if tool { 1000 } else { 0 };
    // By p, put, the generic name, fetch_add, a context's put, and a long double.
    let line = |me: usize| {
        let from = (me + 2) % 3 + added;
        let level = if tool { 7 } else { 0 };
        format!(
            "PE {me}: {from} {from} {from} {from} {from} {from}.5 level {level} barriers {}",
            2 * usize::from(tool)
        )
    };
    job.run().prints((0..3).map(line));
}

fn with(language: &str, cxx: bool) {
    let folder = Folder::new(&format!("profiling-{language}"));
    let (program, tool) = (source("calls.c"), source("tool.c"));
    let (program, tool) = (program.to_str().unwrap(), tool.to_str().unwrap());
    let x = if cxx { "-xc++" } else { "-xc" };
    compile(&folder, cxx, &[x, program, "-c", "-o", "calls.o"]);
    compile(&folder, cxx, &[x, program, "-DDUSHMEM_NO_INLINE", "-c", "-o", "outline.o"]);
    compile(&folder, cxx, &[x, tool, "-fPIC", "-c", "-o", "tool.o"]);
    compile(&folder, cxx, &["-shared", "tool.o", "-o", "libtool.so"]);
    succeed(Command::new("ar").args(["rc", "libtool.a", "tool.o"]).current_dir(folder.path()));
    let at = |name: &str| folder.join(name);
    for object in ["calls.o", "outline.o"] {
        let name = |how: &str| format!("{object}-{how}");
        let link = |how: &str, words: &[&str]| {
            compile(&folder, cxx, &[&[object][..], words, &["-o", &name(how)]].concat());
            at(&name(how))
        };
        let plain = link("plain", &[]);
        prints(&plain, false, None);
        prints(&plain, true, Some(&at("libtool.so")));
        prints(&link("inside", &["tool.o"]), true, None);
        prints(&link("shared", &["-L.", "-Wl,-rpath,$ORIGIN", "-ltool"]), true, None);
        prints(&link("static", &["--static-lib"]), false, None);
        prints(&link("static-inside", &["tool.o", "--static-lib"]), true, None);
        prints(&link("static-archive", &["libtool.a", "--static-lib"]), true, None);
    }
}

#[test]
fn tools_in_c() {
    with("c", false);
}

#[test]
fn tools_in_cxx() {
    if installed("g++") {
        with("cxx", true);
    }
}

/// What goes wrong behind a tool is said with the name that the program knows.
#[test]
fn errors_have_the_public_name() {
    let folder = Folder::new("profiling-errors");
    let program = folder.join("wrong.c");
    let text = "#include <pshmem.h>\nint main(void) { shmem_init();\n\
                pshmem_int_p((int *)shmem_malloc(4), 1, 9); return 0; }\n";
    std::fs::write(&program, text).unwrap();
    compile(&folder, false, &[program.to_str().unwrap(), "-o", "wrong"]);
    Job::new(2, folder.join("wrong")).run().failure(1, &["PE ", " shmem_int_p: pe = 9"]);
}
