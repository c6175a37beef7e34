//! The installed library and headers have the names of the lists in `api/names`, and no others but those of
//! `api/extensions.tsv`.
use dushmem_testkit::installation::prefix;
use std::process::Command;

#[test]
fn nothing_is_missing_and_nothing_unexpected() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.arg("symbols").arg("--prefix").arg(prefix()).output().expect("running xtask");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    for (family, least) in [("dushmem", 2790), ("nvshmem-host", 1480), ("openshmem-1.6", 3576)] {
        let line = stdout.lines().find(|line| line.starts_with(family)).unwrap_or_default();
        let count: Option<usize> = line.split_whitespace().nth(1).and_then(|count| count.parse().ok());
        assert!(
            count >= Some(least)
                && line.contains(": 0 missing, 0 still to come")
                && line.ends_with(" 0 unexpected"),
            "{family}: {stdout}"
        );
    }
}
