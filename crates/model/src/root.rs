//! Root finding.

/// Returns a root of `f` between `low` and `high`, where `f` has opposite signs, to a few units in
/// the last place.
///
/// No library is necessary: the functions in this crate are smooth, and their roots are bracketed.
pub(crate) fn root(low: f64, high: f64, f: impl FnMut(f64) -> f64) -> f64 {
    root_to(4.0 * f64::EPSILON, low, high, f)
}

/// Returns a root to a relative precision, by the Illinois method: regula falsi that halves the
/// function value at an end of the interval that did not move.
pub(crate) fn root_to(
    precision: f64,
    mut low: f64,
    mut high: f64,
    mut f: impl FnMut(f64) -> f64,
) -> f64 {
    let (mut at_low, mut at_high) = (f(low), f(high));
    for _ in 0..200 {
        if at_low == 0.0 {
            return low;
        }
        let mut next = (low * at_high - high * at_low) / (at_high - at_low);
        // Bisect if rounding leaves no point strictly between the ends.
        if !(next > low.min(high) && next < low.max(high)) {
            next = f64::midpoint(low, high);
        }
        let at_next = f(next);
        if (high - low).abs().min((next - high).abs()) <= precision * next.abs() || at_next == 0.0 {
            return next;
        }
        if (at_next > 0.0) == (at_high > 0.0) {
            at_low /= 2.0;
        } else {
            (low, at_low) = (high, at_high);
        }
        (high, at_high) = (next, at_next);
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    // Covers functions that are flat at one end, and an interval whose end is the root.
    #[test]
    fn roots_are_accurate() {
        assert!((root(0.0, 2.0, |x| x * x - 2.0) - 2f64.sqrt()).abs() < 1e-14);
        assert!((root(0.0, 50.0, |x| x.exp() - 2.0) - 2f64.ln()).abs() < 1e-13);
        assert!((root(1.0, 3.0, |x| x - 1.0) - 1.0).abs() < 1e-14);
        assert!((root(0.0, 1.0, |x| x.powi(31) - 0.5) - 0.5f64.powf(1.0 / 31.0)).abs() < 1e-13);
    }
}
