//! The probe for the segment size. When the host writes in order, slow writes recur at the distance
//! of a segment.

use flashscope_block::Op;

use crate::outcome::Outcome;
use crate::period::{MIN_BLOCK, Period, period, recurrence, slow};
use crate::{Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, Scene};
use flashscope_document::probe::{Shape, Signal};

/// The length of the writes in bytes if the page is not known: at least as long as any observed
/// page.
const WRITE: u64 = 16 << 10;

/// The shortest writes in bytes, as in Sun and Zhang.
const MIN_WRITE: u64 = 4 << 10;

/// The number of bytes overwritten before the first search for a period.
const FIRST: u64 = 8 << 20;

/// Maximum number of bytes in measured writes. Longer writes fill the rest of a trimmed drive.
const MAX_WRITTEN: u64 = 1 << 30;

pub(super) const PROBE: Probe = Probe {
    name: "segment",
    summary: "trims the drive, if it supports TRIM, writes in order, and measures the distance between \
                 writes that wait for a merge or an erase",
    source: "Sun and Zhang, section 3.4, Figures 5 and 6",
    finds: &[Parameter::Segment],
    assumes: &[Parameter::PageSize, Parameter::WriteBufferKind, Parameter::Parallelism],
    writes: true,
    cost,
    run,
};

/// The size of the writes that fill a trimmed drive after [`MAX_WRITTEN`].
const REST_WRITE: u64 = 128 << 10;

fn cost(scene: &Scene, knowledge: &Knowledge) -> crate::Cost {
    let (size, capacity) = (write_size(knowledge), scene.capacity.0);
    let in_order = scene.cost(0, capacity.min(MAX_WRITTEN) / size, size);
    let rest = scene.cost(0, capacity.saturating_sub(MAX_WRITTEN) / REST_WRITE, REST_WRITE);
    crate::Cost { written: in_order.written + rest.written, time: in_order.time + rest.time }
}

fn write_size(knowledge: &Knowledge) -> u64 {
    knowledge.whole(Parameter::PageSize).unwrap_or(WRITE).max(MIN_WRITE)
}

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    const WHY: &str = "no writes in order took longer than the others at equal distances";
    let blocks = knowledge.class(Parameter::WriteBufferKind) == Some("blocks");
    if blocks && knowledge.whole(Parameter::Parallelism) != Some(1) {
        const WHY: &str = "the write buffer evicts blocks, which hides how much all units write before \
                                  each has to erase";
        return Ok(vec![Finding::unknown(Parameter::Segment, WHY)].into());
    }
    // If a buffer evicts blocks, a flush after each write would make the drive write a whole block
    // each time.
    let flushed = match lab.attempt {
        0 => !blocks,
        1 if !blocks && knowledge.whole(Parameter::Segment).is_none() => false,
        _ => return Ok(Outcome::default()),
    };
    lab.ensure_filled()?;
    let size = write_size(knowledge);
    // A drive that supports TRIM probably maps pages. After a trim, its costs do not include copies
    // of valid pages.
    let segment = match write_to_trimmed(lab, size, flushed)? {
        Some(segment) => segment,
        None => overwrite(lab, size)?,
    };
    let buffered = !knowledge.lacks(Parameter::WriteBuffer);
    if segment.as_ref().is_some_and(|segment| buffered && segment.follows_evictions()) {
        const WHY: &str = "slow writes come at several positions of each period, and the order in which a write \
                           buffer evicts data explains them as well as segments do";
        return Ok(vec![Finding::unknown(Parameter::Segment, WHY)].into());
    }
    Ok(vec![
        segment.map_or_else(|| Finding::unknown(Parameter::Segment, WHY), SegmentPeriod::state),
    ]
    .into())
}

/// A period in the costs of writes in order.
struct SegmentPeriod {
    size: u64,
    period: Period,
    costs: Vec<f64>,
    trimmed: bool,
    runs: Vec<u32>,
}

impl SegmentPeriod {
    /// Returns true if the slow writes may come from the evictions of a write buffer rather than
    /// from the ends of segments.
    fn follows_evictions(&self) -> bool {
        !self.trimmed && self.period.phases.len() > 1
    }

