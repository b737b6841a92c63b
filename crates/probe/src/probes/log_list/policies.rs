//! A list of log segments as a cache: the writes that merge under each policy, and the likelihood
//! of the measured costs.

use std::collections::{HashMap, VecDeque};

/// A write to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Touch {
    /// The number of the segment in the drive.
    pub segment: u64,
    /// True if the write was slow, which means that it waited for a merge.
    pub slow: bool,
}

/// The policy that chooses the log segment to merge when another log segment is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eviction {
    Fifo,
    Lru,
    Random,
}

impl Eviction {
    const ALL: [Eviction; 3] = [Eviction::Fifo, Eviction::Lru, Eviction::Random];

    /// Returns the name of the class.
    pub(super) fn name(self) -> &'static str {
        match self {
            Eviction::Fifo => "fifo",
            Eviction::Lru => "lru",
            Eviction::Random => "random",
        }
    }
}

/// A hypothetical list of log segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct List {
    /// The number of consecutive segments that share log segments.
    pub group: u64,
    /// The number of log segments.
    pub len: usize,
    /// The policy that chooses the log segment to merge.
    pub eviction: Eviction,
}

/// The probability that a write is slow although the list predicts a fast write, or fast although
/// it predicts a slow write. The causes are hiccups and simplifications of the model.
const ODD: f64 = 0.02;

/// The weight of each write as evidence. Errors come in sequences, because one misjudged write
/// shifts the contents of the list. Each write therefore counts half.
const TEMPER: f64 = 0.5;

/// Maximum length of a list to consider.
pub(super) const MAX_LENGTH: usize = 40;

/// The group sizes to consider.
const GROUPS: [u64; 5] = [1, 2, 4, 8, 16];

/// Returns the probability of each list, with a sum of 1, in the order of the likelihood of the
/// writes, which leaves out the prior. Also returns the log-likelihood ratio of the first list to
/// the hypothesis that writes are slow at random.
pub(crate) fn posterior(touches: &[Touch]) -> (Vec<(List, f64)>, f64) {
    let lists = GROUPS.iter().flat_map(|group| {
        (1..=MAX_LENGTH).flat_map(move |len| {
            Eviction::ALL.map(|eviction| List { group: *group, len, eviction })
        })
    });
    let mut weighed: Vec<(List, f64)> =
        lists.map(|list| (list, log_likelihood(touches, list))).collect();
    let best = weighed.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
    // A priori, a list without groups (group size 1) is as likely as the four larger group sizes
    // together.
    let prior = |list: List| if list.group == 1 { 4.0 } else { 1.0 };
    for (list, weight) in &mut weighed {
        *weight = prior(*list) * (TEMPER * (*weight - best)).exp();
    }
    let sum: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    weighed.iter_mut().for_each(|(_, weight)| *weight /= sum);
    weighed.sort_by(|a, b| b.1.total_cmp(&a.1));
    (weighed, best - indifferent(touches))
}

/// Returns the log-likelihood of writes that are slow at random.
#[allow(clippy::cast_precision_loss, reason = "touches are few")]
fn indifferent(touches: &[Touch]) -> f64 {
    let slow = touches.iter().filter(|touch| touch.slow).count() as f64;
    let all = touches.len() as f64;
    let share = (slow + 0.5) / (all + 1.0);
    slow * share.ln() + (all - slow) * (1.0 - share).ln()
}

fn log_likelihood(touches: &[Touch], list: List) -> f64 {
    match list.eviction {
        Eviction::Random => random(touches, list),
        _ => ordered(touches, list),
    }
}

/// Returns the log-likelihood of a slow or fast write that should be slow with this probability.
fn term(slow: bool, probability: f64) -> f64 {
    let probability = ODD + (1.0 - 2.0 * ODD) * probability;
    if slow { probability.ln() } else { (1.0 - probability).ln() }
}

/// Returns the log-likelihood for FIFO or LRU eviction.
fn ordered(touches: &[Touch], list: List) -> f64 {
    // The initial contents of the list are unknown.
    let mut held: VecDeque<Option<u64>> = vec![None; list.len].into();
    let mut sum = 0.0;
    for touch in touches {
        let key = touch.segment / list.group;
        if let Some(place) = held.iter().position(|other| *other == Some(key)) {
            sum += term(touch.slow, 0.0);
            if list.eviction == Eviction::Lru {
                held.remove(place);
                held.push_back(Some(key));
            }
            continue;
        }
        let gone = held.pop_front().flatten();
        held.push_back(Some(key));
        sum += term(touch.slow, if gone.is_some() { 1.0 } else { 0.5 });
    }
    sum
}

