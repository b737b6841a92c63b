//! Log blocks that serve a data block each, derived anew: how they fill up while their turn comes, by renewal.
//!
//! Lengths are geometric. Log blocks are given up oldest first, so that all live equally long, unless they are full
//! before: for the time a in which a data block has a fragments on average. Of all data blocks u have a log block
//! that is not full. Then, for each fragment, of which p_m are middles, and q_t of the others tails:
//!
//! - a middle, where there is no such log block, is one by itself: (1-u) p_m switches;
//! - others begin one: (1-u) (1-p_m). A tail that no fragment follows in its turn is completed: q_t exp(-a) of them;
//! - fragments that are more than fits fill it, and begin another with what is left. A middle leaves as much as was in
//!   it, which is taken to be as long as a fragment is; of others (E l^2 / L - 1) / 2 are left, as renewal theory
//!   has it, and nothing of one in L;
//! - all that are begun and not completed are merged in full, two erasures each.
//!
//! A log block is not full after k more fragments with the chance that a normal variable of as many means and
//! variances is below B - 1/2, and (1-p_m)^k; the number of fragments is Poisson. How long log blocks live, begun
//! with a fragment or with what was left, and how often others follow, are sums over k; a is what makes all that
//! are in use f. Merged as soon as they are full, that is u; merged when their data block is written again or
//! their turn comes, full ones count too, (1-u) p_m (1 - exp(-a)) of them.
//!
//! Within 0.6 % of a simulation at f of .03 to .3 and w of 1 to 2500, either way; with 64 pages in a block within 1.5 %
//! up to f of .8. Beyond, where log blocks are filled over and over before their turn comes, it is off by up to 3.2 %,
//! and from f of 1 on, where none is given up, it is exact again.

use crate::fragments::Fragments;
use crate::normal;
use crate::root::root_to;
use crate::{Merges, Prediction, Uniform};

/// Log blocks that are full are merged at once.
#[must_use]
pub fn eager(uniform: &Uniform) -> Prediction {
    Parts::of(uniform).predict(uniform, false)
}

/// Log blocks that are full are merged when their data block is written again, or their turn comes.
#[must_use]
pub fn lazy(uniform: &Uniform) -> Prediction {
    Parts::of(uniform).predict(uniform, true)
}

/// Chances below which what may still happen is left out.
const NEVER: f64 = 1e-8;

/// The longest turn, in fragments of a data block, from which on nothing is given up.
const LONGEST: f64 = 700.0;

/// To what the turn is found.
const PRECISION: f64 = 1e-6;

/// Chances that are remembered while it is.
const KNOWN: usize = 32;

/// What fragments are like.
struct Parts {
    fragments: Fragments,
    block: f64,
    /// The share of middles.
    middles: f64,
    /// Mean and variance of the length of others.
    mean: f64,
    variance: f64,
    /// What others leave when they fill a log block, and how often they leave anything.
    rest: f64,
    leaves: f64,
}

/// A log block that has just been begun.
struct Log {
    /// Mean and variance of the pages in it, the latter in variances of fragments.
    pages: f64,
    variances: f64,
    /// The chances that it has room after 1, 2, ... more fragments, as far as they are known.
    rooms: [f64; KNOWN],
    known: u8,
}

impl Log {
    fn new(pages: f64, variances: f64) -> Log {
        Log { pages, variances, rooms: [0.0; KNOWN], known: 0 }
    }

    /// The chance that it is not full after k more fragments, 1 or more.
    fn room(&mut self, k: u32, parts: &Parts) -> f64 {
        let of = |k: f64| {
            let (pages, variances) = (self.pages + k * parts.mean, self.variances + k);
            normal::below((parts.block - 0.5 - pages) / (variances * parts.variance).sqrt())
        };
        let Some(room) = self.rooms.get_mut(k as usize - 1) else { return of(f64::from(k)) };
        // They are asked for one after the other.
        if u32::from(self.known) < k {
            *room = of(f64::from(k));
            self.known += 1;
        }
        *room
    }
}

/// What log blocks come to that are begun with a fragment of their own, or with what was left.
#[derive(Default)]
struct Lives {
    /// Fragments of a data block in the time that they live.
    length: f64,
    /// Those filled by middles.
    by_middles: f64,
    /// Those filled by others that leave something.
    by_others: f64,
}

/// How log blocks are used in a steady state.
struct Use {
    /// Data blocks that have one that is not full.
    open: f64,
    /// Log blocks in use for each data block.
    all: f64,
    /// Log blocks begun with what was left, for each begun with a fragment.
    followers: f64,
}

