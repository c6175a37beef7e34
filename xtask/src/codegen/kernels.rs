//! Kernels that call every name, each in a case of `tests/kernels/names` that checks what it does.
use super::device::{DeviceFunction, Parts, all, template};
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
        "put_scratch" | "get_scratch" | "put_signal_scratch" => {
            Some(stem.trim_end_matches("_scratch").into())
        }
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
        "scratch" => "nullptr".into(),
        "scratch_bytes" => "0".into(),
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

/// Every name for kernels: who calls it together, the template that it stands for, and the source below
/// `tests/kernels/names` that calls it.
pub fn list(table: &Table) -> String {
    let functions = [Family::Dushmem, Family::Nvshmem].into_iter().flat_map(|family| all(table, family));
    let line = |function: DeviceFunction<'_>| {
        let family = function.space.family.prefix();
        let source = match case(&function) {
            Some(_) => format!("gen/{family}_{}.cu", group(&function)),
            None => "main.cu".into(),
        };
        format!("{}\t{}\t{}\t{source}\n", function.name(), function.op.scope, template(&function))
    };
    let mut lines: Vec<String> = functions.map(line).collect();
    lines.sort();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::root;
    use std::collections::BTreeSet;

    fn read(path: &str) -> String {
        std::fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    /// The names that NVSHMEM's documentation and headers have, each called by a kernel that a test runs.
    #[test]
    fn no_name_of_nvshmem_is_missing() {
        let wanted = read("api/names/nvshmem-device.txt");
        assert_eq!(wanted.lines().count(), 2727);
        let list = read("api/names/device.txt");
        let listed: BTreeSet<&str> = list.lines().filter_map(|line| line.split('\t').next()).collect();
        let mut called = BTreeSet::new();
        for group in GROUPS {
            let text = read(&format!("tests/kernels/names/gen/nvshmem_{group}.cu"));
            for run in text.lines().filter_map(|line| line.trim().strip_prefix("RUN(")) {
                let call = run.splitn(6, ", ").last().unwrap_or_default();
                let call = call.strip_prefix("a.returned(").unwrap_or(call);
                called.insert(call.split('(').next().unwrap_or_default().to_string());
            }
        }
        assert!(read("tests/kernels/names/main.cu").contains("F(global_exit)(7)"));
        called.insert("nvshmem_global_exit".into());
        let missing: Vec<&str> =
            wanted.lines().filter(|name| !called.contains(*name) || !listed.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        // What there is more is on more types.
        let table = Table::load(&root().join("api")).expect("the table");
        let wanted: BTreeSet<&str> = wanted.lines().collect();
        for function in all(&table, Family::Nvshmem).iter().filter(|f| !wanted.contains(f.name().as_str())) {
            let bits = ["and", "or", "xor"].iter().any(|op| function.stem().contains(&format!("_{op}")));
            assert!(bits, "{} is in no list", function.name());
        }
    }

    #[test]
    fn both_families_have_the_same_names() {
        let table = Table::load(&root().join("api")).expect("the table");
        let own: BTreeSet<String> = all(&table, Family::Dushmem).iter().map(DeviceFunction::name).collect();
        for function in all(&table, Family::Nvshmem) {
            let name = function.name().replacen("nvshmem", "dushmem", 1);
            assert!(own.contains(&name), "{name} is missing");
        }
    }
}
