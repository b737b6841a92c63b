use std::ops::Range;

use flashscope_block::Bytes;
use flashscope_document::verification::VerificationWorkload;
use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use crate::stamp::SECTOR;

/// The maximum number of writes in flight. Each of them has its own stream.
const DEEPEST: u32 = 4096;
/// The maximum size of the hot area, in writes of maximum length: small enough that writes in
/// flight often overlap.
const HOT: u64 = 4;
/// The difference between the seeds of successive writes, an odd number.
const STEP: u64 = 0xa076_1d64_78bd_642f;

/// The maximum target space. The judgement needs 16 bytes of memory for each sector: 2 GiB at this
/// size.
const LARGEST_TARGET: Bytes = Bytes::gib(64);

const SECTOR_BYTES: u64 = SECTOR as u64;

/// The writes of a verification as a function of their number.
///
/// The first [`Plan::fills`] writes fill the target space in order. All other writes have a random
/// offset and length. A quarter of them go to a small area at the start, where they overlap while
/// they are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan(VerificationWorkload);

/// The reason why a workload is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(String);

impl Plan {
    /// Creates the plan of a workload.
    ///
    /// # Errors
    /// Returns an error if a number is 0, not a multiple of the block, or too large.
    pub fn new(workload: VerificationWorkload) -> Result<Plan, PlanError> {
        let VerificationWorkload { block, target_offset, target_size, io_size, fill_io, .. } =
            workload;
        let wrong = |what: String| Err(PlanError(what));
        if block.0 < SECTOR_BYTES || !block.0.is_power_of_two() {
            return wrong(format!("a logical block of {} B is not supported", block.0));
        }
        for (name, value, least) in [
            ("the target offset", target_offset, Bytes(0)),
            ("the target size", target_size, block),
            ("the IO size", io_size, block),
            ("the size of fill IOs", fill_io, block),
        ] {
            if value < least || !value.is_multiple_of(block) {
                let positive = if least > Bytes(0) { "positive " } else { "" };
                return wrong(format!(
                    "{name}, {} B, must be a {positive}multiple of {block}",
                    value.0
                ));
            }
        }
        if io_size > target_size {
            return wrong(format!(
                "IOs of {io_size} do not fit in the target space, {target_size}"
            ));
        }
        if target_size > LARGEST_TARGET {
            return wrong(format!("a target space of {target_size} exceeds {LARGEST_TARGET}"));
        }
        if target_offset.0.checked_add(target_size.0).is_none() {
            return wrong("the target space ends beyond every drive".into());
        }
        if workload.queue_depth == 0 || workload.queue_depth > DEEPEST {
            return wrong(format!("the queue depth must be from 1 to {DEEPEST}"));
        }
        if workload.flush_every == 0 {
            return wrong("a flush must follow after at least 1 write".into());
        }
        Ok(Plan(workload))
    }

    /// Returns the workload.
    #[must_use]
    pub const fn workload(&self) -> &VerificationWorkload {
        &self.0
    }

    /// Returns the number of writes that fill the target space.
    #[must_use]
    pub const fn fills(&self) -> u64 {
        self.0.target_size.0.div_ceil(self.0.fill_io.0)
    }

    /// Returns the offset and the length of the write with this number.
    #[must_use]
    pub fn write(&self, number: u64) -> (Bytes, Bytes) {
        let VerificationWorkload { block, target_offset, target_size, io_size, fill_io, .. } =
            self.0;
        if number < self.fills() {
            let start = number * fill_io.0;
            return (target_offset + Bytes(start), Bytes(fill_io.0.min(target_size.0 - start)));
        }
        let mut random =
            SplitMix64::seed_from_u64(self.0.seed.wrapping_add(number.wrapping_mul(STEP)));
        let longest = io_size.0 / block.0;
        let halvings = random.next_u64() % u64::from(longest.ilog2() + 1);
        let len = (1 + random.next_u64() % (longest >> halvings)) * block.0;
        let hot = io_size.0.saturating_mul(HOT).min(target_size.0);
        let area = if random.next_u64().is_multiple_of(4) { hot } else { target_size.0 };
        let start = random.next_u64() % ((area - len) / block.0 + 1) * block.0;
        (target_offset + Bytes(start), Bytes(len))
    }

    /// Returns the number of sectors of the target space.
    pub(crate) fn sectors(&self) -> usize {
        index(self.0.target_size.0 / SECTOR_BYTES)
    }

