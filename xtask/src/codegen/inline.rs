//! Lists of types for the preprocessor: what the inline functions, `_Generic` and overloads go through.
use super::header::NOTE;
use super::table::{Family, Op, Table, Type};
use std::fmt::Write;

/// Names that inline functions, device headers and the C part of the library use; exported besides the
/// table's.
pub const SUPPORT: &[&str] = &[
    "dushmem_fast_path_v1",
    "dushmem_impl_longdouble_get",
    "dushmem_impl_longdouble_get_on_stream",
    "dushmem_impl_longdouble_put",
    "dushmem_impl_longdouble_put_on_stream",
    "dushmem_impl_register_module",
    "dushmem_impl_ring_bell",
    "dushmem_impl_say",
    "dushmem_impl_sharing_pes",
    "dushmem_impl_unregister_module",
];

/// True for the operations that `host_inline.h` has a form of.
pub fn is_inline(op: &Op) -> bool {
    let transfers = ["<T>_put", "<T>_get", "put<N>", "get<N>", "putmem", "getmem"];
    let transfer = transfers.contains(&op.name.strip_suffix("_nbi").unwrap_or(&op.name));
    let atomic = op.area == "amo" && op.name.contains("_atomic_") && !op.name.ends_with("_nbi");
    op.body.is_some() && (atomic || transfer || ["<T>_p", "<T>_g"].contains(&op.name.as_str()))
}

const TABLES: &[&str] = &[
    "rma",
    "amo",
    "amo_ext",
    "amo_bit",
    "wait",
    "wait_many",
    "reduce_bit",
    "reduce_ord",
    "reduce_sum",
    "old_amo5",
    "old_amo3",
];

/// True for types that C only sees as two bytes, so that other bodies deal with them.
fn is_opaque(ty: &Type) -> bool {
    ty.name == "half" || ty.name == "bfloat16"
}

/// A C type as it can be spelled in C and in C++.
pub fn spelled(c: &str) -> String {
    match c {
        "float _Complex" => "dushmem_impl_complexf".into(),
        "double _Complex" => "dushmem_impl_complexd".into(),
        other => other.into(),
    }
}

fn list(name: &str, types: &[&Type]) -> String {
    let mut text = format!("#define {name}(X, F)");
    for ty in types {
        let _ = write!(text, " \\\n    X(F, {}, {})", ty.name, spelled(&ty.c));
    }
    text + "\n"
}

fn select(name: &str, types: &[&Type], with_const: bool) -> String {
    let mut text = format!("#define {name}(P, S)");
    for (i, ty) in types.iter().enumerate() {
        let (comma, c) = (if i == 0 { "" } else { "," }, spelled(&ty.c));
        let _ = write!(text, "{comma} \\\n    {c} *: P##{}##S", ty.name);
        if with_const {
            let _ = write!(text, ", const {c} *: P##{}##S", ty.name);
        }
    }
    text + "\n"
}

/// `include/dushmem/gen/types.h`.
pub fn types(table: &Table) -> String {
    let mut text = format!(
        "{NOTE}#ifndef DUSHMEM_INCLUDED_IMPL_TYPES_H\n#define DUSHMEM_INCLUDED_IMPL_TYPES_H\n\n\
         /* EACH: all types of a table in a family, but for those of 16-bit floating-point numbers, which are in\n\
         \x20* OPAQUE. DISTINCT: one name for each C type. SELECT: the same as\n\
         \x20* associations of _Generic; SELECTC: with const ones too. */\n\n"
    );
    for name in TABLES {
        for family in Family::ALL {
            let prefix = family.prefix();
            let (opaque, each): (Vec<_>, Vec<_>) =
                table.members(name, family).into_iter().partition(|ty| is_opaque(ty));
            if each.is_empty() {
                continue;
            }
            text += &list(&format!("DUSHMEM_IMPL_EACH_{name}_{prefix}"), &each);
            if *name == "rma" || !opaque.is_empty() {
                text += &list(&format!("DUSHMEM_IMPL_OPAQUE_{name}_{prefix}"), &opaque);
            }
            if family == Family::Nvshmem {
                continue;
            }
            let distinct = table.distinct(name, family);
            text += &list(&format!("DUSHMEM_IMPL_DISTINCT_{name}_{prefix}"), &distinct);
            text += &select(&format!("DUSHMEM_IMPL_SELECT_{name}_{prefix}"), &distinct, false);
            if matches!(*name, "rma" | "amo_ext" | "old_amo5") {
                text += &select(&format!("DUSHMEM_IMPL_SELECTC_{name}_{prefix}"), &distinct, true);
            }
        }
        text.push('\n');
    }
    text + "#endif\n"
}
