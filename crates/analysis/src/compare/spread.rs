//! The intervals of measured numbers, from the spread between runs of the same pattern.
//!
//! A run begins where the runs before it left the drive. Response times within a run do not show
//! how much this changes them: of 28 pairs of results of one simulated drive with single runs, all
//! differed beyond the intervals from within the runs. Three repeats of a pattern may agree by
//! chance, and repeats of a sequential pattern are the same IOs. The spread is therefore pooled
//! over all patterns of a result with the same operation and quantity, unless a pattern varies
//! significantly more than the others. It is at least the error of the mean within a run. A pattern
//! that ran once has the pooled spread, and no interval if no pattern was repeated.
//!
//! Percentiles of writes have no interval. Garbage collection decides them, and its progress
//! depends on the preparation of the drive, which the repeats of a result share. In six results of
//! one simulated drive, the 99th percentile of a sequential pattern differed by a factor of 17, and
//! that of a random pattern by a factor of 1.3, while the repeats in each result agreed.

use flashscope_block::{Bytes, Op};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Spread;

use super::name::WorkloadName;
use super::numbers::{Number, PERCENTILES, Window, WorkloadNumbers};

/// The values of the runs of a workload.
pub(super) struct RepeatedWorkload {
    pub name: WorkloadName,
    /// The value of each run, by quantity.
    pub quantities: Vec<(Quantity, Vec<f64>)>,
    /// The target space, if the workload is random and its space is known.
    pub space: Option<Bytes>,
    /// The counted IOs of a run.
    pub window: Window,
    /// The error of the mean response time of a run, from the response times within it.
    pub within: Option<Spread>,
}

/// The spread of a workload, with its operation and its quantity.
struct KnownSpread {
    of: (Option<Op>, Quantity),
    spread: Spread,
}

/// Returns the means of runs with their intervals.
pub(super) fn numbers(workloads: Vec<RepeatedWorkload>) -> Vec<WorkloadNumbers> {
    let known = |workload: &RepeatedWorkload| {
        let op = workload.name.operation();
        let spreads = workload.quantities.iter().filter_map(move |(quantity, values)| {
            Some(KnownSpread { of: (op, *quantity), spread: Spread::of(values)? })
        });
        spreads.collect::<Vec<_>>()
    };
    let known: Vec<KnownSpread> = workloads.iter().flat_map(known).collect();
    let of_workload = |workload: RepeatedWorkload| {
        let op = workload.name.operation();
        let reads_alone = workload.name.part.is_none() && op == Some(Op::Read);
        let numbers = workload.quantities.into_iter().filter_map(|(quantity, values)| {
            let others = known.iter().filter(|known| known.of == (op, quantity));
            let spreads: Vec<Spread> = others.map(|known| known.spread).collect();
            let is_percentile = PERCENTILES.contains(&quantity);
            let number = match is_percentile && !reads_alone {
                true => Number::alone(mean(&values)),
                false => number(&values, &spreads, workload.within.filter(|_| !is_percentile))?,
            };
            Some((quantity, number))
        });
        let (space, window) = (workload.space, Some(workload.window));
        WorkloadNumbers { name: workload.name, numbers: numbers.collect(), space, window }
    };
    workloads.into_iter().map(of_workload).collect()
}

/// Returns the mean of runs. `spreads` are those of all workloads with the same operation, this one
/// included. The error of the mean is at least `within`.
pub(super) fn number(values: &[f64], spreads: &[Spread], within: Option<Spread>) -> Option<Number> {
    let own = Spread::of(values);
    let others = own.and_then(|own| Spread::pooled(&without(spreads, own)));
    let exceeds = own.zip(others).is_some_and(|(own, others)| own.exceeds(&others));
    let Some(spread) = (if exceeds { own } else { Spread::pooled(spreads) }) else {
        return (values.len() == 1).then(|| Number::alone(values[0]));
    };
    let between = spread.mean_of(values)?;
    let least = within.and_then(|within| {
        let value = within.mean_of(&[mean(values)])?;
        Some(Number { value, freedom: within.freedom })
    });
    let wider = least.filter(|least| least.value.half_width() > between.half_width());
    Some(wider.unwrap_or(Number { value: between, freedom: spread.freedom }))
}

#[allow(clippy::cast_precision_loss, reason = "a few runs")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns all spreads but one.
fn without(spreads: &[Spread], one: Spread) -> Vec<Spread> {
    let mut others = spreads.to_vec();
    if let Some(position) = others.iter().position(|other| *other == one) {
        others.swap_remove(position);
    }
    others
}
