//! The ring and the program about globals, built in every way that moves the executable's data about.
use crate::build::Program;
use crate::programs::succeeded;
use crate::{ring, trial};
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use libtest_mimic::Trial;

struct Variant {
    name: &'static str,
    flags: &'static str,
    compiler: Option<&'static str>,
    cxx: bool,
    needs: &'static str,
}

const fn c(name: &'static str, flags: &'static str) -> Variant {
    Variant { name, flags, compiler: None, cxx: false, needs: "gcc" }
}

const fn cxx(name: &'static str, flags: &'static str) -> Variant {
    Variant { name, flags, compiler: None, cxx: true, needs: "g++" }
}

const fn with(
    name: &'static str,
    flags: &'static str,
    compiler: &'static str,
    needs: &'static str,
) -> Variant {
    Variant { name, flags, compiler: Some(compiler), cxx: false, needs }
}

const VARIANTS: [Variant; 22] = [
    c("pie", "-fPIE -pie"),
    c("no_pie", "-fno-pie -no-pie"),
    c("no_relro", "-Wl,-z,norelro"),
    c("full_relro", "-Wl,-z,relro,-z,now"),
    c("one_segment", "-Wl,-z,noseparate-code"),
    c("large_model", "-mcmodel=large"),
    c("large_pages", "-Wl,-z,max-page-size=0x200000"),
    c("optimised", "-O3"),
    c("static_library", "--static-lib"),
    c("static", "-static"),
    c("static_pie", "-static-pie"),
    cxx("cxx", ""),
    cxx("cxx_no_pie", "-no-pie"),
    cxx("cxx_static", "-static"),
    with("gold", "-fuse-ld=gold", "gcc", "ld.gold"),
    with("lld", "-fuse-ld=lld", "clang", "ld.lld"),
    with("lld_no_pie", "-fuse-ld=lld -no-pie", "clang", "ld.lld"),
    with("clang", "", "clang", "clang"),
    with("gcc_address", "-fsanitize=address", "gcc", "gcc"),
    with("gcc_undefined", "-fsanitize=undefined -fno-sanitize-recover=all", "gcc", "gcc"),
    with("clang_address", "-fsanitize=address,undefined -fno-sanitize-recover=all", "clang", "clang"),
    with("gcc_thread", "-fsanitize=thread", "gcc", "gcc"),
];

fn program(variant: &Variant, program: Program) -> Program {
    let program = if variant.cxx { program.cxx("c++17") } else { program };
    let program = program.flags(variant.flags);
    match variant.compiler {
        Some(compiler) => program.compiler(compiler),
        None => program,
    }
}

/// A job of a variant; a sanitizer's tables are taken into account.
fn job(variant: &Variant, pes: usize, built: &std::path::Path) -> Job {
    let job = Job::new(pes, built).limit(std::time::Duration::from_secs(120));
    match variant.name {
        // Its shadow leaves little room.
        "gcc_thread" => job.env("CHECK_UNDER_TOOL", "1").env("DUSHMEM_SYMMETRIC_SIZE", "16M"),
        _ if variant.flags.contains("sanitize") => job.env("CHECK_UNDER_TOOL", "1"),
        _ => job,
    }
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for variant in &VARIANTS {
        if !installed(variant.needs) {
            continue;
        }
        trials.push(trial(format!("variant::{}::ring", variant.name), move || {
            let built = program(variant, Program::example("ring")).build();
            job(variant, 3, &built).run().prints_ring(3);
        }));
        trials.push(trial(format!("variant::{}::statics", variant.name), move || {
            let built = program(variant, Program::new("statics")).build();
            succeeded(job(variant, 3, &built).run());
        }));
        let sanitized = variant.flags.contains("sanitize=address");
        if sanitized || ["static", "static_pie", "cxx", "gold"].contains(&variant.name) {
            trials.push(trial(format!("variant::{}::long_all_sizes", variant.name), move || {
                let built = program(variant, Program::example("ring")).build();
                ring::all_sizes(20, |pes| job(variant, pes, &built));
            }));
        }
        if variant.flags.contains("sanitize") {
            trials.push(trial(format!("variant::{}::long_interface", variant.name), move || {
                for name in ["rma", "coll"] {
                    let built = program(variant, Program::new(name)).build();
                    succeeded(job(variant, 2, &built).run());
                }
            }));
        }
    }
    if installed("valgrind") {
        for name in ["ring", "statics"] {
            let long = if name == "ring" { "" } else { "long_" };
            trials.push(trial(format!("variant::{long}valgrind_{name}"), move || {
                let made = if name == "ring" { Program::example(name) } else { Program::new(name) };
                let job = Job::dushrun().words("-n 2 valgrind -q --error-exitcode=9").args([made.build()]);
                let job = job.env("DUSHMEM_SYMMETRIC_SIZE", "1M").env("CHECK_UNDER_TOOL", "1");
                let outcome = job.limit(std::time::Duration::from_secs(150)).run();
                if name == "ring" { outcome.prints_ring(2) } else { succeeded(outcome) }
            }));
        }
    }
}
