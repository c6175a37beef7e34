//! The examples, as the processes of a job, print what stands beside them.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools::example;
use std::path::Path;

/// Runs an example and compares its lines, in the order of the alphabet, with `examples/rust/NAME.expected`.
#[track_caller]
fn prints(name: &str, outcome: Outcome) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/rust/{name}.expected"));
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    outcome.prints(expected.lines());
}

#[test]
fn ring() {
    prints("ring", Job::new(4, example("ring")).run());
    prints("ring", Job::of(&example("ring")).words("--threads 4").run());
}

#[test]
fn ring_of_any_number() {
    for n in [1, 2, 3, 7, 8, 16] {
        Job::new(n, example("ring")).run().prints_ring(n);
    }
}

#[test]
fn put() {
    prints("put", Job::new(4, example("put")).run());
}

#[test]
fn get() {
    prints("get", Job::new(4, example("get")).run());
}

#[test]
fn fence() {
    prints("fence", Job::new(4, example("fence")).run());
}

#[test]
fn barrier() {
    prints("barrier", Job::new(4, example("barrier")).run());
}

#[test]
fn counter() {
    prints("counter", Job::new(4, example("counter")).run());
}

#[test]
fn examples_on_the_transport_that_reorders() {
    for name in ["ring", "put", "get", "fence", "barrier", "counter"] {
        for seed in ["1", "2", "3"] {
            let job = Job::new(4, example(name)).env("DUSHMEM_TRANSPORT", "loopback");
            prints(name, job.env("DUSHMEM_LOOPBACK_SEED", seed).run());
        }
    }
}

#[test]
fn a_wrong_word_is_one_line_and_ends_the_job() {
    let outcome = Job::new(3, example("ring")).words("--threads x").run();
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("Error: invalid digit found in string\n"), "{outcome:#?}");
}

/// Pixels of the picture that `n` PEs draw.
fn picture(n: usize, transport: &str, size: usize, steps: usize) -> Vec<u8> {
    let folder = Folder::new("heat");
    let path = folder.join("heat.png");
    let words = [path.display().to_string(), size.to_string(), steps.to_string()];
    let outcome =
        Job::new(n, example("heat")).args(&words).env("DUSHMEM_TRANSPORT", transport).run().success();
    let line = format!("{size} x {size} cells after {steps} steps: {}\n", path.display());
    assert_eq!(outcome.stdout, line);
    let file = std::io::BufReader::new(std::fs::File::open(&path).expect("the picture was written"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits into memory")];
    let info = reader.next_frame(&mut pixels).expect("one picture");
    assert_eq!(
        (info.width as usize, info.height as usize, info.color_type),
        (size, size, png::ColorType::Rgb)
    );
    pixels
}

/// The same plate, computed by one loop over all cells.
fn plate(size: usize, steps: usize) -> Vec<f32> {
    let source = |x: usize, y: usize| {
        let (u, v) = (x as f32 / size as f32 - 0.5, y as f32 / size as f32 - 0.5);
        let near = |cu: f32, cv: f32, r: f32| (u - cu) * (u - cu) + (v - cv) * (v - cv) < r * r;
        if y == 0 {
            return Some(x as f32 / size as f32);
        } else if near(0.0, 0.0, 0.12) {
            return Some(1.0);
        }
        let cold = [(-0.27, 0.0), (0.27, 0.0), (0.0, -0.27), (0.0, 0.27)];
        cold.iter().any(|&(cu, cv)| near(cu, cv, 0.06)).then_some(0.0)
    };
    let mut heat: Vec<f32> = (0..size * size).map(|i| source(i % size, i / size).unwrap_or(0.0)).collect();
    for _ in 0..steps {
        let old = heat.clone();
        for y in 1..size - 1 {
            for x in 1..size - 1 {
                let at = y * size + x;
                let mean = 0.25 * ((old[at - size] + old[at + size]) + (old[at - 1] + old[at + 1]));
                heat[at] = source(x, y).unwrap_or(mean);
            }
        }
    }
    heat
}

#[test]
fn heat_is_the_same_picture_for_any_number_of_pes() {
    const SIZE: usize = 48;
    const STEPS: usize = 60;
    let colour = |heat: f32| [0.0, 1.0, 2.0].map(|from| ((3.0 * heat - from).clamp(0.0, 1.0) * 255.0) as u8);
    let expected: Vec<u8> = plate(SIZE, STEPS).into_iter().flat_map(colour).collect();
    // Something has to be seen: cells that are neither cold nor hot.
    assert!(expected.iter().filter(|&&channel| (20..235).contains(&channel)).count() > 300);
    for n in [1, 2, 3, 4, 7] {
        assert!(picture(n, "shm", SIZE, STEPS) == expected, "{n} PEs");
    }
    assert!(picture(3, "loopback", SIZE, STEPS) == expected, "3 PEs on the loopback");
    // More PEs than rows.
    let small: Vec<u8> = plate(5, 9).into_iter().flat_map(colour).collect();
    assert!(picture(8, "shm", 5, 9) == small, "8 PEs, 5 rows");
}
