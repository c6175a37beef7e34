//! Copies of the sources that hold launches, rewritten, in a private folder; and of the headers that such
//! sources include and that hold launches themselves.
use super::register;
use super::rewrite::{Edit, Include, Source, apply};
use super::scratch::Scratch;
use dushmem_os::reason::reason;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Folders in which the user's headers are looked for, in order.
#[derive(Debug, Default)]
pub struct SearchPath {
    /// `-iquote`, for names in quotes only.
    pub quoted: Vec<PathBuf>,
    /// `-I`, then `-isystem`.
    pub all: Vec<PathBuf>,
}

/// What the compiler gets in the place of a source.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The file to compile.
    pub path: PathBuf,
    /// The folder of the copy and the one of the original, if it is a copy.
    pub moved: Option<(PathBuf, PathBuf)>,
}

/// All copies made so far.
#[derive(Debug)]
pub struct Copies<'a> {
    scratch: &'a Scratch,
    search: &'a SearchPath,
    files: Vec<File>,
    /// By path without links.
    known: HashMap<PathBuf, usize>,
    /// Copies and what they are called in messages and dependency files.
    names: Vec<(PathBuf, PathBuf)>,
    os_threads: bool,
}

#[derive(Debug)]
struct File {
    /// As the compiler would call it.
    shown: PathBuf,
    text: Vec<u8>,
    edits: Vec<Edit>,
    includes: Vec<(Include, Option<usize>)>,
    /// Whether it can't be used as it is.
    copied: bool,
    by_address: bool,
}

