//! Statistics of response times, which are in the order of their requests.

#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 requests")]
pub(crate) fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

pub(crate) fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Pairs each time with its number, from 1.
pub(crate) fn numbered(times: &[f64]) -> Vec<[f64; 2]> {
    (1_u32..).zip(times).map(|(nth, time)| [f64::from(nth), *time]).collect()
}

/// Returns the minimum and the maximum.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let wider = |[least, most]: [f64; 2], value: f64| [least.min(value), most.max(value)];
    values.into_iter().fold([f64::INFINITY, f64::NEG_INFINITY], wider)
}