    fn probability(&self) -> f64 {
        let Period { count, kept, explained, doubt, .. } = &self.period;
        // If another period were true, either each slow write would be at the expected position by
        // chance, or half of the slow writes would be missing.
        let chance = 0.5f64.powi(i32::try_from(*count).unwrap_or(8).min(8) - 1);
        let trimmed = if self.trimmed { 1.0 } else { 0.995 };
        let clear = (0.9 + 0.1 * kept) * (0.85 + 0.15 * explained.min(1.0));
        (1.0 - chance) * clear * trimmed * (1.0 - doubt)
    }

    #[allow(clippy::cast_precision_loss, reason = "sizes of segments are far below 2^53")]
    fn state(self) -> Finding {
        let Period { length, count, phases, .. } = &self.period;
        let period = *length;
        let length = if self.trimmed { period } else { between_boundaries(period, phases) };
        let slow = (phases.len() * length).div_ceil(period);
        let bytes = length as u64 * self.size;
        let because = format!(
            "of writes of {} bytes in order{}, {slow} in every {length} took longer than the others, for {count} \
                        periods",
            self.size,
            if self.trimmed { " to the trimmed drive" } else { "" },
        );
        let shown = self.costs.iter().take(8 * length).enumerate();
        let mut sum = 0.0;
        let sums: Vec<(f64, f64)> = shown
            .clone()
            .map(|(nth, cost)| {
                sum += cost / 1e6;
                ((nth as u64 * self.size) as f64 / 1024.0, sum)
            })
            .collect();
        let each = Signal::new(
            "Writes in order: cost of each (Sun and Zhang, Figure 5)",
            "trial",
            "response time (ms)",
            Shape::Points,
        )
        .series("writes", shown.map(|(nth, cost)| (nth as f64, cost / 1e6)))
        .mark(length as f64, "segment");
        let total = Signal::new(
            "Writes in order: cumulative cost (Sun and Zhang, Figure 6)",
            "KiB written",
            "cumulative response time (ms)",
            Shape::Line,
        )
        .series("writes", sums)
        .mark(bytes as f64 / 1024.0, "segment");
        Finding::exact(Parameter::Segment, bytes as f64, self.probability())
            .because(because)
            .runs(self.runs)
            .signal(each)
            .signal(total)
    }
}

/// Returns the largest part of a period such that slow writes are at the boundaries of parts.
///
/// If segments share log segments, not every boundary is slow, and a period is a group of segments.
/// Merges never occur inside a segment, however.
fn between_boundaries(length: usize, phases: &[usize]) -> usize {
    let at_boundary = |phase: usize, part: usize| (phase + 1) % part <= 2;
    let parts = (1..=8).filter(|n| length.is_multiple_of(*n) && length / n > 4).map(|n| length / n);
    let mut fitting = parts.filter(|part| phases.iter().all(|phase| at_boundary(*phase, *part)));
    in_blocks(fitting.next().unwrap_or(length))
}

/// Rounds a length to a multiple of the smallest block, if such a multiple is near. A group whose
/// log segments fill up a few pages earlier each time shows a period that is too short.
fn in_blocks(length: usize) -> usize {
    let whole = (length + MIN_BLOCK / 2) / MIN_BLOCK * MIN_BLOCK;
    if length.abs_diff(whole) <= length / 32 { whole } else { length }
}

/// Overwrites the beginning of the drive in order, until a period shows or half of the drive is
/// overwritten, at most half of [`MAX_WRITTEN`].
fn overwrite(lab: &mut Lab<'_>, size: u64) -> Result<Option<SegmentPeriod>, Halt> {
    let most = (lab.capacity() / 2).min(MAX_WRITTEN / 2);
    let (mut costs, mut runs, mut next, mut until) = (Vec::new(), Vec::new(), 0, FIRST.min(most));
    loop {
        let writes = (next / size..until / size)
            .flat_map(|nth| [Request::write(nth * size, size), Request::flush()]);
        let run = lab.run("writes in order", writes)?;
        costs.extend(with_flushes(&run));
        runs.push(run.number);
        // Require many periods at first: the drive may merge leftover log segments only once it has
        // many of them.
        if let Some(period) = clear_period(&costs, 24) {
            return Ok(Some(SegmentPeriod { size, period, costs, trimmed: false, runs }));
        }
        if until >= most {
            break;
        }
        (next, until) = (until / size * size, (2 * until).min(most));
    }
    let clear = clear_period(&costs, 4);
    Ok(clear.map(|period| SegmentPeriod { size, period, costs, trimmed: false, runs }))
}

