//! What runtime calls return. CUDA and HIP number these cases alike.
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::Mutex;

/// A case of failure. The number is what both families of runtime calls return for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "the table below says what each means")]
pub enum Code {
    InvalidValue = 1,
    MemoryAllocation = 2,
    InitializationError = 3,
    InvalidConfiguration = 9,
    InvalidPitchValue = 12,
    InvalidSymbol = 13,
    InvalidMemcpyDirection = 21,
    InvalidDeviceFunction = 98,
    NoDevice = 100,
    InvalidDevice = 101,
    InvalidHandle = 400,
    IllegalState = 401,
    NotReady = 600,
    IllegalAddress = 700,
    LaunchOutOfResources = 701,
    PeerAccessAlreadyEnabled = 704,
    PeerAccessNotEnabled = 705,
    Assert = 710,
    HostMemoryAlreadyRegistered = 712,
    HostMemoryNotRegistered = 713,
    LaunchFailure = 719,
    CooperativeLaunchTooLarge = 720,
    NotPermitted = 800,
    NotSupported = 801,
    StreamCaptureUnsupported = 900,
    StreamCaptureInvalidated = 901,
    StreamCaptureMerge = 902,
    StreamCaptureUnmatched = 903,
    StreamCaptureUnjoined = 904,
    StreamCaptureIsolation = 905,
    StreamCaptureImplicit = 906,
    CapturedEvent = 907,
    StreamCaptureWrongThread = 908,
    GraphExecUpdateFailure = 910,
    Unknown = 999,
}

struct Entry {
    code: i32,
    cuda: &'static CStr,
    hip: &'static CStr,
    text: &'static CStr,
}

const fn entry(code: i32, cuda: &'static CStr, hip: &'static CStr, text: &'static CStr) -> Entry {
    Entry { code, cuda, hip, text }
}

