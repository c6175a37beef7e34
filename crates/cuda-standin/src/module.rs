//! Modules: what their PTX declares. Kernels are models.
use crate::code::{self, Out};
use crate::context::Context;
use crate::handles::{self, Table};
use crate::knobs;
use crate::memory::{self, Allocation, GRANULE, Kind};
use crate::models::{self, Model};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A declaration in PTX.
#[derive(Debug, PartialEq, Eq)]
enum Declared {
    /// Name, and bytes of each parameter.
    Entry(String, Vec<usize>),
    /// Name, alignment, and initial bytes.
    Global(String, usize, Vec<u8>),
}

pub struct Module {
    pub handle: usize,
    pub context: usize,
    /// Address and bytes of each.
    pub globals: BTreeMap<String, (usize, usize)>,
    entries: BTreeMap<String, Vec<usize>>,
    functions: Mutex<BTreeMap<String, usize>>,
    memory: Option<usize>,
}

pub struct Function {
    pub name: String,
    pub module: Arc<Module>,
    pub sizes: Vec<usize>,
    pub model: Option<&'static Model>,
}

pub static MODULES: Table<Module> = Table::new();
pub static FUNCTIONS: Table<Function> = Table::new();
/// Libraries, each by the module that is behind it.
pub static LIBRARIES: Table<Arc<Module>> = Table::new();

/// A kernel with its arguments.
pub struct Launch {
    pub function: Arc<Function>,
    pub blocks: u32,
    pub arguments: Vec<Vec<u8>>,
}

impl Launch {
    pub fn run(&self, context: &Arc<Context>) -> Out {
        let model = self.function.model.ok_or(code::NOT_SUPPORTED)?;
        (model.run)(&models::Call { launch: self, context })
    }
}

/// PTX without its comments.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        out.push(' ');
        rest = rest[at..].find("*/").map_or("", |end| &rest[at + end + 2..]);
    }
    out.push_str(rest);
    out.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

fn bytes_of(kind: &str) -> Option<usize> {
    let digits = kind.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let known = ["b", "u", "s", "f"].contains(&kind.strip_suffix(digits)?);
    Some(digits.parse::<usize>().ok()? / 8).filter(|bytes| known && [1, 2, 4, 8, 16].contains(bytes))
}

fn number(text: &str) -> u64 {
    let text = text.trim().trim_end_matches('U');
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap_or(0),
        None => text.parse::<i128>().unwrap_or(0) as u64,
    }
}

/// A variable: alignment, name, bytes of an element, elements.
fn variable(text: &str) -> Option<(usize, String, usize, usize)> {
    let (mut align, mut elem, mut name) = (1, None, None);
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match word.strip_prefix('.') {
            Some("align") => align = words.next()?.parse().ok()?,
            Some(kind) => elem = elem.or(bytes_of(kind)),
            None => name = Some(word),
        }
    }
    let (name, count) = match name?.split_once('[') {
        Some((name, count)) => (name, count.trim_end_matches(']').parse().ok()?),
        None => (name?, 1),
    };
    Some((align.max(elem?), name.to_owned(), elem?, count))
}

fn declarations(text: &str) -> Vec<Declared> {
    let text = plain(text);
    let mut found = Vec::new();
    for part in text.split(".entry").skip(1) {
        let part = part.trim_start();
        let end = part.find(|letter: char| letter == '(' || letter == '{' || letter.is_whitespace());
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let list = rest.trim_start().strip_prefix('(').and_then(|list| list.split(')').next()).unwrap_or("");
        let params = list.split(',').filter_map(|param| variable(&param.replacen(".param", "", 1)));
        found
            .push(Declared::Entry(name.to_owned(), params.map(|(_, _, elem, count)| elem * count).collect()));
    }
    let mut depth = 0;
    for statement in text.split_inclusive([';', '{', '}']) {
        let outside = depth == 0;
        let global = statement.split_whitespace().any(|word| word == ".global" || word == ".const");
        let external = statement.split_whitespace().any(|word| word == ".extern");
        if outside && global && !external {
            // The initial value may be a list in braces, which the text behind this statement holds.
            let at = statement.as_ptr() as usize - text.as_ptr() as usize;
            let whole = text[at..].split(';').next().unwrap_or("");
            let (declared, initial) = whole.split_once('=').unwrap_or((whole, ""));
            if let Some((align, name, elem, count)) = variable(declared.trim_start_matches('}')) {
                let mut bytes = vec![0; elem * count];
                let values = initial.split(['{', '}', ',']).filter(|value| !value.trim().is_empty());
                for (place, value) in bytes.chunks_exact_mut(elem).zip(values) {
                    place.copy_from_slice(&u128::from(number(value)).to_le_bytes()[..elem]);
                }
                found.push(Declared::Global(name, align, bytes));
            }
        }
        depth += statement.matches('{').count();
        depth -= statement.matches('}').count().min(depth);
    }
    found
}

