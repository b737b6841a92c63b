//! Bit errors: the raw bit error rate of a page, the code that corrects them, and the retries that
//! a read needs.
//!
//! A page is read again, with other reference voltages, while its code cannot correct it. Each page
//! has a *quality* between 0 and 1: a hash of its address and of its block's erase count. The
//! *limit* of a page is the largest raw bit error rate at which the page can be read. At that rate,
//! the share of all pages that cannot be read equals the page's quality. A page that is hard to
//! read therefore stays hard to read until its block is erased, and reads draw no random numbers.

use flashscope_block::Nanos;

use super::disturb::ReadOutcome;
use super::{BlockId, Cause, Page, PageTypes};
use crate::footprint::{Size, fixed};

/// The growth of the raw bit error rate: a term (x / `scale`) ^ `exponent` is added to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// The value of x at which the term is 1; 0 for no growth.
    pub scale: f64,
    /// The exponent.
    pub exponent: f64,
}

impl Growth {
    #[inline]
    fn term(self, x: f64) -> f64 {
        if self.scale == 0.0 { 0.0 } else { (x / self.scale).powf(self.exponent) }
    }
}

/// The bit errors of flash, and their correction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BitErrors {
    /// The raw bit error rate of a page that was just written to a new block; 0 for no errors.
    pub rate: f64,
    /// The number of page types, at least 1.
    pub types: u32,
    /// The factor of the raw bit error rate of each page type.
    pub factors: [f64; PageTypes::MAX_BITS],
    /// The factor of the raw bit error rate of pages in blocks used as SLC.
    pub slc_factor: f64,
    /// Growth with the erases of the block.
    pub wear: Growth,
    /// Growth with the age of the block's data in nanoseconds.
    pub retention: Growth,
    /// Growth with the reads of the block since its erase.
    pub reads: Growth,
    /// The error-correcting code.
    pub code: Code,
    /// Maximum number of retries of a read.
    pub max_retries: u32,
    /// Number of retries from which a page must be refreshed: its data rewritten elsewhere.
    pub refresh_from: u32,
    /// The factor of the raw bit error rate for each retry, between 0 and 1.
    pub gain: f64,
    /// The time to decode a page, for each attempt.
    pub decode: Nanos,
    /// Seed of the qualities.
    pub seed: u64,
}

impl BitErrors {
    /// Flash without errors.
    #[cfg(test)]
    pub(super) const NONE: BitErrors = {
        let growth = Growth { scale: 0.0, exponent: 1.0 };
        BitErrors {
            rate: 0.0,
            types: 1,
            factors: [1.0; PageTypes::MAX_BITS],
            slc_factor: 1.0,
            wear: growth,
            retention: growth,
            reads: growth,
            code: Code { bits: 8, correctable: 0, codewords: 1, ln_ways: 0.0 },
            max_retries: 0,
            refresh_from: 1,
            gain: 0.5,
            decode: Nanos(0),
            seed: 0,
        }
    };
}

/// An error-correcting code that corrects a limited number of errors in each codeword.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// Data bits of a codeword. In this model, parity bits have no errors.
    pub bits: u32,
    /// Bit errors of a codeword that can be corrected.
    pub correctable: u32,
    /// Codewords of a page.
    pub codewords: u32,
    /// The logarithm of the number of ways to have one error more than can be corrected.
    ln_ways: f64,
}

impl Code {
    /// Returns a code with codewords of `bits` bits, `correctable` errors in each, and `codewords`
    /// of them in a page.
    pub fn new(bits: u32, correctable: u32, codewords: u32) -> Code {
        let (n, k) = (f64::from(bits), correctable.saturating_add(1).min(bits));
        let factor = |i: u32| ((n - f64::from(k) + f64::from(i)) / f64::from(i)).ln();
        Code { bits, correctable, codewords, ln_ways: (1..=k).map(factor).sum() }
    }

    /// Returns the probability that a page cannot be corrected at a raw bit error rate.
    pub fn failure(&self, rate: f64) -> f64 {
        let all = f64::from(self.codewords);
        // 1 - (1 - p)^n, without loss of precision for small p.
        -(all * (-self.codeword_failure(rate)).ln_1p()).exp_m1()
    }

    /// Returns the probability of more errors in a codeword than can be corrected: the upper tail
    /// of a binomial distribution.
    fn codeword_failure(&self, rate: f64) -> f64 {
        if rate <= 0.0 || self.correctable >= self.bits {
            return 0.0;
        }
        if rate >= 1.0 {
            return 1.0;
        }
        let (bits, first) = (f64::from(self.bits), f64::from(self.correctable + 1));
        // The lower tail is shorter where most codewords fail.
        if rate * bits > first {
            let ratio = |k: f64| k / (bits - k + 1.0) * (1.0 - rate) / rate;
            let ln_ways = self.ln_ways + (first / (bits - first + 1.0)).ln();
            return 1.0 - self.sum(rate, first - 1.0, ln_ways, -1.0, ratio);
        }
        self.sum(rate, first, self.ln_ways, 1.0, |k| (bits - k) / (k + 1.0) * rate / (1.0 - rate))
    }

