//! IO patterns: one function for each of the four attributes of an IO (uFLIP section 3.1).

mod address;
mod blend;
mod reference;
mod uniform;

use address::Cursor;
use flashscope_block::{Bytes, Data, Io, Nanos, Op, StreamId};
pub use reference::Reference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use uniform::UniformWrites;

use crate::Stream;

/// The address function: the location of the i-th IO, relative to the target space.
///
/// Addresses are first computed in whole IOs, then moved by [`Pattern::io_shift`] and
/// [`Pattern::target_offset`]. Below, *slots* is the number of IOs that fit in the target space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "function", deny_unknown_fields)]
pub enum Address {
    /// Slot `i mod slots`.
    ///
    /// Table 1 gives the plain `i × IOSize` for the baseline and adds the `mod TargetSize` for
    /// Locality. Both are the same as long as the target space holds the whole run.
    Sequential,
    /// A slot drawn uniformly, with replacement.
    Random,
    /// Slot `incr × i`.
    ///
    /// A decreasing pattern starts at the last slot. Table 1 does not define the end of the target
    /// space. This code continues with slot 1, 1 + incr, and so on, like a column by column read of
    /// an array that is stored row by row. No slot comes twice before all columns are complete.
    Ordered {
        /// The step in IOs: −1 is reverse, 0 in place.
        incr: i64,
    },
    /// The target space is split in equal partitions. IOs go to the partitions in turns, and
    /// sequentially within each partition.
    ///
    /// Table 1 prints `O_i = ⌊(i/Partitions) × IOSize⌋ mod PS` and leaves `TargetOffset` out. The
    /// text ("considered in a round robin fashion; within each partition IOs are sequential") means
    /// `⌊i/Partitions⌋ × IOSize mod PS`, which this code computes.
    Partitioned {
        /// The number of partitions.
        partitions: u64,
    },
}

/// The function that gives the time of the i-th IO.
///
/// For the consecutive pattern, Table 1 prints the time of the *next* IO on the right-hand side; it
/// means `t(IO_i) = t(IO_{i−1}) + rt(IO_{i−1})`. For bursts it prints `(i mod Burst) × Pause`,
/// which would delay nearly every IO by ever longer times. This code follows the text ("a pause of
/// length *Pause* is introduced between groups of *Burst* IOs").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "function", deny_unknown_fields)]
pub enum Timing {
    /// Each IO starts when the previous one completes.
    Consecutive,
    /// A pause before each IO but the first.
    Pause {
        /// The time from the completion of an IO to the next IO, in nanoseconds.
        #[serde(rename = "pause_ns")]
        pause: Nanos,
    },
    /// A pause between groups of consecutive IOs.
    Burst {
        /// The time from the completion of a group's last IO to the next IO, in nanoseconds.
        #[serde(rename = "pause_ns")]
        pause: Nanos,
        /// The number of IOs in a group.
        burst: u64,
    },
}

/// A basic pattern: the IOs of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Read or write (uFLIP's *Mode*).
    pub op: Op,
    /// The address function.
    pub address: Address,
    /// The time function.
    pub timing: Timing,
    /// The size of each IO in bytes.
    #[serde(rename = "io_size_bytes")]
    pub io_size: Bytes,
    /// The shift of every address from its alignment, 0 to `io_size`.
    #[serde(rename = "io_shift_bytes")]
    pub io_shift: Bytes,
    /// The start of the target space.
    #[serde(rename = "target_offset_bytes")]
    pub target_offset: Bytes,
    /// The size of the target space. No IO passes its end, whatever the shift.
    #[serde(rename = "target_size_bytes")]
    pub target_size: Bytes,
    /// The number of IOs.
    pub io_count: u64,
    /// The number of initial IOs that the statistics ignore.
    pub io_ignore: u64,
    /// The seed of the random addresses.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
}

/// The reason that a pattern cannot run on a drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} = {value}: {rule}")]
pub struct PatternError {
    /// The parameter, by uFLIP's name or, for most parameters of a job, by fio's name.
    pub parameter: &'static str,
    /// The value of the parameter.
    pub value: String,
    /// The rule that it violates.
    pub rule: String,
}

impl Pattern {
    /// Returns the number of whole IOs that fit in the target space.
    pub fn slots(&self) -> u64 {
        self.target_size.0.saturating_sub(self.io_shift.0).checked_div(self.io_size.0).unwrap_or(0)
    }

