//! Pages that the host gives back (Frankie).
//!
//! Each request trims a random live page with chance q, else writes a page, uniform over all that it may
//! write. Then s = (1 - 2q) / (1 - q) of these are live on average, and a live page is invalidated with
//! chance 1/(s U) at each write: every model of uniform writes holds with alpha / s for alpha.

use crate::OutOfRange;

/// Physical over live pages, of `alpha` physical over addressable ones, where `trims` of all requests
/// trim.
///
/// # Errors
///
/// Unless trims are 0 or more, and below a half: from there on nothing stays live.
pub fn effective_alpha(alpha: f64, trims: f64) -> Result<f64, OutOfRange> {
    Ok(alpha / live(trims)?)
}

/// The share of addressable pages that is live, s.
///
/// # Errors
///
/// As [`effective_alpha`].
pub fn live(trims: f64) -> Result<f64, OutOfRange> {
    let within = (0.0..0.5).contains(&trims);
    OutOfRange::unless(within, "share of requests that trim", trims, "0 or more, below 0.5")?;
    Ok((1.0 - 2.0 * trims) / (1.0 - trims))
}
