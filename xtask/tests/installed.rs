//! The installation, used as a user of it would.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools::installed;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[track_caller]
fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// A program as a job of the dushrun of an installation.
fn job(prefix: &Path, pes: usize, program: &Path) -> Outcome {
    Job::of(&prefix.join("bin/dushrun")).args(["-n", &pes.to_string()]).args([program]).run()
}

#[test]
fn the_ring_kernel_runs_on_any_number_of_pes() {
    let (prefix, folder) = (prefix(), Folder::new("ring"));
    let program = folder.join("ring");
    let source = root().join("examples/kernel/ring.hip.cpp");
    output(
        Command::new(prefix.join("bin/dushcc"))
            .args(["-O1", "-Wall", "-Wextra", "-Werror"])
            .arg(&source)
            .arg("-o")
            .arg(&program),
    );
    for pes in [1, 2, 3, 4, 7, 8, 16] {
        job(prefix, pes, &program).prints_ring(pes);
    }
    let expected = fs::read_to_string(root().join("examples/kernel/ring.expected")).unwrap();
    job(prefix, 4, &program).prints(expected.lines());
}

#[test]
fn a_kernel_source_needs_no_other_include() {
    let (prefix, folder) = (prefix(), Folder::new("bare"));
    let program = folder.join("bare");
    for compiler in ["g++", "clang++"].into_iter().filter(|compiler| installed(compiler)) {
        let mut compile = Command::new(prefix.join("bin/dushcc"));
        compile
            .env("DUSHMEM_CXX", compiler)
            .arg(root().join("xtask/tests/sources/bare.hip.cpp"))
            .arg("-o")
            .arg(&program);
        output(&mut compile);
        let lines =
            ["PE 0: total 1128, expected 1128", "PE 1: total 0, expected 0", "PE 2: total 0, expected 0"];
        job(prefix, 3, &program).prints(lines);
    }
}

#[test]
fn launches_of_every_kind_meet_the_real_headers() {
    let (prefix, folder) = (prefix(), Folder::new("launches"));
    let program = folder.join("launches");
    for (compiler, standard) in [("g++", "c++17"), ("g++", "gnu++20"), ("clang++", "c++17")] {
        if !installed(compiler) {
            continue;
        }
        let mut compile = Command::new(prefix.join("bin/dushcc"));
        compile.env("DUSHMEM_CXX", compiler).args([
            &format!("-std={standard}"),
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
        ]);
        output(compile.arg(root().join("xtask/tests/sources/launches.cu")).arg("-o").arg(&program));
        assert_eq!(
            output(&mut Command::new(&program)),
            "add 275\nzeros 1 1 7\nsum 2016\n",
            "{compiler} {standard}"
        );
    }
}

#[test]
fn a_moved_installation_works() {
    let folder = Folder::new("moved");
    let moved = folder.join("some where");
    output(Command::new("cp").arg("-a").arg(prefix()).arg(&moved));
    let sources = [root().join("examples/c/ring.c"), root().join("examples/kernel/ring.hip.cpp")];
    for (source, option) in sources.iter().flat_map(|source| [(source, "-O1"), (source, "--static-lib")]) {
        let program = folder.join("ring");
        output(Command::new(moved.join("bin/dushcc")).arg(option).arg(source).arg("-o").arg(&program));
        let used = output(Command::new("ldd").arg(&program));
        let from_there = used.contains(&*moved.join("lib").to_string_lossy());
        assert_eq!(from_there, option == "-O1", "{used}");
        job(&moved, 4, &program).prints_ring(4);
    }
}

#[test]
fn link_names_of_other_installations_work() {
    let (prefix, folder) = (prefix(), Folder::new("names"));
    let program = folder.join("ring");
    for family in ["dushmem", "nvshmem"] {
        let mut compile = Command::new("gcc");
        compile
            .arg("-I")
            .arg(prefix.join("include"))
            .arg(root().join("examples/c/ring.c"))
            .arg("-o")
            .arg(&program);
        compile.arg("-L").arg(prefix.join("lib")).arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
        output(compile.arg(format!("-l{family}_device")).arg(format!("-l{family}_host")));
        job(prefix, 2, &program).prints_ring(2);
    }
}

#[test]
fn pkg_config_gives_what_a_build_needs() {
    if !installed("pkg-config") {
        return;
    }
    let (prefix, folder) = (prefix(), Folder::new("pkg-config"));
    let mut query = Command::new("pkg-config");
    query.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(["--cflags", "--libs", "dushmem >= 0.1"]);
    let flags = output(&mut query);
    let program = folder.join("ring");
    let mut compile = Command::new("gcc");
    compile.arg(root().join("examples/c/ring.c")).args(flags.split_whitespace()).arg("-o").arg(&program);
    output(&mut compile);
    job(prefix, 4, &program).prints_ring(4);
}

