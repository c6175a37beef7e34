//! The device functions by name as PTX, for tools that link a library of the device: made beside the library's own kernels,
//! by `cargo xtask ptx`, and checked in, so that an installation has it without a compiler for GPUs.
use super::codegen::{aliases, library_source};
use std::path::Path;

/// Where it is checked in.
pub const TEXT: &str = "kernels/device/libdushmem_device.ptx";
/// The file of an installation, below `lib`, and its name in the other family.
pub const INSTALLED: [&str; 2] = ["libdushmem_device.ptx", "libnvshmem_device.ptx"];

/// Writes its source to `place`.
pub fn write_source(place: &Path) -> Result<(), String> {
    super::ptx::write(place, &library_source()?)
}

/// The text with what nvcc can't say: the names of the other family, and the state under its own name, which is how the
/// library finds it.
pub fn completed(text: &str) -> Result<String, String> {
    let mut all = named_state(text)?;
    for (name, of) in aliases()? {
        let head = head(text, &of).ok_or_else(|| format!("{TEXT}: no {of}"))?;
        all += &format!("{};\n.alias {name}, {of};\n", renamed(head, &of, &name));
    }
    Ok(all)
}

/// `.visible .func (...) name(...)`, of a definition.
fn head<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let call = format!(" {name}(");
    let at = text.match_indices(&call).map(|(at, _)| at).find(|&at| {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        text[line..].starts_with(".visible .func")
    })?;
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = at + call.len() + text[at + call.len()..].find(')')? + 1;
    Some(&text[begin..end])
}

/// The same for another name; parameters are called by it.
fn renamed(head: &str, from: &str, to: &str) -> String {
    let one_line = head.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    one_line
        .replace(&format!(" {from}("), &format!(" {to}("))
        .replace(&format!("{from}_param"), &format!("{to}_param"))
}

/// Where code is to be linked, nvcc gives variables of a file names that say which file it was.
fn named_state(text: &str) -> Result<String, String> {
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
    fn a_declaration_under_another_name() {
        let head = head(PTX, "dushmem_int_g").unwrap();
        assert_eq!(
            renamed(head, "dushmem_int_g", "nvshmem_int_g"),
            ".visible .func  (.param .b32 func_retval0) nvshmem_int_g( .param .b64 nvshmem_int_g_param_0, .param .b32 \
             nvshmem_int_g_param_1 )"
        );
        assert_eq!(super::head(PTX, "dushmem_int_p"), None, "a call is no definition");
    }

    #[test]
    fn the_state_has_its_own_name() {
        let text = named_state(PTX).unwrap();
        assert!(text.contains("\n.visible .const .align 8 .b8 dushmem_impl_state[136];"), "{text}");
        assert!(text.contains("[dushmem_impl_state+16]") && !text.contains("__nv_static"), "{text}");
        assert!(named_state(".version 8.4\n").is_err());
    }
}
