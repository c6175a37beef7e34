//! The table in `api/`, as read from its files.
use std::path::Path;

/// A name family. Its names begin with the prefix, those of its extensions with the prefix and an `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `dushmem_`: everything that the core can do.
    Dushmem,
    /// `nvshmem_`: as NVSHMEM.
    Nvshmem,
    /// `shmem_`: the OpenSHMEM standard.
    Shmem,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 3] = [Family::Dushmem, Family::Nvshmem, Family::Shmem];

    /// The prefix without its underscore.
    pub fn prefix(self) -> &'static str {
        match self {
            Family::Dushmem => "dushmem",
            Family::Nvshmem => "nvshmem",
            Family::Shmem => "shmem",
        }
    }
}

/// A family, or its extensions, or its names without prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// The family.
    pub family: Family,
    /// True for the `x` names, and for what is declared with them.
    pub extension: bool,
    /// True for names that stand in the table as they are.
    pub plain: bool,
}

impl Space {
    fn parse(text: &str) -> Result<Space, String> {
        let (family, extension) = match text.strip_suffix('x') {
            Some(short) => (short, true),
            None => (text, false),
        };
        let family = match family {
            "d" => Family::Dushmem,
            "n" => Family::Nvshmem,
            "s" => Family::Shmem,
            _ => return Err(format!("`{text}` is no family; write d, n, s, or dx, nx, sx")),
        };
        Ok(Space { family, extension, plain: false })
    }

    /// Where a name without prefix belongs: NVSHMEM's internal ones to its extensions, all others are old
    /// names of OpenSHMEM.
    fn of_plain(name: &str) -> Space {
        let nvshmem = name.starts_with("nvshmem");
        let family = if nvshmem { Family::Nvshmem } else { Family::Shmem };
        Space { family, extension: nvshmem, plain: true }
    }

    /// The prefix of names, with the underscore.
    pub fn prefix(self) -> String {
        match self {
            Space { plain: true, .. } => String::new(),
            _ => format!("{}{}_", self.family.prefix(), if self.extension { "x" } else { "" }),
        }
    }

    /// True if the names stand in the same header as those of `other`.
    pub fn is_beside(self, other: Space) -> bool {
        (self.family, self.extension) == (other.family, other.extension)
    }

    /// True if each function has a second name for tools, with a `p` in front (OpenSHMEM section 10).
    pub fn has_twins(self) -> bool {
        self.family == Family::Shmem && !self.extension
    }
}

/// A type of typed operations.
#[derive(Clone, Debug)]
pub struct Type {
    /// As it stands in names.
    pub name: String,
    /// In C.
    pub c: String,
    /// In the exported functions.
    pub rust: String,
    /// Its size.
    pub bytes: usize,
    /// The type of the same representation that C's generic selection knows, if it is another name.
    pub same_as: Option<String>,
}

/// Some types of a type table, for some families.
#[derive(Clone, Debug)]
pub struct Row {
    pub(super) table: String,
    pub(super) families: Vec<Family>,
    pub(super) types: Vec<String>,
    now: bool,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// C type as in the table: `T`, `team_t`, ... stand for the family's.
    pub kind: String,
    /// Its name; empty for `...`.
    pub name: String,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// Which part of the interface it belongs to.
    pub area: String,
    /// Name without prefix; `<T>` and `<N>` stand for a type's name.
    pub name: String,
    /// Type table, if it is typed.
    pub table: Option<String>,
    /// C type returned.
    pub returns: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Where it exists.
    pub spaces: Vec<Space>,
    /// Families in which there is a form with a context as first argument.
    pub ctx: Vec<Family>,
    /// Name for C11 and C++, without prefix.
    pub generic: Option<String>,
    /// OpenSHMEM version that deprecated it.
    pub deprecated: Option<String>,
    /// Section of OpenSHMEM 1.6.
    pub section: String,
    /// Path of the function in `crates/capi` that does it; `None`: not there yet.
    pub body: Option<String>,
    /// One line for people.
    pub doc: String,
}

impl Op {
    /// Where it exists in a family.
    pub fn spaces_of(&self, family: Family) -> impl Iterator<Item = Space> {
        self.spaces.iter().copied().filter(move |space| space.family == family)
    }
}

/// How a kernel's function is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// On the host it is the function of that name.
    Twin,
    /// In kernels only.
    Device,
    /// Not at all.
    Absent,
}

/// A function that kernels may call.
#[derive(Clone, Debug)]
pub struct DeviceOp {
    /// Which part of the interface it belongs to.
    pub area: String,
    /// Name without prefix; `<T>` and `<N>` stand for a type's name.
    pub name: String,
    /// Type table, if it is typed.
    pub table: Option<String>,
    /// C type returned.
    pub returns: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Who makes the call together: `thread`, `warp`, `warpgroup`, `block`.
    pub scope: String,
    /// Where it exists.
    pub spaces: Vec<Space>,
    /// Whether there is one.
    pub presence: Presence,
}

