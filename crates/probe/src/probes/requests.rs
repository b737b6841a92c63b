//! The cost of requests by length: the cost per block of a long request, and the longest request
//! that is carried out as one.

mod strides;

use std::collections::BTreeMap;
use std::ops::Range;

use self::strides::Strides;
use crate::levels::within_errors;
use crate::outcome::Outcome;
use crate::{
    Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, standard_error,
};
use flashscope_document::probe::{Shape, Signal};

/// The unit of lengths in bytes, as in Sun and Zhang.
const BLOCK: u64 = 4096;

/// Maximum length of a read to try, in blocks.
const MAX_BLOCKS: u64 = 160;

/// Maximum length of a request to find, in blocks; some reads must be longer.
const LONGEST_FOUND: u64 = 136;

/// Minimum usual difference in length between two compared reads, in blocks. The short stride is
/// at most half as long.
const MIN_STRIDE: u64 = 16;

/// The initial number of reads of each length.
const SAMPLES: u64 = 12;

/// Maximum number of rounds, each with twice the reads of the previous round. Rounds end when the
/// length at which the drive cuts requests is known.
const ROUNDS: u32 = 3;

/// The lengths of writes in blocks, up to Sun and Zhang's longest, and the number of writes of each
/// length.
const WRITTEN: [u64; 14] = [1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 21, 24, 27, 30];
const WRITES: u64 = 6;

/// The offset of writes, in blocks: `WITHIN` after a multiple of `APART`. The longest write is then
/// within one segment, if segments are at least as large as in the paper.
const WITHIN: u64 = 16;
const APART: u64 = 64;

/// Minimum write budget that must remain before these writes, as a multiple of their bytes.
const MIN_BUDGET_RATIO: u64 = 20;

/// Minimum number of standard errors at which an effect counts as certain.
const SURE: f64 = 5.0;

/// The minimum probability of a finding, and the maximum probability that reads can give.
const MIN_PROBABILITY: f64 = 0.6;
const MAX_PROBABILITY: f64 = 0.99;

/// The probability at which the probe stops reading.
const ENOUGH: f64 = 0.9;

/// Usual cut lengths in blocks, in addition to powers of two: 240 sectors are the most that many
/// hosts request of a USB drive at once.
const USUAL: [u64; 2] = [30, 60];

/// The prior odds of a cut at a usual length and at any other length, against no cut.
const USUAL_LENGTH: f64 = 0.15;
const ANY_LENGTH: f64 = 0.004;

/// The number of values to try for the cost of an additional request.
const HEIGHTS: u32 = 24;

/// Maximum misfit of a cut, as a multiple of the misfit that noise causes.
const MAX_MISFIT: f64 = 4.0;

/// Minimum cost of an additional request, as a share of a read of one block. Cheaper splits do not
/// appear in the costs.
const MIN_REQUEST_COST: f64 = 0.06;

pub(super) const PROBE: Probe = Probe {
    name: "requests",
    summary: "reads of 4 to 640 KiB: cost by length, with a closer look at each step that may be a \
                 split; and writes of 4 to 120 KiB for comparison",
    source: "Sun and Zhang, section 4.4, Figures 16 to 19",
    finds: &[Parameter::BlockCost, Parameter::LargestRequest],
    assumes: &[Parameter::PageSize, Parameter::Parallelism, Parameter::Chunk],
    writes: false,
    cost: |scene, _| scene.cost(MAX_BLOCKS * SAMPLES * 4, 0, 0),
    run,
};

