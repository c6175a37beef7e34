//! The program of `dushbench gpu`, compiled for the CPU: every row comes, and what it moves is right.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use std::process::Command;

#[test]
fn the_measuring_program_moves_what_it_measures() {
    let folder = Folder::new("beside-gpu");
    let program = folder.join("beside");
    let mut compile = Command::new(prefix().join("bin/dushcc"));
    compile.arg("-O1").arg("-o").arg(&program);
    compile.args(["beside.cu", "device.cu", "put.cu"].map(|name| root().join("crates/bench/gpu").join(name)));
    let compiled = compile.output().expect("dushcc starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let groups = ["start", "host", "teams", "stream", "transfers", "collectives"];
    let mut job = Command::new("timeout");
    job.args(["120".as_ref(), program.as_os_str(), "2".as_ref()]).args(groups);
    let ran = job.env("BESIDE_QUICK", "1").env("DUSHMEM_SYMMETRIC_SIZE", "700M").output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.ends_with("done\n"), "{ran:?}");
    assert!(!said.contains("wrong\t") && !said.contains("error\t"), "{said}");
    for row in [
        "start: init and a first object",
        "raw start: stream of the highest priority",
        "host putmem 1 MiB by all + barrier_all",
        "host team_split_strided + destroy",
        "on stream barrier_all in a graph of 50",
        "raw cudaMemcpyAsync 256 MiB",
        "on stream float_sum_reduce 64 MiB",
        "on stream alltoall 1 MiB a PE",
        "end: free and finalize",
    ] {
        assert!(said.contains(&format!("row\t{row}\t")), "{row}\n{said}");
    }
}
