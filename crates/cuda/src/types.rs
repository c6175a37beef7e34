//! Types and numbers of the driver API, as its header defines them.
use core::ffi::{c_int, c_uint, c_void};

/// A status: 0, or an error's number.
pub type Status = c_uint;
/// A device's number in this process.
pub type Device = c_int;
/// An address on a device.
pub type Address = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub *mut c_void);

        // SAFETY: a handle; the driver's functions take it on any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// No object.
            pub const NULL: $name = $name(core::ptr::null_mut());

            /// Whether there is none.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }
    )*};
}

handles! {
    /// A context.
    Context;
    /// A stream. Null: the default stream of the current context.
    Stream;
    /// An event.
    Event;
    /// A module: code for one context.
    Module;
    /// A library: code for all contexts.
    LibraryHandle;
    /// A kernel of a module.
    Function;
    /// A graph.
    Graph;
    /// A graph that can be launched.
    GraphExec;
}

impl Stream {
    /// The default stream that waits for the others.
    pub const LEGACY: Stream = Stream(core::ptr::without_provenance_mut(1));
    /// The default stream of the calling thread.
    pub const PER_THREAD: Stream = Stream(core::ptr::without_provenance_mut(2));
}

/// What a stream calls on a thread of the driver.
pub type HostFunction = unsafe extern "C" fn(data: *mut c_void);

/// Memory of a device without an address.
pub type Allocation = u64;

/// A device's identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Uuid(pub [u8; 16]);

/// Where memory lies.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Location {
    /// [`LOCATION_DEVICE`]
    pub kind: c_uint,
    /// The device's number.
    pub id: c_int,
}

/// What memory to create.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AllocationProp {
    /// [`ALLOCATION_PINNED`]
    pub kind: c_uint,
    /// [`HANDLE_FD`]
    pub handle_types: c_uint,
    /// Where.
    pub location: Location,
    /// Null.
    pub windows: *mut c_void,
    /// Zero: compression, RDMA, usage.
    pub flags: [u8; 8],
}

/// Who may use memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AccessDesc {
    /// Who.
    pub location: Location,
    /// [`ACCESS_READ_WRITE`]
    pub flags: c_uint,
}

/// What another process needs in order to open memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IpcMemHandle(pub [u8; 64]);

/// A copy of rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "the driver's names")]
pub struct Memcpy2D {
    pub src_x: usize,
    pub src_y: usize,
    pub src_kind: c_uint,
    pub src_host: *const c_void,
    pub src_device: Address,
    pub src_array: *mut c_void,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_kind: c_uint,
    pub dst_host: *mut c_void,
    pub dst_device: Address,
    pub dst_array: *mut c_void,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// One operation of a batch of stream memory operations: the layout of those that write or wait for a value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemOp {
    /// `MEM_OP_...`
    pub operation: c_uint,
    /// The word.
    pub address: Address,
    /// The value; 32-bit operations take its low half.
    pub value: u64,
    /// [`WRITE_DEFAULT`], or how to compare
    pub flags: c_uint,
    /// The driver's own.
    pub alias: Address,
    /// Up to the size of the union.
    pub pad: u64,
}

const _: () = assert!(size_of::<MemOp>() == 48 && size_of::<Memcpy2D>() == 128);
const _: () = assert!(size_of::<AllocationProp>() == 32 && size_of::<AccessDesc>() == 12);

impl MemOp {
    /// Stores 32 bits.
    pub fn write32(address: Address, value: u32) -> MemOp {
        MemOp::new(MEM_OP_WRITE_32, address, value.into(), WRITE_DEFAULT)
    }

    /// Stores 64 bits.
    pub fn write64(address: Address, value: u64) -> MemOp {
        MemOp::new(MEM_OP_WRITE_64, address, value, WRITE_DEFAULT)
    }

    /// Waits for a 32-bit word; `flags` is an `Until`, perhaps with [`WAIT_FLUSH`].
    pub fn wait32(address: Address, value: u32, flags: c_uint) -> MemOp {
        MemOp::new(MEM_OP_WAIT_32, address, value.into(), flags)
    }

    /// Waits for a 64-bit word; `flags` is an `Until`, perhaps with [`WAIT_FLUSH`].
    pub fn wait64(address: Address, value: u64, flags: c_uint) -> MemOp {
        MemOp::new(MEM_OP_WAIT_64, address, value, flags)
    }

    fn new(operation: c_uint, address: Address, value: u64, flags: c_uint) -> MemOp {
        MemOp { operation, address, value, flags, alias: 0, pad: 0 }
    }
}

macro_rules! numbers {
    ($($name:ident: $t:ty = $value:expr;)*) => {$(
        #[allow(missing_docs, reason = "the driver's number of that name")]
        pub const $name: $t = $value;
    )*};
}

