//! Finds slow requests that recur at equal distances.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::{median, spread};

/// A period with which slow requests recur.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Period {
    /// The length of the period, in requests.
    pub length: usize,
    /// The positions of the slow requests within a period, in requests from its start.
    pub phases: Vec<usize>,
    /// The number of periods observed.
    pub count: usize,
    /// The share of the periods that have a slow request at the expected position.
    pub kept: f64,
    /// The share of the slow requests that are at expected positions. The other slow requests may
    /// be hiccups of the host.
    pub explained: f64,
    /// The probability that another length is the period.
    pub doubt: f64,
    /// The log-likelihood ratio (natural logarithm) of this period against slow requests at random
    /// positions, minus the cost of describing the positions.
    pub score: f64,
}

/// Returns the indices of the costs that are so far above the median that noise alone seldom
/// reaches them.
pub(crate) fn slow(costs: &[f64]) -> Vec<usize> {
    let (middle, within) = (median(costs), spread(costs));
    let threshold = middle + (4.5 * within).max(0.15 * middle);
    (0..costs.len()).filter(|nth| costs[*nth] > threshold).collect()
}

/// Minimum share of periods with a slow request at the expected position.
const MIN_REGULAR_SHARE: f64 = 0.75;

/// Minimum number of periods that count as evidence.
const MIN_PERIODS: usize = 4;

/// Maximum number of slow requests to analyse.
const MAX_SLOW_REQUESTS: usize = 600;

/// Returns the shortest period whose score is close to the best score. `slow` holds the indices of
/// the slow requests among `total` requests; a slow request may miss its expected position by a
/// small tolerance. A period may contain several slow requests. An example is a host that writes
/// several parts of the drive in turn, each with its slow requests.
///
/// Folding the requests distinguishes the period from its multiples and fractions; an
/// autocorrelation does not. At a fraction of the period, most of the expected slow requests are
/// missing. A multiple explains as much, but is longer than the period.
pub(crate) fn period(slow: &[usize], total: usize) -> Option<Period> {
    let (first, last) = (*slow.first()?, *slow.last()?);
    let seen = (last + 1 - first).max(1);
    // If slow requests are frequent, the last `MAX_SLOW_REQUESTS` of them are enough.
    let slow = &slow[slow.len().saturating_sub(MAX_SLOW_REQUESTS)..];
    let longest = (total.min(seen) / (MIN_PERIODS - 1)).max(2);
    let folded: Vec<Period> = (2..=longest).filter_map(|length| fold(slow, length)).collect();
    let best = folded.iter().map(|period| period.score).fold(0.0, f64::max);
    let good = |period: &&Period| period.score > 0.0 && period.score >= 0.7 * best;
    let shortest = folded.iter().find(good)?.length;
    // Because of the tolerance, nearby lengths have similar scores; choose the length with the
    // sharpest positions.
    let near = folded.iter().filter(|p| p.length >= shortest && p.length <= shortest * 17 / 16);
    near.filter(good)
        .map(|period| (sharpness(slow, period.length), period))
        .reduce(|best, other| if other.0 > best.0 { other } else { best })
        .map(|(_, period)| period.clone())
}

/// The number of pages in the smallest known flash block: the shortest candidate of [`recurrence`].
pub(crate) const MIN_BLOCK: usize = 32;

/// Minimum share of slow requests that another slow request follows one period later. It is low
/// because some drives also do other background work.
const MIN_RECURRING_SHARE: f64 = 0.4;

