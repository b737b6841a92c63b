use crate::interval::{Interval, mean_interval, quantile_interval};

/// The statistic that a run must estimate precisely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// A quantile: the value that this fraction of all values does not exceed. Above 0 and below 1.
    Quantile(f64),
}

/// The criteria for a run to be long enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The statistic to estimate.
    pub statistic: Statistic,
    /// The maximum half-width of the interval, relative to the estimate; above 0.
    pub precision: f64,
    /// The confidence level of the interval, between 0 and 1.
    pub confidence: f64,
    /// The number of IOs in one oscillation, from [`crate::Phases`]; 1 without an oscillation.
    pub period: usize,
    /// The minimum number of whole periods in a run.
    pub least_periods: usize,
}

impl Default for Rule {
    /// The mean to within 2 % at a confidence of 95 %, over at least 20 periods.
    fn default() -> Self {
        Rule {
            statistic: Statistic::Mean,
            precision: 0.02,
            confidence: 0.95,
            period: 1,
            least_periods: 20,
        }
    }
}

/// The minimum number of IOs of a run, because few IOs may look alike by chance.
pub const MIN_COUNT: usize = 512;

/// The factor by which the next check exceeds the estimated length. With this margin, most checks
/// succeed.
const MARGIN: f64 = 1.1;

/// The minimum and maximum factor by which a run grows from one check to the next.
const GROWTH: (f64, f64) = (1.25, 4.0);

/// Determines, during a run, the length that the run needs. uFLIP calls this length `IOCount` and
/// leaves its choice to future work (Bouganim, Jónsson and Bonnet, CIDR 2009, section 4.2).
///
/// A rule that checks the interval after every IO stops when the variance happens to look small.
/// Its intervals cover the truth too seldom (Law, *Simulation Modeling and Analysis*, section
/// 9.5.3). This rule checks seldom, as Stein's two-stage procedure does (*Annals of Mathematical
/// Statistics* 16, 1945). Each check schedules the next one for the length at which the interval
/// should be narrow enough. Keeps all values; takes O(n log n) time.
#[derive(Debug, Clone)]
pub struct Length {
    rule: Rule,
    values: Vec<f64>,
    next_check: usize,
    long_enough: bool,
}

impl Length {
    /// Creates the state of a run without values.
    pub fn new(rule: Rule) -> Length {
        let period = rule.period.max(1);
        let least = MIN_COUNT.max(rule.least_periods * period);
        Length {
            rule,
            values: Vec::new(),
            next_check: least.next_multiple_of(period),
            long_enough: false,
        }
    }

    /// Adds the response time (in any unit) of the next IO in the running phase. Returns true once
    /// the run is long enough.
    pub fn push(&mut self, x: f64) -> bool {
        self.values.push(x);
        if self.values.len() == self.next_check {
            self.check();
        }
        self.long_enough
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// Returns the interval of all values so far, or `None` if there are too few.
    pub fn interval(&self) -> Option<Interval> {
        let Rule { statistic, confidence, period, .. } = self.rule;
        match statistic {
            Statistic::Mean => mean_interval(&self.values, period, confidence),
            Statistic::Quantile(q) => quantile_interval(&self.values, q, period, confidence),
        }
    }

    /// Compares the interval with the rule and schedules the next check.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The growth is 1.25 to 4.
    fn check(&mut self) {
        // The variance may be small by chance; adding its standard error compensates.
        let excess = self.interval().map_or(f64::INFINITY, |interval| {
            let relative = interval.relative_precision() / self.rule.precision;
            relative * relative * (1.0 + interval.variance_error)
        });
        self.long_enough = excess <= 1.0;
        let growth = (excess * MARGIN).clamp(GROWTH.0, GROWTH.1);
        let planned = (self.values.len() as f64 * growth).ceil() as usize;
        self.next_check = planned.next_multiple_of(self.rule.period.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phases;
    use crate::scripted::{FAST, Kind, SLOW, Script};

    const SERIES: u64 = 1000;

    /// Returns how many of 1,000 runs have an interval that covers the mean when they stop, and
    /// their mean length.
    fn coverage(kind: Kind, precision: f64) -> (u64, usize) {
        let rule = Rule { precision, period: kind.period().unwrap_or(1), ..Rule::default() };
        let (mut covered, mut counts) = (0, 0);
        for seed in 0..SERIES {
            let mut script = Script::new(kind, seed);
            let mut length = Length::new(rule);
            while !length.push(script.value()) {}
            let truth = script.mean(0, length.count());
            covered += u64::from(length.interval().unwrap().covers(truth));
            counts += length.count();
        }
        (covered, counts / 1000)
    }

    #[test]
    fn intervals_at_the_stop_cover_the_mean() {
        for (kind, precision) in [
            (Kind::Plain, 0.02),
            (Kind::Noise, 0.02),
            (Kind::HeavyTails, 0.02),
            (Kind::Bimodal, 0.05),
            (Kind::Dependent, 0.03),
            (Kind::Drift, 0.02),
            (Kind::Spikes(16), 0.02),
            (Kind::Spikes(128), 0.02),
            (Kind::Square(128), 0.02),
            (Kind::Wave(128), 0.02),
        ] {
            let (covered, count) = coverage(kind, precision);
            assert!((930..=970).contains(&covered), "{kind:?}: {covered} after {count}");
        }
    }

    // In the paper's example (section 4.2), the mean of 512 IOs is about 25 % low because they
    // include a start-up phase of 128 fast IOs.
    #[test]
    fn start_up_does_not_lower_the_mean() {
        let mut script = Script::new(Kind::Plain, 1);
        let series: Vec<f64> = (0..8192).map(|i| paper(i) * script.noise(0.01)).collect();
        let truth = f64::midpoint(FAST, SLOW);
        let fixed = series[..512].iter().sum::<f64>() / 512.0;
        assert!((0.73..0.78).contains(&(fixed / truth)), "{}", fixed / truth);

        let phases = Phases::of(&series);
        let (start_up, period) = (phases.start_up.unwrap().ios, phases.period.unwrap().ios);
        assert_eq!((start_up, period), (128, 16));
        let mut length = Length::new(Rule { period, ..Rule::default() });
        let stop = series[start_up..].iter().position(|&x| length.push(x));
        assert_eq!(stop, Some(MIN_COUNT - 1));
        let mean = length.interval().unwrap().value;
        assert!((mean / truth - 1.0).abs() < 0.01, "{mean}");
    }

    /// The paper's example: fast writes, then alternately eight slow and eight fast writes.
    fn paper(i: usize) -> f64 {
        if i >= 128 && i % 16 < 8 { SLOW } else { FAST }
    }

    #[test]
    fn periods_and_quantiles_lengthen_a_run() {
        let count = |rule| {
            let (mut script, mut length) = (Script::new(Kind::Noise, 1), Length::new(rule));
            while !length.push(script.value()) {}
            let interval = length.interval().unwrap();
            assert!(interval.relative_precision() <= rule.precision);
            length.count()
        };
        let periods = Rule { period: 100, least_periods: 30, ..Rule::default() };
        assert_eq!(count(periods), 3000);
        let median = Rule { statistic: Statistic::Quantile(0.5), ..Rule::default() };
        let rare = Rule { statistic: Statistic::Quantile(0.99), ..Rule::default() };
        assert!(count(rare) > 2 * count(median));
    }
}
