//! The disturbance map: the parts of the drive that runs have written since the state was last
//! enforced.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use flashscope_block::Bytes;
use flashscope_document::manifest::State;
use flashscope_workload::Stream;
use flashscope_workload::pattern::{Address, Pattern, Reference};

/// The granule of the map, a multiple of every usual flash block: a write disturbs all of the block
/// that it falls into.
pub(crate) const GRANULE: u64 = Bytes::MIB.0;

/// The way a part of the drive was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// In some order: sequentially, with an increment, or in partitions.
    Ordered,
    /// At random within a small area.
    Focused,
    /// At random within half of the space or more.
    Random,
}

/// A part of the drive that a run reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent {
    pub range: Range<u64>,
    /// The way the part is written; `None` if it is only read.
    pub written: Option<How>,
}

/// The disturbed parts of a space, each with the runs that wrote to it.
#[derive(Debug, Clone)]
pub(crate) struct DisturbanceMap {
    space: Range<u64>,
    state: State,
    /// Disjoint ranges by their start: the end, and the runs.
    disturbed: BTreeMap<u64, (u64, Vec<u32>)>,
}

impl DisturbanceMap {
    /// Creates the map of a space in its enforced state.
    pub(crate) fn new(space: Range<u64>, state: State) -> DisturbanceMap {
        DisturbanceMap { space, state, disturbed: BTreeMap::new() }
    }

    /// Removes all disturbed ranges, after the state was enforced.
    pub(crate) fn clear(&mut self) {
        self.disturbed.clear();
    }

    /// Returns the whole space.
    pub(crate) fn space(&self) -> Range<u64> {
        self.space.clone()
    }

    /// Marks the ranges that the first `ios` IOs of run `run` have written, if they change the
    /// state.
    pub(crate) fn note(&mut self, run: u32, reference: &Reference, ios: u64) {
        for extent in extents(reference, ios, &self.space) {
            if extent.written.is_some_and(|how| self.disturbs(how)) {
                self.insert(extent.range, run);
            }
        }
    }

    /// Returns true if a run disturbs the state.
    pub(crate) fn is_disturbed_by(&self, reference: &Reference) -> bool {
        let extents = extents(reference, 1, &self.space);
        extents.iter().any(|extent| extent.written.is_some_and(|how| self.disturbs(how)))
    }

    /// Returns true if writes of kind `how` change the state. Random writes preserve a random or
    /// steady state (uFLIP section 4.1); any write changes every other state.
    fn disturbs(&self, how: How) -> bool {
        how != How::Random || !matches!(self.state, State::Random | State::Steady)
    }

    fn insert(&mut self, range: Range<u64>, run: u32) {
        let (mut start, end) = (self.floor(range.start), self.ceil(range.end));
        self.split(start);
        self.split(end);
        let inside = self.disturbed.range_mut(start..end);
        let mut gaps = Vec::new();
        for (from, (to, runs)) in inside {
            if *from > start {
                gaps.push((start, *from));
            }
            if !runs.contains(&run) {
                runs.push(run);
            }
            start = *to;
        }
        if start < end {
            gaps.push((start, end));
        }
        self.disturbed.extend(gaps.into_iter().map(|(from, to)| (from, (to, vec![run]))));
    }

    /// Cuts the range that contains `at` in two.
    fn split(&mut self, at: u64) {
        let Some((_, (end, runs))) = self.disturbed.range_mut(..at).next_back() else { return };
        if *end > at {
            let rest = (*end, runs.clone());
            *end = at;
            self.disturbed.insert(at, rest);
        }
    }

    fn floor(&self, at: u64) -> u64 {
        at - (at - self.space.start.min(at)) % GRANULE
    }

    fn ceil(&self, at: u64) -> u64 {
        let rounded = (at - self.space.start.min(at)).next_multiple_of(GRANULE);
        (self.space.start + rounded).min(self.space.end).max(at)
    }

