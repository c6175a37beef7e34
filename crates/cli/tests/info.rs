//! dushinfo as a program.
use dushmem_testkit::job::Job;
use dushmem_testkit::tools;

#[test]
fn values_and_their_origins_are_shown() {
    let job =
        || Job::of(&tools::program("dushinfo")).env("SHMEM_SYMMETRIC_SIZE", "5M").env("DUSHMEM_STATIC", "1");
    let text = job().run().success().stdout;
    for line in
        ["DUSHMEM_STATIC = 1  (DUSHMEM_STATIC)", "shmem_ names: 5M  (SHMEM_SYMMETRIC_SIZE)", "(default)"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.starts_with("dushmem 0.") && text.contains("shm, loopback"), "{text}");
    let json = job().env("NVSHMEM_IB_SL", "a \"quoted\"\nvalue\u{1}").words("--json").run().success().stdout;
    let facts: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
    let find = |name: &str| {
        let all = facts["variables"].as_array().expect("a list");
        all.iter().find(|v| v["name"] == name).unwrap_or_else(|| panic!("{name} is missing")).clone()
    };
    let size = find("DUSHMEM_SYMMETRIC_SIZE");
    assert_eq!(size["values"]["shmem"]["value"], 5 << 20);
    assert_eq!(size["values"]["shmem"]["text"], "5M");
    assert_eq!((&size["kind"], &size["values"]["dushmem"]["text"]), (&"size".into(), &().into()));
    assert_eq!(size["values"]["shmem"]["origin"], "SHMEM_SYMMETRIC_SIZE");
    assert_eq!(size["values"]["dushmem"]["origin"], "default");
    let level = find("NVSHMEM_IB_SL");
    assert_eq!(level["values"]["nvshmem"]["text"], "a \"quoted\"\nvalue\u{1}");
    assert_eq!(
        (&level["has_effect"], level["values"].as_object().map(|o| o.len())),
        (&false.into(), Some(1))
    );
}

#[test]
fn how_kernels_reach_other_pes_is_shown() {
    let info = || Job::of(&tools::program("dushinfo"));
    for (variable, value, path) in [
        ("DUSHMEM_EMU_REMOTE", "0", "load and store"),
        ("DUSHMEM_EMU_REMOTE", "1", "requests to the proxy"),
        ("DUSHMEM_EMU_REMOTE", "all", "requests to the proxy"),
        ("DUSHMEM_TRANSPORT", "loopback", "requests to the proxy"),
    ] {
        let text = info().env(variable, value).run().success().stdout;
        assert!(
            text.contains(&format!("\nkernels:    reach the other PEs by {path}\n")),
            "{variable}: {text}"
        );
        let json = info().env(variable, value).words("--json").run().success().stdout;
        let facts: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
        assert_eq!(facts["kernels_reach_pes_by"], path);
    }
    let outcome = info().env("DUSHMEM_EMU_REMOTE", "some").run();
    assert!(
        outcome.code == 1 && outcome.stdout.contains("error: DUSHMEM_EMU_REMOTE=some: write 1"),
        "{outcome:?}"
    );
}

#[test]
fn variables_without_effect_are_shown_where_set() {
    let info = || Job::of(&tools::program("dushinfo"));
    assert!(!info().run().success().stdout.contains("NVSHMEM_QP_DEPTH"));
    let set = info().env("NVSHMEM_QP_DEPTH", "7").run().success().stdout;
    assert!(set.contains("NVSHMEM_QP_DEPTH = 7  (NVSHMEM_QP_DEPTH)\n    no effect: no network"), "{set}");
    let all = info().words("--all").run().success().stdout;
    assert!(all.contains("NVSHMEM_QP_DEPTH = 1024  (default)"), "{all}");
    assert!(all.matches("no effect: ").count() > 80, "{all}");
}

#[test]
fn what_init_would_refuse_is_an_error() {
    let outcome = Job::of(&tools::program("dushinfo")).env("DUSHMEM_SYMMETRIC_SIZE", "x").run();
    assert!(outcome.code == 1 && outcome.stdout.contains("error: DUSHMEM_SYMMETRIC_SIZE=x"), "{outcome:?}");
}

