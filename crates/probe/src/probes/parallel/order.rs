//! Determines whether the address of a page or the order of writing decides the page's parallel
//! unit.

use flashscope_block::Nanos;

use super::experiments::{EDGES, Evidence};
use super::stripes::{Crossing, Stripes};
use crate::{Halt, Lab, Request, median, spread};

/// The number of series of reads of each kind.
const SERIES: u32 = 5;

/// The number of reads in a series, in addition to the first reads, which only fill the queue.
const READS: u32 = 64;

/// The number of rounds of single reads across page edges.
const ROUNDS: u32 = 4;

/// The idle pause in which the drive completes its work after writes.
const REST: Nanos = Nanos::millis(200);

/// Minimum time of a read of the flash in nanoseconds, for all NAND but the fastest.
const MIN_READ_TIME: f64 = 20e3;

/// The read times after pages were written in another order.
pub(super) enum Follows {
    /// With many reads in flight.
    Deep(Deep),
    /// With one read at a time.
    Alone(Alone),
}

/// Read times with many in flight.
pub(super) struct Deep {
    /// Times of reads that all go to one unit if the address decides.
    address: Vec<f64>,
    /// Times of reads that all go to one unit if the order of writing decides.
    order: Vec<f64>,
    /// Times of random reads.
    random: Vec<f64>,
    period: u32,
}

/// Times of reads across page edges, on a drive where no such read waits while the pages are
/// written in order.
pub(super) struct Alone {
    /// The additional time after the pages were written in another order, in nanoseconds.
    longer: f64,
    error: f64,
    /// Minimum additional time if pages were placed at random.
    by_chance: f64,
}

/// Writes pages in another order, and then measures which reads wait for each other. Returns `None`
/// if the reads would not show whether the address or the order decides.
pub(super) fn look(
    lab: &mut Lab<'_>,
    evidence: &mut Evidence,
    stripes: Stripes,
) -> Result<Option<Follows>, Halt> {
    if evidence.is_deep() {
        return deep(lab, evidence, stripes).map(|deep| Some(Follows::Deep(deep)));
    }
    // With longer chunks, single reads wait at most of the edges, whatever the order of writing.
    match stripes.chunk {
        1 => alone(lab, evidence, stripes).map(|alone| Some(Follows::Alone(alone))),
        _ => Ok(None),
    }
}

/// Writes the first `pages` pages one by one in a random order, and returns the order.
fn shuffle(lab: &mut Lab<'_>, evidence: &mut Evidence, pages: u32) -> Result<Vec<u32>, Halt> {
    let mut order: Vec<u32> = (0..pages).collect();
    lab.rng.shuffle(&mut order);
    let writes = order.iter().map(|page| Request::write(evidence.offset(*page), evidence.page));
    let run = lab.run("write pages in another order", writes.chain([Request::flush()]))?;
    evidence.runs.push(run.number);
    lab.idle(REST);
    Ok(order)
}

fn deep(lab: &mut Lab<'_>, evidence: &mut Evidence, stripes: Stripes) -> Result<Deep, Halt> {
    let order = shuffle(lab, evidence, evidence.pages)?;
    let len = evidence.telling(lab);
    let (period, count) = (stripes.period(), evidence.depth + (READS << lab.attempt));
    let mut deep = Deep { address: Vec::new(), order: Vec::new(), random: Vec::new(), period };
    for _ in 0..SERIES << lab.attempt {
        let address = evidence.at_stride(lab, period, count);
        let written: Vec<_> = address.iter().map(|page| order[*page as usize]).collect();
        let random: Vec<_> = (0..count).map(|_| lab.rng.u32(0..evidence.pages)).collect();
        let read = evidence.read(lab, "reads of one unit by address", len, &address)?;
        deep.address.push(read.took);
        let read = evidence.read(lab, "reads of one unit by order", len, &written)?;
        deep.order.push(read.took);
        let read = evidence.read(lab, "reads at random", len, &random)?;
        deep.random.push(read.took);
    }
    Ok(deep)
}

fn alone(lab: &mut Lab<'_>, evidence: &mut Evidence, stripes: Stripes) -> Result<Alone, Halt> {
    let took = |reads: Vec<Crossing>| {
        reads.into_iter().filter(|read| read.crosses).map(|read| read.took).collect::<Vec<_>>()
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        before.extend(took(evidence.cross(lab)?));
    }
    shuffle(lab, evidence, EDGES + 1)?;
    for _ in 0..ROUNDS {
        after.extend(took(evidence.cross(lab)?));
    }
    Ok(Alone::of(&before, &after, stripes.units))
}

