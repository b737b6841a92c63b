//! Whether pages are where their address says or where the order of writing puts them.

use super::experiments::Evidence;
use super::stripes::{Series, Stripes};
use crate::{Halt, Lab, Request, median, spread};

/// Series of reads of each kind.
const SERIES: u32 = 5;

/// Reads in a series, beyond those that are in flight first.
const READS: u32 = 64;

/// What reads took after pages were written in another order.
pub struct Follows {
    /// At strides that lead to one unit by address.
    address: Vec<f64>,
    /// At strides that lead to one unit by the order of writing.
    order: Vec<f64>,
    /// At random.
    random: Vec<f64>,
}

/// Writes the pages in another order, and reads at the period of the addresses and of the order.
pub fn look(
    lab: &mut Lab<'_>,
    evidence: &mut Evidence,
    stripes: Stripes,
) -> Result<Follows, Halt> {
    let mut order: Vec<u32> = (0..evidence.pages).collect();
    lab.rng.shuffle(&mut order);
    let writes = order.iter().map(|page| Request::write(evidence.offset(*page), evidence.page));
    let run = lab.run("write pages in another order", writes.chain([Request::flush()]))?;
    evidence.runs.push(run.number);
    lab.rest(flashscope_block::Nanos::millis(200));
    let len = evidence.telling(lab);
    let (period, count) = (stripes.period(), evidence.depth + (READS << lab.attempt));
    let mut follows = Follows { address: Vec::new(), order: Vec::new(), random: Vec::new() };
    for _ in 0..SERIES << lab.attempt {
        let from = lab.rng.u32(0..evidence.pages);
        let at = |i: u32| (from + i * period) % evidence.pages;
        let address: Vec<_> = (0..count).map(at).collect();
        let written: Vec<_> = (0..count).map(|i| order[at(i) as usize]).collect();
        let random: Vec<_> = (0..count).map(|_| lab.rng.u32(0..evidence.pages)).collect();
        let took = |series: Series| series.took;
        follows.address.push(took(evidence.read(lab, "reads of one unit by address", len, &address)?));
        follows.order.push(took(evidence.read(lab, "reads of one unit by order", len, &written)?));
        follows.random.push(took(evidence.read(lab, "reads at random", len, &random)?));
    }
    Ok(follows)
}

impl Follows {
    /// The class that fits better, and how likely it is.
    pub fn class(&self) -> (&'static str, f64) {
        let (address, order, random) = self.medians();
        let all = [&self.address, &self.order, &self.random];
        let error = all.map(|took| spread(took)).into_iter().fold(0.0, f64::max).max(0.02 * random);
        let class = if address > order { "static" } else { "dynamic" };
        let (high, low) = (address.max(order), address.min(order));
        // One must be as slow as one unit is, the other as fast as at random.
        let apart = (high - low) / error / 2f64.sqrt();
        let odd = (low - random).abs() / error / 2f64.sqrt();
        let likely = 1.0 / (1.0 + (-0.5 * apart * apart).exp());
        let fits = (-0.5 * (odd - 3.0).max(0.0).powi(2) * 0.1).exp();
        (class, likely * fits)
    }

    fn medians(&self) -> (f64, f64, f64) {
        (median(&self.address), median(&self.order), median(&self.random))
    }

    /// What was seen.
    pub fn because(&self, stripes: Stripes) -> String {
        let (address, order, random) = self.medians();
        format!(
            "after pages were written in another order, every {}th page by address takes {:.2} times \
             what random ones take, and every {}th in the order of writing {:.2} times",
            stripes.period(),
            address / random,
            stripes.period(),
            order / random
        )
    }

    /// Why neither is sure.
    pub fn why_unknown(&self) -> &'static str {
        "after pages were written in another order, neither addresses nor the order tell which wait \
         for each other"
    }
}