#[test]
fn cmake_finds_the_package_and_builds_kernels() {
    if !installed("cmake") || !installed("make") {
        return;
    }
    let (prefix, folder) = (prefix(), Folder::new("cmake"));
    let source = folder.join("source");
    fs::create_dir_all(source.join("with blank")).unwrap();
    fs::copy(root().join("xtask/tests/sources/CMakeLists.txt"), source.join("CMakeLists.txt")).unwrap();
    fs::copy(root().join("examples/c/ring.c"), source.join("host.c")).unwrap();
    fs::write(source.join("with blank/value.h"), "#define VALUE (ANSWER + 1)\n").unwrap();
    fs::write(source.join("main.cpp"), "extern \"C\" int kernel();\nint main() { return kernel(); }\n")
        .unwrap();
    let kernel = "#include <dushmem.h>\n#include \"value.h\"\n__global__ void k(int *a) { *a = VALUE; }\n\
        extern \"C\" int kernel() { int a = 0; k<<<1, 1>>>(&a); cudaDeviceSynchronize(); printf(\"%d\\n\", a); return 0; }\n";
    fs::write(source.join("kernel.cu"), kernel).unwrap();
    fs::write(source.join("main.c"), "int kernel(void);\nint main(void) { return kernel(); }\n").unwrap();
    for name in ["ring.hip.cpp", "plain.cpp"] {
        fs::copy(root().join("examples/kernel/ring.hip.cpp"), source.join(name)).unwrap();
    }
    let build = folder.join("build");
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(&source)
        .arg("-B")
        .arg(&build)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    output(&mut configure);
    output(Command::new("cmake").arg("--build").arg(&build));
    job(prefix, 3, &build.join("host")).prints_ring(3);
    job(prefix, 2, &build.join("host_static")).prints_ring(2);
    assert_eq!(output(&mut Command::new(build.join("kernel"))), "43\n");
    job(prefix, 3, &build.join("alone")).prints_ring(3);
    job(prefix, 3, &build.join("alone_static")).prints_ring(3);
    assert!(!output(Command::new("ldd").arg(build.join("alone_static"))).contains("libdushmem"));
    assert_eq!(output(&mut Command::new(build.join("mixed"))), "21\n");
    // A changed header is seen.
    fs::write(source.join("with blank/value.h"), "#define VALUE (ANSWER + 2)\n").unwrap();
    output(Command::new("cmake").arg("--build").arg(&build));
    assert_eq!(output(&mut Command::new(build.join("kernel"))), "44\n");
}

#[test]
fn cmake_compiles_kernels_as_the_target_asks() {
    if !installed("cmake") || !installed("make") {
        return;
    }
    let folder = Folder::new("cmake-options");
    let (source, build) = (folder.join("source"), folder.join("build"));
    for (name, text) in [
        ("with blank/all.h", "#define ALL 1\n"),
        ("one/kernel.cu", OPTIONS_KERNEL),
        ("two/kernel.cu", "int two() { return 2; }\n"),
        ("../beside/kernel.cu", "int beside() { return 3; }\n"),
        ("main.cpp", "int one(), two(), beside();\nint main() { return one() - two() - beside(); }\n"),
    ] {
        fs::create_dir_all(source.join(name).parent().unwrap()).unwrap();
        fs::write(source.join(name), text).unwrap();
    }
    let project = include_str!("sources/options.cmake");
    let make = |project: &str| {
        fs::write(source.join("CMakeLists.txt"), project).unwrap();
        let prefix = format!("-DCMAKE_PREFIX_PATH={}", prefix().display());
        output(Command::new("cmake").arg("-S").arg(&source).arg("-B").arg(&build).arg(prefix));
        output(Command::new("cmake").arg("--build").arg(&build));
        output(&mut Command::new(build.join("program")))
    };
    assert_eq!(make(project), "202002 strict optimized a 'b\\ c  d\n");
    // The source's property, one of the features, and another option each have it compiled anew.
    let extended = project.replace("CXX_EXTENSIONS OFF", "CXX_EXTENSIONS ON");
    assert_eq!(make(&extended), "202002 extended optimized a 'b\\ c  d\n");
    assert_eq!(make(&extended.replace("OPTIONS", "OPTIONS -O0")), "202002 extended plain a 'b\\ c  d\n");
    let older = extended.replace("cxx_std_20", "cxx_std_11").replace("a 'b", "b");
    assert_eq!(make(&older), "201703 extended optimized b\\ c  d\n");
    let set = older.replace("PROPERTIES", "PROPERTIES CXX_STANDARD 20");
    assert_eq!(make(&set), "202002 extended optimized b\\ c  d\n");
    // Those of the configuration, of which a -O gives way.
    let release = "project(options C CXX)\nset(CMAKE_BUILD_TYPE Release)\nset(CMAKE_CXX_FLAGS_RELEASE \"-O0 -DNDEBUG\")";
    let release = project.replace("project(options C CXX)", release);
    assert_eq!(make(&release), "202002 strict plain unchecked a 'b\\ c  d\n");
    let optimized = release.replace("OPTIONS", "OPTIONS -O1");
    assert_eq!(make(&optimized), "202002 strict optimized unchecked a 'b\\ c  d\n");
    for object in ["one/kernel.cu.o", "two/kernel.cu.o", "__/beside/kernel.cu.o"] {
        assert!(build.join("program.kernels").join(object).exists(), "{object}");
    }
}

