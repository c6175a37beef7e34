//! A compiler's command line: which arguments are files, which belong together, what is asked for.
use super::options::Device;
use super::{foreign, nvcc};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One thing on the command line, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A file to compile or to link, `-` among them, with the language that `-x` gave it.
    Input(PathBuf, Option<OsString>),
    /// An option with what belongs to it.
    Option(Vec<OsString>),
    /// `-o`.
    Output(OsString),
}

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `-E`, `-M`, `-MM`: text on the standard output, or in the output file.
    Preprocess,
    /// `-c`, `-S`, `-fsyntax-only`: one result a source.
    Compile,
    /// A program or a shared library.
    Link,
}

/// What kind of file an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// C++ with kernels.
    Kernel,
    /// Any other source.
    Source,
    /// For the linker.
    Object,
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// All of it.
    pub items: Vec<Item>,
    /// How far to go.
    pub stage: Stage,
}

/// Options whose argument is the next word, if nothing is attached to them.
const WITH_VALUE: &[&str] = &[
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-mllvm",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-B",
    "-aux-info",
    "-param",
    "--param",
    "-target",
    "-wrapper",
    "-dumpbase",
    "-dumpdir",
    "-dumpbase-ext",
    "-framework",
    "-soname",
    "-h",
    "--sysroot",
    "-specs",
    "-Ttext",
    "-Tdata",
    "-Tbss",
];

impl Arguments {
    /// Parses what the compiler would get, response files expanded. Options of nvcc and hipcc may be among them.
    pub fn parse(words: Vec<OsString>, device: Device) -> Arguments {
        let mut items = Vec::new();
        let mut language: Option<OsString> = None;
        let mut stage = Stage::Link;
        let mut only_files = false;
        let cuda = device == Device::Cuda;
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            if only_files || !text.starts_with('-') || text == "-" {
                items.push(Item::Input(word.into(), language.clone()));
            } else if text == "--" {
                only_files = true;
            } else if text == "-x" {
                language = words.next().filter(|language| language != "none");
            } else if let Some(attached) = text.strip_prefix("-x").filter(|attached| !attached.is_empty()) {
                language = (attached != "none").then(|| attached.into());
            } else if text == "-o" || text == "--output" {
                items.extend(words.next().map(Item::Output));
            } else if let Some(file) = word
                .as_bytes()
                .strip_prefix(b"-o")
                .filter(|_| !(text.starts_with("-objc") || cuda && nvcc::begins_as_output(&text)))
            {
                items.push(Item::Output(OsStr::from_bytes(file).to_os_string()));
            } else {
                let takes = WITH_VALUE.contains(&text.as_str())
                    || foreign::takes_value(&text)
                    || (cuda && nvcc::takes_value(&text));
                stage = stage.min(match text.as_str() {
                    "-E" | "-M" | "-MM" | "--preprocess" => Stage::Preprocess,
                    "-c" | "-S" | "-fsyntax-only" | "--compile" | "--assemble" => Stage::Compile,
                    "-dc" | "--device-c" => Stage::Compile,
                    option if cuda && nvcc::gives_no_program(option) => Stage::Compile,
                    _ => Stage::Link,
                });
                let value = if takes { words.next() } else { None };
                items.push(Item::Option(std::iter::once(word).chain(value).collect()));
            }
        }
        Arguments { items, stage }
    }

    /// The inputs with their kinds.
    pub fn inputs(&self) -> impl Iterator<Item = (&Path, Input)> {
        self.items.iter().filter_map(|item| match item {
            Item::Input(path, language) => Some((path.as_path(), kind_of(path, language.as_deref()))),
            _ => None,
        })
    }

    /// What `-o` says; the last one counts.
    pub fn output(&self) -> Option<&OsStr> {
        self.items.iter().rev().find_map(|item| match item {
            Item::Output(file) => Some(file.as_os_str()),
            _ => None,
        })
    }

    /// Whether the option stands there, as one word or as the first of two.
    pub fn has(&self, option: &str) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Option(words) if words[0] == option))
    }

    /// Values of an option, attached or not.
    pub fn values(&self, option: &str) -> impl Iterator<Item = OsString> {
        self.items.iter().filter_map(move |item| match item {
            Item::Option(words) => match words.as_slice() {
                [word, value] if word == option => Some(value.clone()),
                [word] => {
                    let rest =
                        word.as_bytes().strip_prefix(option.as_bytes()).filter(|rest| !rest.is_empty());
                    rest.map(|rest| OsStr::from_bytes(rest).to_os_string())
                }
                _ => None,
            },
            _ => None,
        })
    }
}

/// What kind of file this is.
pub fn kind_of(path: &Path, language: Option<&OsStr>) -> Input {
    if let Some(language) = language {
        return if language == "hip" || language == "cuda" { Input::Kernel } else { Input::Source };
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return if name == "-" { Input::Source } else { Input::Object };
    };
    match extension {
        "cu" | "hip" => Input::Kernel,
        "cpp" | "cc" | "cxx" if stem.ends_with(".hip") || stem.ends_with(".cu") => Input::Kernel,
        "c" | "i" | "ii" | "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "m" | "mi" | "mm" | "M"
        | "mii" | "s" | "S" | "sx" | "h" | "hh" | "H" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "tcc"
        | "f" | "for" | "f90" | "F" | "F90" | "d" | "go" | "ads" | "adb" => Input::Source,
        _ => Input::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Arguments {
        Arguments::parse(line.split(' ').map(OsString::from).collect(), Device::Cpu)
    }

    #[test]
    fn files_are_told_from_values() {
        let found = parse("-O2 -I inc -Iother a.cu -o prog.cu -MF b.cu lib.a -l c.cu");
        let inputs: Vec<(&Path, Input)> = found.inputs().collect();
        assert_eq!(inputs, [(Path::new("a.cu"), Input::Kernel), (Path::new("lib.a"), Input::Object)]);
        assert_eq!(found.output(), Some(OsStr::new("prog.cu")));
        assert_eq!(found.values("-I").collect::<Vec<_>>(), ["inc", "other"]);
        assert_eq!(found.stage, Stage::Link);
    }

    #[test]
    fn x_holds_for_what_follows() {
        let found = parse("a.cpp -x hip b.cpp - -x none c.cpp -xc d -c");
        let kinds: Vec<Input> = found.inputs().map(|(_, kind)| kind).collect();
        assert_eq!(kinds, [Input::Source, Input::Kernel, Input::Kernel, Input::Source, Input::Source]);
        assert_eq!(found.stage, Stage::Compile);
    }

    #[test]
    fn the_earliest_stage_wins() {
        assert_eq!(parse("-c a.c -E").stage, Stage::Preprocess);
        assert_eq!(parse("-S a.c").stage, Stage::Compile);
        assert_eq!(parse("-MD a.c").stage, Stage::Link);
    }

    #[test]
    fn kernel_sources_are_known_by_their_names() {
        for name in ["a.cu", "a.hip", "x/a.hip.cpp", "a.cu.cc", "a.b.hip.cxx"] {
            assert_eq!(kind_of(Path::new(name), None), Input::Kernel, "{name}");
        }
        for (name, kind) in [
            ("a.cpp", Input::Source),
            ("hip.cpp", Input::Source),
            ("cu", Input::Object),
            ("a.o", Input::Object),
        ] {
            assert_eq!(kind_of(Path::new(name), None), kind, "{name}");
        }
    }
}