    /// Returns the sectors of a write, counted from the start of the target space.
    pub(crate) fn sectors_of(&self, number: u64) -> Range<usize> {
        let (offset, len) = self.write(number);
        let start = (offset.0 - self.0.target_offset.0) / SECTOR_BYTES;
        index(start)..index(start + len.0 / SECTOR_BYTES)
    }

    /// Returns the offset on the drive of a sector of the target space.
    pub(crate) fn offset_of(&self, sector: usize) -> Bytes {
        self.0.target_offset + Bytes(sector as u64 * SECTOR_BYTES)
    }
}

fn index(sector: u64) -> usize {
    usize::try_from(sector).expect("the sectors of a target space fit in memory")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A target space of 1 MiB at 64 KiB.
    pub(crate) const WORKLOAD: VerificationWorkload = VerificationWorkload {
        run: 9,
        seed: 3,
        target_offset: Bytes::kib(64),
        target_size: Bytes::mib(1),
        block: Bytes(512),
        io_size: Bytes::kib(32),
        fill_io: Bytes::kib(96),
        queue_depth: 8,
        flush_every: 16,
    };

    #[test]
    fn fills_cover_the_target_once_and_random_writes_stay_inside() {
        let plan = Plan::new(WORKLOAD).unwrap();
        let mut next = WORKLOAD.target_offset;
        for number in 0..plan.fills() {
            let (offset, len) = plan.write(number);
            assert_eq!(offset, next);
            next = offset + len;
        }
        assert_eq!(next, WORKLOAD.target_offset + WORKLOAD.target_size);
        let (mut lens, mut hot) = (std::collections::BTreeSet::new(), 0);
        for number in plan.fills()..plan.fills() + 10_000 {
            let (offset, len) = plan.write(number);
            assert!(offset >= WORKLOAD.target_offset && offset + len <= next);
            assert!(offset.is_multiple_of(WORKLOAD.block) && len <= WORKLOAD.io_size);
            hot += u32::from((offset + len).0 <= WORKLOAD.target_offset.0 + (128 << 10));
            lens.insert(len);
        }
        assert_eq!(lens.len(), 64, "every length from one block to the longest");
        assert!(hot > 3000, "{hot} of 10,000 writes in the first eighth");
    }

    // The plan of an old journal must stay the same in every later version.
    #[test]
    fn the_writes_of_a_seed_never_change() {
        let plan = Plan::new(WORKLOAD).unwrap();
        let writes: Vec<_> =
            (11..15).map(|number| plan.write(number)).map(|w| (w.0.0, w.1.0)).collect();
        let expected = [(167_936, 512), (756_224, 512), (573_440, 12_288), (100_864, 512)];
        assert_eq!(writes, expected);
    }

    #[test]
    fn impossible_workloads_are_rejected() {
        let wrong = [
            VerificationWorkload { block: Bytes(0), ..WORKLOAD },
            VerificationWorkload { block: Bytes(768), ..WORKLOAD },
            VerificationWorkload { target_size: Bytes(0), ..WORKLOAD },
            VerificationWorkload { target_size: Bytes::gib(65), ..WORKLOAD },
            VerificationWorkload { target_offset: Bytes(u64::MAX - 511), ..WORKLOAD },
            VerificationWorkload { io_size: Bytes(100), ..WORKLOAD },
            VerificationWorkload { io_size: Bytes::mib(2), ..WORKLOAD },
            VerificationWorkload { fill_io: Bytes(0), ..WORKLOAD },
            VerificationWorkload { queue_depth: 0, ..WORKLOAD },
            VerificationWorkload { queue_depth: 5000, ..WORKLOAD },
            VerificationWorkload { flush_every: 0, ..WORKLOAD },
        ];
        for workload in wrong {
            assert!(Plan::new(workload).is_err(), "{workload:?}");
        }
    }

    // 0 is a multiple of every block: the message states the actual condition.
    #[test]
    fn a_size_of_0_is_refused_with_the_reason() {
        let refusal = |workload| Plan::new(workload).unwrap_err().to_string();
        let empty = VerificationWorkload { target_size: Bytes(0), ..WORKLOAD };
        let positive = "must be a positive multiple of 512 B";
        assert_eq!(refusal(empty), format!("the target size, 0 B, {positive}"));
        let odd = VerificationWorkload { io_size: Bytes(100), ..WORKLOAD };
        assert_eq!(refusal(odd), format!("the IO size, 100 B, {positive}"));
        let shifted = VerificationWorkload { target_offset: Bytes(100), ..WORKLOAD };
        assert_eq!(refusal(shifted), "the target offset, 100 B, must be a multiple of 512 B");
    }
}
