//! The compiler calls that a command line comes to.
use super::arguments::{Arguments, Input, Item, Stage, kind_of};
use super::copies::{Prepared, with_suffix};
use super::flags::{self, Linkage};
use super::foreign;
use super::prefix::{Compiler, Prefix};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// One call of a compiler.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Files that may hold names of copies when it has run.
    pub outputs: Vec<PathBuf>,
    /// Whether names of copies may be in what it prints.
    pub prints_names: bool,
}

/// What the calls are made of.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Where dushmem is.
    pub prefix: &'a Prefix,
    /// For what is not a kernel source: the compiler that this program stands for.
    pub own: Compiler,
    /// For kernel sources, and for programs that hold them.
    pub cxx: Compiler,
    /// `--static-lib`.
    pub static_lib: bool,
    /// `-fdushmem-os-threads`.
    pub os_threads: bool,
}

/// Finds the file to compile for a kernel source, and one for an object in between.
pub trait Files {
    /// The rewritten source.
    fn prepare(&mut self, source: &Path) -> Result<Prepared, String>;
    /// Where to put the object of a source that is linked at once.
    fn object(&mut self, source: &Path) -> Result<PathBuf, String>;
}

impl Plan<'_> {
    /// The one call for a command line without kernels: what the user wrote, and the library's flags.
    pub fn plain(&self, words: Vec<OsString>, arguments: &Arguments) -> Step {
        let mut call = self.own.0.clone();
        call.extend(words);
        let inputs: Vec<(&Path, Input)> = arguments.inputs().collect();
        if inputs.iter().any(|(_, kind)| *kind != Input::Object) {
            call.extend(flags::compile(self.prefix));
        }
        if arguments.stage == Stage::Link && !inputs.is_empty() {
            call.extend(self.link_flags(arguments));
        }
        Step { words: call, ..Step::default() }
    }

    fn link_flags(&self, arguments: &Arguments) -> Vec<OsString> {
        if arguments.has("-r") || arguments.has("-nostdlib") {
            return Vec::new();
        }
        let linkage = match (arguments.has("-static") || arguments.has("-static-pie"), self.static_lib) {
            (true, _) => Linkage::Static,
            (false, true) => Linkage::Archive,
            (false, false) => Linkage::Shared,
        };
        let mut words = Vec::new();
        if arguments.items.iter().any(|item| matches!(item, Item::Input(_, Some(_)))) {
            words.extend(["-x".into(), "none".into()]);
        }
        words.extend(flags::link(self.prefix, linkage));
        words
    }

    /// The calls for a command line with kernels.
    pub fn emulated(
        &self,
        arguments: &Arguments,
        files: &mut dyn Files,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Step>, String> {
        let sources = arguments.inputs().filter(|(_, kind)| *kind != Input::Object).count();
        let kernels = arguments.inputs().filter(|(_, kind)| *kind == Input::Kernel).count();
        if sources > 1 && arguments.stage != Stage::Link && arguments.output().is_some() {
            return Err(
                "-o names one file, but -c, -S or -E with several sources gives several; leave it out".into(),
            );
        }
        if kernels == sources {
            return Ok(vec![self.at_once(arguments, files, notes)?]);
        }
        self.one_by_one(arguments, files, notes)
    }

    /// Kernel sources and objects only: one call does.
    fn at_once(
        &self,
        arguments: &Arguments,
        files: &mut dyn Files,
        notes: &mut Vec<String>,
    ) -> Result<Step, String> {
        let mut call = self.cxx.0.clone();
        let any = arguments.inputs().any(|(_, kind)| kind == Input::Kernel);
        if any {
            call.extend(self.kernel_flags(arguments));
        }
        let mut moves = Vec::new();
        let mut outputs = Vec::new();
        for item in &arguments.items {
            match item {
                Item::Option(words) => call.extend(kernel_option(words, any, notes)),
                Item::Output(file) => call.extend(["-o".into(), file.clone()]),
                Item::Input(path, language) if kind_of(path, language.as_deref()) == Input::Kernel => {
                    let prepared = files.prepare(path)?;
                    call.extend(as_cxx(&prepared));
                    moves.extend(prepared.moved);
                    outputs.extend(outputs_of(arguments, path));
                }
                Item::Input(path, language) => call.extend(with_language(path, language.as_deref())),
            }
        }
        call.extend(moved_flags(&moves));
        if arguments.stage == Stage::Link {
            call.extend(self.link_flags(arguments));
        }
        Ok(Step { words: call, outputs, prints_names: arguments.stage == Stage::Preprocess })
    }

    /// Kernel sources and others need other options, so each gets its call, and a link follows.
    fn one_by_one(
        &self,
        arguments: &Arguments,
        files: &mut dyn Files,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        let link = arguments.stage == Stage::Link;
        let mut linked = self.cxx.0.clone();
        for item in &arguments.items {
            let Item::Input(path, language) = item else {
                match item {
                    Item::Option(words) if !only_compiles(words) => linked.extend(words.iter().cloned()),
                    Item::Output(file) => linked.extend(["-o".into(), file.clone()]),
                    _ => {}
                }
                continue;
            };
            let kind = kind_of(path, language.as_deref());
            if kind == Input::Object {
                linked.extend(with_language(path, language.as_deref()));
                continue;
            }
            let mut step = self.compile_one(arguments, path, language.as_deref(), files, notes)?;
            if link {
                let object = files.object(path)?;
                step.words.extend(["-c".into(), "-o".into(), object.clone().into_os_string()]);
                if (arguments.has("-MD") || arguments.has("-MMD")) && !arguments.has("-MF") {
                    let base = Path::new(path.file_name().unwrap_or(path.as_os_str()));
                    let (rule, file) = (base.with_extension("o"), base.with_extension("d"));
                    step.words.extend(["-MF".into(), file.clone().into(), "-MQ".into(), rule.into()]);
                    step.outputs.push(file);
                }
                linked.push(object.into_os_string());
            }
            steps.push(step);
        }
        if link {
            linked.extend(
                self.link_flags(&Arguments {
                    items: arguments
                        .items
                        .iter()
                        .filter(|item| !matches!(item, Item::Input(_, Some(_))))
                        .cloned()
                        .collect(),
                    stage: arguments.stage,
                }),
            );
            steps.push(Step { words: linked, ..Step::default() });
        }
        Ok(steps)
    }

    fn compile_one(
        &self,
        arguments: &Arguments,
        path: &Path,
        language: Option<&OsStr>,
        files: &mut dyn Files,
        notes: &mut Vec<String>,
    ) -> Result<Step, String> {
        let kernel = kind_of(path, language) == Input::Kernel;
        let mut call = if kernel { self.cxx.0.clone() } else { self.own.0.clone() };
        if kernel {
            call.extend(self.kernel_flags(arguments));
        }
        let c_source =
            !kernel && language.map_or(path.extension() == Some(OsStr::new("c")), |language| language == "c");
        for item in &arguments.items {
            match item {
                Item::Option(words) if only_links(words) => {}
                // Meant for the kernels; a C compiler refuses it.
                Item::Option(words) if c_source && is_cxx_standard(&words[0]) => {}
                Item::Option(words) => call.extend(kernel_option(words, kernel, notes)),
                Item::Output(file) if arguments.stage != Stage::Link => {
                    call.extend(["-o".into(), file.clone()])
                }
                _ => {}
            }
        }
        if kernel {
            let prepared = files.prepare(path)?;
            call.extend(as_cxx(&prepared));
            call.extend(moved_flags(prepared.moved.as_slice()));
        } else {
            call.extend(flags::compile(self.prefix));
            call.extend(with_language(path, language));
        }
        let outputs = outputs_of(arguments, path);
        Ok(Step { words: call, outputs, prints_names: arguments.stage == Stage::Preprocess })
    }

    fn kernel_flags(&self, arguments: &Arguments) -> Vec<OsString> {
        let mut words = Vec::new();
        let standard = arguments
            .items
            .iter()
            .any(|item| matches!(item, Item::Option(words) if is_cxx_standard(&words[0])));
        if !standard {
            words.push("-std=gnu++17".into());
        }
        if self.os_threads {
            words.push("-DDUSHMEM_EMU_OS_THREADS=1".into());
        }
        words.extend(flags::emulator(self.prefix));
        words
    }
}

