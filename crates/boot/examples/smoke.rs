use dushmem_core::{
    amo::AmoOp,
    coll::reduce::*,
    env::Settings,
    error::Call,
    until::Cmp,
    world::{InitOptions, World},
};
fn main() {
    let n: usize = std::env::args().nth(1).map_or(4, |s| s.parse().unwrap());
    let rounds: u32 = std::env::args().nth(2).map_or(1000, |s| s.parse().unwrap());
    let settings = Settings::read(&["DUSHMEM"], &|v| std::env::var(v).ok()).unwrap();
    let run = |boot: std::sync::Arc<dyn dushmem_core::bootstrap::Bootstrap>, thread| {
        let w = World::init(boot, &settings, InitOptions { static_data: false, thread_pe: thread }).unwrap();
        let me = w.my_pe();
        let n = w.n_pes();
        let a = w.malloc(1 << 20).unwrap().cast::<i64>();
        let b = w.calloc(1 << 10, 8).unwrap().cast::<i64>();
        let ctx = w.default_context();
        unsafe {
            w.p(ctx, a, me as i64, (me + 1) % n).unwrap();
            w.barrier_all().unwrap();
            assert_eq!(*a as i32, (me + n - 1) % n);
            w.amo(ctx, b, AmoOp::Add, 1, 0, 0).unwrap();
            w.barrier_all().unwrap();
            if me == 0 {
                assert_eq!(*b, n as i64);
            }
            let src = w.malloc(80000).unwrap().cast::<i64>();
            let dst = w.malloc(80000).unwrap().cast::<i64>();
            for i in 0..10000 {
                *src.add(i) = me as i64 + i as i64
            }
            let r = i64::reducer(ReduceOp::Sum).unwrap();
            w.reduce(w.world_team(), dst.cast(), src.cast(), 10000, &r).unwrap();
            for i in 0..10000i64 {
                assert_eq!(*dst.add(i as usize), (n * (n - 1) / 2) as i64 + n as i64 * i);
            }
            // ring of tokens
            let t0 = std::time::Instant::now();
            for k in 1..=rounds as i64 / 10 {
                if me == 0 {
                    w.p(ctx, b.add(8), k, 1 % n).unwrap();
                }
                w.wait_until(Call::WaitUntil, b.add(8), Cmp::Eq, k).unwrap();
                if me != 0 {
                    w.p(ctx, b.add(8), k, (me + 1) % n).unwrap();
                }
                if me == 0 && n > 1 {
                    w.wait_until(Call::WaitUntil, b.add(8), Cmp::Eq, k).unwrap();
                }
            }
            w.barrier_all().unwrap();
            if me == 0 {
                println!("ring hop {:?}", t0.elapsed() / (rounds / 10) / n as u32);
            }
        }
        let t0 = std::time::Instant::now();
        for _ in 0..rounds {
            w.barrier_all().unwrap();
        }
        if me == 0 {
            println!("{n} PEs barrier {:?}", t0.elapsed() / rounds);
        }
        w.finalize().unwrap();
    };
    if std::env::args().nth(3).is_some() {
        run(dushmem_boot::connect().unwrap(), false);
    } else {
        std::thread::scope(|s| {
            for boot in dushmem_boot::threads::job(n).unwrap() {
                let run = &run;
                s.spawn(move || run(boot, true));
            }
        });
    }
}
