//! Memory, its sharing, and what is refused.
mod common;
use common::*;

#[test]
fn copies_and_fills_take_place_in_order() {
    start();
    let (at, own) = (device_memory(4096), stream());
    // New memory is not zero.
    assert_ne!(read(at, 1), [0]);
    ok(cuMemsetD8Async(at, 0, 4096, own));
    ok(cuMemsetD32Async(at + 8, 0x01020304, 2, own));
    ok(cuMemcpyAsync(at + 16, at + 8, 8, own));
    ok(cuStreamSynchronize(own));
    assert_eq!(read(at, 4), [0, 0x0102030401020304, 0x0102030401020304, 0]);
    assert_eq!(cuMemsetD32Async(at + 2, 0, 1, own), 1);
    assert_eq!(cuMemcpyAsync(at, at + GRANULE - 4, 8, own), 1);
    assert_eq!(cuMemcpyAsync(at, 0, 8, own), 1);
    assert_eq!(cuMemcpyAsync(at, at + 64, 8, own + 64), 400);
    ok(cuMemFree_v2(at));
    assert_eq!(cuMemFree_v2(at), 1);
    assert_eq!(cuMemcpyAsync(at, at + 64, 8, own), 1);
}

#[test]
fn windows_lie_where_they_are_wanted_and_share_memory_by_descriptor() {
    start();
    let wanted = 0x2000_0000_0000;
    let window: usize = made(|at| cuMemAddressReserve(at, 64 << 30, 0, wanted, 0));
    assert_eq!(window, wanted);
    let elsewhere: usize = made(|at| cuMemAddressReserve(at, GRANULE, 0, wanted, 0));
    assert_ne!(elsewhere, wanted);
    let handle: usize = made(|at| cuMemCreate(at, 2 * GRANULE, &EXPORTABLE, 0));
    let fd: i32 = made(|at| cuMemExportToShareableHandle(at, handle, 1, 0));
    let imported: usize = made(|at| cuMemImportFromShareableHandle(at, fd as usize, 1));
    let (first, second) = (window + GRANULE, window + (32 << 30));
    for (at, handle) in [(first, handle), (second, imported)] {
        ok(cuMemMap(at, 2 * GRANULE, 0, handle, 0));
        assert_eq!(cuMemcpyAsync(at, at + 64, 8, 0), 1, "no access yet");
        ok(cuMemSetAccess(at, 2 * GRANULE, &READ_WRITE, 1));
        ok(cuMemRelease(handle));
    }
    assert_eq!(cuMemMap(first + GRANULE, GRANULE, 0, handle, 0), 1);
    write(first + 3 * GRANULE / 2, &[5, 6]);
    assert_eq!(read(second + 3 * GRANULE / 2, 2), [5, 6]);
    let seen = [first, second].map(|at| standin_reach(at + 3 * GRANULE / 2) as *mut u64);
    // SAFETY: where the stand-in has mapped these words.
    unsafe {
        seen[0].write_volatile(8);
        assert_eq!((seen[1].read_volatile(), standin_reach(window)), (8, 0));
        seen[1].write_volatile(5);
    }
    let mut kind = 0u32;
    ok(cuPointerGetAttribute((&raw mut kind).cast(), 2, second));
    assert_eq!(kind, 2);
    assert_eq!(cuMemAddressFree(window, 64 << 30), 1, "there are mappings");
    ok(cuMemUnmap(first, 2 * GRANULE));
    assert_eq!(read(second + 3 * GRANULE / 2, 2), [5, 6]);
    ok(cuMemUnmap(second, 2 * GRANULE));
    ok(cuMemAddressFree(window, 64 << 30));
    ok(cuMemAddressFree(elsewhere, GRANULE));
    assert_eq!((standin_live(name("memory").as_ptr()), standin_live(name("mappings").as_ptr())), (0, 0));
}

#[test]
fn memory_of_the_device_ends() {
    start();
    let (mut free, mut total) = (0usize, 0usize);
    ok(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!(cuMemAlloc_v2(&mut 0, total + 1), 2);
    let at = device_memory(total - GRANULE);
    ok(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!(free, GRANULE);
    ok(cuMemFree_v2(at));
}

#[test]
fn pinned_memory_is_known() {
    start();
    let (at, own): (usize, usize) = (made(|at| cuMemHostAlloc(at, 64, 3)), stream());
    ok(cuStreamWriteValue64_v2(own, at, 9, 0));
    ok(cuStreamSynchronize(own));
    // SAFETY: allocated above.
    assert_eq!(unsafe { *(at as *const u64) }, 9);
    let words = vec![0u64; 8192];
    let at = words.as_ptr() as usize;
    let mut kind = 0u32;
    assert_eq!(cuPointerGetAttribute((&raw mut kind).cast(), 2, at), 1);
    assert_eq!(cuStreamWriteValue64_v2(own, at, 9, 0), 1);
    ok(cuMemHostRegister_v2(at, 65536, 3));
    assert_eq!(cuMemHostRegister_v2(at + 4096, 64, 3), 712);
    ok(cuPointerGetAttribute((&raw mut kind).cast(), 2, at + 65535));
    assert_eq!(kind, 1);
    ok(cuStreamWriteValue64_v2(own, at + 8, 7, 0));
    ok(cuStreamSynchronize(own));
    ok(cuMemHostUnregister(at));
    assert_eq!(cuMemHostUnregister(at), 713);
    // SAFETY: a word of the vector, which the stream has written.
    assert_eq!(unsafe { (at as *const u64).add(1).read_volatile() }, 7);
}

#[test]
fn failures_on_demand_and_counts() {
    start();
    ok(standin_fail(name("cuMemAlloc_v2:2=2,cuStreamQuery:1+=700").as_ptr()));
    let at = device_memory(1);
    assert_eq!(cuMemAlloc_v2(&mut 0, 1), 2);
    ok(cuMemFree_v2(at));
    assert_eq!((cuStreamQuery(0), cuStreamQuery(0)), (700, 700));
    assert_eq!(standin_calls(name("cuStreamQuery").as_ptr()), 2);
    ok(standin_fail(name("").as_ptr()));
    ok(cuStreamQuery(0));
    assert_eq!(standin_fail(name("nonsense").as_ptr()), 1);
}

#[test]
fn functions_are_found_in_their_newest_form() {
    let mut at = std::ptr::null();
    let mut status = 7;
    ok(cuGetProcAddress_v2(name("cuMemAlloc").as_ptr(), &mut at, 13000, 0, &mut status));
    assert_eq!((at, status), (cuMemAlloc_v2 as *const _, 0));
    assert_eq!(cuGetProcAddress_v2(name("cuMem").as_ptr(), &mut at, 13000, 0, &mut status), 500);
    assert_eq!((at.is_null(), status), (true, 1));
    assert_eq!(cuMemFree_v2(1 << 40), 3, "before cuInit");
    assert!(cuda_standin::path().is_file());
}
