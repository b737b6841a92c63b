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

use flashscope_block::Op;
use flashscope_document::what_if::Quantity;
use flashscope_stats::{Spread, mean_of_repeats};

use super::numbers::{Number, PERCENTILES, RepeatedWorkload, WorkloadNumbers};

/// Returns the means of runs with their intervals.
pub(super) fn numbers(workloads: Vec<RepeatedWorkload>) -> Vec<WorkloadNumbers> {
    let mut known: Vec<((Option<Op>, Quantity), Spread)> = Vec::new();
    for workload in &workloads {
        for (quantity, values) in &workload.quantities {
            let of = (workload.name.operation(), *quantity);
            known.extend(Spread::of(values).map(|spread| (of, spread)));
        }
    }
    let of_workload = |workload: RepeatedWorkload| {
        let op = workload.name.operation();
        let reads_alone = workload.name.part.is_none() && op == Some(Op::Read);
        let numbers = workload.quantities.into_iter().filter_map(|(quantity, values)| {
            let is_percentile = PERCENTILES.contains(&quantity);
            if is_percentile && !reads_alone {
                return Some((quantity, Number::alone(mean_of_repeats(&values)?.value)));
            }
            let similar = known.iter().filter(|(of, _)| *of == (op, quantity));
            let spreads: Vec<Spread> = similar.map(|(_, spread)| *spread).collect();
            let within = workload.within.filter(|_| !is_percentile);
            Some((quantity, number(&values, &spreads, within)?))
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
        let value = within.mean_of(&[between.value])?;
        Some(Number { value, freedom: within.freedom })
    });
    let wider = least.filter(|least| least.value.half_width() > between.half_width());
    Some(wider.unwrap_or(Number { value: between, freedom: spread.freedom }))
}

/// Returns all spreads but one.
fn without(spreads: &[Spread], one: Spread) -> Vec<Spread> {
    let mut others = spreads.to_vec();
    if let Some(position) = others.iter().position(|other| *other == one) {
        others.swap_remove(position);
    }
    others
}
