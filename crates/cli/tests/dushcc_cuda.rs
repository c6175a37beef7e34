//! dushcc --device=cuda: with a program that takes nvcc's place and tells how it was called, and with nvcc where there
//! is one.
mod dushcc_support;
use dushcc_support::{HOST, KERNEL, Place, text};
use dushmem_testkit::{installation, tools};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Notes down each call, a line a word, and makes the output file; `sleep` and `fail` among the words are obeyed.
const STAND_IN: &str = "#!/bin/sh\n{ echo call; for word; do echo \"$word\"; done; } >> log\n\
    while [ $# -gt 0 ]; do case \"$1\" in -o) shift; : > \"$1\";; -DFAIL) echo 'a.cu(1): error: failed' >&2; exit 2;; esac; shift; done\n";

struct Cuda(Place);

impl Cuda {
    fn new(name: &str) -> Cuda {
        let place = Place::new(&format!("cuda-{name}"));
        let nvcc = place.0.join("nvcc");
        fs::write(&nvcc, STAND_IN).expect("written");
        fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755)).expect("executable");
        Cuda(place)
    }

    fn run(&self, program: &str, line: &str) -> Output {
        let _ = fs::remove_file(self.0.path("log"));
        let mut command = self.0.command(program);
        command.env("DUSHMEM_NVCC", self.0.0.join("nvcc")).arg("--device=cuda");
        let out = command.args(line.split(' ')).output().expect("dushcc starts");
        self.0.is_clean();
        out
    }

    /// nvcc's calls, with names of this test's folders as PREFIX and TMP, and without what every call begins with.
    #[track_caller]
    fn calls_of(&self, program: &str, line: &str) -> Vec<String> {
        let out = self.run(program, line);
        assert!(out.status.success(), "dushcc {line}: {}", text(&out.stderr));
        let prefix = self.0.0.join("prefix").canonicalize().expect("there").display().to_string();
        let tmp = format!("{}/dushcc-", self.0.0.join("tmp").display());
        let log = self.0.read("log").replace(&prefix, "PREFIX").replace(&tmp, "TMP-");
        let calls = log.split("call\n").skip(1);
        calls
            .map(|call| {
                let line = call.trim_end().replace('\n', " ");
                let line = line.replace("-I PREFIX", "-IPREFIX");
                let line = line.replace("-IPREFIX/include -IPREFIX/include/dushmem/nvcc", "INC");
                let line = line.replace(
                    "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
                     -gencode arch=compute_90,code=compute_90",
                    "CODE",
                );
                let line = line.replace("-LPREFIX/lib -Xlinker -rpath -Xlinker PREFIX/lib -ldushmem", "LIB");
                let rest = line.strip_prefix("-forward-unknown-to-host-compiler ");
                rest.unwrap_or_else(|| panic!("{line}")).to_owned()
            })
            .collect()
    }

    #[track_caller]
    fn calls(&self, line: &str) -> Vec<String> {
        self.calls_of("dushcc", line)
    }

    #[track_caller]
    fn fails(&self, line: &str) -> String {
        let out = self.run("dushcc", line);
        assert!(!out.status.success(), "dushcc {line} has succeeded");
        text(&out.stderr)
    }
}

#[test]
fn one_source_is_one_call() {
    let cuda = Cuda::new("one");
    assert_eq!(cuda.calls("-O2 a.cu -o prog -lm"), ["-std=c++17 INC CODE -O2 a.cu -o prog -lm LIB"]);
    assert_eq!(
        cuda.calls("a.hip.cpp"),
        ["-x cu -include hip/hip_runtime.h -std=c++17 INC CODE a.hip.cpp LIB"]
    );
    assert_eq!(cuda.calls("-c a.cu.cc -g"), ["-x cu -std=c++17 INC CODE -c a.cu.cc -g"]);
    assert_eq!(cuda.calls("-x cuda a.cpp -c"), ["-x cu -std=c++17 INC CODE a.cpp -c"]);
    assert_eq!(
        cuda.calls("-x hip a.cpp -c -DX=1"),
        ["-x cu -include hip/hip_runtime.h -std=c++17 INC CODE a.cpp -c -DX=1"]
    );
    assert_eq!(cuda.calls("-c a.c"), ["-x c INC CODE -c a.c"]);
    assert_eq!(cuda.calls_of("dushc++", "-c a.c"), ["-x c++ INC CODE -c a.c"]);
    assert_eq!(cuda.calls("a.o b.a -o prog"), ["CODE a.o b.a -o prog LIB"]);
    assert_eq!(cuda.calls("a.cu b.o"), ["-std=c++17 INC CODE a.cu b.o LIB"]);
}