    /// Returns the disturbed ranges that overlap `range`, with their runs.
    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, &[u32])> {
        let before = self.disturbed.range(..range.start).next_back();
        let from =
            before.filter(|(_, (end, _))| *end > range.start).map_or(range.start, |(s, _)| *s);
        self.disturbed.range(from..range.end).map(|(start, (end, runs))| (*start..*end, &runs[..]))
    }

    /// Returns the runs that wrote to parts that the first `ios` IOs of a run touch.
    pub(crate) fn disturbers(&self, reference: &Reference, ios: u64) -> Vec<u32> {
        let extents = extents(reference, ios, &self.space);
        let all = extents.iter().flat_map(|extent| self.overlapping(&extent.range));
        let mut runs: Vec<u32> = all.flat_map(|(_, runs)| runs).copied().collect();
        runs.sort_unstable();
        runs.dedup();
        runs
    }

    /// Returns the start of the first undisturbed range of `size` bytes within `within`.
    pub(crate) fn undisturbed(&self, within: &Range<u64>, size: u64) -> Option<u64> {
        let mut start = within.start;
        for (disturbed, _) in self.overlapping(within) {
            if disturbed.start.saturating_sub(start) >= size {
                return Some(start);
            }
            start = start.max(disturbed.end);
        }
        (within.end.saturating_sub(start) >= size).then_some(start)
    }

    /// Returns the start of the range of `size` bytes within `within` that has the fewest disturbed
    /// bytes.
    pub(crate) fn least_disturbed(&self, within: &Range<u64>, size: u64) -> u64 {
        let ends = self.overlapping(within).map(|(disturbed, _)| disturbed.end);
        let starts = std::iter::once(within.start).chain(ends);
        let disturbed = |start: u64| -> u64 {
            let range = start..start + size;
            let all = self.overlapping(&range);
            all.map(|(range, _)| range.end.min(start + size) - range.start.max(start)).sum()
        };
        let fitting = starts.filter(|start| within.end.saturating_sub(*start) >= size);
        fitting.min_by_key(|start| disturbed(*start)).unwrap_or(within.start)
    }
}

/// Returns the parts of a drive that the first `ios` IOs of a reference touch. `space` is the space
/// that may be used. Returns nothing for blends, uniform writes, jobs and traces: their plans do
/// not use the map.
pub(crate) fn extents(reference: &Reference, ios: u64, space: &Range<u64>) -> Vec<Extent> {
    let whole = |pattern: &Pattern| {
        let (start, size) = (pattern.target_offset.0, pattern.target_size.0);
        vec![Extent { range: start..start + size, written: how(pattern, space) }]
    };
    match reference {
        Reference::Basic { pattern } => touched(pattern, ios, space),
        // The processes need not progress evenly: count the whole target space.
        Reference::Parallel { pattern, .. } => whole(pattern),
        Reference::Mixed { first, second, ratio } => {
            let rounds = ios.div_ceil(ratio.saturating_add(1));
            let firsts = rounds.saturating_mul(*ratio).min(ios);
            [touched(first, firsts, space), touched(second, rounds, space)].concat()
        }
        Reference::Sequence { patterns } => {
            let mut left = ios;
            let mut all = Vec::new();
            for pattern in patterns {
                let count = left.min(pattern.io_count);
                left -= count;
                all.extend(touched(pattern, count, space));
            }
            all
        }
        Reference::Blend { .. }
        | Reference::Uniform { .. }
        | Reference::Jobs { .. }
        | Reference::Trace { .. } => vec![],
    }
}

/// Returns the way a pattern writes, or `None` if it reads.
fn how(pattern: &Pattern, space: &Range<u64>) -> Option<How> {
    if !pattern.op.modifies() {
        return None;
    }
    let half = pattern.target_size.0.saturating_add(pattern.io_size.0).saturating_mul(2);
    Some(match pattern.address {
        Address::Random if half > space.end - space.start => How::Random,
        Address::Random => How::Focused,
        Address::Sequential | Address::Ordered { .. } | Address::Partitioned { .. } => How::Ordered,
    })
}

fn touched(pattern: &Pattern, ios: u64, space: &Range<u64>) -> Vec<Extent> {
    let written = how(pattern, space);
    let start = pattern.target_offset.0;
    let within =
        |size: u64| vec![Extent { range: start..start + size.min(pattern.target_size.0), written }];
    if ios == 0 {
        return vec![];
    }
    match pattern.address {
        Address::Random => within(pattern.target_size.0),
        Address::Sequential => {
            within(ios.saturating_mul(pattern.io_size.0).saturating_add(pattern.io_shift.0))
        }
        // A pattern that cannot run touches nothing.
        _ if pattern.slots() == 0 => vec![],
        Address::Ordered { .. } | Address::Partitioned { .. } => {
            granules(&Pattern { io_count: ios, ..*pattern }, space.start)
                .into_iter()
                .map(|range| Extent { range, written })
                .collect()
        }
    }
}

