//! A lookup table of a model of page-mapped FTLs.

use crate::page_map::{between_whole, units};
use crate::{Family, Model, Prediction, Surface, Uniform};

/// The smallest free space in a table.
const MIN_FREE: f64 = 0.001;

/// The segments of free space in a table, in ascending order: the end of each segment and its
/// points per octave. The first segment is dense because amplification bends sharply there.
const FREE: [(f64, f64); 2] = [(4.0, 60.0), (1000.0, 8.0)];

/// Below `EACH` units in a block (see [`units`]), each number of units has its own point in the
/// table. From there on, there are `PART_POINTS` points per octave.
const EACH: u16 = 64;
const PART_POINTS: f64 = 16.0;

/// A model of page-mapped FTLs with precomputed predictions in a [`Surface`].
///
/// Write amplification differs from the model's by at most 0.1 % for blocks of up to 64 pages, and
/// by at most 0.2 % up to 256 pages. The table covers free space from 0.001 to 1000 and blocks up
/// to the given size. Outside this range, it calls the model.
pub struct Table {
    model: &'static Model,
    max_parts: f64,
    /// Write amplification by the number of independent units in a block (see [`units`]) and free
    /// space.
    amplification: Surface,
}

impl Table {
    /// Tabulates a model for blocks of up to `pages_per_block` pages (2 to 2^20), which takes tens
    /// of thousands of predictions. Returns `None` for a log-block model, which is fast and depends
    /// on more parameters.
    #[must_use]
    pub fn of(model: &'static Model, pages_per_block: f64) -> Option<Table> {
        if model.family != Family::PageMap {
            return None;
        }
        let (parts, frees) = (parts(pages_per_block), free_spaces());
        let mut values = Vec::with_capacity(parts.len() * frees.len());
        for parts in &parts {
            for free in &frees {
                let len = pages_per_block / parts;
                let uniform = Uniform::new(pages_per_block, 1.0, *free, len).ok()?;
                values.push((model.predict)(&uniform).write_amplification());
            }
        }
        let amplification = Surface::new(&parts, &frees, &values).ok()?;
        Some(Table { model, max_parts: pages_per_block, amplification })
    }

    /// Returns the model's prediction, interpolated.
    #[must_use]
    pub fn predict(&self, uniform: &Uniform) -> Prediction {
        let parts = units(uniform.pages_per_block(), uniform.mean_len());
        let free = uniform.free_space();
        if parts > self.max_parts || !(MIN_FREE..=FREE[1].0).contains(&free) {
            return (self.model.predict)(uniform);
        }
        let amplification = between_whole(parts, |parts| self.amplification.at(parts, free));
        Prediction::page_mapped(amplification.max(1.0), uniform.pages_per_block())
    }
}

/// Returns the whole numbers of units to tabulate, up to `most`.
fn parts(most: f64) -> Vec<f64> {
    let few = (1..EACH).map(f64::from);
    let many = (0..).map(|i| (f64::from(EACH) * (f64::from(i) / PART_POINTS).exp2()).round());
    few.chain(many).take_while(|parts| *parts < most).chain([most]).collect()
}

/// Returns the free spaces to tabulate.
fn free_spaces() -> Vec<f64> {
    let mut free = MIN_FREE;
    let mut all = vec![];
    for (end, points) in FREE {
        while free < end {
            all.push(free);
            free *= points.recip().exp2();
        }
        free = end;
    }
    all.push(free);
    all
}
