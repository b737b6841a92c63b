//! The SLC cache: the amount that a sequential fill of the drive writes at the speed of cells with
//! one bit. A drop in bandwidth (the cliff) shows its end.
//!
//! After the cliff, a drive either writes past the full cache, and each write takes longer, or
//! empties the cache first, and some writes take much longer. Both raise the mean cost: the cliff
//! is where the mean steps up. A hiccup of the host raises it as well, but only once.
//!
//! A write buffer takes the first writes at the speed of memory, and is still full when the cache
//! becomes full.

use flashscope_block::Nanos;

use crate::outcome::Outcome;
use crate::{Cost, Fill, Finding, Halt, Knowledge, Lab, Parameter, Probe, median};
use flashscope_document::probe::{Shape, Signal};

/// Minimum ratio of the mean cost after the cliff to the mean cost before the cliff.
const CLIFF: f64 = 1.3;

/// Minimum share of a drive that an SLC cache takes.
const MIN_SHARE: f64 = 0.002;

/// Minimum number of writes before the cliff.
const MIN_WRITES: usize = 4;

pub(super) const PROBE: Probe = Probe {
    name: "slc-cache",
    summary: "analyses the run that fills the drive: the bandwidth falls when a cache of faster cells is full",
    source: "whole-drive fills, as reviewers of drives run them",
    finds: &[Parameter::SlcCache],
    assumes: &[Parameter::WriteBuffer, Parameter::MapCache, Parameter::FtlClass],
    writes: true,
    cost: |scene, _| {
        let Cost { written, time } = scene.cost(0, 0, 0);
        Cost { written, time: time + Nanos::millis(1) }
    },
    run,
};

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    if lab.attempt > 0 {
        // A drive can be filled for the first time only once.
        return Ok(Outcome::default());
    }
    let class = knowledge.class(Parameter::FtlClass).filter(|class| *class != "page-mapped");
    if let (Some(class), Some(ftl)) = (class, knowledge.finding(Parameter::FtlClass)) {
        let finding = Finding::absent(Parameter::SlcCache, ftl.probability).because(format!(
            "writes to a drive with log blocks ({class}) become slower when these are full, and such drives \
                        have no SLC cache",
        ));
        return Ok(vec![finding.shown_by(ftl)].into());
    }
    lab.ensure_filled()?;
    let Some(fill) = lab.fill() else { return Ok(Outcome::default()) };
    let fill = FillCosts::new(fill, knowledge);
    let finding = fill.finding();
    let finding = finding.signal(fill.picture("Cost of the writes that fill the drive in order"));
    Ok(vec![finding].into())
}

/// The costs of the writes that filled the drive or an empty part of it, with the known properties
/// of the drive.
pub(super) struct FillCosts<'f> {
    runs: &'f [u32],
    costs: &'f [f64],
    /// The bytes of a write.
    len: f64,
    /// The capacity of the write buffer in bytes; 0 for a drive without one.
    buffer: f64,
    /// True if the capacity of the buffer is known.
    buffer_is_known: bool,
    /// The bytes of addresses whose map entries fit in memory, for a drive with too little memory
    /// for its map.
    map: Option<f64>,
    /// True if the FTL class is known.
    class_is_known: bool,
    /// The bytes that other runs wrote before, which may have used up a part of the cache.
    before: f64,
}

/// A cliff in the fill.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cliff {
    /// The number of writes before the cliff.
    at: usize,
    /// The mean cost of a write before the cliff, in nanoseconds.
    low: f64,
    /// The mean cost of a write after the cliff, in nanoseconds.
    high: f64,
}

