//! dushcc as a wrapper of the C and C++ compilers.
mod dushcc_support;
use dushcc_support::{HOST, Place, text};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
fn a_program_is_built_and_runs_without_a_library_path() {
    let place = Place::new("host");
    place.write("a.c", HOST);
    place.write("a.cpp", HOST.replace("stdio.h", "cstdio"));
    place.compiles("a.c -o a");
    assert_eq!(place.runs("a"), "7\n");
    let out = place.command("dushc++").args(["a.cpp", "-O2", "-ob"]).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(place.runs("b"), "7\n");
    place.compiles("-c a.c");
    place.compiles("a.o -o c");
    assert_eq!(place.runs("c"), "7\n");
}

#[test]
fn the_installation_can_be_moved() {
    let place = Place::new("moved");
    place.write("a.c", HOST);
    let moved = place.0.join("else, where");
    fs::rename(place.0.join("prefix"), &moved).unwrap();
    // Through a link as well: the folder behind it counts.
    symlink(moved.join("bin/dushcc"), place.0.join("work/link")).unwrap();
    let out = Command::new(place.path("link"))
        .current_dir(place.path(""))
        .args(["a.c", "-o", "a"])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(place.runs("a"), "7\n");
}

#[test]
fn the_archive_is_linked_on_demand() {
    let place = Place::new("archive");
    place.write("a.c", HOST);
    place.compiles("a.c -o a --static-lib");
    place.compiles("-static a.c -o b");
    fs::remove_file(place.0.join("prefix/lib/libdushmem.so")).unwrap();
    assert_eq!(place.runs("a"), "7\n");
    assert_eq!(place.runs("b"), "7\n");
    // An explicit language doesn't reach the archive.
    place.compiles("-x c a.c -o c --static-lib");
}

#[test]
fn shared_libraries_and_partial_links() {
    let place = Place::new("shared");
    place.write("a.c", "#include <dushmem.h>\nint twice(void) { return 2 * dushmem_my_pe(); }\n");
    place.compiles("-shared -fPIC a.c -o liba.so");
    place.compiles("-c a.c -o a.o");
    place.compiles("-r a.o -o b.o");
    let out = Command::new("nm").arg("-u").arg(place.path("b.o")).output().unwrap();
    assert!(text(&out.stdout).contains("dushmem_my_pe"), "{}", text(&out.stdout));
}

#[test]
fn output_stages_pass_through() {
    let place = Place::new("stages");
    place.write("a.c", HOST);
    assert!(place.compiles("-E a.c").contains("int dushmem_my_pe(void);"));
    assert!(place.compiles("-S a.c -o -").contains("dushmem_my_pe"));
    let rule = place.compiles("-MM a.c");
    assert!(rule.starts_with("a.o: a.c") && rule.contains("prefix/include/dushmem.h"), "{rule}");
    place.compiles("-MMD -c a.c -o x.o");
    assert!(place.read("x.d").starts_with("x.o: a.c"));
    place.compiles("-fsyntax-only a.c");
    let mut child = place.command("dushcc");
    child.args(["-x", "c", "-", "-o", "stdin"]).stdin(fs::File::open(place.path("a.c")).unwrap());
    assert!(child.status().unwrap().success());
    assert_eq!(place.runs("stdin"), "7\n");
}

#[test]
fn calls_without_files_are_the_compilers() {
    let place = Place::new("version");
    for option in ["--version", "-dumpversion", "-v", "-print-search-dirs"] {
        let own = place.dushcc(&[option]);
        let gcc = Command::new("gcc").arg(option).output().unwrap();
        assert_eq!((own.status, text(&own.stdout)), (gcc.status, text(&gcc.stdout)), "{option}");
    }
    assert!(place.compiles("--help").contains("--static-lib"));
}

