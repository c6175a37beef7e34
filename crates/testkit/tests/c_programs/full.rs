//! A heap without room: what is said about it, and that what is to be set is enough.
use crate::bad::{PES, job, warned};
use crate::build::Program;
use crate::programs::FAMILIES;
use crate::trial;
use dushmem_core::size::Size;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    trials.push(trial("full::exhausted".into(), || {
        for family in FAMILIES {
            let outcome = job(family, "exhausted").env("DUSHMEM_SYMMETRIC_SIZE", "8M").run();
            let words = [
                "malloc: the symmetric heap of 8388608 bytes has no room for 3221225472 bytes",
                "set DUSHMEM_SYMMETRIC_SIZE to ",
            ];
            warned(&outcome, 1, &words);
            assert_eq!(outcome.sorted_lines(), ["PE 0: NULL", "PE 1: NULL", "PE 2: NULL"]);
        }
    }));
    trials.push(trial("full::the_size_that_is_said_to_be_enough".into(), || {
        for (heap, request) in
            [("1M", 3_000_000_u64), ("100000", 110_000), ("8M", 1 << 30), ("8M", (3 << 30) + 1)]
        {
            let with = |size: &str| {
                job("SHMEM", &format!("exhausted {request}")).env("DUSHMEM_SYMMETRIC_SIZE", size).run()
            };
            let full = with(heap);
            warned(
                &full,
                1,
                &[&format!("has no room for {request} bytes: "), " bytes are in use and ", " free, "],
            );
            let size = full.stderr.split("set DUSHMEM_SYMMETRIC_SIZE to ").nth(1).unwrap();
            let size = size.split(' ').next().unwrap();
            let enough = with(size);
            assert_eq!(enough.sorted_lines()[0], "PE 0: allocated", "{full:#?} {enough:#?}");
            let bytes = Size::parse(size).unwrap().bytes;
            let less = with(&Size::round_down(bytes - 1).to_string());
            assert_eq!(less.sorted_lines()[0], "PE 0: NULL", "{full:#?} {less:#?}");
        }
    }));
    trials.push(trial("full::the_variable_that_was_set_is_named".into(), || {
        for (family, name) in [
            ("SHMEM", "SHMEM_SYMMETRIC_SIZE"),
            ("SHMEM", "SMA_SYMMETRIC_SIZE"),
            ("NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE"),
            ("NVSHMEM", "DUSHMEM_SYMMETRIC_SIZE"),
        ] {
            let full = job(family, "exhausted 1000000000").env(name, "8M").run();
            warned(&full, 1, &[&format!("one piece; set {name} to 954M or more")]);
            let large = job(family, "exhausted").env(name, "64T").run();
            let told = format!("init: {name}=64T (set, or the default): ");
            assert!(large.code != 0 && large.stderr.contains(&told), "{large:#?}");
        }
        let unset = job("SHMEM", "exhausted 2147480000").run();
        warned(&unset, 1, &["one piece; set DUSHMEM_SYMMETRIC_SIZE to 2G or more"]);
    }));
    trials.push(trial("full::exhausted_again_and_again".into(), || {
        let program = Program::new("reinit").build();
        let outcome = Job::new(PES, program).env("CHECK_EXHAUSTION", "1").run();
        warned(&outcome, 5, &["shmem_malloc: the symmetric heap of ", "has no room"]);
    }));
}
