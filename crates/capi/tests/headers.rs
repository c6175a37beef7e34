//! Each public header compiles alone, and all together, in every supported language version.
mod common;
use dushmem_testkit::folder::Folder;
use std::process::Command;

/// Compiles the including of `headers` without a warning.
fn compiles(folder: &Folder, compiler: &str, standard: &str, headers: &[&str]) {
    let language = if compiler.contains("++") { "c++" } else { "c" };
    let file = folder.join(format!("{}-{}.{language}", standard, headers.concat().replace('/', "-")));
    let mut text: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    // <complex.h> would have defined it.
    text += "#ifdef I\n#error the header defines I\n#endif\nint main(void) { return 0; }\n";
    std::fs::write(&file, text).expect("writing a source file");
    common::succeed(
        Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", language])
            .arg(format!("-std={standard}"))
            .arg("-I")
            .arg(common::include())
            .arg(&file),
    );
}

fn matrix(compiler: &str, standard: &str) {
    if !common::available(compiler) {
        return;
    }
    let folder = Folder::new(&format!("headers-{compiler}-{standard}"));
    // The x headers begin with the plain ones.
    for header in ["dushmemx.h", "nvshmemx.h", "shmemx.h", "pshmem.h", "mpp/pshmem.h"] {
        compiles(&folder, compiler, standard, &[header]);
    }
    compiles(&folder, compiler, standard, &["mpp/shmem.h", "nvshmem.h", "dushmem.h", "mpp/shmemx.h"]);
}

macro_rules! matrix {
    ($($test:ident $compiler:literal $standard:literal;)*) => {$(
        #[test]
        fn $test() {
            matrix($compiler, $standard);
        }
    )*};
}
matrix! {
    gcc_c89 "gcc" "c89";
    gcc_gnu89 "gcc" "gnu89";
    gcc_c99 "gcc" "c99";
    gcc_c11 "gcc" "c11";
    gcc_c17 "gcc" "c17";
    gcc_cxx98 "g++" "c++98";
    gcc_cxx11 "g++" "c++11";
    gcc_cxx14 "g++" "c++14";
    gcc_cxx17 "g++" "c++17";
    gcc_cxx20 "g++" "c++20";
    clang_c89 "clang" "c89";
    clang_c99 "clang" "c99";
    clang_c11 "clang" "c11";
    clang_c17 "clang" "c17";
    clang_cxx98 "clang++" "c++98";
    clang_cxx11 "clang++" "c++11";
    clang_cxx17 "clang++" "c++17";
    clang_cxx20 "clang++" "c++20";
}

/// Compiles a text that includes all headers.
fn compiles_text(name: &str, compiler: &str, standard: &str, text: &str) {
    if !common::available(compiler) {
        return;
    }
    let folder = Folder::new(&format!("{name}-{compiler}-{standard}"));
    let language = if compiler.contains("++") { "c++" } else { "c" };
    let file = folder.join(format!("{name}.{language}"));
    let text = format!("#include <shmemx.h>\n#include <nvshmemx.h>\n#include <dushmemx.h>\n{text}");
    std::fs::write(&file, text).expect("writing a source file");
    let mut command = Command::new(compiler);
    command
        .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", language])
        .arg(format!("-std={standard}"));
    common::succeed(command.arg("-I").arg(common::include()).arg(&file));
}

/// gcc warns of a length beyond the user's object once, and in the user's line.
#[test]
fn a_length_beyond_an_object_is_warned_of_where_it_stands() {
    let folder = Folder::new("headers-beyond");
    for (compiler, language) in [("gcc", "c"), ("g++", "c++")] {
        assert!(common::available(compiler));
        let version = common::succeed(Command::new(compiler).arg("-dumpversion"));
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        if version.split('.').next().and_then(|major| major.trim().parse().ok()).is_some_and(|v: u32| v < 11)
        {
            continue;
        }
        for (call, option) in [
            ("shmem_long_put(sym, own, 20, pe)", "-Wstringop-overread"),
            ("nvshmem_putmem_nbi(sym, own, 20, pe)", "-Wstringop-overread"),
            ("dushmem_long_get(own, sym, 20, pe)", "-Wstringop-overflow"),
            ("shmem_getmem(own, sym, 20, pe)", "-Wstringop-overflow"),
        ] {
            let file = folder.join(format!("beyond.{language}"));
            let text = format!(
                "#include <shmem.h>\n#include <nvshmem.h>\n#include <dushmem.h>\nlong sym[40];\n\
                 long f(int pe) {{\n    long own[2] = {{1, 2}};\n    {call};\n    return own[0];\n}}\n"
            );
            std::fs::write(&file, text).expect("writing a source file");
            for level in ["-O0", "-O1", "-O2", "-O3"] {
                let mut command = Command::new(compiler);
                command.args(["-Wall", "-Wextra", "-c", level, "-x", language, "-I"]).arg(common::include());
                let output = common::succeed(command.arg(&file).arg("-o").arg(folder.join("beyond.o")));
                let said = String::from_utf8_lossy(&output.stderr);
                let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warning:")).collect();
                let users = format!("{}:7:", file.display());
                assert!(
                    warnings.len() == 1 && warnings[0].starts_with(&users) && warnings[0].contains(option),
                    "{level}: {said}"
                );
            }
        }
    }
}

/// The 73 names of OpenSHMEM 1.6 that are one for all types: macros in C11, functions in C++.
#[test]
fn every_generic_name_is_there() {
    let names: Vec<&str> = include_str!("../../../api/names/generics.txt").lines().collect();
    assert_eq!(names.len(), 73);
    let macros: String =
        names.iter().map(|name| format!("#ifndef {name}\n#error no {name}\n#endif\n")).collect();
    let functions: String = names.iter().map(|name| format!("using ::{name};\n")).collect();
    compiles_text("macros", "gcc", "c11", &macros);
    compiles_text("macros", "clang", "c17", &macros);
    compiles_text("functions", "g++", "c++11", &format!("namespace all {{\n{functions}}}\n"));
    compiles_text("functions", "clang++", "c++20", &format!("namespace all {{\n{functions}}}\n"));
}

