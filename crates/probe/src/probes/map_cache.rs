//! The size of the address space whose map entries fit in the drive's memory.
//!
//! A drive with too little memory for its map keeps the most recently used entries. Repeated reads
//! of a few addresses, spread over the drive, find their entries in memory (the cost `hit`). Reads
//! of addresses that were not read recently do not (`miss`). If the entries in memory cover R bytes
//! of addresses, the share R / s of random reads within a span s finds its entry, for any
//! replacement policy. R is the reach of memory. The mean cost of reads shows R, best where about
//! half of the reads are hits.
//!
//! The few and the many addresses are both spread over the whole drive. Long jumps, such as between
//! address groups, then add the same cost to both kinds of reads.

use flashscope_block::Nanos;

use crate::outcome::Outcome;
use crate::{Cost, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median};
use flashscope_document::probe::{Shape, Signal};

/// The length of reads in bytes; short, so that the lookup dominates the cost.
const LEN: u64 = 4096;

/// The number of addresses whose entries fit in any memory.
const FEW: usize = 16;

/// The number of reads per measured level or share.
const SAMPLES: usize = 1500;

/// Maximum number of reads that replace the entries in memory.
const MAX_SWEEP_READS: u64 = 16384;

/// The limit of costs, as a multiple of the median; a higher cost counts as the limit.
const OUTLIER: f64 = 4.0;

/// The idle pause in which the drive completes pending writes and cleaning.
const REST: Nanos = Nanos::secs(10);

pub(super) const PROBE: Probe = Probe {
    name: "map-cache",
    summary: "reads few addresses repeatedly, many addresses once each, and random addresses within spans of \
                 different sizes, and compares the costs of looking up addresses",
    source: "Gupta et al., DFTL, ASPLOS 2009",
    finds: &[Parameter::MapCache],
    assumes: &[Parameter::PageSize],
    writes: false,
    cost: |scene, _| {
        let Cost { written, time } = scene.cost(MAX_SWEEP_READS + 12 * SAMPLES as u64, 0, 0);
        Cost { written, time: time + REST }
    },
    run,
};

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    // The reads must come from the flash, not from a write buffer.
    if !lab.is_read_only() {
        match lab.run("empty the write buffer", [Request::flush()]) {
            Ok(_) | Err(Halt::Failed { .. }) => {}
            Err(halt) => return Err(halt),
        }
    }
    lab.idle(REST);
    let align = knowledge.whole(Parameter::PageSize).unwrap_or(LEN).max(LEN);
    let mut reads = Reads { align, samples: SAMPLES << lab.attempt, runs: Vec::new() };
    let miss = reads.once_each(lab)?;
    let few = reads.again(lab)?;
    let levels = HitAndMiss::new(&few, &miss);
    let finding = match levels.is_apart() {
        false => Finding::absent(Parameter::MapCache, levels.sure_of_none()).because(format!(
            "reads of few addresses take {:.3} ms, and those of addresses that were not read before \
                        {:.3} ms: looking up an address costs nothing",
            levels.hit / 1e6,
            levels.miss / 1e6,
        )),
        true => {
            let spans = spans(lab, &mut reads, &levels)?;
            let picture = picture(&spans, &levels);
            conclude(&levels, &spans, lab.capacity()).signal(picture)
        }
    };
    let finding = finding.signal(levels_shown(&few, &miss));
    Ok(vec![finding.runs(reads.runs)].into())
}

/// The settings of the reads, and their runs.
struct Reads {
    align: u64,
    samples: usize,
    runs: Vec<u32>,
}

impl Reads {
    /// Reads each address once, in random order, up to a limit. Returns the costs of the second
    /// half of the reads, when memory holds only entries of these reads.
    fn once_each(&mut self, lab: &mut Lab<'_>) -> Result<Vec<f64>, Halt> {
        let mut places: Vec<u64> = (0..lab.capacity() / self.align).collect();
        lab.rng.shuffle(&mut places);
        places.truncate(usize::try_from(MAX_SWEEP_READS).unwrap_or(usize::MAX));
        let costs = self.read(lab, "reads of each address once", &places)?;
        Ok(costs[costs.len() / 2..].to_vec())
    }

