//! Several devices: who reaches whose memory, and what a process finds that sees some of them.
mod common;
use common::*;
use std::env;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::Command;

unsafe extern "C" {
    safe fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) -> u32;
    safe fn cuDeviceGetP2PAttribute(value: *mut i32, which: u32, device: i32, peer: i32) -> u32;
    safe fn cuDeviceGetAttribute(value: *mut i32, which: u32, device: i32) -> u32;
    safe fn cuDeviceGetCount(count: *mut i32) -> u32;
    safe fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: i32) -> u32;
    safe fn cuCtxEnablePeerAccess(peer: usize, flags: u32) -> u32;
}

const CHILD: &str = "STANDIN_TEST_CHILD";
const UNSUPPORTED: u32 = 217;

/// Runs this test once more, with variables, as a child that finds `word`.
#[track_caller]
fn child(word: &str, variables: &[(&str, &str)]) {
    let test = std::thread::current().name().unwrap().to_owned();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([&test, "--exact", "--nocapture"]).env(CHILD, word).envs(variables.iter().copied());
    assert!(command.status().unwrap().success());
}

/// The context of a device, current in this thread; the driver has been started.
fn device(ordinal: i32) -> usize {
    let context = made(|at| cuDevicePrimaryCtxRetain(at, ordinal));
    ok(cuCtxSetCurrent(context));
    context
}

fn of(ordinal: i32) -> Properties {
    Properties { location: [1, ordinal], ..EXPORTABLE }
}

/// Memory of a device in reserved address space, which nobody may use yet.
fn chunk(ordinal: i32) -> usize {
    let window = made(|at| cuMemAddressReserve(at, GRANULE, 0, 0, 0));
    let handle = made(|at| cuMemCreate(at, GRANULE, &of(ordinal), 0));
    ok(cuMemMap(window, GRANULE, 0, handle, 0));
    window
}

#[test]
fn memory_of_another_device() {
    if env::var(CHILD).is_err() {
        return child("1", &[("CUDA_STANDIN_DEVICES", "2")]);
    }
    ok(cuInit(0));
    let can = |from, to| made(|at| cuDeviceCanAccessPeer(at, from, to));
    assert_eq!((can(0, 1), can(1, 0), can(0, 0)), (1, 1, 0));
    assert_eq!(made(|at| cuDeviceGetP2PAttribute(at, 3, 0, 1)), 1);
    assert_eq!(cuDeviceGetP2PAttribute(&mut 0, 3, 1, 1), 101);
    let there = device(1);
    let (far, plain) = (chunk(1), device_memory(64));
    device(0);
    let own = stream();
    // Nobody has said that device 0 may.
    ok(cuMemSetAccess(far, GRANULE, &[1, 1, 3], 1));
    assert_eq!(cuStreamWriteValue64_v2(own, far, 7, 0), 1);
    let mut word = 0u64;
    assert_eq!(cuMemcpyAsync((&raw mut word) as usize, far, 8, own), 1, "copies are made by a device, too");
    ok(cuMemSetAccess(far, GRANULE, &[1, 0, 3], 1));
    ok(cuStreamWriteValue64_v2(own, far, 7, 0));
    ok(cuMemcpyAsync((&raw mut word) as usize, far, 8, own));
    assert_eq!(word, 7);
    // What the driver has placed is copied by it, and used by kernels where the context was told.
    ok(cuMemcpyAsync(plain, (&raw mut word) as usize, 8, own));
    assert_eq!(cuStreamWriteValue64_v2(own, plain, 8, 0), 1);
    ok(cuCtxEnablePeerAccess(there, 0));
    assert_eq!(cuCtxEnablePeerAccess(there, 0), 704);
    ok(cuStreamWriteValue64_v2(own, plain, 8, 0));
    ok(cuStreamSynchronize(own));
    assert_eq!(read(plain, 1), [8]);
}

