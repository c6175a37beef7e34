//! Options that only nvcc and hipcc have: what they mean for a compilation for the CPU.
use super::arguments::{Arguments, Item};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Options without a meaning on the CPU, with a value that is the next word or attached.
const DROPPED_WITH_VALUE: &[&str] = &[
    "-arch",
    "--gpu-architecture",
    "-code",
    "--gpu-code",
    "-gencode",
    "--generate-code",
    "-rdc",
    "--relocatable-device-code",
    "-maxrregcount",
    "--maxrregcount",
    "-Xptxas",
    "--ptxas-options",
    "-Xnvlink",
    "--nvlink-options",
    "-Xfatbin",
    "--fatbin-options",
    "-Xcudafe",
    "-Xarch_device",
    "-ccbin",
    "--compiler-bindir",
    "-cudart",
    "--cudart",
    "--threads",
    "-diag-suppress",
    "--diag-suppress",
];

/// Others without a meaning on the CPU; where they have a value, it is attached.
const DROPPED: &[&str] = &[
    "-fgpu-rdc",
    "-fno-gpu-rdc",
    "-expt-relaxed-constexpr",
    "--expt-relaxed-constexpr",
    "-expt-extended-lambda",
    "--expt-extended-lambda",
    "-extended-lambda",
    "--extended-lambda",
    "--offload-arch",
    "--amdgpu-target",
    "--cuda-gpu-arch",
    "-lineinfo",
    "--generate-line-info",
    "-G",
    "--device-debug",
    "-use_fast_math",
    "--use_fast_math",
    "-ftz",
    "--ftz",
    "-prec-div",
    "--prec-div",
    "-prec-sqrt",
    "--prec-sqrt",
    "-fmad",
    "--fmad",
    "-res-usage",
    "--resource-usage",
    "-allow-unsupported-compiler",
    "--allow-unsupported-compiler",
    "-keep",
    "--keep",
    "-forward-unknown-to-host-compiler",
    "--forward-unknown-to-host-compiler",
    "-Wno-deprecated-gpu-targets",
    "--rocm-path",
    "--hip-path",
    "--rocm-device-lib-path",
    "--hip-device-lib-path",
    "--hip-link",
    "--cuda-path",
    "-nogpulib",
    "-nogpuinc",
    "--cuda-host-only",
    "--no-gpu-bundle-output",
    "-munsafe-fp-atomics",
    "-mcode-object-version",
    "--display-error-number",
    "-err-no",
];

/// Options that mean something on the CPU, but are spelled in another way there; the value may be the next word.
const TRANSLATED: &[&str] = &[
    "-Xcompiler",
    "--compiler-options",
    "-Xarch_host",
    "-std",
    "--std",
    "-default-stream",
    "--default-stream",
];

/// Libraries whose part dushmem's own library plays.
const LIBRARIES: &[&str] = &[
    "cudart",
    "cudart_static",
    "cudadevrt",
    "cuda",
    "amdhip64",
    "dushmem_device",
    "nvshmem_device",
    "nvidia-ml",
];

/// Whether the option's value is the next word.
pub fn takes_value(option: &str) -> bool {
    DROPPED_WITH_VALUE.contains(&option) || TRANSLATED.contains(&option)
}

/// Replaces such options by what they mean for the CPU. Says what was left out, one line each.
pub fn translate(arguments: Arguments, notes: &mut Vec<String>) -> Arguments {
    let mut items = Vec::with_capacity(arguments.items.len());
    for item in arguments.items {
        match item {
            Item::Option(words) => option(words, &mut items, notes),
            other => items.push(other),
        }
    }
    Arguments { items, stage: arguments.stage }
}

fn option(words: Vec<OsString>, out: &mut Vec<Item>, notes: &mut Vec<String>) {
    let text = words[0].to_string_lossy().into_owned();
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (text.as_str(), None),
    };
    let value = || {
        words
            .get(1)
            .map(|value| value.to_string_lossy().into_owned())
            .or(attached.clone())
            .unwrap_or_default()
    };
    let library = match (text.as_str(), words.get(1)) {
        ("-l", Some(library)) => Some(library.to_string_lossy().into_owned()),
        _ => text.strip_prefix("-l").map(str::to_string),
    };
    match name {
        "-Xcompiler" | "--compiler-options" | "-Xarch_host" => {
            let parts = value();
            let parts = parts.split([',', ' ']).filter(|part| !part.is_empty());
            out.extend(parts.map(|part| Item::Option(vec![part.into()])));
        }
        "-Xlinker" if attached.is_some() => {
            out.extend(value().split(',').map(|part| Item::Option(vec!["-Xlinker".into(), part.into()])));
        }
        "--std" | "-std" if name == "--std" || words.len() == 2 => {
            out.push(Item::Option(vec![format!("-std={}", value()).into()]))
        }
        // The other value, legacy, is what holds without the option.
        "-default-stream" | "--default-stream" | "-fgpu-default-stream" => {
            if value() == "per-thread" {
                out.push(Item::Option(vec!["-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1".into()]));
            }
        }
        "-dc" | "--device-c" => out.push(Item::Option(vec!["-c".into()])),
        _ if (DROPPED.contains(&name) || DROPPED_WITH_VALUE.contains(&name))
            && foreign_form(name, &words) =>
        {
            notes.push(format!("`{}` has no meaning on the CPU and is left out", joined(&words)));
        }
        _ if library.as_deref().is_some_and(|library| LIBRARIES.contains(&library)) => {
            notes.push(format!("`{}` is left out: libdushmem does its part on the CPU", joined(&words)));
        }
        _ => out.push(Item::Option(words)),
    }
}

