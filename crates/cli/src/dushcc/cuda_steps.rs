//! The calls of nvcc that a command line comes to.
use super::arguments::{Arguments, Input, Item, Stage, kind_of};
use super::prefix::{Compiler, Prefix};
use super::steps::{self, Step, only_compiles, with_language};
use super::{flags, nvcc};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Code for GPUs from compute capability 8.0 on, newer ones than these by way of the last one's PTX.
const CODE: [&str; 6] = [
    "-gencode",
    "arch=compute_80,code=sm_80",
    "-gencode",
    "arch=compute_90,code=sm_90",
    "-gencode",
    "arch=compute_90,code=compute_90",
];

/// Options by which the user chooses the GPUs.
const CHOOSES_CODE: [&str; 6] =
    ["-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"];

/// The libraries that an archive of a Rust library needs, as nvcc's linker takes them.
const BEHIND_ARCHIVE: [&str; 6] = ["-lutil", "-lrt", "-ldl", "-lm", "-lpthread", "-lgcc_s"];

/// What a source is to nvcc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// With HIP's names, which stand for CUDA's.
    Hip,
    /// With kernels, by its name.
    Cu,
    /// With kernels, by an option.
    AsCu,
    C,
    Cxx,
    /// C++, by an option.
    AsCxx,
    /// Anything else.
    Other,
}

impl Language {
    fn of(path: &Path, given: Option<&OsStr>, cxx: bool) -> Language {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
        match given.map(|given| given.to_string_lossy()).as_deref() {
            Some("hip") => Language::Hip,
            Some("cuda" | "cu") => Language::AsCu,
            Some("c") => Language::C,
            Some("c++") => Language::AsCxx,
            Some(_) => Language::Other,
            None if kind_of(path, None) == Input::Kernel => match extension {
                "cu" => Language::Cu,
                "hip" => Language::Hip,
                _ if stem.ends_with(".hip") => Language::Hip,
                _ => Language::AsCu,
            },
            None => match extension {
                "c" if cxx => Language::AsCxx,
                "c" => Language::C,
                "cc" | "cxx" | "cpp" | "C" => Language::Cxx,
                // nvcc does not know these names.
                "c++" | "cp" | "CPP" => Language::AsCxx,
                _ => Language::Other,
            },
        }
    }

    fn words(self) -> Vec<OsString> {
        let words: &[&str] = match self {
            Language::Hip => &["-x", "cu", "-include", "hip/hip_runtime.h"],
            Language::AsCu => &["-x", "cu"],
            Language::AsCxx => &["-x", "c++"],
            Language::C => &["-x", "c"],
            Language::Cu | Language::Cxx | Language::Other => &[],
        };
        words.iter().map(OsString::from).collect()
    }

    fn has_kernels(self) -> bool {
        matches!(self, Language::Hip | Language::Cu | Language::AsCu)
    }

    /// Whether objects and archives may stand beside the source in one call.
    fn is_by_name(self) -> bool {
        self.words().is_empty()
    }
}

/// What the calls are made of.
#[derive(Debug)]
pub struct CudaPlan<'a> {
    /// Where dushmem is.
    pub prefix: &'a Prefix,
    /// nvcc, with what always comes first.
    pub nvcc: Compiler,
    /// Called under the name of a C++ compiler.
    pub cxx: bool,
    /// `--static-lib`.
    pub static_lib: bool,
}