/// The costs of reads by length in blocks.
type Costs = BTreeMap<u64, Vec<f64>>;

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    lab.ensure_filled()?;
    if lab.capacity() < MAX_BLOCKS * BLOCK {
        return Ok(PROBE.unknown("the drive is too small for long reads").into());
    }
    let strides = Strides::of(knowledge);
    let (mut costs, mut runs) = (Costs::new(), Vec::new());
    let mut largest = Finding::unknown(Parameter::LargestRequest, "nothing was read");
    for round in 0..ROUNDS {
        let lengths = repeated(1..=MAX_BLOCKS, (SAMPLES << lab.attempt) << round);
        runs.push(read(lab, "reads of each length", lengths, &mut costs)?);
        largest = self::largest(&costs, &strides);
        if largest.probability >= ENOUGH {
            break;
        }
    }
    largest.signals = Large::Reads.pictures(&costs, &largest).into();
    if let Some((costs, run)) = write(lab)? {
        runs.push(run);
        largest.signals.extend(Large::Writes.pictures(&costs, &largest));
    }
    largest.runs = runs;
    let cost = block_cost(&costs, &strides, &largest).shown_by(&largest);
    Ok(vec![cost, largest].into())
}

/// Returns each length, `times` times.
fn repeated(lengths: impl Iterator<Item = u64>, times: u64) -> Vec<u64> {
    lengths.flat_map(|n| (0..times).map(move |_| n)).collect()
}

/// Makes reads of the given lengths in random order, all from the first byte on. The map, address
/// groups and chunks then have no effect.
fn read(
    lab: &mut Lab<'_>,
    purpose: &str,
    mut lengths: Vec<u64>,
    costs: &mut Costs,
) -> Result<u32, Halt> {
    lab.rng.shuffle(&mut lengths);
    let reads = lengths.into_iter().map(|n| Request::read(0, n * BLOCK));
    let run = lab.run(purpose, reads)?;
    for record in &run.records {
        costs.entry(record.len.0 / BLOCK).or_default().push(Run::nanos(record));
    }
    Ok(run.number)
}

/// Makes writes of each length at random offsets, each after a short write to the same offset. On a
/// drive with log segments, the short write waits for the merge. Returns the costs of the second
/// writes and the number of the run. Returns `None` if the drive is too small, a write fails, or
/// other probes need the budget.
fn write(lab: &mut Lab<'_>) -> Result<Option<(Costs, u32)>, Halt> {
    let places = lab.capacity() / BLOCK / APART;
    let blocks: u64 = WRITTEN.iter().map(|n| (1 + n) * WRITES).sum();
    if places == 0 || lab.left().bytes.0 < MIN_BUDGET_RATIO * blocks * BLOCK {
        return Ok(None);
    }
    let mut lengths = repeated(WRITTEN.into_iter(), WRITES);
    lab.rng.shuffle(&mut lengths);
    let pairs: Vec<Request> = lengths
        .into_iter()
        .flat_map(|n| {
            let at = (lab.rng.u64(..places) * APART + WITHIN) * BLOCK;
            [Request::write(at, BLOCK), Request::write(at, n * BLOCK)]
        })
        .collect();
    let run = match lab.run("writes of each length, each after a short one", pairs) {
        Ok(run) => run,
        // The result of the reads is valid without the writes.
        Err(Halt::Budget | Halt::Failed { .. }) => return Ok(None),
        Err(halt) => return Err(halt),
    };
    let mut costs = Costs::new();
    for record in run.records.iter().skip(1).step_by(2) {
        costs.entry(record.len.0 / BLOCK).or_default().push(Run::nanos(record));
    }
    Ok(Some((costs, run.number)))
}

fn cost(costs: &Costs, blocks: u64) -> f64 {
    costs.get(&blocks).map_or(0.0, |costs| median(costs))
}

/// Returns the standard error of the cost of reads of one length.
fn error(costs: &Costs, blocks: u64) -> f64 {
    costs.get(&blocks).map_or(f64::INFINITY, |costs| standard_error(costs))
}

/// The difference in cost between two reads whose lengths differ by a stride. `length` is the
/// shorter of the two lengths.
struct Difference {
    length: u64,
    cost: f64,
    variance: f64,
}

fn differences(costs: &Costs, stride: u64) -> Vec<Difference> {
    let of = |length| Difference {
        length,
        cost: cost(costs, length + stride) - cost(costs, length),
        variance: error(costs, length + stride).powi(2) + error(costs, length).powi(2) + 1.0,
    };
    // Shorter reads may not keep all units busy.
    (stride / 2..=MAX_BLOCKS - stride).map(of).collect()
}