impl Alone {
    fn of(before: &[f64], after: &[f64], units: u32) -> Alone {
        let noise = spread(before);
        let level = median(before);
        // Compare means, because only some of the reads wait. Leave out hiccups.
        let mean = |took: &[f64]| {
            let usual = took.iter().filter(|took| **took < 2.0 * level);
            let (sum, count) = usual.fold((0.0, 0.0), |(sum, n), took| (sum + took, n + 1.0));
            sum / f64::max(count, 1.0)
        };
        let error = noise * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
        let by_chance = MIN_READ_TIME / f64::from(units);
        Alone { longer: mean(after) - mean(before), error: error.max(1.0), by_chance }
    }

    fn class(&self) -> (&'static str, f64) {
        let likely = |longer: f64| -0.5 * ((self.longer - longer) / self.error).powi(2);
        let fixed = likely(0.0);
        let moved = if self.longer > self.by_chance { 0.0 } else { likely(self.by_chance) };
        let fixed = 1.0 / (1.0 + (moved - fixed).exp());
        if fixed >= 0.5 { ("static", fixed) } else { ("dynamic", 1.0 - fixed) }
    }
}

impl Deep {
    fn class(&self) -> (&'static str, f64) {
        let (address, order, random) = self.medians();
        let all = [&self.address, &self.order, &self.random];
        let error = all.map(|took| spread(took)).into_iter().fold(0.0, f64::max).max(0.02 * random);
        let class = if address > order { "static" } else { "dynamic" };
        let (high, low) = (address.max(order), address.min(order));
        // One kind of reads must be as slow as reads of a single unit, the other as fast as random
        // reads.
        let apart = (high - low) / error / 2f64.sqrt();
        let odd = (low - random).abs() / error / 2f64.sqrt();
        let likely = 1.0 / (1.0 + (-0.5 * apart * apart).exp());
        let fits = (-0.05 * (odd - 3.0).max(0.0).powi(2)).exp();
        (class, likely * fits)
    }

    fn medians(&self) -> (f64, f64, f64) {
        (median(&self.address), median(&self.order), median(&self.random))
    }
}

impl Follows {
    /// Returns the class that fits better, and its probability.
    pub(super) fn class(&self) -> (&'static str, f64) {
        match self {
            Follows::Deep(deep) => deep.class(),
            Follows::Alone(alone) => alone.class(),
        }
    }

    /// Returns the evidence.
    pub(super) fn because(&self) -> String {
        match self {
            Follows::Deep(deep) => {
                let (address, order, random) = deep.medians();
                format!(
                    "after pages were written in another order, reads at strides of {} pages by \
                     address take {:.2} times as long as random reads, and reads at strides in the \
                     order of writing {:.2} times as long",
                    deep.period,
                    address / random,
                    order / random
                )
            }
            Follows::Alone(alone) => format!(
                "after pages were written in another order, short reads across their edges take \
                 {:.1} us longer than before, give or take {:.1}",
                alone.longer / 1e3,
                alone.error / 1e3
            ),
        }
    }

    /// Returns the reason that the mapping is unknown.
    pub(crate) fn why_unknown(&self) -> &'static str {
        "after pages were written in another order, neither addresses nor the order show which reads \
                wait for each other"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_by_address_is_told_from_slow_by_order() {
        let took = |level: f64| (0..5).map(|i| level + f64::from(i)).collect::<Vec<_>>();
        let class = |address, order| {
            let (address, order, random) = (took(address), took(order), took(100.0));
            Deep { address, order, random, period: 4 }.class()
        };
        assert!(matches!(class(400.0, 101.0), ("static", p) if p > 0.95));
        assert!(matches!(class(101.0, 400.0), ("dynamic", p) if p > 0.95));
        assert!(class(100.0, 101.0).1 < 0.7);
        assert!(class(400.0, 300.0).1 < 0.6);
    }

    #[test]
    fn new_waits_show_unless_noise_may_hide_them() {
        let took = |level: f64, more: f64, noise: f64| -> Vec<f64> {
            (0..400)
                .map(|i| level + f64::from(i % 2) * more + noise * f64::from(i % 7 - 3))
                .collect()
        };
        let class =
            |more, noise| Alone::of(&took(500e3, 0.0, noise), &took(500e3, more, noise), 2).class();
        assert!(matches!(class(0.0, 5e3), ("static", p) if p > 0.99));
        assert!(matches!(class(40e3, 5e3), ("dynamic", p) if p > 0.99));
        assert!(class(10e3, 100e3).1 < 0.8);
    }
}
