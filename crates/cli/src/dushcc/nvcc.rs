//! nvcc: where it is, and what options of gcc and hipcc mean to it.
use super::arguments::{Arguments, Item};
use super::prefix::{Compiler, in_path, named};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Options of nvcc alone whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-Xarchive",
    "-Xcicc",
    "--archive-options",
    "-odir",
    "--output-directory",
    "-arbin",
    "--archiver-binary",
    "-cudadevrt",
    "--cudadevrt",
    "-ldir",
    "--libdevice-directory",
    "-target-dir",
    "--target-directory",
    "-t",
    "-split-compile",
    "--split-compile",
    "-Ofc",
    "--Ofast-compile",
    "-dopt",
    "--dopt",
    "-opt-info",
    "--optimization-info",
    "-ftemplate-backtrace-limit",
    "-ftemplate-depth",
    "-time",
    "--time",
    "-keep-dir",
    "--keep-dir",
    "-optf",
    "--options-file",
    "-diag-error",
    "--diag-error",
    "-diag-warn",
    "--diag-warn",
    "--entries",
    "--library",
    "--define-macro",
    "--undefine-macro",
    "--include-path",
    "--system-include",
    "--library-path",
    "--pre-include",
    "--dependency-output",
    "--dependency-target-name",
    "--linker-options",
];

/// Options of gcc's with a value in the next word, which nvcc would take for a file; for its compiler.
const FOR_COMPILER: &[&str] = &[
    "-iquote",
    "-idirafter",
    "-imacros",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-Xpreprocessor",
    "-Xassembler",
    "-B",
    "--param",
    "--sysroot",
    "-specs",
    "-target",
];

/// The same for the linker.
const FOR_LINKER: &[&str] = &["-T", "-u", "-z", "-Ttext", "-Tdata", "-Tbss"];

/// Options of hipcc's, and dushcc's libraries for HIP, without a meaning here.
const HIPCC_ONLY: &[&str] = &[
    "--offload-arch",
    "--amdgpu-target",
    "--cuda-gpu-arch",
    "--rocm-path",
    "--hip-path",
    "--rocm-device-lib-path",
    "--hip-device-lib-path",
    "--hip-link",
    "--cuda-path",
    "-nogpulib",
    "-nogpuinc",
    "--no-gpu-bundle-output",
    "-munsafe-fp-atomics",
    "-mcode-object-version",
    "-Xarch_device",
];

/// What nvcc's own `-Werror` takes; any other kind is gcc's.
const ERROR_KINDS: &[&str] = &[
    "all-warnings",
    "cross-execution-space-call",
    "reorder",
    "default-stream-launch",
    "missing-launch-bounds",
    "ext-lambda-captures-this",
    "deprecated-declarations",
];

/// Options after which a compilation for a GPU ends in something else than a program.
const NO_PROGRAM: &[&str] = &[
    "-ptx",
    "-cubin",
    "-fatbin",
    "-optix-ir",
    "-ltoir",
    "-dc",
    "-dw",
    "-dlink",
    "-lib",
    "-cuda",
    "--ptx",
    "--cubin",
    "--fatbin",
    "--optix-ir",
    "--ltoir",
    "--device-c",
    "--device-w",
    "--device-link",
    "--lib",
    "--cuda",
];

/// Where to look for nvcc besides PATH: below the folders in these variables, and here.
const HOMES: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];
const USUAL: &str = "/usr/local/cuda";

/// Whether the option's value is the next word, where nvcc compiles.
pub fn takes_value(option: &str) -> bool {
    WITH_VALUE.contains(&option)
}

/// Whether nvcc makes no program with this option.
pub fn gives_no_program(option: &str) -> bool {
    NO_PROGRAM.contains(&option)
}

/// Whether this is an option of nvcc's, where gcc would see `-o` and a name.
pub fn begins_as_output(option: &str) -> bool {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    ["-odir", "-optf", "-opt-info", "-optix-ir", "-objtemp"].contains(&name)
}

