//! Gives each run a target space in the state that the run needs.

use std::ops::Range;

use flashscope_block::Bytes;
use flashscope_document::manifest::{Options, Progress, Run, State};
use flashscope_workload::pattern::{Address, Pattern, Reference};

use crate::disturbance::DisturbanceMap;

/// The state counts as changed once more bytes were written than 1/`DRIFT` of the space.
const DRIFT: u64 = 8;

/// Assigns target spaces to runs, one after the other, from the map of what the runs before have
/// disturbed.
///
/// Every run gets a space in the enforced state, long enough for all of its IOs. A run of writes in
/// order must not overwrite its own data. If no such space is left, the state is enforced again
/// before the run. If it cannot be enforced, because the state is [`State::Keep`], the run lists
/// the runs whose space it shares.
#[derive(Debug, Clone)]
pub(crate) struct Placer {
    map: DisturbanceMap,
    /// The bytes written since the state was enforced.
    written: u64,
    can_reset: bool,
    io_size: Bytes,
}

impl Placer {
    pub(crate) fn new(options: &Options) -> Placer {
        let setup = &options.setup;
        let start = setup.target_offset.0;
        let map = DisturbanceMap::new(start..start + setup.target_size.0, options.state);
        let can_reset = options.state != State::Keep;
        Placer { map, written: 0, can_reset, io_size: setup.io_size }
    }

    /// Notes that the state was enforced.
    pub(crate) fn state_enforced(&mut self) {
        self.map.clear();
        self.written = 0;
    }

    /// Notes that the first `ios` IOs of a run were executed.
    pub(crate) fn executed(&mut self, run: &Run, ios: u64) {
        if run.reference.writes() {
            let bytes = ios.saturating_mul(run.reference.largest_io().0);
            self.written = self.written.saturating_add(bytes);
        }
        self.map.note(run.id, &run.reference, ios);
    }

    /// Places a run, and decides whether the state is enforced again before it. `keeps_size` is
    /// true if the size of the target space is the parameter of the run. Skips the run if no space
    /// is large enough for it.
    pub(crate) fn place(&mut self, run: &mut Run, keeps_size: bool) {
        restore(run);
        (run.reset, run.shares_space_with) = (false, vec![]);
        let spaces = self.spaces(&run.reference);
        if !keeps_size {
            self.fit(run, &spaces);
        }
        if matches!(run.progress, Progress::Skipped { .. }) {
            return;
        }
        let drifted = self.can_reset && self.has_drifted(&run.reference);
        if !drifted && self.move_to(&mut run.reference, &spaces, Choice::Undisturbed) {
            return;
        }
        if self.can_reset {
            run.reset = true;
            self.state_enforced();
            self.move_to(&mut run.reference, &spaces, Choice::Undisturbed);
        } else {
            self.move_to(&mut run.reference, &spaces, Choice::LeastDisturbed);
            let ios = run.reference.io_count();
            run.shares_space_with = self.map.disturbers(&run.reference, ios);
        }
    }

    /// Returns true if runs have written so much since the state was enforced that it may have
    /// changed outside their target spaces, too. Garbage collection may choose any block of the
    /// drive. Returns false for a run that does not disturb the state.
    fn has_drifted(&self, reference: &Reference) -> bool {
        let space = self.map.space();
        self.written > length(&space) / DRIFT && self.map.is_disturbed_by(reference)
    }

    /// Returns the space of each pattern. The two patterns of a mix get one half each, so that
    /// neither reads data that the other pattern wrote.
    fn spaces(&self, reference: &Reference) -> Vec<Range<u64>> {
        let all = self.map.space();
        match reference {
            Reference::Mixed { .. } => {
                let half = Bytes((all.end - all.start) / 2).round_down(self.io_size).0;
                vec![all.start..all.start + half, all.start + half..all.start + 2 * half]
            }
            _ => vec![all],
        }
    }

