use flashscope_block::Nanos;

use super::{Illegal, ReadDisturb};

/// Which commands of the flash fail, and when its blocks are worn out.
#[derive(Debug, Clone, PartialEq)]
pub struct Reliability {
    /// Share of the blocks that are marked bad when the drive is new.
    pub factory_bad_blocks: f64,
    /// Probability that a program fails.
    pub program_failures: f64,
    /// Probability that an erase fails.
    pub erase_failures: f64,
    /// How reads make pages harder to read.
    pub read_disturb: ReadDisturb,
    /// Erases after which a block has expired.
    pub block_lifetime: u32,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// Why a command was not carried out as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It was refused.
    Illegal(Illegal),
    /// It was carried out until this time and failed; what it was to program, or to read, cannot be read.
    Failed(Nanos),
}

impl From<Illegal> for Fault {
    fn from(illegal: Illegal) -> Fault {
        Fault::Illegal(illegal)
    }
}

/// Draws which commands fail.
pub(super) struct Faults {
    random: fastrand::Rng,
    program: f64,
    erase: f64,
}

impl Faults {
    pub(super) fn new(reliability: &Reliability) -> Self {
        Faults {
            random: fastrand::Rng::with_seed(reliability.seed),
            program: reliability.program_failures,
            erase: reliability.erase_failures,
        }
    }

    /// Whether every program succeeds.
    #[inline]
    pub(super) fn programs_succeed(&self) -> bool {
        self.program == 0.0
    }

    #[inline]
    pub(super) fn program_fails(&mut self) -> bool {
        self.program > 0.0 && self.random.f64() < self.program
    }

    #[inline]
    pub(super) fn erase_fails(&mut self) -> bool {
        self.erase > 0.0 && self.random.f64() < self.erase
    }

    /// Which `count` of the blocks of a plane are bad from the factory.
    pub(super) fn born_bad(&mut self, count: u32, blocks_per_plane: u32) -> Vec<u32> {
        let mut blocks: Vec<u32> = (0..blocks_per_plane).collect();
        self.random.shuffle(&mut blocks);
        blocks.truncate(count as usize);
        blocks
    }
}

/// How many of the blocks of a plane are bad when the drive is new.
pub fn bad_blocks(share: f64, blocks_per_plane: u32) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to the blocks
    let bad = (share * f64::from(blocks_per_plane)).round() as u32;
    bad
}