/// Returns the period after which a slow request is usually followed by another slow request, to
/// within one request. Its `kept` and `explained` are the share of slow requests for which this
/// holds.
///
/// If a drive sometimes writes internal data, such as parts of its map, the slow requests drift
/// away from their positions, and folding blurs the positions. From one period to the next, the
/// drift is at most about one request.
#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
pub(crate) fn recurrence(slow: &[usize]) -> Option<Period> {
    let (first, last) = (*slow.first()?, *slow.last()?);
    let span = (last - first).max(1);
    let chance = (3.0 * slow.len() as f64 / span as f64).clamp(1e-9, 0.9);
    // Counts the slow requests that another slow request follows after `length` requests, to within
    // `slack` requests.
    let came = |due: &[usize], length: usize, slack: usize| {
        let again = |at: &&usize| {
            let next = slow.partition_point(|other| *other + slack < *at + length);
            slow.get(next).is_some_and(|other| *other <= *at + length + slack)
        };
        due.iter().filter(again).count()
    };
    let due = |length: usize| &slow[..slow.partition_point(|at| at + length <= last)];
    let hits = |length: usize| came(due(length), length, 0);
    let recurs = |length: usize| {
        let due = due(length);
        let kept = came(due, length, 1) as f64 / due.len().max(1) as f64;
        let term = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
        let gain = term(kept, chance) + term(1.0 - kept, 1.0 - chance);
        let score = if kept > chance { due.len() as f64 * gain } else { 0.0 };
        let phases = slow.iter().filter(|at| **at + length > last).map(|at| at % length).collect();
        Period { length, phases, count: span / length, kept, explained: kept, doubt: 0.0, score }
    };
    let lengths = MIN_BLOCK..=span / (2 * MIN_PERIODS);
    let all: Vec<Period> =
        lengths.map(recurs).filter(|period| period.kept >= MIN_RECURRING_SHARE).collect();
    let best = all.iter().map(|period| period.score).fold(0.0, f64::max);
    // A multiple of the period scores nearly as well, because only the drift is larger: take the
    // shortest good length.
    let good = |period: &&Period| period.score > 0.0 && period.score >= 0.65 * best;
    let shortest = all.iter().find(good)?.length;
    let (length, doubt) = long_run(shortest, span, hits);
    Some(Period { doubt, ..recurs(length) })
}

/// A divisor of the number of pages in nearly all flash blocks.
const BLOCK_STEP: usize = 8;

/// Maximum number of periods over which [`long_run`] counts.
const PERIODS: usize = 16;

/// Returns the length near `shortest` after which slow requests recur in the long run, and the
/// probability that another length is right. `hits` counts the slow requests that another slow
/// request follows after a number of requests.
///
/// If slow requests come in groups, they also recur after the distance between two requests of a
/// group. A stripe of several pages on each unit makes most distances longer than the mean. After
/// many periods, only the period itself still leads to a slow request.
#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
fn long_run(shortest: usize, span: usize, hits: impl Fn(usize) -> usize) -> (usize, f64) {
    // Returns the length with the most hits, or `usual` if no length has hits.
    let most = |lengths: RangeInclusive<usize>, usual: usize| {
        let found = lengths.map(|length| (hits(length), length));
        found.fold((0, usual), |most, one| if one.0 > most.0 { one } else { most })
    };
    let near = (shortest - shortest / 16).max(MIN_BLOCK)..=shortest * 17 / 16 + 2;
    let (_, once) = most(near, shortest);
    let periods = (span / (4 * once)).clamp(1, PERIODS);
    let (far, reach) = (periods * once, periods * once / 32);
    let (count, total) = most(far - reach..=far + reach, far);
    let mean = total as f64 / periods as f64;
    let length = match total.div_ceil(periods) {
        // The drive sometimes writes an internal page; the block is then full earlier.
        length if length.is_multiple_of(BLOCK_STEP) && !total.is_multiple_of(periods) => length,
        // A drift of less than one request in each period does not change the period.
        _ if (mean - once as f64).abs() < 1.0 => once,
        length => length,
    };
    let others = [far - reach..=total.saturating_sub(periods), total + periods..=far + reach];
    let rivals = others.map(|lengths| most(lengths, far).0).into_iter().max().unwrap_or(0);
    let rival = rivals as f64 / count.max(1) as f64;
    // A rival length with more than four fifths of the hits is nearly as good. Without hits,
    // neighbouring lengths are as likely.
    let doubt = if count == 0 { 0.3 } else { 0.5 * ((rival - 0.8) / 0.2).clamp(0.0, 1.0) };
    // A length rounded to whole blocks is likely, but not certain.
    let doubt = if total == periods * length { doubt } else { doubt.max(0.1) };
    (length, doubt)
}