impl CudaPlan<'_> {
    /// The calls. `object` names the object of a source that is linked at once.
    pub fn steps(
        &self,
        arguments: &Arguments,
        object: &mut dyn FnMut(&Path) -> Result<PathBuf, String>,
    ) -> Result<Vec<Step>, String> {
        let sources: Vec<Language> = arguments
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Input(path, given) if kind_of(path, given.as_deref()) != Input::Object => {
                    Some(Language::of(path, given.as_deref(), self.cxx))
                }
                _ => None,
            })
            .collect();
        if sources.len() > 1 && arguments.stage != Stage::Link && arguments.output().is_some() {
            return Err(
                "-o names one file, but -c, -E or -ptx with several sources gives several; leave it out"
                    .into(),
            );
        }
        // The library's archive is one of the files that `-x` would be for.
        let archive = self.static_lib && arguments.stage == Stage::Link;
        let alone = arguments.inputs().count() == sources.len() && !archive;
        let first = sources.first().copied().unwrap_or(Language::Other);
        if sources.iter().all(|language| *language == first) && (alone || first.is_by_name()) {
            return Ok(vec![self.at_once(arguments, first)]);
        }
        self.one_by_one(arguments, object)
    }

    fn at_once(&self, arguments: &Arguments, language: Language) -> Step {
        let mut call = self.nvcc.0.clone();
        let any = arguments.inputs().any(|(_, kind)| kind != Input::Object);
        if any {
            call.extend(self.compile_flags(arguments, language));
        }
        call.extend(code(arguments));
        for item in &arguments.items {
            match item {
                Item::Option(words) => call.extend(spelled(words, language)),
                Item::Output(file) => call.extend(["-o".into(), file.clone()]),
                Item::Input(path, _) => call.push(path.into()),
            }
        }
        if arguments.stage == Stage::Link && arguments.inputs().next().is_some() {
            call.extend(self.link_flags(arguments));
        }
        Step { words: call, ..Step::default() }
    }

    /// `-x` holds for a whole call of nvcc, so sources of several kinds get their calls, and a link follows.
    fn one_by_one(
        &self,
        arguments: &Arguments,
        object: &mut dyn FnMut(&Path) -> Result<PathBuf, String>,
    ) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        let link = arguments.stage == Stage::Link;
        let mut linked = self.nvcc.0.clone();
        linked.extend(code(arguments));
        for item in &arguments.items {
            let (path, given) = match item {
                Item::Option(words) if only_compiles(words) => continue,
                Item::Option(words) => {
                    linked.extend(words.iter().cloned());
                    continue;
                }
                Item::Output(file) => {
                    linked.extend(["-o".into(), file.clone()]);
                    continue;
                }
                Item::Input(path, given) => (path, given.as_deref()),
            };
            if kind_of(path, given) == Input::Object {
                linked.extend(with_language(path, None));
                continue;
            }
            let language = Language::of(path, given, self.cxx);
            let mut call = self.nvcc.0.clone();
            call.extend(self.compile_flags(arguments, language));
            call.extend(code(arguments));
            for item in &arguments.items {
                match item {
                    Item::Option(words) if link && only_links(words) => {}
                    Item::Option(words) => call.extend(spelled(words, language)),
                    Item::Output(file) if !link => call.extend(["-o".into(), file.clone()]),
                    _ => {}
                }
            }
            call.push(path.into());
            if link {
                let object = object(path)?;
                call.extend(["-c".into(), "-o".into(), object.clone().into_os_string()]);
                if (arguments.has("-MD") || arguments.has("-MMD")) && !arguments.has("-MF") {
                    let base = Path::new(path.file_name().unwrap_or(path.as_os_str()));
                    call.extend(["-MF".into(), base.with_extension("d").into()]);
                    call.extend(["-MT".into(), base.with_extension("o").into()]);
                }
                linked.push(object.into_os_string());
            }
            steps.push(Step { words: call, ..Step::default() });
        }
        if link {
            linked.extend(self.link_flags(arguments));
            steps.push(Step { words: linked, ..Step::default() });
        }
        Ok(steps)
    }

    fn compile_flags(&self, arguments: &Arguments, language: Language) -> Vec<OsString> {
        let mut words = language.words();
        if language.has_kernels() && !arguments.items.iter().any(is_cxx_standard) {
            words.push("-std=c++17".into());
        }
        words.extend(flags::cuda_compile(self.prefix));
        words
    }

    fn link_flags(&self, arguments: &Arguments) -> Vec<OsString> {
        if arguments.has("-r") || arguments.has("-nostdlib") {
            return Vec::new();
        }
        let mut words = if self.static_lib {
            vec![self.prefix.lib().join("libdushmem.a").into_os_string()]
        } else {
            flags::cuda_link(self.prefix)
        };
        if self.static_lib {
            words.extend(BEHIND_ARCHIVE.map(OsString::from));
        }
        words.extend(nvcc::libraries(&self.nvcc).map(|folder| flags::joined("-L", &folder)));
        words
    }
}

