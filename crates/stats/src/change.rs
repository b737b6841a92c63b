use statrs::distribution::{ContinuousCDF, StudentsT};

/// No shorter piece is told from the rest.
const SHORTEST: usize = 8;

/// No shorter series is searched.
const SHORTEST_SERIES: usize = 2 * STRETCHES * SHORTEST;

/// At least this many stretches of the rest show how much a stretch varies by itself.
const STRETCHES: usize = 12;

/// A piece is unlike the rest when it is so many times as unlike as the most unlike stretch of
/// the rest is. Calibrated together with `SIGNIFICANT`: false alarms in at most 0.4 % of 1,000
/// series of each scripted kind.
const CLEARLY: f64 = 1.5;

/// A piece at the start of a series that is unlike the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// Length of the piece.
    pub at: usize,
    /// Probability that a series without a change seems to have one as clear.
    pub p_value: f64,
}

/// Finds the piece at the start of `series` that is most unlike the rest, if there is one of at
/// most a third of the series. Time is O(n log n).
///
/// The statistic is the non-parametric likelihood ratio of Zou, Yin, Feng and Wang (*Annals of
/// Statistics* 42(3), 2014), on levels that lie ever denser towards the tails (Haynes, Fearnhead
/// and Eckley, *Statistics and Computing* 27, 2017): at each level a value is above or not, so
/// that neither heavy tails nor two modes matter. The ratio is divided by the dispersion of
/// stretches of the same length in the rest, as in quasi-likelihood, and is judged by Student's
/// distribution: where values depend on each other, oscillate or drift, stretches of the rest
/// differ too, and the start must differ from them by much more. The probability is
/// Bonferroni's, over levels and doublings of the length.
///
/// Where the `period` of the rest is known, stretches of several periods may be less dispersed
/// than independent values are.
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
    let significant = candidates.iter().filter(|found| found.p_value * tests < SIGNIFICANT);
    significant
        .max_by(|a, b| a.deviance.total_cmp(&b.deviance))
        .map(|found| Change { at: found.at, p_value: found.p_value * tests })
}

/// Findings with a larger probability of being chance are none.
const SIGNIFICANT: f64 = 0.002;

/// The level `i` and the next ones towards the middle. Values beyond an extreme level are few and
/// may be one clump; how values clump shows at the levels before it.
fn inwards<'a, 'b>(levels: &'a [Counts<'b>], i: usize) -> &'a [Counts<'b>] {
    let middle = levels.len() / 2;
    if i < middle {
        &levels[i..=middle.min(i + INWARDS)]
    } else {
        &levels[middle.max(i.saturating_sub(INWARDS))..=i]
    }
}

/// A smaller deviance, which independent values reach once in a thousand series, never counts.
const LEAST_DEVIANCE: f64 = 10.8;

/// So many values beyond a level in every stretch of the rest tell how such values clump.
const TELLING: usize = 16;

/// So many levels inwards, up to eight times as many values lie beyond.
const INWARDS: usize = 3;

/// Quantiles at 1/2, 1/4, 1/8 ... from either end, and the mean, which parts dear IOs from cheap
/// ones however rare they are.
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

/// The greatest log-likelihood of so many hits in so many trials.
struct Likelihood {
    k_ln_k: Vec<f64>,
}

impl Likelihood {
    fn new(most: usize) -> Likelihood {
        let term = |k: usize| if k == 0 { 0.0 } else { k as f64 * (k as f64).ln() };
        Likelihood { k_ln_k: (0..=most).map(term).collect() }
    }

    fn of(&self, hits: usize, trials: usize) -> f64 {
        self.k_ln_k[hits] + self.k_ln_k[trials - hits] - self.k_ln_k[trials]
    }
}

/// The best place of a change among lengths of one magnitude, at one level.
struct Candidate {
    at: usize,
    deviance: f64,
    p_value: f64,
}