#[test]
fn what_only_the_emulator_reads_is_checked_and_shown() {
    for (name, value, why) in [
        ("SEED", "x", "not a whole number from 0 to 18446744073709551615"),
        ("STACK", "1K", "a size from 64K to 1G is needed"),
        ("THREADS", "warps", "neither fibers nor os"),
        ("WATCHDOG", "soon", "not a number of seconds"),
        ("WARP", "16", "a warp has 32 or 64 lanes"),
        ("DEVICES", "0", "not a whole number from 1 to 4096"),
    ] {
        let name = format!("DUSHMEM_EMU_{name}");
        let outcome = Job::of(&tools::program("dushinfo")).env(&name, value).run();
        let (line, error) =
            (format!("{name} = {value}  ({name})\n"), format!("error: {name}={value}: {why}"));
        assert!(outcome.code == 1 && outcome.stdout.contains(&error), "{outcome:?}");
        assert!(outcome.stdout.contains(&line), "{outcome:?}");
    }
}

#[test]
fn blanks_around_a_value_are_seen() {
    let info = |value: &str| Job::of(&tools::program("dushinfo")).env("DUSHMEM_GPU_SHARE", value).run();
    let shown = info("plain ").success().stdout;
    assert!(shown.contains("DUSHMEM_GPU_SHARE = \"plain \"  (DUSHMEM_GPU_SHARE)\n"), "{shown}");
    let refused = info(" all");
    assert!(refused.stdout.contains("error: DUSHMEM_GPU_SHARE=\" all\": write mps"), "{refused:?}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for (program, words, code) in [
        ("dushinfo", "", 1),
        ("dushinfo", "--json", 1),
        ("dushinfo", "--help", 1),
        ("dushrun", "--help", 125),
        ("dushrun", "--version", 125),
    ] {
        let path = tools::program(program);
        let line = format!("{} {words} > /dev/full", path.display());
        let outcome = Job::of("sh".as_ref()).args(["-c", &line]).run();
        let wanted = format!("{program}: standard output: No space left on device\n");
        assert_eq!((outcome.code, &*outcome.stderr), (code, &*wanted), "{line}");
    }
    // A reader that has seen enough is none.
    let line = format!("{{ {}; echo $? >&2; }} | true", tools::program("dushinfo").display());
    assert_eq!(Job::of("sh".as_ref()).args(["-c", &line]).run().stderr, "0\n");
}

#[test]
fn wrong_use_is_one_line() {
    for (words, line) in [
        ("--jsn", "dushinfo: --jsn: there is no such option; did you mean --json?\n"),
        ("all", "dushinfo: all: one argument too many\n"),
        ("--json=1", "dushinfo: --json takes no value, but was given \"1\"\n"),
    ] {
        let outcome = Job::of(&tools::program("dushinfo")).words(words).run();
        assert_eq!((outcome.code, &*outcome.stderr), (2, line));
    }
    assert!(Job::of(&tools::program("dushinfo")).words("--help").run().success().stdout.contains("--json"));
}

#[test]
fn a_pe_sees_that_it_is_one() {
    let outcome = Job::new(2, tools::program("dushinfo")).run().success();
    assert!(outcome.stdout.contains("runs as PE 1 of 2 in a dushrun job"), "{outcome:?}");
}

/// dushinfo where the stand-in for CUDA's driver is the driver.
fn with_gpus(devices: &str) -> Job {
    let job = Job::of(&tools::program("dushinfo")).env("DUSHMEM_CUDA_LIBRARY", cuda_standin::path());
    let job = job.env("CUDA_STANDIN_DEVICES", devices).env("CUDA_STANDIN_MEMORY", "3G");
    job.without("CUDA_VISIBLE_DEVICES").without("CUDA_DEVICE_MAX_CONNECTIONS")
}

fn cuda(job: Job) -> serde_json::Value {
    let json = job.words("--json").run().success().stdout;
    let facts: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
    facts["cuda"].clone()
}

