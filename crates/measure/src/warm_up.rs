use std::fmt;
use std::str::FromStr;

use flashscope_block::parse_count;

/// The largest number of IOs in a run: days of work on the fastest drive, and small enough for
/// 64-bit sums.
pub const MAX_IOS: u64 = 1_000_000_000_000;

/// The longest warm-up, in capacities: more than any flash endures.
const MAX_CAPACITIES: f64 = 1e6;

/// The duration of the warm-up, before the measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUp {
    /// No warm-up.
    None,
    /// This many IOs.
    Ios(u64),
    /// Until the workload has read, written and trimmed this many times the capacity of the drive.
    Capacities(f64),
    /// Until the metric of the gauge meets [`STEADY`](crate::STEADY) or has no value. Each window
    /// writes and trims the capacity of the drive once. Only windows since the drive began to erase
    /// count.
    Steady,
    /// Like `Steady`, but each window is a pass of a repeated workload. Boboila and Desnoyers
    /// (section IV) repeat traces in this way.
    Passes {
        /// IOs in a pass.
        ios: u64,
    },
}

/// A text that is not a [`WarmUp`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "write it like `steady`, `none`, `100k` (IOs) or `10x` (times the capacity, up to \
     {MAX_CAPACITIES})"
)]
pub struct ParseWarmUpError;

impl FromStr for WarmUp {
    type Err = ParseWarmUpError;

    /// Reads `none`, `steady`, a number of IOs (up to [`MAX_IOS`]) or of capacities, as in `10x`.
    fn from_str(text: &str) -> Result<WarmUp, ParseWarmUpError> {
        match text {
            "none" => return Ok(WarmUp::None),
            "steady" => return Ok(WarmUp::Steady),
            _ => {}
        }
        let times = text.strip_suffix('x').and_then(|times| times.parse().ok());
        if let Some(times) = times.filter(|times: &f64| (0.0..=MAX_CAPACITIES).contains(times)) {
            return Ok(WarmUp::Capacities(times));
        }
        let ios = parse_count(text).filter(|ios| *ios <= MAX_IOS);
        ios.map(WarmUp::Ios).ok_or(ParseWarmUpError)
    }
}

impl fmt::Display for WarmUp {
    /// Writes the text that [`FromStr`] reads; passes are written as `steady`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WarmUp::None => f.write_str("none"),
            WarmUp::Ios(ios) => write!(f, "{ios}"),
            WarmUp::Capacities(times) => write!(f, "{times}x"),
            WarmUp::Steady | WarmUp::Passes { .. } => f.write_str("steady"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_ups_survive_a_round_trip_through_text() {
        for text in ["none", "steady", "0", "1000000000000", "10x", "0.5x"] {
            assert_eq!(text.parse::<WarmUp>().map(|read| read.to_string()), Ok(text.into()));
        }
        for wrong in ["", "x", "-1x", "NaNx", "1000001x", "1000000000001", "10 x", "often"] {
            assert_eq!(wrong.parse::<WarmUp>(), Err(ParseWarmUpError), "{wrong}");
        }
    }
}