    /// Reads a few addresses again and again, in random order.
    fn again(&mut self, lab: &mut Lab<'_>) -> Result<Vec<f64>, Halt> {
        let all = lab.capacity() / self.align;
        // One address in each part of the drive makes long jumps as frequent as among all
        // addresses.
        let parts = FEW as u64;
        let few: Vec<u64> =
            (0..parts).map(|part| (part * all + lab.rng.u64(0..all)) / parts).collect();
        let mut places = few.clone();
        places.extend((0..self.samples).map(|_| few[lab.rng.usize(0..FEW)]));
        let costs = self.read(lab, "repeated reads of few addresses", &places)?;
        Ok(costs[FEW..].to_vec())
    }

    /// Reads each address of a span once, makes up to `warm` random reads, and then returns the
    /// costs of further random reads.
    fn within(&mut self, lab: &mut Lab<'_>, span: u64, warm: u64) -> Result<Vec<f64>, Halt> {
        let all = lab.capacity() / self.align;
        let count = (span / self.align).clamp(1, all);
        let first = lab.rng.u64(0..=all - count);
        // If memory is large enough for the span, reading each address once fills it. If memory is
        // too small, the `warm` random reads make its contents random.
        let mut places: Vec<u64> = (first..first + count).collect();
        lab.rng.shuffle(&mut places);
        let warm = usize::try_from(warm.min(MAX_SWEEP_READS)).unwrap_or(usize::MAX);
        let at_random = warm + self.samples;
        places.extend((0..at_random).map(|_| lab.rng.u64(first..first + count)));
        let purpose = format!("reads within {} KiB", count * self.align / 1024);
        let costs = self.read(lab, &purpose, &places)?;
        Ok(costs[costs.len() - self.samples..].to_vec())
    }

    fn read(&mut self, lab: &mut Lab<'_>, what: &str, places: &[u64]) -> Result<Vec<f64>, Halt> {
        let align = self.align;
        let run = lab.run(what, places.iter().map(|place| Request::read(place * align, LEN)))?;
        self.runs.push(run.number);
        Ok(run.records.iter().map(Run::nanos).collect())
    }
}

/// Returns the mean of costs, limited against hiccups, and its standard error. The median is
/// unsuitable, because reads after short jumps and reads after long jumps may have different costs.
#[allow(clippy::cast_precision_loss, reason = "samples are few")]
fn level(costs: &[f64]) -> (f64, f64) {
    let most = OUTLIER * median(costs);
    let (mut sum, mut squares) = (0.0, 0.0);
    for cost in costs.iter().map(|cost| cost.min(most)) {
        (sum, squares) = (sum + cost, squares + cost * cost);
    }
    let count = costs.len().max(1) as f64;
    let mean = sum / count;
    (mean, ((squares / count - mean * mean).max(0.0) / count).sqrt())
}

/// The mean cost of reads whose map entry is in memory (hits), and of the other reads (misses).
struct HitAndMiss {
    hit: f64,
    miss: f64,
    /// The standard error of the difference.
    error: f64,
}

impl HitAndMiss {
    fn new(few: &[f64], once: &[f64]) -> HitAndMiss {
        let ((hit, hit_error), (miss, miss_error)) = (level(few), level(once));
        HitAndMiss { hit, miss, error: hit_error.hypot(miss_error).max(1e-3 * hit) }
    }

    fn is_apart(&self) -> bool {
        self.miss - self.hit > (8.0 * self.error).max(0.05 * self.hit)
    }