fn is_cxx_standard(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    text.starts_with("-std=c++") || text.starts_with("-std=gnu++")
}

/// The user's option in a call for kernel sources. A standard of C is meant for the C sources beside them.
fn kernel_option(words: &[OsString], kernel: bool, notes: &mut Vec<String>) -> Vec<OsString> {
    match words {
        [word] if kernel && word.to_string_lossy().starts_with("-std=") => match is_cxx_standard(word) {
            true => vec![foreign::standard(word, notes)],
            false => Vec::new(),
        },
        _ => words.to_vec(),
    }
}

fn as_cxx(prepared: &Prepared) -> Vec<OsString> {
    with_language(&prepared.path, Some(OsStr::new("c++")))
}

/// The file with the language that the user gave it.
pub fn with_language(path: &Path, language: Option<&OsStr>) -> Vec<OsString> {
    match language {
        Some(language) => vec!["-x".into(), language.into(), path.into(), "-x".into(), "none".into()],
        None => vec![path.into()],
    }
}

/// Headers beside the original are found; debuggers see the original's folder.
fn moved_flags(moves: &[(PathBuf, PathBuf)]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut folders: Vec<&Path> = Vec::new();
    for (copy, original) in moves {
        let mut map = flags::joined("-fdebug-prefix-map=", copy);
        map.push("=");
        map.push(original);
        words.push(map);
        if !folders.contains(&original.as_path()) {
            folders.push(original);
            words.extend(["-iquote".into(), original.clone().into_os_string()]);
        }
    }
    words
}