/// `-G4` and the like are other compilers' options; the names here stand alone or are followed by `=`.
fn foreign_form(name: &str, words: &[OsString]) -> bool {
    let first = words[0].as_bytes();
    first.len() == name.len() || first.get(name.len()) == Some(&b'=')
}

fn joined(words: &[OsString]) -> String {
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Standards of C++ that lack what the emulator's headers need.
const OLD: &[&str] = &["98", "03", "0x", "11", "1y", "14"];

/// The `-std` for kernel sources: the user's, raised to C++17 where it is older.
pub fn standard(word: &OsStr, notes: &mut Vec<String>) -> OsString {
    let text = word.to_string_lossy();
    for dialect in ["c++", "gnu++"] {
        let version = text.strip_prefix("-std=").and_then(|rest| rest.strip_prefix(dialect));
        if version.is_some_and(|version| OLD.contains(&version)) {
            notes.push(format!("`{text}`: kernels on the CPU need C++17, which is taken instead"));
            return format!("-std={dialect}17").into();
        }
    }
    word.to_os_string()
}

#[cfg(test)]
mod tests {
    use super::super::options::Device;
    use super::*;

    fn translated(line: &str) -> (String, usize) {
        let mut notes = Vec::new();
        let words = line.split(' ').map(OsString::from).collect();
        let found = translate(Arguments::parse(words, Device::Cpu), &mut notes);
        let words = found.items.iter().flat_map(|item| match item {
            Item::Input(path, _) => vec![path.as_os_str().to_os_string()],
            Item::Option(words) => words.clone(),
            Item::Output(file) => vec!["-o".into(), file.clone()],
        });
        (words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" "), notes.len())
    }

    #[test]
    fn the_default_stream_of_each_thread_is_an_option_of_the_headers() {
        for line in
            ["--default-stream per-thread", "-default-stream=per-thread", "-fgpu-default-stream=per-thread"]
        {
            assert_eq!(translated(&format!("{line} a.cu")).0, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1 a.cu");
        }
        assert_eq!(translated("--default-stream legacy a.cu"), ("a.cu".into(), 0));
    }

    #[test]
    fn device_options_go_and_host_options_stay() {
        let (line, notes) = translated(
            "-arch=sm_90 -gencode arch=compute_80,code=sm_80 --offload-arch=gfx906 -rdc=true -G -O3 -std=c++17 \
             --expt-relaxed-constexpr -Xcompiler -fopenmp,-Wall -Xcompiler=-g --threads 4 -march=native k.cu -lm -lcudart",
        );
        assert_eq!(line, "-O3 -std=c++17 -fopenmp -Wall -g -march=native k.cu -lm");
        assert_eq!(notes, 8);
    }

    #[test]
    fn nvcc_spellings_become_gcc_ones() {
        assert_eq!(
            translated("-dc -std c++14 -Xlinker=-z,now -Xlinker -s a.cu").0,
            "-c -std=c++14 -Xlinker -z -Xlinker now -Xlinker -s a.cu"
        );
    }

    #[test]
    fn standards_in_each_spelling() {
        for spelling in ["-std=c++17", "--std=c++17", "-std c++17", "--std c++17"] {
            assert_eq!(translated(&format!("{spelling} a.cu")).0, "-std=c++17 a.cu");
        }
    }

    #[test]
    fn old_standards_are_raised() {
        let mut notes = Vec::new();
        assert_eq!(standard(OsStr::new("-std=gnu++14"), &mut notes), "-std=gnu++17");
        assert_eq!(standard(OsStr::new("-std=c++20"), &mut notes), "-std=c++20");
        assert_eq!(notes.len(), 1);
    }
}
