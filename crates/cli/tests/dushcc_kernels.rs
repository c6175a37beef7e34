//! dushcc on sources with kernels.
mod dushcc_support;
use dushcc_support::{HOST, KERNEL, Place, text};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn kernels_are_known_by_name_and_by_language() {
    let place = Place::new("names");
    for name in ["a.cu", "b.hip", "c.hip.cpp", "d.cu.cpp"] {
        place.write(name, KERNEL);
        place.compiles(&format!("{name} -o prog"));
        assert_eq!(place.runs("prog"), "k[1,1,1|1|0] 8\n", "{name}");
    }
    place.write("e.cpp", KERNEL);
    for language in ["hip", "cuda"] {
        place.compiles(&format!("-x {language} e.cpp -o prog2 -Wall -Werror"));
        assert_eq!(place.runs("prog2"), "k[1,1,1|1|0] 8\n");
    }
    assert!(place.fails("-c e.cpp").contains("e.cpp:5:"));
}

#[test]
fn default_names_of_results() {
    let place = Place::new("results");
    // By this name of the library's interface objects with kernels are known.
    place.write("src/a.hip.cpp", format!("int dushmem_emu_launches;\n{KERNEL}"));
    place.compiles("-c src/a.hip.cpp");
    place.compiles("-S src/a.hip.cpp");
    assert!(place.exists("a.hip.o") && place.exists("a.hip.s"));
    place.compiles("src/a.hip.cpp");
    assert_eq!(place.runs("a.out"), "k[1,1,1|1|0] 8\n");
    // An object with kernels needs the C++ library, also when the C wrapper links it.
    place.compiles("a.hip.o -o linked -lcudart");
    assert_eq!(place.runs("linked"), "k[1,1,1|1|0] 8\n");
}

#[test]
fn mixed_sources_get_their_own_compilers() {
    let place = Place::new("mixed");
    place.write(
        "main.c",
        "int go(void);\nint helper(void) { int class = 1; return class; }\nint main(void) { return go(); }\n",
    );
    place.write(
        "k.cu",
        "#include <dushmem.h>\nextern \"C\" int helper(void);\n__global__ void k(int *a) { *a = helper(); }\n\
        extern \"C\" int go() { int a = 0; k<<<1, 1>>>(&a); std::printf(\"%d\\n\", a); return 0; }\n",
    );
    place.compiles("-std=c++17 -O1 -DX=1 main.c k.cu -o prog -lm -MMD");
    assert_eq!(place.runs("prog"), "k[1,1,1|1|0] 1\n");
    assert!(place.read("k.d").starts_with("k.o: k.cu"), "{}", place.read("k.d"));
    place.compiles("-std=c11 -c main.c k.cu");
    place.compiles("main.o k.o -o prog2");
    assert_eq!(place.runs("prog2"), "k[1,1,1|1|0] 1\n");
    let message = place.fails("-c main.c k.cu -o both.o");
    assert_eq!(message.lines().count(), 1, "{message}");
    let shown = place.compiles("--show main.c k.cu -o prog");
    assert_eq!(shown.lines().count(), 3, "{shown}");
}

#[test]
fn headers_in_quotes_are_rewritten_where_they_launch() {
    let place = Place::new("headers");
    place.write("src/main.cu", "#include \"lib/outer.h\"\n#include \"plain.h\"\n#include \"plain2.h\"\nint main() { go(); std::printf(\"%d %s\\n\", PLAIN + PLAIN2, __FILE__); }\n");
    // Includes what launches, and comes back to itself.
    place.write("src/lib/outer.h", "#pragma once\n#include \"outer.h\"\n#include \"launch.h\"\n#include \"beside.h\"\n#include <angle.h>\n\
        inline void go() { run(BESIDE); angle(1); }\n");
    place.write("src/lib/launch.h", "#pragma once\n__global__ void k(int a) { std::printf(\"<%d>\", a); }\ninline void run(int a) {\n  k<<<1,\n  1>>>(a);\n}\n");
    place.write("src/lib/beside.h", "#define BESIDE 5\n");
    place.write(
        "include/angle.h",
        "#include \"lib/launch.h\"\ninline void angle(int a) { k<<<1, 1>>>(a); }\n",
    );
    place.write("include/lib/launch.h", "#error the wrong one\n");
    place.write("quoted/plain2.h", "#define PLAIN2 20\n");
    place.write("src/plain.h", "#define PLAIN 1\n");
    // angle.h finds lib/launch.h beside itself, as the compiler would.
    place.write("include/lib/launch.h", "#include \"../../src/lib/launch.h\"\n");
    place.compiles("-Iinclude -iquote quoted src/main.cu -o prog -MD -MF deps -g -Wall -Werror");
    assert_eq!(place.runs("prog"), "k[1,1,1|1|0] <5>k[1,1,1|1|0] <1>21 src/main.cu\n");
    let deps = place.read("deps");
    for name in [
        "src/main.cu",
        "src/lib/outer.h",
        "src/lib/launch.h",
        "src/lib/beside.h",
        "src/plain.h",
        "include/angle.h",
        "quoted/plain2.h",
    ] {
        assert!(deps.contains(name), "{name}: {deps}");
    }
    let tmp = place.0.join("tmp").display().to_string();
    assert!(!deps.contains(&tmp), "{deps}");
    let program = std::fs::read(place.path("prog")).unwrap();
    assert!(
        !program.windows(tmp.len()).any(|window| window == tmp.as_bytes()),
        "debug information names {tmp}"
    );
    assert!(!place.compiles("-E -Iinclude -iquote quoted src/main.cu").contains(&tmp));
    assert!(!place.compiles("-MM -Iinclude -iquote quoted src/main.cu").contains(&tmp));
}