/// Finds nvcc, and says what it always gets first: the host compiler that `DUSHMEM_CXX` names, and that options
/// which it does not know are that one's.
pub fn find(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Compiler, String> {
    let mut words = match get("DUSHMEM_NVCC").filter(|value| !value.is_empty()) {
        Some(value) => named("DUSHMEM_NVCC", &value, get)?.0,
        None => vec![search(get)?.into_os_string()],
    };
    words.push("-forward-unknown-to-host-compiler".into());
    if let Some(value) = get("DUSHMEM_CXX").filter(|value| !value.is_empty()) {
        let host = named("DUSHMEM_CXX", &value, get)?;
        words.extend(["-ccbin".into(), host.0[0].clone()]);
        words.extend(host.0[1..].iter().flat_map(|word| ["-Xcompiler".into(), escaped([word.as_os_str()])]));
    }
    Ok(Compiler(words))
}

fn search(get: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let name = OsStr::new("nvcc");
    let below = |folder: PathBuf| in_path(folder.join("bin/nvcc").as_os_str(), get);
    let homes = HOMES.iter().filter_map(|home| get(home)).filter(|home| !home.is_empty());
    in_path(name, get)
        .or_else(|| homes.map(PathBuf::from).chain([USUAL.into()]).find_map(below))
        .ok_or_else(|| {
            format!(
                "--device=cuda needs nvcc, which is not in PATH, $CUDA_HOME/bin, $CUDA_PATH/bin or {USUAL}/bin; install the \
                 CUDA toolkit, or name nvcc in DUSHMEM_NVCC"
            )
        })
}

/// The toolkit's libraries where nvcc itself does not look: its wheels have no `lib64`.
pub fn libraries(nvcc: &Compiler) -> Option<PathBuf> {
    let program = PathBuf::from(&nvcc.0[0]).canonicalize().ok()?;
    let toolkit = program.parent()?.parent()?;
    let there = toolkit.join("lib/libcudart_static.a").is_file() && !toolkit.join("lib64").exists();
    there.then(|| toolkit.join("lib"))
}

/// Several words in one for `-Xcompiler` and `-Xlinker`, which split at commas.
fn escaped<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut out = Vec::new();
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        for &byte in word.as_bytes() {
            if byte == b',' {
                out.push(b'\\');
            }
            out.push(byte);
        }
    }
    OsString::from_vec(out)
}

/// Replaces what nvcc has no word for. Says what was left out, one line each.
pub fn translate(arguments: Arguments, notes: &mut Vec<String>) -> Result<Arguments, String> {
    let mut items = Vec::with_capacity(arguments.items.len());
    for item in arguments.items {
        match item {
            Item::Option(words) => items.extend(option(words, notes)?.map(Item::Option)),
            other => items.push(other),
        }
    }
    Ok(Arguments { items, stage: arguments.stage })
}

/// nvcc's words for an option, or none where it has no meaning.
fn option(words: Vec<OsString>, notes: &mut Vec<String>) -> Result<Option<Vec<OsString>>, String> {
    let text = words[0].to_string_lossy().into_owned();
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text.as_str(), None),
    };
    let hands_on = |to: &str| Some(vec![to.into(), escaped(words.iter().map(OsString::as_os_str))]);
    let library = match words.as_slice() {
        [option, library] if option == "-l" => Some(library.to_string_lossy().into_owned()),
        _ => text.strip_prefix("-l").map(str::to_string),
    };
    Ok(match name {
        "-static" | "-static-pie" => {
            return Err(format!(
                "{text}: CUDA's driver is loaded when the program runs, which needs shared libraries; leave it out, or \
                 write --static-lib to have dushmem alone in the program"
            ));
        }
        "-S" | "-fsyntax-only" => {
            return Err(format!(
                "{text}: nvcc compiles for the CPU and for GPUs, and has no such result; write -ptx or -cubin for the GPU's \
                 part, -c for both"
            ));
        }
        "-fgpu-rdc" => Some(vec!["-rdc=true".into()]),
        "-fno-gpu-rdc" => Some(vec!["-rdc=false".into()]),
        "-fgpu-default-stream" => {
            Some(vec![format!("-default-stream={}", attached.unwrap_or("legacy")).into()])
        }
        "-Xarch_host" => {
            Some(std::iter::once("-Xcompiler".into()).chain(words.into_iter().skip(1)).collect())
        }
        "-MQ" => Some(std::iter::once("-MT".into()).chain(words.into_iter().skip(1)).collect()),
        "-Werror" if attached.is_none_or(|kind| !ERROR_KINDS.contains(&kind)) => hands_on("-Xcompiler"),
        "-Ofast" | "-Og" | "-Os" | "-Oz" => hands_on("-Xcompiler"),
        _ if HIPCC_ONLY.contains(&name) || library.as_deref() == Some("amdhip64") => {
            let all: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            notes.push(format!("`{}` is for AMD's GPUs and is left out", all.join(" ")));
            None
        }
        _ if words.len() == 2 && FOR_COMPILER.contains(&name) => hands_on("-Xcompiler"),
        _ if words.len() == 2 && FOR_LINKER.contains(&name) => hands_on("-Xlinker"),
        _ => Some(words),
    })
}

