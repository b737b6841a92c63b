//! The effect of TRIM on write amplification (Frankie).
//!
//! With probability q, a request trims a random live page; otherwise it writes a page, uniform over
//! the address space. On average, a share s = (1 - 2q) / (1 - q) of the pages is live, and each
//! write invalidates a given live page with probability 1/(s U), where U is the number of
//! addressable pages. Every model of uniform writes therefore holds with alpha / s in place of
//! alpha.

use crate::OutOfRange;

/// Returns the number of physical pages divided by live pages. `alpha` is the number of physical
/// pages divided by addressable pages. `trims` is the share of trims in all requests.
///
/// # Errors
///
/// Returns an error unless `trims` is 0 or more and below 0.5. From 0.5 on, no page stays live.
pub fn effective_alpha(alpha: f64, trims: f64) -> Result<f64, OutOfRange> {
    Ok(alpha / live(trims)?)
}

/// Returns the share of addressable pages that are live, s.
///
/// # Errors
///
/// Returns the error of [`effective_alpha`].
pub fn live(trims: f64) -> Result<f64, OutOfRange> {
    let within = (0.0..0.5).contains(&trims);
    OutOfRange::unless(within, "share of requests that trim", trims, "0 or more, below 0.5")?;
    Ok((1.0 - 2.0 * trims) / (1.0 - trims))
}