/// Returns the granules that a pattern touches, clipped to its target space. Joins adjacent
/// granules.
fn granules(pattern: &Pattern, origin: u64) -> Vec<Range<u64>> {
    let mut all: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut last_touched = None;
    let mut stream = pattern.stream(0);
    // An in-place pattern repeats one slot, and no pattern touches more than its slots.
    let most = pattern.slots();
    let mut seen = 0;
    while seen < most
        && let Some(io) = stream.next(flashscope_block::Nanos(0))
    {
        seen += 1;
        let first = io.offset.0.saturating_sub(origin) / GRANULE;
        let last = (io.end().0 - 1).saturating_sub(origin) / GRANULE;
        if last_touched.replace((first, last)) != Some((first, last)) {
            all.insert((first, last));
        }
    }
    let end = pattern.target_offset.0 + pattern.target_size.0;
    let mut joined: Vec<Range<u64>> = Vec::new();
    for (first, last) in all {
        let start = (origin + first * GRANULE).max(pattern.target_offset.0);
        let stop = (origin + (last + 1) * GRANULE).min(end);
        match joined.last_mut() {
            Some(before) if before.end >= start => before.end = before.end.max(stop),
            _ => joined.push(start..stop),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;
    use flashscope_workload::pattern::Timing;

    use super::*;

    const MIB: u64 = Bytes::MIB.0;

    fn pattern(op: Op, address: Address, offset: u64, size: u64) -> Pattern {
        Pattern {
            op,
            address,
            timing: Timing::Consecutive,
            io_size: Bytes::kib(32),
            io_shift: Bytes(0),
            target_offset: Bytes(offset * MIB),
            target_size: Bytes(size * MIB),
            io_count: 64,
            io_ignore: 0,
            seed: 1,
        }
    }

    fn write(address: Address, offset: u64, size: u64) -> Reference {
        Reference::Basic { pattern: pattern(Op::Write, address, offset, size) }
    }

    fn read(offset: u64, size: u64) -> Reference {
        Reference::Basic { pattern: pattern(Op::Read, Address::Random, offset, size) }
    }

    fn map(state: State) -> DisturbanceMap {
        DisturbanceMap::new(0..64 * MIB, state)
    }

    #[test]
    fn ordered_writes_disturb_the_granules_that_they_touch() {
        let mut map = map(State::Random);
        map.note(7, &write(Address::Sequential, 8, 16), 33);
        assert_eq!(map.disturbers(&read(0, 8), 1), [] as [u32; 0]);
        assert_eq!(map.disturbers(&read(9, 1), 1), [7]);
        assert_eq!(map.disturbers(&read(10, 4), 1), [] as [u32; 0]);
        map.note(8, &write(Address::Partitioned { partitions: 2 }, 0, 64), 64);
        assert_eq!(map.disturbers(&read(0, 1), 1), [8]);
        assert_eq!(map.disturbers(&read(32, 1), 1), [8]);
        assert_eq!(map.undisturbed(&map.space(), 4 * MIB), Some(MIB));
        assert_eq!(map.undisturbed(&map.space(), 8 * MIB), Some(10 * MIB));
        assert_eq!(map.undisturbed(&map.space(), 32 * MIB), None);
        map.clear();
        assert_eq!(map.undisturbed(&map.space(), 64 * MIB), Some(0));
    }

    #[test]
    fn random_writes_disturb_every_state_but_a_random_one() {
        let over_all = write(Address::Random, 0, 64);
        for (state, disturbed) in [(State::Random, false), (State::Sequential, true)] {
            let mut map = map(state);
            map.note(1, &over_all, 64);
            assert_eq!(!map.disturbers(&read(0, 1), 1).is_empty(), disturbed);
        }
        let mut map = map(State::Random);
        map.note(1, &write(Address::Random, 4, 8), 64);
        assert_eq!(map.disturbers(&read(0, 64), 1), [1]);
    }

    // Compares the map with a plain list of the writers of each granule.
    #[test]
    #[allow(clippy::cast_possible_truncation)] // 64 granules
    fn the_map_agrees_with_a_plain_list() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let mut map = map(State::Keep);
            let mut plain: Vec<Vec<u32>> = vec![vec![]; 64];
            for run in 1..20 {
                let (start, size) = (random.u64(0..60), random.u64(1..5));
                map.note(run, &write(Address::Sequential, start, size), size * 32);
                (start..start + size).for_each(|at| plain[at as usize].push(run));
                for at in 0..64 {
                    assert_eq!(map.disturbers(&read(at, 1), 1), plain[at as usize]);
                }
                for size in [1, 3, 9] {
                    let all = (0..=64 - size)
                        .find(|at| (*at..at + size).all(|at| plain[at as usize].is_empty()));
                    let found = map.undisturbed(&map.space(), size * MIB);
                    assert_eq!(found, all.map(|at| at * MIB));
                }
            }
        }
    }
}