#[test]
fn the_users_choices_stand() {
    let cuda = Cuda::new("choices");
    for choice in
        ["-arch=sm_80", "-arch sm_80", "-gencode arch=compute_90,code=sm_90", "--gpu-architecture=sm_90"]
    {
        assert_eq!(cuda.calls(&format!("{choice} -c a.cu")), [format!("-std=c++17 INC {choice} -c a.cu")]);
    }
    assert_eq!(cuda.calls("-std=c++20 -c a.cu"), ["INC CODE -std=c++20 -c a.cu"]);
    assert_eq!(cuda.calls("-std=gnu++20 -c a.cu"), ["INC CODE -std=c++20 -c a.cu"]);
    assert_eq!(cuda.calls("-std c++11 -c a.cu"), ["INC CODE -std=c++14 -c a.cu"]);
    let out = cuda.run("dushcc", "--verbose -std=gnu++11 -c a.cu");
    assert!(text(&out.stderr).contains("note: `-std=gnu++11`: for kernels c++14 is taken instead\n"));
    assert_eq!(cuda.calls("-std=c11 -c a.c"), ["-x c INC CODE -Xcompiler -std=c11 -c a.c"]);
    assert_eq!(cuda.calls("-rdc=true -c a.cu"), ["-std=c++17 INC CODE -rdc=true -c a.cu"]);
    assert_eq!(cuda.calls("-dc a.cu"), ["-std=c++17 INC CODE -dc a.cu"]);
    // Some results are for one kind of GPU.
    assert_eq!(cuda.calls("-ptx a.cu"), ["-std=c++17 INC -arch=compute_80 -ptx a.cu"]);
    assert_eq!(cuda.calls("-cubin a.cu -o x"), ["-std=c++17 INC -arch=sm_90 -cubin a.cu -o x"]);
}

#[test]
fn sources_of_several_kinds_get_their_calls() {
    let cuda = Cuda::new("several");
    let calls =
        cuda.calls("-O2 -std=c++17 -DX -rdc=true -lineinfo main.c k.hip.cpp other.o -o prog -lm -MMD");
    assert_eq!(calls.len(), 3, "{calls:?}");
    let (c, hip, link) = (&calls[0], &calls[1], &calls[2]);
    assert!(c.starts_with("-x c INC CODE -O2 -DX -rdc=true -lineinfo -MMD main.c -c -o TMP-"), "{c}");
    assert!(c.ends_with("/main.o -MF main.d -MT main.o"), "{c}");
    assert!(
        hip.starts_with(
            "-x cu -include hip/hip_runtime.h INC CODE -O2 -std=c++17 -DX -rdc=true -lineinfo -MMD k.hip.cpp -c -o TMP-"
        ),
        "{hip}"
    );
    // Device code that is relocatable is linked by nvcc, for the same GPUs.
    assert!(link.starts_with("CODE -O2 -DX -rdc=true -lineinfo TMP-"), "{link}");
    assert!(link.ends_with("/k.hip.o other.o -o prog -lm LIB"), "{link}");
    let calls = cuda.calls("-c a.hip b.cu");
    assert_eq!(calls.len(), 2);
    assert!(calls[1].ends_with("CODE -c b.cu"), "{calls:?}");
    assert!(cuda.fails("-c a.cu b.cu -o both.o").contains("-o names one file"));
}

#[test]
fn the_host_compiler_and_the_archive_can_be_named() {
    let cuda = Cuda::new("named");
    let mut command = cuda.0.command("dushcc");
    command.env("DUSHMEM_NVCC", cuda.0.0.join("nvcc")).env("DUSHMEM_CXX", "g++ -pipe");
    let out = command.args(["--device=cuda", "--static-lib", "a.cu"]).output().expect("dushcc starts");
    assert!(out.status.success(), "{}", text(&out.stderr));
    let log = cuda.0.read("log").replace('\n', " ");
    assert!(log.contains("-ccbin ") && log.contains("g++ -Xcompiler -pipe "), "{log}");
    assert!(log.contains("/prefix/lib/libdushmem.a -lutil -lrt") && !log.contains("-ldushmem"), "{log}");
}