/// Returns the log-likelihood for random eviction.
///
/// The contents of the list are uncertain: each segment is in it with some probability, and the
/// probabilities add up to the length of the list. Each write shows whether its segment was in the
/// list, which changes the probabilities of the other segments. Each merge removes a random
/// segment.
fn random(touches: &[Touch], list: List) -> f64 {
    let len = count(list.len);
    let mut held = Membership { keys: HashMap::new(), initial: len };
    let (mut misses, mut sum) = (0, 0.0);
    for touch in touches {
        let key = touch.segment / list.group;
        let here = held.keys.remove(&key).unwrap_or(0.0);
        let full = if misses < list.len { 0.5 } else { 1.0 };
        sum += term(touch.slow, (1.0 - here) * full);
        // Misses are fast until the list is full.
        let missed = touch.slow || (full < 1.0 && here == 0.0);
        if missed {
            misses += 1;
            held.settle(len);
            held.scale_all(1.0 - 1.0 / len);
        } else {
            held.settle(len - 1.0);
        }
        held.keys.insert(key, 1.0);
    }
    sum
}

/// Converts a small count to a floating-point number.
#[allow(clippy::cast_precision_loss, reason = "lists are short")]
fn count(len: usize) -> f64 {
    len as f64
}

/// The probability of each segment to be in the list.
struct Membership {
    keys: HashMap<u64, f64>,
    /// The expected number of segments in the list that were already in it before the first write.
    initial: f64,
}

impl Membership {
    fn scale_all(&mut self, by: f64) {
        self.keys.values_mut().for_each(|p| *p *= by);
        self.initial *= by;
    }

    /// Scales the odds of all segments by one factor, such that the probabilities add up to `len`.
    fn settle(&mut self, len: f64) {
        let odds = |p: f64, factor: f64| factor * p / (1.0 - p + factor * p).max(1e-12);
        let all = len + 1.0;
        let total = |factor: f64| {
            let known: f64 = self.keys.values().map(|p| odds(*p, factor)).sum();
            known + all * odds((self.initial / all).min(1.0), factor)
        };
        let (mut low, mut high) = (-4.0f64, 4.0f64);
        for _ in 0..12 {
            let middle = f64::midpoint(low, high);
            if total(middle.exp()) < len { low = middle } else { high = middle }
        }
        let factor = f64::midpoint(low, high).exp();
        self.keys.values_mut().for_each(|p| *p = odds(*p, factor));
        self.keys.retain(|_, p| *p > 1e-4);
        self.initial = all * odds((self.initial / all).min(1.0), factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates the writes to a drive with such a list, with an occasional hiccup.
    fn simulated(list: List, seed: u64) -> Vec<Touch> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut held: Vec<u64> = Vec::new();
        let doubled = (0..6).flat_map(|n| {
            let segments = (0..1 << n).map(move |nth| (nth * 64) << (6 - n));
            segments.clone().chain(segments)
        });
        let mut order: Vec<u64> = doubled.collect();
        order.extend(super::super::rounds(&mut rng, 4096, list.len));
        if list.eviction == Eviction::Random {
            order.extend(super::super::rounds(&mut rng, 4096, list.len));
        }
        let touch = |segment: u64| {
            let key = segment / list.group;
            let mut slow = false;
            match held.iter().position(|other| *other == key) {
                Some(place) if list.eviction == Eviction::Lru => {
                    held.remove(place);
                    held.push(key);
                }
                Some(_) => {}
                None => {
                    slow = held.len() == list.len;
                    if slow {
                        let random = list.eviction == Eviction::Random;
                        held.remove(if random { rng.usize(..list.len) } else { 0 });
                    }
                    held.push(key);
                }
            }
            Touch { segment, slow: slow || rng.u32(..100) == 0 }
        };
        order.into_iter().map(touch).collect()
    }

    #[test]
    fn rounds_identify_each_list() {
        let (mut right, mut all) = (0, 0);
        for (seed, len) in (0..).zip([1, 3, 8]) {
            for eviction in Eviction::ALL.into_iter().filter(|_| len > 1) {
                for group in [1, 4] {
                    let list = List { group, len, eviction };
                    let (posterior, better) = posterior(&simulated(list, seed));
                    assert!(better > 10.0, "{list:?}: {better}");
                    all += 1;
                    let found = posterior[0].0;
                    // With random eviction, the length may be off by one.
                    let near = eviction == Eviction::Random && found.len.abs_diff(len) <= 1;
                    right += u32::from(found == list || near && found.eviction == eviction);
                }
            }
        }
        assert!(right + 1 >= all, "{right} of {all}");
    }

    #[test]
    fn writes_slow_at_random_are_no_list() {
        let mut rng = fastrand::Rng::with_seed(1);
        for share in [0, 5, 30, 100] {
            let order = super::super::rounds(&mut rng, 4096, 8);
            let touches: Vec<Touch> = order
                .into_iter()
                .map(|segment| Touch { segment, slow: rng.u32(..100) < share })
                .collect();
            assert!(posterior(&touches).1 < 5.0, "{share}");
        }
    }
}
