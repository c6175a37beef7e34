//! Arrays in device memory: on this machine's CPU, and on GPUs as the stand-in for their driver has them.
use dushmem::{Error, Max, Result, Sum, World};
use std::process::Command;

/// What the tests do, whatever memory it is.
fn arrays(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (a, b) = (world.alloc_on_device::<f64>(500)?, world.alloc_on_device::<f64>(500)?);
    assert_eq!((a.len(), a.is_empty(), a.to_vec()?), (500, false, vec![0.0; 500]));
    let mine: Vec<f64> = (0..500).map(|i| (i * (me + 1)) as f64).collect();
    a.put(0, &mine, me)?;
    world.reduce_on_device(&b, &a, Sum)?;
    let all: f64 = (1..=n).map(|k| k as f64).sum();
    assert_eq!(b.to_vec()?[499], 499.0 * all);
    world.reduce_on_device(&a, &a, Max)?;
    assert_eq!(a.to_vec()?[499], 499.0 * n as f64);
    world.barrier()?;
    b.put_array(400, &a, 10, 20, (me + 1) % n)?;
    world.barrier()?;
    let mut seen = [0.0; 3];
    b.get(399, &mut seen, (me + 1) % n)?;
    assert_eq!(seen, [399.0 * all, 10.0 * n as f64, 11.0 * n as f64]);
    let own = world.alloc_on_device::<u32>(2)?;
    own.put(0, &[me as u32, 7], me)?;
    let gathered = world.alloc_on_device::<u32>(2 * n)?;
    world.fcollect_on_device(&gathered, &own)?;
    assert_eq!(gathered.to_vec()?, (0..n as u32).flat_map(|pe| [pe, 7]).collect::<Vec<_>>());
    world.broadcast_on_device(&own, &own, n - 1)?;
    assert_eq!(own.to_vec()?, [n as u32 - 1, 7]);
    let outside = own.put(1, &[1, 2], me).unwrap_err();
    assert!(matches!(outside, Error::Call { .. }) && outside.to_string().contains("at = 1"), "{outside}");
    let nobody = own.get(0, &mut [0], n).unwrap_err();
    assert!(nobody.to_string().contains("there is no such PE"), "{nobody}");
    // Dropped on all PEs, so its place is free for the next one.
    let at = gathered.as_ptr();
    drop(gathered);
    assert_eq!(world.reclaim()?, 1);
    assert_eq!(world.alloc_on_device::<u32>(2 * n)?.as_ptr(), at);
    assert!(world.alloc_on_device::<u32>(0)?.to_vec()?.is_empty());
    world.barrier()
}

#[test]
fn arrays_without_gpus() {
    for n in [1, 3] {
        dushmem::run(n, |world| {
            assert!(!world.has_device());
            arrays(world)
        })
        .unwrap();
    }
}

/// The variables are read once in a process, so this one starts itself again.
#[test]
fn arrays_on_gpus() {
    if std::env::var_os("DUSHMEM_CUDA_LIBRARY").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "arrays_on_gpus", "--nocapture"]);
        again.env("DUSHMEM_CUDA_LIBRARY", cuda_standin::path()).env("DUSHMEM_DEVICE", "cuda");
        let done = again.env("DUSHMEM_DEVICE_HEAP_SIZE", "64M").output().unwrap();
        assert!(done.status.success(), "{done:?}");
        return;
    }
    for n in [1, 3] {
        dushmem::run(n, |world| {
            arrays(world)?;
            assert!(world.has_device());
            // The symmetric heap of the host is there, too.
            let host = world.alloc(world.my_pe())?;
            world.barrier()?;
            assert_eq!(world.g(&host, world.n_pes() - 1)?, world.n_pes() - 1);
            world.barrier()
        })
        .unwrap();
    }
}