impl<'f> FillCosts<'f> {
    #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    pub(super) fn new(fill: &'f Fill, knowledge: &Knowledge) -> FillCosts<'f> {
        let buffer = knowledge.value(Parameter::WriteBuffer);
        FillCosts {
            runs: &fill.runs,
            costs: &fill.costs,
            len: fill.len as f64,
            buffer: buffer.unwrap_or(0.0),
            map: knowledge.value(Parameter::MapCache),
            class_is_known: knowledge.class(Parameter::FtlClass).is_some(),
            buffer_is_known: buffer.is_some() || knowledge.lacks(Parameter::WriteBuffer),
            before: fill.before.0 as f64,
        }
    }

    /// Returns the number of writes that a buffer may have taken.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number")]
    fn in_buffer(&self) -> usize {
        (1.25 * self.buffer / self.len).ceil() as usize
    }

    /// Returns the cliff, if there is one.
    fn cliff(&self) -> Option<Cliff> {
        let mut skipped = self.in_buffer();
        let mut next = cliff(self.costs, skipped);
        // The first step may be where the write buffer became full, later than expected because it
        // drained in the meantime. The cliff is then a later step.
        while let Some(cliff) = next.filter(|cliff| self.is_of_memory(cliff)) {
            skipped = cliff.at + 1;
            next = self::cliff(self.costs, skipped);
        }
        next
    }

    /// Returns the bytes written before the cliff.
    #[allow(clippy::cast_precision_loss, reason = "a drive has few such writes")]
    fn written_before(&self, cliff: &Cliff) -> f64 {
        (cliff.at as f64 + 0.5) * self.len
    }

    /// Returns the bytes that the cache took, if there is a cliff.
    pub(super) fn size(&self) -> Option<f64> {
        let size = self.written_before(&self.cliff()?) - self.buffer;
        (size > 0.0).then_some(size)
    }

    fn finding(&self) -> Finding {
        let cliff = self.cliff();
        let stated =
            cliff.as_ref().map_or(self.costs.len() as f64 * self.len * MIN_SHARE, |cliff| {
                Parameter::SlcCache.spec().tolerance * self.written_before(cliff)
            });
        if self.before > 0.5 * stated {
            let why = "the drive was written before it was filled in order, which may have used up a part of an \
                              SLC cache";
            return Finding::unknown(Parameter::SlcCache, why).runs(self.runs.iter().copied());
        }
        let Some(cliff) = cliff else { return self.none() };
        if !self.class_is_known {
            let why = "the first writes of the fill are faster, but this may be an SLC cache or log blocks";
            return Finding::unknown(Parameter::SlcCache, why).runs(self.runs.iter().copied());
        }
        if !self.buffer_is_known {
            let why = "the first writes of the fill are faster, but the number of writes that a write \
                                  buffer took is not known";
            return Finding::unknown(Parameter::SlcCache, why).runs(self.runs.iter().copied());
        }
        let written = self.written_before(&cliff);
        let (value, off) = (written - self.buffer, self.len);
        if self.map.is_some_and(|map| (value - map).abs() < 0.15 * map + 2.0 * self.len) {
            return Finding::absent(Parameter::SlcCache, 0.94).runs(self.runs.iter().copied()).because(
                "the drive fills faster while its memory has free map entries, and at a constant speed \
                                afterwards",
            );
        }
        if value < 2.0 * self.len {
            return self.none();
        }
        let because = format!(
            "the first {:.1} MiB of the fill are written at {:.0} MiB/s, the remainder at {:.0} MiB/s{}",
            written / 1_048_576.0,
            self.len / cliff.low * 1e9 / 1_048_576.0,
            self.len / cliff.high * 1e9 / 1_048_576.0,
            if self.buffer > 0.0 { "; the content of the write buffer is subtracted" } else { "" }
        );
        Finding::value(Parameter::SlcCache, value, value - off, value + off, self.sure(&cliff))
            .because(because)
            .runs(self.runs.iter().copied())
    }

    /// Returns true if the writes before a cliff are as fast as the first writes, which a write
    /// buffer took.
    fn is_of_memory(&self, cliff: &Cliff) -> bool {
        let skipped = self.in_buffer();
        if skipped == 0 || cliff.at <= skipped {
            return cliff.at <= skipped;
        }
        let memory = median(&self.costs[..skipped.div_ceil(2)]);
        median(&self.costs[skipped..cliff.at]) < 1.2 * memory
    }

    /// Returns the probability that a cliff is real, and that its position is within the tolerance.
    fn sure(&self, cliff: &Cliff) -> f64 {
        let clear = (cliff.high / cliff.low / CLIFF).ln().max(0.0);
        #[allow(clippy::cast_precision_loss, reason = "a drive has few such writes")]
        let coarse = 0.5 / (cliff.at as f64 * Parameter::SlcCache.spec().tolerance);
        (0.985 - 0.3 * (-6.0 * clear).exp() - 0.1 * coarse.min(2.0)).max(0.5)
    }

    fn none(&self) -> Finding {
        let sure = if self.buffer_is_known { 0.98 } else { 0.9 };
        Finding::absent(Parameter::SlcCache, sure)
            .because("the drive fills at a constant speed from beginning to end")
            .runs(self.runs.iter().copied())
    }

    pub(super) fn picture(&self, title: &str) -> Signal {
        let mut written = 0.0;
        let points = self.costs.iter().map(|cost| {
            written += self.len / 1_048_576.0;
            (written, cost / 1e6)
        });
        let points: Vec<(f64, f64)> = points.collect();
        Signal::new(title, "MiB written", "response time (ms)", Shape::Points)
            .series("writes", points)
    }
}

/// Returns the cliff after the first `skipped` writes.
fn cliff(costs: &[f64], skipped: usize) -> Option<Cliff> {
    // A cell stores one bit in the cache and three bits outside. Even a cache of all cells would
    // hold only a third of the drive: later steps are due to cleaning.
    let costs = costs.get(skipped..2 * costs.len() / 3)?;
    let about = about(costs)?;
    let at = first_slow(costs, about).unwrap_or(about);
    let (low, high) = (mean(&costs[..at.max(1)]), mean(&costs[at..]));
    (at >= 1 && high >= CLIFF * low).then_some(Cliff { at: at + skipped, low, high })
}