/// Returns the tolerance for the position of a slow request.
fn slack(length: usize) -> usize {
    1 + length / 128
}

/// Returns a measure of how strongly the slow requests concentrate on few positions of a period.
fn sharpness(slow: &[usize], length: usize) -> usize {
    let mut phases: BTreeMap<usize, usize> = BTreeMap::new();
    for nth in slow {
        *phases.entry(nth % length).or_default() += 1;
    }
    let sharp: usize = phases.values().map(|count| count * count).sum();
    // Blocks hold a multiple of 8 pages or of a larger power of two. Among lengths of similar
    // sharpness, prefer lengths that a large power of two divides.
    sharp * (8 + length.trailing_zeros().min(5) as usize)
}

/// Returns the period of this length, with the positions at which slow requests come in most
/// periods. Returns `None` if there is no such position.
#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
fn fold(slow: &[usize], length: usize) -> Option<Period> {
    let slack = slack(length);
    if 2 * slack + 1 >= length {
        return None;
    }
    let span = slow[slow.len() - 1] - slow[0];
    let expected = span / length;
    if expected + 1 < MIN_PERIODS {
        return None;
    }
    let density = slow.len() as f64 / span as f64;
    let (mut phases, mut score) = (Vec::new(), 0.0);
    let (mut came, mut all_due, mut explained) = (0, 0, 0);
    for place in places(slow, length, slack) {
        let mut which: Vec<usize> = place.iter().map(|(_, period)| *period).collect();
        which.sort_unstable();
        which.dedup();
        // Expect slow requests only after the first one at this position, because their cause may
        // not exist earlier.
        let due = (slow[slow.len() - 1] / length).saturating_sub(which[0]).max(1);
        if (which.len() as f64) < MIN_REGULAR_SHARE * due as f64 || 2 * due < expected {
            continue;
        }
        let width = (place[place.len() - 1].0 + 1 - place[0].0) as f64;
        let width = width.max((2 * slack + 1) as f64);
        let chance = (density * width).min(0.9);
        score += -(which.len() as f64) * chance.ln() - (length as f64 / width).ln();
        phases.push(place[place.len() / 2].0 % length);
        came += which.len().min(due);
        all_due += due;
        explained += place.len();
    }
    if phases.is_empty() {
        return None;
    }
    phases.sort_unstable();
    let kept = came as f64 / all_due as f64;
    let explained = explained as f64 / slow.len() as f64;
    Some(Period { length, phases, count: expected, kept, explained, doubt: 0.0, score })
}

