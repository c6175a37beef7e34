//! Heat in a plate, drawn as a PNG: a halo exchange.
//!
//!   cargo build --release -p dushmem --example heat
//!   dushrun -n 4 target/release/examples/heat plate.png [size [steps]]
//!
//! The plate is `size` by `size` cells, its rows divided
//! among the PEs. In each step a PE sends its first and its last row to the neighbours, each with a signal,
//! waits for theirs, and computes its new rows. PE 0 gathers the picture. It does not depend on the number
//! of PEs, to the last bit.
use dushmem::{Cmp, Error, Result, SignalOp, SymSlice, World};
use std::ops::Range;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| match words.get(i) {
        Some(word) => word.parse::<usize>().map_err(|why| Error::other(format!("{word}: {why}"))),
        None => Ok(default),
    };
    let path = words.first().ok_or_else(|| Error::other("usage: heat FILE.png [SIZE [STEPS]]"))?;
    let (size, steps) = (number(1, 200)?.max(3), number(2, 400)?);
    dushmem::with_world(|world| heat(world, path, size, steps))
}

/// The rows that PE `pe` of `n` computes: as equal parts as there can be, some empty where PEs outnumber rows.
fn rows_of(pe: usize, n: usize, size: usize) -> Range<usize> {
    pe * size / n..(pe + 1) * size / n
}

fn heat(world: &World, path: &str, size: usize, steps: usize) -> Result<()> {
    let (me, n) = (world.my_pe().min(size), world.n_pes().min(size));
    let rows = if me < n { rows_of(me, n, size) } else { 0..0 };
    let most = (0..n).map(|pe| rows_of(pe, n, size).len()).max().unwrap_or(0);
    // Two plates in turn, each with room for the neighbours' rows above and below.
    let plates = [0, 1].map(|_| world.alloc_zeroed::<f32>((most + 2) * size));
    let [a, b] = plates;
    let (mut old, mut new) = (a?, b?);
    // Rows that have come from above and from below.
    let (above, below) = (world.alloc(0u64)?, world.alloc(0u64)?);
    let row = |plate: &SymSlice<f32>, i: usize| -> Vec<f32> { plate[i * size..(i + 1) * size].to_vec() };

    for (i, y) in rows.clone().enumerate() {
        let values: Vec<f32> = (0..size).map(|x| source(x, y, size).unwrap_or(0.0)).collect();
        old[(i + 1) * size..(i + 2) * size].copy_from(&values);
    }
    let len = rows.len();
    for step in 1..=steps as u64 {
        if len == 0 {
            break;
        }
        // A neighbour is at most one step ahead, so it writes to the other plate than the one read here.
        // Its signals are counted: without the fence this step's could overtake the last one's.
        world.fence()?;
        if me > 0 {
            let theirs = rows_of(me - 1, n, size).len();
            let halo = &old[(theirs + 1) * size..(theirs + 2) * size];
            world.put_signal(halo, &old[size..2 * size], &below, 1, SignalOp::Add, me - 1)?;
        }
        if me + 1 < n {
            let last = &old[len * size..(len + 1) * size];
            world.put_signal(&old[..size], last, &above, 1, SignalOp::Add, me + 1)?;
        }
        if me > 0 {
            world.signal_wait_until(&above, Cmp::Ge, step)?;
        }
        if me + 1 < n {
            world.signal_wait_until(&below, Cmp::Ge, step)?;
        }
        let (mut up, mut here) = (row(&old, 0), row(&old, 1));
        for (i, y) in rows.clone().enumerate() {
            let down = row(&old, i + 2);
            new[(i + 1) * size..(i + 2) * size].copy_from(&relax(&up, &here, &down, y, size));
            (up, here) = (here, down);
        }
        std::mem::swap(&mut old, &mut new);
    }
    world.barrier()?;
    if world.my_pe() == 0 {
        let mut picture = vec![0.0; size * size];
        for pe in 0..n {
            let theirs = rows_of(pe, n, size);
            let cells = &old[size..(theirs.len() + 1) * size];
            world.get(&mut picture[theirs.start * size..theirs.end * size], cells, pe)?;
        }
        draw(path, size, &picture).map_err(|why| Error::other(format!("{path}: {why}")))?;
        println!("{size} x {size} cells after {steps} steps: {path}");
    }
    // The others' rows must be there until PE 0 has them.
    world.barrier()
}

/// One row after one step: each cell the mean of its neighbours, edges and sources as they were.
fn relax(up: &[f32], here: &[f32], down: &[f32], y: usize, size: usize) -> Vec<f32> {
    let edge = |x: usize| x == 0 || y == 0 || x + 1 == size || y + 1 == size;
    let cell = |x: usize| match source(x, y, size) {
        Some(value) => value,
        None if edge(x) => here[x],
        None => 0.25 * ((up[x] + down[x]) + (here[x - 1] + here[x + 1])),
    };
    (0..size).map(cell).collect()
}

/// Temperature of the cells that keep theirs: a hot disc in the middle, four cold ones around it, and a
/// top edge that gets hotter from left to right.
fn source(x: usize, y: usize, size: usize) -> Option<f32> {
    let (u, v) = (x as f32 / size as f32 - 0.5, y as f32 / size as f32 - 0.5);
    let within = |cu: f32, cv: f32, r: f32| (u - cu) * (u - cu) + (v - cv) * (v - cv) < r * r;
    match () {
        _ if y == 0 => Some(x as f32 / size as f32),
        _ if within(0.0, 0.0, 0.12) => Some(1.0),
        _ if [-0.27, 0.27].iter().any(|&c| within(c, 0.0, 0.06) || within(0.0, c, 0.06)) => Some(0.0),
        _ => None,
    }
}

/// Black, red, yellow, white.
fn colour(heat: f32) -> [u8; 3] {
    [0.0, 1.0, 2.0].map(|from| ((3.0 * heat - from).clamp(0.0, 1.0) * 255.0) as u8)
}

fn draw(path: &str, size: usize, picture: &[f32]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, size as u32, size as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    let pixels: Vec<u8> = picture.iter().flat_map(|&heat| colour(heat)).collect();
    writer.write_image_data(&pixels)?;
    Ok(writer.finish()?)
}