/// A cut: a length at which the drive may divide requests. The cost of a read rises with each
/// multiple of the length that the read crosses.
#[derive(Debug, Clone, Copy)]
struct Cut {
    at: u64,
    /// The cost of each part beyond the cost of its blocks.
    height: f64,
    error: f64,
    /// The unexplained variance of the differences, as a multiple of the variance of noise.
    misfit: f64,
}

impl Cut {
    fn of(differences: &[Difference], at: u64, stride: u64) -> Cut {
        // Returns true if the longer read crosses one more multiple of the cut than the stride
        // alone requires.
        let over = |d: &Difference| {
            let multiples = |length: u64| (length - 1) / at;
            (multiples(d.length + stride) - multiples(d.length)) > stride / at
        };
        let level = |beyond: bool| {
            let chosen = differences.iter().filter(|d| over(d) == beyond);
            let (sum, weight) = chosen.fold((0.0, 0.0), |(sum, weight), d| {
                (sum + d.cost / d.variance, weight + 1.0 / d.variance)
            });
            (sum / weight, weight)
        };
        let ((high, n), (low, m)) = (level(true), level(false));
        let (height, variance) = (high - low, 1.0 / n + 1.0 / m);
        if !variance.is_finite() {
            return Cut { at, height: 0.0, error: f64::INFINITY, misfit: f64::INFINITY };
        }
        // Deviations that are small relative to the cut do not count against it, however little
        // noise there is.
        let slack = (0.1 * height).powi(2);
        let rest = |d: &Difference| {
            (d.cost - if over(d) { high } else { low }).powi(2) / (d.variance + slack)
        };
        let misfit = differences.iter().map(rest).sum::<f64>() / differences.len() as f64;
        // Neighbouring differences share reads and are not independent, which doubles the variance.
        Cut { at, height, error: (2.0 * variance).sqrt(), misfit }
    }

    /// Returns the log-odds of the cut against no cut. An additional request may cost anything
    /// within `heights`, and some cut lengths are more usual than others.
    fn weight(&self, heights: &Range<f64>) -> f64 {
        let variance = self.error.powi(2) * self.misfit.max(1.0);
        if !variance.is_finite() {
            return f64::MIN;
        }
        let gain = |height: f64| (self.height - height / 2.0) * height / variance;
        let tried = (0..HEIGHTS).map(|nth| {
            let part = f64::from(nth) / f64::from(HEIGHTS - 1);
            heights.start * (heights.end / heights.start).powf(part)
        });
        let gains: Vec<f64> = tried.map(gain).collect();
        // If there is little noise, the tried heights are too far apart to hit the peak, and the
        // peak itself counts as one.
        let peak = gain(self.height.clamp(heights.start, heights.end));
        let sum: f64 = gains.iter().map(|gain| (gain - peak).exp()).sum();
        let usual = self.at.is_power_of_two() || USUAL.contains(&self.at);
        let prior = if usual { USUAL_LENGTH } else { ANY_LENGTH };
        peak + (sum.max(1.0) / f64::from(HEIGHTS)).ln() + prior.ln()
    }
}

/// The likeliest cut, its probability, and the probability that there is no cut.
struct Likely {
    cut: Cut,
    probability: f64,
    absent: f64,
}

/// Returns the possible costs of one more request.
fn heights(costs: &Costs) -> Range<f64> {
    MIN_REQUEST_COST * cost(costs, 1)..cost(costs, 1)
}

