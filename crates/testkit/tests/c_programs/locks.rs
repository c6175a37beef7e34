//! Locks used wrongly.
use crate::bad::{ended, job};
use crate::build::Program;
use crate::trial;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    trials.push(trial("bad::lock_that_is_not_given_back".into(), || {
        for (family, pes) in [("SHMEM", 3), ("DUSHMEM", 3), ("SHMEM", 2)] {
            let program = Program::new("bad").family(family).build();
            let hangs = Job::dushrun().args(["--timeout", "1", "-n", &pes.to_string()]).args([&program]);
            let outcome = hangs.words("lock_kept").run();
            assert!(outcome.code != 0, "{outcome:#?}");
            let told: Vec<&str> =
                outcome.stderr.lines().filter(|line| line.contains(" waits in set_lock(")).collect();
            let held = |line: &&str| line.contains("(lock = heap + ") && line.contains(", held by PE 0, ");
            assert!(told.len() == pes - 1 && told.iter().all(held), "{outcome:#?}");
        }
    }));
    trials.push(trial("bad::lock_that_was_not_0".into(), || {
        for call in ["set", "test", "clear"] {
            for (value, half) in [
                ("1", " the lower half of its word on PE 2 is 0x1, "),
                ("-1", " is 0xffffffff, "),
                // A double of 1.
                ("0x3ff0000000000000", " is 0x3ff00000, "),
                // This PE itself.
                ("0x300000000", " is 0x3, "),
                ("0x100000000", " the upper half of its word on PE "),
            ] {
                if (call, value) == ("test", "0x100000000") || (call, value) == ("clear", "0x100000000") {
                    // As if PE 0 had the lock.
                    continue;
                }
                let words =
                    ["{f}_CALL_lock: lock = 0x", half, "the word was not 0 when the lock was first used"];
                let words = words.map(|word| word.replace("CALL", call));
                let outcome = job("SHMEM", "lock_was").args([call, value]).run();
                ended(outcome, "SHMEM", ("lock_was", 1, &words.each_ref().map(String::as_str)));
            }
        }
    }));
}
