//! `cargo xtask demo`: the ring kernel on 8 PEs, from a fresh clone.
use super::install::{self, Options};
use super::workspace::{reason, root, run, target};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

const PES: usize = 8;

/// Builds, installs into target/prefix, compiles the ring kernel with dushcc, runs it, checks its lines.
pub fn command(arguments: &[String]) -> Result<(), String> {
    if let Some(word) = arguments.first() {
        return Err(format!("demo takes no arguments, but got {word}"));
    }
    let target = target()?;
    let prefix = target.join("prefix");
    install::install(&Options { prefix: prefix.clone(), profile: "release".into(), compat_names: false })?;
    let program = target.join("demo-ring");
    let source = root().join("examples/kernel/ring.hip.cpp");
    let mut compile = Command::new(prefix.join("bin/dushcc"));
    run(compile.arg("-O2").arg(&source).arg("-o").arg(&program))?;
    println!("dushrun -n {PES} {}", program.display());
    let mut job = Command::new(prefix.join("bin/dushrun"));
    job.args(["-n", &PES.to_string()]).arg(&program).stdout(Stdio::piped());
    let mut job = job.spawn().map_err(|error| format!("dushrun: {}", reason(&error)))?;
    let mut lines = Vec::new();
    if let Some(out) = job.stdout.take() {
        for line in BufReader::new(out).lines() {
            let line = line.map_err(|error| format!("the ring's output: {}", reason(&error)))?;
            println!("{line}");
            let _ = std::io::stdout().flush();
            lines.push(line);
        }
    }
    let status = job.wait().map_err(|error| format!("dushrun: {}", reason(&error)))?;
    if !status.success() {
        return Err(format!("the ring has failed: {status}"));
    }
    check(&lines)?;
    println!("the demo works: each of {PES} PEs has received the number of the PE before it");
    Ok(())
}

fn check(lines: &[String]) -> Result<(), String> {
    for pe in 0..PES {
        let left = (pe + PES - 1) % PES;
        let wanted = format!("PE {pe}: received {left}, expected {left}");
        match lines.iter().filter(|line| **line == wanted).count() {
            1 => {}
            count => return Err(format!("the line `{wanted}` came {count} times, not once")),
        }
    }
    if lines.len() == PES { Ok(()) } else { Err(format!("{} lines instead of {PES}", lines.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Vec<String> {
        (0..PES)
            .map(|pe| (pe, (pe + PES - 1) % PES))
            .map(|(pe, left)| format!("PE {pe}: received {left}, expected {left}"))
            .collect()
    }

    #[test]
    fn order_is_free_and_everything_else_is_not() {
        let mut lines = ring();
        lines.reverse();
        assert_eq!(check(&lines), Ok(()));
        lines.pop();
        assert!(check(&lines).is_err());
        let mut lines = ring();
        lines[3] = "PE 3: received 7, expected 2".into();
        assert!(check(&lines).is_err());
        let mut lines = ring();
        lines.push(String::new());
        assert!(check(&lines).is_err());
    }
}
