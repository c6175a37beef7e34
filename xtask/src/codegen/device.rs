//! The names that kernels call: thin functions around the templates of `include/dushmem/*.h`.
use super::expand::{c_type, declare};
use super::header::guard;
use super::table::{DeviceOp, Family, Presence, Space, Table, Type};
use std::fmt::Write;

/// One function of a family for kernels.
#[derive(Clone, Debug)]
pub struct DeviceFunction<'a> {
    /// Its row.
    pub op: &'a DeviceOp,
    /// Where its name lives.
    pub space: Space,
    /// The type it works on, if it is typed.
    pub ty: Option<&'a Type>,
}

/// All functions of a row in a space.
pub fn functions<'a>(table: &'a Table, op: &'a DeviceOp, space: Space) -> Vec<DeviceFunction<'a>> {
    match &op.table {
        None => vec![DeviceFunction { op, space, ty: None }],
        Some(name) => {
            let types = table.device_members(name, space.family).into_iter();
            types.map(|ty| DeviceFunction { op, space, ty: Some(ty) }).collect()
        }
    }
}

/// Every function that kernels may call in a family.
pub fn all(table: &Table, family: Family) -> Vec<DeviceFunction<'_>> {
    let rows = table.device.iter().filter(|op| op.presence != Presence::Absent);
    rows.flat_map(|op| {
        let spaces = op.spaces.iter().filter(move |space| space.family == family);
        spaces.flat_map(|space| functions(table, op, *space))
    })
    .collect()
}

impl DeviceFunction<'_> {
    /// Name without prefix.
    pub fn stem(&self) -> String {
        let ty = self.ty.map_or("", |ty| ty.name.as_str());
        self.op.name.replace("<T>", ty).replace("<N>", ty)
    }

    /// The whole name.
    pub fn name(&self) -> String {
        format!("{}{}", self.space.prefix(), self.stem())
    }

    /// The name under which headers for device compilers reach the library.
    fn host_name(&self) -> String {
        let extension = if self.space.extension { "x" } else { "" };
        format!("{}{extension}_host_{}", self.space.family.prefix(), self.stem())
    }

    /// A type of the table in this family.
    pub fn c_type(&self, kind: &str) -> String {
        match kind {
            // Either family's headers may stand alone.
            "team_t" => "int32_t".into(),
            "x:qp_handle_t" => "int".into(),
            "x:qp_handle_t *" => "const int *".into(),
            _ => c_type(kind, self.space.family, self.ty.map(|ty| ty.c.as_str())),
        }
    }

    /// `returns name(parameters)`.
    pub fn prototype(&self, name: &str) -> String {
        let params = self.op.params.iter().map(|param| declare(&self.c_type(&param.kind), &param.name));
        let params = params.collect::<Vec<_>>().join(", ");
        format!("{}({params})", declare(&self.c_type(&self.op.returns), name))
    }

    fn arguments(&self) -> Vec<&str> {
        self.op.params.iter().map(|param| param.name.as_str()).collect()
    }
}

/// A row's name in its parts.
pub struct Parts<'a> {
    /// With a queue pair.
    pub qp: bool,
    /// The operation without type and scope.
    stem: &'a str,
    /// Elements without a type, moved as this.
    raw: Option<&'static str>,
    scope: &'a str,
}

/// What elements of a size in bits are moved as.
fn unit(bits: &str) -> &'static str {
    match bits {
        "8" => "uint8_t",
        "16" => "uint16_t",
        "32" => "uint32_t",
        "64" => "uint64_t",
        _ => "::dushmem::device::impl::wide",
    }
}