fn likeliest(costs: &Costs, strides: &Strides) -> Likely {
    let cuts: Vec<Cut> = strides
        .each()
        .flat_map(|(stride, lengths)| {
            let differences = differences(costs, stride);
            lengths.map(|at| Cut::of(&differences, at, stride)).collect::<Vec<_>>()
        })
        .collect();
    let heights = heights(costs);
    let weight = |cut: &Cut| cut.weight(&heights);
    let best = cuts.iter().reduce(|a, b| if weight(b) > weight(a) { b } else { a });
    let best = best.expect("there are lengths to try");
    // A multiple of the true length of a split looks like a split, too.
    let divides = |cut: &&Cut| best.at.is_multiple_of(cut.at) && cut.height > 0.75 * best.height;
    let best = cuts.iter().find(divides).unwrap_or(best);
    // To avoid overflow, weights are relative to the best weight, which may be the weight 0 of no
    // cut.
    let most = cuts.iter().map(weight).fold(0.0, f64::max);
    let share = |log: f64| (log - most).exp();
    let total: f64 = share(0.0) + cuts.iter().map(|cut| share(weight(cut))).sum::<f64>();
    let [probability, absent] = [weight(best), 0.0].map(|log| share(log) / total);
    Likely { cut: *best, probability, absent }
}

/// Returns how much less one read costs than two reads that cover the same blocks, in units of the
/// height of the cut, and the error of this saving. The saving is 0 if the drive cuts the read
/// there.
fn saving(costs: &Costs, cut: &Cut) -> (f64, f64) {
    let (saved, error) = saved(costs, cut.at);
    (saved / cut.height, error / cut.height)
}

/// Returns how much less one read costs than two reads that cover the same blocks, the first of
/// `at` blocks, in nanoseconds, and the error of this saving.
fn saved(costs: &Costs, at: u64) -> (f64, f64) {
    let rests = (1..=MIN_STRIDE).filter(|rest| at + rest <= MAX_BLOCKS);
    let saved: Vec<f64> =
        rests.map(|rest| cost(costs, at) + cost(costs, rest) - cost(costs, at + rest)).collect();
    (saved.iter().sum::<f64>() / saved.len() as f64, error(costs, at) * 1.5)
}

/// Returns true if the drive may cut reads at a length that no stride shows: at that length, one
/// read costs as much as two.
fn may_hide_cuts(costs: &Costs, strides: &Strides) -> bool {
    strides.blind().into_iter().any(|at| {
        let (saved, error) = saved(costs, at);
        saved < (SURE * error).max(heights(costs).start)
    })
}

/// Returns the cost of a block in reads that are carried out as one, from reads whose lengths
/// differ by a stride and that have the same number of parts.
fn block_cost(costs: &Costs, strides: &Strides, largest: &Finding) -> Finding {
    let cut = largest.answer.whole().map_or(MAX_BLOCKS + 1, |bytes| bytes / BLOCK);
    let fits = |stride: &u64| 2 * stride < cut.min(MAX_BLOCKS);
    let choice = [Some(strides.long), strides.short, Some(strides.round.max(4))];
    let Some(stride) = choice.into_iter().flatten().find(fits) else {
        let why = "no read that is executed as one is long enough to keep all units busy";
        return Finding::unknown(Parameter::BlockCost, why);
    };
    if !largest.is_known() && may_hide_cuts(costs, strides) {
        let why = "the drive may split reads at a length that does not show, and each part adds to the cost";
        return Finding::unknown(Parameter::BlockCost, why);
    }
    let parts = |length: u64| (length - 1) / cut;
    let mut within = differences(costs, stride);
    within.retain(|d| parts(d.length) == parts(d.length + stride));
    // If the drive may cut requests at an unknown length, a few differences are too large, which
    // the median ignores.
    let (value, error) = match largest.is_known() {
        true => mean_slope(costs, &within, stride),
        false => median_slope(&within, stride),
    };
    let tolerance = Parameter::BlockCost.spec().tolerance * value;
    let probability = 0.985 * within_errors(tolerance / error);
    if value <= 0.0 || probability < MIN_PROBABILITY {
        return Finding::unknown(Parameter::BlockCost, "long reads vary by more than blocks cost");
    }
    Finding::value(
        Parameter::BlockCost,
        value,
        value - 1.96 * error,
        value + 1.96 * error,
        probability,
    )
    .because(format!("the slope of the cost of reads by length, over {} KiB", stride * 4))
}

