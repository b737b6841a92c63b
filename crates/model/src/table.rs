//! A model of page-mapped FTLs that is predicted once, and looked up from then on.

use crate::page_map::{between_whole, units};
use crate::{Family, Model, Prediction, Surface, Uniform};

/// The free space of a table: from here on to an end, with so many points in each octave. Where hardly anything is
/// copied is not far from where much is: there amplification has bends.
const LEAST_FREE: f64 = 0.001;
const FREE: [(f64, f64); 2] = [(4.0, 60.0), (1000.0, 8.0)];

/// Parts of a block each of which has its points, and how many have in an octave of more parts.
const EACH: u16 = 64;
const PART_POINTS: f64 = 16.0;

/// A model of page-mapped FTLs with its predictions in a [`Surface`].
///
/// Write amplification is within 0.1 % of the model's for blocks of up to 64 pages, and 0.2 % of up to 256. What is outside of its range, 0.001 to 1000 of free space and blocks no larger than
/// it was made for, the model predicts itself.
pub struct Table {
    model: &'static Model,
    most_parts: f64,
    /// Write amplification over parts of a block that are valid or not each by itself, and free space.
    amplification: Surface,
}

impl Table {
    /// Of a model of page-mapped FTLs, for blocks of up to so many pages (2 to 2^20): tens of thousands of its
    /// predictions. None of a model with log blocks: those take no time, and depend on more.
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
        Some(Table { model, most_parts: pages_per_block, amplification })
    }

    /// What the model predicts, nearly.
    #[must_use]
    pub fn predict(&self, uniform: &Uniform) -> Prediction {
        let parts = units(uniform.pages_per_block(), uniform.mean_len());
        let free = uniform.free_space();
        if parts > self.most_parts || !(LEAST_FREE..=FREE[1].0).contains(&free) {
            return (self.model.predict)(uniform);
        }
        let amplification = between_whole(parts, |parts| self.amplification.at(parts, free));
        Prediction::page_mapped(amplification.max(1.0), uniform.pages_per_block())
    }
}

/// Whole numbers up to one.
fn parts(most: f64) -> Vec<f64> {
    let few = (1..EACH).map(f64::from);
    let many = (0..).map(|i| (f64::from(EACH) * (f64::from(i) / PART_POINTS).exp2()).round());
    few.chain(many).take_while(|parts| *parts < most).chain([most]).collect()
}

fn free_spaces() -> Vec<f64> {
    let mut free = LEAST_FREE;
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