/// Whether the option has no meaning where nothing is linked.
pub fn only_links(words: &[OsString]) -> bool {
    let text = words[0].to_string_lossy();
    ["-l", "-L", "-Wl,", "-Xlinker"].iter().any(|start| text.starts_with(start))
        || matches!(&*text, "-shared" | "-static" | "-static-pie" | "-pie" | "-rdynamic" | "-r" | "-s" | "-T")
}

/// Whether the option has no meaning where nothing is compiled.
pub fn only_compiles(words: &[OsString]) -> bool {
    let text = words[0].to_string_lossy();
    ["-M", "-include", "-imacros", "-Wp,", "-std="].iter().any(|start| text.starts_with(start))
}

/// Files beside the object that hold names of sources: dependency files and preprocessed text. Which name a
/// compiler gives them depends on its version, so all that are known are listed.
fn outputs_of(arguments: &Arguments, source: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = arguments.values("-MF").map(PathBuf::from).collect();
    for item in &arguments.items {
        if let Item::Option(words) = item {
            let text = words[0].to_string_lossy();
            let named = text.strip_prefix("-Wp,-MD,").or(text.strip_prefix("-Wp,-MMD,"));
            files.extend(named.map(|name| PathBuf::from(name.split(',').next().unwrap_or(name))));
        }
    }
    let output = arguments.output().map(Path::new);
    let base = Path::new(source.file_name().unwrap_or(source.as_os_str()));
    if arguments.stage == Stage::Preprocess {
        files.extend(output.map(Path::to_path_buf));
    }
    if files.is_empty() && (arguments.has("-MD") || arguments.has("-MMD")) {
        files.push(base.with_extension("d"));
        match output {
            Some(output) => {
                files.push(output.with_extension("d"));
                files.push(with_suffix(output, ".d"));
                files.push(with_suffix(output, &format!("-{}", base.with_extension("d").display())));
            }
            None => files.push(PathBuf::from(format!("a-{}", base.with_extension("d").display()))),
        }
    }
    files
}
