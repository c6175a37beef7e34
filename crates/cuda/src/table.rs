//! The functions of the driver, as they are found in its library. Each has a method of [`Functions`] that calls it and
//! turns its status into a result; what the arguments mean stands in the driver's own documentation.
use crate::error::{Driven as Outcome, Failure};
use crate::types::*;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use dushmem_os::library::Library;

macro_rules! functions {
    (
        needed { $($need:ident = $need_symbol:literal($($need_arg:ident: $need_type:ty),*);)* }
        wanted { $($want:ident = $want_symbol:literal($($want_arg:ident: $want_type:ty),*);)* }
    ) => {
        /// Addresses of the driver's functions.
        #[derive(Debug)]
        pub struct Functions {
            $($need: unsafe extern "C" fn($($need_type),*) -> Status,)*
            $($want: Option<unsafe extern "C" fn($($want_type),*) -> Status>,)*
        }

        impl Functions {
            /// Names of those that every driver has that is new enough.
            pub const NEEDED: &[&str] = &[$($need_symbol),*];
            /// Names of those without which something can't be done, or is done in another way.
            pub const WANTED: &[&str] = &[$($want_symbol),*];

            /// Looks all functions up. The error is the name of one that the library lacks.
            pub fn find(library: &Library) -> Result<Functions, &'static str> {
                let look = |name: &'static str| {
                    let name = CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default();
                    library.find(name).map(|found| found.as_ptr())
                };
                // SAFETY: the functions of these names have these prototypes.
                unsafe {
                    Ok(Functions {
                        $($need: match look(concat!($need_symbol, "\0")) {
                            Some(found) => std::mem::transmute::<
                                *mut c_void, unsafe extern "C" fn($($need_type),*) -> Status
                            >(found),
                            None => return Err($need_symbol),
                        },)*
                        $($want: look(concat!($want_symbol, "\0")).map(|found| std::mem::transmute::<
                            *mut c_void, unsafe extern "C" fn($($want_type),*) -> Status
                        >(found)),)*
                    })
                }
            }

            $(
                #[doc = concat!("`", $need_symbol, "`")]
                ///
                /// # Safety
                /// As the driver's documentation of the function demands.
                #[inline]
                #[allow(clippy::too_many_arguments, reason = "the driver's")]
                pub unsafe fn $need(&self $(, $need_arg: $need_type)*) -> Outcome {
                    // SAFETY: the caller's arguments.
                    Failure::check($need_symbol, unsafe { (self.$need)($($need_arg),*) })
                }
            )*
            $(
                #[doc = concat!("`", $want_symbol, "`; an error where the driver lacks it.")]
                ///
                /// # Safety
                /// As the driver's documentation of the function demands.
                #[inline]
                #[allow(clippy::too_many_arguments, reason = "the driver's")]
                pub unsafe fn $want(&self $(, $want_arg: $want_type)*) -> Outcome {
                    match self.$want {
                        // SAFETY: the caller's arguments.
                        Some(call) => Failure::check($want_symbol, unsafe { call($($want_arg),*) }),
                        None => Err(Failure::missing($want_symbol)),
                    }
                }
            )*
        }
    };
}

