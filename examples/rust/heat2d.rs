//! Heat in a square plate whose top edge is hot: a stencil on a two-dimensional grid of PEs.
//!
//!   cargo build --release -p dushmem --example heat2d
//!   dushrun -n 8 target/release/examples/heat2d
//!
//! In each step a cell becomes the mean of its four neighbours. A PE has a block of the plate with a rim of one
//! cell for its neighbours' edges. A row is consecutive: a put brings it together with its signal. A column is
//! not: a strided put (iput), a fence, and a signal. Nobody waits for anybody but its neighbours; every 20
//! steps all agree by a reduction whether the plate has settled.
//!
//! PEs that the grid has no place for take no part: the others are a team, whose reduction does not need them.
//!
//! The check: PE 0 computes the same steps alone, and compares every cell, to the last bit.
use dushmem::{Cmp, Max, Result, SignalOp, SymSlice, Symmetric};
use program::{Report, Run, Setting, mark, share};
use std::process::ExitCode;
use std::time::Instant;

mod program;

const EVERY: u64 = 20;
const NORTH: usize = 0;
const SOUTH: usize = 1;
const WEST: usize = 2;
const EAST: usize = 3;

fn main() -> ExitCode {
    let settings = [
        Setting("size", 300, 1..=1 << 20, "rows and columns of the plate"),
        Setting("steps", 10_000, 1..=1 << 30, "steps at most"),
        Setting("digits", 4, 1..=17, "ends when no cell changes by more than 10 to the minus this"),
    ];
    program::main("heat2d", "a heat stencil on a grid of PEs", settings, |run, [size, steps, digits]| {
        let mut plate = Plate::new(run, size as usize)?;
        run.barrier()?;
        let began = Instant::now();
        let taken = plate.settle(steps, (0..digits).fold(1.0, |limit, _| limit / 10.0))?;
        run.barrier()?;
        let time = began.elapsed();
        let checksum = plate.check(taken)?;
        let text = format!("{size} x {size} cells, {taken} steps, checksum {checksum:016x}");
        Ok(Report { text, items: size * size * taken, unit: "cells", time })
    })
}

/// The part of the plate that a PE computes.
#[derive(Clone, Copy)]
struct Block {
    top: usize,
    left: usize,
    rows: usize,
    columns: usize,
}

/// PEs of the grid, and cells of the plate.
#[derive(Clone, Copy)]
struct Grid {
    down: usize,
    across: usize,
    size: usize,
}

impl Grid {
    /// As square as can be; one of 17 PEs is left over then, which is better than 17 thin strips.
    fn new(pes: usize, size: usize) -> Grid {
        let down = pes.isqrt().min(size);
        Grid { down, across: (pes / down).min(size), size }
    }

    fn pes(self) -> usize {
        self.down * self.across
    }

    fn block_of(self, pe: usize) -> Block {
        let rows = share(pe / self.across, self.down, self.size as u64);
        let columns = share(pe % self.across, self.across, self.size as u64);
        Block {
            top: rows.start as usize,
            left: columns.start as usize,
            rows: (rows.end - rows.start) as usize,
            columns: (columns.end - columns.start) as usize,
        }
    }

    /// The neighbours of a PE, by their side.
    fn around(self, pe: usize) -> [Option<usize>; 4] {
        let (y, x) = (pe / self.across, pe % self.across);
        let mut around = [None; 4];
        around[NORTH] = (y > 0).then(|| pe - self.across);
        around[SOUTH] = (y + 1 < self.down).then(|| pe + self.across);
        around[WEST] = (x > 0).then(|| pe - 1);
        around[EAST] = (x + 1 < self.across).then(|| pe + 1);
        around
    }
}

/// A row of cells after one step, without the rim.
fn relax(up: &[f64], here: &[f64], down: &[f64], new: &mut [f64]) {
    for (x, new) in new.iter_mut().enumerate() {
        *new = 0.25 * ((up[x + 1] + down[x + 1]) + (here[x] + here[x + 2]));
    }
}

