//! Fits a plan into a budget.

use flashscope_block::{Bytes, DeviceInfo, Nanos};
use flashscope_document::manifest::{MicroBenchmark, Options};
use flashscope_document::methodology::Methodology;
use flashscope_document::plan::{Costs, Estimate};
use flashscope_workload::uflip;

use crate::estimate::estimate;
use crate::plan::plan_every;

/// Maximum step through the values of a parameter: the plan contains at least one value in this
/// many.
const WIDEST_STEP: usize = 4;

/// A plan that fits the budget.
#[derive(Debug)]
pub struct BudgetedPlan {
    /// The options, with as many repeats as the budget allows.
    pub options: Options,
    /// The runs.
    pub micro_benchmarks: Vec<MicroBenchmark>,
    /// The cost of the runs.
    pub estimate: Estimate,
    /// The parts that were left out, as text for the user.
    pub left_out: Vec<String>,
}

/// The error for a budget that even the smallest useful plan exceeds.
#[derive(Debug, thiserror::Error)]
#[error(
    "the budget cannot be met: the smallest useful plan takes {time} and writes {bytes}, {states} of it to \
     bring the drive into its state; allow more, use less of the drive with {less}, or leave its \
     state with --state keep"
)]
pub struct Unaffordable {
    time: Nanos,
    bytes: Bytes,
    states: Bytes,
    less: &'static str,
}

impl Unaffordable {
    /// Creates the error from the cost of the smallest plan on a space of `size`; the option `less`
    /// makes that space smaller.
    pub(crate) fn least(least: &Estimate, size: Bytes, less: &'static str) -> Unaffordable {
        let (takes, states) = (least.expected, Bytes(least.states * size.0));
        Unaffordable { time: takes.time_ns, bytes: takes.bytes_written, states, less }
    }
}

/// Plans the runs of `benchmarks` that fit into the budget of the options. If not all fit, it drops
/// repeats first, then intermediate parameter values, then micro-benchmarks from the last on.
///
/// # Errors
/// If even the smallest plan does not fit.
pub fn fitting(
    benchmarks: &[&uflip::MicroBenchmark],
    options: &Options,
    device: &DeviceInfo,
    read_only: bool,
    costs: &Costs,
) -> Result<BudgetedPlan, Unaffordable> {
    let mut tried = None;
    for reduction in reductions(benchmarks, &options.methodology) {
        let methodology = Methodology { repeats: reduction.repeats, ..options.methodology };
        let options = Options { methodology, ..options.clone() };
        let kept = &benchmarks[..reduction.benchmarks];
        let micro_benchmarks = plan_every(reduction.step, kept, &options, device, read_only);
        let estimate = estimate(&micro_benchmarks, &options, costs);
        if fits(&estimate, &methodology) {
            let left_out = reduction.left_out(benchmarks, tried.is_some());
            return Ok(BudgetedPlan { options, micro_benchmarks, estimate, left_out });
        }
        tried = Some(estimate);
    }
    let least = tried.unwrap_or_default();
    Err(Unaffordable::least(&least, options.setup.target_size, "--target-size"))
}

/// Returns true if a plan with this estimate keeps within the budget.
pub(crate) fn fits(estimate: &Estimate, methodology: &Methodology) -> bool {
    let (budget, takes) = (methodology.budget, estimate.expected);
    budget.time_ns.is_none_or(|time| takes.time_ns <= time)
        && budget.bytes.is_none_or(|bytes| takes.bytes_written <= bytes)
}

/// A smaller version of a plan.
struct Reduction {
    repeats: u32,
    step: usize,
    benchmarks: usize,
}

impl Reduction {
    fn left_out(&self, all: &[&uflip::MicroBenchmark], any: bool) -> Vec<String> {
        let mut left_out = Vec::new();
        if any {
            left_out.push(format!("repeats: each run is executed {} times", self.repeats));
        }
        if self.step > 1 {
            left_out.push(format!("values of parameters: only one in {} is measured", self.step));
        }
        left_out.extend(all[self.benchmarks..].iter().map(|benchmark| benchmark.name.to_string()));
        left_out
    }
}

/// Returns smaller and smaller versions of the plan.
fn reductions(
    benchmarks: &[&uflip::MicroBenchmark],
    methodology: &Methodology,
) -> impl Iterator<Item = Reduction> {
    let all = benchmarks.len();
    let repeats = (1..=methodology.repeats).rev();
    let fewer_repeats = repeats.map(move |repeats| Reduction { repeats, step: 1, benchmarks: all });
    let steps = (2..=WIDEST_STEP).map(move |step| Reduction { repeats: 1, step, benchmarks: all });
    let prepares = benchmarks.first().is_some_and(|first| first.name == uflip::PREPARATION.name);
    let least = if prepares { 2.min(all) } else { 1 };
    let step = WIDEST_STEP;
    let fewer =
        (least..all).rev().map(move |benchmarks| Reduction { repeats: 1, step, benchmarks });
    fewer_repeats.chain(steps).chain(fewer)
}