/// Returns the mean of slopes, weighted by their precision, and its standard error.
fn mean_slope(costs: &Costs, differences: &[Difference], stride: u64) -> (f64, f64) {
    let (mut sum, mut total) = (0.0, 0.0);
    // The weight of each length's cost: most are subtracted once and added once.
    let mut counted: BTreeMap<u64, f64> = BTreeMap::new();
    for difference in differences {
        let weight = difference.variance.recip();
        sum += weight * difference.cost;
        total += weight;
        *counted.entry(difference.length + stride).or_default() += weight;
        *counted.entry(difference.length).or_default() -= weight;
    }
    let variance = counted.iter().map(|(length, weight)| (weight * error(costs, *length)).powi(2));
    let scale = (total * stride as f64).recip();
    (sum * scale, variance.sum::<f64>().sqrt() * scale)
}

/// Returns the median of slopes, and its standard error.
fn median_slope(differences: &[Difference], stride: u64) -> (f64, f64) {
    let slopes: Vec<f64> = differences.iter().map(|d| d.cost / stride as f64).collect();
    // Neighbouring slopes share reads: only one slope in `stride` is independent.
    let error = standard_error(&slopes) * (stride as f64).sqrt();
    (median(&slopes), error)
}

fn largest(costs: &Costs, strides: &Strides) -> Finding {
    let parameter = Parameter::LargestRequest;
    if strides.long > MAX_BLOCKS / 2 {
        return Finding::unknown(
            parameter,
            "reads would have to be longer to cover the units twice",
        );
    }
    let Likely { cut, probability, absent } = likeliest(costs, strides);
    if probability > absent {
        let (saving, error) = saving(costs, &cut);
        if cut.misfit > MAX_MISFIT || saving > 0.5 && error < 0.2 {
            return Finding::unknown(
                parameter,
                "steps in the cost of reads come from chunks of the flash",
            );
        }
        // If strides are not whole rounds over the units, chunks can look like cuts; only the
        // saving distinguishes the two.
        let most = if strides.known || cut.at > MIN_STRIDE { 0.6 } else { 0.35 };
        if probability < MIN_PROBABILITY || saving - error > most {
            return Finding::unknown(
                parameter,
                "reads vary too much to show where long ones are split",
            );
        }
        let sure =
            MAX_PROBABILITY * probability.min(1.0 - 0.04 * (SURE * cut.error / cut.height).powi(2));
        return Finding::exact(parameter, (cut.at * BLOCK) as f64, sure).because(format!(
            "each multiple of that length that a read crosses takes {:.0} us ({:.0} standard errors)",
            cut.height / 1e3,
            cut.height / cut.error
        ));
    }
    if absent < MIN_PROBABILITY {
        return Finding::unknown(
            parameter,
            "reads vary too much to show whether long ones are split",
        );
    }
    if may_hide_cuts(costs, strides) {
        return Finding::unknown(
            parameter,
            "the step of a split may hide in the steps of the flash units",
        );
    }
    Finding::absent(parameter, 0.98 * absent).because(format!(
        "no step in the cost of reads up to {} KiB is higher than {:.0} us",
        LONGEST_FOUND * 4,
        (cut.height + 3.0 * cut.error) / 1e3
    ))
}

/// The kind of requests in a chart of cost against length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Large {
    Reads,
    Writes,
}

