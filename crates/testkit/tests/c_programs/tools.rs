//! Tools that put functions of their own in front of the library's, and programs that replace some.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::installation::root;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for (inline, flags) in [("inline", ""), ("no_inline", "-DDUSHMEM_NO_INLINE")] {
        trials.push(trial(format!("tools::preloaded_{inline}"), move || {
            let tool = Program::new("tool").flags("-shared -fPIC -ldl").build();
            let program = Program::new("counted").flags(flags).flags("-rdynamic -ldl").build();
            // Without the tool nothing is counted, and with it every call.
            Job::new(2, &program).words("0 0").run().success();
            Job::new(2, &program).words("100 50").env("LD_PRELOAD", &tool).run().success();
        }));
        trials.push(trial(format!("tools::part_of_the_program_{inline}"), move || {
            let tool = root().join("tests/c/tool.c");
            let program =
                Program::new("counted").flags(flags).flags(&format!("{} -rdynamic -ldl", tool.display()));
            Job::new(2, program.build()).words("100 50").run().success();
        }));
    }
}