/// Groups the slow requests that are at nearby positions of a period. Each entry is the position of
/// a slow request and the number of its period.
fn places(slow: &[usize], length: usize, slack: usize) -> Vec<Vec<(usize, usize)>> {
    let mut folded: Vec<(usize, usize)> =
        slow.iter().map(|nth| (nth % length, nth / length)).collect();
    folded.sort_unstable();
    let mut places: Vec<Vec<(usize, usize)>> = Vec::new();
    for at in folded {
        match places.last_mut() {
            Some(place) if at.0 - place[place.len() - 1].0 <= slack => place.push(at),
            _ => places.push(vec![at]),
        }
    }
    // A period ends where the next period begins: a group at the end and a group at the beginning
    // may be one group.
    if places.len() > 1 {
        let first = places[0][0].0;
        let last = places[places.len() - 1].last().map_or(0, |at| at.0);
        if first + length - last <= slack {
            let wrapped = places.remove(0);
            let next = wrapped
                .into_iter()
                .filter_map(|(phase, n)| Some((phase + length, n.checked_sub(1)?)));
            if let Some(place) = places.last_mut() {
                place.extend(next);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    // The input has three additional slow requests, and one slow request is missing.
    #[test]
    fn a_period_is_found_despite_hiccups() {
        let mut costs = vec![1.0; 640];
        for nth in (63..640).step_by(64).filter(|nth| *nth != 319) {
            costs[nth] = 60.0;
        }
        for hiccup in [7, 200, 431] {
            costs[hiccup] = 9.0;
        }
        let slow = slow(&costs);
        assert_eq!(slow.len(), 12);
        let period = period(&slow, 640).unwrap();
        assert_eq!((period.length, &period.phases[..]), (64, &[63][..]));
        assert!(period.count >= 8);
        assert!(period.kept >= 0.9 && period.explained > 0.7);
    }

    #[test]
    fn units_written_in_turn_form_one_period() {
        let slow: Vec<usize> =
            (0..6).flat_map(|n| (0..8).map(move |unit| 40 + n * 512 + unit * 8)).collect();
        assert_eq!(period(&slow, 3200).unwrap().length, 512);
    }

    // The drift models a drive that now and then writes an additional page.
    #[test]
    fn a_drifting_period_is_found_and_chance_is_not() {
        let drifting = |unit: usize| (0..60).map(move |n| unit * 97 + n * 256 + n * (unit + 1) / 5);
        let mut slow: Vec<usize> = (0..3).flat_map(drifting).collect();
        slow.sort_unstable();
        let drift = recurrence(&slow).unwrap();
        assert_eq!(drift.length, 256);
        assert!(drift.score > 100.0 && drift.count > 50, "{drift:?}");
        let mut rng = fastrand::Rng::with_seed(3);
        let mut slow: Vec<usize> = (0..60).map(|_| rng.usize(0..4000)).collect();
        slow.sort_unstable();
        assert!(recurrence(&slow).is_none_or(|period| period.score < 20.0));
        assert_eq!(recurrence(&[]), None);
    }

    // Each block has 63 pages of data and a summary page. The host writes to one to eight units in
    // turn.
    #[test]
    fn a_period_needs_no_round_number_of_pages() {
        for units in 1..=8 {
            let period = 63 * units;
            let erases = |n: usize| (0..units).map(move |unit| n * period + unit);
            let slow: Vec<usize> = (0..80).flat_map(erases).collect();
            assert_eq!(recurrence(&slow).unwrap().length, period, "{units} units");
        }
    }

    // Every fifth block has an internal page of the drive, and 62 pages of the host instead of 63.
    #[test]
    fn stray_pages_do_not_make_a_block_of_64_pages() {
        let slow: Vec<usize> = (0..300).map(|n| 63 * n - n / 5).collect();
        let found = recurrence(&slow).unwrap();
        assert_eq!(found.length, 63);
        assert!(found.doubt >= 0.1, "{found:?}");
    }

    // Slow requests recur after one period, but not after sixteen.
    #[test]
    fn a_period_that_does_not_last_is_doubted() {
        let hits = |length| usize::from(length == 256);
        assert_eq!(long_run(256, 64 * 256, hits), (256, 0.3));
    }

    // Four units have blocks of 63 pages. The host writes 16 pages to each unit before the next
    // one.
    #[test]
    fn a_period_is_found_through_stripes() {
        let nth = |page: usize, unit: usize| page / 16 * 64 + unit * 16 + page % 16;
        let erases = |n: usize| (0..4).map(move |unit| nth(63 * n, unit));
        let mut slow: Vec<usize> = (0..300).flat_map(erases).collect();
        slow.sort_unstable();
        assert_eq!(recurrence(&slow).unwrap().length, 252);
    }

    // The erases of 32 units are a few pages apart.
    #[test]
    fn a_period_is_found_among_groups_of_slow_requests() {
        let erases = |n: usize| (0..32).map(move |unit| 2016 * n + 3 * unit + unit % 2);
        let slow: Vec<usize> = (0..39).flat_map(erases).collect();
        assert_eq!(recurrence(&slow).unwrap().length, 2016);
    }

    #[test]
    fn random_slow_requests_have_no_period() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut slow: Vec<usize> = (0..60).map(|_| rng.usize(0..4000)).collect();
        slow.sort_unstable();
        let chance = period(&slow, 4000);
        assert!(chance.as_ref().is_none_or(|period| period.score < 15.0), "{chance:?}");
        assert_eq!(period(&[], 4000), None);
        assert_eq!(period(&[5], 4000), None);
    }
}
