//! The device functions by name as PTX, for tools that link a library of the device: made beside the library's own kernels,
//! by `cargo xtask ptx`, and checked in, so that an installation has it without a compiler for GPUs.
use super::codegen::{library_source, twins};
use std::collections::HashMap;
use std::path::Path;

/// Where it is checked in.
pub const TEXT: &str = "kernels/device/libdushmem_device.ptx";
/// The file of an installation, below `lib`, and that of the other family.
pub const INSTALLED: [&str; 2] = ["libdushmem_device.ptx", "libnvshmem_device.ptx"];

/// Writes its source to `place`.
pub fn write_source(place: &Path) -> Result<(), String> {
    super::ptx::write(place, &library_source()?)
}

/// The text of the other family: the same functions by its names. Not as aliases in one text: the linker of CUDA 13.0 fails
/// where one of two names is not used.
pub fn for_nvshmem(text: &str) -> Result<String, String> {
    let names: HashMap<String, String> = twins()?.into_iter().map(|(name, of)| (of, name)).collect();
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$';
    while !rest.is_empty() {
        let word = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(word);
        // Parameters are called by their function.
        let (stem, end) = word.split_once("_param_").map_or((word, None), |(stem, end)| (stem, Some(end)));
        match (names.get(stem), end) {
            (Some(name), None) => all += name,
            (Some(name), Some(end)) => all += &format!("{name}_param_{end}"),
            (None, _) => all += word,
        }
        let gap = behind.find(is_letter).unwrap_or(behind.len());
        all += &behind[..gap];
        rest = &behind[gap..];
    }
    Ok(all)
}

/// The text with the state under its own name, by which the library finds it. Where code is to be linked, nvcc gives variables
/// of a file names that say which file it was.
pub fn named_state(text: &str) -> Result<String, String> {
    const STATE: &str = "dushmem_impl_state";
    let line = text.lines().find(|line| line.contains(&format!("{STATE}[")));
    let word = line.and_then(|line| line.split([' ', '[']).find(|word| word.ends_with(STATE)));
    let word = word.ok_or_else(|| format!("{TEXT}: no {STATE}"))?;
    let text = if word == STATE { text.to_owned() } else { text.replace(word, STATE) };
    Ok(text.replacen("\n.const", "\n.visible .const", if text.contains("\n.visible .const") { 0 } else { 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PTX: &str = "\
.version 8.4
.const .align 8 .b8 __nv_static_25__00000000_4_a_cu_00000000_dushmem_impl_state[136];
.func _Z1a(
\t.param .b64 _Z1a_param_0
)
{ call dushmem_int_p(1); }
.visible .func  (.param .b32 func_retval0) dushmem_int_g(
\t.param .b64 dushmem_int_g_param_0,
\t.param .b32 dushmem_int_g_param_1
)
{ ld.const.u32 %r1, [__nv_static_25__00000000_4_a_cu_00000000_dushmem_impl_state+16]; }
";

    #[test]
    fn functions_and_parameters_get_the_other_names() {
        let text = for_nvshmem(PTX).unwrap();
        let head = "(.param .b32 func_retval0) nvshmem_int_g(\n\t.param .b64 nvshmem_int_g_param_0,\n";
        assert!(text.contains(head) && text.contains("call nvshmem_int_p(1);"), "{text}");
        let others = ["_Z1a_param_0", "dushmem_impl_state[136]", "\n.version 8.4\n"];
        assert!(others.iter().all(|other| format!("\n{text}").contains(other)), "{text}");
        assert_eq!(text.lines().count(), PTX.lines().count());
    }

    #[test]
    fn the_state_has_its_own_name() {
        let text = named_state(PTX).unwrap();
        assert!(text.contains("\n.visible .const .align 8 .b8 dushmem_impl_state[136];"), "{text}");
        assert!(text.contains("[dushmem_impl_state+16]") && !text.contains("__nv_static"), "{text}");
        assert!(named_state(".version 8.4\n").is_err());
    }

    /// What stands between backquotes.
    fn quoted(text: &str) -> Vec<&str> {
        text.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_guide_lists_each_function() {
        let read = |file: &str| std::fs::read_to_string(Path::new("..").join(file)).expect(file);
        let page = read("docs/guide/gpus.md");
        let table = page.split_once("| names | `NAME` or `TYPE` is |\n").expect("the table").1;
        let (rows, types) = table.split_once("*Whole numbers* are").expect("what whole numbers are");
        let (whole, small) = types.split_once("*small ones* are").expect("what small ones are");
        let small = small.split_once('.').expect("the end of the sentence").0;
        let mut listed = BTreeSet::new();
        for row in rows.lines().filter(|row| row.starts_with("| `")) {
            let (patterns, of) = row.trim_matches('|').split_once(" | ").expect("two columns");
            let (of, without) = of.split_once("without").unwrap_or((of, ""));
            let mut values = quoted(of);
            values.extend(quoted(whole).iter().filter(|_| of.contains("*whole numbers*")));
            values.extend(quoted(small).iter().filter(|_| of.contains("*small ones*")));
            values.retain(|value| !quoted(without).contains(value));
            for pattern in quoted(patterns) {
                let pattern = pattern.replace("...", "dushmem_TYPE_atomic");
                listed
                    .extend(values.iter().map(|value| pattern.replace("NAME", value).replace("TYPE", value)));
            }
        }
        let text = read(TEXT);
        let functions = text.lines().filter(|line| line.starts_with(".visible .func"));
        let name = |line: &str| line.trim_end_matches(['(', ')']).rsplit(' ').next().map(str::to_owned);
        let there: BTreeSet<String> = functions.filter_map(name).collect();
        assert!(there.len() > 200, "{there:?}");
        let wrong: Vec<&String> = listed.symmetric_difference(&there).collect();
        assert!(wrong.is_empty(), "only in one of page and library: {wrong:?}");
    }
}