const OPTIONS_KERNEL: &str = r#"
#if !defined(OPTION) || defined(NO_OPTION) || !defined(FLAG) || !defined(LAST) || ALL != 1
#error "an option is missing"
#endif
#ifdef __STRICT_ANSI__
#define DIALECT "strict"
#else
#define DIALECT "extended"
#endif
#ifdef __OPTIMIZE__
#define SPEED "optimized"
#else
#define SPEED "plain"
#endif
#ifdef NDEBUG
#define CHECKS " unchecked"
#else
#define CHECKS ""
#endif
#include <cstdio>
__global__ void kernel() { printf("%ld %s %s%s %s %s\n", __cplusplus, DIALECT, SPEED, CHECKS, NAME, FLAG); }
int one() { kernel<<<1, 1>>>(); return 5 + cudaDeviceSynchronize(); }
"#;

/// A project with kernels for GPUs: what configuring it says, and its build folder.
fn cuda_project(folder: &Folder, lines: &str, nvcc: Option<&OsStr>) -> (bool, String, PathBuf) {
    let (source, build) = (folder.join("source"), folder.join("build"));
    fs::create_dir_all(&source).unwrap();
    let text = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(kernels CXX)\nfind_package(dushmem REQUIRED)\n{lines}"
    );
    fs::write(source.join("CMakeLists.txt"), text).unwrap();
    fs::copy(root().join("examples/kernel/ring.hip.cpp"), source.join("ring.hip.cpp")).unwrap();
    fs::write(source.join("value.h"), "#define VALUE 1\n").unwrap();
    let kernel = "#include \"value.h\"\n#include <dushmem.h>\n__global__ void k(int *a) { *a = VALUE; }\n\
        int main() { int *a = 0; k<<<1, 1>>>(a); return cudaDeviceSynchronize() != cudaSuccess; }\n";
    fs::write(source.join("kernel.cu"), kernel).unwrap();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display()));
    for name in ["DUSHMEM_NVCC", "CUDA_HOME", "CUDA_PATH"] {
        configure.env_remove(name);
    }
    if let Some(nvcc) = nvcc {
        configure.env("DUSHMEM_NVCC", nvcc);
    }
    let done = configure.output().expect("cmake starts");
    let said = String::from_utf8_lossy(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    (done.status.success(), said, build)
}

#[test]
fn cmake_says_what_kernels_for_gpus_lack() {
    if !installed("cmake") || !installed("make") {
        return;
    }
    let refused = |name: &str, lines: &str, nvcc: Option<&OsStr>, parts: &[&str]| {
        let folder = Folder::new(&format!("cmake-{name}"));
        let (good, said, _) = cuda_project(&folder, &format!("add_executable(a)\n{lines}\n"), nvcc);
        assert!(!good && parts.iter().all(|part| said.contains(part)), "{name}: {said}");
    };
    let cuda = "dushmem_add_kernels(a kernel.cu DEVICE cuda)";
    if !installed("nvcc") && !Path::new("/usr/local/cuda/bin/nvcc").exists() {
        refused("none", cuda, None, &["DEVICE cuda needs nvcc", "DUSHMEM_NVCC"]);
    }
    // Anything that runs, without a toolkit around it.
    let folder = Folder::new("cmake-bare");
    fs::copy("/bin/true", folder.join("nvcc")).unwrap();
    if !Path::new("/usr/lib/x86_64-linux-gnu/libcudart_static.a").exists() {
        let bare = folder.join("nvcc");
        refused("bare", cuda, Some(bare.as_os_str()), &["libcudart_static.a", "-Ddushmem_CUDART"]);
    }
    refused(
        "other",
        "dushmem_add_kernels(a kernel.cu DEVICE rocm)",
        None,
        &["DEVICE rocm: there are cpu and cuda"],
    );
    let both = "dushmem_add_kernels(a ring.hip.cpp)\nset(dushmem_NVCC nvcc)\ndushmem_add_kernels(a kernel.cu DEVICE cuda)";
    refused("both", both, None, &["a has kernels for cpu, and can't have some for cuda"]);
    let missing = "dushmem_add_kernels(a ring.hip.cpp below/missing.cu)";
    refused("missing", missing, None, &["below/missing.cu: there is no such file in"]);
    refused("no-sources", "dushmem_add_kernels(a DEVICE cpu)", None, &["no sources for a"]);
}

