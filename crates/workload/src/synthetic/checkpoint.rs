use flashscope_block::{Bytes, Op};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, BLOCK, Due, MAX_REQUEST, REQUEST, Space};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// The training of a large model, which reads samples and saves its state from time to time.
///
/// Between two checkpoints, training reads samples at random from the data behind the checkpoints.
/// Several writers write a checkpoint at once, each of them a part from start to end; their
/// requests take turns. A checkpoint overwrites the oldest one. There is space for one checkpoint
/// more than are kept; the previous checkpoint therefore stays complete until the new one is
/// written. After some checkpoints, training restarts and reads the last one as it was written. All
/// defaults are chosen, not measured.
pub(super) const KIND: Kind = Kind {
    name: "checkpoint",
    argument: None,
    summary: "the training of a large model: bursts of long writes by several writers save its state, between reads of samples",
    source: "a model of this project",
    leaves_out: Some(
        "the file system, the time between checkpoints (set `rate`), and that samples are read once each in an epoch",
    ),
    fields: &[
        field("state", None, "bytes in a checkpoint [default: an eighth of the range]"),
        field("writers", Some("8"), "writers of a checkpoint, 1 to 1024"),
        field("keep", Some("2"), "checkpoints that are kept, 1 to 100"),
        field(
            "samples",
            Some("1"),
            "bytes of samples read for each byte of a checkpoint, 0 to 1000",
        ),
        field("sample", Some("1MiB"), "bytes in a sample"),
        field("restarts", Some("0.05"), "share of checkpoints that are read again, 0 to 1"),
        field("trims", Some("false"), "`true` trims a checkpoint that is no longer kept"),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let unit = space.logical_block;
    let block = BLOCK.0.max(unit.0);
    let writers = values.whole("writers", 1..=1024)?.unwrap_or(1);
    let keep: u64 = values.whole("keep", 1..=100)?.unwrap_or(1);
    let sample = values.bytes("sample", unit, unit.0..=Bytes::gib(1).0)?.unwrap_or_default();
    let state = values.bytes("state", unit, unit.0..=space.length)?;
    let eighth = (space.length / 8 / block * block).max(block);
    let state = state.unwrap_or(eighth);
    let places = state.saturating_mul(keep + 1);
    space.holds(values, places.saturating_add(sample))?;
    let samples = values.real("samples", 0.0..=1000.0)?;
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are below 2^53"
    )]
    let samples = (samples.unwrap_or(0.0) * state as f64 / sample as f64).round() as u64;
    let request = values.bytes(REQUEST.name, unit, unit.0..=MAX_REQUEST.0)?.unwrap_or_default();
    Ok(Models::Checkpoint(Checkpoint {
        state,
        // The last writers may have less to write, or nothing.
        part: state.div_ceil(writers).next_multiple_of(unit.0),
        writers,
        places: keep + 1,
        samples,
        sample,
        all_samples: (space.length - places) / sample,
        restarts: threshold(values.share("restarts")?),
        trims: values.flag("trims")?,
        request,
        written: 0,
        phase: Phase::Training { left: samples },
        due: Due::default(),
    }))
}

/// The current activity.
#[derive(Clone, Copy)]
enum Phase {
    /// Reads samples.
    Training { left: u64 },
    /// Writes a checkpoint.
    Saving { turn: u64 },
    /// Reads the last checkpoint.
    Restoring { turn: u64 },
}

pub(super) struct Checkpoint {
    /// The number of bytes in a checkpoint.
    state: u64,
    /// The number of bytes in the part of a checkpoint that one writer writes.
    part: u64,
    writers: u64,
    /// The number of checkpoints for which there is space, at the start of the range.
    places: u64,
    /// The samples between two checkpoints.
    samples: u64,
    /// The number of bytes in a sample.
    sample: u64,
    /// The number of different samples.
    all_samples: u64,
    /// Training restarts if a random number is below this.
    restarts: u64,
    trims: bool,
    request: u64,
    /// The number of checkpoints written so far.
    written: u64,
    phase: Phase,
    /// The parts of a sample, or the trims, that are due.
    due: Due,
}

