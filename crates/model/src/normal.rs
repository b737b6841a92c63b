//! The normal distribution.

/// Returns the probability that a standard normal variable is below `number`, accurate to 10^-7 (M.
/// Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.2.17).
pub(crate) fn below(number: f64) -> f64 {
    const TERMS: [f64; 5] =
        [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
    let t = 1.0 / (1.0 + 0.231_641_9 * number.abs());
    let series = TERMS.iter().fold(0.0, |sum, term| (sum + term) * t);
    let density = (-0.5 * number * number).exp() * 0.398_942_280_401_432_7;
    let beyond = density * series;
    if number > 0.0 { 1.0 - beyond } else { beyond }
}

#[cfg(test)]
mod tests {
    #[test]
    fn probabilities_agree_with_tables() {
        for (number, chance) in
            [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (3.0, 0.998_650_102)]
        {
            assert!((super::below(number) - chance).abs() < 1e-7, "{number}");
        }
        assert_eq!((super::below(40.0), super::below(-40.0)), (1.0, 0.0));
    }
}