/// The architecture that the PTX was made for, as 90 for sm_90.
fn target(text: &str) -> Option<u32> {
    let target = text.split(".target").nth(1)?.split_whitespace().next()?.trim_start_matches("sm_");
    target.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// Major and minor compute capability of the devices.
pub fn capability() -> (u32, u32) {
    let text = knobs::text("CAPABILITY").unwrap_or_else(|| "9.0".to_owned());
    let (major, minor) = text.split_once('.').expect("CUDA_STANDIN_CAPABILITY is MAJOR.MINOR");
    (major.parse().expect("a number"), minor.parse().expect("a number"))
}

impl Module {
    pub fn load(context: &Context, image: &[u8]) -> Out<Arc<Module>> {
        let text = std::str::from_utf8(image).map_err(|_| code::INVALID_IMAGE)?;
        if !text.contains(".version") {
            return Err(code::INVALID_IMAGE);
        }
        let (major, minor) = capability();
        if target(text).ok_or(code::INVALID_PTX)? > major * 10 + minor {
            return Err(code::NO_BINARY_FOR_GPU);
        }
        let mut entries = BTreeMap::new();
        let mut placed = Vec::new();
        let mut size = 0usize;
        for declared in declarations(text) {
            match declared {
                Declared::Entry(name, sizes) => drop(entries.insert(name, sizes)),
                Declared::Global(name, align, bytes) => {
                    size = size.next_multiple_of(align.max(16));
                    placed.push((name, size, bytes));
                    size = placed.last().map_or(0, |(_, at, bytes)| at + bytes.len());
                }
            }
        }
        let memory = match size {
            0 => None,
            _ => {
                let memory = Allocation::new(size.next_multiple_of(GRANULE), context.device, false, false)?;
                Some(memory::write(|spaces| spaces.place(memory, context.device, Kind::Globals))?)
            }
        };
        let base = memory.unwrap_or(0);
        for (_, at, bytes) in &placed {
            let seen = crate::reach::for_copy(base + at, bytes.len(), context.device)?;
            crate::work::move_bytes(seen, bytes.as_ptr(), bytes.len());
        }
        let globals = placed.into_iter().map(|(name, at, bytes)| (name, (base + at, bytes.len()))).collect();
        let module = Arc::new(Module {
            handle: handles::fresh(),
            context: context.handle,
            globals,
            entries,
            functions: Mutex::new(BTreeMap::new()),
            memory,
        });
        MODULES.insert(module.handle, module.clone());
        Ok(module)
    }

    pub fn function(self: &Arc<Module>, name: &str) -> Out<usize> {
        let sizes = self.entries.get(name).ok_or(code::NOT_FOUND)?;
        let mut functions = self.functions.lock().expect("no panic");
        if let Some(handle) = functions.get(name) {
            return Ok(*handle);
        }
        let model = models::find(name);
        let function = Function { name: name.to_owned(), module: self.clone(), sizes: sizes.clone(), model };
        let handle = FUNCTIONS.add(function);
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// Takes its functions and globals away.
    pub fn unload(&self) {
        for handle in self.functions.lock().expect("no panic").values() {
            let _ = FUNCTIONS.remove(*handle, 0);
        }
        if let Some(base) = self.memory {
            memory::write(|spaces| drop(spaces.remove(base)));
        }
    }
}

/// A context is gone, with its modules.
pub fn forget(context: usize) {
    for module in MODULES.all().into_iter().filter(|module| module.context == context) {
        module.unload();
        let _ = MODULES.remove(module.handle, 0);
    }
    LIBRARIES.retain(|module| module.context != context);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_ptx() {
        let text = "
// .entry no(
.visible .entry first(
\t.param .u64 first_param_0, /* .param .u8 no */
\t.param .align 8 .b8 first_param_1[24],
\t.param .s32 first_param_2
)
.maxntid 512, 1, 1
{ .reg .b32 %r<2>; ld.global.u32 %r1, [x]; { ret; } }
.global .align 8 .b8 dushmem_impl_state[104];
.visible .global .align 4 .u32 count = 7;
.extern .global .u32 other;
.const .align 2 .u16 list[3] = {1, 0x2, 3};
.entry second() { ret; }";
        let entry = |name: &str, sizes: &[usize]| Declared::Entry(name.to_owned(), sizes.to_vec());
        let global =
            |name: &str, align, bytes: &[u8]| Declared::Global(name.to_owned(), align, bytes.to_vec());
        let expected = [
            entry("first", &[8, 24, 4]),
            entry("second", &[]),
            global("dushmem_impl_state", 8, &[0; 104]),
            global("count", 4, &[7, 0, 0, 0]),
            global("list", 2, &[1, 0, 2, 0, 3, 0]),
        ];
        assert_eq!(declarations(text), expected);
        assert_eq!(target(".version 8.0\n.target sm_90a\n"), Some(90));
    }
}
