//! Pages whose write rate is proportional to 1 / rank^s (Zipf).

use super::{Class, Mix};
use crate::OutOfRange;

/// The first rank of a class divided by the number of ranks in the class, approximately. A class
/// has at least one rank.
const SINGLE: u64 = 2000;

/// Returns the classes of `pages` live pages (1 to 2^48) with write rates proportional to 1 /
/// rank^`exponent` (0 to 5).
///
/// # Errors
///
/// Returns an error if an argument is out of range.
#[allow(clippy::cast_precision_loss, reason = "pages are at most 2^48")]
pub fn classes(pages: u64, exponent: f64) -> Result<Mix, OutOfRange> {
    let count = pages as f64;
    OutOfRange::unless((1..=1 << 48).contains(&pages), "live pages", count, "1 to 2^48")?;
    OutOfRange::unless((0.0..=5.0).contains(&exponent), "exponent", exponent, "0 to 5")?;
    let mut classes = Vec::new();
    let mut rank = 1;
    while rank <= pages {
        let next = (rank + (rank / SINGLE).max(1)).min(pages + 1);
        classes.push(Class {
            writes: weight(rank as f64 - 0.5, next as f64 - 0.5, exponent, next - rank),
            space: (next - rank) as f64 / count,
        });
        rank = next;
    }
    let total: f64 = classes.iter().map(|class| class.writes).sum();
    classes.iter_mut().for_each(|class| class.writes /= total);
    Mix::new(classes)
}

/// Returns the sum of 1 / rank^s over the ranks between two half-integers: exactly for one rank, as
/// an integral for several.
fn weight(from: f64, to: f64, exponent: f64, ranks: u64) -> f64 {
    if ranks == 1 {
        return (from + 0.5).powf(-exponent);
    }
    let power = 1.0 - exponent;
    if power.abs() < 1e-9 { (to / from).ln() } else { (to.powf(power) - from.powf(power)) / power }
}
