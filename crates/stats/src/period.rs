use realfft::RealFftPlanner;

/// The maximum p-value of a period.
const SIGNIFICANT: f64 = 0.001;

/// The minimum number of periods that a series must contain.
const MIN_PERIODS: usize = 6;

/// The maximum number of multiples of a period that refine its estimate.
const MAX_MULTIPLES: usize = 64;

/// The number of multiples of a lag that contribute to its contrast.
const MULTIPLES: usize = 4;

/// The period of an oscillation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// The number of IOs from one slow IO, or one crest of a wave, to the next.
    pub ios: usize,
    /// The autocorrelation of log response times at a lag of one period, at most 1.
    pub strength: f64,
    /// 1 minus the probability that a period this clear appears by chance.
    pub confidence: f64,
}

/// Returns the period of oscillation of `series` (response times in any unit), or `None` if the
/// series does not oscillate. Detects periods from 2 IOs to a sixth of the series. Takes O(n log n)
/// time.
///
/// Uses the autocorrelation of logarithms, which limits the weight of single slow IOs, after
/// removing a linear trend. A lag is a period if IOs one to four lags apart are similar, while IOs
/// half a lag closer or further apart are not. This excludes short-term dependence of consecutive
/// IOs.
///
/// The test bounds the probability of a false detection: Bartlett's formula accounts for dependence
/// between IOs (Brockwell and Davis, *Time Series: Theory and Methods*, section 7.2). Bennett's
/// inequality (*JASA* 57, 1962) bounds the tail for series whose variance comes from a few rare
/// slow IOs. Bonferroni's correction covers the choice of the lag.
pub fn period(series: &[f64]) -> Option<Period> {
    let longest = series.len() / MIN_PERIODS;
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

/// Returns the logarithms without their linear trend, scaled to a variance of 1, or `None` for a
/// constant series. Raises values below a thousandth of the mean to a thousandth of the mean.
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
    // A smaller deviation comes from rounding.
    if !deviation.is_finite() || deviation < 1e-9 {
        return None;
    }
    logs.iter_mut().for_each(|x| *x /= deviation);
    Some(logs)
}

/// Returns the autocorrelation at every lag, by the Wiener-Khinchin theorem.
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

/// Returns how much more similar IOs are at the first multiples of `lag` than half a lag before and
/// after these multiples.
fn contrast(correlation: &[f64], lag: usize) -> f64 {
    let half = lag / 2;
    let at = |place: usize| {
        correlation[place] - (correlation[place - half] + correlation[place + half]) / 2.0
    };
    (1..=MULTIPLES).map(|multiple| at(multiple * lag)).sum::<f64>() / 2.0
}

/// Returns Bennett's bound for the probability that one lag of a series without a period reaches
/// `contrast`.
fn chance(standard: &[f64], correlation: &[f64], contrast: f64) -> f64 {
    if contrast <= 0.0 {
        return 1.0;
    }
    let count = standard.len() as f64;
    let noise_level = 2.0 / count.sqrt();
    let dependent = correlation[1..].iter().take_while(|&&rho| rho > noise_level);
    let bartlett = 1.0 + 2.0 * dependent.map(|rho| rho * rho).sum::<f64>();
    // The variance of the contrast. The correlations at the four multiples, and at the three lags
    // midway between them, have the weight 1/2. The correlations half a lag before the first
    // multiple and half a lag after the last one have the weight 1/4.
    let variance = (0.25 * 7.0 + 2.0 * 0.0625) * bartlett / count;
    let largest = standard.iter().map(|x| x * x).fold(0.0, f64::max) / count / 2.0;
    let u = largest * contrast / variance;
    (-variance / (largest * largest) * ((1.0 + u) * u.ln_1p() - u)).exp()
}

/// Refines the lag by its multiples: an error of one IO in the lag grows to many IOs at a high
/// multiple.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Lags are below the length.
fn refined(correlation: &[f64], lag: usize) -> usize {
    let multiples = (correlation.len() / (2 * lag)).clamp(1, MAX_MULTIPLES);
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
