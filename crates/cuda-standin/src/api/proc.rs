//! Functions by name.
use super::{allocate, copy, device, event, graph, host, launch, memop, stream, vmm};
use crate::call::{address, name as text, set};
use crate::code;
use std::ffi::{c_char, c_void};

macro_rules! table {
    ($($module:ident: $($name:ident)*;)*) => {
        &[$($((stringify!($name), $module::$name as *const ())),*),*]
    };
}

struct Functions(&'static [(&'static str, *const ())]);

// SAFETY: addresses of functions.
unsafe impl Sync for Functions {}

static FUNCTIONS: Functions = Functions(table! {
    allocate: cuMemAlloc_v2 cuMemFree_v2 cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle ;
    copy: cuMemcpyAsync cuMemcpy cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2
        cuMemcpy2DAsync_v2 cuMemsetD8Async cuMemsetD16Async cuMemsetD32Async ;
    device: cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuDeviceGetCount cuDeviceGet
        cuDeviceGetName cuDeviceGetPCIBusId cuDeviceGetUuid_v2 cuDeviceGetUuid cuDeviceGetAttribute
        cuDeviceTotalMem_v2 cuDeviceCanAccessPeer cuDeviceGetP2PAttribute cuCtxEnablePeerAccess cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2
        cuDevicePrimaryCtxGetState cuCtxGetCurrent cuCtxSetCurrent cuCtxPushCurrent_v2 cuCtxPopCurrent_v2
        cuCtxGetDevice cuCtxGetStreamPriorityRange cuCtxSynchronize cuMemGetInfo_v2 ;
    event: cuEventCreate cuEventRecord cuEventRecordWithFlags cuEventQuery cuEventSynchronize
        cuEventDestroy_v2 cuStreamWaitEvent ;
    graph: cuGraphInstantiateWithFlags cuGraphGetNodes cuGraphLaunch cuGraphExecDestroy cuGraphDestroy ;
    host: cuPointerGetAttribute cuPointerGetAttributes cuMemHostAlloc cuMemAllocHost_v2 cuMemFreeHost
        cuMemHostGetDevicePointer_v2 cuMemHostRegister_v2 cuMemHostUnregister ;
    launch: cuModuleLoadData cuModuleUnload cuModuleGetFunction cuModuleGetGlobal_v2 cuLibraryLoadData
        cuLibraryUnload cuLibraryGetModule cuLibraryGetGlobal cuLibraryGetKernel cuKernelGetFunction
        cuFuncLoad cuFuncGetModule cuFuncGetAttribute cuOccupancyMaxActiveBlocksPerMultiprocessor
        cuLaunchKernel cuLaunchCooperativeKernel ;
    memop: cuStreamWriteValue32_v2 cuStreamWriteValue64_v2 cuStreamWaitValue32_v2 cuStreamWaitValue64_v2
        cuStreamBatchMemOp_v2 ;
    stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize cuStreamQuery
        cuStreamGetCtx cuStreamGetFlags cuStreamGetPriority cuStreamBeginCapture_v2 cuStreamEndCapture
        cuStreamIsCapturing cuStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo_v3
        cuThreadExchangeStreamCaptureMode cuLaunchHostFunc ;
    vmm: cuMemAddressReserve cuMemAddressFree cuMemGetAllocationGranularity cuMemCreate cuMemRelease
        cuMemMap cuMemUnmap cuMemSetAccess cuMemExportToShareableHandle cuMemImportFromShareableHandle
        cuMemRetainAllocationHandle ;
});

driver! {
    /// Finds the newest form of a function, as the headers' definitions do.
    fn cuGetProcAddress_v2(symbol: *const c_char, found: *mut *mut c_void, version: i32, _flags: u64, status: *mut u32) {
        let symbol = text(symbol)?;
        if found.is_null() || version < 2000 {
            return Err(code::INVALID_VALUE);
        }
        let own = [("cuGetProcAddress_v2", cuGetProcAddress_v2 as *const ())];
        let at = address(&symbol, &[FUNCTIONS.0, &own].concat());
        if !status.is_null() {
            set(status, u32::from(at.is_none()))?;
        }
        set(found, at.unwrap_or(std::ptr::null_mut()))?;
        at.map(drop).ok_or(code::NOT_FOUND)
    }
}