/// Which GPUs to compile for, unless the user says it. Some results are for one kind of GPU only.
fn code(arguments: &Arguments) -> Vec<OsString> {
    let asked = |item: &Item| match item {
        Item::Option(words) => {
            let text = words[0].to_string_lossy();
            CHOOSES_CODE.contains(&text.split_once('=').map_or(&*text, |(name, _)| name))
        }
        _ => false,
    };
    if arguments.items.iter().any(asked) {
        return Vec::new();
    }
    let has = |names: &[&str]| names.iter().any(|name| arguments.has(name));
    if has(&["-ptx", "--ptx"]) {
        return vec!["-arch=compute_80".into()];
    }
    if has(&["-cubin", "--cubin", "-optix-ir", "--optix-ir", "-ltoir", "--ltoir"]) {
        return vec!["-arch=sm_90".into()];
    }
    CODE.map(OsString::from).to_vec()
}

/// Options of nvcc's that look like libraries.
const NO_LIBRARY: [&str; 4] = ["-lineinfo", "-ldir", "-lto", "-link"];

/// Whether the option has no meaning where nothing is linked.
fn only_links(words: &[OsString]) -> bool {
    !NO_LIBRARY.iter().any(|name| words[0] == *name) && steps::only_links(words)
}

/// The standard that the words name, if they do: `-std=c++17`, `--std c++17`.
fn standard(words: &[OsString]) -> Option<String> {
    let text = words[0].to_string_lossy();
    let rest = text.strip_prefix("-std").or(text.strip_prefix("--std"))?;
    match (rest.strip_prefix('='), words.get(1)) {
        (Some(value), None) => Some(value.to_owned()),
        (None, Some(value)) if rest.is_empty() => Some(value.to_string_lossy().into_owned()),
        _ => None,
    }
}

fn is_cxx_standard(item: &Item) -> bool {
    matches!(item, Item::Option(words) if standard(words).is_some_and(|name| name.contains("++")))
}

/// Standards of C++ that lack what the library's headers need.
const OLD: [&str; 4] = ["98", "03", "0x", "11"];

/// nvcc's name of a standard: it has no dialects of gcc's, and the library's headers need C++14.
fn for_kernels(name: &str) -> String {
    let name = name.replace("gnu++", "c++");
    let old = name.strip_prefix("c++").is_some_and(|version| OLD.contains(&version));
    if old { "c++14".to_owned() } else { name }
}

/// What a user should know about standards that are replaced.
pub fn notes(arguments: &Arguments) -> Vec<String> {
    let named = arguments.items.iter().filter_map(|item| match item {
        Item::Option(words) => standard(words).filter(|name| name.contains("++")),
        _ => None,
    });
    let replaced = named.map(|name| (for_kernels(&name), name)).filter(|(taken, name)| taken != name);
    replaced.map(|(taken, name)| format!("`-std={name}`: for kernels {taken} is taken instead")).collect()
}

/// An option in a call for a source of this language: a standard of the other language is left out.
fn spelled(words: &[OsString], language: Language) -> Vec<OsString> {
    let Some(name) = standard(words) else { return words.to_vec() };
    match (name.contains("++"), language) {
        (true, Language::C) | (false, Language::Hip | Language::Cu | Language::AsCu) => Vec::new(),
        (true, Language::Hip | Language::Cu | Language::AsCu) => {
            vec![format!("-std={}", for_kernels(&name)).into()]
        }
        (true, _) => vec![format!("-std={}", name.replace("gnu++", "c++")).into()],
        (false, Language::C) => vec!["-Xcompiler".into(), format!("-std={name}").into()],
        (false, _) => Vec::new(),
    }
}