#[test]
fn cmake_builds_kernels_for_gpus() {
    let Some(nvcc) = std::env::var_os("DUSHMEM_NVCC") else {
        println!("skipped: DUSHMEM_NVCC names no nvcc");
        return;
    };
    if !installed("cmake") || !installed("make") {
        return;
    }
    let folder = Folder::new("cmake-cuda");
    let lines = "add_executable(ring)\n\
        dushmem_add_kernels(ring ring.hip.cpp DEVICE cuda OPTIONS -arch=sm_90)\n\
        add_executable(static)\n\
        target_link_libraries(static PRIVATE dushmem::static)\n\
        dushmem_add_kernels(static kernel.cu DEVICE cuda OPTIONS -arch=sm_90 -lineinfo -O3)\n\
        set_target_properties(static PROPERTIES CXX_STANDARD 20)\n\
        target_compile_options(static PRIVATE -Wextra $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused-parameter>)\n";
    let (good, said, build) = cuda_project(&folder, lines, Some(&nvcc));
    assert!(good, "{said}");
    // With nothing to say of nvcc's, to which -O2 and -O3 together are a mistake.
    let make = || {
        let made = Command::new("cmake").arg("--build").arg(&build).output().unwrap();
        assert!(made.status.success() && made.stderr.is_empty(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    make();
    let with_code = |name: &str| {
        let program = fs::read(build.join(name)).unwrap();
        program.windows(10).any(|part| part == b".nv_fatbin")
    };
    assert!(with_code("ring") && with_code("static"));
    let libraries = |name: &str| output(Command::new("ldd").arg(build.join(name)));
    assert!(libraries("ring").contains("libdushmem.so.0") && !libraries("static").contains("libdushmem"));
    // It looks for the driver, which it is told is elsewhere.
    let mut job = Command::new(prefix().join("bin/dushrun"));
    job.args(["-n", "2"]).arg(build.join("ring")).env("DUSHMEM_CUDA_LIBRARY", folder.join("none.so"));
    let ran = job.env("DUSHMEM_DEVICE", "cuda").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success() && said.contains("none.so"), "{said}");
    // A changed header is seen.
    let object = build.join("static.kernels/kernel.cu.o");
    let before = fs::read(&object).unwrap();
    fs::write(folder.join("source/value.h"), "#define VALUE 2\n").unwrap();
    make();
    assert!(fs::read(&object).unwrap() != before);
}

#[test]
fn the_ring_kernel_compiles_with_nvcc() {
    let Some(nvcc) = std::env::var_os("DUSHMEM_NVCC") else {
        println!("skipped: DUSHMEM_NVCC names no nvcc");
        return;
    };
    let (prefix, folder) = (prefix(), Folder::new("nvcc"));
    let include = prefix.join("include");
    for separate in ["false", "true"] {
        let mut compile = Command::new(&nvcc);
        compile.args(["-x", "cu", "-arch=sm_90", "-std=c++17", "-c", &format!("-rdc={separate}")]);
        compile.arg("-I").arg(&include).arg("-I").arg(include.join("dushmem/nvcc"));
        compile.arg(root().join("examples/kernel/ring.hip.cpp")).arg("-o").arg(folder.join("ring.o"));
        output(&mut compile);
    }
}

#[test]
fn the_list_of_installed_files_is_whole() {
    let prefix = prefix();
    let list = fs::read_to_string(prefix.join("lib/dushmem/installed")).expect("the list of installed files");
    let missing: Vec<&str> =
        list.lines().filter(|file| fs::symlink_metadata(prefix.join(file)).is_err()).collect();
    assert!(missing.is_empty() && list.lines().count() > 40, "{missing:?}");
}
