//! The queue depth of measurements, at which a twin predicts by default.

use std::collections::BTreeMap;

use flashscope_block::{Bytes, Device};
use flashscope_document::manifest::Progress;
use flashscope_document::twin::{DepthSource, Level, MeasuredDepth, Twin};
use flashscope_sim::Drive;
use flashscope_simulate::Work;
use flashscope_workload::state::Fill;
use flashscope_workload::synthetic::{self, Ios, Target, Workload};

use super::{FitError, MeasuredResult, drive_of};

/// The queue depth of a fill sweep that does not state it: the usual depth of programs that measure
/// throughput, such as fio.
const ASSUMED: u32 = 32;

/// Returns the queue depth of the measurements. The results of micro-benchmarks count before a fill
/// sweep. `swept` is the queue depth of levels that do not state it.
pub(super) fn measured(
    results: &[MeasuredResult],
    levels: &[Level],
    swept: Option<u32>,
) -> MeasuredDepth {
    let of_runs = results.iter().flat_map(of_runs).collect::<Vec<_>>();
    let of_levels = levels.iter().filter_map(|level| level.queue_depth.or(swept));
    let of_levels = of_levels.collect::<Vec<_>>();
    let usual = usual(&of_runs).or_else(|| usual(&of_levels));
    let all = of_runs.iter().chain(&of_levels).copied();
    let (least, most) = (all.clone().min(), all.max());
    MeasuredDepth {
        usual: usual.unwrap_or(ASSUMED),
        min: least.unwrap_or(ASSUMED),
        max: most.unwrap_or(ASSUMED),
        stated: usual.is_some(),
    }
}

/// Returns the IOs in flight of each complete run. Leaves out open loops, which have no fixed
/// number.
fn of_runs(result: &MeasuredResult) -> impl Iterator<Item = u32> + '_ {
    let runs = result.manifest.runs().filter(|run| matches!(run.progress, Progress::Done { .. }));
    let closed = runs.map(|run| &run.reference).filter(|reference| !reference.is_open_loop());
    closed.map(|reference| reference.in_flight())
}

/// Returns the most frequent of `depths`; of equally frequent depths, the smallest.
fn usual(depths: &[u32]) -> Option<u32> {
    let mut counts = BTreeMap::new();
    depths.iter().for_each(|depth| *counts.entry(*depth).or_insert(0) += 1);
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(depth, _)| depth)
}

/// Returns the queue depth of the measurements of a twin. A document of version 1 does not state
/// it. The depth is then 1 if the document lists runs. Otherwise, it is the largest that the drive
/// accepts: such a twin comes from a fill sweep, and predicts it correctly at this depth.
pub(super) fn of_twin(twin: &Twin) -> Result<MeasuredDepth, FitError> {
    if let Some(depth) = twin.queue_depth {
        return Ok(depth);
    }
    let (depth, stated) = match twin.runs.is_empty() {
        true => (drive_of(twin)?.interface.queue_depth, false),
        false => (1, true),
    };
    Ok(MeasuredDepth { usual: depth, min: depth, max: depth, stated })
}

/// Returns the workload of `work`, as it runs on `drive`.
pub(super) fn opened(work: &Work, drive: &Drive) -> Result<Workload, FitError> {
    let info = drive.info();
    let (capacity, logical_block): (Bytes, Bytes) = (info.capacity, info.logical_block);
    let target =
        Target { capacity, logical_block, filled: work.fill != Fill::None, seed: work.seed };
    let opened = synthetic::open(&work.workload, &target);
    opened.map_err(|error| FitError::Simulate(error.into()))
}

/// Returns `work` at the measured queue depth, unless the request, the workload or an open loop
/// determines it. Also returns the origin of the queue depth.
pub(super) fn at_measured(
    work: &Work,
    workload: &Workload,
    measured: MeasuredDepth,
    drive: &Drive,
) -> (Work, DepthSource) {
    let is_own = workload.queue_depth.is_some() || workload.open_loop;
    if is_own || matches!(workload.ios, Ios::Runs(_)) {
        return (work.clone(), DepthSource::Workload);
    }
    if work.queue_depth.is_some() {
        return (work.clone(), DepthSource::Request);
    }
    let depth = measured.usual.min(drive.info().queue_depth);
    let from = match measured.stated {
        true => DepthSource::Measurement,
        false => DepthSource::Assumption,
    };
    (Work { queue_depth: Some(depth), ..work.clone() }, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(queue_depth: Option<u32>) -> Level {
        Level {
            fill: Bytes::gib(1),
            write_amplification: None,
            bytes_per_second: Some(1e6),
            queue_depth,
        }
    }

    #[test]
    fn most_frequent_depth_of_a_sweep_is_its_usual_one() {
        let levels = [16, 4, 16, 64].map(|depth| level(Some(depth)));
        let expected = MeasuredDepth { usual: 16, min: 4, max: 64, stated: true };
        assert_eq!(measured(&[], &levels, None), expected);
    }

    #[test]
    fn unstated_depth_is_assumed_unless_the_caller_names_it() {
        let levels = [level(None); 3];
        let assumed = measured(&[], &levels, None);
        assert_eq!((assumed.usual, assumed.stated), (ASSUMED, false));
        let named = measured(&[], &levels, Some(8));
        assert_eq!((named.usual, named.stated), (8, true));
    }
}
