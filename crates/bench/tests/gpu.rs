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
        "raw cudaMemcpyAsync 4 B of the host",
        "raw cudaMemcpyAsync 256 MiB",
        "on stream float_sum_reduce 64 MiB",
        "on stream alltoall 1 MiB a PE",
        "end: free and finalize",
    ] {
        assert!(said.contains(&format!("row\t{row}\t")), "{row}\n{said}");
    }
}

/// NCCL's rows, by a library that takes its place: the same collectives, with the same contents.
#[test]
fn the_program_with_nccl_moves_what_it_measures() {
    let folder = Folder::new("beside-nccl");
    let (program, library) = (folder.join("beside"), folder.join("libnccl.so.2"));
    let compile = |options: &[&str], to: &std::path::Path, source: &str| {
        let mut command = Command::new(prefix().join("bin/dushcc"));
        let compiled = command.args(options).arg("-O1").arg("-o").args([to, &root().join(source)]).output();
        let compiled = compiled.expect("dushcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    };
    compile(&[], &program, "crates/bench/gpu/nccl.cu");
    compile(&["-shared", "-fPIC"], &library, "crates/bench/tests/fake_nccl.cu");
    let run = |each: &str, windows: &str, nccl: &std::path::Path| {
        let mut job = Command::new("timeout");
        job.args(["120".as_ref(), program.as_os_str(), "2".as_ref(), "collectives".as_ref()]);
        job.env("BESIDE_QUICK", "1").env("TMPDIR", folder.join("")).env("DUSHMEM_EMU_DEVICES", "2");
        job.env("BESIDE_EACH", each).env("BESIDE_WINDOWS", windows).env("BESIDE_NCCL", nccl);
        let ran = job.output().expect("it starts");
        (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    for (each, windows) in [("1", "0"), ("0", "1")] {
        let (good, said) = run(each, windows, &library);
        assert!(good && said.ends_with("done\n"), "{said}");
        assert!(!said.contains("wrong\t") && !said.contains("error\t"), "{said}");
        let block = if each == "1" { "4 MiB" } else { "1 MiB" };
        for row in [
            "start: communicator",
            "on stream float_sum_reduce 64 KiB",
            "on stream float_sum_reduce 64 MiB",
            &format!("on stream broadcast {block}"),
            &format!("on stream fcollect {block} a PE"),
            &format!("on stream alltoall {block} a PE"),
        ] {
            assert!(said.contains(&format!("row\t{row}\t")), "{row}\n{said}");
        }
        assert!(said.contains("version\tNCCL v2.28.9\n"), "{said}");
    }
    let (good, said) = run("0", "0", &folder.join("none.so"));
    assert!(!good && said.contains("error\tPE ") && said.contains("none.so"), "{said}");
}