#[test]
fn show_prints_and_runs_nothing() {
    let place = Place::new("show");
    place.write("a.c", HOST);
    let prefix = place.0.join("prefix").display().to_string();
    let gcc = text(&Command::new("sh").args(["-c", "command -v gcc"]).output().unwrap().stdout);
    let link = format!("-L{prefix}/lib -Wl,-rpath,{prefix}/lib -ldushmem\n");
    assert_eq!(
        place.compiles("--show a.c -o a"),
        format!("{} a.c -o a -I{prefix}/include {link}", gcc.trim())
    );
    assert_eq!(place.compiles("-show -c a.c"), format!("{} -c a.c -I{prefix}/include\n", gcc.trim()));
    assert_eq!(place.compiles("--show:compile"), format!("-I{prefix}/include\n"));
    assert_eq!(place.compiles("-showme:link"), link);
    assert_eq!(place.compiles("--show:command"), gcc);
    assert!(!place.exists("a") && !place.exists("a.o"));
    // What --show prints is what a shell needs.
    let line = text(&place.dushcc(&["--show", "a.c", "-DTEXT=\"it's\"", "-o", "with blank"]).stdout);
    let out = Command::new("sh").args(["-c", &line]).current_dir(place.path("")).output().unwrap();
    assert!(out.status.success(), "{line}: {}", text(&out.stderr));
    assert_eq!(place.runs("with blank"), "7\n");
}

#[test]
fn response_files_nest_and_quote() {
    let place = Place::new("response");
    place.write("a b.c", HOST.replace("%d", "%d\" TEXT \""));
    place.write("outer.rsp", "@inner.rsp -o 'out put'\n");
    place.write("inner.rsp", "\"a b.c\"\n-DTEXT='\" x y\"'");
    place.compiles("@outer.rsp");
    assert_eq!(place.runs("out put"), "7 x y\n");
    place.write("own.rsp", "--show -c a.c");
    assert!(place.compiles("@own.rsp").contains(" -c a.c "));
    place.write("self.rsp", "@self.rsp");
    assert_eq!(place.fails("@self.rsp").lines().count(), 1);
    // Longer than a command line may be.
    place.write("empty_archive_with_a_name_of_some_length.a", "!<arch>\n");
    place.write(
        "many.rsp",
        format!(
            "-DTEXT=\\\"\\\" 'a b.c' -o many {}",
            "empty_archive_with_a_name_of_some_length.a\n".repeat(60_000)
        ),
    );
    place.compiles("@many.rsp");
    assert_eq!(place.runs("many"), "7\n");
}

#[test]
fn the_compiler_is_chosen_by_variables() {
    let place = Place::new("choice");
    place.write("a.c", HOST);
    let show = |variable: &str, value: &str, program: &str| {
        text(
            &place
                .command(program)
                .env(variable, value)
                .args(["--show", "-c", "a.c"])
                .output()
                .unwrap()
                .stdout,
        )
    };
    assert!(show("DUSHMEM_CC", "env gcc -g", "dushcc").contains("/env gcc -g -c a.c "));
    assert!(show("DUSHMEM_CXX", "env g++", "dushc++").contains("/env g++ -c a.c "));
    // Builds set CC to the wrapper itself.
    assert!(show("CC", "dushcc", "dushcc").contains("gcc -c a.c "));
    for value in ["no-such-compiler", &place.0.join("prefix/bin/dushcc").display().to_string()] {
        let out = place.command("dushcc").env("DUSHMEM_CC", value).args(["-c", "a.c"]).output().unwrap();
        let message = text(&out.stderr);
        assert_eq!((out.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        assert!(message.starts_with(&format!("dushcc: DUSHMEM_CC={value}")), "{message}");
    }
}

#[test]
fn the_compilers_exit_code_and_signal_are_passed_on() {
    let place = Place::new("codes");
    place.write("a.c", "int main(void) { return x; }\n");
    assert_eq!(place.dushcc(&["-c", "a.c"]).status.code(), Some(1));
    let compiler = place.0.join("compiler");
    let with = |script: &str| {
        fs::write(&compiler, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        place.command("dushcc").env("DUSHMEM_CC", &compiler).args(["-c", "a.c"]).status().unwrap()
    };
    assert_eq!(with("exit 42").code(), Some(42));
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&with("kill -TERM $$")), Some(15));
}

#[test]
fn outside_of_an_installation_it_says_so() {
    let place = Place::new("outside");
    fs::remove_file(place.0.join("prefix/include/dushmem.h")).unwrap();
    let message = place.fails("-c a.c");
    assert!(message.lines().count() == 1 && message.contains("xtask install"), "{message}");
}
