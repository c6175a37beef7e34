//! From operations to the names and prototypes of a family.
use super::table::{Family, Op, Space, Table, Type};

/// One function of a family.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// What it does.
    pub op: &'a Op,
    /// Where its name lives.
    pub space: Space,
    /// The type it works on, if it is typed.
    pub ty: Option<&'a Type>,
    /// True for the form with a context as first argument.
    pub ctx: bool,
}

impl Function<'_> {
    /// Name without prefix.
    pub fn stem(&self) -> String {
        let ty = self.ty.map_or("", |ty| ty.name.as_str());
        let name = self.op.name.replace("<T>", ty).replace("<N>", ty);
        if self.ctx { format!("ctx_{name}") } else { name }
    }

    /// The whole name.
    pub fn name(&self) -> String {
        format!("{}{}", self.space.prefix(), self.stem())
    }

    /// The second name, for tools.
    pub fn twin(&self) -> Option<String> {
        self.space.has_twins().then(|| format!("p{}", self.name()))
    }

    /// A type of the table in this family's C.
    pub fn c_type(&self, kind: &str) -> String {
        c_type(kind, self.space.family, self.ty.map(|ty| ty.c.as_str()))
    }

    /// Parameters in C: type and name.
    pub fn c_params(&self) -> Vec<(String, String)> {
        let ctx = self.ctx.then(|| (self.c_type("ctx_t"), "ctx".to_string()));
        let rest = self.op.params.iter().map(|param| (self.c_type(&param.kind), param.name.clone()));
        ctx.into_iter().chain(rest).collect()
    }

    /// The prototype without attributes and semicolon, under `name`.
    pub fn prototype(&self, name: &str) -> String {
        let params: Vec<String> = self.c_params().iter().map(|(ty, name)| declare(ty, name)).collect();
        let params = if params.is_empty() { "void".to_string() } else { params.join(", ") };
        format!("{}({params})", declare(&self.c_type(&self.op.returns), name))
    }
}

/// `type name` with the star where C programmers put it.
pub fn declare(ty: &str, name: &str) -> String {
    if name.is_empty() || ty.ends_with('*') { format!("{ty}{name}") } else { format!("{ty} {name}") }
}

/// A type of the table as a family spells it.
pub fn c_type(kind: &str, family: Family, element: Option<&str>) -> String {
    let words: Vec<String> = kind
        .split(' ')
        .map(|word| {
            let stars = word.chars().rev().take_while(|c| *c == '*').count();
            let (base, stars) = word.split_at(word.len() - stars);
            let base = match (base, element) {
                ("T", Some(element)) => super::inline::spelled(element),
                ("team_t" | "ctx_t" | "team_config_t" | "ctx_session_config_t", _) => {
                    format!("{}_{base}", family.prefix())
                }
                ("stream_t", _) => "void *".to_string(),
                // As cuda.h defines them, which need not be there.
                ("CUmodule", _) => "struct CUmod_st *".to_string(),
                ("CUlibrary", _) => "struct CUlib_st *".to_string(),
                _ => match base.strip_prefix("x:") {
                    Some(name) => format!("{}x_{name}", family.prefix()),
                    None => base.to_string(),
                },
            };
            format!("{base}{stars}")
        })
        .collect();
    words.join(" ").trim().to_string()
}

/// All functions of one operation in one space, in the order of the header.
pub fn functions<'a>(table: &'a Table, op: &'a Op, space: Space) -> Vec<Function<'a>> {
    let types: Vec<Option<&Type>> = match &op.table {
        None => vec![None],
        Some(name) => table.members(name, space.family).into_iter().map(Some).collect(),
    };
    let forms: &[bool] = if op.ctx.contains(&space.family) && !space.extension && !space.plain {
        &[false, true]
    } else {
        &[false]
    };
    let form = |ctx: bool| types.iter().map(move |ty| Function { op, space, ty: *ty, ctx });
    forms.iter().flat_map(|ctx| form(*ctx)).collect()
}

/// Every function that this version exports.
pub fn exported(table: &Table) -> Vec<Function<'_>> {
    let now = table.ops.iter().filter(|op| op.body.is_some());
    now.flat_map(|op| op.spaces.iter().flat_map(move |space| functions(table, op, *space))).collect()
}