/// Constants and handles of OpenSHMEM 1.6 and of NVSHMEM, each of which has a value.
#[test]
fn every_constant_is_there() {
    let names: Vec<&str> = include_str!("../../../api/names/constants.txt").lines().collect();
    assert!(names.len() > 110, "the list is cut off: {} names", names.len());
    let mut text = String::new();
    for (i, name) in names.iter().enumerate() {
        text += &match *name {
            name if name.ends_with("VENDOR_STRING") => {
                format!("const char *v{i}(void) {{ return {name}; }}\n")
            }
            name if name.starts_with("SHMEM_CTX_")
                && ["INVALID", "DEFAULT"].iter().any(|end| name.ends_with(end)) =>
            {
                format!("shmem_ctx_t v{i}(void) {{ return {name}; }}\n")
            }
            "NVSHMEM_TEAM_CONFIG_INITIALIZER" => format!("nvshmem_team_config_t v{i} = {name};\n"),
            "NVSHMEMX_INIT_ATTR_INITIALIZER" => format!("nvshmemx_init_attr_t v{i} = {name};\n"),
            "NVSHMEMX_UNIQUEID_INITIALIZER" => format!("nvshmemx_uniqueid_t v{i} = {name};\n"),
            "NVSHMEMX_UNIQUEID_ARGS_INITIALIZER" => format!("nvshmemx_uniqueid_args_t v{i} = {name};\n"),
            name => format!("long long v{i}(void) {{ return (long long)({name}); }}\n"),
        };
    }
    for (compiler, standard) in [("gcc", "c99"), ("clang", "c11"), ("g++", "c++11")] {
        compiles_text("constants", compiler, standard, &text);
    }
}

/// Sizes and versions of NVSHMEM's structures, which programs compiled with other headers pass.
#[test]
fn structures_have_their_sizes() {
    let mut text = "#include <assert.h>\n".to_owned();
    for family in ["nvshmem", "dushmem"] {
        let upper = family.to_uppercase();
        for (kind, bytes) in [
            ("x_init_attr_t", 144),
            ("x_init_args_t", 128),
            ("x_uniqueid_t", 128),
            ("x_uniqueid_args_t", 24),
            ("_team_config_t", 64),
            ("x_team_uniqueid_t", 8),
            ("x_qp_handle_t", 4),
            ("_team_t", 4),
        ] {
            text += &format!("static_assert(sizeof({family}{kind}) == {bytes}, \"{kind}\");\n");
        }
        text += &format!(
            "static inline int {family}_versions(void) {{\n\
             {family}x_init_attr_t attr = {upper}X_INIT_ATTR_INITIALIZER;\n\
             {family}_team_config_t config = {upper}_TEAM_CONFIG_INITIALIZER;\n\
             return attr.version == (2 << 16) + 144 && attr.args.version == (2 << 16) + 128 &&\n\
             attr.args.uid_args.version == (1 << 16) + 24 && config.version == (2 << 16) + 64; }}\n"
        );
    }
    text += "static_assert(sizeof(shmem_team_config_t) == 4, \"config\");\n\
             static_assert(sizeof(shmem_ctx_session_config_t) == 8, \"session\");\n\
             int main(void) { return nvshmem_versions() + dushmem_versions(); }\n";
    compiles_text("sizes", "gcc", "c11", &text);
    compiles_text("sizes", "g++", "c++11", &text);
}

/// Where CUDA's headers are in the path, the 16-bit floating-point numbers are theirs, whatever comes first.
#[test]
fn types_of_cuda_are_used_where_they_are() {
    let folder = Folder::new("half");
    for (header, mark, name) in [("cuda_fp16.h", "FP16", "__half"), ("cuda_bf16.h", "BF16", "__nv_bfloat16")]
    {
        // Classes that do more than structures, as CUDA's.
        let text = format!(
            "#ifndef __CUDA_{mark}_TYPES_EXIST__\n#define __CUDA_{mark}_TYPES_EXIST__\nstruct {name} {{\n\
             unsigned short bits;\n{name}() = default;\nexplicit {name}(float value);\n\
             operator float() const;\n}};\n#endif\n"
        );
        let text = if mark == "FP16" { text.replace("#endif", "typedef __half half;\n#endif") } else { text };
        std::fs::write(folder.join(header), text).expect("writing a header");
    }
    let uses = "float f(half *p, __nv_bfloat16 *q) {\nnvshmem_half_p(p, half(1.5f), 0);\n\
                const half h = nvshmem_half_g(p, 0);\nnvshmem_half_put(p, &h, 1, 0);\n\
                nvshmem_half_sum_reduce(NVSHMEM_TEAM_WORLD, p, p, 1);\n\
                dushmem_p(q, __nv_bfloat16(2.0f), 0);\nreturn float(h) + float(dushmem_g(q, 0));\n}\n";
    for (name, order) in [
        (
            "before",
            "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <nvshmem.h>\n#include <dushmem.h>\n",
        ),
        (
            "behind",
            "#include <nvshmem.h>\n#include <dushmem.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n",
        ),
    ] {
        let file = folder.join(format!("{name}.cc"));
        std::fs::write(&file, format!("{order}{uses}")).expect("writing a source file");
        let mut command = Command::new("g++");
        command.args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]).arg(folder.path());
        common::succeed(command.arg("-I").arg(common::include()).arg(&file));
    }
}