const TABLE: &[Entry] = &[
    entry(0, c"cudaSuccess", c"hipSuccess", c"no error"),
    entry(1, c"cudaErrorInvalidValue", c"hipErrorInvalidValue", c"invalid argument"),
    entry(2, c"cudaErrorMemoryAllocation", c"hipErrorOutOfMemory", c"out of memory"),
    entry(3, c"cudaErrorInitializationError", c"hipErrorNotInitialized", c"initialization error"),
    entry(
        9,
        c"cudaErrorInvalidConfiguration",
        c"hipErrorInvalidConfiguration",
        c"invalid configuration argument",
    ),
    entry(12, c"cudaErrorInvalidPitchValue", c"hipErrorInvalidPitchValue", c"invalid pitch argument"),
    entry(13, c"cudaErrorInvalidSymbol", c"hipErrorInvalidSymbol", c"invalid device symbol"),
    entry(
        21,
        c"cudaErrorInvalidMemcpyDirection",
        c"hipErrorInvalidMemcpyDirection",
        c"invalid copy direction for memcpy",
    ),
    entry(
        98,
        c"cudaErrorInvalidDeviceFunction",
        c"hipErrorInvalidDeviceFunction",
        c"invalid device function",
    ),
    entry(100, c"cudaErrorNoDevice", c"hipErrorNoDevice", c"no device is detected"),
    entry(101, c"cudaErrorInvalidDevice", c"hipErrorInvalidDevice", c"invalid device ordinal"),
    entry(400, c"cudaErrorInvalidResourceHandle", c"hipErrorInvalidHandle", c"invalid resource handle"),
    entry(
        401,
        c"cudaErrorIllegalState",
        c"hipErrorIllegalState",
        c"the operation cannot be performed in the present state",
    ),
    entry(600, c"cudaErrorNotReady", c"hipErrorNotReady", c"device not ready"),
    entry(
        700,
        c"cudaErrorIllegalAddress",
        c"hipErrorIllegalAddress",
        c"an illegal memory access was encountered",
    ),
    entry(
        701,
        c"cudaErrorLaunchOutOfResources",
        c"hipErrorLaunchOutOfResources",
        c"too many resources requested for launch",
    ),
    entry(
        704,
        c"cudaErrorPeerAccessAlreadyEnabled",
        c"hipErrorPeerAccessAlreadyEnabled",
        c"peer access is already enabled",
    ),
    entry(
        705,
        c"cudaErrorPeerAccessNotEnabled",
        c"hipErrorPeerAccessNotEnabled",
        c"peer access has not been enabled",
    ),
    entry(710, c"cudaErrorAssert", c"hipErrorAssert", c"device-side assert triggered"),
    entry(
        712,
        c"cudaErrorHostMemoryAlreadyRegistered",
        c"hipErrorHostMemoryAlreadyRegistered",
        c"part or all of the requested memory range is already mapped",
    ),
    entry(
        713,
        c"cudaErrorHostMemoryNotRegistered",
        c"hipErrorHostMemoryNotRegistered",
        c"pointer does not correspond to a registered memory region",
    ),
    entry(719, c"cudaErrorLaunchFailure", c"hipErrorLaunchFailure", c"unspecified launch failure"),
    entry(
        720,
        c"cudaErrorCooperativeLaunchTooLarge",
        c"hipErrorCooperativeLaunchTooLarge",
        c"too many blocks in cooperative launch",
    ),
    entry(800, c"cudaErrorNotPermitted", c"hipErrorNotPermitted", c"operation not permitted"),
    entry(801, c"cudaErrorNotSupported", c"hipErrorNotSupported", c"operation not supported"),
    entry(
        900,
        c"cudaErrorStreamCaptureUnsupported",
        c"hipErrorStreamCaptureUnsupported",
        c"operation not permitted when stream is capturing",
    ),
    entry(
        901,
        c"cudaErrorStreamCaptureInvalidated",
        c"hipErrorStreamCaptureInvalidated",
        c"operation failed due to a previous error during capture",
    ),
    entry(
        902,
        c"cudaErrorStreamCaptureMerge",
        c"hipErrorStreamCaptureMerge",
        c"operation would result in a merge of separate capture sequences",
    ),
    entry(
        903,
        c"cudaErrorStreamCaptureUnmatched",
        c"hipErrorStreamCaptureUnmatched",
        c"capture was not ended in the same stream as it began",
    ),
    entry(
        904,
        c"cudaErrorStreamCaptureUnjoined",
        c"hipErrorStreamCaptureUnjoined",
        c"capturing stream has unjoined work",
    ),
    entry(
        905,
        c"cudaErrorStreamCaptureIsolation",
        c"hipErrorStreamCaptureIsolation",
        c"dependency created on uncaptured work in another stream",
    ),
    entry(
        906,
        c"cudaErrorStreamCaptureImplicit",
        c"hipErrorStreamCaptureImplicit",
        c"operation would make the legacy stream depend on a capturing blocking stream",
    ),
    entry(
        907,
        c"cudaErrorCapturedEvent",
        c"hipErrorCapturedEvent",
        c"operation not permitted on an event last recorded in a capturing stream",
    ),
    entry(
        908,
        c"cudaErrorStreamCaptureWrongThread",
        c"hipErrorStreamCaptureWrongThread",
        c"attempt to terminate a thread-local capture sequence from another thread",
    ),
    entry(
        910,
        c"cudaErrorGraphExecUpdateFailure",
        c"hipErrorGraphExecUpdateFailure",
        c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update",
    ),
    entry(999, c"cudaErrorUnknown", c"hipErrorUnknown", c"unknown error"),
];

/// A failed call: its code, and what was wrong with which argument.
#[derive(Debug)]
pub struct Failure {
    /// What the call returns.
    pub code: Code,
    /// Argument, value, remedy. Empty where the code says all.
    pub detail: String,
}

/// Result of the emulator's calls.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure that names its argument.
    pub fn new(code: Code, detail: impl Into<String>) -> Failure {
        Failure { code, detail: detail.into() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&full_text(self.code as i32, &self.detail).to_string_lossy())
    }
}

impl std::error::Error for Failure {}

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
    /// Code and message of the thread's newest failure: kept when LAST is read and cleared, because
    /// programs ask for the text after that.
    static DETAIL: RefCell<Option<(i32, &'static CStr)>> = const { RefCell::new(None) };
}