impl Checkpoint {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            if let Some(access) = self.due.next(self.request) {
                return access;
            }
            match self.phase {
                Phase::Training { left: 0 } => self.phase = Phase::Saving { turn: 0 },
                Phase::Training { left } => {
                    let offset = self.places * self.state
                        + rng.random_range(0..self.all_samples) * self.sample;
                    self.due.push(Access::new(Op::Read, offset, self.sample));
                    self.phase = Phase::Training { left: left - 1 };
                }
                Phase::Saving { turn } => match self.part_of(Op::Write, self.written, turn) {
                    Some((access, turn)) => {
                        self.phase = Phase::Saving { turn };
                        return access;
                    }
                    None => self.finish(rng),
                },
                Phase::Restoring { turn } => match self.part_of(Op::Read, self.written - 1, turn) {
                    Some((access, turn)) => {
                        self.phase = Phase::Restoring { turn };
                        return access;
                    }
                    None => self.phase = Phase::Training { left: self.samples },
                },
            }
        }
    }

    /// Returns the next request for the `nth` checkpoint from a turn on, and the turn after it;
    /// `None` after the last turn. Skips writers that have written their parts.
    fn part_of(&self, op: Op, nth: u64, turn: u64) -> Option<(Access, u64)> {
        let turns = self.writers * self.part.div_ceil(self.request);
        (turn..turns).find_map(|turn| {
            let (writer, within) = (turn % self.writers, turn / self.writers * self.request);
            let from = writer * self.part + within;
            let end = ((writer + 1) * self.part).min(self.state).min(from + self.request);
            let start = nth % self.places * self.state;
            (from < end).then(|| (Access::new(op, start + from, end - from), turn + 1))
        })
    }

    /// Ends a checkpoint: the oldest one is no longer kept.
    fn finish(&mut self, rng: &mut Xoshiro256PlusPlus) {
        self.written += 1;
        if self.trims && self.written >= self.places {
            let oldest = self.written % self.places * self.state;
            self.due.push(Access::new(Op::Trim, oldest, self.state));
        }
        self.phase = match rng.next_u64() < self.restarts {
            true => Phase::Restoring { turn: 0 },
            false => Phase::Training { left: self.samples },
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flashscope_block::Io;
    use proptest::prelude::*;

    use super::super::Target;
    use super::super::tests::{LARGE, assert_nothing_dead_is_wanted, ios_on, refused_on};
    use super::*;

    /// Returns the length in bytes of the last write at each offset.
    fn written(ios: &[Io]) -> BTreeMap<u64, u64> {
        ios.iter().filter(|io| io.op == Op::Write).map(|io| (io.offset.0, io.len.0)).collect()
    }

    #[test]
    fn a_checkpoint_is_written_by_writers_in_turns() {
        let spec = "checkpoint?state=1MiB&writers=4&samples=0&restarts=0&request=128KiB";
        let ios = ios_on(&LARGE, spec, 16);
        let first: Vec<u64> = ios[..8].iter().map(|io| io.offset.0 >> 10).collect();
        assert_eq!(first, [0, 256, 512, 768, 128, 384, 640, 896]);
        assert!(ios[8..].iter().all(|io| io.offset.0 >> 20 == 1), "the second place");
    }

    #[test]
    fn samples_are_read_between_checkpoints_and_from_other_places() {
        let spec = "checkpoint?state=2MiB&samples=3&sample=512KiB&restarts=0";
        let ios = ios_on(&LARGE, spec, 4000);
        let bytes = |op| ios.iter().filter(|io| io.op == op).map(|io| io.len.0).sum::<u64>();
        let ratio = bytes(Op::Read) as f64 / bytes(Op::Write) as f64;
        assert!((ratio / 3.0 - 1.0).abs() < 0.02, "{ratio}");
        assert!(ios.iter().all(|io| (io.op == Op::Read) == (io.offset.0 >= 6 << 20)));
    }

    #[test]
    fn a_restart_reads_the_last_checkpoint_as_it_was_written() {
        let ios = ios_on(&LARGE, "checkpoint?state=1MiB&samples=0&restarts=1", 64);
        for pair in ios.chunks_exact(16) {
            for (write, read) in pair[..8].iter().zip(&pair[8..]) {
                assert_eq!((write.op, read.op), (Op::Write, Op::Read));
                assert_eq!((write.offset, write.len), (read.offset, read.len));
            }
        }
    }

    #[test]
    fn trimmed_checkpoints_are_not_read_again() {
        assert_nothing_dead_is_wanted(
            "checkpoint?state=64KiB&sample=64KiB&trims=true&restarts=0.5",
        );
    }

    #[test]
    fn a_range_without_room_for_checkpoints_is_refused() {
        let message = refused_on(&LARGE, "checkpoint?state=40MiB");
        assert!(message.contains("the workload takes at least"), "{message}");
    }

    proptest! {
        #[test]
        fn each_checkpoint_covers_its_place_once(
            blocks in 1u64..400, writers in 1u64..20, keep in 1u64..4, request in 1u64..64, seed in any::<u64>(),
        ) {
            let state = blocks * 512;
            let target = Target { capacity: Bytes((keep + 1) * state + (64 << 10)), seed, ..LARGE };
            let spec = format!(
                "checkpoint?state={state}&writers={writers}&keep={keep}&request={}&samples=0&sample=512&restarts=0",
                request * 512
            );
            let mut ios = ios_on(&target, &spec, 40_000);
            // Leave out the checkpoint of the last IO, which may be incomplete.
            let last = ios.last().unwrap().offset.0 / state;
            while ios.last().is_some_and(|io| io.offset.0 / state == last) {
                ios.pop();
            }
            let ranges = written(&ios);
            let total: u64 = ranges.values().sum();
            prop_assert_eq!(total % state, 0);
            let mut end = 0;
            for (offset, len) in ranges {
                prop_assert!(offset == end || offset.is_multiple_of(state));
                end = offset + len;
            }
        }
    }
}