numbers! {
    LOCATION_DEVICE: c_uint = 1;
    ALLOCATION_PINNED: c_uint = 1;
    HANDLE_FD: c_uint = 1;
    ACCESS_READ_WRITE: c_uint = 3;
    GRANULARITY_MINIMUM: c_uint = 0;
    IPC_LAZY_PEER_ACCESS: c_uint = 1;
    HOST_PORTABLE: c_uint = 1;
    HOST_DEVICEMAP: c_uint = 2;
    MEMORY_HOST: c_uint = 1;
    MEMORY_DEVICE: c_uint = 2;
    MEMORY_UNIFIED: c_uint = 4;

    POINTER_MEMORY_TYPE: c_uint = 2;
    POINTER_DEVICE_POINTER: c_uint = 3;
    POINTER_DEVICE_ORDINAL: c_uint = 9;

    STREAM_NON_BLOCKING: c_uint = 1;
    EVENT_DISABLE_TIMING: c_uint = 2;
    CAPTURE_NONE: c_uint = 0;
    CAPTURE_ACTIVE: c_uint = 1;
    CAPTURE_MODE_GLOBAL: c_uint = 0;
    CAPTURE_MODE_RELAXED: c_uint = 2;

    MEM_OP_WAIT_32: c_uint = 1;
    MEM_OP_WRITE_32: c_uint = 2;
    MEM_OP_WAIT_64: c_uint = 4;
    MEM_OP_WRITE_64: c_uint = 5;
    WRITE_DEFAULT: c_uint = 0;
    // What others have written before is seen by what comes behind the wait.
    WAIT_FLUSH: c_uint = 1 << 30;

    ATTRIBUTE_MAX_PITCH: c_uint = 11;
    ATTRIBUTE_MULTIPROCESSORS: c_uint = 16;
    ATTRIBUTE_PCI_BUS: c_uint = 33;
    ATTRIBUTE_PCI_DEVICE: c_uint = 34;
    ATTRIBUTE_UNIFIED_ADDRESSING: c_uint = 41;
    ATTRIBUTE_PCI_DOMAIN: c_uint = 50;
    ATTRIBUTE_COMPUTE_MAJOR: c_uint = 75;
    ATTRIBUTE_COMPUTE_MINOR: c_uint = 76;
    ATTRIBUTE_HOST_NATIVE_ATOMICS: c_uint = 86;
    ATTRIBUTE_CAN_FLUSH: c_uint = 98;
    ATTRIBUTE_VMM: c_uint = 102;
    ATTRIBUTE_FD_HANDLES: c_uint = 103;
    ATTRIBUTE_STREAM_MEM_OPS_64: c_uint = 122;
    ATTRIBUTE_STREAM_WAIT_NOR: c_uint = 123;
    ATTRIBUTE_MPS: c_uint = 133;

    PEER_NATIVE_ATOMICS: c_uint = 3;

    FUNCTION_MAX_THREADS: c_uint = 0;
    FUNCTION_LOCAL_BYTES: c_uint = 3;
}

/// Errors that the library tells apart.
pub mod errors {
    numbers! {
        DEINITIALIZED: u32 = 4;
        STUB_LIBRARY: u32 = 34;
        DEVICE_UNAVAILABLE: u32 = 46;
        NO_DEVICE: u32 = 100;
        NO_BINARY_FOR_GPU: u32 = 209;
        ECC_UNCORRECTABLE: u32 = 214;
        PEER_ACCESS_UNSUPPORTED: u32 = 217;
        INVALID_PTX: u32 = 218;
        NVLINK_UNCORRECTABLE: u32 = 220;
        JIT_COMPILER_NOT_FOUND: u32 = 221;
        UNSUPPORTED_PTX_VERSION: u32 = 222;
        CONTAINED: u32 = 226;
        NOT_FOUND: u32 = 500;
        NOT_READY: u32 = 600;
        ILLEGAL_ADDRESS: u32 = 700;
        LAUNCH_TIMEOUT: u32 = 702;
        CONTEXT_IS_DESTROYED: u32 = 709;
        ASSERT: u32 = 710;
        HOST_MEMORY_ALREADY_REGISTERED: u32 = 712;
        HARDWARE_STACK_ERROR: u32 = 714;
        LAUNCH_FAILED: u32 = 719;
        SYSTEM_NOT_READY: u32 = 802;
        SYSTEM_DRIVER_MISMATCH: u32 = 803;
        COMPAT_NOT_SUPPORTED: u32 = 804;
        MPS_FIRST: u32 = 805;
        MPS_MAX_CONNECTIONS: u32 = 809;
        MPS_LAST: u32 = 810;
        CAPTURE_FIRST: u32 = 900;
        CAPTURE_LAST: u32 = 908;
        UNKNOWN: u32 = 999;
    }
}