#[test]
fn messages_name_the_users_files_and_lines() {
    let place = Place::new("messages");
    place.write(
        "src/a.cu",
        "#include \"b.h\"\n\n__global__ void k(int) {}\nvoid f() {\n  k<<<1, 1>>>(1);\n  wrong;\n}\n",
    );
    place.write("src/b.h", "inline void g() {\n  also_wrong;\n}\n");
    let message = place.fails("-c src/a.cu");
    assert!(message.contains("src/a.cu:6:") && message.contains("src/b.h:2:"), "{message}");
    assert!(!message.contains(&place.0.join("tmp").display().to_string()), "{message}");
    place.write("src/b.h", "inline void g() {\n  k<<<1, 2;\n}\n");
    assert_eq!(
        place.fails("-c src/a.cu"),
        "dushcc: src/b.h:2: error: `<<<` opens a launch, but no `>>>(` closes it\n"
    );
    assert_eq!(place.fails("-c none.cu").lines().count(), 1);
}

#[test]
fn options_of_device_compilers_are_accepted() {
    let place = Place::new("options");
    place.write("a.cu", KERNEL);
    let out = place.dushcc(&[
        "--verbose",
        "-arch=sm_90",
        "-gencode",
        "arch=compute_80,code=sm_80",
        "--offload-arch=gfx906",
        "-rdc=true",
        "--expt-relaxed-constexpr",
        "-Xcompiler",
        "-Wall,-Werror",
        "-std=c++14",
        "a.cu",
        "-o",
        "prog",
        "-lcudart",
        "-ldushmem_device",
    ]);
    let notes = text(&out.stderr);
    assert!(out.status.success(), "{notes}");
    assert_eq!(notes.matches("dushcc: note: ").count(), 8, "{notes}");
    assert_eq!(place.runs("prog"), "k[1,1,1|1|0] 8\n");
    // Host programs may mean the real thing.
    place.write("b.c", HOST);
    assert!(place.fails("b.c -o b -lcudart_of_the_host").contains("cudart_of_the_host"));
}

#[test]
fn the_standard_input_can_hold_kernels() {
    let place = Place::new("stdin");
    place.write("a.cu", KERNEL);
    let mut command = place.command("dushcc");
    command.args(["-x", "hip", "-", "-o", "prog"]).stdin(std::fs::File::open(place.path("a.cu")).unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(place.runs("prog"), "k[1,1,1|1|0] 8\n");
    place.is_clean();
}

#[test]
fn unusual_names_and_texts() {
    let place = Place::new("unusual");
    place.write("a \"b\" $c#.cu", KERNEL.replace('\n', "\r\n"));
    let out = place.dushcc(&["-MMD", "-c", "a \"b\" $c#.cu", "-o", "x.o"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let deps = place.read("x.d");
    assert!(!deps.contains(&place.0.join("tmp").display().to_string()), "{deps}");
    assert!(deps.contains("a\\ \"b\"\\ $$c\\#.cu"), "{deps}");
    let mut bom = b"\xef\xbb\xbf".to_vec();
    bom.extend_from_slice(KERNEL.as_bytes());
    place.write("bom.cu", bom);
    place.compiles("bom.cu -o bom");
    place.write("latin.cu", [KERNEL.as_bytes(), b"// \xe9\xff\n"].concat());
    place.compiles("latin.cu -o latin");
}

#[test]
fn sources_shown_rewritten() {
    let place = Place::new("source");
    place.write("a.cu", KERNEL);
    let shown = place.compiles("--show:source a.cu");
    assert_eq!(shown.lines().count(), KERNEL.lines().count());
    assert!(shown.contains("::dushmem::emu::launcher(\"k\""), "{shown}");
}

#[test]
fn a_signal_ends_the_compiler_and_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let place = Place::new(&format!("signal-{signal}"));
        place.write("a.cu", KERNEL);
        let compiler = place.0.join("slow");
        std::fs::write(&compiler, "#!/bin/sh\necho $$\nexec sleep 60\n").unwrap();
        std::fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = place.command("dushcc");
        let mut child = command
            .env("DUSHMEM_CXX", &compiler)
            .args(["-c", "a.cu"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut pid).unwrap();
        let start = Instant::now();
        let kill =
            Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let status = child.wait().unwrap();
        let number = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(
            number,
            Some(match signal {
                "INT" => 2,
                "TERM" => 15,
                _ => 1,
            }),
            "{status}"
        );
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "the compiler still runs");
        place.is_clean();
    }
}

#[test]
fn a_source_that_is_not_there_is_named() {
    let place = Place::new("nope");
    for line in ["nope.hip.cpp", "-c nope.cu", "--show:source nope.hip"] {
        let name = line.split(' ').next_back().unwrap();
        assert_eq!(place.fails(line), format!("dushcc: {name}: No such file or directory\n"));
    }
}
