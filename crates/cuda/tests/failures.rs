//! What failures of the driver look like, on the stand-in.
mod common;
use common::{calls, driver, fail, gpu, live};
use dushmem_core::device::KernelTeam;
use dushmem_core::device_heap::driver::HeapDevice;
use dushmem_cuda::context::Context;
use dushmem_cuda::gpu::Gpu;

const CHUNK: usize = 4 << 20;

#[test]
fn no_memory_is_an_error_that_says_how_much_there_is() {
    let gpu = gpu();
    let window = gpu.reserve(None, 64 << 30).unwrap();
    let error = gpu.allocate(window, 20 << 30).unwrap_err().to_string();
    for part in ["20G", "CUDA_ERROR_OUT_OF_MEMORY", "free", "DUSHMEM_DEVICE_HEAP_SIZE", "16G"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let (memory, mappings) = (live("memory"), live("mappings"));
    // Half a chunk leaves nothing behind either.
    for step in ["cuMemMap", "cuMemSetAccess", "cuMemsetD8Async"] {
        fail(&format!("{step}:1=1"));
        gpu.allocate(window, CHUNK).unwrap_err();
        fail("");
        assert_eq!((live("memory"), live("mappings")), (memory, mappings), "{step}");
    }
    gpu.allocate(window, CHUNK).unwrap();
}

#[test]
fn failures_say_what_was_done_what_failed_and_what_helps() {
    let gpu = gpu();
    let at = gpu.table(64).unwrap();
    fail("cuMemcpyAsync:1=700");
    // SAFETY: within the table.
    let error = unsafe { gpu.load(at, 8) }.unwrap_err().to_string();
    assert!(error.contains("loading 8 bytes") && error.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    assert!(error.contains("compute-sanitizer"), "{error}");
    fail("");
}

#[test]
fn a_count_of_devices_that_fails_is_no_count() {
    driver();
    fail("cuDeviceGetCount:1=2");
    let error = dushmem_cuda::device::device().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("counting the GPUs: cuDeviceGetCount gave CUDA_ERROR_OUT_OF_MEMORY"), "{error}");
    fail("");
    dushmem_cuda::device::device().map(|_| ()).unwrap();
}

#[test]
fn a_module_that_can_not_be_loaded_is_named() {
    driver();
    fail("cuModuleLoadData:1=222");
    let images = [common::TEST_IMAGE];
    let context = Context::primary(driver(), 0).unwrap();
    let error = Gpu::open(context, None, &images).unwrap_err().to_string();
    assert!(error.contains("kernels (test)") && error.contains("newer driver"), "{error}");
    fail("");
    assert_eq!((live("modules"), live("contexts")), (0, 0));
}

/// A thread that the library has had do something captures as before, whatever failed.
#[test]
fn a_context_that_can_not_be_entered_leaves_the_mode_of_captures() {
    let driver = driver();
    let context = Context::primary(driver, 0).unwrap();
    fail("cuCtxPushCurrent_v2:1=201");
    let error = context.enter_relaxed().map(drop).unwrap_err().to_string();
    assert!(error.contains("cuCtxPushCurrent"), "{error}");
    fail("");
    let mut mode = dushmem_cuda::types::CAPTURE_MODE_GLOBAL;
    // SAFETY: a place for a mode.
    unsafe { driver.thread_exchange_stream_capture_mode(&raw mut mode) }.unwrap();
    assert_eq!(mode, dushmem_cuda::types::CAPTURE_MODE_GLOBAL, "the one that threads begin with");
}

/// What a failed call has begun is waited for: it uses memory of the caller's.
#[test]
fn what_a_failed_call_has_begun_is_waited_for() {
    let gpu = gpu();
    let at = gpu.table(4096).unwrap();
    gpu.flush().unwrap();
    let entry = KernelTeam { handle: 5, ..KernelTeam::NONE };
    // The handle is hidden, and the entry is not stored.
    fail("cuMemcpyAsync:1=1");
    let error = gpu.set_team(at, 0, &entry).unwrap_err().to_string();
    assert!(error.contains("telling kernels of a team: cuMemcpyAsync"), "{error}");
    assert_eq!(calls("cuStreamQuery"), 1);
    fail("");
    gpu.set_team(at, 0, &entry).unwrap();
}
