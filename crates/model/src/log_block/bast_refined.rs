//! A derivation of BAST by renewal theory: log blocks fill up before they are reclaimed.
//!
//! Write lengths are geometric. The FTL reclaims the oldest log block first. A log block that does
//! not fill up therefore lives for a fixed time a. The unit of time is the mean time between two
//! fragments of a data block. A share u of the data blocks has a log block with room left. A share
//! p_m of the fragments are middles, and a share q_t of the heads and tails are tails:
//!
//! - If the data block of a middle has no log block with room left, the middle causes a switch
//!   merge. Such middles are a share (1-u) p_m of all fragments.
//! - If the data block of a head or tail has no log block with room left, the fragment starts a log
//!   block: a share (1-u) (1-p_m). If the fragment is a tail and no other fragment follows before
//!   reclaim, the log block ends in a partial merge. Such log blocks are a share q_t exp(-a)
//!   of the log blocks started.
//! - A fragment longer than the remaining room fills the log block and starts another log block
//!   with its remainder. The remainder of a middle is as long as the log block's earlier content,
//!   which is assumed to be as long as a fragment. For heads and tails of length l with mean L, the
//!   mean remainder is (E l^2 / L - 1) / 2 pages by renewal theory, and one in L leaves no
//!   remainder.
//! - Every other log block ends in a full merge with two erases.
//!
//! After k more fragments, a log block has room left under two conditions. No middle is among the k
//! fragments, with probability (1-p_m)^k, and their pages fit. Their number of pages is taken as
//! normal with its mean and variance, and must be below B - 1/2. The number of fragments in the
//! time a is Poisson-distributed. The lifetimes and the number of remainders are sums over k.
//!
//! The time a follows from the condition that a share f of the data blocks has a log block. If full
//! log blocks are merged immediately (eager), that share is u. If they are merged when their data
//! block is written again or on reclaim (lazy), full log blocks add (1-u) p_m (1 - exp(-a)).
//!
//! Both variants agree with a simulation to within 0.6 % for f from .03 to .3 and w from 1 to 2500.
//! Up to f = .8 with 64 pages in a block, they agree to within 1.5 %. Closer to f = 1, log blocks
//! fill up many times before reclaim, and the error reaches 3.2 %. From f = 1 on, no log block is
//! reclaimed and the result is exact.

use crate::fragments::Fragments;
use crate::normal;
use crate::root::root_to;
use crate::{Merges, Prediction, Uniform};

/// Predicts a BAST that merges a log block as soon as it is full.
#[must_use]
pub fn eager(uniform: &Uniform) -> Prediction {
    Parts::of(uniform).predict(uniform, false)
}

/// Predicts a BAST that merges a full log block when its data block is written again, or on
/// reclaim.
#[must_use]
pub fn lazy(uniform: &Uniform) -> Prediction {
    Parts::of(uniform).predict(uniform, true)
}

/// Probabilities below this are neglected.
const NEGLIGIBLE: f64 = 1e-8;

/// The lifetime of a log block, in fragments of its data block, above which reclaim no longer
/// matters.
const MAX_LIFETIME: f64 = 700.0;

/// The relative precision of the lifetime.
const PRECISION: f64 = 1e-6;

/// The number of probabilities to cache during the search for the lifetime.
const CACHED: usize = 32;

/// The distribution of fragments.
struct Parts {
    fragments: Fragments,
    block: f64,
    /// The share of middles among all fragments.
    middles: f64,
    /// The mean length of heads and tails.
    mean: f64,
    /// The variance of the length of heads and tails.
    variance: f64,
    /// The mean remainder of a head or tail that fills a log block.
    rest: f64,
    /// The probability that a head or tail that fills a log block leaves a remainder.
    leaves: f64,
}

/// A log block that has just been started.
struct Log {
    /// The mean number of pages in the log block.
    pages: f64,
    /// The variance of the number of pages in the log block, in units of the variance of the length
    /// of one fragment.
    variances: f64,
    /// The cached probabilities that the log block has room left after 1, 2, … more fragments.
    rooms: [f64; CACHED],
    /// The number of cached probabilities.
    cached: u8,
}

impl Log {
    fn new(pages: f64, variances: f64) -> Log {
        Log { pages, variances, rooms: [0.0; CACHED], cached: 0 }
    }