#[cfg(test)]
mod tests {
    use super::super::options::Device;
    use super::*;

    fn translated(line: &str) -> Result<(String, usize), String> {
        let mut notes = Vec::new();
        let words = line.split(' ').map(OsString::from).collect();
        let found = translate(Arguments::parse(words, Device::Cuda), &mut notes)?;
        let words = found.items.iter().flat_map(|item| match item {
            Item::Input(path, _) => vec![path.as_os_str().to_os_string()],
            Item::Option(words) => words.clone(),
            Item::Output(file) => vec!["-o".into(), file.clone()],
        });
        Ok((words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" "), notes.len()))
    }

    #[test]
    fn options_of_nvcc_stay() {
        let line = "-arch=sm_90 -gencode arch=compute_80,code=sm_80 -rdc=true -O3 -Xcompiler -Wall,-g -t 4 a.cu -odir x -optix-ir -lm \
                    -Werror=all-warnings -maxrregcount 64 --default-stream per-thread";
        assert_eq!(translated(line), Ok((line.into(), 0)));
    }

    #[test]
    fn options_of_gcc_are_handed_on() {
        assert_eq!(
            translated("-Og -Werror -Werror=format -iquote a,b a.cu -z now -MQ x -Wl,-s").unwrap().0,
            "-Xcompiler -Og -Xcompiler -Werror -Xcompiler -Werror=format -Xcompiler -iquote,a\\,b a.cu -Xlinker -z,now \
             -MT x -Wl,-s"
        );
    }

    #[test]
    fn options_of_hipcc_are_translated_or_go() {
        let line =
            "-fgpu-rdc --offload-arch=gfx906 -Xarch_host -g a.hip -lamdhip64 -fgpu-default-stream=per-thread";
        let wanted = "-rdc=true -Xcompiler -g a.hip -default-stream=per-thread";
        assert_eq!(translated(line), Ok((wanted.into(), 2)));
    }

    #[test]
    fn what_nvcc_cannot_do_is_an_error() {
        for line in ["-static a.cu", "-S a.cu", "-fsyntax-only a.cu"] {
            let error = translated(line).unwrap_err();
            assert!(error.starts_with(line.split(' ').next().unwrap()), "{error}");
        }
    }

    #[test]
    fn the_libraries_of_wheels_are_found() {
        let folder = dushmem_testkit::folder::Folder::new("wheels");
        for name in ["bin", "lib"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        std::fs::write(folder.join("bin/nvcc"), "").unwrap();
        let found = || libraries(&Compiler(vec![folder.join("bin/nvcc").into()]));
        assert_eq!(found(), None);
        std::fs::write(folder.join("lib/libcudart_static.a"), "").unwrap();
        assert_eq!(found(), Some(folder.join("lib").canonicalize().unwrap()));
        std::fs::create_dir(folder.join("lib64")).unwrap();
        assert_eq!(found(), None);
    }

    #[test]
    fn the_toolkit_is_found_where_it_usually_is() {
        let folder = dushmem_testkit::folder::Folder::new("toolkit");
        let make = |home: &str| {
            let bin = folder.join(home).join("bin");
            std::fs::create_dir_all(&bin).unwrap();
            std::fs::write(bin.join("nvcc"), "").unwrap();
            std::fs::set_permissions(bin.join("nvcc"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
            bin.join("nvcc").into_os_string()
        };
        let (path, home, other) = (make("path"), make("home"), make("other"));
        let at = |pairs: &[(&str, PathBuf)]| {
            let get = |name: &str| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone().into_os_string())
            };
            find(&get).map(|found| found.0[0].clone())
        };
        let bin = |home: &str| folder.join(home).join("bin");
        let all = [
            ("DUSHMEM_NVCC", other.clone().into()),
            ("PATH", bin("path")),
            ("CUDA_HOME", folder.join("home")),
        ];
        assert_eq!(at(&all), Ok(other));
        assert_eq!(at(&all[1..]), Ok(path));
        assert_eq!(at(&all[2..]), Ok(home));
        let error = at(&[("DUSHMEM_NVCC", "no-such-nvcc".into())]).unwrap_err();
        assert!(error.starts_with("DUSHMEM_NVCC=no-such-nvcc: there is no such program"), "{error}");
        if !std::path::Path::new(USUAL).exists() {
            assert!(
                at(&[("CUDA_PATH", folder.join("nothing"))])
                    .unwrap_err()
                    .contains("install the CUDA toolkit")
            );
        }
    }
}
