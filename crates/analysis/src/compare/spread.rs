//! The intervals of measured numbers, from the spread between runs of the same pattern.
//!
//! A run begins where the runs before it left the drive. Response times within a run do not show
//! how much this changes them: of 28 pairs of results of one simulated drive with single runs, all
//! differed beyond the intervals from within the runs. Three repeats of a pattern may agree by
//! chance. The spread is therefore pooled over all patterns of a result with the same operation and
//! quantity, unless a pattern varies significantly more than the others. A pattern that ran once
//! has the pooled spread, and no interval if no pattern was repeated.

use flashscope_block::{Bytes, Op};
use flashscope_document::what_if::Quantity;
use flashscope_stats::Spread;

use super::name::{What, WorkloadName};
use super::numbers::{Number, WorkloadNumbers};

/// The values of the runs of a workload.
pub(super) struct RepeatedWorkload {
    pub name: WorkloadName,
    /// The value of each run, by quantity.
    pub quantities: Vec<(Quantity, Vec<f64>)>,
    /// The target space, if the workload is random and its space is known.
    pub space: Option<Bytes>,
}

/// The spread of a workload, with its operation and its quantity.
struct KnownSpread {
    of: (Option<Op>, Quantity),
    spread: Spread,
}

/// Returns the means of runs with their intervals.
pub(super) fn numbers(workloads: Vec<RepeatedWorkload>) -> Vec<WorkloadNumbers> {
    let known = |workload: &RepeatedWorkload| {
        let op = op(&workload.name);
        let spreads = workload.quantities.iter().filter_map(move |(quantity, values)| {
            Some(KnownSpread { of: (op, *quantity), spread: Spread::of(values)? })
        });
        spreads.collect::<Vec<_>>()
    };
    let known: Vec<KnownSpread> = workloads.iter().flat_map(known).collect();
    let of_workload = |workload: RepeatedWorkload| {
        let op = op(&workload.name);
        let numbers = workload.quantities.into_iter().filter_map(|(quantity, values)| {
            let others = known.iter().filter(|known| known.of == (op, quantity));
            let spreads: Vec<Spread> = others.map(|known| known.spread).collect();
            Some((quantity, number(&values, &spreads)?))
        });
        WorkloadNumbers { name: workload.name, numbers: numbers.collect(), space: workload.space }
    };
    workloads.into_iter().map(of_workload).collect()
}

/// Returns the mean of runs. `spreads` are those of all workloads with the same operation, this one
/// included.
pub(super) fn number(values: &[f64], spreads: &[Spread]) -> Option<Number> {
    let own = Spread::of(values);
    let others = own.and_then(|own| Spread::pooled(&without(spreads, own)));
    let exceeds = own.zip(others).is_some_and(|(own, others)| own.exceeds(&others));
    let spread = if exceeds { own } else { Spread::pooled(spreads) };
    match (spread, values) {
        (Some(spread), _) => {
            Some(Number { value: spread.mean_of(values)?, freedom: spread.freedom })
        }
        (None, [value]) => Some(Number::alone(*value)),
        (None, _) => None,
    }
}

/// Returns all spreads but one.
fn without(spreads: &[Spread], one: Spread) -> Vec<Spread> {
    let mut others = spreads.to_vec();
    if let Some(position) = others.iter().position(|other| *other == one) {
        others.swap_remove(position);
    }
    others
}

/// Returns the operation of a workload; `None` for several.
fn op(name: &WorkloadName) -> Option<Op> {
    name.part.or(match name.what {
        What::Pattern { reads_percent: 0, .. } => Some(Op::Write),
        What::Pattern { reads_percent: 100, .. } => Some(Op::Read),
        _ => None,
    })
}
