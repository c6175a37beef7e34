//! dushbench-peer as it is used: beside the raw mapping, and beside a peer that hangs, crashes or is not there.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::prefix;
use dushmem_testkit::job::{Job, Outcome};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

fn bench(folder: &Folder, words: &[&str]) -> Job {
    Job::of(Path::new(env!("CARGO_BIN_EXE_dushbench-peer")))
        .args(words)
        .args(["--prefix", prefix().to_str().expect("text"), "--out"])
        .args([folder.join("out").to_str().expect("text")])
        .env("TMPDIR", folder.path())
        .limit(Duration::from_secs(200))
}

fn document(folder: &Folder, name: &str) -> Value {
    let text = fs::read_to_string(folder.join("out").join(name)).expect("written");
    serde_json::from_str(&text).expect("JSON")
}

fn row<'a>(document: &'a Value, operation: &str) -> &'a Value {
    let rows = document["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["operation"] == operation).unwrap_or_else(|| panic!("no {operation}"))
}

fn ends_with(outcome: Outcome, code: i32) -> Outcome {
    assert_eq!(outcome.code, code, "{outcome:#?}");
    outcome
}

#[test]
fn alone_beside_the_raw_mapping() {
    let folder = Folder::new("bench-raw");
    let words = ["--quick", "--pairs", "2", "--peer", "raw", "--rows", "words,launch,memory,sum_reduce 8 B"];
    let outcome = ends_with(bench(&folder, &words).run(), 0);
    let found = document(&folder, "raw.json");
    let rows = found["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 11, "{found:#}");
    for row in rows {
        for program in ["dushmem", "raw"] {
            let samples = row["samples"][program].as_array().expect("samples");
            assert!(samples.len() == 2 && samples.iter().all(|s| s.as_f64() > Some(0.0)), "{row:#}");
        }
        assert!(row["ratio"]["raw"]["median"].as_f64() > Some(0.0) && row["target"].is_null(), "{row:#}");
    }
    assert_eq!(found["failures"], Value::Array(Vec::new()));
    assert!(outcome.stdout.lines().any(|line| line.starts_with("| fetch_add 8 B | 2 | ")), "{outcome:#?}");
    for name in ["raw.md", "raw.svg"] {
        let text = fs::read_to_string(folder.join("out").join(name)).expect("written");
        assert!(text.contains("sum_reduce 8 B"), "{text}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("there").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["out"], "nothing else stays");
}

/// A folder with an `oshcc` and an `oshrun` that is `script`.
fn fake(folder: &Folder, script: &str) -> String {
    let bin = folder.join("bin");
    fs::create_dir(&bin).expect("made");
    let oshrun = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'oshrun (fake) 9.9'; exit; }}\n\
         shift 2\nexport RAW_PES=\"$1\"\nshift\n{script}\nexec \"$@\"\n"
    );
    for (name, text) in [("oshcc", "#!/bin/sh\nexec cc -DRAW \"$@\"\n"), ("oshrun", &oshrun)] {
        let path = bin.join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("runnable");
    }
    let path = std::env::var("PATH").expect("text");
    format!("{}:{path}", bin.display())
}

#[test]
fn long_a_peer_that_hangs_or_crashes_is_reported() {
    let folder = Folder::new("bench-fake");
    let script = "case \"$*\" in *put_large*) sleep 1000;; *ping_pong*) kill -SEGV $$;; esac";
    let path = fake(&folder, script);
    let words = ["--quick", "--pairs", "1", "--limit", "15", "--rows", "put 32 KiB,p + wait_until,launch"];
    let outcome = ends_with(bench(&folder, &words).env("PATH", path).run(), 1);
    let found = document(&folder, "openmpi.json");
    assert_eq!(found["programs"][1]["version"], "Open MPI 9.9");
    let failures: Vec<String> =
        found["failures"].as_array().expect("failures").iter().map(|f| f["why"].to_string()).collect();
    assert!(
        failures.len() == 2 && failures[0].contains("hung") && failures[1].contains("SIGSEGV"),
        "{failures:?}"
    );
    assert!(outcome.stdout.contains("Runs that gave no figures") && outcome.stdout.contains("SIGSEGV"));
    let put = row(&found, "put 32 KiB");
    assert!(put["median"]["dushmem"].is_f64() && put["median"]["Open MPI"].is_null(), "{put:#}");
    // Beside mere forks no launcher is ten times as fast.
    assert_eq!(row(&found, "launch to exit")["verdict"], "MISSED");
}

#[test]
fn what_cannot_be_measured_is_said_in_one_line() {
    let folder = Folder::new("bench-none");
    let none = folder.join("empty");
    fs::create_dir(&none).expect("made");
    let words = ["--quick"];
    bench(&folder, &words)
        .env("PATH", none)
        .run()
        .failure(2, &["oshcc and oshrun are not installed", "apt-get install openmpi-bin libopenmpi-dev"]);
    bench(&folder, &["--rows", "no such row"])
        .run()
        .failure(2, &["--rows no such row: there is no such row"]);
    bench(&folder, &["--pairs", "0"]).run().failure(2, &["--pairs 0"]);
    assert!(!folder.join("out").exists());
}
