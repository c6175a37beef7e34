//! A C init where threads of the process are PEs.
//! The library is linked into this test, so both skins see the same engine.
use dushmem_capi as _;
use dushmem_core::process::Place;

#[test]
fn a_c_init_among_pes_that_are_threads_is_an_error_that_says_so() {
    unsafe extern "C" {
        fn shmem_init_thread(requested: i32, provided: *mut i32) -> i32;
    }
    let place = Place::thread().unwrap();
    let mut provided = -1;
    // SAFETY: `provided` is a local variable.
    assert_ne!(unsafe { shmem_init_thread(0, &raw mut provided) }, 0);
    drop(place);
    // SAFETY: as above.
    assert_eq!(unsafe { shmem_init_thread(0, &raw mut provided) }, 0, "alone, the process can be a PE");
}