/// Messages live for ever, as callers of an error-string function expect; at most this many do.
const MAX_MESSAGES: usize = 4096;
static MESSAGES: Mutex<Option<HashSet<&'static CStr>>> = Mutex::new(None);

fn intern(text: CString) -> Option<&'static CStr> {
    let mut messages = MESSAGES.lock().unwrap_or_else(|e| e.into_inner());
    let set = messages.get_or_insert_default();
    if let Some(known) = set.get(text.as_c_str()) {
        return Some(known);
    }
    if set.len() >= MAX_MESSAGES {
        return None;
    }
    let text: &'static CStr = Box::leak(text.into_boxed_c_str());
    set.insert(text);
    Some(text)
}

fn full_text(code: i32, detail: &str) -> CString {
    let general = general_text(code).to_string_lossy();
    let whole = if detail.is_empty() { general.into_owned() } else { format!("{general}: {detail}") };
    CString::new(whole.replace('\0', " ")).unwrap_or_default()
}

/// Makes a result the calling thread's last error if it is one, and gives its number.
pub fn note<T>(result: Result<T>) -> i32 {
    match result {
        Ok(_) => 0,
        Err(failure) => {
            let code = failure.code as i32;
            LAST.set(code);
            let text =
                (!failure.detail.is_empty()).then(|| intern(full_text(code, &failure.detail))).flatten();
            DETAIL.with_borrow_mut(|detail| *detail = text.map(|text| (code, text)));
            code
        }
    }
}

impl Code {
    /// The code with this number; `Unknown` for any other.
    pub fn from_number(number: i32) -> Code {
        let all = [
            Code::InvalidValue,
            Code::MemoryAllocation,
            Code::InitializationError,
            Code::InvalidConfiguration,
            Code::InvalidPitchValue,
            Code::InvalidSymbol,
            Code::InvalidMemcpyDirection,
            Code::InvalidDeviceFunction,
            Code::NoDevice,
            Code::InvalidDevice,
            Code::InvalidHandle,
            Code::IllegalState,
            Code::NotReady,
            Code::IllegalAddress,
            Code::LaunchOutOfResources,
            Code::PeerAccessAlreadyEnabled,
            Code::PeerAccessNotEnabled,
            Code::Assert,
            Code::HostMemoryAlreadyRegistered,
            Code::HostMemoryNotRegistered,
            Code::LaunchFailure,
            Code::CooperativeLaunchTooLarge,
            Code::NotPermitted,
            Code::NotSupported,
            Code::StreamCaptureUnsupported,
            Code::StreamCaptureInvalidated,
            Code::StreamCaptureMerge,
            Code::StreamCaptureUnmatched,
            Code::StreamCaptureUnjoined,
            Code::StreamCaptureIsolation,
            Code::StreamCaptureImplicit,
            Code::CapturedEvent,
            Code::StreamCaptureWrongThread,
            Code::GraphExecUpdateFailure,
        ];
        all.into_iter().find(|code| *code as i32 == number).unwrap_or(Code::Unknown)
    }
}

/// The thread's last error, which stays until [`take_last`]: a later success doesn't clear it.
pub fn peek_last() -> i32 {
    LAST.get()
}

/// The thread's last error, cleared.
pub fn take_last() -> i32 {
    LAST.replace(0)
}

fn find(code: i32) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.code == code)
}

fn general_text(code: i32) -> &'static CStr {
    find(code).map_or(c"unrecognized error code", |entry| entry.text)
}

/// What the code means; with the argument at fault where the thread's newest failure had this code.
pub fn text(code: i32) -> &'static CStr {
    DETAIL.with_borrow(|detail| match detail {
        Some((of, text)) if *of == code => text,
        _ => general_text(code),
    })
}

/// The code's name in CUDA's or HIP's spelling.
pub fn name(code: i32, hip: bool) -> &'static CStr {
    find(code).map_or(c"unrecognized error code", |entry| if hip { entry.hip } else { entry.cuda })
}