functions! {
    needed {
        init = "cuInit"(flags: c_uint);
        driver_get_version = "cuDriverGetVersion"(version: *mut c_int);
        get_error_name = "cuGetErrorName"(error: Status, name: *mut *const c_char);
        get_error_string = "cuGetErrorString"(error: Status, text: *mut *const c_char);
        device_get_count = "cuDeviceGetCount"(count: *mut c_int);
        device_get = "cuDeviceGet"(device: *mut Device, ordinal: c_int);
        device_get_name = "cuDeviceGetName"(name: *mut c_char, len: c_int, device: Device);
        device_get_uuid = "cuDeviceGetUuid_v2"(uuid: *mut Uuid, device: Device);
        device_get_attribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_uint, device: Device);
        device_total_mem = "cuDeviceTotalMem_v2"(bytes: *mut usize, device: Device);
        device_can_access_peer = "cuDeviceCanAccessPeer"(can: *mut c_int, device: Device, peer: Device);

        primary_ctx_retain = "cuDevicePrimaryCtxRetain"(context: *mut Context, device: Device);
        primary_ctx_release = "cuDevicePrimaryCtxRelease_v2"(device: Device);
        primary_ctx_get_state = "cuDevicePrimaryCtxGetState"(device: Device, flags: *mut c_uint, active: *mut c_int);
        ctx_get_current = "cuCtxGetCurrent"(context: *mut Context);
        ctx_push_current = "cuCtxPushCurrent_v2"(context: Context);
        ctx_pop_current = "cuCtxPopCurrent_v2"(context: *mut Context);
        ctx_synchronize = "cuCtxSynchronize"();
        ctx_get_device = "cuCtxGetDevice"(device: *mut Device);

        mem_get_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
        mem_alloc = "cuMemAlloc_v2"(at: *mut Address, bytes: usize);
        mem_free = "cuMemFree_v2"(at: Address);
        ipc_get_mem_handle = "cuIpcGetMemHandle"(handle: *mut IpcMemHandle, at: Address);
        ipc_open_mem_handle = "cuIpcOpenMemHandle_v2"(at: *mut Address, handle: IpcMemHandle, flags: c_uint);
        ipc_close_mem_handle = "cuIpcCloseMemHandle"(at: Address);
        mem_host_alloc = "cuMemHostAlloc"(at: *mut *mut c_void, bytes: usize, flags: c_uint);
        mem_free_host = "cuMemFreeHost"(at: *mut c_void);
        mem_host_get_device_pointer =
            "cuMemHostGetDevicePointer_v2"(device: *mut Address, host: *mut c_void, flags: c_uint);
        mem_host_register = "cuMemHostRegister_v2"(at: *mut c_void, bytes: usize, flags: c_uint);
        mem_host_unregister = "cuMemHostUnregister"(at: *mut c_void);
        pointer_get_attributes = "cuPointerGetAttributes"(
            count: c_uint, attributes: *const c_uint, values: *const *mut c_void, at: Address);

        memcpy_async = "cuMemcpyAsync"(dest: Address, source: Address, bytes: usize, stream: Stream);
        memcpy_2d_async = "cuMemcpy2DAsync_v2"(copy: *const Memcpy2D, stream: Stream);
        memset_d8_async = "cuMemsetD8Async"(dest: Address, value: u8, count: usize, stream: Stream);
        memset_d16_async = "cuMemsetD16Async"(dest: Address, value: u16, count: usize, stream: Stream);

        stream_create_with_priority =
            "cuStreamCreateWithPriority"(stream: *mut Stream, flags: c_uint, priority: c_int);
        stream_destroy = "cuStreamDestroy_v2"(stream: Stream);
        stream_synchronize = "cuStreamSynchronize"(stream: Stream);
        stream_query = "cuStreamQuery"(stream: Stream);
        stream_wait_event = "cuStreamWaitEvent"(stream: Stream, event: Event, flags: c_uint);
        stream_is_capturing = "cuStreamIsCapturing"(stream: Stream, status: *mut c_uint);
        stream_get_ctx = "cuStreamGetCtx"(stream: Stream, context: *mut Context);
        stream_write_value32 =
            "cuStreamWriteValue32_v2"(stream: Stream, at: Address, value: u32, flags: c_uint);
        stream_write_value64 =
            "cuStreamWriteValue64_v2"(stream: Stream, at: Address, value: u64, flags: c_uint);
        stream_wait_value32 =
            "cuStreamWaitValue32_v2"(stream: Stream, at: Address, value: u32, flags: c_uint);
        stream_wait_value64 =
            "cuStreamWaitValue64_v2"(stream: Stream, at: Address, value: u64, flags: c_uint);
        stream_batch_mem_op =
            "cuStreamBatchMemOp_v2"(stream: Stream, count: c_uint, ops: *mut MemOp, flags: c_uint);
        event_create = "cuEventCreate"(event: *mut Event, flags: c_uint);
        event_record = "cuEventRecord"(event: Event, stream: Stream);
        event_destroy = "cuEventDestroy_v2"(event: Event);
        launch_host_func = "cuLaunchHostFunc"(stream: Stream, function: HostFunction, data: *mut c_void);

        module_load_data = "cuModuleLoadData"(module: *mut Module, image: *const c_void);
        module_unload = "cuModuleUnload"(module: Module);
        module_get_function = "cuModuleGetFunction"(function: *mut Function, module: Module, name: *const c_char);
        module_get_global =
            "cuModuleGetGlobal_v2"(at: *mut Address, bytes: *mut usize, module: Module, name: *const c_char);
        func_get_attribute = "cuFuncGetAttribute"(value: *mut c_int, attribute: c_uint, function: Function);
        occupancy_max_active_blocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(
            blocks: *mut c_int, function: Function, threads: c_int, shared: usize);
        launch_kernel = "cuLaunchKernel"(
            function: Function, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
            block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared: c_uint, stream: Stream, params: *mut *mut c_void, extra: *mut *mut c_void);
    }
    wanted {
        device_get_p2p_attribute = "cuDeviceGetP2PAttribute"(
            value: *mut c_int, attribute: c_uint, device: Device, peer: Device);
        ctx_enable_peer_access = "cuCtxEnablePeerAccess"(peer: Context, flags: c_uint);
        mem_address_reserve = "cuMemAddressReserve"(
            at: *mut Address, bytes: usize, align: usize, hint: Address, flags: u64);
        mem_address_free = "cuMemAddressFree"(at: Address, bytes: usize);
        mem_create = "cuMemCreate"(
            allocation: *mut Allocation, bytes: usize, prop: *const AllocationProp, flags: u64);
        mem_release = "cuMemRelease"(allocation: Allocation);
        mem_map = "cuMemMap"(at: Address, bytes: usize, offset: usize, allocation: Allocation, flags: u64);
        mem_unmap = "cuMemUnmap"(at: Address, bytes: usize);
        mem_set_access = "cuMemSetAccess"(at: Address, bytes: usize, who: *const AccessDesc, count: usize);
        mem_export_to_shareable_handle = "cuMemExportToShareableHandle"(
            handle: *mut c_void, allocation: Allocation, kind: c_uint, flags: u64);
        mem_import_from_shareable_handle = "cuMemImportFromShareableHandle"(
            allocation: *mut Allocation, handle: *mut c_void, kind: c_uint);
        mem_get_allocation_granularity = "cuMemGetAllocationGranularity"(
            bytes: *mut usize, prop: *const AllocationProp, option: c_uint);

        ctx_get_stream_priority_range = "cuCtxGetStreamPriorityRange"(least: *mut c_int, greatest: *mut c_int);
        thread_exchange_stream_capture_mode = "cuThreadExchangeStreamCaptureMode"(mode: *mut c_uint);
        stream_begin_capture = "cuStreamBeginCapture_v2"(stream: Stream, mode: c_uint);
        stream_end_capture = "cuStreamEndCapture"(stream: Stream, graph: *mut Graph);
        graph_instantiate = "cuGraphInstantiateWithFlags"(exec: *mut GraphExec, graph: Graph, flags: u64);
        graph_launch = "cuGraphLaunch"(exec: GraphExec, stream: Stream);
        graph_destroy = "cuGraphDestroy"(graph: Graph);
        func_load = "cuFuncLoad"(function: Function);
        library_get_global =
            "cuLibraryGetGlobal"(at: *mut Address, bytes: *mut usize, library: LibraryHandle, name: *const c_char);
    }
}