impl DeviceOp {
    fn parse(f: &[String]) -> Result<DeviceOp, String> {
        let presence = match f[7].as_str() {
            "host twin" => Presence::Twin,
            "device" => Presence::Device,
            "absent" => Presence::Absent,
            other => return Err(format!("api/device.tsv: {}: `{other}` is no status", f[1])),
        };
        let scopes: &[&str] = &["thread", "warp", "warpgroup", "block"];
        if presence != Presence::Absent && !scopes.contains(&f[5].as_str()) {
            return Err(format!("api/device.tsv: {}: `{}` is no scope", f[1], f[5]));
        }
        // Rows of what is absent hold C++ templates.
        let params = if f[4] == "-" || presence == Presence::Absent {
            Vec::new()
        } else {
            f[4].split(',').map(param).collect()
        };
        Ok(DeviceOp {
            area: f[0].clone(),
            name: f[1].clone(),
            table: option(&f[2]),
            returns: f[3].clone(),
            params,
            scope: f[5].clone(),
            spaces: spaces(&f[6], &f[1])?,
            presence,
        })
    }
}

/// A constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Name without prefix.
    pub name: String,
    /// Where it exists.
    pub spaces: Vec<Space>,
    /// `int`, `long`, `team`, `ctx`, `string`.
    pub kind: String,
    /// Its value.
    pub value: String,
    /// False: a later issue.
    pub now: bool,
    /// One line for people.
    pub doc: String,
}

/// A file of the table as rows of fields.
pub type Rows = Vec<Vec<String>>;

/// Everything in `api/`.
#[derive(Debug)]
pub struct Table {
    /// Types, in the order of the file.
    pub types: Vec<Type>,
    pub(super) rows: Vec<Row>,
    /// Operations, in the order of the file.
    pub ops: Vec<Op>,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Error codes: name, number, families, text.
    pub errors: Vec<(String, String, Vec<Space>, String)>,
    /// Environment variables: name, kind, default, families, whether they are read, help.
    pub env: Rows,
    /// Functions that kernels may call, in the order of the file.
    pub device: Vec<DeviceOp>,
    /// Extensions to the standards, each with a reason.
    pub extensions: Rows,
}

fn read(dir: &Path, file: &str, columns: &[&str]) -> Result<Rows, String> {
    let path = dir.join(file);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: {}", path.display(), crate::workspace::reason(&error)))?;
    let mut lines = text.lines().enumerate();
    let header = lines.next().map(|(_, line)| line).unwrap_or_default();
    if header.split('\t').ne(columns.iter().copied()) {
        return Err(format!("api/{file}: the first line must be {}", columns.join(" TAB ")));
    }
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            let fields: Vec<String> = line.split('\t').map(str::to_string).collect();
            if fields.len() != columns.len() || fields.iter().any(String::is_empty) {
                return Err(format!(
                    "api/{file}:{}: {} fields where {} are needed, none empty (write -)",
                    number + 1,
                    fields.len(),
                    columns.len()
                ));
            }
            Ok(fields)
        })
        .collect()
}

/// Where `name` exists.
fn spaces(text: &str, name: &str) -> Result<Vec<Space>, String> {
    if text == "plain" {
        return Ok(vec![Space::of_plain(name)]);
    }
    text.split(',').map(Space::parse).collect()
}

pub(super) fn families(text: &str) -> Result<Vec<Family>, String> {
    if text == "-" {
        return Ok(Vec::new());
    }
    Ok(spaces(text, "")?.into_iter().map(|space| space.family).collect())
}

fn option(text: &str) -> Option<String> {
    (text != "-").then(|| text.to_string())
}

fn param(text: &str) -> Param {
    let text = text.trim();
    let split = text.rfind([' ', '*']).map_or(0, |at| at + 1);
    match text {
        "..." => Param { kind: text.into(), name: String::new() },
        _ => Param { kind: text[..split].trim().into(), name: text[split..].into() },
    }
}