    /// Returns the sum of the probabilities of `start`, `start + step`, `start + 2 * step` and so
    /// on errors in a codeword. `ln_ways` is the logarithm of the number of ways to have `start`
    /// errors. `ratio(k)` is the probability of `k + step` errors divided by that of `k` errors.
    fn sum(
        &self,
        rate: f64,
        start: f64,
        ln_ways: f64,
        step: f64,
        ratio: impl Fn(f64) -> f64,
    ) -> f64 {
        let bits = f64::from(self.bits);
        let ln = start * rate.ln() + (bits - start) * (-rate).ln_1p() + ln_ways;
        let (mut term, mut sum, mut k) = (ln.exp(), 0.0, start);
        while (0.0..=bits).contains(&k) && term > sum * 1e-17 {
            sum += term;
            term *= ratio(k);
            k += step;
        }
        sum.min(1.0)
    }
}

/// The binary logarithm of [`STEPS`], the number of steps for each halving of the quality in a
/// table of limits.
const STEP_BITS: u32 = 4;
const STEPS: u32 = 1 << STEP_BITS;
/// The number of halvings in a table. Fewer than one page in 10^14 is beyond the table.
const HALVINGS: u32 = 47;

/// The largest raw bit error rate at which a page can be read, by its quality. The steps are small
/// where qualities are near 0 or near 1, which keeps the error of interpolation small: see the test
/// `limits_invert_failures`.
struct Limits {
    /// For qualities from 1/2 down to 0.
    worse: Box<[f64]>,
    /// For qualities from 1/2 up to 1.
    better: Box<[f64]>,
}

impl Limits {
    fn new(code: &Code) -> Limits {
        let distance = |nth: u32| {
            let (halving, step) = (nth / STEPS, nth % STEPS);
            (1.0 - f64::from(step) / f64::from(2 * STEPS)) * 0.5f64.powi(halving.cast_signed() + 1)
        };
        let places = || (0..=HALVINGS * STEPS).map(distance);
        Limits {
            worse: places().map(|quality| rate_at(code, quality)).collect(),
            better: places().map(|distance| rate_at(code, 1.0 - distance)).collect(),
        }
    }

    fn footprint() -> Size {
        fixed::<f64>(2 * (HALVINGS * STEPS + 1))
    }

    /// Returns the limit of a page whose quality is `hash` / 2^64.
    #[inline]
    fn of(&self, hash: u64) -> f64 {
        let (table, distance) = match hash >> 63 {
            0 => (&self.worse, hash),
            _ => (&self.better, !hash),
        };
        // The leading zeros select the halving below 1/2. The bits after the first 1 select the
        // step in it, counted from its upper end.
        let zeros = distance.leading_zeros().min(HALVINGS);
        let below = !(distance << zeros << 1);
        let at = ((zeros - 1) << STEP_BITS) as usize + (below >> (64 - STEP_BITS)) as usize;
        #[allow(clippy::cast_precision_loss)] // the last bits of a fraction do not matter
        let within = (below << STEP_BITS) as f64 / 2f64.powi(64);
        table[at] + (table[at + 1] - table[at]) * within
    }
}