/// Returns the first slow write around a step, if slow writes are rare enough to blur the step.
/// This happens when a drive empties a full cache in whole blocks.
fn first_slow(costs: &[f64], about: usize) -> Option<usize> {
    let mut before = costs[..about].to_vec();
    before.sort_unstable_by(f64::total_cmp);
    let slow = 1.3 * before[(before.len() - 1) * 19 / 20];
    let slow_writes: Vec<usize> =
        (about * 6 / 10..costs.len()).filter(|i| costs[*i] > slow).collect();
    let gap = |pair: &[usize]| u32::try_from(pair[1] - pair[0]).map_or(f64::MAX, f64::from);
    let behind = slow_writes.windows(2).filter(|pair| pair[0] >= about);
    let gaps: Vec<f64> = behind.map(gap).collect();
    // A hiccup is far from the next slow write.
    let near = 2.0 * median(&gaps) + 2.0;
    let first = slow_writes.windows(2).find(|pair| gap(pair) <= near)?[0];
    (first < 2 * about && median(&gaps) > 1.5).then_some(first)
}

/// Returns the position at which a series steps up, in its first half, by least squares; `None` if
/// the step is too small.
#[allow(clippy::cast_precision_loss, reason = "a drive has few such writes")]
fn about(costs: &[f64]) -> Option<usize> {
    let total: f64 = costs.iter().sum();
    let (mut below, mut best) = (0.0, (0.0, None));
    for at in 1..costs.len() {
        below += costs[at - 1];
        if at < MIN_WRITES || at > costs.len() / 2 {
            continue;
        }
        let (n, m) = (at as f64, (costs.len() - at) as f64);
        let (before, after) = (below / n, (total - below) / m);
        let between = n * m / (n + m) * (after - before).powi(2);
        if after >= CLIFF * before && between > best.0 {
            best = (between, Some(at));
        }
    }
    best.1
}

#[allow(clippy::cast_precision_loss, reason = "a drive has few such writes")]
fn mean(costs: &[f64]) -> f64 {
    costs.iter().sum::<f64>() / costs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(costs: &[f64], buffer: f64) -> FillCosts<'_> {
        FillCosts {
            runs: &[1],
            costs,
            len: 131_072.0,
            buffer,
            buffer_is_known: true,
            map: None,
            class_is_known: true,
            before: 0.0,
        }
    }

    /// Generates a fill of 900 writes with one hiccup, at one level up to `full` and at another
    /// from there on.
    fn two_levels(full: usize, high: f64) -> Vec<f64> {
        let level = |i: usize| if i < full { 2e6 } else { high };
        let mut costs: Vec<f64> = (0..900).map(level).collect();
        costs.iter_mut().step_by(3).for_each(|cost| *cost += 5e4);
        costs[20] += 9e6;
        costs
    }

    fn value(finding: &Finding) -> Option<f64> {
        match finding.answer {
            crate::Answer::Value { value, .. } => Some(value / 131_072.0),
            _ => None,
        }
    }

    // In the second fill, one write in ten is much slower because blocks are moved.
    #[test]
    fn cliffs_of_all_writes_and_of_some_are_found() {
        assert_eq!(value(&fill(&two_levels(80, 5e6), 0.0).finding()), Some(80.5));
        let mut folds = two_levels(80, 2e6);
        (85..900).step_by(10).for_each(|i| folds[i] = 40e6);
        let found = value(&fill(&folds, 0.0).finding()).unwrap();
        assert!((80.0..=90.0).contains(&found), "{found}");
    }

    #[test]
    fn level_fills_late_steps_and_buffers_are_no_cache() {
        assert_eq!(value(&fill(&two_levels(900, 5e6), 0.0).finding()), None);
        assert_eq!(value(&fill(&two_levels(700, 5e6), 0.0).finding()), None);
        let buffered = two_levels(18, 5e6);
        assert_eq!(value(&fill(&buffered, 16.0 * 131_072.0).finding()), None);
    }

    // Writes before the fill may have gone to the cache: neither its size nor its absence is known
    // then.
    #[test]
    fn earlier_writes_make_the_cache_unknown() {
        let (with, without) = (two_levels(80, 5e6), two_levels(900, 5e6));
        for costs in [&with, &without] {
            let unknown = FillCosts { before: 131_072.0 * 40.0, ..fill(costs, 0.0) };
            assert!(!unknown.finding().is_known());
        }
        let barely = FillCosts { before: 4096.0, ..fill(&with, 0.0) };
        assert_eq!(value(&barely.finding()), Some(80.5));
    }

    #[test]
    fn the_buffer_is_not_counted_as_cache() {
        let mut costs = two_levels(80, 5e6);
        costs[..16].fill(0.5e6);
        assert_eq!(value(&fill(&costs, 16.0 * 131_072.0).finding()), Some(64.5));
    }
}
