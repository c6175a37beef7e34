//! One name for all types: `_Generic` for C11, overloads for C++.
use super::expand::{c_type, declare};
use super::header::{NOTE, guard};
use super::inline::spelled;
use super::table::{Family, Op, Space, Table};
use std::fmt::Write;

/// An operation that has a generic name, and how its argument types choose the function.
struct Generic<'a> {
    op: &'a Op,
    name: &'a str,
    /// Index of the first argument of type `T *`; `None`: only the context matters.
    typed: Option<usize>,
    constant: bool,
    /// True if kernels may call it.
    device: bool,
}

fn generics(table: &Table, family: Family) -> Vec<Generic<'_>> {
    let here = |op: &&Op| op.body.is_some() && op.spaces.iter().any(|s| s.family == family && !s.extension);
    table
        .ops
        .iter()
        .filter(here)
        .filter_map(|op| {
            let name = op.generic.as_deref()?;
            let typed = op.params.iter().position(|param| matches!(param.kind.as_str(), "T *" | "const T *"));
            let constant = typed.is_some_and(|at| op.params[at].kind.starts_with("const"));
            let device = table.has_device_twin(op, Space { family, extension: false, plain: false });
            Some(Generic { op, name, typed, constant, device })
        })
        .collect()
}

/// Shapes of the DUSHMEM article without a team, and with the operation as an argument.
const TEAMLESS: &[&str] = &["broadcast", "alltoall"];

fn c11(generic: &Generic<'_>, family: Family) -> String {
    let f = family.prefix();
    let (op, name) = (generic.op, generic.name);
    let Some(at) = generic.typed else {
        return format!(
            "#define {f}_{name}(...) _Generic((DUSHMEM_IMPL_ARG0(__VA_ARGS__, 0)), \\\n    \
             {f}_ctx_t: {f}_ctx_{name}, default: {f}_{name})(__VA_ARGS__)\n"
        );
    };
    let suffix = op.name.trim_start_matches("<T>");
    let list = format!(
        "DUSHMEM_IMPL_SELECT{}_{}_{f}",
        if generic.constant { "C" } else { "" },
        op.table.as_deref().unwrap_or_default()
    );
    let arg = |at: usize| format!("DUSHMEM_IMPL_ARG{at}(__VA_ARGS__, 0, 0)");
    let inner = |prefix: &str, at: usize| {
        format!("_Generic(({}), {list}({prefix}, {suffix}), default: dushmem_impl_mismatch)", arg(at))
    };
    let choice = if op.ctx.contains(&family) {
        let with_ctx = inner(&format!("{f}_ctx_"), at + 1);
        format!("_Generic(({}), {f}_ctx_t: {with_ctx}, \\\n    {list}({f}_, {suffix}))", arg(at))
    } else if family == Family::Dushmem && TEAMLESS.contains(&name) {
        let with_team = inner("dushmem_", at);
        format!("_Generic(({}), int: {with_team}, \\\n    {list}(dushmem_impl_world_, {suffix}))", arg(0))
    } else {
        format!("_Generic(({}), {list}({f}_, {suffix}))", arg(at))
    };
    format!("#define {f}_{name}(...) \\\n    {choice}(__VA_ARGS__)\n")
}

/// Parameters of an overload with `F`, `NAME` and `T` left to the preprocessor.
fn open_params(op: &Op) -> Vec<(String, String)> {
    let open = |kind: &str| match kind {
        "team_t" => "F##_team_t".to_string(),
        other => c_type(other, Family::Dushmem, Some("T")),
    };
    op.params.iter().map(|param| (open(&param.kind), param.name.clone())).collect()
}