impl Large {
    /// Returns two charts: long requests compared with short requests for the same bytes, and the
    /// cost of long requests per block.
    fn pictures(self, costs: &Costs, largest: &Finding) -> [Signal; 2] {
        let [compared, per_block] = match self {
            Large::Reads => [
                "One large read compared with many small ones (Sun and Zhang, Figure 16)",
                "Large reads: cost per 4 KiB (Sun and Zhang, Figure 17)",
            ],
            Large::Writes => [
                "One large write compared with many small ones (Sun and Zhang, Figure 18)",
                "Large writes: cost per 4 KiB (Sun and Zhang, Figure 19)",
            ],
        };
        let points = |of: &dyn Fn(u64) -> f64| {
            costs.keys().map(|n| (*n as f64 * 4.0, of(*n) / 1e6)).collect::<Vec<_>>()
        };
        let compared = Signal::new(compared, "length (KiB)", "response time (ms)", Shape::Line)
            .series("one request", points(&|n| cost(costs, n)))
            .series("as many requests of 4 KiB", points(&|n| n as f64 * cost(costs, 1)));
        let per_block =
            Signal::new(per_block, "length (KiB)", "response time per 4 KiB (ms)", Shape::Line)
                .series("one request", points(&|n| cost(costs, n) / n as f64));
        let longest = costs.keys().last().map_or(0, |n| n * BLOCK);
        [compared, per_block].map(|signal| match largest.answer.whole() {
            Some(bytes) if bytes <= longest => {
                signal.mark(bytes as f64 / 1024.0, "longest request")
            }
            _ => signal,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Answer;

    use super::*;

    /// Generates the costs of reads of a drive that cuts reads at the length `cut` and spreads
    /// pages of 8 KiB over `units` units.
    fn drive(cut: u64, units: u64, noise: f64) -> Costs {
        let mut rng = fastrand::Rng::with_seed(5);
        let part = |blocks: u64| {
            let pages = blocks.div_ceil(2).div_ceil(units);
            60e3 + 40e3 * pages as f64 + 20e3 * blocks as f64
        };
        let cost = |blocks: u64| {
            let whole = blocks / cut;
            part(cut) * whole as f64
                + if blocks.is_multiple_of(cut) { 0.0 } else { part(blocks % cut) }
        };
        let mut costs = Costs::new();
        for blocks in 1..=MAX_BLOCKS {
            let vary = |_| cost(blocks) * (1.0 + noise * (rng.f64() - 0.5));
            costs.insert(blocks, (0..100).map(vary).collect());
        }
        costs
    }

    const PLAIN: fn(u64) -> Strides = |units| Strides::around(units * 8192, 8192);

    #[test]
    fn the_largest_request_is_found_or_absent() {
        for cut in [16, 30, 60, 64, 128] {
            let finding = largest(&drive(cut, 1, 0.05), &PLAIN(1));
            let right = Finding::exact(Parameter::LargestRequest, (cut * BLOCK) as f64, 1.0);
            assert!(finding.agrees_with(&right), "{cut}: {finding:?}");
        }
        let finding = largest(&drive(1 << 20, 1, 0.05), &PLAIN(1));
        assert!(
            finding.agrees_with(&Finding::absent(Parameter::LargestRequest, 1.0)),
            "{finding:?}"
        );
    }

    #[test]
    fn steps_from_rounds_over_units_are_no_cuts() {
        for units in [2, 4, 8, 16] {
            let unknown = Strides::of(&Knowledge::default());
            let finding = largest(&drive(1 << 20, units, 0.02), &unknown);
            assert!(!matches!(finding.answer, Answer::Value { .. }), "{units}: {finding:?}");
        }
    }

    // All lengths that the estimator compares differ by a multiple of the cut.
    #[test]
    fn cuts_that_divide_every_stride_are_not_denied() {
        for noise in [0.0, 0.02] {
            for (cut, units) in [(8, 1), (4, 1), (32, 16), (16, 8), (16, 16)] {
                let (costs, strides) = (drive(cut, units, noise), PLAIN(units));
                let largest = largest(&costs, &strides);
                let right = Finding::exact(Parameter::LargestRequest, (cut * BLOCK) as f64, 1.0);
                assert!(!largest.is_known() || largest.agrees_with(&right), "{cut}: {largest:?}");
                let cost = block_cost(&costs, &strides, &largest);
                assert!(!cost.is_known() || largest.is_known(), "{cut}: {cost:?}");
            }
        }
    }

    #[test]
    fn the_block_cost_is_the_slope_whatever_a_request_costs() {
        for cut in [16, 30, 64, 1 << 20] {
            let finding = block_cost(
                &drive(cut, 1, 0.05),
                &PLAIN(1),
                &largest(&drive(cut, 1, 0.05), &PLAIN(1)),
            );
            assert!(
                finding.agrees_with(&Finding::exact(Parameter::BlockCost, 40e3, 1.0)),
                "{cut}: {finding:?}"
            );
        }
    }
}
