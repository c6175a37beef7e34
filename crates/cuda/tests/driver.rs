//! Finding the driver and its devices, on the stand-in. Each test is a process of its own: what it sets is for all of it.
mod common;
use common::choose;
use dushmem_core::device::{Device, KernelState, Module};
use dushmem_core::env::Settings;
use dushmem_core::error::Call;
use dushmem_core::world::InitOptions;
use dushmem_cuda::driver::LIBRARY_VARIABLE;
use dushmem_cuda::{Cuda, device, facts, is_loaded};
use dushmem_testkit::threads;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn devices_are_listed() {
    choose(&[
        ("CUDA_STANDIN_DEVICES", "3"),
        ("CUDA_STANDIN_MPS", "1"),
        ("CUDA_STANDIN_MEMORY", "2G"),
        ("CUDA_VISIBLE_DEVICES", "2,0"),
    ]);
    assert!(!is_loaded());
    let facts = facts();
    assert!(is_loaded());
    let driver = facts.driver.unwrap();
    assert_eq!((driver.version, driver.gpus.len()), ((13, 0), 2));
    for (i, gpu) in driver.gpus.iter().enumerate() {
        assert_eq!(
            (gpu.ordinal as usize, gpu.memory, gpu.compute, gpu.multiprocessors),
            (i, 2 << 30, (9, 0), 132)
        );
        assert!(gpu.mps && gpu.vmm && gpu.uuid.starts_with("GPU-") && gpu.uuid.len() == 40, "{gpu:?}");
    }
    assert_ne!(driver.gpus[0].uuid, driver.gpus[1].uuid);
    assert_eq!(Cuda.count().unwrap(), 2);
}

fn why_not() -> String {
    let said = facts().driver.unwrap_err();
    assert_eq!(device().unwrap_err().to_string(), said);
    said
}

#[test]
fn an_old_driver_is_told_with_both_versions() {
    choose(&[("CUDA_STANDIN_VERSION", "11080")]);
    let said = why_not();
    assert!(said.contains("CUDA 11.8") && said.contains("CUDA 12.4 is needed"), "{said}");
}

#[test]
fn a_driver_that_is_not_there_is_told_with_its_name() {
    choose(&[(LIBRARY_VARIABLE, "/nowhere/libcuda.so.1")]);
    let said = why_not();
    assert!(said.contains("/nowhere/libcuda.so.1") && said.contains(LIBRARY_VARIABLE), "{said}");
    assert!(!is_loaded());
}

#[test]
fn a_library_that_is_no_driver_is_told() {
    choose(&[(LIBRARY_VARIABLE, "libc.so.6")]);
    let said = why_not();
    assert!(said.contains("libc.so.6 is not a CUDA driver") && said.contains(LIBRARY_VARIABLE), "{said}");
}

#[test]
fn no_gpu_is_told_with_the_variable_that_hides_them() {
    choose(&[("CUDA_VISIBLE_DEVICES", "")]);
    let said = device().unwrap_err().to_string();
    assert!(said.contains("CUDA_VISIBLE_DEVICES"), "{said}");
}

/// What the unit below was told: PE, and bytes.
static TOLD: Mutex<Vec<(i32, usize)>> = Mutex::new(Vec::new());

unsafe extern "C" fn push(state: *const KernelState, bytes: usize, stream: *mut c_void) -> i32 {
    assert!(!stream.is_null());
    // SAFETY: a state.
    let state = unsafe { &*state };
    assert!(state.magic == KernelState::MAGIC && state.notice != 0);
    TOLD.lock().unwrap().push((state.my_pe, bytes));
    0
}

unsafe extern "C" fn refuse(_: *const KernelState, _: usize, _: *mut c_void) -> i32 {
    209
}

/// A unit that stays.
struct Unit(*const Module);

// SAFETY: the module stays, and does not change.
unsafe impl Send for Unit {}
// SAFETY: as above.
unsafe impl Sync for Unit {}

impl Unit {
    fn add(&self) -> dushmem_core::error::Result<()> {
        // SAFETY: it stays.
        unsafe { Cuda.add_module(self.0) }
    }

    fn remove(&self) {
        Cuda.remove_module(self.0);
    }
}

fn unit(abi: u32, push: unsafe extern "C" fn(*const KernelState, usize, *mut c_void) -> i32) -> Unit {
    let header = c"/somewhere/device_state.h".as_ptr();
    Unit(Box::leak(Box::new(Module { size: size_of::<Module>() as u32, abi, header, push })))
}

fn told() -> Vec<(i32, usize)> {
    std::mem::take(&mut *TOLD.lock().unwrap())
}

fn run(pes: usize, body: impl Fn(&std::sync::Arc<dushmem_core::world::World>) + Send + Sync + 'static) {
    let settings = Settings { heap_size: 1 << 20, device_heap: Some(8 << 20), ..Settings::defaults() };
    let options = InitOptions { device: Some(&Cuda), ..threads::THREAD_PE };
    threads::run_with(pes, &settings, options, body);
}

#[test]
fn units_get_the_state_when_it_is_there_and_when_they_come() {
    choose(&[]);
    let (early, late) = (unit(KernelState::ABI, push), unit(KernelState::ABI, push));
    early.add().unwrap();
    assert_eq!(told(), []);
    run(1, move |world| {
        world.bind_device(Call::Malloc, true).unwrap();
        let size = size_of::<KernelState>();
        assert_eq!(told(), [(0, size)]);
        late.add().unwrap();
        assert_eq!(told(), [(0, size)]);
        late.add().unwrap();
        assert_eq!(told(), []);
        let other = unit(KernelState::ABI + 1, push).add().unwrap_err().to_string();
        assert!(other.contains("/somewhere/device_state.h"), "{other}");
        let refused = unit(KernelState::ABI, refuse).add().unwrap_err().to_string();
        assert!(refused.contains("error 209") && refused.contains("capability 9.0"), "{refused}");
        early.remove();
    });
}

static SHARED: AtomicBool = AtomicBool::new(true);

/// What a unit is told that belongs to several PEs: number, and flags.
unsafe extern "C" fn push_shared(state: *const KernelState, _: usize, _: *mut c_void) -> i32 {
    // SAFETY: a state.
    let state = unsafe { &*state };
    if SHARED.load(Ordering::Relaxed) {
        assert!(
            state.magic == 0 && state.n_pes == 0 && state.delta == 0 && state.team_count == 0,
            "{state:?}"
        );
    }
    TOLD.lock().unwrap().push((state.my_pe, state.reserved as usize));
    0
}

/// Their kernels say what is wrong, whichever PE launches them, instead of taking each other's data.
#[test]
fn units_are_told_that_pes_are_threads() {
    choose(&[]);
    unit(KernelState::ABI, push_shared).add().unwrap();
    run(2, |world| {
        world.bind_device(Call::Malloc, true).unwrap();
    });
    let all = told();
    assert!(all.len() >= 2 && all.iter().all(|&said| said == (-1, KernelState::OF_MANY as usize)), "{all:?}");
    // A job of one PE in the same process after that: kernels know it.
    SHARED.store(false, Ordering::Relaxed);
    run(1, |world| {
        world.bind_device(Call::Malloc, true).unwrap();
        assert_eq!(told(), [(0, 0)]);
    });
}
