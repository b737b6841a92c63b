use rand::Rng;

/// A table that draws a random value with a probability proportional to its weight, in constant
/// time. Uses the alias method, set up as by Vose ("A Linear Algorithm for Generating Random
/// Numbers with a Given Distribution", IEEE TSE 1991).
///
/// The upper part of one random number selects a column, and the lower part selects one of its two
/// values; `rand_distr` would take two random numbers.
pub(super) struct AliasTable<T> {
    values: Vec<T>,
    columns: Vec<Column>,
}

struct Column {
    /// The threshold below which the column's own value is drawn.
    own: u64,
    /// The value drawn at or above the threshold.
    other: usize,
}

impl<T> AliasTable<T> {
    /// Creates a table from positive weights; there must be at least one.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn new(weighted: Vec<(T, f64)>) -> AliasTable<T> {
        let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
        let scale = weighted.len() as f64 / total;
        let mut shares: Vec<f64> = weighted.iter().map(|(_, weight)| weight * scale).collect();
        let full = |other| Column { own: u64::MAX, other };
        let mut columns: Vec<Column> = (0..shares.len()).map(full).collect();
        let (mut below, mut above): (Vec<usize>, Vec<usize>) =
            (0..shares.len()).partition(|&i| shares[i] < 1.0);
        // Fill the free part of a small share's column from a large share.
        while let (Some(small), Some(&large)) = (below.pop(), above.last()) {
            columns[small] = Column { own: (shares[small] * 2f64.powi(64)) as u64, other: large };
            shares[large] -= 1.0 - shares[small];
            if shares[large] < 1.0 {
                above.pop();
                below.push(large);
            }
        }
        AliasTable { values: weighted.into_iter().map(|(value, _)| value).collect(), columns }
    }

    /// Draws a value.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // takes the upper half and the lower half
    pub(super) fn draw(&self, rng: &mut impl Rng) -> &T {
        let product = u128::from(rng.next_u64()) * self.columns.len() as u128;
        let (index, within) = ((product >> 64) as usize, product as u64);
        let column = &self.columns[index];
        &self.values[if within < column.own { index } else { column.other }]
    }
}
