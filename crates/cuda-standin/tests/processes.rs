//! Memory that processes share. Each test is run again as a child, which the variable tells.
mod common;
use common::*;
use std::env;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Command};

const CHILD: &str = "STANDIN_TEST_CHILD";

/// Runs this program's test `name` once more with a word for it.
fn child(name: &str, word: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env(CHILD, word).spawn().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn by_ipc_handle() {
    start();
    let own = stream();
    if let Ok(word) = env::var(CHILD) {
        let bytes: Vec<u8> =
            (0..64).map(|i| u8::from_str_radix(&word[2 * i..2 * i + 2], 16).unwrap()).collect();
        let handle = Ipc(bytes.try_into().unwrap());
        let at = made(|at| cuIpcOpenMemHandle_v2(at, handle, 1));
        assert_eq!(made(|at| cuIpcOpenMemHandle_v2(at, handle, 1)), at);
        // Each waits for the other, in its stream.
        ok(cuStreamWaitValue64_v2(own, at, 1, 0));
        ok(cuStreamWriteValue64_v2(own, at + 8, 2, 0));
        ok(cuStreamSynchronize(own));
        ok(cuIpcCloseMemHandle(at));
        ok(cuStreamQuery(own));
        ok(cuIpcCloseMemHandle(at));
        assert_eq!(cuIpcCloseMemHandle(at), 1);
        return;
    }
    let at = device_memory(64);
    write(at, &[0, 0]);
    let mut handle = [0; 64];
    ok(cuIpcGetMemHandle(&mut handle, at));
    assert_eq!(cuIpcOpenMemHandle_v2(&mut 0, Ipc(handle), 1), 201, "not in the same process");
    let mut other = child("by_ipc_handle", &hex(&handle));
    ok(cuStreamWriteValue64_v2(own, at, 1, 0));
    ok(cuStreamWaitValue64_v2(own, at + 8, 2, 1));
    ok(cuStreamSynchronize(own));
    assert!(other.wait().unwrap().success());
    handle[20] ^= 1;
    assert_eq!(cuIpcOpenMemHandle_v2(&mut 0, Ipc(handle), 1), 201);
}

#[test]
fn by_descriptor() {
    start();
    let own = stream();
    let window: usize = made(|at| cuMemAddressReserve(at, 1 << 30, 0, 0x2000_0000_0000, 0));
    assert_eq!(window, 0x2000_0000_0000);
    let map = |handle| {
        ok(cuMemMap(window, GRANULE, 0, handle, 0));
        ok(cuMemSetAccess(window, GRANULE, &READ_WRITE, 1));
    };
    if let Ok(word) = env::var(CHILD) {
        // The parent's descriptor, as SCM_RIGHTS would have brought it.
        let file = File::options().read(true).write(true).open(word).unwrap();
        map(made(|at| cuMemImportFromShareableHandle(at, file.as_raw_fd() as usize, 1)));
        let other = File::open("/dev/null").unwrap();
        assert_eq!(cuMemImportFromShareableHandle(&mut 0, other.as_raw_fd() as usize, 1), 1);
        ok(cuStreamWaitValue64_v2(own, window, 1, 0));
        ok(cuStreamWriteValue64_v2(own, window + 8, 2, 0));
        ok(cuStreamSynchronize(own));
        return;
    }
    let handle = made(|at| cuMemCreate(at, GRANULE, &EXPORTABLE, 0));
    map(handle);
    write(window, &[0, 0]);
    let fd: i32 = made(|at| cuMemExportToShareableHandle(at, handle, 1, 0));
    // SAFETY: the call gave a descriptor that is nobody else's.
    let fd = unsafe { File::from_raw_fd(fd) };
    let mut other = child("by_descriptor", &format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd()));
    ok(cuStreamWriteValue64_v2(own, window, 1, 0));
    ok(cuStreamWaitValue64_v2(own, window + 8, 2, 1));
    ok(cuStreamSynchronize(own));
    assert!(other.wait().unwrap().success());
}

#[test]
fn device_memory_is_not_the_programs() {
    if env::var(CHILD).is_ok() {
        start();
        let at = device_memory(64) as *mut u8;
        // SAFETY: none: this ends the process.
        unsafe { at.write_volatile(1) };
        return;
    }
    let ended = child("device_memory_is_not_the_programs", "1").wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(11));
}

#[test]
fn knobs() {
    if env::var(CHILD).is_ok() {
        assert_eq!((cuInit(0), cuInit(0), cuInit(0)), (999, 999, 0));
        assert_eq!(cuDevicePrimaryCtxRetain(&mut 0, 2), 101);
        ok(cuCtxSetCurrent(made(|at| cuDevicePrimaryCtxRetain(at, 1))));
        let (mut free, mut total) = (0, 0);
        ok(cuMemGetInfo_v2(&mut free, &mut total));
        assert_eq!(total, 3 << 20);
        assert_eq!(cuMemAddressReserve(&mut 0, GRANULE, 0, 0, 0), 801);
        assert_eq!(cuEventCreate(&mut 0, 0), 500);
        let (at, function) = (&mut std::ptr::null(), name("cuEventCreate"));
        assert_eq!(cuGetProcAddress_v2(function.as_ptr(), at, 13000, 0, &mut 0), 500);
        // Own memory, not that of device 0.
        let at = device_memory(64);
        let mut ordinal = 0i32;
        ok(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, at));
        assert_eq!(ordinal, 1);
        return;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["knobs", "--exact", "--nocapture"]).env(CHILD, "1");
    command
        .env("CUDA_STANDIN_DEVICES", "3")
        .env("CUDA_VISIBLE_DEVICES", "2,1")
        .env("CUDA_STANDIN_MEMORY", "3M");
    command.env("CUDA_STANDIN_FAIL", "cuInit:1=999,cuInit:2=999").env("CUDA_STANDIN_NO_VMM", "1");
    command.env("CUDA_STANDIN_MISSING", "cuEventCreate, cuMemcpy");
    assert!(command.status().unwrap().success());
}
