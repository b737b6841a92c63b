//! The endurance forecast of a drive: the time until its percentage used reaches 100 at the present
//! load. The readings are of a counter that has integer percents only.

use statrs::distribution::{ContinuousCDF, StudentsT};

#[cfg(test)]
mod histories;
#[cfg(test)]
mod tests;

/// The percentage used at the rated end of life.
const RATED: u32 = 100;

/// Minimum number of steps of the percentage: three steps give two lengths, which show a scatter.
pub const MIN_STEPS: u32 = 3;

/// Maximum number of steps that a forecast uses. Older steps describe the current drive less well.
const MAX_STEPS: usize = 12;

/// Maximum time over which the present load is averaged: four weeks, in seconds.
pub const LOAD_WINDOW_S: f64 = 28.0 * 86_400.0;

/// Maximum number of blocks into which the load is divided, to estimate its variance.
const MAX_BLOCKS: usize = 8;

/// The number of load windows from which the variance of the load is estimated.
const VARIANCE_WINDOWS: usize = 4;

/// The one-sided quantile of an interval that holds the truth with a probability of 90 %.
const QUANTILE: f64 = 0.95;

/// The largest correlation of neighbouring values that the variance is corrected for. Few values do
/// not support more.
const MAX_CORRELATION: f64 = 0.8;

/// Minimum share of the current percent that remains before its step.
const MIN_PERCENT_LEFT: f64 = 0.1;

/// Maximum ratio of an end of the interval to the estimate. A wider interval is useless.
const WIDEST: f64 = 1000.0;

/// Minimum size, in standard errors, of a trend of the bytes per percent that widens the interval.
const SIGNIFICANT: f64 = 2.0;

/// Maximum number of outliers in a row. If more readings exceed the later readings, a counter may
/// have been reset.
const MAX_OUTLIERS: usize = 8;

/// Divisor of the written bytes that gives the minimum size of a large decrease: 1 %.
const LARGE_DECREASE: u64 = 100;

/// A reading of the wear of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WearReading {
    /// The time in seconds since any fixed moment.
    pub at_s: u64,
    /// The used share of the rated life in whole percent. It may exceed 100.
    pub percentage_used: u32,
    /// The bytes written over the life of the drive: to the flash if it counts them, else by the
    /// host.
    pub written_bytes: u64,
}

/// The time until the percentage used of a drive reaches 100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WearForecast {
    /// The remaining time in seconds.
    pub left_s: f64,
    /// The lower end of the 90 % interval in seconds.
    pub low_s: f64,
    /// The upper end of the 90 % interval in seconds.
    pub high_s: f64,
    /// The number of steps of the percentage that the forecast uses.
    pub steps: u32,
    /// The present load in written bytes per second.
    pub load_bytes_per_s: f64,
    /// The written bytes that use one percent of the rated life.
    pub bytes_per_percent: f64,
}

/// The reason why there is no forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownWear {
    /// There is no reading.
    NoReading,
    /// The percentage has not changed.
    NoStep {
        /// The time of the first reading with this percentage, in seconds.
        since_s: u64,
    },
    /// The percentage has changed fewer than [`MIN_STEPS`] times.
    FewSteps {
        /// The number of changes.
        steps: u32,
        /// The time of the first reading, in seconds.
        since_s: u64,
    },
    /// Nothing was written in the load window.
    Idle {
        /// The start of the load window, in seconds.
        since_s: u64,
    },
    /// The interval of the forecast is too wide to be useful.
    Scattered {
        /// The time of the first reading, in seconds.
        since_s: u64,
    },
    /// The rated life is used up.
    Reached,
}