/// An overload of `generic` with these parameters. With a context it is a function of the host.
fn overload(generic: &Generic<'_>, params: &[(String, String)], call: &str) -> String {
    let list: Vec<String> = params.iter().map(|(ty, name)| declare(ty, name)).collect();
    let returns = &generic.op.returns;
    let returned = if returns == "void" { "" } else { "return " };
    let with_ctx = params.first().is_some_and(|(ty, _)| ty.ends_with("_ctx_t"));
    let kind = if generic.device && !with_ctx { "DUSHMEM_IMPL_GENERIC_##F(NAME)" } else { "static inline" };
    format!(
        " \\\n    {kind} {returns} F##_{}({}) {{ {returned}{call}({}); }}",
        generic.name,
        list.join(", "),
        names(params)
    )
}

fn names(params: &[(String, String)]) -> String {
    params.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn overload_macro(generic: &Generic<'_>) -> String {
    let (op, name) = (generic.op, generic.name);
    let suffix = op.name.trim_start_matches("<T>");
    let params = open_params(op);
    let mut text = format!("#define DUSHMEM_IMPL_CXX_{name}(F, NAME, T)");
    text += &overload(generic, &params, &format!("F##_##NAME##{suffix}"));
    if !op.ctx.is_empty() {
        let ctx = [("F##_ctx_t".to_string(), "ctx".to_string())];
        let params: Vec<_> = ctx.into_iter().chain(params).collect();
        text += &overload(generic, &params, &format!("F##_ctx_##NAME##{suffix}"));
    }
    text + "\n"
}

/// The forms on the world team: functions for `_Generic`, overloads for C++.
fn teamless(table: &Table) -> (String, String) {
    let (mut c, mut cxx) = (String::new(), String::new());
    for generic in generics(table, Family::Dushmem).iter().filter(|g| TEAMLESS.contains(&g.name)) {
        let (op, name) = (generic.op, generic.name);
        for ty in table.distinct(op.table.as_deref().unwrap_or_default(), Family::Dushmem) {
            let spelled = spelled(&ty.c);
            let params: Vec<_> = op.params[1..]
                .iter()
                .map(|param| (c_type(&param.kind, Family::Dushmem, Some(&spelled)), param.name.clone()))
                .collect();
            let list: Vec<String> = params.iter().map(|(ty, name)| declare(ty, name)).collect();
            let call = format!("dushmem_{}_{name}(DUSHMEM_TEAM_WORLD, {})", ty.name, names(&params));
            let one = |kind: &str, function: &str| {
                format!("{kind} int {function}({}) {{\n    return {call};\n}}\n", list.join(", "))
            };
            c += &one("static inline", &format!("dushmem_impl_world_{}_{name}", ty.name));
            cxx += &one(&kind(&ty.name), &format!("dushmem_{name}"));
        }
    }
    (c, cxx)
}

/// What stands before an overload of the `dushmem_` family that kernels may call, for a type.
fn kind(ty: &str) -> String {
    format!("DUSHMEM_IMPL_GENERIC_dushmem({ty})")
}

/// `dushmem_reduce`, whose operation is an argument.
fn reduce(table: &Table) -> (String, String, String) {
    let tables = [
        ("reduce_bit", &["AND", "OR", "XOR"][..]),
        ("reduce_ord", &["MAX", "MIN"][..]),
        ("reduce_sum", &["SUM", "PROD"][..]),
    ];
    let (mut shared, mut c, mut cxx) = (String::new(), String::new(), String::new());
    for ty in table.distinct("reduce_sum", Family::Dushmem) {
        let spelled = spelled(&ty.c);
        let mut cases = String::new();
        for (name, ops) in tables {
            let same =
                |other: &&&super::table::Type| other.c == ty.c || other.same_as.as_ref() == Some(&ty.name);
            let Some(member) =
                table.members(name, Family::Dushmem).iter().find(same).map(|ty| ty.name.clone())
            else {
                continue;
            };
            for op in ops {
                let _ = writeln!(
                    cases,
                    "    case DUSHMEM_{op}: return dushmem_{member}_{}_reduce(team, dest, source, nreduce);",
                    op.to_lowercase()
                );
            }
        }
        let rest = format!("{spelled} *dest, const {spelled} *source, size_t nreduce, int op");
        let _ = write!(
            shared,
            "{1} int dushmem_impl_{0}_reduce(dushmem_team_t team, {rest}) {{\n    switch (op) {{\n\
             {cases}    default: return 1;\n    }}\n}}\n",
            ty.name,
            kind(&ty.name)
        );
        let _ = write!(
            c,
            "static inline int dushmem_impl_world_{0}_reduce({rest}) {{\n    return \
             dushmem_impl_{0}_reduce(DUSHMEM_TEAM_WORLD, dest, source, nreduce, op);\n}}\n",
            ty.name
        );
        let _ = write!(
            cxx,
            "{1} int dushmem_reduce(dushmem_team_t team, {rest}) {{\n    return \
             dushmem_impl_{0}_reduce(team, dest, source, nreduce, op);\n}}\n\
             {1} int dushmem_reduce({rest}) {{\n    return \
             dushmem_impl_{0}_reduce(DUSHMEM_TEAM_WORLD, dest, source, nreduce, op);\n}}\n",
            ty.name,
            kind(&ty.name)
        );
    }
    (shared, c, cxx)
}

const REDUCE_C11: &str = "#define dushmem_reduce(...) \\
    _Generic((DUSHMEM_IMPL_ARG0(__VA_ARGS__, 0, 0)), int: _Generic((DUSHMEM_IMPL_ARG1(__VA_ARGS__, 0, 0)), \\
    DUSHMEM_IMPL_SELECT_reduce_sum_dushmem(dushmem_impl_, _reduce), default: dushmem_impl_mismatch), \\
    DUSHMEM_IMPL_SELECT_reduce_sum_dushmem(dushmem_impl_world_, _reduce))(__VA_ARGS__)
";

/// `sync` has one name for a team and, in OpenSHMEM, for the four arguments of an active set.
fn sync(family: Family) -> (&'static str, &'static str) {
    match family {
        Family::Dushmem => (
            "/* Without an argument: all PEs. The sum makes the empty argument the world team, whose handle is 0. */\n\
             #define dushmem_sync(...) dushmem_team_sync((__VA_ARGS__ + 0))\n",
            "DUSHMEM_IMPL_GENERIC_dushmem(int) int dushmem_sync(dushmem_team_t team = DUSHMEM_TEAM_WORLD) { return dushmem_team_sync(team); }\n",
        ),
        _ => (
            "/* One argument: a team. Four: the active set of older programs. */\n\
             #define shmem_sync(...) \\\n    \
             DUSHMEM_IMPL_ARG4(__VA_ARGS__, shmem_sync, shmem_sync, shmem_sync, shmem_team_sync, 0)(__VA_ARGS__)\n",
            "static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }\n",
        ),
    }
}

/// True if there is a function that has the generic name, and works on `long`: those of the oldest versions.
fn function_for_long(table: &Table, family: Family, name: &str) -> bool {
    let old = |op: &Op| op.name == name && op.params.first().is_some_and(|param| param.kind == "long *");
    table.ops.iter().any(|op| old(op) && op.body.is_some() && op.spaces.iter().any(|s| s.family == family))
}

fn family_file(table: &Table, family: Family) -> String {
    let f = family.prefix();
    let (sync_c, sync_cxx) = sync(family);
    let mut c = String::new();
    let mut cxx = String::new();
    for generic in generics(table, family) {
        c += &c11(&generic, family);
        let types = generic.op.table.as_deref().unwrap_or_default();
        let distinct = table.distinct(types, family);
        let name = generic.name;
        match generic.typed {
            // The function of that name, for long, is the overload itself.
            Some(_) if function_for_long(table, family, name) => {
                for ty in distinct.iter().filter(|ty| ty.name != "long") {
                    let _ = writeln!(cxx, "DUSHMEM_IMPL_CXX_{name}({f}, {}, {})", ty.name, spelled(&ty.c));
                }
            }
            Some(_) => {
                let _ = writeln!(cxx, "DUSHMEM_IMPL_DISTINCT_{types}_{f}(DUSHMEM_IMPL_CXX_{name}, {f})");
            }
            None => {
                let params = open_params(generic.op);
                let list: Vec<String> = params.iter().map(|(ty, name)| declare(ty, name)).collect();
                let _ = write!(
                    cxx,
                    "static inline void {f}_{name}({f}_ctx_t ctx, {}) {{\n    {f}_ctx_{name}(ctx, {});\n}}\n",
                    list.join(", "),
                    names(&params)
                );
            }
        }
    }
    let mut shared = String::new();
    if family == Family::Dushmem {
        let (world_c, world_cxx) = teamless(table);
        let (reduce_shared, reduce_c, reduce_cxx) = reduce(table);
        shared = format!(
            "\n/* Reductions whose operation is an argument: 1 where the type has no such operation. */\n{reduce_shared}"
        );
        c = format!("{world_c}{reduce_c}{c}{REDUCE_C11}");
        cxx = format!("{cxx}{world_cxx}{reduce_cxx}");
    }
    guard(
        &format!("dushmem/gen/{f}_generic.h"),
        &format!(
            "\n/* One name for all types: _Generic in C11, overloads in C++. */\n#include <dushmem/gen/overloads.h>\n{shared}\n\
             #ifdef __cplusplus\n{sync_cxx}{cxx}#else\n{sync_c}\
             #if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L\n{c}#endif\n#endif\n"
        ),
    )
}

/// What stands before overloads, by family and type.
const KINDS: &str = "\
/* Where kernels are compiled, overloads are for host and device, and templates, so that only those that are
 * called cost anything. */
#if defined(DUSHMEM_IMPL_DEVICE_COMPILER)
#define DUSHMEM_IMPL_GENERIC template <int = 0> static inline __host__ __device__
#else
#define DUSHMEM_IMPL_GENERIC static __inline__
#endif
#define DUSHMEM_IMPL_GENERIC_HOST static __inline__
#define DUSHMEM_IMPL_GENERIC_dushmem(NAME) DUSHMEM_IMPL_GENERIC_##NAME
#define DUSHMEM_IMPL_GENERIC_shmem(NAME) DUSHMEM_IMPL_GENERIC_HOST
";

/// The generic headers of the families, and the overloads that they share.
pub fn files(table: &Table) -> Vec<(String, String)> {
    let mut overloads = format!(
        "{NOTE}#ifndef DUSHMEM_INCLUDED_IMPL_OVERLOADS_H\n#define DUSHMEM_INCLUDED_IMPL_OVERLOADS_H\n\n\
         {KINDS}"
    );
    let table_types = table.types.iter().filter(|ty| ty.rust != "Wide" && ty.c != "void");
    for ty in table_types {
        let kind = if table.in_kernels(ty) { "DUSHMEM_IMPL_GENERIC" } else { "DUSHMEM_IMPL_GENERIC_HOST" };
        let _ = writeln!(overloads, "#define DUSHMEM_IMPL_GENERIC_{} {kind}", ty.name);
    }
    overloads += "\n/* Overloads of each operation for one type, in family F. */\n\n";
    let mut seen = Vec::new();
    for generic in [Family::Dushmem, Family::Shmem].into_iter().flat_map(|family| generics(table, family)) {
        if generic.typed.is_some() && !seen.contains(&generic.name) {
            seen.push(generic.name);
            overloads += &overload_macro(&generic);
        }
    }
    overloads += "\n#endif\n";
    vec![
        ("include/dushmem/gen/overloads.h".into(), overloads),
        ("include/dushmem/gen/dushmem_generic.h".into(), family_file(table, Family::Dushmem)),
        ("include/dushmem/gen/shmem_generic.h".into(), family_file(table, Family::Shmem)),
    ]
}