/// Returns a period that explains most slow writes and was observed at least `count` times.
fn clear_period(costs: &[f64], count: usize) -> Option<Period> {
    let period = period(&slow(costs), costs.len())?;
    (period.count >= count && period.score > 12.0 && period.explained > 0.3).then_some(period)
}

/// Returns the period of erasures, for writes that copy nothing.
fn recurring(costs: &[f64]) -> Option<Period> {
    let slow = slow(costs);
    if slow.len() > costs.len() / 8 {
        // If slow writes are this frequent, they do not wait for erasures.
        return None;
    }
    let clear = |period: &Period| period.score > 20.0;
    let folded = || clear_period(costs, 8).filter(|period| period.explained > 0.5);
    recurrence(&slow).filter(clear).or_else(folded)
}

/// Trims the drive and fills it again in order. Each new block then has to be erased, and nothing
/// has to be copied. If `flushed` is set, a flush after each write shows costs that a buffer would
/// hide.
///
/// Returns `None` if the drive does not support TRIM, and `Some(None)` if no period shows.
fn write_to_trimmed(
    lab: &mut Lab<'_>,
    size: u64,
    flushed: bool,
) -> Result<Option<Option<SegmentPeriod>>, Halt> {
    let capacity = lab.capacity();
    let step = 1 << 20;
    let trims = (0..capacity).step_by(step).map(|at| {
        let len = (capacity - at).min(step as u64);
        Request::trim(at, len)
    });
    let trims = trims.chain([Request::flush()]);
    let trimmed = match lab.run("trim the drive", trims) {
        Ok(run) => run.number,
        Err(Halt::Failed { .. }) => return Ok(None),
        Err(halt) => return Err(halt),
    };
    let slow = capacity.min(MAX_WRITTEN) / size;
    let writes = (0..slow)
        .flat_map(|nth| [Some(Request::write(nth * size, size)), flushed.then(Request::flush)]);
    let run = lab.run("writes in order to the trimmed drive", writes.flatten())?;
    #[allow(clippy::cast_possible_truncation, reason = "128 KiB")]
    let rest = (slow * size..capacity).step_by(REST_WRITE as usize);
    let rest = rest.map(|at| Request::write(at, (capacity - at).min(REST_WRITE)));
    lab.run("fill the remaining space in order", rest)?;
    let costs = with_flushes(&run);
    // Skip the first writes, which go to spare blocks that need not be erased.
    let from = costs.len() * 2 / 5;
    let runs = vec![trimmed, run.number];
    let segment = recurring(&costs[from..]).map(|period| SegmentPeriod {
        size,
        period,
        costs: costs[from..].to_vec(),
        trimmed: true,
        runs,
    });
    Ok(Some(segment))
}

/// Returns the cost of each write, including the flushes after it.
pub(crate) fn with_flushes(run: &Run) -> Vec<f64> {
    let mut costs = Vec::new();
    for record in &run.records {
        match (record.op, costs.last_mut()) {
            (Op::Flush, Some(last)) => *last += Run::nanos(record),
            _ => costs.push(Run::nanos(record)),
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    // The boundary may be off by one write: the last write before it or the first write after it.
    #[test]
    fn segments_are_found_within_periods_of_groups() {
        assert_eq!(between_boundaries(64, &[63]), 64);
        assert_eq!(between_boundaries(64, &[16, 31, 47, 63]), 16);
        assert_eq!(between_boundaries(512, &[256, 384]), 128);
        assert_eq!(between_boundaries(64, &[37]), 64);
        // The log segments of each group are full three pages before the end of a segment.
        assert_eq!(between_boundaries(125, &[60]), 128);
    }
}