/// Forecasts when the percentage used reaches 100. The readings must be in the order of time.
///
/// Each step of the percentage happened between two readings. The bytes from one step to the next
/// give the bytes per percent and its scatter, and blocks of the last four weeks give the load. The
/// forecast assumes that both keep their means, and that their fluctuations keep the observed size
/// and correlation. A significant trend of the bytes per percent is not extrapolated, but widens
/// the interval. Readings before a reset of a counter do not count, and neither do single readings
/// that contradict the others.
///
/// # Errors
/// The reason why the readings do not support a forecast.
pub fn wear_forecast(readings: &[WearReading]) -> Result<WearForecast, UnknownWear> {
    let readings = &consistent(readings)[..];
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return Err(UnknownWear::NoReading);
    };
    if last.percentage_used >= RATED {
        return Err(UnknownWear::Reached);
    }
    let steps = steps(readings);
    let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    match count {
        0 => return Err(UnknownWear::NoStep { since_s: first.at_s }),
        1..MIN_STEPS => {
            return Err(UnknownWear::FewSteps { steps: count, since_s: first.at_s });
        }
        _ => {}
    }
    let steps = &steps[steps.len().saturating_sub(MAX_STEPS)..];
    let written = number(last.written_bytes - first.written_bytes);
    let wear = Wear::of(steps, written);
    let load = Load::of(readings)?;
    let left_bytes = wear.left(last.percentage_used);
    let left_s = left_bytes / load.mean;
    let parts = [wear.relative(last.percentage_used), load.relative(left_s)];
    if !left_s.is_finite() {
        return Err(UnknownWear::Idle { since_s: load.since_s });
    }
    let factor = half_width(parts).exp();
    let [low_s, high_s] = [left_s / factor, left_s * factor];
    // Also false for NaN, which results if the percentage rises without written bytes.
    let is_narrow = factor <= WIDEST && high_s.is_finite();
    if !is_narrow {
        return Err(UnknownWear::Scattered { since_s: first.at_s });
    }
    Ok(WearForecast {
        left_s,
        low_s,
        high_s,
        steps: u32::try_from(steps.len()).unwrap_or(u32::MAX),
        load_bytes_per_s: load.mean,
        bytes_per_percent: wear.per_percent,
    })
}

/// Returns the readings since the last reset of a counter, without those that contradict the
/// others.
///
/// A reading contradicts an earlier reading if its time or a counter is lower. The function drops
/// the lower reading if one of the next readings is as high as before. It also drops a last reading
/// that looks like a reset. After a reset, the function drops all earlier readings. In every other
/// case it drops the earlier readings that exceed the lower reading.
fn consistent(readings: &[WearReading]) -> Vec<WearReading> {
    let mut kept: Vec<WearReading> = Vec::new();
    for (nth, reading) in readings.iter().enumerate() {
        let agree = kept.partition_point(|earlier| earlier.can_precede(reading));
        let exceed = kept.len() - agree;
        if let Some(last) = kept.last().filter(|_| exceed > 0) {
            let next = &readings[nth + 1..];
            let is_recovered =
                next.iter().take(exceed.min(MAX_OUTLIERS)).any(|next| last.can_precede(next));
            let is_reset = exceed > MAX_OUTLIERS && last.is_far_above(reading);
            if is_recovered || is_reset && next.is_empty() {
                continue;
            }
            kept.truncate(if is_reset { 0 } else { agree });
        }
        kept.push(*reading);
    }
    kept
}

impl WearReading {
    /// Returns true if neither the time nor a counter decreases from this reading to `later`.
    fn can_precede(&self, later: &WearReading) -> bool {
        self.at_s <= later.at_s
            && self.percentage_used <= later.percentage_used
            && self.written_bytes <= later.written_bytes
    }

    /// Returns true if `later` is so much lower that a counter may have been reset. A power loss
    /// removes only the latest bytes from the counter.
    fn is_far_above(&self, later: &WearReading) -> bool {
        let rollback = self.written_bytes / LARGE_DECREASE;
        self.percentage_used > later.percentage_used
            || self.written_bytes - rollback > later.written_bytes
    }
}

/// The moment at which the percentage reached a level, in bytes written since the first reading.
#[derive(Debug, Clone, Copy)]
struct Step {
    level: u32,
    /// The middle of the range between the readings before and after the step.
    at: f64,
    /// The width of this range.
    width: f64,
}

/// Returns the steps between neighbouring readings. Several steps in one pair count as one.
fn steps(readings: &[WearReading]) -> Vec<Step> {
    let first = readings.first().map_or(0, |first| first.written_bytes);
    let step = |pair: &[WearReading]| {
        let (before, after) = (&pair[0], &pair[1]);
        let jump = after.percentage_used - before.percentage_used;
        let end = number(after.written_bytes - first);
        // The last of several steps lies at the end of the range.
        let width = number(after.written_bytes - before.written_bytes) / f64::from(jump.max(1));
        let level = after.percentage_used;
        (jump > 0).then_some(Step { level, at: end - width / 2.0, width })
    };
    readings.windows(2).filter_map(step).collect()
}

