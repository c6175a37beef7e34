//! The driver's functions as tests call them.
#![allow(dead_code, reason = "each test uses some")]
use cuda_standin as _;
use std::ffi::{CString, c_char, c_void};

unsafe extern "C" {
    pub safe fn cuInit(flags: u32) -> u32;
    pub safe fn cuDevicePrimaryCtxRetain(context: *mut usize, device: i32) -> u32;
    pub safe fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32;
    pub safe fn cuCtxSetCurrent(context: usize) -> u32;
    pub safe fn cuMemAlloc_v2(at: *mut usize, bytes: usize) -> u32;
    pub safe fn cuMemFree_v2(at: usize) -> u32;
    pub safe fn cuMemHostAlloc(at: *mut usize, bytes: usize, flags: u32) -> u32;
    pub safe fn cuMemHostRegister_v2(at: usize, bytes: usize, flags: u32) -> u32;
    pub safe fn cuMemHostUnregister(at: usize) -> u32;
    pub safe fn cuPointerGetAttribute(data: *mut c_void, which: u32, at: usize) -> u32;
    pub safe fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32;
    pub safe fn cuMemcpyAsync(dest: usize, source: usize, bytes: usize, stream: usize) -> u32;
    pub safe fn cuMemsetD8Async(dest: usize, value: u8, n: usize, stream: usize) -> u32;
    pub safe fn cuMemsetD32Async(dest: usize, value: u32, n: usize, stream: usize) -> u32;
    pub safe fn cuStreamCreateWithPriority(stream: *mut usize, flags: u32, priority: i32) -> u32;
    pub safe fn cuStreamDestroy_v2(stream: usize) -> u32;
    pub safe fn cuStreamSynchronize(stream: usize) -> u32;
    pub safe fn cuStreamQuery(stream: usize) -> u32;
    pub safe fn cuStreamWaitEvent(stream: usize, event: usize, flags: u32) -> u32;
    pub safe fn cuStreamWriteValue64_v2(stream: usize, at: usize, value: u64, flags: u32) -> u32;
    pub safe fn cuStreamWaitValue64_v2(stream: usize, at: usize, value: u64, flags: u32) -> u32;
    pub safe fn cuStreamWaitValue32_v2(stream: usize, at: usize, value: u32, flags: u32) -> u32;
    pub safe fn cuStreamBeginCapture_v2(stream: usize, mode: u32) -> u32;
    pub safe fn cuStreamEndCapture(stream: usize, graph: *mut usize) -> u32;
    pub safe fn cuStreamIsCapturing(stream: usize, status: *mut u32) -> u32;
    pub safe fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) -> u32;
    pub safe fn cuGraphInstantiateWithFlags(exec: *mut usize, graph: usize, flags: u64) -> u32;
    pub safe fn cuGraphLaunch(exec: usize, stream: usize) -> u32;
    pub safe fn cuEventCreate(event: *mut usize, flags: u32) -> u32;
    pub safe fn cuEventRecord(event: usize, stream: usize) -> u32;
    pub safe fn cuEventQuery(event: usize) -> u32;
    pub safe fn cuEventSynchronize(event: usize) -> u32;
    pub safe fn cuMemAddressReserve(
        at: *mut usize,
        bytes: usize,
        align: usize,
        hint: usize,
        flags: u64,
    ) -> u32;
    pub safe fn cuMemAddressFree(at: usize, bytes: usize) -> u32;
    pub safe fn cuMemCreate(
        handle: *mut usize,
        bytes: usize,
        properties: *const Properties,
        flags: u64,
    ) -> u32;
    pub safe fn cuMemRelease(handle: usize) -> u32;
    pub safe fn cuMemMap(at: usize, bytes: usize, offset: usize, handle: usize, flags: u64) -> u32;
    pub safe fn cuMemUnmap(at: usize, bytes: usize) -> u32;
    pub safe fn cuMemSetAccess(at: usize, bytes: usize, who: *const [i32; 3], count: usize) -> u32;
    pub safe fn cuMemExportToShareableHandle(fd: *mut i32, handle: usize, kind: u32, flags: u64) -> u32;
    pub safe fn cuMemImportFromShareableHandle(handle: *mut usize, fd: usize, kind: u32) -> u32;
    pub safe fn cuIpcGetMemHandle(handle: *mut [u8; 64], at: usize) -> u32;
    pub safe fn cuIpcOpenMemHandle_v2(at: *mut usize, handle: Ipc, flags: u32) -> u32;
    pub safe fn cuIpcCloseMemHandle(at: usize) -> u32;
    pub safe fn cuModuleLoadData(module: *mut usize, image: *const c_char) -> u32;
    pub safe fn cuModuleUnload(module: usize) -> u32;
    pub safe fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> u32;
    pub safe fn cuModuleGetGlobal_v2(
        at: *mut usize,
        bytes: *mut usize,
        module: usize,
        name: *const c_char,
    ) -> u32;
    #[allow(clippy::too_many_arguments, reason = "the driver's")]
    pub safe fn cuLaunchKernel(
        function: usize,
        gx: u32,
        gy: u32,
        gz: u32,
        bx: u32,
        by: u32,
        bz: u32,
        shared: u32,
        stream: usize,
        params: *const *const u64,
        extra: *const c_void,
    ) -> u32;
    pub safe fn cuGetErrorName(code: u32, name: *mut *const c_char) -> u32;
    pub safe fn cuGetProcAddress_v2(
        name: *const c_char,
        at: *mut *const c_void,
        version: i32,
        flags: u64,
        status: *mut u32,
    ) -> u32;
    pub safe fn standin_fail(spec: *const c_char) -> u32;
    pub safe fn standin_reach(address: usize) -> usize;
    pub safe fn standin_calls(name: *const c_char) -> u64;
    pub safe fn standin_live(kind: *const c_char) -> u64;
}

