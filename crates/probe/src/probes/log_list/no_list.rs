//! Drives whose merges no list of log segments explains: they map pages, share log segments between
//! all segments, or have as many log segments as groups.

use super::{MIN_MERGE_RATIO, PROBE, TRIMS_ALONE, TURNS, Trial, spread_out, stated_cost, unknown};
use crate::probes::segment::with_flushes;
use crate::{Finding, Halt, Parameter, Request, median};
use flashscope_document::probe::{Shape, Signal};

/// Returns the findings for a drive that no list explains: either it maps pages freely, or its log
/// segments take pages of any segment.
pub(super) fn without_list(
    trial: &mut Trial<'_, '_>,
    has_segment: bool,
    buffered: bool,
) -> Result<Vec<Finding>, Halt> {
    let starts = first_pages(trial, buffered)?;
    let cut = MIN_MERGE_RATIO * median(&starts.inside);
    let fast = starts.likelihood_of_fast(cut);
    let signal = starts.signal();
    let state = |finding: Finding, because: &str, runs: &[u32]| {
        finding.because(because).runs(runs.iter().copied()).signal(signal.clone())
    };
    if fast > 0.5 && has_segment {
        const SHARED: &str = "log segments are shared by all segments";
        const WHY: &str = "writes to the first pages of segments merge and writes to other pages do not, \
                                  whatever the number of segments";
        let cost = shared_merge_cost(trial)?;
        let class = Finding::class(Parameter::FtlClass, "fast", fast);
        let mut found = vec![state(class, WHY, &trial.runs), cost.signal(signal.clone())];
        found.extend(unknown(
            &[Parameter::LogList, Parameter::LogEviction, Parameter::OpenPartitions],
            SHARED,
        ));
        return Ok(found);
    }
    let trims = takes_trims(trial)?;
    if !has_segment && (fast > 0.5 || !trims) {
        return Ok(PROBE.unknown("the probe needs the size of a segment, which is not known"));
    }
    if !trims {
        let cost = shared_merge_cost(trial)?;
        if cost.is_known() && trial.rounds_merge() {
            const WHY: &str = "writes to one page merge, and so do rounds over many segments, but in an order \
                               that no list of log segments explains";
            return Ok(PROBE.unknown(WHY));
        }
        if cost.is_known() {
            return Ok(few_groups(trial, cost, &signal));
        }
    }
    if !trims && buffered {
        const WHY: &str = "no write costs more because of its segment, but a write buffer may collect \
                           whole segments before the drive writes them";
        return Ok(PROBE.unknown(WHY));
    }
    let hidden = trims && buffered && trial.flushes_do_nothing()?;
    // If the size of a segment is unknown, the evidence is weaker. If a buffer hides merges, the
    // only evidence against log segments is TRIM support, which few drives with log segments have.
    let probability = (1.0 - fast) * if has_segment { 1.0 } else { 0.97 };
    let probability = if hidden { TRIMS_ALONE * probability } else { probability };
    let why = match hidden {
        true => {
            "the drive accepts trims, and no write costs more because of its segment, as far as a buffer \
                        that ignores flushes lets the costs show"
        }
        false => {
            "no write costs more because of its segment, however many segments are written in turns"
        }
    };
    let class = Finding::class(Parameter::FtlClass, "page-mapped", probability);
    let mut found = vec![state(class, why, &trial.runs)];
    for absent in [
        Parameter::LogList,
        Parameter::LogEviction,
        Parameter::MergeCost,
        Parameter::OpenPartitions,
    ] {
        found.push(state(Finding::absent(absent, probability), why, &trial.runs));
    }
    Ok(found)
}

/// Returns true if the drive supports trimming a page; writes the page again afterwards.
pub(super) fn takes_trims(trial: &mut Trial<'_, '_>) -> Result<bool, Halt> {
    let (offset, size) = (trial.inside(0), trial.size);
    match trial.lab.run("trim a page", [Request::trim(offset, size), Request::write(offset, size)])
    {
        Ok(_) => Ok(true),
        Err(Halt::Failed { .. }) => Ok(false),
        Err(halt) => Err(halt),
    }
}

/// Returns the findings for a drive with as many log segments as groups of segments: rounds never
/// need another log segment, but repeated writes to one page merge.
fn few_groups(trial: &Trial<'_, '_>, cost: Finding, signal: &Signal) -> Vec<Finding> {
    let class = Finding::class(Parameter::FtlClass, "groups-of-blocks", 0.85 * cost.probability)
        .because("rounds over many segments do not merge, but many writes to one page do")
        .runs(trial.runs.iter().copied())
        .signal(signal.clone());
    let mut found = vec![class, cost.signal(signal.clone())];
    found.extend(unknown(
        &[Parameter::LogList, Parameter::LogEviction, Parameter::OpenPartitions],
        "there are more log segments than the groups of segments can fill",
    ));
    found
}

