//! The conclusions about concurrency: the queue depth from which a drive gains nothing more.

use flashscope_document::Manifest;
use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit};
use flashscope_document::facts::{DepthCell, DepthTable, Facts};
use flashscope_stats::Estimate;

use crate::deviation::{Answer, is_over};
use crate::words::{duration, ratio_text, rounded, with_interval};

/// The ratio of rates that counts as a gain.
const GAIN: f64 = 1.1;

/// Minimum number of depths of a curve.
const MIN_DEPTHS: usize = 3;

/// Returns a conclusion for the pattern that gains the most by concurrency, if any pattern ran at
/// several depths.
pub(super) fn conclusions(manifest: &Manifest, facts: &Facts) -> Option<Conclusion> {
    let curves = facts.depths.iter().flat_map(|table| {
        let by_size = table.cells.chunk_by(|a, b| a.io_size_bytes == b.io_size_bytes);
        by_size.filter(|cells| cells.len() >= MIN_DEPTHS).map(move |cells| (table, cells))
    });
    let gain = |cells: &[DepthCell]| {
        let rates = cells.iter().map(|cell| cell.iops.value);
        rates.fold(0.0, f64::max) / cells[0].iops.value
    };
    let (table, cells) = curves.max_by(|a, b| gain(a.1).total_cmp(&gain(b.1)))?;
    conclusion(manifest, table, cells)
}

fn conclusion(manifest: &Manifest, table: &DepthTable, cells: &[DepthCell]) -> Option<Conclusion> {
    let (first, last) = (cells.first()?, cells.last()?);
    let name = format!("{} of {}", table.pattern, first.io_size_bytes);
    let knee = knee(cells)?;
    let at = |cell: &DepthCell| {
        format!(
            "{} IOs a second with {} each",
            with_interval(&cell.iops, rounded),
            duration(cell.mean_latency_ns.value)
        )
    };
    let mut all = vec![
        rate(manifest, &name, knee, &knee.iops, EvidenceUnit::IosPerSecond),
        rate(manifest, &name, knee, &knee.mean_latency_ns, EvidenceUnit::Nanoseconds),
    ];
    let text = if knee.queue_depth == last.queue_depth {
        let gain = knee.iops.ratio(&first.iops)?;
        format!(
            "Keep many IOs in flight: at depth {}, the deepest measured, {name} reach {}, {} times the rate of depth {}.",
            knee.queue_depth,
            at(knee),
            ratio_text(&gain),
            first.queue_depth
        )
    } else {
        all.push(rate(manifest, &name, last, &last.mean_latency_ns, EvidenceUnit::Nanoseconds));
        let keep = match knee.queue_depth {
            1 => "Concurrency gains nothing".to_string(),
            depth => format!("Keep {depth} IOs in flight"),
        };
        format!(
            "{keep}: {name} reach {} at depth {}, and deeper queues gain at most {:.0} % while an IO takes {} at depth {}.",
            at(knee),
            knee.queue_depth,
            100.0 * (GAIN - 1.0),
            duration(last.mean_latency_ns.value),
            last.queue_depth
        )
    };
    Some(Conclusion::new(text, all))
}

/// Returns the shallowest depth over which every deeper depth certainly gains at most the factor
/// [`GAIN`]. Over each shallower depth, some deeper depth must certainly gain more. Returns `None`
/// if the intervals are inconclusive.
fn knee(cells: &[DepthCell]) -> Option<&DepthCell> {
    let gains = |nth: usize| {
        let later = cells[nth + 1..].iter();
        let ratios = later.filter_map(move |later| later.iops.ratio(&cells[nth].iops));
        ratios.map(|ratio| is_over(&ratio, GAIN)).collect::<Vec<_>>()
    };
    let is_flat = |nth: &usize| gains(*nth).iter().all(|answer| *answer == Answer::No);
    let knee = (0..cells.len()).find(is_flat)?;
    let is_certain = |nth: usize| gains(nth).contains(&Answer::Yes);
    (0..knee).all(is_certain).then(|| &cells[knee])
}

/// Returns `value` as evidence for a conclusion about a cell. The evidence links to the experiment
/// of the first run of the cell.
fn rate(
    manifest: &Manifest,
    name: &str,
    cell: &DepthCell,
    value: &Estimate,
    unit: EvidenceUnit,
) -> Evidence {
    let what = format!("{name} at depth {}", cell.queue_depth);
    let experiments = manifest.micro_benchmarks.iter().flat_map(|benchmark| {
        benchmark.experiments.iter().map(move |experiment| (benchmark, experiment))
    });
    let has_run =
        |id: u32| experiments.clone().find(|(_, one)| one.runs.iter().any(|run| run.id == id));
    let shown_by = cell.runs.first().and_then(|run| has_run(*run));
    let shown_by = shown_by.map_or(("", ""), |(b, e)| (b.name.as_str(), e.name.as_str()));
    Evidence::measured(what, *value, unit, shown_by, cell.runs.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashscope_block::Bytes;

    fn cells(iops: &[(u32, f64)], half: f64) -> Vec<DepthCell> {
        let cell = |(queue_depth, iops): &(u32, f64)| DepthCell {
            io_size_bytes: Bytes::kib(4),
            queue_depth: *queue_depth,
            iops: Estimate::symmetric(*iops, Some(half * iops)),
            throughput_bytes_per_s: Estimate::symmetric(4096.0 * iops, None),
            mean_latency_ns: Estimate::symmetric(f64::from(*queue_depth) / iops * 1e9, None),
            p99_latency_ns: 0.0,
            runs: vec![],
        };
        iops.iter().map(cell).collect()
    }

    fn knee_of(iops: &[(u32, f64)], half: f64) -> Option<u32> {
        knee(&cells(iops, half)).map(|cell| cell.queue_depth)
    }

    #[test]
    fn the_knee_is_the_shallowest_depth_that_deeper_ones_do_not_exceed() {
        let saturating = [(1, 10e3), (2, 20e3), (4, 39e3), (8, 40e3), (16, 40e3)];
        assert_eq!(knee_of(&saturating, 0.001), Some(4));
        assert_eq!(knee_of(&[(1, 10e3), (2, 10e3), (4, 10.1e3)], 0.001), Some(1));
        assert_eq!(knee_of(&[(1, 10e3), (2, 20e3), (4, 40e3)], 0.001), Some(4));
    }

    #[test]
    fn uncertain_rates_have_no_knee() {
        assert_eq!(knee_of(&[(1, 10e3), (2, 10.5e3), (4, 10.9e3)], 0.2), None);
    }

    #[test]
    fn the_sentence_says_which_depth_to_use() {
        let table = DepthTable {
            pattern: "random reads".into(),
            cells: cells(&[(1, 10e3), (4, 39e3), (16, 40e3)], 0.001),
        };
        let manifest = crate::scripted::manifest(vec![]);
        let found = conclusion(&manifest, &table, &table.cells).unwrap();
        assert_eq!(
            found.text,
            "Keep 4 IOs in flight: random reads of 4 KiB reach 39,000 IOs a second with 103 µs each at depth 4, and \
             deeper queues gain at most 10 % while an IO takes 400 µs at depth 16."
        );
        assert_eq!(found.evidence.len(), 3);
    }
}
