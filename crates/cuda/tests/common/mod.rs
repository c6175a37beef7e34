//! What tests of this crate have in common: a driver that runs on the CPU, or with `DUSHMEM_TEST_GPU=1` the real one,
//! for those that need nothing that only the stand-in does.
#![allow(dead_code, reason = "each test uses some")]
use dushmem_core::world::World;
use dushmem_cuda::context::Context;
use dushmem_cuda::driver::{self, Driver, LIBRARY_VARIABLE};
use dushmem_cuda::gpu::Gpu;
use dushmem_cuda::ptx::{Image, NEAR};
use dushmem_testkit::suites::{self, Pe};
use std::ffi::{CString, c_char};
use std::sync::{Arc, Once, OnceLock};

/// Kernels that only the stand-in knows.
pub const TEST_IMAGE: Image = Image {
    name: "test",
    ptx: concat!(include_str!("../../../cuda-standin/src/test.ptx"), "\0"),
    compiled: &[],
};

/// Says where the driver's library is. To be called before anything else; `knobs` are variables of the stand-in, which
/// it reads when it is loaded, so a test that sets some has to be the only one of its process.
pub fn choose(knobs: &[(&str, &str)]) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: nothing else reads or changes variables yet in this test.
        unsafe {
            if !on_gpu() {
                std::env::set_var(LIBRARY_VARIABLE, cuda_standin::path());
            }
            std::env::set_var("CUDA_DEVICE_MAX_CONNECTIONS", "32");
            for (name, value) in knobs {
                std::env::set_var(name, value);
            }
        }
        dushmem_testkit::plain::also_reach(reach);
    });
}

/// Whether a real GPU is to be tested.
pub fn on_gpu() -> bool {
    std::env::var_os("DUSHMEM_TEST_GPU").is_some()
}

/// The driver.
pub fn driver() -> &'static Driver {
    choose(&[]);
    driver::get().expect("the stand-in is a driver")
}

/// A device without a PE, with the library's kernels.
pub fn gpu() -> Gpu {
    Gpu::open(Context::primary(driver(), 0).unwrap(), None, NEAR).unwrap_or_else(|why| panic!("{why}"))
}

/// Whether tests can look at the driver's counters and have it fail.
pub fn has_counters() -> bool {
    !on_gpu()
}

fn find(name: &str) -> *mut core::ffi::c_void {
    let library = dushmem_os::library::Library::open(&driver::library_name()).expect("the stand-in");
    let name = CString::new(name).unwrap();
    library.find(&name).unwrap_or_else(|| panic!("{name:?} is not in the stand-in")).as_ptr()
}

/// Where tests may touch a byte of device memory, which is not the program's.
fn reach(address: usize) -> Option<usize> {
    static REACH: OnceLock<unsafe extern "C" fn(usize) -> usize> = OnceLock::new();
    // SAFETY: the stand-in's function of that name.
    let reach = REACH.get_or_init(|| unsafe { std::mem::transmute(find("standin_reach")) });
    // SAFETY: any number will do.
    Some(unsafe { reach(address) }).filter(|found| *found != 0)
}

/// Failures to come: see the stand-in's CUDA_STANDIN_FAIL.
pub fn fail(which: &str) {
    // SAFETY: the stand-in's function of that name.
    let set: unsafe extern "C" fn(*const c_char) = unsafe { std::mem::transmute(find("standin_fail")) };
    // Nothing at all has calls counted from here on.
    for which in ["", which] {
        let which = CString::new(which).unwrap();
        // SAFETY: a C string.
        unsafe { set(which.as_ptr()) }
    }
}

/// Calls of a function of the driver so far.
pub fn calls(name: &str) -> u64 {
    count("standin_calls", name)
}

/// Objects of a kind that were not given back.
pub fn live(kind: &str) -> u64 {
    count("standin_live", kind)
}

fn count(function: &str, of: &str) -> u64 {
    // SAFETY: the stand-in's functions of these names.
    let ask: unsafe extern "C" fn(*const c_char) -> u64 = unsafe { std::mem::transmute(find(function)) };
    let of = CString::new(of).unwrap();
    // SAFETY: a C string.
    unsafe { ask(of.as_ptr()) }
}

/// Leaves the job, after which nothing of the device's is left in this process.
#[track_caller]
pub fn finalize(world: Arc<World>) {
    world.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
    drop(world);
    for kind in ["memory", "mappings", "reservations", "streams", "modules", "host", "contexts"] {
        assert_eq!(live(kind), 0, "{kind} after finalize");
    }
}

/// What takes all paths to the peers' memory.
pub fn all_paths(pe: &Pe) {
    let suites: &[fn(&Pe)] = &[
        suites::rma::every_small_size,
        suites::rma::large_sizes,
        suites::rma::strides,
        suites::amo::every_operation,
        suites::amo::from_all_at_once,
        suites::order::put_with_signal,
        suites::order::signals,
        suites::coll::gathers_and_exchanges,
        suites::reduce::integers,
        suites::scan::reduce_scatter,
    ];
    for suite in suites {
        suite(pe);
    }
}