impl Table {
    /// Reads the files below `dir` and checks that they fit together.
    pub fn load(dir: &Path) -> Result<Table, String> {
        let types = read(dir, "types.tsv", &["name", "c", "rust", "bytes", "same_as"])?
            .into_iter()
            .map(|f| {
                let bytes =
                    f[3].parse().map_err(|_| format!("api/types.tsv: {}: `{}` is no size", f[0], f[3]))?;
                let (name, c, rust) = (f[0].clone(), f[1].clone(), f[2].clone());
                Ok(Type { name, c, rust, bytes, same_as: option(&f[4]) })
            })
            .collect::<Result<_, String>>()?;
        let rows = read(dir, "tables.tsv", &["table", "families", "types", "status", "note"])?
            .into_iter()
            .map(|f| {
                Ok(Row {
                    table: f[0].clone(),
                    families: families(&f[1])?,
                    types: f[2].split(',').map(str::to_string).collect(),
                    now: f[3] == "now",
                })
            })
            .collect::<Result<_, String>>()?;
        let columns = [
            "area",
            "name",
            "table",
            "returns",
            "params",
            "families",
            "ctx",
            "generic",
            "since",
            "deprecated",
            "section",
            "status",
            "doc",
        ];
        let ops = read(dir, "ops.tsv", &columns)?
            .into_iter()
            .map(|f| {
                Ok(Op {
                    area: f[0].clone(),
                    name: f[1].clone(),
                    table: option(&f[2]),
                    returns: f[3].clone(),
                    params: if f[4] == "-" { Vec::new() } else { f[4].split(',').map(param).collect() },
                    spaces: spaces(&f[5], &f[1])?,
                    ctx: families(&f[6])?,
                    generic: option(&f[7]),
                    deprecated: option(&f[9]),
                    section: f[10].clone(),
                    body: (!f[11].starts_with("later")).then(|| f[11].clone()),
                    doc: f[12].clone(),
                })
            })
            .collect::<Result<_, String>>()?;
        let constants = read(dir, "constants.tsv", &["name", "families", "kind", "value", "status", "doc"])?
            .into_iter()
            .map(|f| {
                Ok(Constant {
                    name: f[0].clone(),
                    spaces: spaces(&f[1], &f[0])?,
                    kind: f[2].clone(),
                    value: f[3].clone(),
                    now: f[4] == "now",
                    doc: f[5].clone(),
                })
            })
            .collect::<Result<_, String>>()?;
        let errors = read(dir, "errors.tsv", &["name", "code", "families", "doc"])?
            .into_iter()
            .map(|f| Ok((f[0].clone(), f[1].clone(), spaces(&f[2], &f[0])?, f[3].clone())))
            .collect::<Result<_, String>>()?;
        let device_columns = ["area", "name", "table", "returns", "params", "scope", "families", "status"];
        let table = Table {
            types,
            rows,
            ops,
            constants,
            errors,
            env: read(dir, "env.tsv", &["name", "kind", "default", "families", "status", "help"])?,
            device: read(dir, "device.tsv", &device_columns)?
                .iter()
                .map(|f| DeviceOp::parse(f))
                .collect::<Result<_, String>>()?,
            extensions: read(dir, "extensions.tsv", &["names", "families", "declared", "what", "reason"])?,
        };
        table.check()?;
        Ok(table)
    }

    /// The type of this name.
    pub fn type_named(&self, name: &str) -> Option<&Type> {
        self.types.iter().find(|ty| ty.name == name)
    }

    /// Types of a table in a family that this version covers, in the table's order.
    pub fn members(&self, table: &str, family: Family) -> Vec<&Type> {
        self.rows
            .iter()
            .filter(|row| row.table == table && row.now && row.families.contains(&family))
            .flat_map(|row| &row.types)
            .filter_map(|name| self.type_named(name))
            .collect()
    }

    /// One type for each C type of a table that `_Generic` and overloading can tell apart.
    pub fn distinct(&self, table: &str, family: Family) -> Vec<&Type> {
        let members = self.members(table, family);
        let has = |name: &str| members.iter().any(|ty| ty.name == name);
        let mut seen: Vec<&str> = Vec::new();
        let mut kept = Vec::new();
        for ty in &members {
            let canonical = ty.same_as.as_deref().unwrap_or(&ty.name);
            if (ty.same_as.is_some() && has(canonical)) || seen.contains(&canonical) {
                continue;
            }
            seen.push(canonical);
            kept.push(*ty);
        }
        kept
    }

    /// Whether kernels have the type: device compilers have no `long double`, and no complex numbers there.
    pub fn in_kernels(&self, ty: &Type) -> bool {
        !["longdouble", "complexf", "complexd"].contains(&ty.name.as_str())
    }

    /// Types of a kernel's function in a family.
    pub fn device_members(&self, table: &str, family: Family) -> Vec<&Type> {
        let mut members = self.members(table, family);
        members.retain(|ty| self.in_kernels(ty));
        members
    }

    /// True if kernels may call the operation too.
    pub fn has_device_twin(&self, op: &Op, space: Space) -> bool {
        let of = |row: &DeviceOp| row.name == op.name && row.spaces.contains(&space);
        self.device.iter().any(|row| row.presence == Presence::Twin && of(row))
    }

    /// True if kernels may call the function too, so that its device form owns the name there.
    pub fn on_device(&self, function: &super::expand::Function<'_>) -> bool {
        !function.ctx
            && self.has_device_twin(function.op, function.space)
            && function.ty.is_none_or(|ty| self.in_kernels(ty))
    }
}