#[test]
fn devices_without_a_way_to_each_other() {
    let Ok(word) = env::var(CHILD) else {
        // Numbers of the machine, whatever the process calls them: of 2, 0, 1 the first two have none.
        let machine = [("CUDA_STANDIN_DEVICES", "3"), ("CUDA_VISIBLE_DEVICES", "2,0,1")];
        let pairs = [("CUDA_STANDIN_NO_PEERS", "0-2"), ("CUDA_STANDIN_NO_PEER_ATOMICS", "2-1")];
        return child("1", &[machine, pairs].concat());
    };
    assert_eq!(word, "1");
    ok(cuInit(0));
    let can = |from, to| made(|at| cuDeviceCanAccessPeer(at, from, to));
    assert_eq!((can(0, 1), can(1, 0), can(0, 2), can(2, 1)), (0, 0, 1, 1));
    let attribute = |which, from, to| made(|at| cuDeviceGetP2PAttribute(at, which, from, to));
    assert_eq!((attribute(2, 0, 1), attribute(3, 0, 1)), (0, 0));
    assert_eq!((attribute(2, 0, 2), attribute(3, 0, 2), attribute(3, 1, 2)), (1, 0, 1));
    let other = device(1);
    let far = chunk(1);
    device(0);
    assert_eq!(cuMemSetAccess(far, GRANULE, &[1, 0, 3], 1), UNSUPPORTED);
    ok(cuMemSetAccess(far, GRANULE, &[1, 2, 3], 1));
    assert_eq!(cuCtxEnablePeerAccess(other, 0), UNSUPPORTED);
}

#[test]
fn memory_of_a_device_that_the_process_does_not_see() {
    if let Ok(file) = env::var(CHILD) {
        ok(cuInit(0));
        assert_eq!(made(|at| cuDeviceGetCount(at)), 1);
        let mut expected = *b"\x5dcuda-standin\0\0\0";
        expected[15] = 1;
        assert_eq!(made(|at: *mut [u8; 16]| cuDeviceGetUuid_v2(at, 0)), expected);
        device(0);
        // The parent's descriptor, as SCM_RIGHTS would have brought it.
        let file = File::options().read(true).write(true).open(file).unwrap();
        let window: usize = made(|at| cuMemAddressReserve(at, GRANULE, 0, 0, 0));
        let handle = made(|at| cuMemImportFromShareableHandle(at, file.as_raw_fd() as usize, 1));
        ok(cuMemMap(window, GRANULE, 0, handle, 0));
        if env::var("CUDA_STANDIN_NO_PEERS").is_ok() {
            assert_eq!(cuMemSetAccess(window, GRANULE, &READ_WRITE, 1), UNSUPPORTED);
            return;
        }
        ok(cuMemSetAccess(window, GRANULE, &READ_WRITE, 1));
        let mut ordinal = 0i32;
        ok(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, window));
        assert_eq!((read(window, 1), ordinal), (vec![77], -1));
        return write(window, &[78]);
    }
    start();
    let window = made(|at| cuMemAddressReserve(at, GRANULE, 0, 0, 0));
    let handle = made(|at| cuMemCreate(at, GRANULE, &EXPORTABLE, 0));
    ok(cuMemMap(window, GRANULE, 0, handle, 0));
    ok(cuMemSetAccess(window, GRANULE, &READ_WRITE, 1));
    write(window, &[77]);
    let fd: i32 = made(|at| cuMemExportToShareableHandle(at, handle, 1, 0));
    // SAFETY: the call gave a descriptor that is nobody else's.
    let fd = unsafe { File::from_raw_fd(fd) };
    let file = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
    let machine =
        [("CUDA_STANDIN_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", "GPU-5d637564-612d-7374-616e-64696e000001")];
    child(&file, &machine);
    assert_eq!(read(window, 1), [78]);
    child(&file, &[machine[0], machine[1], ("CUDA_STANDIN_NO_PEERS", "all")]);
}

#[test]
fn flushes_behind_a_wait() {
    if env::var(CHILD).is_err() {
        start();
        assert_eq!(made(|at| cuDeviceGetAttribute(at, 98, 0)), 0);
        assert_eq!(cuStreamWaitValue64_v2(stream(), device_memory(64), 1, 1 << 30), 801);
        return child("1", &[("CUDA_STANDIN_FLUSHES", "1")]);
    }
    start();
    assert_eq!(made(|at| cuDeviceGetAttribute(at, 98, 0)), 1);
    let (own, word) = (stream(), device_memory(64));
    ok(cuStreamWriteValue64_v2(own, word, 1, 0));
    ok(cuStreamWaitValue64_v2(own, word, 1, 1 << 30));
    ok(cuStreamSynchronize(own));
}