/// This PE's block, twice: before and after a step.
struct Plate<'w> {
    run: &'w Run<'w>,
    grid: Grid,
    /// Cells in a row of a block, its rim included; the same on all PEs.
    width: usize,
    old: Symmetric<'w, [f64]>,
    new: Symmetric<'w, [f64]>,
    /// The step whose edge has come from each side.
    arrived: Symmetric<'w, [u64]>,
    change: Symmetric<'w, [f64]>,
    largest: Symmetric<'w, [f64]>,
}

impl<'w> Plate<'w> {
    fn new(run: &'w Run<'w>, size: usize) -> Result<Plate<'w>> {
        let grid = Grid::new(run.n_pes(), size);
        let (width, height) = (size.div_ceil(grid.across) + 2, size.div_ceil(grid.down) + 2);
        // The hot edge lies in the rim above the plate.
        let hot = if run.my_pe() < grid.across { width } else { 0 };
        let cells: Vec<f64> = (0..width * height).map(|at| if at < hot { 1.0 } else { 0.0 }).collect();
        Ok(Plate {
            run,
            grid,
            width,
            old: run.alloc_from(&cells)?,
            new: run.alloc_from(&cells)?,
            arrived: run.alloc_zeroed(4)?,
            change: run.alloc_zeroed(2)?,
            largest: run.alloc_zeroed(2)?,
        })
    }

    /// Steps until no cell changes by `limit` or more. Returns how many that were, on PEs that take part.
    fn settle(&mut self, steps: u64, limit: f64) -> Result<u64> {
        let Some(workers) = self.run.team()?.split_strided(0, 1, self.grid.pes())? else { return Ok(0) };
        let mut taken = 0;
        for i in 1..=steps {
            self.exchange(i)?;
            let change = self.step();
            std::mem::swap(&mut self.old, &mut self.new);
            taken = i;
            self.run.progress("steps", i, steps);
            if i % EVERY == 0 {
                // Two places in turn: whoever is slow may still be looking at the last result.
                let turn = (i / EVERY % 2) as usize;
                self.change[turn].store(change);
                workers.reduce(self.largest[turn].as_slice(), self.change[turn].as_slice(), Max)?;
                if self.largest[turn].load() < limit {
                    break;
                }
            }
        }
        workers.destroy()?;
        Ok(taken)
    }

    /// Sends the edges of this PE's block to the neighbours' rims, and waits for theirs. A neighbour is at most one
    /// step ahead, and then writes to the rim of the other plate.
    fn exchange(&self, step: u64) -> Result<()> {
        let (run, row, plate) = (self.run, self.width, &self.old);
        let mine = self.grid.block_of(run.my_pe());
        let around = self.grid.around(run.my_pe());
        if let Some(west) = around[WEST] {
            let rim = row + self.grid.block_of(west).columns + 1;
            run.iput((&plate[rim..], row), (&plate[row + 1..], row), mine.rows, west)?;
        }
        if let Some(east) = around[EAST] {
            run.iput((&plate[row..], row), (&plate[row + mine.columns..], row), mine.rows, east)?;
        }
        let cells = |y: usize| y * row + 1..y * row + 1 + mine.columns;
        if let Some(north) = around[NORTH] {
            let rim = &plate[cells(self.grid.block_of(north).rows + 1)];
            run.put_signal(rim, &plate[cells(1)], &self.arrived[SOUTH], step, SignalOp::Set, north)?;
        }
        if let Some(south) = around[SOUTH] {
            let edge = &plate[cells(mine.rows)];
            run.put_signal(&plate[cells(0)], edge, &self.arrived[NORTH], step, SignalOp::Set, south)?;
        }
        run.fence()?; // columns before their signals, and this step's signals before those of the next
        if let Some(west) = around[WEST] {
            run.signal_op(&self.arrived[EAST], step, SignalOp::Set, west)?;
        }
        if let Some(east) = around[EAST] {
            run.signal_op(&self.arrived[WEST], step, SignalOp::Set, east)?;
        }
        for (side, _) in around.iter().enumerate().filter(|(_, pe)| pe.is_some()) {
            run.signal_wait_until(&self.arrived[side], Cmp::Ge, step)?;
        }
        Ok(())
    }

    /// One step of this PE's block. Returns the largest change of a cell.
    fn step(&self) -> f64 {
        let Block { rows, columns, .. } = self.grid.block_of(self.run.my_pe());
        let row = |y: usize| self.old[y * self.width..][..columns + 2].to_vec();
        let (mut up, mut here, mut new) = (row(0), row(1), vec![0.0; columns]);
        let mut largest = 0.0;
        for y in 1..=rows {
            let down = row(y + 1);
            relax(&up, &here, &down, &mut new);
            self.new[y * self.width + 1..][..columns].copy_from(&new);
            let changes = new.iter().zip(&here[1..]).map(|(new, old): (&f64, &f64)| (new - old).abs());
            largest = changes.fold(largest, f64::max);
            (up, here) = (here, down);
        }
        largest
    }

    /// On PE 0, computes `taken` steps alone, compares with all blocks, and returns the checksum of the plate.
    /// Collective.
    fn check(&self, taken: u64) -> Result<u64> {
        let mut sum = 0;
        if self.run.my_pe() == 0 {
            let alone = self.alone(taken);
            let size = self.grid.size;
            for pe in 0..self.grid.pes() {
                let block = self.grid.block_of(pe);
                let mut row = vec![0.0; block.columns];
                for y in 0..block.rows {
                    self.run.get(&mut row, self.part(y + 1, block.columns), pe)?;
                    for (x, found) in row.iter().enumerate() {
                        let (y, x) = (block.top + y, block.left + x);
                        let expected = alone[(y + 1) * (size + 2) + x + 1];
                        if *found != expected {
                            let what =
                                format!("row {y} column {x} is {found} on PE {pe}, but {expected} alone");
                            self.run.wrong(what);
                        }
                        sum ^= mark((y * size + x) as u64, found.to_bits());
                    }
                }
            }
        }
        // The others' cells must be there until PE 0 has read them.
        self.run.barrier()?;
        Ok(sum)
    }

    /// The inner cells of a row.
    fn part(&self, y: usize, columns: usize) -> &SymSlice<f64> {
        &self.old[y * self.width + 1..y * self.width + 1 + columns]
    }

    /// The whole plate with its rim after so many steps.
    fn alone(&self, steps: u64) -> Vec<f64> {
        let row = self.grid.size + 2;
        let mut old: Vec<f64> = (0..row * row).map(|at| if at < row { 1.0 } else { 0.0 }).collect();
        let mut new = old.clone();
        for step in 0..steps {
            for y in 1..=self.grid.size {
                let (up, here, down) = (&old[(y - 1) * row..], &old[y * row..], &old[(y + 1) * row..]);
                relax(up, here, down, &mut new[y * row + 1..(y + 1) * row - 1]);
            }
            std::mem::swap(&mut old, &mut new);
            self.run.progress("steps of the check", step, steps);
        }
        old
    }
}

/// Each of these is run by `crates/dushmem/tests/programs.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_differs_in_one_bit_is_noted() {
        for wrong in [0, 1] {
            let noted = program::noted(|run| {
                let mut plate = Plate::new(run, 12)?;
                let taken = plate.settle(40, 1e-17)?;
                if run.my_pe() == 2 {
                    let cell = &plate.old[3 * plate.width + 2];
                    cell.store(f64::from_bits(cell.load().to_bits() ^ wrong));
                }
                run.barrier()?;
                plate.check(taken).map(drop)
            });
            assert_eq!(noted, wrong);
        }
    }
}
