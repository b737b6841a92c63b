//! The trace over time, in bounded memory: the length of a step doubles when there would be too
//! many steps.

use crate::Request;
use flashscope_block::{Bytes, Nanos, Op};

use super::footprint::Pages;
use super::{PAGE, index};
use flashscope_document::trace::{ByteCounts, HeatMap, Requests, Series, Step};

/// The binary logarithm of the shortest step in nanoseconds.
const SHORTEST_STEP: u32 = 10;

/// The binary logarithm of the smallest height of a row in bytes.
const LOWEST_ROW: u32 = 12;

const MAX_STEPS: usize = 400;
const MAX_COLUMNS: usize = 200;
const MAX_ROWS: usize = 100;

/// The sums over a step.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    /// The requests by operation code.
    requests: [u64; 4],
    bytes: [u64; 4],
    new: Pages,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        for op in 0..4 {
            self.requests[op] += other.requests[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.new.add(other.new);
    }
}

/// The sums of each step.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    shift: u32,
    steps: Vec<Sums>,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { shift: SHORTEST_STEP, steps: Vec::with_capacity(MAX_STEPS) }
    }
}

impl Timeline {
    /// Adds requests at these times, in rising order.
    pub(super) fn push(&mut self, batch: &[Request], times: &[u64]) {
        let Some(last) = times.last() else { return };
        self.make_room(*last);
        for (request, time) in batch.iter().zip(times) {
            let step = &mut self.steps[index(time >> self.shift)];
            let op = usize::from(request.op.code());
            step.requests[op] += 1;
            step.bytes[op] = step.bytes[op].saturating_add(request.len.0);
        }
    }

    /// Adds new pages at the time of a request.
    pub(super) fn touch(&mut self, time: u64, new: Pages) {
        self.steps[index(time >> self.shift)].new.add(new);
    }

    fn make_room(&mut self, time: u64) {
        while time >> self.shift >= MAX_STEPS as u64 {
            self.shift += 1;
            let merge = |pair: &[Sums]| {
                let mut sum = pair[0];
                pair[1..].iter().for_each(|other| sum.add(other));
                sum
            };
            self.steps = self.steps.chunks(2).map(merge).collect();
        }
        let needed = index(time >> self.shift) + 1;
        if needed > self.steps.len() {
            self.steps.resize(needed, Sums::default());
        }
    }

    pub(super) fn facts(&self) -> Series {
        let mut so_far = Pages::default();
        let step = |sums: &Sums| {
            so_far.add(sums.new);
            let [reads, writes, trims, flushes] = sums.requests;
            let [read, written, trimmed, _] = sums.bytes.map(Bytes);
            let total = reads + writes + trims + flushes;
            Step {
                requests: Requests { total, reads, writes, trims, flushes },
                bytes: ByteCounts { read, written, trimmed },
                accessed_bytes: Bytes(so_far.accessed * PAGE),
                written_bytes: Bytes(so_far.written * PAGE),
            }
        };
        Series { step_ns: Nanos(1 << self.shift), steps: self.steps.iter().map(step).collect() }
    }
}

/// The bytes read and written, by time and address.
#[derive(Debug, Clone)]
pub(super) struct Map {
    column: u32,
    row: u32,
    columns: Vec<[[u64; 2]; MAX_ROWS]>,
    /// The highest end of an access, in bytes.
    highest: u64,
}

impl Default for Map {
    fn default() -> Self {
        Map { column: SHORTEST_STEP, row: LOWEST_ROW, columns: Vec::new(), highest: 0 }
    }
}

impl Map {
    /// Adds requests at these times, in rising order.
    pub(super) fn push(&mut self, batch: &[Request], times: &[u64]) {
        let Some(last) = times.last() else { return };
        self.make_room(*last);
        for (request, time) in batch.iter().zip(times) {
            let of = match request.op {
                Op::Read => 0,
                Op::Write => 1,
                Op::Trim | Op::Flush => continue,
            };
            let (mut at, end) = (request.offset.0, request.end().0);
            if at >= end {
                continue;
            }
            if end > self.highest {
                self.make_higher(end);
            }
            let column = &mut self.columns[index(time >> self.column)];
            while at < end {
                let row = at >> self.row;
                // The end of the request's part in this row. The arithmetic wraps, because the last
                // row ends at 2^64.
                let next = ((row + 1) << self.row).wrapping_sub(1).min(end - 1).wrapping_add(1);
                let cell = &mut column[index(row)][of];
                *cell = cell.saturating_add(next - at);
                at = next;
            }
        }
    }

    fn make_room(&mut self, time: u64) {
        while time >> self.column >= MAX_COLUMNS as u64 {
            self.column += 1;
            let merge = |pair: &[[[u64; 2]; MAX_ROWS]]| {
                let mut sum = pair[0];
                for (cell, more) in sum.iter_mut().zip(pair[1..].iter().flatten()) {
                    *cell = sum_of(*cell, *more);
                }
                sum
            };
            self.columns = self.columns.chunks(2).map(merge).collect();
        }
        let needed = index(time >> self.column) + 1;
        if needed > self.columns.len() {
            self.columns.resize(needed, [[0; 2]; MAX_ROWS]);
        }
    }

    #[cold]
    fn make_higher(&mut self, end: u64) {
        self.highest = end;
        while (end - 1) >> self.row >= MAX_ROWS as u64 {
            self.row += 1;
            for column in &mut self.columns {
                for row in 0..MAX_ROWS {
                    let pair = [2 * row, 2 * row + 1].map(|row| column.get(row).unwrap_or(&[0; 2]));
                    column[row] = sum_of(*pair[0], *pair[1]);
                }
            }
        }
    }

    pub(super) fn facts(&self) -> HeatMap {
        let rows = if self.highest == 0 { 0 } else { index((self.highest - 1) >> self.row) + 1 };
        let cells = |of: usize| {
            let columns = self.columns.iter().flat_map(|column| &column[..rows]);
            columns.map(|cell| cell[of]).collect()
        };
        HeatMap {
            column_ns: Nanos(1 << self.column),
            row_bytes: Bytes(1 << self.row),
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            read: cells(0),
            written: cells(1),
        }
    }
}

fn sum_of(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0].saturating_add(b[0]), a[1].saturating_add(b[1])]
}
