//! Every name that kernels may call: `tests/kernels/names` calls each in a kernel and checks what it did, with one and
//! with several PEs, directly, through the proxy, and over a transport that reorders.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The program of a family.
struct Program {
    family: &'static str,
    folder: Folder,
}

impl Program {
    fn of(family: &'static str) -> Program {
        let program = Program { family, folder: Folder::new("names") };
        let names = root().join("tests/kernels/names");
        let mut sources: Vec<PathBuf> = ["collect", "data", "pairs", "reduce", "scopes", "words"]
            .map(|group| names.join(format!("gen/{family}_{group}.cu")))
            .to_vec();
        sources.push(names.join("main.cu"));
        let mut objects = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let object = program.folder.join(format!("{number}.o"));
            // Thousands of small functions: what optimising them costs, their run does not give back.
            let options = ["-O0", "-Wall", "-Wextra", "-Werror", "-c"];
            program.compile(
                Command::new(prefix().join("bin/dushcc")).args(options).arg(source).arg("-o").arg(&object),
            );
            objects.push(object);
        }
        let mut link = Command::new(prefix().join("bin/dushcc"));
        program.compile(link.args(&objects).arg("-o").arg(program.folder.join("program")));
        program
    }

    fn compile(&self, command: &mut Command) {
        let done =
            command.arg(format!("-DFAMILY_{}", self.family.to_uppercase())).output().expect("dushcc starts");
        assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
    }

    fn job(&self, pes: usize) -> Job {
        Job::new(pes, self.folder.join("program")).limit(Duration::from_secs(100))
    }

    /// Names of the list that every release promises, less the one that ends the job.
    fn is_right(&self) {
        let list = std::fs::read_to_string(root().join("api/names/device.txt")).expect("the list");
        let start = |name: &str| name.starts_with(self.family) && !name.ends_with("mem_global_exit");
        let names = list.lines().filter(|line| start(line.split('\t').next().unwrap_or_default())).count();
        let line = format!("{names} names, all right\n");
        let run = |job: Job| {
            let outcome = job.run().success();
            assert_eq!(outcome.stdout, line, "{}", outcome.stderr);
        };
        for pes in [1, 2, 5] {
            run(self.job(pes));
        }
        run(self.job(2).env("DUSHMEM_EMU_REMOTE", "1"));
        run(self.job(1).env("DUSHMEM_EMU_REMOTE", "all"));
        run(self.job(3).env("DUSHMEM_TRANSPORT", "loopback"));
        let ended = self.job(2).args(["exit"]).run();
        assert_eq!(ended.code, 7, "{ended:?}");
        let refused = format!("{}x_int_put_block: this name exists in kernels only", self.family);
        self.job(1).args(["host"]).run().failure(1, &[&refused, "call it from a __global__"]);
    }
}

#[test]
fn every_name_of_nvshmem() {
    Program::of("nvshmem").is_right();
}

#[test]
fn every_name_of_dushmem() {
    Program::of("dushmem").is_right();
}
