use statrs::distribution::{ContinuousCDF, StudentsT};

/// The minimum length of a start-up segment.
const SHORTEST: usize = 8;

/// The minimum length of a series to search.
const SHORTEST_SERIES: usize = 2 * SEGMENTS * SHORTEST;

/// The minimum number of segments of the rest, from which the natural variation of a segment is
/// estimated.
const SEGMENTS: usize = 12;

/// The deviance of a change must exceed that of the most deviant segment of the rest by this
/// factor. Calibrated together with `SIGNIFICANT`: false alarms in at most 0.4 % of 1,000 series of
/// each scripted kind.
const CLEARLY: f64 = 1.5;

/// A segment at the start of a series that differs from the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// Length of the segment.
    pub at: usize,
    /// The probability that a series without a change shows one this clear.
    pub p_value: f64,
}

/// Returns the start segment, of at most a third of `series`, that differs most from the rest, if
/// the difference is significant. Takes O(n log n) time.
///
/// The statistic is the non-parametric likelihood ratio of Zou, Yin, Feng and Wang (*Annals of
/// Statistics* 42(3), 2014), on levels that are denser towards the tails (Haynes, Fearnhead and
/// Eckley, *Statistics and Computing* 27, 2017). At each level, a value is only above or not; heavy
/// tails and two modes therefore do not matter.
///
/// As in quasi-likelihood, the ratio is divided by the dispersion between segments of the same
/// length in the rest, and compared with Student's distribution. If values depend on each other,
/// oscillate or drift, the segments of the rest differ too, and the start must differ from them by
/// much more. Bonferroni's correction covers the choice of the level and of the length, by
/// doublings.
///
/// If the `period` of the rest is known, segments of several periods may be less dispersed than
/// independent values.
pub(crate) fn first_change(series: &[f64], period: Option<usize>) -> Option<Change> {
    if series.len() < SHORTEST_SERIES {
        return None;
    }
    let likelihood = Likelihood::new(series.len());
    let levels = levels(series);
    let levels: Vec<Counts> =
        levels.iter().map(|&level| Counts::new(series, level, &likelihood)).collect();
    let candidates: Vec<Candidate> = (0..levels.len())
        .flat_map(|i| {
            levels[i]
                .candidates((inwards(&levels, i), inwards(&levels, levels.len() - 1 - i)), period)
        })
        .collect();
    let tests = candidates.len() as f64;
    let significant = candidates.iter().filter(|change| change.p_value * tests < SIGNIFICANT);
    significant
        .max_by(|a, b| a.deviance.total_cmp(&b.deviance))
        .map(|change| Change { at: change.at, p_value: change.p_value * tests })
}

/// The maximum p-value of a change.
const SIGNIFICANT: f64 = 0.002;

/// Returns level `i` and the next ones towards the median. Few values lie beyond an extreme level,
/// and they may form one cluster; the levels further inwards show how values cluster.
fn inwards<'a, 'b>(levels: &'a [Counts<'b>], i: usize) -> &'a [Counts<'b>] {
    let middle = levels.len() / 2;
    if i < middle {
        &levels[i..=middle.min(i + INWARDS)]
    } else {
        &levels[middle.max(i.saturating_sub(INWARDS))..=i]
    }
}

/// The minimum deviance of a change. Independent values reach it once in a thousand series.
const LEAST_DEVIANCE: f64 = 10.8;

/// The minimum number of values on either side of a level, in every segment of the rest, that shows
/// how values cluster.
const LEAST_VALUES: usize = 16;

/// The number of levels to look inwards: up to eight times as many values lie beyond the last one.
const INWARDS: usize = 3;

/// Returns the levels: quantiles at 1/2, 1/4, 1/8 … from either end, and the mean, which separates
/// slow IOs from fast ones however rare they are.
fn levels(series: &[f64]) -> Vec<f64> {
    let mut sorted = series.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    let mut levels = vec![sorted.iter().sum::<f64>() / count as f64];
    let mut tail = count / 2;
    while tail >= SHORTEST {
        levels.extend([sorted[tail - 1], sorted[count - 1 - tail]]);
        tail /= 2;
    }
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// Maximum log-likelihoods of binomial samples, from a table of k ln k.
struct Likelihood {
    k_ln_k: Vec<f64>,
}

impl Likelihood {
    fn new(most: usize) -> Likelihood {
        let term = |k: usize| if k == 0 { 0.0 } else { k as f64 * (k as f64).ln() };
        Likelihood { k_ln_k: (0..=most).map(term).collect() }
    }

    /// Returns the maximum log-likelihood of `hits` in `trials`.
    fn of(&self, hits: usize, trials: usize) -> f64 {
        self.k_ln_k[hits] + self.k_ln_k[trials - hits] - self.k_ln_k[trials]
    }
}

/// The best change point among lengths between two powers of two, at one level.
struct Candidate {
    at: usize,
    deviance: f64,
    p_value: f64,
}

/// Cumulative counts of the values above a level, from the start to each position.
struct Counts<'a> {
    above: Vec<usize>,
    likelihood: &'a Likelihood,
}