/// How many values are above a level, from the start to each place.
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

    /// One candidate for each doubling of the length.
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
            let found = self.deviance(place);
            if found > deviance {
                (at, deviance) = (place, found);
            }
        }
        Candidate { at, deviance, p_value: self.chance(at, deviance, near, period) }
    }

    /// Twice the log-likelihood ratio of a change at `place` to none.
    fn deviance(&self, place: usize) -> f64 {
        let (hits, all, count) = (self.above[place], self.above[self.len()], self.len());
        2.0 * (self.likelihood.of(hits, place) + self.likelihood.of(all - hits, count - place)
            - self.likelihood.of(all, count))
    }

    /// The probability that stretches like those after `place` come to `deviance` by chance, at this
    /// level and, where too few values lie beyond it to tell, at those inwards of it. Where values
    /// drift, the end of the series is as unlike the rest as its start: levels on the opposite side
    /// tell.
    fn chance(
        &self,
        place: usize,
        deviance: f64,
        (levels, opposite): (&[Counts], &[Counts]),
        period: Option<usize>,
    ) -> f64 {
        let count = self.len();
        let regular = period.is_some_and(|period| place >= 3 * period)
            && place <= (count - place) / STRETCHES;
        let least = if regular { LEAST_REGULAR_DISPERSION } else { 1.0 };
        if deviance < LEAST_DEVIANCE * least {
            return 1.0;
        }
        let own = Rest::new(self, place);
        let freedom = own.freedom();
        let rests: Vec<Rest> = match own.tells() {
            true => vec![own],
            false => levels.iter().map(|counts| Rest::new(counts, place)).collect(),
        };
        let opposite: Vec<Rest> = opposite.iter().map(|counts| Rest::new(counts, place)).collect();
        let unlike = rests.iter().chain(&opposite).map(Rest::largest_deviance).fold(0.0, f64::max);
        if deviance <= CLEARLY * unlike {
            return 1.0;
        }
        let student = StudentsT::new(0.0, 1.0, freedom).expect("there are several stretches");
        let dispersion = rests.iter().map(Rest::dispersion).fold(least, f64::max);
        2.0 * student.sf((deviance / dispersion).sqrt())
    }
}

/// What follows a piece, cut into stretches as long as the piece, or shorter where there would
/// be too few.
struct Rest<'a> {
    likelihood: &'a Likelihood,
    stretch: usize,
    /// Values above the level in each stretch.
    hits: Vec<usize>,
}

impl<'a> Rest<'a> {
    fn new(counts: &Counts<'a>, place: usize) -> Self {
        let stretch = place.min((counts.len() - place) / STRETCHES);
        let ends: Vec<usize> = counts.above[place..].iter().copied().step_by(stretch).collect();
        let hits = ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
        Rest { likelihood: counts.likelihood, stretch, hits }
    }

    fn freedom(&self) -> f64 {
        (self.hits.len() - 1) as f64
    }

    /// Whether so many values lie beyond the level in every stretch that these show how they clump.
    fn tells(&self) -> bool {
        self.hits.iter().all(|&hits| hits.min(self.stretch - hits) >= TELLING)
    }

    /// How much more the stretches differ from each other than independent values would make
    /// them: 1 for those.
    fn dispersion(&self) -> f64 {
        let apart: f64 = self.hits.iter().map(|&hits| self.likelihood.of(hits, self.stretch)).sum();
        let together = self.likelihood.of(self.hits.iter().sum(), self.hits.len() * self.stretch);
        2.0 * (apart - together) / self.freedom()
    }

    /// How unlike the others the most unlike stretch is.
    fn largest_deviance(&self) -> f64 {
        let (all, count) = (self.hits.iter().sum::<usize>(), self.hits.len() * self.stretch);
        let deviance = |&hits: &usize| {
            let others = self.likelihood.of(all - hits, count - self.stretch);
            2.0 * (self.likelihood.of(hits, self.stretch) + others - self.likelihood.of(all, count))
        };
        self.hits.iter().map(deviance).fold(0.0, f64::max)
    }
}

/// Stretches of several known periods are taken to be dispersed at least this much.
const LEAST_REGULAR_DISPERSION: f64 = 0.25;