/// `CUipcMemHandle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Ipc(pub [u8; 64]);

/// `CUmemAllocationProp`.
#[repr(C)]
pub struct Properties {
    pub kind: u32,
    pub handles: u32,
    pub location: [i32; 2],
    pub windows: usize,
    pub flags: [u8; 8],
}

pub const EXPORTABLE: Properties =
    Properties { kind: 1, handles: 1, location: [1, 0], windows: 0, flags: [0; 8] };
pub const READ_WRITE: [i32; 3] = [1, 0, 3];
pub const GRANULE: usize = 2 << 20;

/// Expects success.
#[track_caller]
pub fn ok(code: u32) {
    assert_eq!(code, 0);
}

/// A result of a call that gives it through its first argument.
#[track_caller]
pub fn made<T: Default>(call: impl FnOnce(*mut T) -> u32) -> T {
    let mut value = T::default();
    ok(call(&mut value));
    value
}

/// The context of device 0, current in this thread.
pub fn start() -> usize {
    ok(cuInit(0));
    let context = made(|at| cuDevicePrimaryCtxRetain(at, 0));
    ok(cuCtxSetCurrent(context));
    context
}

/// A stream that takes no notice of the legacy stream.
pub fn stream() -> usize {
    made(|at| cuStreamCreateWithPriority(at, 1, 0))
}

pub fn device_memory(bytes: usize) -> usize {
    made(|at| cuMemAlloc_v2(at, bytes))
}

pub fn name(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// Stores words in device memory.
#[track_caller]
pub fn write(at: usize, words: &[u64]) {
    let own = stream();
    ok(cuMemcpyAsync(at, words.as_ptr() as usize, size_of_val(words), own));
    ok(cuStreamSynchronize(own));
    ok(cuStreamDestroy_v2(own));
}

/// Loads words from device memory.
#[track_caller]
pub fn read(at: usize, n: usize) -> Vec<u64> {
    let own = stream();
    let mut words = vec![0u64; n];
    ok(cuMemcpyAsync(words.as_mut_ptr() as usize, at, 8 * n, own));
    ok(cuStreamDestroy_v2(own));
    words
}

/// A module with these kernels beside those of the tests' module.
pub fn module(more: &str) -> usize {
    let ptx = name(&format!("{}{more}", cuda_standin::TEST_PTX));
    made(|at| cuModuleLoadData(at, ptx.as_ptr()))
}

pub fn function(module: usize, kernel: &str) -> usize {
    let kernel = name(kernel);
    made(|at| cuModuleGetFunction(at, module, kernel.as_ptr()))
}

/// Launches one block; each argument in the low bytes of a word.
pub fn launch(function: usize, stream: usize, arguments: &[u64]) -> u32 {
    let pointers: Vec<*const u64> = arguments.iter().map(|argument| argument as *const u64).collect();
    cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, pointers.as_ptr(), std::ptr::null())
}