    /// Returns the probability that the log block has room left after `k` more fragments (1 or
    /// more).
    fn room(&mut self, k: u32, parts: &Parts) -> f64 {
        let of = |k: f64| {
            let (pages, variances) = (self.pages + k * parts.mean, self.variances + k);
            normal::below((parts.block - 0.5 - pages) / (variances * parts.variance).sqrt())
        };
        let Some(room) = self.rooms.get_mut(k as usize - 1) else { return of(f64::from(k)) };
        // The caller passes k in ascending order.
        if u32::from(self.cached) < k {
            *room = of(f64::from(k));
            self.cached += 1;
        }
        *room
    }
}

/// Statistics of log blocks: either of all that start with a fragment, or of all that start with a
/// remainder.
#[derive(Default)]
struct Lives {
    /// Mean lifetime, in fragments of a data block.
    length: f64,
    /// The share of log blocks that a middle fills up.
    by_middles: f64,
    /// The share of log blocks that a head or tail fills up, leaving a remainder.
    by_others: f64,
}

/// The occupancy of log blocks in a steady state.
struct Use {
    /// The share of data blocks that have a log block with room left.
    open: f64,
    /// Log blocks in use for each data block.
    all: f64,
    /// Log blocks started with a remainder, for each log block started with a fragment.
    followers: f64,
}

impl Parts {
    fn of(uniform: &Uniform) -> Parts {
        let fragments = Fragments::geometric(uniform);
        let (block, len) = (uniform.pages_per_block(), uniform.mean_len());
        let others = fragments.heads + fragments.tails;
        // The share of pages outside middles. This form keeps its digits where that share is small.
        let within = -((block - 1.0) * (-1.0 / len).ln_1p()).exp_m1();
        let mean = (within / others).clamp(1.0, block - 1.0);
        let square = square_of_others(&fragments, block, len) / others;
        let leaves = 1.0 - 1.0 / mean;
        let rest = (0.5 * (square / mean - 1.0) / leaves.max(NEGLIGIBLE)).clamp(1.0, block - 1.0);
        Parts {
            middles: fragments.middles / (fragments.middles + others),
            variance: (square - mean * mean).max(NEGLIGIBLE),
            fragments,
            block,
            mean,
            rest,
            leaves,
        }
    }

    /// Returns the statistics of log blocks that start like `log`. Reclaim comes after `lifetime`
    /// fragments of the data block on average.
    fn lives(&self, log: &mut Log, lifetime: f64) -> Lives {
        let mut lives = Lives::default();
        let mut chance = (-lifetime).exp();
        // Before the fragment with number k, these are three probabilities: of k fragments or more
        // before reclaim, of no middle among the first k - 1, and of room for the first k - 1.
        let (mut more, mut others, mut room) = (-(-lifetime).exp_m1(), 1.0, 1.0);
        for k in 1..u32::MAX {
            if more * others * room < NEGLIGIBLE {
                break;
            }
            let next = log.room(k, self).min(room);
            lives.length += room * others * more;
            lives.by_middles += room * others * more * self.middles;
            lives.by_others += (room - next) * others * more * (1.0 - self.middles) * self.leaves;
            chance *= lifetime / f64::from(k);
            more -= chance;
            others *= 1.0 - self.middles;
            room = next;
        }
        lives
    }

    /// Returns the occupancy of log blocks if reclaim comes after `lifetime` fragments of the data
    /// block. The log block `own` starts with a fragment, `left` with a remainder.
    fn in_use(&self, [own, left]: &mut [Log; 2], lifetime: f64, lazy: bool) -> Use {
        let (own, left) = (self.lives(own, lifetime), self.lives(left, lifetime));
        // Of x log blocks that start with one fragment, middles fill a share m, and heads or tails
        // with a remainder fill a share r. Of y log blocks that start with
        // a remainder of a head or tail, the shares are m' and r'. Then x = 1 + x m + y m' and y =
        // x r + y r'.
        let per_own = own.by_others / (1.0 - left.by_others);
        let x = 1.0 / (1.0 - own.by_middles - per_own * left.by_middles);
        let y = x * per_own;
        let busy = (1.0 - self.middles) * (x * own.length + y * left.length);
        let open = busy / (1.0 + busy);
        let full = if lazy { (1.0 - open) * self.middles * -(-lifetime).exp_m1() } else { 0.0 };
        Use { open, all: open + full, followers: x + y - 1.0 }
    }