    /// Gives the patterns of a run target spaces that hold all of its IOs. Shortens a run of
    /// ordered writes that would leave its space, or skips it if none of its IOs would count.
    fn fit(&self, run: &mut Run, spaces: &[Range<u64>]) {
        let planned = run.reference.io_count();
        let degree = u64::from(run.reference.streams_count());
        match &mut run.reference {
            Reference::Basic { pattern } | Reference::Parallel { pattern, .. } => {
                resize(pattern, pattern.io_count, degree, length(&spaces[0]));
                self.cut(pattern, slots(pattern, degree));
            }
            Reference::Mixed { first, second, ratio } => {
                let firsts = second.io_count.saturating_mul(*ratio);
                resize(first, firsts, 1, length(&spaces[0]));
                resize(second, second.io_count, 1, length(&spaces[1]));
                let most = slots(first, 1).map(|slots| slots / (*ratio).max(1));
                let most = most.into_iter().chain(slots(second, 1)).min();
                self.cut(second, most);
            }
            _ => return,
        }
        let cut = run.reference.io_count();
        if cut < planned {
            run.cut_from_ios = Some(planned);
        }
        let ignored = run.reference.io_ignore();
        if cut <= ignored && planned > ignored {
            let reason = too_small(&run.reference, cut, &self.map.space());
            run.progress = Progress::Skipped { reason };
        }
    }

    /// Cuts a pattern to `most` IOs. Larger IOs than usual end a start-up phase after fewer IOs. If
    /// IOIgnore is half of the IOs or more, it is therefore reduced to the same number of bytes.
    fn cut(&self, pattern: &mut Pattern, most: Option<u64>) {
        let Some(most) = most.filter(|most| *most < pattern.io_count) else { return };
        pattern.io_count = most;
        if most <= pattern.io_ignore.saturating_mul(2) && pattern.io_size > self.io_size {
            let bytes = pattern.io_ignore.saturating_mul(self.io_size.0);
            pattern.io_ignore = bytes.div_ceil(pattern.io_size.0);
        }
    }

    /// Moves the patterns of a run within their spaces. Returns false if a pattern has no
    /// undisturbed range.
    fn move_to(&self, reference: &mut Reference, spaces: &[Range<u64>], choice: Choice) -> bool {
        let moves = !matches!(reference, Reference::Sequence { .. });
        for (index, pattern) in reference.patterns_mut().into_iter().enumerate() {
            let (space, size) = (&spaces[index.min(spaces.len() - 1)], pattern.target_size.0);
            if !moves {
                continue;
            }
            if size >= length(space) {
                // A shorter run may have been placed elsewhere.
                pattern.target_offset = Bytes(space.start);
                continue;
            }
            let start = match choice {
                Choice::Undisturbed => self.map.undisturbed(space, size),
                Choice::LeastDisturbed => Some(self.map.least_disturbed(space, size)),
            };
            let Some(start) = start else { return false };
            pattern.target_offset = Bytes(start);
        }
        self.map.disturbers(reference, reference.io_count()).is_empty()
    }
}

/// The choice of the range that a run is moved to.
#[derive(Clone, Copy)]
enum Choice {
    Undisturbed,
    LeastDisturbed,
}

/// Undoes the cut of an earlier placement.
pub(crate) fn restore(run: &mut Run) {
    let Some(planned) = run.cut_from_ios.take() else { return };
    match &mut run.reference {
        Reference::Basic { pattern } | Reference::Parallel { pattern, .. } => {
            pattern.io_count = planned;
        }
        Reference::Mixed { second, ratio, .. } => second.io_count = planned / (*ratio + 1),
        _ => {}
    }
}

fn length(space: &Range<u64>) -> u64 {
    space.end - space.start
}

