use flashscope_block::Nanos;

use super::{BitErrors, IllegalCommand, ReadDisturb};
use crate::arithmetic::draw_index;

/// The settings for factory bad blocks, failing commands, read disturb and block lifetime.
#[derive(Debug, Clone, PartialEq)]
pub struct Reliability {
    /// Share of the blocks that are marked bad when the drive is new.
    pub factory_bad_blocks: f64,
    /// Probability that a program fails.
    pub program_failures: f64,
    /// Probability that an erase fails.
    pub erase_failures: f64,
    /// Read disturb, by which reads make pages harder to read.
    pub read_disturb: ReadDisturb,
    /// The bit errors of pages, and their correction.
    pub bit_errors: BitErrors,
    /// Erases after which a block reaches its end of life.
    pub block_lifetime: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// The reason that a command did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The command was refused without effect.
    Illegal(IllegalCommand),
    /// The command ran until this time and failed. The data to be programmed or read is unreadable.
    Failed(Nanos),
}

impl From<IllegalCommand> for Fault {
    fn from(illegal: IllegalCommand) -> Fault {
        Fault::Illegal(illegal)
    }
}

/// The random source that decides which commands fail.
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

    /// Returns true if no program can fail.
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

    /// Chooses `count` factory bad blocks of a plane at random, and returns their numbers in the
    /// plane.
    pub(super) fn draw_bad_blocks(&mut self, count: u32, blocks_per_plane: u32) -> Vec<u32> {
        let mut blocks: Vec<u32> = (0..blocks_per_plane).collect();
        for place in 1..blocks.len() {
            blocks.swap(place, draw_index(&mut self.random, 0..place + 1));
        }
        blocks.truncate(count as usize);
        blocks
    }
}

/// Returns how many blocks of a plane are bad when the drive is new.
pub(crate) fn bad_blocks(share: f64, blocks_per_plane: u32) -> u32 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to the blocks
    let bad = (share * f64::from(blocks_per_plane)).round() as u32;
    bad
}