    /// Checks that the pattern can run on a drive of `capacity` bytes with that logical block.
    ///
    /// # Errors
    /// The first wrong parameter, and its rule.
    pub fn validate(&self, capacity: Bytes, logical_block: Bytes) -> Result<(), PatternError> {
        let error = |parameter, value: &dyn ToString, rule: String| {
            Err(PatternError { parameter, value: value.to_string(), rule })
        };
        if !matches!(self.op, Op::Read | Op::Write) {
            return error("Mode", &format!("{:?}", self.op), "a pattern reads or writes".into());
        }
        if self.io_size.0 == 0 {
            return error("IOSize", &self.io_size, "an IO has at least one logical block".into());
        }
        check_aligned(
            &[
                ("IOSize", self.io_size),
                ("IOShift", self.io_shift),
                ("TargetOffset", self.target_offset),
            ],
            logical_block,
        )?;
        // Check the number of IOs before the target space, whose size is often derived from it.
        if self.io_count <= self.io_ignore {
            let rule = format!("must be more than IOIgnore, {}", self.io_ignore);
            return error("IOCount", &self.io_count, rule);
        }
        check_room(self.target_offset, self.target_size, capacity)?;
        let needed = self.address.min_slots();
        if self.slots() < needed {
            let least =
                Bytes(needed.saturating_mul(self.io_size.0).saturating_add(self.io_shift.0));
            let rule = format!("the pattern needs at least {least}");
            return error("TargetSize", &self.target_size, rule);
        }
        match (self.address, self.timing) {
            (Address::Partitioned { partitions: 0 }, _) => {
                error("Partitions", &0, "at least one".into())
            }
            (_, Timing::Burst { burst: 0, .. }) => error("Burst", &0, "at least one".into()),
            _ => Ok(()),
        }
    }

    /// Returns the IOs of the pattern, as stream `stream`.
    ///
    /// The pattern must be [valid](Pattern::validate).
    pub fn stream(&self, stream: StreamId) -> PatternStream {
        let (pause, burst) = match self.timing {
            Timing::Consecutive => (Nanos(0), u64::MAX),
            Timing::Pause { pause } => (pause, 1),
            Timing::Burst { pause, burst } => (pause, burst),
        };
        PatternStream {
            op: self.op,
            stream,
            base: Bytes(self.target_offset.0 + self.io_shift.0),
            io_size: self.io_size,
            cursor: Cursor::new(self.address, self.slots(), self.seed),
            left: self.io_count,
            pause,
            burst,
            left_in_burst: burst,
        }
    }
}

