//! Build files of other projects, which look for OpenSHMEM and NVSHMEM under their usual names, meet an
//! installation made with `--compat-names`.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools::installed;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As typed by somebody who has the installation's programs in the PATH.
fn command(prefix: &Path, program: &str, at: &Path) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(prefix.join("bin")).chain(std::env::split_paths(&path));
    let mut command = Command::new(program);
    command.env("PATH", std::env::join_paths(all).unwrap()).current_dir(at);
    command
}

#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}

fn oshrun(prefix: &Path, pes: usize, program: &Path) -> Outcome {
    Job::of(&prefix.join("bin/oshrun")).args(["-np", &pes.to_string()]).args([program]).run()
}

/// A folder with the ring as C, and as C++.
fn project(name: &str) -> Folder {
    let folder = Folder::new(name);
    for file in ["ring.c", "ring.cc"] {
        fs::copy(root().join("examples/c/ring.c"), folder.join(file)).unwrap();
    }
    folder
}

const MAKEFILE: &str = "
CC = oshcc
CXX = oshc++
CFLAGS = -O1 -Wall -Wextra -Werror
CXXFLAGS = $(CFLAGS)
all: ring ring-cc ring-CC
ring: ring.o
\t$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
ring-cc: ring.cc
\t$(CXX) $(CXXFLAGS) -o $@ $^
ring-CC: ring.cc
\toshCC $(CXXFLAGS) -o $@ -x c++ $^
";

#[test]
fn a_makefile_with_the_wrappers() {
    if !installed("make") {
        return;
    }
    let (prefix, folder) = (prefix(), project("compat-make"));
    fs::write(folder.join("Makefile"), MAKEFILE).unwrap();
    output(command(prefix, "make", folder.path()).env_remove("MAKEFLAGS"));
    for name in ["ring", "ring-cc", "ring-CC"] {
        oshrun(prefix, 4, &folder.join(name)).prints_ring(4);
    }
    let shown = output(command(prefix, "oshcc", folder.path()).arg("--showme:link"));
    assert!(shown.contains("-ldushmem"), "{shown}");
}

/// Compiles the ring by the system's compiler with these options.
#[track_caller]
fn compiled(folder: &Folder, prefix: &Path, options: &[&str]) -> PathBuf {
    let program = folder.join(options.concat().replace(['/', ' '], "_"));
    let mut compile = Command::new("gcc");
    compile.arg("-I").arg(prefix.join("include")).arg(folder.join("ring.c")).arg("-o").arg(&program);
    compile.arg("-L").arg(prefix.join("lib")).arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    output(compile.args(options));
    program
}

#[test]
fn libraries_under_other_names() {
    let (prefix, folder) = (prefix(), project("compat-libraries"));
    for name in ["-lshmem", "-lsma", "-loshmem", "-lnvshmem"] {
        oshrun(prefix, 3, &compiled(&folder, prefix, &[name])).prints_ring(3);
        let archive = format!("-l:lib{}.a", &name[2..]);
        let needed = ["-pthread", "-lutil", "-lrt", "-ldl", "-lm"];
        let program = compiled(&folder, prefix, &[&[archive.as_str()], &needed[..]].concat());
        oshrun(prefix, 3, &program).prints_ring(3);
        assert!(!output(Command::new("ldd").arg(&program)).contains("libdushmem"), "{name} is not static");
    }
}

#[test]
fn pkg_config_knows_them() {
    if !installed("pkg-config") {
        return;
    }
    let (prefix, folder) = (prefix(), project("compat-pkg-config"));
    for (name, version) in [("shmem", "1.6"), ("sma", "1.5"), ("oshmem", "1.4"), ("nvshmem", "3.0")] {
        let mut query = Command::new("pkg-config");
        query.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        let flags = output(query.args(["--cflags", "--libs", &format!("{name} >= {version}")]));
        let program = folder.join(name);
        let mut compile = Command::new("gcc");
        compile.arg(folder.join("ring.c")).args(flags.split_whitespace()).arg("-o").arg(&program);
        output(&mut compile);
        oshrun(prefix, 2, &program).prints_ring(2);
    }
}

const CMAKE: &str = "
cmake_minimum_required(VERSION 3.16)
project(other C CXX)
find_package(NVSHMEM 3.0 REQUIRED)
foreach(target nvshmem nvshmem_host)
  add_executable(${target} ring.c)
  target_link_libraries(${target} PRIVATE nvshmem::${target} nvshmem::nvshmem_device)
endforeach()
find_library(SHMEM_LIBRARY shmem REQUIRED)
find_path(SHMEM_INCLUDE_DIR shmem.h REQUIRED)
add_executable(shmem ring.cc)
target_include_directories(shmem PRIVATE ${SHMEM_INCLUDE_DIR})
target_link_libraries(shmem PRIVATE ${SHMEM_LIBRARY})
";

#[test]
fn cmake_finds_them() {
    if !installed("cmake") || !installed("make") {
        return;
    }
    // In another place than where it was made.
    let folder = project("compat-cmake");
    let moved = folder.join("some where");
    output(Command::new("cp").arg("-a").arg(prefix()).arg(&moved));
    fs::write(folder.join("CMakeLists.txt"), CMAKE).unwrap();
    let build = folder.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(folder.path()).arg("-B").arg(&build);
    output(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", moved.display())));
    output(Command::new("cmake").arg("--build").arg(&build));
    for name in ["nvshmem", "nvshmem_host", "shmem"] {
        oshrun(&moved, 2, &build.join(name)).prints_ring(2);
    }
}