    /// Returns the probability that memory holds the whole map, if the levels do not differ.
    fn sure_of_none(&self) -> f64 {
        let least = (8.0 * self.error).max(0.05 * self.hit);
        0.99 - 0.1 * ((self.miss - self.hit) / least).clamp(0.0, 1.0)
            - (2.0 * self.error / self.hit)
    }

    /// Returns the share of hits among the costs, and its standard error.
    fn hits(&self, costs: &[f64]) -> (f64, f64) {
        let ((mean, error), difference) = (level(costs), self.miss - self.hit);
        ((self.miss - mean) / difference, error.hypot(self.error) / difference)
    }
}

/// The result of reads within a span.
struct Span {
    bytes: f64,
    /// The share of hits, and its standard error.
    hits: (f64, f64),
    mean: f64,
}

impl Span {
    /// Returns the reach of memory in bytes, if it is less than the span.
    fn reach(&self) -> f64 {
        self.bytes * self.hits.0
    }
}

/// Searches for a span in which about half of the reads are hits. Then reads within two more spans
/// that are longer than the reach of memory, and within one that is shorter.
fn spans(lab: &mut Lab<'_>, reads: &mut Reads, levels: &HitAndMiss) -> Result<Vec<Span>, Halt> {
    let mut spans: Vec<Span> = Vec::new();
    let mut of = lab.capacity();
    for _ in 0..8 {
        let span = span(lab, reads, levels, of)?;
        let (reach, hits) = (span.reach(), span.hits.0);
        spans.push(span);
        of = match hits {
            // Too few hits to measure: make the span much smaller.
            ..0.15 => of / 4,
            // Nearly all are hits: make the span larger.
            0.9.. => (2 * of).min(lab.capacity()),
            _ => whole(1.7 * reach).min(lab.capacity()),
        };
        if (0.4..0.8).contains(&hits) || of < 4 * reads.align {
            break;
        }
    }
    if let Some(reach) = spans.last().map(Span::reach) {
        for share in [1.4, 2.2, 0.6] {
            let of = whole(share * reach).clamp(reads.align, lab.capacity());
            spans.push(span(lab, reads, levels, of)?);
        }
    }
    Ok(spans)
}

fn span(lab: &mut Lab<'_>, reads: &mut Reads, levels: &HitAndMiss, of: u64) -> Result<Span, Halt> {
    let costs = reads.within(lab, of, of / reads.align)?;
    let pages = (of / reads.align).max(1) * reads.align;
    #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    let bytes = pages as f64;
    let hits = levels.hits(&costs);
    Ok(Span { bytes, hits, mean: levels.miss - hits.0 * (levels.miss - levels.hit) })
}

/// Converts a size, which is not negative and far below 2^53.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(bytes: f64) -> u64 {
    bytes.max(0.0) as u64
}