#[test]
fn the_archive_is_no_source() {
    let cuda = Cuda::new("archive");
    let calls = cuda.calls("--static-lib a.hip -o prog");
    assert!(
        calls.len() == 2 && calls[0].starts_with("-x cu ") && !calls[0].contains("libdushmem.a"),
        "{calls:?}"
    );
    assert!(!calls[1].contains("-x cu") && calls[1].contains("PREFIX/lib/libdushmem.a -lutil"), "{calls:?}");
    assert_eq!(cuda.calls("--static-lib a.cu -o prog").len(), 1);
    assert_eq!(cuda.calls("--static-lib -c a.hip").len(), 1);
}

#[test]
fn what_is_shown() {
    let cuda = Cuda::new("shown");
    let shown = |line: &str| {
        let out = cuda.run("dushcc", line);
        assert!(out.status.success() && !cuda.0.exists("log"), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let calls = shown("--show a.hip b.cu -o prog");
    assert_eq!(calls.lines().count(), 3, "{calls}");
    assert!(calls.lines().all(|line| line.contains("/nvcc -forward-unknown")), "{calls}");
    assert!(shown("--show:compile").contains("/include/dushmem/nvcc\n"));
    assert!(shown("--show:link").trim_end().ends_with("-ldushmem"));
    assert!(shown("--show:command").trim_end().ends_with("/nvcc"));
    let out = cuda.run("dushcc", "--verbose -fdushmem-os-threads --offload-arch=gfx906 -c a.cu");
    assert_eq!(text(&out.stderr).matches("dushcc: note: ").count(), 2, "{}", text(&out.stderr));
}

#[test]
fn failures_are_one_line_or_nvccs() {
    let cuda = Cuda::new("failures");
    let out = cuda.run("dushcc", "-DFAIL a.hip b.cu -o prog");
    assert_eq!((out.status.code(), text(&out.stderr)), (Some(2), "a.cu(1): error: failed\n".into()));
    assert_eq!(cuda.0.read("log").matches("call\n").count(), 1, "nothing is linked");
    for (line, word) in [("-static a.cu", "--static-lib"), ("-S a.cu", "-ptx"), ("-fsyntax-only a.cu", "-c")]
    {
        let message = cuda.fails(line);
        assert!(message.lines().count() == 1 && message.contains(word), "{message}");
    }
    let message = cuda.0.fails("--device=rocm a.cu");
    assert_eq!(message, "dushcc: --device=rocm: kernels are compiled for --device=cpu or --device=cuda\n");
    assert!(cuda.0.fails("--device cuda a.cu").contains("--device=cuda"));
    let mut command = cuda.0.command("dushcc");
    command
        .env("PATH", cuda.0.path("none"))
        .env_remove("CUDA_HOME")
        .env_remove("CUDA_PATH")
        .env_remove("DUSHMEM_NVCC");
    if !Path::new("/usr/local/cuda").exists() {
        let out = command.args(["--device=cuda", "a.cu"]).output().expect("dushcc starts");
        let message = text(&out.stderr);
        assert!(
            message.starts_with("dushcc: --device=cuda needs nvcc") && message.lines().count() == 1,
            "{message}"
        );
    }
}

#[test]
fn kernels_for_both_devices_are_not_mixed() {
    let cuda = Cuda::new("mixing");
    let place = &cuda.0;
    let for_cpu = "namespace dushmem { namespace emu { unsigned &unit_kinds() { static unsigned kinds; return kinds; } } }\n\
                   int dushmem_emu_launches;\n";
    place.write("cpu.cu", format!("{for_cpu}{KERNEL}"));
    place.write("gpu.c", "void __cudaUnregisterFatBinary(void) {}\n");
    place.write("host.c", HOST);
    place.compiles("-c cpu.cu gpu.c host.c");
    let message = cuda.fails("host.o cpu.o -o prog");
    assert!(message.starts_with("dushcc: cpu.o: holds kernels compiled for the CPU"), "{message}");
    assert_eq!(cuda.calls("host.o gpu.o -o prog").len(), 1);
    for line in [
        "cpu.o gpu.o -o prog",
        "cpu.cu gpu.o -o prog",
        "cpu.o gpu.o -o prog -lcudart",
        "host.o gpu.o -o prog",
    ] {
        let message = place.fails(line);
        assert!(message.starts_with("dushcc: gpu.o: holds kernels compiled for GPUs"), "{line}: {message}");
        assert!(message.contains("--device=cuda") && message.lines().count() == 1, "{message}");
    }
    // Whoever links CUDA's runtime means it, and the library's archive is for both.
    place.write("runtime.c", "int unused;\n");
    place.compiles("-shared -fPIC runtime.c -o libcudart.so");
    place.compiles("host.o gpu.o -L. -lcudart -o host");
    place.compiles("host.o gpu.o libcudart.so -o host");
    let archive = place.0.join("prefix/lib/libdushmem.a");
    fs::write(place.path("state.c"), "int dushmem_emu_state;\n").expect("written");
    place.compiles("-c state.c");
    let added = Command::new("ar").arg("r").arg(&archive).arg(place.path("state.o")).output().expect("ar");
    assert!(added.status.success());
    assert_eq!(cuda.calls(&format!("gpu.o {} -o prog", archive.display())).len(), 1);
}

/// A real nvcc, or none, which is said.
fn nvcc() -> Option<std::path::PathBuf> {
    let found = tools::nvcc();
    if found.is_none() {
        eprintln!("skipped: there is no nvcc; set DUSHMEM_NVCC");
    }
    found
}

/// Runs the installed dushcc for CUDA. There must be no warnings either.
#[track_caller]
fn really(nvcc: &Path, at: &Path, line: &str) -> String {
    let mut command = Command::new(installation::prefix().join("bin/dushcc"));
    command.current_dir(at).env("DUSHMEM_NVCC", nvcc).arg("--device=cuda");
    let out = command.args(line.split(' ')).output().expect("dushcc starts");
    let said = text(&out.stderr) + &text(&out.stdout);
    assert!(out.status.success() && !said.contains("warning"), "dushcc --device=cuda {line}\n{said}");
    said
}

#[test]
fn nvcc_builds_the_articles_listing_as_it_stands() {
    let Some(nvcc) = nvcc() else { return };
    let place = Place::new("listing");
    let listing = installation::root().join("tests/kernels/simple_shift.hip.cpp");
    fs::copy(listing, place.path("simple_shift.hip.cpp")).expect("copied");
    really(&nvcc, &place.path(""), "simple_shift.hip.cpp -O2 -Wall -Wextra -o simple_shift");
    let program = fs::read(place.path("simple_shift")).expect("a program");
    for part in [&b"sm_80"[..], b"sm_90", b"libdushmem.so"] {
        assert!(program.windows(part.len()).any(|window| window == part), "{}", text(part));
    }
}

#[test]
fn nvcc_builds_programs_of_several_sources() {
    let Some(nvcc) = nvcc() else { return };
    let place = Place::new("nvcc-several");
    place.write(
        "main.c",
        "int go(void);\nint helper(void) { int class = 1; return class; }\nint main(void) { return go(); }\n",
    );
    place.write(
        "k.cu",
        "#include <dushmem.h>\n__device__ int twice(int);\n__global__ void k(int *a) { *a = twice(dushmem_my_pe()); }\n\
         extern \"C\" int helper(void);\n\
         extern \"C\" int go() { int *a = nullptr; k<<<1, 1>>>(a); return helper(); }\n",
    );
    place.write("lib/device.hip", "#include \"part.h\"\n__device__ int twice(int a) { return PART * a; }\n");
    place.write("lib/part.h", "#define PART 2\n");
    place.write(
        "runtime.cpp",
        "#include <cuda_runtime.h>\nint devices() { int n = 0; cudaGetDeviceCount(&n); return n; }\n",
    );
    let folder = place.path("");
    really(
        &nvcc,
        &folder,
        "-arch=sm_90 -rdc=true -Og -pthread -Wl,-z,now -iquote lib main.c k.cu lib/device.hip runtime.cpp -o prog -lm -MMD",
    );
    assert!(place.read("k.d").starts_with("k.o"), "{}", place.read("k.d"));
    assert!(place.read("device.d").contains("part.h"), "{}", place.read("device.d"));
    // The same in two steps, with other names of the device's libraries, as a plug-in.
    really(&nvcc, &folder, "-arch=sm_90 -dc -Xcompiler -fPIC k.cu lib/device.hip");
    really(&nvcc, &folder, "-arch=sm_90 -c -Xcompiler -fPIC main.c runtime.cpp");
    really(&nvcc, &folder, "-arch=sm_90 k.o device.o main.o runtime.o -shared -o plug.so -ldushmem_device");
    let error = Command::new(installation::prefix().join("bin/dushcc"))
        .current_dir(&folder)
        .args(["k.o", "device.o", "main.o", "-o", "cpu"])
        .output()
        .expect("dushcc starts");
    assert!(
        text(&error.stderr).starts_with("dushcc: k.o: holds kernels compiled for GPUs"),
        "{}",
        text(&error.stderr)
    );
}