    /// Solves for the lifetime, in fragments of a data block, at which all `logs` log blocks are in
    /// use.
    fn lifetime(&self, started: &mut [Log; 2], logs: f64, lazy: bool) -> f64 {
        // The odds that a data block has a log block, share / (1 - share), grow almost linearly
        // with the lifetime as long as few log blocks fill up. The search therefore compares odds.
        let odds = logs / (1.0 - logs);
        let mut off = |lifetime: f64| {
            let all = self.in_use(started, lifetime, lazy).all;
            all / (1.0 - all) - odds
        };
        let (mut low, mut high) = (0.0, if lazy { odds } else { odds / (1.0 - self.middles) });
        while high < MAX_LIFETIME && off(high) < 0.0 {
            (low, high) = (high, 1.2 * high);
        }
        if high >= MAX_LIFETIME { MAX_LIFETIME } else { root_to(PRECISION, low, high, off) }
    }

    fn merges(&self, logs: f64, lazy: bool) -> Merges {
        let Fragments { heads, middles, tails, .. } = self.fragments;
        if logs >= 1.0 {
            // No log block is reclaimed, and all numbers of pages in a log block are equally
            // likely.
            let (switch, filled) = (middles / self.block, 1.0 / self.block);
            return Merges { switch, partial: 0.0, full: filled - switch };
        }
        let started = &mut [Log::new(self.mean, 1.0), Log::new(self.rest, 0.5)];
        let lifetime = self.lifetime(started, logs, lazy);
        let Use { open, followers, .. } = self.in_use(started, lifetime, lazy);
        let partial = tails * (1.0 - open) * (-lifetime).exp();
        let full = (heads + tails) * (1.0 - open) * (1.0 + followers) - partial;
        Merges { switch: middles * (1.0 - open), partial, full }
    }

    fn predict(&self, uniform: &Uniform, lazy: bool) -> Prediction {
        let merges = self.merges(uniform.free_space(), lazy);
        let rest = self.block - self.fragments.tail_len(self.block);
        Prediction {
            erasures: merges.switch + merges.partial + 2.0 * merges.full,
            copies: merges.full * self.block + merges.partial * rest,
            merges: Some(merges),
        }
    }
}

/// Returns the sum of squared lengths of heads and tails, for each host page written.
///
/// The room for a head, n, is 1 to B-1 pages with equal probability. The mean square of min(l, n)
/// is the sum of (2i + 1) q^i over i below n, with q = 1 - 1/w: (2q w^2 + w)(1 - q^n) - 2 n w q^n.
/// A tail is min(l, B) if that is below B.
fn square_of_others(fragments: &Fragments, block: f64, w: f64) -> f64 {
    let others = fragments.heads + fragments.tails;
    // For writes far longer than blocks, the formula below is a difference of nearly equal numbers.
    // There, all lengths below B are equally likely.
    if block < 1e-4 * w {
        return others * block * (2.0 * block - 1.0) / 6.0;
    }
    let log_q = (-1.0 / w).ln_1p();
    let q = log_q.exp();
    let power = |n: f64| (n * log_q).exp();
    let scale = 2.0 * q * w * w + w;
    let pages = block - 1.0;
    // The sums of q^n and n q^n for n from 1 to B-1.
    let sum = q * (1.0 - power(pages)) * w;
    let weighted = w * (sum - pages * power(block));
    let heads = scale * (1.0 - sum / pages) - 2.0 * w * weighted / pages;
    let capped = scale * (1.0 - power(block)) - 2.0 * block * w * power(block);
    fragments.heads * heads + (capped - block * block * power(pages)) / block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragments::each_part;

    #[test]
    fn squares_agree_with_an_enumeration() {
        let block = 8_u32;
        for w in [1.0, 3.0, 20.0] {
            let uniform = Uniform::new(f64::from(block), 100.0, 0.1, w).unwrap();
            let mut squares = 0.0;
            let pages = each_part(block, w, |share, _, len| {
                squares += if len < block { share * f64::from(len).powi(2) } else { 0.0 };
            });
            let got = square_of_others(&Fragments::geometric(&uniform), f64::from(block), w);
            assert!((got * pages / squares - 1.0).abs() < 1e-9, "{w}: {got}");
        }
    }
}