/// The costs of writes to first pages of segments and to other pages, in turn.
struct Starts {
    /// The costs of the writes to first pages.
    first: Vec<f64>,
    /// The costs of the writes to other pages.
    inside: Vec<f64>,
}

/// Writes alternately to the first pages of distant segments and to pages inside other segments.
/// With each first page, FAST begins a sequential log segment, and merges the previous sequential
/// log segment.
fn first_pages(trial: &mut Trial<'_, '_>, buffered: bool) -> Result<Starts, Halt> {
    let many = 16.min(trial.places / 2);
    let segments = spread_out(&mut trial.lab.rng, trial.places, many);
    let unit = trial.unit;
    // With a buffer, write to pages that were not written before, because the buffer may still hold
    // the earlier pages. Without a buffer, write to the page inside again: with a second page of a
    // segment in the log, a merge would concern both pages.
    let other = |trial: &Trial<'_, '_>, segment: u64| match buffered {
        true => segment * unit + unit / 4 / trial.size * trial.size,
        false => trial.inside(segment),
    };
    let offsets: Vec<u64> = segments
        .iter()
        .enumerate()
        .flat_map(|(nth, s)| [s * unit, other(trial, segments[segments.len() - 1 - nth])])
        .collect();
    let run = trial.write("first pages of segments, and other pages", offsets.into_iter())?;
    let costs = with_flushes(&run);
    let (first, inside) =
        (costs.iter().copied().step_by(2), costs.iter().copied().skip(1).step_by(2));
    // Skip the first write: there may be no sequential log segment before it.
    Ok(Starts { first: first.skip(1).collect(), inside: inside.collect() })
}

impl Starts {
    /// Returns the probability that writes to first pages merge and writes to other pages do not,
    /// against the hypothesis that all writes are alike.
    #[allow(clippy::cast_precision_loss, reason = "writes are few")]
    fn likelihood_of_fast(&self, cut: f64) -> f64 {
        let slow = |costs: &[f64]| costs.iter().filter(|cost| **cost > cut).count() as f64;
        let (first, inside) = (slow(&self.first), slow(&self.inside));
        let (n, m) = (self.first.len() as f64, self.inside.len() as f64);
        let term = |count: f64, all: f64, share: f64| {
            count * share.ln() + (all - count) * (1.0 - share).ln()
        };
        let alike = (first + inside + 0.5) / (n + m + 1.0);
        let as_fast = term(first, n, 0.95) + term(inside, m, 0.05);
        let as_other = term(first, n, alike) + term(inside, m, alike);
        let odds = (0.5 * (as_fast - as_other)).clamp(-4.5, 4.5).exp();
        odds / (1.0 + odds)
    }

    #[allow(clippy::cast_precision_loss, reason = "writes are few")]
    fn signal(&self) -> Signal {
        let points = |costs: &[f64]| {
            costs.iter().enumerate().map(|(n, c)| (n as f64, c / 1e6)).collect::<Vec<_>>()
        };
        Signal::new(
            "Writes to first pages of segments and to pages inside",
            "write",
            "response time (ms)",
            Shape::Points,
        )
        .series("first pages", points(&self.first))
        .series("pages inside", points(&self.inside))
    }
}

/// Estimates the cost of a merge if all segments share the log segments. Each log segment is filled
/// with writes to one page, so that its merge concerns one segment.
fn shared_merge_cost(trial: &mut Trial<'_, '_>) -> Result<Finding, Halt> {
    let each = trial.unit / trial.size;
    let turns = TURNS.min(trial.lab.capacity() / 4 / trial.unit).max(4);
    let segments = spread_out(&mut trial.lab.rng, trial.places, turns.min(trial.places));
    let offsets: Vec<u64> = segments
        .iter()
        .flat_map(|segment| {
            std::iter::repeat_n(trial.inside(*segment), usize::try_from(each).unwrap_or(0))
        })
        .collect();
    let run = trial.write("one page of each segment repeatedly", offsets.into_iter())?;
    let costs = with_flushes(&run);
    // By the last four segments, the earlier writes of this run have replaced the older contents of
    // the log segments.
    const LAST: usize = 4;
    let from = costs.len() - costs.len() * LAST / segments.len();
    let mut last = costs[from..].to_vec();
    last.sort_unstable_by(|a, b| b.total_cmp(a));
    let cheap = median(&last);
    // A merge without valid data is only an erasure, which costs far less.
    let least = (0.6 * median(&last[..LAST.min(last.len())])).max(MIN_MERGE_RATIO * cheap);
    let slow: Vec<f64> = last.into_iter().filter(|cost| *cost > least).collect();
    if slow.len() < 2 {
        return Ok(Finding::unknown(Parameter::MergeCost, "no write waited for a merge"));
    }
    Ok(stated_cost(&slow, cheap).runs(trial.runs.last().copied()))
}