impl<'a> Counts<'a> {
    fn new(series: &[f64], level: f64, likelihood: &'a Likelihood) -> Self {
        let mut above = vec![0; series.len() + 1];
        for (i, &x) in series.iter().enumerate() {
            above[i + 1] = above[i] + usize::from(x > level);
        }
        Counts { above, likelihood }
    }

    fn len(&self) -> usize {
        self.above.len() - 1
    }

    /// Returns one candidate for each doubling of the length.
    fn candidates(&self, near: (&[Counts], &[Counts]), period: Option<usize>) -> Vec<Candidate> {
        let longest = self.len() / 3;
        let scales = std::iter::successors(Some(SHORTEST), |&length| Some(length * 2));
        scales
            .take_while(|&length| length <= longest)
            .map(|length| self.best(length, (2 * length - 1).min(longest), near, period))
            .collect()
    }

    fn best(
        &self,
        from: usize,
        to: usize,
        near: (&[Counts], &[Counts]),
        period: Option<usize>,
    ) -> Candidate {
        let (mut at, mut deviance) = (from, f64::NEG_INFINITY);
        for place in from..=to {
            let here = self.deviance(place);
            if here > deviance {
                (at, deviance) = (place, here);
            }
        }
        Candidate { at, deviance, p_value: self.chance(at, deviance, near, period) }
    }

    /// Returns twice the log-likelihood ratio of a change at `place` to no change.
    fn deviance(&self, place: usize) -> f64 {
        let (hits, all, count) = (self.above[place], self.above[self.len()], self.len());
        2.0 * (self.likelihood.of(hits, place) + self.likelihood.of(all - hits, count - place)
            - self.likelihood.of(all, count))
    }

    /// Returns the probability that segments like those after `place` reach `deviance` by chance.
    ///
    /// Uses the dispersion at this level or, if too few values lie beyond it, at the `levels`
    /// inwards of it. In a drifting series, the end differs from the rest as much as the start
    /// does; the levels on the `opposite` side show it.
    fn chance(
        &self,
        place: usize,
        deviance: f64,
        (levels, opposite): (&[Counts], &[Counts]),
        period: Option<usize>,
    ) -> f64 {
        let count = self.len();
        let regular =
            period.is_some_and(|period| place >= 3 * period) && place <= (count - place) / SEGMENTS;
        let least = if regular { LEAST_REGULAR_DISPERSION } else { 1.0 };
        if deviance < LEAST_DEVIANCE * least {
            return 1.0;
        }
        let own = Rest::new(self, place);
        let freedom = own.freedom();
        let rests: Vec<Rest> = match own.has_enough_values() {
            true => vec![own],
            false => levels.iter().map(|counts| Rest::new(counts, place)).collect(),
        };
        let opposite: Vec<Rest> = opposite.iter().map(|counts| Rest::new(counts, place)).collect();
        let largest = rests.iter().chain(&opposite).map(Rest::largest_deviance).fold(0.0, f64::max);
        if deviance <= CLEARLY * largest {
            return 1.0;
        }
        let student = StudentsT::new(0.0, 1.0, freedom).expect("there are several segments");
        let dispersion = rests.iter().map(Rest::dispersion).fold(least, f64::max);
        2.0 * student.sf((deviance / dispersion).sqrt())
    }
}

/// The rest of a series after a start segment, divided into segments of its length, or shorter ones
/// if there would be too few.
struct Rest<'a> {
    likelihood: &'a Likelihood,
    segment: usize,
    /// The number of values above the level in each segment.
    hits: Vec<usize>,
}

impl<'a> Rest<'a> {
    fn new(counts: &Counts<'a>, place: usize) -> Self {
        let segment = place.min((counts.len() - place) / SEGMENTS);
        let ends: Vec<usize> = counts.above[place..].iter().copied().step_by(segment).collect();
        let hits = ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
        Rest { likelihood: counts.likelihood, segment, hits }
    }

    fn freedom(&self) -> f64 {
        (self.hits.len() - 1) as f64
    }

    /// Returns true if every segment has enough values on either side of the level to show how
    /// values cluster.
    fn has_enough_values(&self) -> bool {
        self.hits.iter().all(|&hits| hits.min(self.segment - hits) >= LEAST_VALUES)
    }

    /// Returns the variance between segments relative to that of independent values.
    fn dispersion(&self) -> f64 {
        let apart: f64 = self.hits.iter().map(|&hits| self.likelihood.of(hits, self.segment)).sum();
        let together = self.likelihood.of(self.hits.iter().sum(), self.hits.len() * self.segment);
        2.0 * (apart - together) / self.freedom()
    }

    /// Returns the deviance of the segment that differs most from the others.
    fn largest_deviance(&self) -> f64 {
        let (all, count) = (self.hits.iter().sum::<usize>(), self.hits.len() * self.segment);
        let deviance = |&hits: &usize| {
            let others = self.likelihood.of(all - hits, count - self.segment);
            2.0 * (self.likelihood.of(hits, self.segment) + others - self.likelihood.of(all, count))
        };
        self.hits.iter().map(deviance).fold(0.0, f64::max)
    }
}

/// The minimum dispersion to assume for segments of several known periods.
const LEAST_REGULAR_DISPERSION: f64 = 0.25;