#[test]
fn gpus_are_shown_with_how_they_are_shared() {
    let text = with_gpus("2").run().success().stdout;
    for line in [
        "\nGPUs:       2, by the CUDA driver for CUDA 13.0 (",
        ", 3.0 GiB, compute capability 9.0, 132 multiprocessors\n       GPU-",
        "\nGPU shared: in turns: ",
        "dushrun --gpu-share=mps",
        "\na program with kernels for GPUs uses: ",
        "(the program has kernels for a GPU)",
        "\na program for the CPU uses: CPU emulator (the program has no kernels for a GPU)\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let facts = cuda(with_gpus("2"));
    assert_eq!((&facts["driver_version"], &facts["sharing"]), (&[13, 0].as_slice().into(), &"plain".into()));
    let gpus = facts["gpus"].as_array().expect("a list");
    let uuids: Vec<&str> = gpus.iter().map(|gpu| gpu["uuid"].as_str().expect("text")).collect();
    assert!(gpus.len() == 2 && uuids[0] != uuids[1] && uuids.iter().all(|uuid| uuid.len() == 40), "{facts}");
    assert_eq!((&gpus[1]["ordinal"], &gpus[1]["memory"]), (&1.into(), &(3u64 << 30).into()));
    assert_eq!((&gpus[0]["heap_in_chunks"], &gpus[0]["mps"]), (&true.into(), &false.into()));
    assert!(facts["why_no_driver"].is_null());
    // What they can do with each other's memory.
    assert!(text.contains("\nGPU links:  each to each other: load, store and atomic operations\n"), "{text}");
    assert_eq!(gpus[1]["links"], serde_json::json!([{"to": 0, "can": "load, store and atomic operations"}]));
    let some = with_gpus("3").env("CUDA_STANDIN_NO_PEERS", "0-2").env("CUDA_STANDIN_NO_PEER_ATOMICS", "1-2");
    let line = "\nGPU links:  0 and 2: nothing; 1 and 2: load and store, no atomic operations; all others: load, store";
    assert!(some.run().success().stdout.contains(line));
    assert!(!with_gpus("1").run().success().stdout.contains("GPU links"));
    // What programs see counts.
    let one = cuda(with_gpus("2").env("CUDA_VISIBLE_DEVICES", uuids[1]));
    assert_eq!(one["gpus"].as_array().map(Vec::len), Some(1));
    assert_eq!((&one["gpus"][0]["uuid"], &one["gpus"][0]["ordinal"]), (&uuids[1].into(), &0.into()));
    let mps = with_gpus("1").env("CUDA_STANDIN_MPS", "1");
    assert!(mps.run().success().stdout.contains("\nGPU shared: by MPS: "));
    assert_eq!(cuda(with_gpus("1").env("CUDA_STANDIN_MPS", "1"))["sharing"], "mps");
    let none = with_gpus("1").env("CUDA_VISIBLE_DEVICES", "");
    assert!(none.run().success().stdout.contains("\nGPUs:       none"));
}

#[test]
fn the_choice_of_the_device_is_explained() {
    let chosen = |job: Job| {
        let facts = cuda(job);
        let of = |program: &str| facts[program]["why"].as_str().expect("a reason").to_owned();
        (of("program_with_gpu_kernels"), of("program_for_cpu"))
    };
    let both = |why: &str| (why.to_owned(), why.to_owned());
    assert_eq!(chosen(with_gpus("1").env("DUSHMEM_DEVICE", "emu")), both("DUSHMEM_DEVICE=emu"));
    assert_eq!(chosen(with_gpus("1").env("DUSHMEM_DEVICE", "cuda")), both("DUSHMEM_DEVICE=cuda"));
    // Without a driver that works.
    let none = || Job::of(&tools::program("dushinfo")).env("DUSHMEM_CUDA_LIBRARY", "/no/such/libcuda.so");
    let text = none().run().success().stdout;
    assert!(text.contains("\nGPUs:       none: there is no CUDA driver: /no/such/libcuda.so: "), "{text}");
    assert!(text.contains("(the program has kernels for a GPU, but there is none that works)\n"), "{text}");
    assert!(!text.contains("GPU shared"), "{text}");
    let facts = cuda(none());
    assert!(facts["sharing"].is_null() && facts["gpus"] == serde_json::json!([]), "{facts}");
    assert!(facts["why_no_driver"].as_str().is_some_and(|why| why.starts_with("there is no CUDA driver")));
    let outcome = none().env("DUSHMEM_DEVICE", "cuda").run();
    let refused =
        outcome.stdout.lines().filter(|line| line.starts_with("error: DUSHMEM_DEVICE=cuda: ")).count();
    assert!(outcome.code == 1 && refused == 1, "{outcome:?}");
    let old = with_gpus("1").env("CUDA_STANDIN_VERSION", "11040").run().success().stdout;
    assert!(old.contains("serves CUDA 11.4") && old.contains("install a newer driver"), "{old}");
}

#[test]
fn too_few_connections_are_a_warning() {
    let warned = |job: Job| job.run().success().stdout.contains("\nwarning: CUDA_DEVICE_MAX_CONNECTIONS=8: ");
    assert!(warned(with_gpus("1").env("CUDA_DEVICE_MAX_CONNECTIONS", "8")));
    assert!(!warned(with_gpus("1").env("CUDA_DEVICE_MAX_CONNECTIONS", "32")) && !warned(with_gpus("1")));
}
