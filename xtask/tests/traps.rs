//! `docs/design/traps.md` and the tests that it names.
use dushmem_testkit::installation::root;
use std::collections::{BTreeMap, BTreeSet};

/// How a line begins that has no test yet, or can have none.
const WITHOUT_TEST: [&str; 2] = ["can't be tested", "comes with"];

/// What a line names: pairs of a file and a test in it.
fn named(cell: &str) -> Result<Vec<(String, String)>, String> {
    let mut file = None;
    let mut tests = Vec::new();
    for (i, part) in cell.split('`').enumerate() {
        let is_file = part.ends_with(".rs") || part.ends_with(".c") || part.ends_with(".md");
        match (i % 2, is_file) {
            (0, _) => {}
            (_, true) => file = Some(part.to_owned()),
            (_, false) => {
                let file = file.clone().ok_or(format!("`{part}` is in no file"))?;
                tests.push((file, part.to_owned()));
            }
        }
    }
    Ok(tests)
}

/// True where `name` is not only mentioned: a function of C or Rust, or the (part of a) name of a trial.
fn defines(source: &str, name: &str, rust: bool) -> bool {
    let starts = ["\"", "::", "fn "].map(|before| format!("{before}{name}"));
    let ends = |rest: &str| rest.starts_with(|next: char| !next.is_alphanumeric() && next != '_');
    let anywhere = |start: &String| {
        source.match_indices(start.as_str()).any(|(at, _)| {
            let rest = &source[at + start.len()..];
            ends(rest) || name.ends_with('_')
        })
    };
    if rust {
        // A test may also be made by a macro: `name 7` or `name "argument"` on a line of its own.
        let listed = || {
            source
                .lines()
                .any(|line| line.trim().strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
        };
        return starts.iter().any(anywhere) || listed();
    }
    source.lines().any(|line| {
        let called = format!("{name}(");
        !line.starts_with(' ') && line.contains(&called) && !line.ends_with(';')
    })
}

fn read(file: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(file)).map_err(|why| format!("{file}: {why}"))
}

/// Lines of the table: the cells that follow the number.
fn lines() -> BTreeMap<u32, Vec<String>> {
    let page = read("docs/design/traps.md").expect("the page is there");
    let mut lines = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<String> =
            line.trim_end_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        if let Ok(number) = cells[0].parse() {
            assert!(lines.insert(number, cells[1..].to_vec()).is_none(), "line {number} is there twice");
        }
    }
    lines
}

#[test]
fn each_line_has_tests_that_exist_or_a_reason() {
    let lines = lines();
    assert_eq!(lines.keys().copied().collect::<Vec<_>>(), (1..=85).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (number, cells) in &lines {
        let [_, _, tests] = &cells[..] else {
            wrong.push(format!("line {number} has {} cells", cells.len() + 1));
            continue;
        };
        let excused = WITHOUT_TEST.iter().any(|reason| tests.starts_with(reason));
        match named(tests) {
            Err(why) => wrong.push(format!("line {number}: {why}")),
            Ok(named) if named.is_empty() && !excused => wrong.push(format!("line {number} has no test")),
            Ok(named) => wrong.extend(named.iter().filter_map(|(file, test)| match read(file) {
                Err(why) => Some(format!("line {number}: {why}")),
                Ok(source) if defines(&source, test, file.ends_with(".rs")) => None,
                Ok(_) => Some(format!("line {number}: {file} has no {test}")),
            })),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_trap_of_the_programs_stands_in_its_line() {
    let lines = lines();
    let mut functions = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("tests/c/traps")).expect("the programs are there").flatten() {
        let file = format!("tests/c/traps/{}", entry.file_name().to_string_lossy());
        let source = read(&file).expect("a source file");
        let words = source.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let own = words.filter(|word| {
            word.strip_prefix("trap_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        functions.extend(own.map(|word| (file.clone(), word.to_owned())));
    }
    assert!(functions.len() > 60, "{}", functions.len());
    for (file, function) in functions {
        let number: u32 = function[5..7].parse().expect("two digits");
        let tests = lines.get(&number).and_then(|cells| cells.last()).cloned().unwrap_or_default();
        let named = named(&tests).unwrap_or_default();
        assert!(named.contains(&(file.clone(), function.clone())), "line {number} lacks {file}: {function}");
    }
}

#[test]
fn what_is_only_mentioned_is_no_test() {
    assert!(defines("#[test]\nfn one_way() {}", "one_way", true));
    assert!(defines("(\"one_way 3\", 1, &[])", "one_way", true));
    assert!(defines("rules! {\n    one_way 3\n}", "one_way", true));
    assert!(!defines("fn one_way_or_another() {}", "one_way", true));
    assert!(!defines("// one_way is easy", "one_way", true));
    assert!(defines("static void one_way(void) {\n", "one_way", false));
    assert!(
        !defines("  one_way();\n", "one_way", false) && !defines("void one_way(void);\n", "one_way", false)
    );
}
