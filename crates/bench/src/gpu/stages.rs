//! The steps of a start, as PEs tell them in their diagnostic lines: rows of their own, so that a figure explains itself.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Behind which words a PE tells its steps, and what rows are called by them.
const LINES: [(&str, &str); 2] =
    [(": start: ", "start of init"), (": start of the device: ", "start of the device")];

/// Where the lines of one run go.
#[derive(Debug)]
pub struct Diary(PathBuf);

impl Diary {
    /// Files in `folder`, for the run of that command.
    pub fn of(folder: &Path, command: &mut Command) -> Diary {
        let diary = Diary(folder.join("start"));
        let _ = fs::remove_dir_all(&diary.0);
        let _ = fs::create_dir_all(&diary.0);
        command.env("DUSHMEM_DEBUG", "INFO").env("DUSHMEM_DEBUG_FILE", diary.0.join("%p"));
        diary
    }

    /// What the PEs have told: steps with the microseconds of the PE that took longest.
    pub fn steps(&self) -> Vec<(String, f64)> {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        longest(texts.collect::<Vec<_>>().iter().flat_map(|text| text.lines()))
    }
}

/// The longest time of each step, in the order of the steps.
fn longest<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    for line in lines {
        for (mark, title) in LINES {
            let Some((_, steps)) = line.split_once(mark).and_then(|(_, told)| told.split_once(" us: "))
            else {
                continue;
            };
            for step in steps.split(", ") {
                let (step, beside) = match step.strip_suffix(" beside") {
                    Some(step) => (step, ", beside the rest"),
                    None => (step, ""),
                };
                let Some((name, time)) = step.rsplit_once(' ') else { continue };
                let Ok(time) = time.parse::<f64>() else { continue };
                let name = format!("{title}: {name}{beside}");
                match all.iter_mut().find(|(there, _)| *there == name) {
                    Some((_, most)) => *most = most.max(time),
                    None => all.push((name, time)),
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_pe_counts() {
        let lines = [
            "dushmem: PE 0 (host a): debug: start: 30 us: cards 10, window 20",
            "dushmem: PE 0 (host a): debug: start of the device: 7 us: kernels 900 beside, enough for all 7",
            "dushmem: PE 1 (host a): debug: waiting: 16 CPUs",
            "dushmem: PE 1 (host a): debug: start: 30 us: cards 25, window 5",
        ];
        let found = longest(lines.into_iter());
        let expected = [
            ("start of init: cards", 25.0),
            ("start of init: window", 20.0),
            ("start of the device: kernels, beside the rest", 900.0),
            ("start of the device: enough for all", 7.0),
        ];
        assert_eq!(found, expected.map(|(name, time)| (name.to_owned(), time)));
    }

    #[test]
    fn a_run_writes_and_is_read() {
        let folder = std::env::temp_dir().join(format!("dushbench-stages-{}", std::process::id()));
        let mut command = Command::new("/bin/sh");
        let diary = Diary::of(&folder, &mut command);
        let script =
            r#"[ "$DUSHMEM_DEBUG" = INFO ] && echo 'x: start: 5 us: cards 5' > "$DUSHMEM_DEBUG_FILE""#;
        assert!(command.args(["-c", script]).status().unwrap().success());
        assert_eq!(diary.steps(), [("start of init: cards".to_owned(), 5.0)]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
