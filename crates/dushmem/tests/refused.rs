//! Programs that must not compile, each for the reason in its first line.

/// The compiler whose messages stand beside the programs.
const RUSTC: &str = "1.95.";

#[test]
fn long_wrong_programs_do_not_compile() {
    let version = std::process::Command::new("rustc").arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.contains(RUSTC) {
        eprintln!("skipped: the expected messages are those of rustc {RUSTC}x, this is {version}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