/// Returns an error for the first value that is not a multiple of the logical block.
pub(crate) fn check_aligned(
    values: &[(&'static str, Bytes)],
    logical_block: Bytes,
) -> Result<(), PatternError> {
    let odd = values.iter().find(|(_, value)| !value.is_multiple_of(logical_block));
    odd.map_or(Ok(()), |(parameter, value)| {
        let rule = format!("must be a multiple of the logical block, {logical_block}");
        Err(PatternError { parameter, value: value.to_string(), rule })
    })
}

/// Returns an error for a target space that ends beyond the capacity.
pub(crate) fn check_room(offset: Bytes, size: Bytes, capacity: Bytes) -> Result<(), PatternError> {
    let room = Bytes(capacity.0.saturating_sub(offset.0));
    if size <= room {
        return Ok(());
    }
    let rule = format!("only {room} are available from TargetOffset on");
    Err(PatternError { parameter: "TargetSize", value: size.to_string(), rule })
}

/// The IOs of a [`Pattern`], one by one.
pub struct PatternStream {
    op: Op,
    stream: StreamId,
    base: Bytes,
    io_size: Bytes,
    cursor: Cursor,
    left: u64,
    pause: Nanos,
    burst: u64,
    left_in_burst: u64,
}

impl Stream for PatternStream {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        self.left = self.left.checked_sub(1)?;
        let mut at = previous;
        if self.left_in_burst == 0 {
            self.left_in_burst = self.burst;
            at += self.pause;
        }
        self.left_in_burst -= 1;
        Some(Io {
            op: self.op,
            stream: self.stream,
            offset: Bytes(self.base.0 + self.cursor.next() * self.io_size.0),
            len: self.io_size,
            at,
            data: Data::Random,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(address: Address, timing: Timing) -> Pattern {
        Pattern {
            op: Op::Read,
            address,
            timing,
            io_size: Bytes::kib(32),
            io_shift: Bytes(0),
            target_offset: Bytes::mib(1),
            target_size: Bytes::kib(32 * 8),
            io_count: 12,
            io_ignore: 0,
            seed: 1,
        }
    }

    /// Returns the slots addressed, and the pauses in units of 100 µs if every IO takes 1 ms.
    fn run(pattern: &Pattern) -> (Vec<u64>, Vec<u64>) {
        pattern.validate(Bytes::mib(2), Bytes(512)).unwrap();
        let mut stream = pattern.stream(0);
        let (mut slots, mut pauses, mut previous) = (vec![], vec![], Nanos(0));
        while let Some(io) = stream.next(previous) {
            slots.push((io.offset.0 - pattern.target_offset.0 - pattern.io_shift.0) / io.len.0);
            pauses.push((io.at - previous).0 / 100_000);
            previous = io.at + Nanos::millis(1);
        }
        (slots, pauses)
    }

    // The address functions of Table 1 follow the text of the paper.
    #[test]
    fn address_functions_follow_table_1() {
        let slots = |address| run(&pattern(address, Timing::Consecutive)).0;
        assert_eq!(slots(Address::Sequential), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
        assert_eq!(slots(Address::Ordered { incr: 1 }), slots(Address::Sequential));
        assert_eq!(slots(Address::Ordered { incr: 0 }), [0; 12]);
        assert_eq!(slots(Address::Ordered { incr: -1 }), [7, 6, 5, 4, 3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(slots(Address::Ordered { incr: 4 }), [0, 4, 1, 5, 2, 6, 3, 7, 0, 4, 1, 5]);
        assert_eq!(slots(Address::Ordered { incr: -3 }), [7, 4, 6, 3, 5, 2, 7, 4, 6, 3, 5, 2]);
        let four = Address::Partitioned { partitions: 4 };
        assert_eq!(slots(four), [0, 2, 4, 6, 1, 3, 5, 7, 0, 2, 4, 6]);
        assert!(slots(Address::Random).iter().all(|&slot| slot < 8));
    }

    // Pauses separate the right IOs, and no pause precedes the first IO.
    #[test]
    fn pauses_separate_the_right_ios() {
        let pauses = |timing| run(&pattern(Address::Sequential, timing)).1;
        let pause = Nanos::micros(100);
        assert_eq!(pauses(Timing::Consecutive), [0; 12]);
        assert_eq!(pauses(Timing::Pause { pause }), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(pauses(Timing::Burst { pause, burst: 5 }), [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],);
    }

    // Each impossible pattern is refused with the name of the parameter and the rule.
    #[test]
    fn refuses_impossible_patterns() {
        let good = pattern(Address::Sequential, Timing::Consecutive);
        let message = |change: fn(&mut Pattern)| {
            let mut bad = good;
            change(&mut bad);
            bad.validate(Bytes::mib(2), Bytes(512)).unwrap_err().to_string()
        };
        assert_eq!(
            message(|p| p.io_size = Bytes(0)),
            "IOSize = 0 B: an IO has at least one logical block"
        );
        assert_eq!(
            message(|p| p.io_size = Bytes(1000)),
            "IOSize = 1000 B: must be a multiple of the logical block, 512 B"
        );
        assert_eq!(
            message(|p| p.io_shift = Bytes(100)),
            "IOShift = 100 B: must be a multiple of the logical block, 512 B"
        );
        assert_eq!(
            message(|p| p.target_size = Bytes::mib(3)),
            "TargetSize = 3 MiB: only 1 MiB are available from TargetOffset on"
        );
        assert_eq!(
            message(|p| p.address = Address::Partitioned { partitions: 16 }),
            "TargetSize = 256 KiB: the pattern needs at least 512 KiB"
        );
        assert_eq!(
            message(|p| p.address = Address::Ordered { incr: -8 }),
            "TargetSize = 256 KiB: the pattern needs at least 512 KiB"
        );
        assert_eq!(message(|p| p.io_ignore = 12), "IOCount = 12: must be more than IOIgnore, 12");
        assert_eq!(
            message(|p| p.address = Address::Partitioned { partitions: 0 }),
            "Partitions = 0: at least one"
        );
        assert_eq!(
            message(|p| p.timing = Timing::Burst { pause: Nanos(1), burst: 0 }),
            "Burst = 0: at least one"
        );
        assert_eq!(message(|p| p.op = Op::Trim), "Mode = Trim: a pattern reads or writes");
    }
}
