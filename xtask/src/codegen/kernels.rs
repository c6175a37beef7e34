//! Kernels that call every name, each in a case of `tests/kernels/names` that checks what it does.
use super::device::{DeviceFunction, Parts, all};
use super::header::NOTE;
use super::table::{Family, Table};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names that one kernel calls: compilers take more than twice as long for one that is twice as long.
const A_KERNEL: usize = 60;

/// The sources of a family, by how long they take to compile.
const GROUPS: [&str; 6] = ["data", "scopes", "pairs", "words", "collect", "reduce"];

fn group(function: &DeviceFunction<'_>) -> &'static str {
    let op = function.op;
    let reduces = ["_reduce", "_reducescatter", "_inscan", "_exscan"];
    match op.area.as_str() {
        "qp" => "pairs",
        "p2p-sync" | "amo" => "words",
        "collective" if reduces.iter().any(|part| op.name.contains(part)) => "reduce",
        "collective" => "collect",
        _ if op.scope == "thread" => "data",
        _ => "scopes",
    }
}

/// The case that checks the function; `None`: it does not return, so a test of its own calls it.
fn case(function: &DeviceFunction<'_>) -> Option<String> {
    let parts = Parts::of(function);
    let stem = parts.plain();
    match stem.as_str() {
        "global_exit" => None,
        "quiet" | "fence" if parts.qp => Some(format!("qp_{stem}")),
        "put_nbi" | "get_nbi" | "put_signal_nbi" => Some(stem.trim_end_matches("_nbi").into()),
        _ => Some(stem),
    }
}

/// What stands for a parameter: a field of `Args`.
fn argument(function: &DeviceFunction<'_>, kind: &str, name: &str) -> String {
    let ty = function.c_type(kind);
    let atomic = function.op.area == "amo";
    match name {
        "dest" if atomic => format!("({ty})a.word"),
        "dest" => format!("({ty})a.dest"),
        "source" | "src" | "ptr" => format!("({ty})a.source"),
        "ivar" => format!("({ty})a.word"),
        "ivars" => format!("({ty})a.words"),
        "nelems" | "nelem" | "nreduce" | "bytes" => "a.n".into(),
        "value" | "cmp_value" => format!("a.load<{}>(a.value)", ty.trim_start_matches("const ")),
        "cond" => format!("a.load<{ty}>(a.cond)"),
        "cmp_values" => format!("({ty})a.values"),
        "cmp_val" | "signal" => "a.sig_value".into(),
        "sig_addr" => "a.sig".into(),
        "qp_index" => "a.qp".into(),
        "qp_handle" => "a.qps".into(),
        "num_qps" => "2".into(),
        "PE_root" => "a.root".into(),
        "src_team" => "a.team".into(),
        "src_pe" => "a.pe".into(),
        "dest_team" => "0".into(),
        "major" => "(int *)a.words".into(),
        "minor" => "(int *)a.words + 1".into(),
        "patch" => "(int *)a.words + 2".into(),
        "name" => "(char *)a.words".into(),
        other => format!("a.{other}"),
    }
}

fn run(index: usize, function: &DeviceFunction<'_>, case: &str) -> String {
    let (bytes, kind) = match function.ty {
        Some(ty) => (
            ty.bytes,
            match ty.name.as_str() {
                "float" | "double" => "REAL",
                "half" => "HALF",
                "bfloat16" => "BFLOAT",
                _ => "INTEGER",
            },
        ),
        None => (1, "INTEGER"),
    };
    let params = function.op.params.iter();
    let arguments = params.map(|param| argument(function, &param.kind, &param.name)).collect::<Vec<_>>();
    let call = format!("{}({})", function.name(), arguments.join(", "));
    let call = if function.op.returns == "void" { call } else { format!("a.returned({call})") };
    format!("  RUN({index}, {case}, {}, {bytes}, {kind}, {call})\n", function.op.scope.to_uppercase())
}

/// One source: its kernels, and a function that launches them.
fn source(family: Family, group: &str, runs: &[String]) -> String {
    let f = family.prefix();
    let mut text = format!(
        "{NOTE}#include <{f}.h>\n\n#include <{f}x.h>\n\n#include \"../coll.h\"\n#include \"../data.h\"\n#include \"../words.h\"\n"
    );
    let mut launches = String::new();
    for (number, part) in runs.chunks(A_KERNEL).enumerate() {
        let _ = write!(text, "\nstatic __global__ void kernel_{number}(State s) {{\n{}}}\n", part.concat());
        let _ = writeln!(launches, "  kernel_{number}<<<1, THREADS, 0, stream>>>(s);");
    }
    let _ = write!(
        text,
        "\nvoid run_{f}_{group}(const State &s, hipStream_t stream);\n\
         void run_{f}_{group}(const State &s, hipStream_t stream) {{\n{launches}}}\n"
    );
    text
}

fn family_files(table: &Table, family: Family) -> Vec<(String, String)> {
    let f = family.prefix();
    let mut runs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut names, mut count) = (String::new(), 0);
    for function in all(table, family) {
        let Some(case) = case(&function) else { continue };
        runs.entry(group(&function)).or_default().push(run(count, &function, &case));
        let _ = writeln!(names, "    \"{}\",", function.name());
        count += 1;
    }
    let each: Vec<String> = GROUPS.iter().map(|group| format!("X(run_{f}_{group})")).collect();
    let list = format!(
        "{NOTE}// Every name that the kernels here call, by number.\n#pragma once\n\n\
         static const char *const names[] = {{\n{names}}};\n\n#define EACH_SOURCE(X) {}\n",
        each.join(" ")
    );
    let folder = "tests/kernels/names/gen";
    let mut files = vec![(format!("{folder}/{f}.h"), list)];
    for group in GROUPS {
        let runs = runs.remove(group).unwrap_or_default();
        files.push((format!("{folder}/{f}_{group}.cu"), source(family, group, &runs)));
    }
    files
}

/// The sources of both families.
pub fn files(table: &Table) -> Vec<(String, String)> {
    [Family::Dushmem, Family::Nvshmem].into_iter().flat_map(|family| family_files(table, family)).collect()
}
