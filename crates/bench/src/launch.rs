//! Start to end of a program that does nothing, beside starting as many processes without a launcher.
use crate::rows::Row;
use crate::tools::{Program, ToolError};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const TURNS: usize = 11;

/// Measures both in turn.
pub fn measure(program: &Program, pes: usize) -> Result<Row, ToolError> {
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let start = Instant::now();
        program.run(pes, &["empty"])?;
        ours.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        spawn_and_wait(program, pes)?;
        raw.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[TURNS / 2]
    };
    let (ours_median, raw_median) = (median(&mut ours), median(&mut raw));
    Ok(Row {
        name: "launch to exit".into(),
        pes,
        bytes: 0,
        ours: ours_median,
        raw: raw_median,
        ours_min: ours[0],
        raw_min: raw[0],
        unit: "ms".into(),
        limit: None,
    })
}

/// The raw operation: fork, exec and wait of as many processes of the same program, which leave before
/// they initialise anything.
fn spawn_and_wait(program: &Program, pes: usize) -> Result<(), ToolError> {
    let failed = |why| ToolError::Run { tool: program.binary().display().to_string(), why };
    let spawn = || {
        let mut command = Command::new(program.binary());
        command.arg("nothing").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(failed)
    };
    let children: Vec<Child> = (0..pes).map(|_| spawn()).collect::<Result<_, _>>()?;
    for mut child in children {
        child.wait().map_err(failed)?;
    }
    Ok(())
}