/// A relative variance and its degrees of freedom.
#[derive(Debug, Clone, Copy)]
struct Variance {
    value: f64,
    freedom: f64,
}

/// The bytes per percent of wear.
struct Wear {
    per_percent: f64,
    /// The variance of the bytes of one percent.
    variance: f64,
    /// The change of the bytes of a percent from one percent to the next, if it is significant.
    trend: f64,
    /// The variance of the mean due to the unknown position of a step between two readings.
    censoring: f64,
    /// The number of percents that the mean covers.
    percents: f64,
    freedom: f64,
    /// The bytes written since the last step.
    since: f64,
    last: Step,
}

impl Wear {
    /// Estimates the wear from at least two steps, after `written` bytes in all.
    fn of(steps: &[Step], written: f64) -> Wear {
        let (first, last) = (steps[0], steps[steps.len() - 1]);
        let gap =
            |pair: &[Step]| (f64::from(pair[1].level - pair[0].level), pair[1].at - pair[0].at);
        let mut gaps: Vec<(f64, f64)> = steps.windows(2).map(gap).collect();
        let since = (written - last.at).max(0.0);
        let mean = |gaps: &[(f64, f64)]| {
            let [percents, bytes] = sums(gaps);
            bytes / percents
        };
        // The current percent counts as soon as it has taken more bytes than the mean.
        if since > mean(&gaps) {
            gaps.push((1.0, since));
        }
        let per_percent = mean(&gaps);
        let [percents, _] = sums(&gaps);
        let residuals: Vec<f64> = gaps
            .iter()
            .map(|(percents, bytes)| (bytes - per_percent * percents) / percents.sqrt())
            .collect();
        let freedom = number(gaps.len() as u64 - 1);
        Wear {
            per_percent,
            variance: variance(&residuals, freedom),
            trend: trend(&gaps),
            censoring: (first.width.powi(2) + last.width.powi(2)) / 12.0 / percents.powi(2),
            percents,
            freedom,
            since,
            last,
        }
    }

    /// Returns the remaining bytes until the rated life is used up. Within the last percents, the
    /// minimum is the standard deviation of the bytes per percent, or [`MIN_PERCENT_LEFT`] if
    /// larger: the end of a percent is only known to within this error.
    fn left(&self, used: u32) -> f64 {
        let whole = f64::from(RATED - used) * self.per_percent;
        let least = self.variance.sqrt().max(MIN_PERCENT_LEFT * self.per_percent);
        (whole - self.since.min(self.per_percent)).max(least.min(whole))
    }

    /// Returns the relative variance of the remaining bytes.
    fn relative(&self, used: u32) -> Variance {
        let percents = f64::from(RATED - used);
        let fluctuation = self.variance * (percents + percents.powi(2) / self.percents);
        let position = self.last.width.powi(2) / 12.0;
        let drift = percents * self.trend * f64::midpoint(self.percents, percents);
        let value = fluctuation + percents.powi(2) * self.censoring + position + drift.powi(2);
        Variance { value: value / self.left(used).powi(2), freedom: self.freedom }
    }
}

fn sums(gaps: &[(f64, f64)]) -> [f64; 2] {
    gaps.iter().fold([0.0, 0.0], |[percents, bytes], gap| [percents + gap.0, bytes + gap.1])
}

/// Returns the change of the bytes per percent from one percent to the next if it is significant,
/// else 0.
fn trend(gaps: &[(f64, f64)]) -> f64 {
    let mut level = 0.0;
    let point = |(percents, bytes): &(f64, f64)| {
        level += percents;
        (level - percents / 2.0, bytes / percents)
    };
    let points: Vec<(f64, f64)> = gaps.iter().map(point).collect();
    let count = number(points.len() as u64);
    let [x, y] = sums(&points).map(|sum| sum / count);
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let product: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let slope = product / spread;
    let rest = |point: &(f64, f64)| (point.1 - y - slope * (point.0 - x)).powi(2);
    let error = (points.iter().map(rest).sum::<f64>() / (count - 2.0) / spread).sqrt();
    if count > 3.0 && slope.abs() > SIGNIFICANT * error { slope } else { 0.0 }
}

/// The present load in bytes per second.
struct Load {
    mean: f64,
    /// The variance of the mean over a block.
    variance: f64,
    blocks: f64,
    block_s: f64,
    freedom: f64,
    since_s: u64,
}