impl Parts {
    fn of(uniform: &Uniform) -> Parts {
        let fragments = Fragments::geometric(uniform);
        let (block, len) = (uniform.pages_per_block(), uniform.mean_len());
        let others = fragments.heads + fragments.tails;
        // All that is not in middles; the difference to 1, where that is most, keeps its digits.
        let within = -((block - 1.0) * (-1.0 / len).ln_1p()).exp_m1();
        let mean = (within / others).clamp(1.0, block - 1.0);
        let square = square_of_others(&fragments, block, len) / others;
        let leaves = 1.0 - 1.0 / mean;
        let rest = (0.5 * (square / mean - 1.0) / leaves.max(NEVER)).clamp(1.0, block - 1.0);
        Parts {
            middles: fragments.middles / (fragments.middles + others),
            variance: (square - mean * mean).max(NEVER),
            fragments,
            block,
            mean,
            rest,
            leaves,
        }
    }

    /// Lives of log blocks that begin as told, where a turn is `turn` fragments.
    fn lives(&self, log: &mut Log, turn: f64) -> Lives {
        let mut lives = Lives::default();
        let mut chance = (-turn).exp();
        // That there are more than k fragments, no middle is among the first k, and those leave room.
        let (mut more, mut others, mut room) = (-(-turn).exp_m1(), 1.0, 1.0);
        for k in 1..u32::MAX {
            if more * others * room < NEVER {
                break;
            }
            let next = log.room(k, self).min(room);
            lives.length += room * others * more;
            lives.by_middles += room * others * more * self.middles;
            lives.by_others += (room - next) * others * more * (1.0 - self.middles) * self.leaves;
            chance *= turn / f64::from(k);
            more -= chance;
            others *= 1.0 - self.middles;
            room = next;
        }
        lives
    }

    fn in_use(&self, [own, left]: &mut [Log; 2], turn: f64, lazy: bool) -> Use {
        let (own, left) = (self.lives(own, turn), self.lives(left, turn));
        // Of x begun as with a fragment and y with what others left: x = 1 + x m + y m', y = x r + y r'.
        let per_own = own.by_others / (1.0 - left.by_others);
        let x = 1.0 / (1.0 - own.by_middles - per_own * left.by_middles);
        let y = x * per_own;
        let busy = (1.0 - self.middles) * (x * own.length + y * left.length);
        let open = busy / (1.0 + busy);
        let full = if lazy { (1.0 - open) * self.middles * -(-turn).exp_m1() } else { 0.0 };
        Use { open, all: open + full, followers: x + y - 1.0 }
    }

    /// The turn at which as many log blocks are in use as there are, in fragments of a data block.
    fn turn(&self, begun: &mut [Log; 2], logs: f64, lazy: bool) -> f64 {
        // What are in use over what are not is nearly a straight line, as long as few are filled.
        let odds = logs / (1.0 - logs);
        let mut off = |turn: f64| {
            let all = self.in_use(begun, turn, lazy).all;
            all / (1.0 - all) - odds
        };
        let (mut low, mut high) = (0.0, if lazy { odds } else { odds / (1.0 - self.middles) });
        while high < LONGEST && off(high) < 0.0 {
            (low, high) = (high, 1.2 * high);
        }
        if high >= LONGEST { LONGEST } else { root_to(PRECISION, low, high, off) }
    }

    fn merges(&self, logs: f64, lazy: bool) -> Merges {
        let Fragments { heads, middles, tails, .. } = self.fragments;
        if logs >= 1.0 {
            // None is given up, and a fragment finds any number of pages in its log block as often as any other.
            let (switch, filled) = (middles / self.block, 1.0 / self.block);
            return Merges { switch, partial: 0.0, full: filled - switch };
        }
        let begun = &mut [Log::new(self.mean, 1.0), Log::new(self.rest, 0.5)];
        let turn = self.turn(begun, logs, lazy);
        let Use { open, followers, .. } = self.in_use(begun, turn, lazy);
        let partial = tails * (1.0 - open) * (-turn).exp();
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

/// The sum of the squares of the lengths of heads and tails, for each page that the host writes.
///
/// A head has n pages at most, 1 to B-1 as likely as each other, and the mean square of min(l, n) is the sum of
/// (2i + 1) q^i for i below n, with q = 1 - 1/w: (2q w^2 + w)(1 - q^n) - 2 n w q^n. A tail is min(l, B) where that is
/// below B.
fn square_of_others(fragments: &Fragments, block: f64, w: f64) -> f64 {
    let others = fragments.heads + fragments.tails;
    // Where writes are far longer than blocks this would be a difference of nearly equal numbers: there all lengths
    // below B are as likely as each other.
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

    // Is the mean of the squares that of all starts and lengths, one by one?
    #[test]
    fn squares() {
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
