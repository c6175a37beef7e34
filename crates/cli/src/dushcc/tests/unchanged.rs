//! Texts without the two constructs come out byte for byte.
use super::super::rewrite::{Source, apply};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn pieces() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "k",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        " < ",
        "<<",
        " << ",
        ">",
        ">>",
        ">>>",
        "::",
        "->",
        ".",
        ",",
        ";",
        "\n",
        " ",
        "\\\n",
        "\"",
        "'",
        "\"k<<<1>>>(x)\"",
        "// <<< \n",
        "/* <<<",
        "*/",
        "R\"(",
        ")\"",
        "#",
        "#define ",
        "#if 0\n",
        "#endif\n",
        "#include \"",
        "1'0",
        "0x",
        "extern ",
        "__shared",
        "int ",
        "operator",
        "é",
        "\r\n",
    ])
    .prop_map(str::to_string)
}

proptest! {
    // Four of five texts are set aside: they may hold a launch.
    #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn generated_text(parts in proptest::collection::vec(pieces(), 0..60)) {
        let text = parts.concat();
        let dense: String = text.replace("\\\n", "").split_whitespace().collect();
        // Three `<` of different pieces may make a launch; `<< <` is one too.
        prop_assume!(!dense.contains("<<<"));
        let edits = Source::new(text.as_bytes()).edits().expect("nothing to fail at");
        prop_assert_eq!(apply(text.as_bytes(), edits), text.into_bytes());
    }

    #[test]
    fn launches_in_literals_and_comments(parts in proptest::collection::vec(prop::sample::select(vec![
        "\"k<<<1>>>(x)\"", "'<'", "/* k<<<1, 2>>>(x) ' \" */", "// k<<<1\n", "// k<<<\\\n1, 2>>>(x)\n", "R\"(k<<<1>>>(x) \" )\"",
        "u8R\"a(k<<<)\" )a\"", "L\"\\\"k<<<\"", "\n#error k<<<1\n", "\n#if 0\nk<<<1, 2>>>(x)\n#endif\n", "a", " ", "(", ")",
        "{", "}", ";", "1'000", "<", ">", "\n#include <k<<<1>\n", "\n#pragma k<<<1\n", "operator<<<int>", "<<<<", "\n",
    ]), 0..30)) {
        // Blanks keep the parts from making new ones together, and `;` keeps `<` from meeting `<`.
        let text = parts.join(" ; ");
        let edits = Source::new(text.as_bytes()).edits().expect("nothing to fail at");
        prop_assert_eq!(apply(text.as_bytes(), edits), text.into_bytes());
    }

    #[test]
    fn any_bytes_are_split_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let source = Source::new(&bytes);
        source.includes();
        if let Ok(edits) = source.edits()
            && edits.is_empty()
        {
            prop_assert_eq!(apply(&bytes, edits), bytes);
        }
    }

    #[test]
    fn constructs_in_any_surroundings_keep_the_lines(parts in proptest::collection::vec(prop_oneof![
        pieces(), Just("k<<<1,\n2>>>(x)".to_string()), Just("extern __shared__\nint s[];".to_string()),
    ], 0..40)) {
        let text = parts.concat();
        if let Ok(edits) = Source::new(text.as_bytes()).edits() {
            let out = apply(text.as_bytes(), edits);
            let lines = |text: &[u8]| text.iter().filter(|&&byte| byte == b'\n').count();
            prop_assert_eq!(lines(&out), lines(text.as_bytes()));
        }
    }
}

#[test]
fn the_compilers_own_headers() {
    let mut folders = vec![PathBuf::from("/usr/include/c++"), PathBuf::from("/usr/include/linux")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.is_file() {
                unchanged(&path);
                files += 1;
            }
        }
    }
    assert!(files > 100, "only {files} headers: is a C++ compiler installed?");
}

fn unchanged(path: &Path) {
    let Ok(text) = std::fs::read(path) else { return };
    match Source::new(&text).edits() {
        Ok(edits) => assert!(edits.is_empty(), "{}: {edits:?}", path.display()),
        Err(failure) => panic!("{}:{}: {}", path.display(), failure.line, failure.message),
    }
}