/// Returns the raw bit error rate at which a share of pages cannot be corrected.
fn rate_at(code: &Code, share: f64) -> f64 {
    let (mut low, mut high) = (-60.0f64, 0.0f64);
    for _ in 0..48 {
        let middle = f64::midpoint(low, high);
        if code.failure(middle.exp2()) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp2()
}

/// The state of a block on which the errors of its pages depend.
#[derive(Debug, Clone, Copy, Default)]
struct BlockState {
    /// The time at which its first page was programmed.
    written: Nanos,
    /// Reads since its last erase.
    reads: u32,
    /// The growth by wear, which its next erase changes.
    wear: f32,
}

/// The bit errors of a drive's pages.
pub(super) struct ErrorState {
    how: BitErrors,
    limits: Limits,
    blocks: Box<[BlockState]>,
    /// Pages that must be refreshed, collected by reads of the host since the last
    /// [`ErrorState::take_refresh`].
    to_refresh: Vec<Page>,
}

impl ErrorState {
    /// Creates the state for `blocks` new blocks, or returns `None` if there are no errors.
    pub(super) fn new(how: &BitErrors, blocks: u32) -> Option<Box<ErrorState>> {
        (how.rate > 0.0).then(|| {
            Box::new(ErrorState {
                how: *how,
                limits: Limits::new(&how.code),
                blocks: vec![BlockState::default(); blocks as usize].into(),
                to_refresh: Vec::new(),
            })
        })
    }

    pub(super) fn footprint(how: &BitErrors, blocks: u32) -> Size {
        match how.rate > 0.0 {
            true => fixed::<BlockState>(blocks) + Limits::footprint() + fixed::<ErrorState>(1u32),
            false => Size(0),
        }
    }

    pub(super) const fn decode(&self) -> Nanos {
        self.how.decode
    }

    /// Records the program of the first page of a block.
    #[inline]
    pub(super) fn written(&mut self, block: BlockId, at: Nanos) {
        self.blocks[block.0 as usize].written = at;
    }

    /// Records the erase of a block that was erased `erases` times, including this erase.
    pub(super) fn erased(&mut self, block: BlockId, erases: u32) {
        #[allow(clippy::cast_possible_truncation)] // seven digits suffice
        let wear = self.how.wear.term(erases.into()) as f32;
        self.blocks[block.0 as usize] = BlockState { written: Nanos(0), reads: 0, wear };
    }

    /// Reads a page at `now` whose block was erased `erases` times, and returns the outcome.
    #[inline]
    pub(super) fn read(
        &mut self,
        page: Page,
        cause: Cause,
        erases: u32,
        slc: bool,
        now: Nanos,
    ) -> ReadOutcome {
        let rate = self.rate(page, slc, now);
        self.blocks[page.block.0 as usize].reads += 1;
        let limit = self.limits.of(self.quality(page, erases));
        if rate <= limit {
            return ReadOutcome { retries: 0, readable: true };
        }
        self.retry(page, cause, rate, limit)
    }

    #[cold]
    fn retry(&mut self, page: Page, cause: Cause, mut rate: f64, limit: f64) -> ReadOutcome {
        let mut retries = 0;
        while rate > limit && retries < self.how.max_retries {
            rate *= self.how.gain;
            retries += 1;
        }
        let readable = rate <= limit;
        let is_hard = retries >= self.how.refresh_from && cause == Cause::Host;
        if readable && is_hard && !self.to_refresh.contains(&page) {
            self.to_refresh.push(page);
        }
        ReadOutcome { retries, readable }
    }

    /// Returns the raw bit error rate of a page.
    fn rate(&self, page: Page, slc: bool, now: Nanos) -> f64 {
        let (how, state) = (&self.how, &self.blocks[page.block.0 as usize]);
        let factor = match slc {
            true => how.slc_factor,
            false => how.factors[(page.index % how.types) as usize],
        };
        #[allow(clippy::cast_precision_loss)] // the last nanoseconds of a long age do not matter
        let age = now.0.saturating_sub(state.written.0) as f64;
        let grown = 1.0
            + f64::from(state.wear)
            + how.retention.term(age)
            + how.reads.term(state.reads.into());
        how.rate * factor * grown
    }

    /// Returns the quality of a page times 2^64: a hash of its address and of its block's erase
    /// count.
    #[inline]
    fn quality(&self, page: Page, erases: u32) -> u64 {
        let place = u64::from(page.block.0) << 32 | u64::from(page.index);
        mix(mix(self.how.seed ^ place).wrapping_add(erases.into()))
    }

    pub(super) fn take_refresh(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.to_refresh)
    }
}

/// Mixes the bits of a number (the finalizer of `splitmix64`).
#[inline]
const fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> Code {
        Code::new(1000, 3, 4)
    }

    // The failure probability of a page agrees with a binomial distribution that is summed term by
    // term.
    #[test]
    fn failures_are_binomial_tails() {
        for rate in [1e-6f64, 1e-4, 1e-3, 3e-3, 0.02, 0.5] {
            let chance = |k: i32| {
                let choose: f64 = (0..k).map(|i| f64::from(1000 - i) / f64::from(i + 1)).product();
                choose * rate.powi(k) * (1.0 - rate).powi(1000 - k)
            };
            let upper: f64 = (4..200).map(chance).sum();
            let lower: f64 = (0..4).map(chance).sum();
            let one = if lower > 0.5 { upper } else { 1.0 - lower };
            let expected = if one < 1e-6 { 4.0 * one } else { 1.0 - (1.0 - one).powi(4) };
            let found = code().failure(rate);
            assert!((found / expected - 1.0).abs() < 1e-5, "{rate}: {found} and {expected}");
        }
        assert_eq!((code().failure(0.0), code().failure(1.0)), (0.0, 1.0));
    }

    // At the limit of a page, the share of pages that fail is the quality of the page, to 0.2 %.
    #[test]
    fn limits_invert_failures() {
        let limits = Limits::new(&code());
        for hash in
            [u64::MAX - 1000, u64::MAX / 2 + 5, u64::MAX / 3, u64::MAX / 1000, 1 << 40, 1 << 20]
        {
            #[allow(clippy::cast_precision_loss)]
            let quality = hash as f64 / 2f64.powi(64);
            let found = code().failure(limits.of(hash));
            assert!((found / quality - 1.0).abs() < 2e-3, "{quality:e}: {found:e}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        let (mut last, mut hashes) = (f64::INFINITY, [0u64; 1000].map(|_| random.u64(..)));
        hashes.sort_unstable();
        for hash in hashes.into_iter().rev() {
            assert!(limits.of(hash) <= last, "a better page has the smaller limit");
            last = limits.of(hash);
        }
    }
}