impl<'a> Parts<'a> {
    /// Takes a function's name apart.
    pub fn of(function: &DeviceFunction<'a>) -> Parts<'a> {
        let op = function.op;
        let name = op.name.strip_suffix(&format!("_{}", op.scope)).unwrap_or(&op.name);
        let (qp, name) = name.strip_prefix("qp_").map_or((false, name), |rest| (true, rest));
        let stem = name.strip_prefix("<T>_").unwrap_or(name);
        let sized = stem.contains("<N>");
        let raw = match function.ty {
            Some(ty) if sized => Some(unit(&ty.name)),
            _ if stem.contains("mem") => Some("char"),
            _ => None,
        };
        Parts { qp, stem, raw, scope: &op.scope }
    }

    /// The operation's name without what says how large elements are.
    pub fn plain(&self) -> String {
        self.stem.replace("<N>", "").replacen("mem", "", 1)
    }
}

/// The call of the template that the function stands for.
pub fn body(function: &DeviceFunction<'_>) -> String {
    let parts = Parts::of(function);
    let stem = parts.plain();
    let arguments: Vec<String> = function
        .op
        .params
        .iter()
        .filter(|param| !param.kind.starts_with("x:qp_handle_t"))
        .map(|param| match (parts.raw, param.kind.as_str()) {
            (Some(unit), "void *") => format!("({unit} *){}", param.name),
            (Some(unit), "const void *") => format!("(const {unit} *){}", param.name),
            _ => param.name.clone(),
        })
        .collect();
    let arguments = arguments.join(", ");
    let scope = format!("::dushmem::device::scope::{}", parts.scope);
    let call = |name: &str, templates: &[&str]| {
        let list = templates.join(", ");
        let list = if list.is_empty() { list } else { format!("<{list}>") };
        let separator = if arguments.is_empty() { "" } else { ", " };
        let context = if parts.qp {
            format!("::dushmem::device::impl::queue_pair(qp_index, \"{}\"){separator}", function.name())
        } else {
            String::new()
        };
        format!("::dushmem::device::{name}{list}({context}{arguments})")
    };
    let void = |text: String| if function.op.returns == "void" { format!("(void){text}") } else { text };
    if let Some((operation, kind)) = stem
        .rsplit_once('_')
        .filter(|(_, kind)| ["reduce", "reducescatter", "inscan", "exscan"].contains(kind))
    {
        let operation = match operation {
            "and" | "or" | "xor" => format!("{operation}_"),
            "double2_maxloc" => "maxloc".into(),
            other => other.into(),
        };
        return call(kind, &[&scope, &format!("::dushmem::device::op::{operation}")]);
    }
    match stem.as_str() {
        "my_pe" | "n_pes" | "team_my_pe" | "team_n_pes" | "team_translate_pe" => call(&stem, &[]),
        "ptr" => "(void *)::dushmem::device::ptr((char *)ptr, pe)".into(),
        "global_exit" | "mc_ptr" | "info_get_version" | "info_get_name" | "vendor_get_version_info" => {
            call(&format!("impl::{stem}"), &[])
        }
        "p" | "g" => call(&stem, &[]),
        "quiet" | "fence" if parts.qp => {
            let name = function.name();
            format!(
                "::dushmem::device::impl::{stem}_queue_pairs<{scope}>(pe, qp_handle, num_qps, \"{name}\")"
            )
        }
        "team_sync" => call("sync", &[&scope]),
        "test_all_vector"
        | "test_any_vector"
        | "test_some_vector"
        | "wait_until_all_vector"
        | "wait_until_any_vector"
        | "wait_until_some_vector" => call(stem.trim_end_matches("_vector"), &[&scope]),
        "test" | "wait_until" | "test_all" | "test_any" | "test_some" | "wait_until_all"
        | "wait_until_any" | "wait_until_some" => void(call(&stem, &[&scope])),
        "signal_op" | "signal_fetch" => call(&stem, &[]),
        atomic if atomic.starts_with("atomic_") => void(call(atomic, &[])),
        _ => void(call(&stem, &[&scope])),
    }
}

/// The template that a function stands for, as programs write it.
pub fn template(function: &DeviceFunction<'_>) -> String {
    let body = body(function).replace("::dushmem::device::", "").replace("(void)", "");
    let body = body.strip_prefix("(void *)").unwrap_or(&body);
    body.split('(').next().unwrap_or_default().to_string()
}

/// The function of one name, on one line.
fn wrapper(function: &DeviceFunction<'_>) -> String {
    let name = function.name();
    let body = body(function);
    if function.op.presence == Presence::Twin {
        let host = format!("{}({})", function.host_name(), function.arguments().join(", "));
        return format!(
            "DUSHMEM_IMPL_NAME {} {{ DUSHMEM_IMPL_TWIN({host}, {body}) }}\n",
            function.prototype(&name)
        );
    }
    format!(
        "DUSHMEM_IMPL_DEVICE_NAME {} {{ DUSHMEM_IMPL_ONLY(\"{name}\", {body}) }}\n",
        function.prototype(&name)
    )
}

const ABOUT: &str = "
/* The names of this header that kernels may call, as functions for host and device. In kernels each is one of
 * the templates in namespace dushmem::device, with a type and a scope. On the host it is the library's function,
 * here under a name of its own, or there is none: then it exists in kernels only. */
#include <dushmem/impl/names.h>
";

/// What device compilers read at the end of a public header.
fn file(table: &Table, space: Space) -> (String, String) {
    let rows: Vec<&DeviceOp> = table
        .device
        .iter()
        .filter(|op| op.presence != Presence::Absent && op.spaces.contains(&space))
        .collect();
    let (mut host, mut names) = (String::new(), String::new());
    for op in &rows {
        let _ = writeln!(names, "\n/* {}: {} */", op.area, op.name);
        for function in functions(table, op, space) {
            if op.presence == Presence::Twin {
                let prototype = function.prototype(&function.host_name());
                let _ = writeln!(host, "{prototype} __asm__(\"{}\");", function.name());
            }
            names += &wrapper(&function);
        }
    }
    let name = header_name(space);
    let host = if host.is_empty() { host } else { super::header::extern_c(&host) };
    (format!("include/{name}"), guard(&name, &format!("{ABOUT}{host}{names}")))
}

/// The file with a space's names for kernels, below `include`.
pub fn header_name(space: Space) -> String {
    let extension = if space.extension { "x" } else { "" };
    format!("dushmem/gen/device_{}{extension}.h", space.family.prefix())
}

/// The generated headers for device compilers.
pub fn files(table: &Table) -> Vec<(String, String)> {
    let families = [Family::Dushmem, Family::Nvshmem].into_iter();
    let spaces =
        families.flat_map(|family| [false, true].map(|extension| Space { family, extension, plain: false }));
    spaces.map(|space| file(table, space)).collect()
}