/// Gives a pattern the target space that `ios` IOs by `degree` processes pass over, at most `most`
/// bytes. Random patterns keep their target space.
fn resize(pattern: &mut Pattern, ios: u64, degree: u64, most: u64) {
    let slots = match pattern.address {
        Address::Random => return,
        Address::Partitioned { .. } => u64::MAX,
        Address::Sequential => ios.div_ceil(degree).saturating_mul(degree),
        Address::Ordered { incr } => ios.saturating_mul(incr.unsigned_abs().max(1)),
    };
    let size = slots.saturating_mul(pattern.io_size.0).saturating_add(pattern.io_shift.0);
    pattern.target_size = Bytes(size.min(most));
}

/// Returns the maximum number of IOs of a pattern by `degree` processes before it overwrites its
/// own data; `None` for reads, random writes and writes in place, which have no such limit.
fn slots(pattern: &Pattern, degree: u64) -> Option<u64> {
    if !pattern.op.modifies() {
        return None;
    }
    let slots = pattern.slots();
    match pattern.address {
        Address::Random | Address::Ordered { incr: 0 } => None,
        Address::Sequential => Some(slots / degree * degree),
        // The last column may be incomplete.
        Address::Ordered { incr } => Some(slots / incr.unsigned_abs() * incr.unsigned_abs()),
        Address::Partitioned { partitions } => Some(slots / partitions.max(1) * partitions),
    }
}

/// Explains that no IO of a run would count in the space, by how much the space is too small, and
/// which run would fit.
fn too_small(reference: &Reference, cut: u64, space: &Range<u64>) -> String {
    let (ignored, whole) = (reference.io_ignore(), Bytes(length(space)));
    // The space grows with the IOs, and a run counts as many IOs as it ignores.
    let bytes = u128::from(length(space)) * 2 * u128::from(ignored) / u128::from(cut.max(1));
    let needed = u64::try_from(bytes).unwrap_or(u64::MAX / 2).next_multiple_of(Bytes::MIB.0);
    let missing = Bytes(needed.saturating_sub(whole.0));
    let shorter = match cut / 2 {
        0 => String::new(),
        ignored => format!(", or with an IOIgnore of {ignored} (--io-ignore)"),
    };
    format!(
        "the target space, {whole}, holds {cut} IOs of the run, and the start-up phase takes \
         {ignored}: {missing} are missing; the run fits in {} (--target-size){shorter}",
        Bytes(needed)
    )
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;
    use flashscope_workload::pattern::Timing;

    use super::*;

    const SPACE: u64 = Bytes::mib(64).0;

    fn write(address: Address, io_count: u64) -> Run {
        let pattern = Pattern {
            op: Op::Write,
            address,
            timing: Timing::Consecutive,
            io_size: Bytes::kib(32),
            io_shift: Bytes(0),
            target_offset: Bytes(0),
            target_size: Bytes(SPACE),
            io_count,
            io_ignore: 0,
            seed: 1,
        };
        Run::new(0, 16, Reference::Basic { pattern })
    }

    // A run is placed again when its start-up phase is known, and may then need the whole space.
    #[test]
    fn a_run_that_grows_to_the_whole_space_begins_at_its_start() {
        let mut placer = Placer {
            map: DisturbanceMap::new(0..SPACE, State::Random),
            written: 0,
            can_reset: true,
            io_size: Bytes::kib(32),
        };
        placer.executed(&write(Address::Sequential, 64), 64);
        let mut run = write(Address::Ordered { incr: 16 }, 8);
        let range = |run: &Run| match &run.reference {
            Reference::Basic { pattern } => {
                pattern.target_offset.0..pattern.target_offset.0 + pattern.target_size.0
            }
            _ => unreachable!("as written above"),
        };
        placer.place(&mut run, false);
        assert!(range(&run).start >= Bytes::mib(2).0, "{:?}", range(&run));
        let Reference::Basic { pattern } = &mut run.reference else { unreachable!() };
        pattern.io_count = 200;
        placer.place(&mut run, false);
        assert_eq!(range(&run), 0..SPACE);
    }
}
