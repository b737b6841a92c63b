use rand::Rng;

/// Draws one of some values by its weight in constant time: the alias method, set up as by Vose
/// ("A Linear Algorithm for Generating Random Numbers with a Given Distribution", IEEE TSE 1991).
///
/// Of one random number the upper part chooses a column, the lower one of the two values in it;
/// `rand_distr` has the method with two numbers.
pub(super) struct AliasTable<T> {
    values: Vec<T>,
    columns: Vec<Column>,
}

struct Column {
    /// Below this it is the value of the column itself.
    own: u64,
    /// Which value it is else.
    other: usize,
}

impl<T> AliasTable<T> {
    /// Values with their weights, which are positive. There is at least one.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn new(weighted: Vec<(T, f64)>) -> AliasTable<T> {
        let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
        let scale = weighted.len() as f64 / total;
        let mut shares: Vec<f64> = weighted.iter().map(|(_, weight)| weight * scale).collect();
        let full = |other| Column { own: u64::MAX, other };
        let mut columns: Vec<Column> = (0..shares.len()).map(full).collect();
        let (mut below, mut above): (Vec<usize>, Vec<usize>) =
            (0..shares.len()).partition(|&i| shares[i] < 1.0);
        // What a small share leaves of its column is filled from a large one.
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
    #[allow(clippy::cast_possible_truncation)] // the upper half, and the lower
    pub(super) fn draw(&self, rng: &mut impl Rng) -> &T {
        let product = u128::from(rng.next_u64()) * self.columns.len() as u128;
        let (index, within) = ((product >> 64) as usize, product as u64);
        let column = &self.columns[index];
        &self.values[if within < column.own { index } else { column.other }]
    }
}
