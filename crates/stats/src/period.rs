use realfft::RealFftPlanner;

/// Findings with a larger probability of being chance are none.
const SIGNIFICANT: f64 = 0.001;

/// A period is believed when the series covers it this often.
const LEAST_PERIODS: usize = 6;

/// The period is made exact on so many multiples at most.
const MOST_MULTIPLES: usize = 64;

/// So many multiples of a lag are looked at together.
const MULTIPLES: usize = 4;

/// The period of an oscillation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// IOs from one dear IO, or one height of a wave, to the next.
    pub ios: usize,
    /// Autocorrelation of the logarithms of response times one period apart, at most 1.
    pub strength: f64,
    /// 1 less the probability that a series without a period seems to have one as clear.
    pub confidence: f64,
}

/// The period of oscillation of `series` (response times in any unit), from 2 to a sixth of its
/// length; `None` when it has none. Time is O(n log n).
///
/// By the autocorrelation of logarithms, so that single slow IOs weigh little, after a straight
/// line is taken out. A lag counts when IOs that are one to four lags apart are alike and IOs
/// half a lag further are not: that leaves out mere dependence of IOs on those just before, and
/// multiples of a period. Bartlett's formula widens what chance does where IOs depend on each
/// other (Brockwell and Davis, *Time Series: Theory and Methods*, section 7.2); Bennett's
/// inequality (*JASA* 57, 1962) bounds its tail where a few rare slow IOs make up the variance
/// and meet by chance; Bonferroni's covers the choice of the lag.
pub fn period(series: &[f64]) -> Option<Period> {
    let longest = series.len() / LEAST_PERIODS;
    if longest < 2 {
        return None;
    }
    let standard = standardized_logarithms(series)?;
    let correlation = autocorrelation(&standard);
    let lag = (2..=longest).max_by(|&a, &b| {
        contrast(&correlation, a).total_cmp(&contrast(&correlation, b)).then(b.cmp(&a))
    })?;
    let p_value = longest as f64 * chance(&standard, &correlation, contrast(&correlation, lag));
    let ios = refined(&correlation, lag);
    (p_value < SIGNIFICANT).then(|| Period {
        ios,
        strength: correlation[ios] / (1.0 - ios as f64 / series.len() as f64),
        confidence: 1.0 - p_value,
    })
}

/// Logarithms about their straight line, with variance 1; `None` when they do not vary. What
/// takes no time counts as a thousandth of the mean.
fn standardized_logarithms(series: &[f64]) -> Option<Vec<f64>> {
    let count = series.len() as f64;
    let least = series.iter().sum::<f64>() / count / 1000.0;
    let mut logs: Vec<f64> = series.iter().map(|x| x.max(least).ln()).collect();
    let mean = logs.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let product: f64 = logs.iter().enumerate().map(|(i, x)| (i as f64 - middle) * x).sum();
    let slope = product / (count * (count * count - 1.0) / 12.0);
    for (i, x) in logs.iter_mut().enumerate() {
        *x -= mean + slope * (i as f64 - middle);
    }
    let deviation = (logs.iter().map(|x| x * x).sum::<f64>() / count).sqrt();
    // Less than that is rounding, not time.
    if !deviation.is_finite() || deviation < 1e-9 {
        return None;
    }
    logs.iter_mut().for_each(|x| *x /= deviation);
    Some(logs)
}

/// Autocorrelation at every lag, by the Wiener-Khinchin theorem.
fn autocorrelation(standard: &[f64]) -> Vec<f64> {
    let padded = (2 * standard.len()).next_power_of_two();
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(padded), planner.plan_fft_inverse(padded));
    let mut time = forward.make_input_vec();
    time[..standard.len()].copy_from_slice(standard);
    let mut spectrum = forward.make_output_vec();
    forward
        .process(&mut time, &mut spectrum)
        .expect("the planner made buffers of the right length");
    for line in &mut spectrum {
        *line = realfft::num_complex::Complex::new(line.norm_sqr(), 0.0);
    }
    inverse.process(&mut spectrum, &mut time).expect("a power spectrum is real at both ends");
    let scale = (padded * standard.len()) as f64;
    time.truncate(standard.len());
    time.iter_mut().for_each(|x| *x /= scale);
    time
}

/// How much more alike IOs are at the first multiples of `lag` than half a lag beside them.
fn contrast(correlation: &[f64], lag: usize) -> f64 {
    let half = lag / 2;
    let at = |place: usize| {
        correlation[place] - (correlation[place - half] + correlation[place + half]) / 2.0
    };
    (1..=MULTIPLES).map(|multiple| at(multiple * lag)).sum::<f64>() / 2.0
}

/// Bennett's bound of the probability that one lag of a series without a period has `contrast`.
fn chance(standard: &[f64], correlation: &[f64], contrast: f64) -> f64 {
    if contrast <= 0.0 {
        return 1.0;
    }
    let count = standard.len() as f64;
    let unclear = 2.0 / count.sqrt();
    let dependent = correlation[1..].iter().take_while(|&&rho| rho > unclear);
    let bartlett = 1.0 + 2.0 * dependent.map(|rho| rho * rho).sum::<f64>();
    // Of the contrast: halves of the correlations at four multiples and at three places between
    // them, quarters of those at either end.
    let variance = (0.25 * 7.0 + 2.0 * 0.0625) * bartlett / count;
    let largest = standard.iter().map(|x| x * x).fold(0.0, f64::max) / count / 2.0;
    let u = largest * contrast / variance;
    (-variance / (largest * largest) * ((1.0 + u) * u.ln_1p() - u)).exp()
}

/// The lag made exact: what is one IO off at one lag is many off at many.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Lags are from 1 to the length.
fn refined(correlation: &[f64], lag: usize) -> usize {
    let multiples = (correlation.len() / (2 * lag)).clamp(1, MOST_MULTIPLES);
    let comb = |period: f64| -> f64 {
        let lags = (1..=multiples).map(|multiple| (multiple as f64 * period).round() as usize);
        lags.map(|lag| correlation[lag]).sum()
    };
    let reach = multiples * (lag / 16).max(1);
    let steps = multiples * lag - reach..=multiples * lag + reach;
    let periods = steps.map(|step| step as f64 / multiples as f64);
    let best = periods.max_by(|&a, &b| comb(a).total_cmp(&comb(b)));
    best.map_or(lag, |period| period.round() as usize)
}