impl Load {
    fn of(readings: &[WearReading]) -> Result<Load, UnknownWear> {
        let (first, last) = (readings[0], readings[readings.len() - 1]);
        let whole_s = number(last.at_s - first.at_s);
        let window_s = whole_s.min(LOAD_WINDOW_S);
        let inside = |window_s: f64| {
            let start = whole_s - window_s;
            readings.iter().filter(|one| number(one.at_s - first.at_s) > start).count()
        };
        let blocks = inside(window_s).clamp(1, MAX_BLOCKS);
        let block_s = window_s / number(blocks as u64);
        let rate = |start: f64, end: f64| {
            (written_at(readings, end) - written_at(readings, start)) / (end - start)
        };
        let start = whole_s - window_s;
        let mean = rate(start, whole_s);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is at least 0"
        )]
        let since_s = first.at_s + start as u64;
        if mean <= 0.0 || !mean.is_finite() {
            return Err(UnknownWear::Idle { since_s });
        }
        // Estimate the variance from a longer time than the load window: a load that is correlated
        // over weeks hardly varies within the window.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "blocks are few, at least 0"
        )]
        let seen = ((whole_s / block_s + 1e-9) as usize).min(VARIANCE_WINDOWS * MAX_BLOCKS);
        let seen = seen.min(inside(number(seen as u64) * block_s)).max(blocks);
        let ends = (0..=seen).map(|block| whole_s - block_s * number(block as u64));
        let ends: Vec<f64> = ends.collect();
        let rates: Vec<f64> = ends.windows(2).map(|pair| rate(pair[1], pair[0])).collect();
        let about = rates.iter().sum::<f64>() / number(seen as u64);
        let residuals: Vec<f64> = rates.iter().map(|rate| rate - about).collect();
        let freedom = number(seen.max(2) as u64 - 1);
        let variance = variance(&residuals, freedom);
        Ok(Load { mean, variance, blocks: number(blocks as u64), block_s, freedom, since_s })
    }

    /// Returns the relative variance of the mean load over the next `left_s` seconds.
    fn relative(&self, left_s: f64) -> Variance {
        let value = self.variance * (1.0 / self.blocks + (self.block_s / left_s).min(1.0));
        Variance { value: value / self.mean.powi(2), freedom: self.freedom }
    }
}

/// Returns the bytes written since the first reading, `at` seconds after it, by interpolation.
fn written_at(readings: &[WearReading], at: f64) -> f64 {
    let first = readings[0];
    let of = |reading: &WearReading| {
        (number(reading.at_s - first.at_s), number(reading.written_bytes - first.written_bytes))
    };
    let after = readings.partition_point(|reading| of(reading).0 < at);
    let (Some(after), Some(before)) = (readings.get(after), readings.get(after.wrapping_sub(1)))
    else {
        return of(&readings[after.min(readings.len() - 1)]).1;
    };
    let ((start, low), (end, high)) = (of(before), of(after));
    low + (high - low) * (at - start) / (end - start)
}

/// Returns the variance of residuals, enlarged for their correlation: the mean of correlated values
/// is known less well than the mean of as many independent values.
fn variance(residuals: &[f64], freedom: f64) -> f64 {
    let squares: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let count = number(residuals.len() as u64);
    let correlation = if squares > 0.0 { products / squares } else { 0.0 };
    let unbiased =
        if count > 3.0 { (correlation + 1.0 / count) / (1.0 - 3.0 / count) } else { 0.0 };
    let correlation = unbiased.clamp(0.0, MAX_CORRELATION);
    squares / freedom * (1.0 + correlation) / (1.0 - correlation)
}

/// Returns half the width of the interval of a logarithm whose variance has two parts. Their
/// degrees of freedom combine as B. L. Welch (*Biometrika* 34, 1947) and F. E. Satterthwaite
/// (*Biometrics Bulletin* 2, 1946) state.
fn half_width(parts: [Variance; 2]) -> f64 {
    let total: f64 = parts.iter().map(|part| part.value).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let share = |part: &Variance| (part.value / total).powi(2) / part.freedom;
    let freedom = 1.0 / parts.iter().map(share).sum::<f64>();
    let student = StudentsT::new(0.0, 1.0, freedom);
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(QUANTILE) * total.sqrt())
}

#[allow(clippy::cast_precision_loss, reason = "counters are exact to within a part in 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}
