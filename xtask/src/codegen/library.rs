//! The device functions by name, for tools that have no C++ compiler for kernels and link one text of PTX instead: the source
//! of that text.
use super::device::{DeviceFunction, all, body};
use super::table::{Family, Table};
use std::fmt::Write;

/// What is in it, by name without type and scope: what such tools call. Typed data go as bytes.
const NAMES: [&str; 25] = [
    "my_pe",
    "n_pes",
    "ptr",
    "team_my_pe",
    "team_n_pes",
    "team_translate_pe",
    "<T>_p",
    "<T>_g",
    "putmem",
    "putmem_nbi",
    "getmem",
    "getmem_nbi",
    "putmem_signal",
    "putmem_signal_nbi",
    "signal_op",
    "signal_fetch",
    "signal_wait_until",
    "<T>_wait_until",
    "<T>_test",
    "fence",
    "quiet",
    "barrier",
    "barrier_all",
    "team_sync",
    "sync_all",
];

/// An area of the table that is there as a whole.
const AREA: &str = "amo";

/// The functions of a family.
fn functions(table: &Table, family: Family) -> Vec<DeviceFunction<'_>> {
    let mut found = all(table, family);
    found.retain(|function| {
        let name = &function.op.name;
        let stem = name.strip_suffix(&format!("_{}", function.op.scope)).unwrap_or(name);
        // Either family has what both have.
        let in_both = function.op.spaces.iter().any(|space| space.family == Family::Nvshmem);
        in_both && (NAMES.contains(&stem) || function.op.area == AREA)
    });
    found
}

/// The source, in which each function is there once.
pub fn source(table: &Table) -> String {
    let mut text = String::from(
        "#include <cuda_runtime.h>\n#include <dushmem/impl/half.h>\n#include <dushmem/impl/names.h>\n\n",
    );
    for function in functions(table, Family::Dushmem) {
        let prototype = function.prototype(&function.name());
        let _ = writeln!(text, "extern \"C\" __device__ {prototype} {{ return {}; }}", body(&function));
    }
    text
}

/// Names of the other family, each with the one of the source that it stands for.
pub fn aliases(table: &Table) -> Vec<(String, String)> {
    let there = functions(table, Family::Dushmem);
    let same = |function: &DeviceFunction<'_>| {
        let twin = there.iter().find(|other| {
            other.stem() == function.stem() && other.space.extension == function.space.extension
        });
        twin.map(|twin| (function.name(), twin.name()))
    };
    functions(table, Family::Nvshmem).iter().filter_map(same).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::load(&super::super::root().join("api")).unwrap()
    }

    #[test]
    fn the_source_has_what_tools_call() {
        let (table, text) = (table(), source(&table()));
        for wanted in [
            "extern \"C\" __device__ int dushmem_my_pe() { return ::dushmem::device::my_pe(); }\n",
            "__device__ int dushmem_int_g(const int *src, int pe) { return ",
            "__device__ void dushmemx_putmem_nbi_block(void *dest, const void *source, size_t bytes, int pe)",
            "__device__ void dushmemx_barrier_all_warp() {",
            "__device__ uint64_t dushmem_signal_wait_until(",
            "uint64_atomic_fetch_add(",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
        let rows = NAMES.iter().filter(|name| !table.device.iter().any(|op| op.name == **name));
        assert_eq!(rows.collect::<Vec<_>>(), Vec::<&&str>::new(), "names without a row");
    }

    #[test]
    fn every_name_of_the_other_family_has_its_function() {
        let (table, text) = (table(), source(&table()));
        let aliases = aliases(&table);
        assert_eq!(aliases.len(), functions(&table, Family::Nvshmem).len());
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert!(aliases.contains(&pair("nvshmemx_signal_op", "dushmemx_signal_op")));
        assert!(aliases.contains(&pair("nvshmemx_getmem_nbi_warp", "dushmemx_getmem_nbi_warp")));
        for (_, of) in &aliases {
            assert!(text.contains(&format!(" {of}(")) || text.contains(&format!("*{of}(")), "{of}");
        }
    }
}