/// Returns the finding from the spans that are longer than the reach of memory.
fn conclude(levels: &HitAndMiss, spans: &[Span], capacity: u64) -> Finding {
    let unknown = |why: &str| Finding::unknown(Parameter::MapCache, why);
    let (mut sum, mut weights) = (0.0, 0.0);
    for span in spans.iter().filter(|span| (0.15..0.88).contains(&span.hits.0)) {
        let weight = (span.hits.0 / span.hits.1).powi(2) / span.reach();
        (sum, weights) = (sum + weight * span.reach(), weights + weight);
    }
    const NO_GROWTH: &str =
        "the cost of reads does not grow with the span as it would with a map cache";
    if weights == 0.0 {
        return unknown(NO_GROWTH);
    }
    let shorter = spans.iter().filter(|span| span.bytes < 0.7 * sum / weights);
    let Some(all_hit) = shorter.map(|span| span.hits.0).min_by(f64::total_cmp) else {
        return unknown(
            "no span is small enough for its reads to find their map entries in memory",
        );
    };
    if all_hit < 0.7 {
        return unknown(NO_GROWTH);
    }
    let reach = sum / weights;
    #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    if reach > 0.95 * capacity as f64 {
        return unknown("memory holds the map entries of nearly the whole drive");
    }
    let told = spans.iter().filter(|span| (0.15..0.88).contains(&span.hits.0));
    let off = told.clone().map(|span| (span.reach() / reach - 1.0).abs()).fold(0.0, f64::max);
    let error = told.map(|span| (span.hits.0 / span.hits.1).powi(2)).sum::<f64>().sqrt().recip();
    let error = error.max(0.4 * off).max(0.01);
    let z = Parameter::MapCache.spec().tolerance / error;
    let probability = (2.0 / (1.0 + (-1.702 * z).exp()) - 1.0).min(0.985);
    let (low, high) = (reach * (1.0 - 2.0 * error), reach * (1.0 + 2.0 * error));
    Finding::value(Parameter::MapCache, reach, low, high, probability).because(format!(
        "reads of few addresses take {:.3} ms and those of addresses not read recently {:.3} ms; \
                the share of fast reads within a span fits a map cache that covers {:.0} KiB",
        levels.hit / 1e6,
        levels.miss / 1e6,
        reach / 1024.0
    ))
}

fn picture(spans: &[Span], levels: &HitAndMiss) -> Signal {
    let mut points: Vec<(f64, f64)> =
        spans.iter().map(|span| (span.bytes / 1048576.0, span.mean / 1e6)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends = [points.first(), points.last()].map(|point| point.map_or(1.0, |point| point.0));
    let level = |cost: f64| ends.map(|x| (x, cost / 1e6));
    Signal::new("Cost of random reads by span", "MiB", "response time (ms)", Shape::Line)
        .log_x()
        .series("random reads", points)
        .series("few addresses", level(levels.hit))
        .series("addresses not read recently", level(levels.miss))
}

fn levels_shown(few: &[f64], once: &[f64]) -> Signal {
    let points = |costs: &[f64]| -> Vec<(f64, f64)> {
        let shown = costs.iter().take(SAMPLES);
        shown.zip(1u32..).map(|(cost, nth)| (f64::from(nth), cost / 1e6)).collect()
    };
    Signal::new(
        "Cost of reads of few addresses, and of many addresses",
        "read",
        "response time (ms)",
        Shape::Points,
    )
    .series("few addresses", points(few))
    .series("many addresses", points(once))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generates noisy costs with this share of hits.
    fn costs(share: f64, seed: u64) -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut cost = || if rng.f64() < share { 130e3 } else { 230e3 } * (0.9 + 0.2 * rng.f64());
        (0..SAMPLES).map(|_| cost()).collect()
    }

    #[test]
    fn the_reach_of_memory_follows_from_hits_within_spans() {
        let levels = HitAndMiss::new(&costs(1.0, 1), &costs(0.0, 2));
        assert!(levels.is_apart());
        let span = |mib: f64| {
            let bytes = mib * 1_048_576.0;
            let hits = levels.hits(&costs((8.0 / mib).min(1.0), 3));
            Span { bytes, hits, mean: 0.0 }
        };
        let spans = [64.0, 16.0, 12.0, 5.0].map(span);
        let finding = conclude(&levels, &spans, 64 << 20);
        let crate::Answer::Value { value, low, high } = finding.answer else { panic!() };
        assert!((value / 8_388_608.0 - 1.0).abs() < 0.06, "{value}");
        assert!(low < value && value < high && finding.probability > 0.9);
        // Spans with only hits or only misses do not show the reach.
        assert!(!conclude(&levels, &[span(64.0), span(16.0)], 64 << 20).is_known());
    }

    #[test]
    fn equal_costs_of_few_and_many_places_show_no_map() {
        let levels = HitAndMiss::new(&costs(0.5, 1), &costs(0.5, 2));
        assert!(!levels.is_apart() && levels.sure_of_none() > 0.85);
    }
}
