//! Buffers in the memory of a device that this PE does not use, which its kernels don't reach: the driver copies.
use crate::pe::Pe;
use dushmem_core::device::StreamOp;
use dushmem_cuda::context::Context;
use dushmem_cuda::driver::Driver;

/// Elements, and how far apart they are in the buffer.
const N: usize = 10;
const APART: usize = 3;

fn copied(driver: &Driver, dest: usize, source: usize, bytes: usize) {
    let stream = dushmem_cuda::types::Stream::NULL;
    // SAFETY: buffers of the test.
    unsafe {
        driver.memcpy_async(dest as u64, source as u64, bytes, stream).unwrap();
        driver.stream_synchronize(stream).unwrap();
    }
}

pub fn all(pe: &Pe) {
    let (at, stream, next) = (pe.alloc(4096), pe.stream(), ((pe.me + 1) % pe.n) as i32);
    // Each process lists its own device first.
    let other = Context::primary(pe.driver, 1).unwrap();
    let entered = other.enter().unwrap();
    let mut buffer = 0;
    // SAFETY: a place for an address.
    unsafe { pe.driver.mem_alloc(&raw mut buffer, 4096) }.unwrap();
    let buffer = buffer as usize;
    let mine: Vec<u32> = (0..N * APART).map(|i| (1000 * pe.me + i) as u32).collect();
    copied(pe.driver, buffer, mine.as_ptr() as usize, 4 * mine.len());
    pe.write(at, &[0; 4096]);
    drop(entered);
    pe.barrier();
    let (elem, nelems, sst) = (4, N, APART as isize);
    let (dest, source) = (at as *mut u8, buffer as *mut u8);
    pe.op(stream, StreamOp::Iput { dest, source, dst: 1, sst, elem, nelems, pe: next });
    pe.sync(stream);
    // The host's call of the same kind.
    let heap = pe.world.device_heap().unwrap();
    let dest = heap.peer(at + 1024, next as usize);
    // SAFETY: the next PE's memory, and the buffer.
    unsafe { heap.device().copy_strided(dest, 4, buffer, 4 * APART, 4, N) }.unwrap();
    heap.device().flush().unwrap();
    pe.barrier();
    let from = 1 - pe.me;
    let expected: Vec<u32> = (0..N).map(|i| (1000 * from + APART * i) as u32).collect();
    assert_eq!(pe.read_words(at, N), expected);
    assert_eq!(pe.read_words(at + 1024, N), expected);
    pe.barrier();
    let _entered = other.enter().unwrap();
    // SAFETY: allocated above, and no longer in use.
    unsafe { pe.driver.mem_free(buffer as u64) }.unwrap();
}