impl<'a> Copies<'a> {
    /// No copies yet. `os_threads`: GPU threads are OS threads.
    pub fn new(scratch: &'a Scratch, search: &'a SearchPath, os_threads: bool) -> Copies<'a> {
        Copies { scratch, search, files: Vec::new(), known: HashMap::new(), names: Vec::new(), os_threads }
    }

    /// Pairs of copy and original, for what the compiler writes about its input.
    pub fn names(&self) -> &[(PathBuf, PathBuf)] {
        &self.names
    }

    /// Reads a source (`-` is the standard input) with its headers and writes the copies that are needed.
    pub fn prepare(&mut self, source: &Path) -> Result<Prepared, String> {
        let stdin = source.as_os_str() == "-";
        let text = if stdin { read_stdin() } else { fs::read(source) };
        let text = text.map_err(|error| format!("{}: {}", source.display(), reason(&error)))?;
        self.files.clear();
        self.known.clear();
        let shown = if stdin { PathBuf::from("<stdin>") } else { source.to_path_buf() };
        let main = self.add(shown, text, source)?;
        self.follow(main)?;
        if self.files.iter().any(|file| file.by_address) {
            for file in &mut self.files {
                file.edits.extend(register::edits(&Source::new(&file.text)));
                file.copied |= !file.edits.is_empty();
            }
        }
        self.mark();
        let copied = self.files[main].copied || stdin;
        if !copied {
            return Ok(Prepared { path: source.to_path_buf(), moved: None });
        }
        self.files[main].copied = true;
        let paths = self.places(source, main)?;
        for index in 0..self.files.len() {
            if let Some(path) = &paths[index] {
                let text = self.render(index, main, &paths);
                fs::write(path, text).map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
            }
        }
        let path = paths[main].clone().unwrap_or_default();
        let folder = |path: &Path| path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(Prepared { moved: Some((folder(&path), or_here(folder(source)))), path })
    }

    fn add(&mut self, shown: PathBuf, text: Vec<u8>, path: &Path) -> Result<usize, String> {
        let source = Source::new(&text).os_threads(self.os_threads);
        let edits = source
            .edits()
            .map_err(|failure| format!("{}:{}: error: {}", shown.display(), failure.line, failure.message))?;
        let includes = source.includes().into_iter().map(|include| (include, None)).collect();
        let copied = !edits.is_empty();
        let by_address = register::launches_by_address(&source);
        self.files.push(File { shown, text, edits, includes, copied, by_address });
        if let Ok(real) = path.canonicalize() {
            self.known.insert(real, self.files.len() - 1);
        }
        Ok(self.files.len() - 1)
    }

    /// Reads the headers of this file, and theirs.
    fn follow(&mut self, first: usize) -> Result<(), String> {
        let mut open = vec![first];
        while let Some(index) = open.pop() {
            for at in 0..self.files[index].includes.len() {
                let include = &self.files[index].includes[at].0;
                let Some(path) = self.find(&self.files[index].shown, include) else { continue };
                let Ok(real) = path.canonicalize() else { continue };
                let header = match self.known.get(&real) {
                    Some(&header) => header,
                    None => {
                        // What can't be read is the compiler's to complain about.
                        let Ok(text) = fs::read(&path) else { continue };
                        let header = self.add(path.clone(), text, &path)?;
                        open.push(header);
                        header
                    }
                };
                self.files[index].includes[at].1 = Some(header);
            }
        }
        Ok(())
    }

    fn find(&self, from: &Path, include: &Include) -> Option<PathBuf> {
        let own = from.parent().unwrap_or(Path::new(""));
        let quoted = std::iter::once(own).chain(self.search.quoted.iter().map(PathBuf::as_path));
        let quoted = quoted.filter(|_| include.quoted);
        let name = Path::new(std::ffi::OsStr::from_bytes(&include.name));
        quoted
            .chain(self.search.all.iter().map(PathBuf::as_path))
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
    }

    /// What includes a copy has to be a copy too.
    fn mark(&mut self) {
        loop {
            let copied: Vec<bool> = self.files.iter().map(|file| file.copied).collect();
            let mut changed = false;
            for file in &mut self.files {
                let reaches =
                    file.includes.iter().any(|(_, header)| header.is_some_and(|header| copied[header]));
                changed |= reaches && !file.copied;
                file.copied |= reaches;
            }
            if !changed {
                return;
            }
        }
    }

    /// Where each copy goes: each into a folder of its own, so that base names stay.
    fn places(&mut self, source: &Path, main: usize) -> Result<Vec<Option<PathBuf>>, String> {
        let mut paths = Vec::with_capacity(self.files.len());
        for index in 0..self.files.len() {
            if !self.files[index].copied {
                paths.push(None);
                continue;
            }
            let original = if index == main { source } else { &self.files[index].shown };
            let name = original.file_name().unwrap_or(original.as_os_str());
            let path = self.scratch.folder()?.join(name);
            self.names.push((path.clone(), original.to_path_buf()));
            paths.push(Some(path));
        }
        Ok(paths)
    }

    fn render(&mut self, index: usize, main: usize, paths: &[Option<PathBuf>]) -> Vec<u8> {
        let mut edits = std::mem::take(&mut self.files[index].edits);
        for (include, header) in &self.files[index].includes {
            let Some(header) = *header else { continue };
            let target = match &paths[header] {
                Some(copy) => copy.clone(),
                None if self.found_from_copy(include, main, header) => continue,
                None => match std::path::absolute(&self.files[header].shown) {
                    Ok(path) => path,
                    Err(_) => continue,
                },
            };
            edits.push(Edit::replace(include.range.clone(), format!("\"{}\"", target.display())));
        }
        let file = &self.files[index];
        let text = file.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file.text);
        let dropped = file.text.len() - text.len();
        let shown = file.shown.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let shown = shown.replace('\n', "\\n");
        let mut out = format!("#line 1 \"{shown}\"\n").into_bytes();
        out.extend_from_slice(&apply(&file.text, edits)[dropped..]);
        out
    }

    /// Whether the include of a copy finds the header without help: the compiler looks into the folder of
    /// the main source and then into the user's.
    fn found_from_copy(&self, include: &Include, main: usize, header: usize) -> bool {
        let found = self.find(&self.files[main].shown, include);
        let real = found.and_then(|path| path.canonicalize().ok());
        real.is_some_and(|real| self.known.get(&real) == Some(&header))
    }
}

fn or_here(folder: PathBuf) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
}

fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::io::stdin().lock().read_to_end(&mut text)?;
    Ok(text)
}

/// `text`, which the compiler wrote, with the originals' names in the place of the copies'.
pub fn restore_names(text: &[u8], names: &[(PathBuf, PathBuf)]) -> Vec<u8> {
    let mut out = text.to_vec();
    for (copy, original) in names {
        for escape in [|name: &[u8]| name.to_vec(), make_escaped, c_escaped] {
            let (from, to) = (escape(copy.as_os_str().as_bytes()), escape(original.as_os_str().as_bytes()));
            out = replace_all(&out, &from, &to);
        }
    }
    out
}

fn make_escaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in name {
        match byte {
            b' ' | b'#' => out.push(b'\\'),
            b'$' => out.push(b'$'),
            _ => {}
        }
        out.push(byte);
    }
    out
}

fn c_escaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in name {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}

fn replace_all(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// A path with something behind it, whatever bytes it holds.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    bytes.extend_from_slice(suffix.as_bytes());
    PathBuf::from(OsString::from_vec(bytes))
}
