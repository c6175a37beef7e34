//! The scheduler: orders by seed, grids of every shape, blocks that wait for each other, and what is said about
//! kernels that hang.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::tools::example;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

struct Program(Folder);

impl Program {
    fn new() -> Program {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let include = root.join("../../include");
        let library = example("libemulator.so").with_file_name("");
        let folder = Folder::new("sched");
        let compiled = Command::new(env::var("CXX").unwrap_or_else(|_| "c++".into()))
            .args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(include.join("dushmem/emu"))
            .args(["-include", "dushmem/impl/emu.h", "-x", "c++"])
            .arg(root.join("tests/kernels/sched.cu.cpp"))
            .arg("-o")
            .arg(folder.join("program"))
            .arg("-L")
            .arg(&library)
            .arg("-lemulator")
            .arg(format!("-Wl,-rpath,{}", library.display()))
            .output()
            .expect("a compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Program(folder)
    }

    fn command(&self, what: &str, settings: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.0.join("program"));
        // A process that is ended by a signal leaves no core file.
        command.arg(what).envs(settings.iter().copied()).current_dir(self.0.path());
        command
    }

    fn run(&self, what: &str, settings: &[(&str, &str)]) -> Output {
        self.command(what, settings).output().expect("the program runs")
    }

    #[track_caller]
    fn all_right(&self, what: &str, settings: &[(&str, &str)]) -> String {
        let out = self.run(what, settings);
        let (said, complained) = (text(&out.stdout), text(&out.stderr));
        assert!(
            out.status.success() && said.ends_with("all right\n"),
            "{what} {settings:?}: {}\n{said}{complained}",
            out.status
        );
        assert_eq!(complained, "");
        said
    }

    fn start(&self, what: &str, settings: &[(&str, &str)]) -> Child {
        let mut command = self.command(what, settings);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_seed_repeats_its_order() {
    let program = Program::new();
    let order = |seed: &[(&str, &str)]| program.all_right("order", seed);
    // The usual order: as they come, and after a barrier the last one first.
    let usual = order(&[]);
    let first: Vec<&str> = usual.split(' ').take(80).collect();
    let want: Vec<String> = (0..40).map(|i| format!("b0/{i}")).chain(["r0/39".into()]).collect();
    assert_eq!(first[..41], want);
    // Without a seed blocks can run at the same time.
    let of_one_block = |order: &str| order.split(' ').take(240).map(String::from).collect::<Vec<_>>();
    assert_eq!(of_one_block(&usual), of_one_block(&order(&[])));
    let one = order(&[("DUSHMEM_EMU_SEED", "1")]);
    for _ in 0..3 {
        assert_eq!(one, order(&[("DUSHMEM_EMU_SEED", "1")]));
    }
    assert_ne!(one, usual);
    assert_ne!(one, order(&[("DUSHMEM_EMU_SEED", "2")]));
    // Each launch has an order of its own, and so have blocks.
    let (a, b): (Vec<_>, Vec<_>) = (one.split(' ').take(120).collect(), one.split(' ').skip(120).collect());
    assert_ne!(a, b[..120]);
    let blocks: Vec<&str> = b[120..].iter().filter(|s| s.starts_with('b')).copied().collect();
    assert!(blocks[0] != "b0/0" || blocks[2] != "b1/0" || blocks[4] != "b2/0", "{blocks:?}");
    let bad = program.run("order", &[("DUSHMEM_EMU_SEED", "x")]);
    let line = "dushmem: DUSHMEM_EMU_SEED=x: not a whole number from 0 to 18446744073709551615; GPU threads run in their \
                usual order\n";
    assert_eq!((&*text(&bad.stderr), of_one_block(&text(&bad.stdout))), (line, of_one_block(&usual)));
    // Once a job is enough.
    let second = program.run("order", &[("DUSHMEM_EMU_SEED", "x"), ("DUSHMEM_PE", "1")]);
    assert_eq!(text(&second.stderr), "");
}

#[test]
fn grids_of_every_shape_and_blocks_in_a_chain() {
    let program = Program::new();
    program.all_right("shapes", &[]);
    program.all_right("shapes", &[("DUSHMEM_EMU_SEED", "3")]);
    program.all_right("chains", &[]);
}

#[test]
fn hangs_are_told() {
    let program = Program::new();
    // A loop that never gives way, for something that another thread of the block does.
    let mut child = program.start("spin", &[("DUSHMEM_EMU_WATCHDOG", "0.3")]);
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
    child.kill().expect("it still spins");
    child.wait().expect("it ends");
    assert!(line.starts_with("dushmem: kernel spin: no progress for 0."), "{line}");
    for part in [
        "block (0, 0, 0): thread (5, 0, 0) has run for 0.",
        "without giving way to the others of its block",
        "call __nanosleep there; or compile with dushcc -fdushmem-os-threads",
    ] {
        assert!(line.contains(part), "{line}");
    }
    // Threads that wait for the host: told once, and they go on.
    let mut child = program.start("wait", &[("DUSHMEM_EMU_WATCHDOG", "0.3"), ("DUSHMEM_PE", "7")]);
    let mut complaints = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    complaints.read_line(&mut line).expect("a line");
    assert!(line.starts_with("dushmem: PE 7: kernel waiter: no progress for 0."), "{line}");
    // The one that runs at the moment is not waiting.
    for part in [
        "block (0, 0, 0): 2 threads, (0, 0, 0) to (1, 0, 0), wait in __syncthreads",
        ", wait in a loop that gives way",
    ] {
        assert!(line.contains(part), "{line}");
    }
    child.stdin.take().expect("piped").write_all(b"\n").expect("it reads");
    let status = child.wait().expect("it ends");
    let mut rest = String::new();
    while complaints.read_line(&mut rest).expect("text") > 0 {}
    assert!(status.success(), "{status}: {rest}");
    // Barriers that can't be met end the process.
    let out = program.run("divergent", &[]);
    assert!(!out.status.success());
    let line = text(&out.stderr);
    // Of two blocks in that state one says so.
    assert!(line.starts_with("dushmem: kernel divergent, block (0, "), "{line}");
    assert!(line.contains(", 0): nobody can go on: "), "{line}");
    for part in [
        "3 threads, (0, 0, 0) to (2, 0, 0), wait in __syncthreads",
        "5 threads, (3, 0, 0) to (7, 0, 0), wait in __syncwarp",
    ] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn stacks_can_be_made_larger() {
    let program = Program::new();
    program.all_right("deep", &[("DUSHMEM_EMU_STACK", "4M")]);
    let out = program.run("deep", &[]);
    assert!(!out.status.success());
    let line = text(&out.stderr);
    for part in ["kernel recurse, block (0, 0, 0), thread (3, 0, 0)", "256 KiB", "DUSHMEM_EMU_STACK"] {
        assert!(line.contains(part), "{line}");
    }
    let out = program.run("deep", &[("DUSHMEM_EMU_STACK", "1K")]);
    assert!(
        text(&out.stderr)
            .starts_with("dushmem: DUSHMEM_EMU_STACK=1K: a size from 64K to 1G is needed; taking 256K")
    );
}
