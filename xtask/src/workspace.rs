//! Where the workspace is, and running programs in it.
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's folder.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// The cargo that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The system's words about an error, without the number behind them.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
    number.and_then(|number| Some(text.strip_suffix(&number)?.to_string())).unwrap_or(text)
}

/// The folder of build results.
pub fn target() -> Result<PathBuf, String> {
    let out = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output();
    let out = out.map_err(|error| format!("cargo metadata: {}", reason(&error)))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let key = "\"target_directory\":\"";
    let rest = text.find(key).map(|at| &text[at + key.len()..]);
    let path = rest.and_then(|rest| rest.split('"').next());
    path.map(PathBuf::from).ok_or_else(|| {
        format!("cargo metadata names no target folder: {}", String::from_utf8_lossy(&out.stderr))
    })
}

/// Runs the command with this program's output; an error where it fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    let status = command.status().map_err(|error| format!("{shown}: {}", reason(&error)))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}

/// The command as a line.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Whether a program is in PATH.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_words_without_numbers() {
        let missing = std::fs::File::open("/no/such/file").unwrap_err();
        assert_eq!(reason(&missing), "No such file or directory");
        assert_eq!(reason(&std::io::Error::other("else")), "else");
    }
}
