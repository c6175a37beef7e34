//! The tools of the installation that this program belongs to.
use crate::rows::Row;
use dushmem_os::reason::reason;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A tool is not where it should be.
    #[error("{0} is missing; run dushbench from an installation (cargo xtask install --prefix DIR)")]
    Missing(PathBuf),
    /// A tool could not be run.
    #[error("cannot run {tool}: {}", reason(why))]
    Run { tool: String, why: io::Error },
    /// A tool failed.
    #[error("{tool} failed ({status}): {output}")]
    Failed { tool: String, status: String, output: String },
    /// The measuring program printed something else than rows.
    #[error("no rows in the output of the measuring program: {0:?}")]
    Output(String),
    /// A file could not be written or read.
    #[error("{}: {}", path.display(), reason(why))]
    File { path: PathBuf, why: io::Error },
}

/// `bin` and `lib` of one installation.
#[derive(Debug)]
pub struct Tools {
    prefix: PathBuf,
}

impl Tools {
    fn find() -> Result<Tools, ToolError> {
        let own = env::current_exe().map_err(|why| ToolError::Run { tool: "dushbench".into(), why })?;
        let prefix = own.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_path_buf();
        let tools = Tools { prefix };
        tools.tool("dushcc")?;
        tools.tool("dushrun")?;
        Ok(tools)
    }

    /// Path of a tool.
    pub fn tool(&self, name: &str) -> Result<PathBuf, ToolError> {
        let path = self.prefix.join("bin").join(name);
        if path.exists() { Ok(path) } else { Err(ToolError::Missing(path)) }
    }

    /// One row a library file: its size.
    pub fn library_sizes(&self) -> Result<Vec<Row>, ToolError> {
        let size = |name: &str| {
            let path = self.prefix.join("lib").join(name);
            let len = fs::metadata(&path).map_err(|why| ToolError::File { path, why })?.len() as f64;
            let kib = len / 1024.0;
            Ok(Row {
                name: format!("size of {name}"),
                pes: 0,
                bytes: 0,
                ours: kib,
                raw: 0.0,
                ours_min: kib,
                raw_min: 0.0,
                unit: "KiB".into(),
                limit: None,
            })
        };
        ["libdushmem.so", "libdushmem.a"].into_iter().map(size).collect()
    }
}

/// A C program, compiled as users compile theirs, in a folder that goes with this value.
#[derive(Debug)]
pub struct Program {
    tools: Tools,
    folder: PathBuf,
    binary: PathBuf,
}

impl Program {
    /// Compiles `source`, which gets the name `file`, with dushcc.
    pub fn build(file: &str, source: &str) -> Result<Program, ToolError> {
        let tools = Tools::find()?;
        let folder = env::temp_dir().join(format!("dushbench-{}-{file}", std::process::id()));
        fs::create_dir(&folder).map_err(|why| ToolError::File { path: folder.clone(), why })?;
        let file = folder.join(file);
        let binary = file.with_extension("");
        let program = Program { tools, folder, binary };
        fs::write(&file, source).map_err(|why| ToolError::File { path: file.clone(), why })?;
        let mut compile = Command::new(program.tools.tool("dushcc")?);
        compile.args(["-O2", "-Wall", "-o"]).arg(&program.binary).arg(&file);
        run(compile)?;
        Ok(program)
    }

    /// The installation that compiled the program.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Path of the program.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Runs the program as `pes` PEs and gives its output.
    pub fn run(&self, pes: usize, args: &[&str]) -> Result<String, ToolError> {
        let mut command = Command::new(self.tools.tool("dushrun")?);
        command.args(["-n", &pes.to_string()]).arg(&self.binary).args(args);
        run(command)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn run(mut command: Command) -> Result<String, ToolError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|why| ToolError::Run { tool: tool.clone(), why })?;
    if !output.status.success() {
        let output_text = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(ToolError::Failed { tool, status: output.status.to_string(), output: output_text });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
