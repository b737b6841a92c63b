//! Fast division by constants of a drive, sums of times, and random indices.

use std::ops::Range;

use flashscope_block::Nanos;

/// Returns `time` plus `duration`, saturating at the maximum time.
#[inline]
pub const fn later(time: Nanos, duration: Nanos) -> Nanos {
    Nanos(time.0.saturating_add(duration.0))
}

/// A divisor that divides by a shift if it is a power of two, as most divisors are. A shift takes a
/// tenth of the time of a division.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Divisor {
    value: u64,
    shift: Option<u32>,
}

impl Divisor {
    /// Prepares division by `value`, which is not 0.
    pub(crate) fn new(value: u64) -> Self {
        Divisor { value, shift: value.is_power_of_two().then(|| value.trailing_zeros()) }
    }

    pub(crate) fn value(self) -> u64 {
        self.value
    }

    /// Returns the remainder of `number` after division by the divisor.
    #[inline]
    pub(crate) fn remainder(self, number: u64) -> u64 {
        number - self.quotient(number) * self.value
    }

    /// Does the same as [`Divisor::quotient`] for a `u32`.
    #[inline]
    pub(crate) fn quotient_of(self, number: u32) -> u32 {
        u32::try_from(self.quotient(number.into())).expect("at most the number")
    }

    /// Does the same as [`Divisor::remainder`] for a `u32`.
    #[inline]
    pub(crate) fn remainder_of(self, number: u32) -> u32 {
        u32::try_from(self.remainder(number.into())).expect("at most the number")
    }

    /// Returns `number` divided by the divisor, rounded down.
    #[inline]
    pub(crate) fn quotient(self, number: u64) -> u64 {
        match self.shift {
            Some(shift) => number >> shift,
            None => number / self.value,
        }
    }
}

/// Draws a random index from `range`. Unlike [`fastrand::Rng::usize`], it draws the same index on
/// 32-bit and on 64-bit machines.
#[inline]
#[allow(clippy::cast_possible_truncation)] // at most the end of the range, which is a usize
pub(crate) fn draw_index(random: &mut fastrand::Rng, range: Range<usize>) -> usize {
    random.u64(range.start as u64..range.end as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_and_remainders_equal_those_of_division() {
        for divisor in [1, 2, 3, 4096, 4608, u64::MAX] {
            for number in [0, 1, 2, 4095, 4096, 123_456_789, u64::MAX] {
                assert_eq!(Divisor::new(divisor).quotient(number), number / divisor);
                assert_eq!(Divisor::new(divisor).remainder(number), number % divisor);
            }
        }
    }
}
