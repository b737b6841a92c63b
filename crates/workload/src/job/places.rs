use flashscope_block::Bytes;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::free::FreePlaces;
use super::sizes::Sizes;
use crate::pattern::PatternError;
use crate::permutation::Permutation;
use crate::seed_for;
use crate::synthetic::Ranks;

/// The rule for the offsets of a job's IOs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum JobAddresses {
    /// Consecutive offsets; reads and other IOs each have their own sequence.
    Sequential,
    /// Random offsets, each used once before any is used again: fio's default, its random map.
    Covering,
    /// Random and independent offsets: fio's `norandommap`.
    Independent,
    /// Random offsets: rank k occurs in proportion to 1/k^exponent.
    Zipf {
        /// The exponent, above 0 and up to 10.
        exponent: f64,
    },
    /// Random offsets: the first share h of the ranks takes about 1 − h of the IOs.
    Pareto {
        /// The share h, above 0 and below 1.
        share: f64,
    },
}

impl JobAddresses {
    pub(super) fn check(self) -> Result<(), PatternError> {
        let (value, rule, is_right) = match self {
            JobAddresses::Zipf { exponent } => (
                exponent,
                "zipf has an exponent above 0 and up to 10",
                exponent > 0.0 && exponent <= 10.0,
            ),
            JobAddresses::Pareto { share } => {
                (share, "pareto has a share above 0 and below 1", share > 0.0 && share < 1.0)
            }
            _ => return Ok(()),
        };
        let error = || PatternError {
            parameter: "random_distribution",
            value: value.to_string(),
            rule: rule.into(),
        };
        if is_right { Ok(()) } else { Err(error()) }
    }
}

/// Generates the offsets of a job's IOs.
pub(super) enum Places {
    Sequential {
        /// The next offsets of reads and of other IOs.
        next: [u64; 2],
    },
    /// One size: a permutation for each pass.
    Permuted {
        order: Permutation,
        nth: u64,
        pass: u64,
        seed: u64,
    },
    /// Several sizes: an IO is as long as the free places allow.
    Mapped {
        free: FreePlaces,
        units: u64,
    },
    Independent,
    Ranked {
        law: Law,
        order: Permutation,
    },
}

/// The distribution of the ranks of places.
pub(super) enum Law {
    Zipf(Ranks),
    Pareto { power: f64 },
}

impl Places {
    /// Creates the places of `kind` in a space of `units` places for the smallest IO.
    pub(super) fn new(kind: JobAddresses, units: u64, has_one_size: bool, seed: u64) -> Places {
        let order = || Permutation::new(units, seed);
        match kind {
            JobAddresses::Sequential => Places::Sequential { next: [0; 2] },
            JobAddresses::Covering if has_one_size => {
                Places::Permuted { order: order(), nth: 0, pass: 0, seed }
            }
            JobAddresses::Covering => Places::Mapped { free: FreePlaces::new(units), units },
            JobAddresses::Independent => Places::Independent,
            JobAddresses::Zipf { exponent } => {
                Places::Ranked { law: Law::Zipf(Ranks::new(units, exponent)), order: order() }
            }
            JobAddresses::Pareto { share } => {
                let power = share.ln() / (1.0 - share).ln();
                Places::Ranked { law: Law::Pareto { power }, order: order() }
            }
        }
    }

    /// Draws the offset and the length of an IO in a space of `size` bytes. `part` is 0 for reads,
    /// 1 for other IOs.
    pub(super) fn draw(
        &mut self,
        part: usize,
        sizes: &Sizes,
        size: u64,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Option<(u64, u64)> {
        let unit = sizes.smallest();
        let place = match self {
            Places::Sequential { next } => {
                let next = &mut next[part];
                if size - *next < unit {
                    *next = 0;
                }
                let (offset, len) = (*next, sizes.draw(size - *next, rng)?);
                *next += len;
                return Some((offset, len));
            }
            Places::Mapped { free, units } => {
                let from = rng.random_range(0..*units);
                let found = free.next(from).or_else(|| free.next(0)).unwrap_or_else(|| {
                    *free = FreePlaces::new(*units);
                    from
                });
                let len = sizes.draw(size - found * unit, rng)?;
                let taken = free.take(found, len.div_ceil(unit));
                return Some((found * unit, len.min(taken * unit)));
            }
            Places::Permuted { order, nth, pass, seed } => {
                if *nth == order.count() {
                    (*nth, *pass) = (0, *pass + 1);
                    *order = Permutation::new(order.count(), seed_for(*seed, *pass));
                }
                *nth += 1;
                order.at(*nth - 1)
            }
            Places::Independent => rng.random_range(0..size / unit),
            Places::Ranked { law, order } => {
                // The places of reads and writes differ in number only if their sizes differ.
                order.at(law.draw(order.count(), rng)) % (size / unit)
            }
        };
        let offset = place * unit;
        Some((offset, sizes.draw(size - offset, rng)?))
    }
}

impl Law {
    /// Draws a rank, 0 to `ranks` − 1.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "places are fewer than 2^53"
    )]
    fn draw(&self, ranks: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Law::Zipf(law) => law.draw(rng) - 1,
            Law::Pareto { power } => {
                let uniform: f64 = rng.random();
                ((ranks - 1) as f64 * uniform.powf(*power)) as u64
            }
        }
    }
}

/// Returns the number of places of `unit` bytes in a space.
pub(super) fn units(space: Bytes, unit: u64) -> u64 {
    (space.0 / unit).max(1)
}
