use std::fmt;
use std::str::FromStr;

/// The most IOs in a run: years of them on any drive, and what follows from it fits in 64 bits.
pub const MOST_IOS: u64 = 1_000_000_000_000;

/// The longest warm-up, in capacities: more than any flash endures.
const MOST_CAPACITIES: f64 = 1e6;

/// How long the workload runs before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUp {
    /// Not at all.
    None,
    /// For so many IOs.
    Ios(u64),
    /// Until so many times the capacity of the drive is read, written and trimmed.
    Capacities(f64),
    /// Until the metric of the gauge fulfils [`STEADY`](crate::STEADY), or has no value; each window reads,
    /// writes and trims as many bytes as the drive has.
    Steady,
    /// The same, with passes of a workload that is repeated as windows: until it has converged, as
    /// Boboila and Desnoyers (section IV) repeat their traces.
    Passes {
        /// IOs in a pass.
        ios: u64,
    },
}

/// A text that is no [`WarmUp`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "write it like `steady`, `none`, `100000` (IOs) or `10x` (times the capacity, up to \
     {MOST_CAPACITIES})"
)]
pub struct ParseWarmUpError;

impl FromStr for WarmUp {
    type Err = ParseWarmUpError;

    /// Reads `none`, `steady`, a number of IOs (up to [`MOST_IOS`]) or of capacities, as in `10x`.
    fn from_str(text: &str) -> Result<WarmUp, ParseWarmUpError> {
        match text {
            "none" => return Ok(WarmUp::None),
            "steady" => return Ok(WarmUp::Steady),
            _ => {}
        }
        let times = text.strip_suffix('x').and_then(|times| times.parse().ok());
        if let Some(times) = times.filter(|times: &f64| (0.0..=MOST_CAPACITIES).contains(times)) {
            return Ok(WarmUp::Capacities(times));
        }
        let ios = text.parse().ok().filter(|ios| *ios <= MOST_IOS);
        ios.map(WarmUp::Ios).ok_or(ParseWarmUpError)
    }
}

impl fmt::Display for WarmUp {
    /// As it is read; passes are asked for as `steady`.
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

    // Is a warm-up read as it is written, and everything else refused?
    #[test]
    fn warm_ups_are_texts() {
        for text in ["none", "steady", "0", "1000000000000", "10x", "0.5x"] {
            assert_eq!(text.parse::<WarmUp>().map(|read| read.to_string()), Ok(text.into()));
        }
        for wrong in ["", "x", "-1x", "NaNx", "1000001x", "1000000000001", "10 x", "often"] {
            assert_eq!(wrong.parse::<WarmUp>(), Err(ParseWarmUpError), "{wrong}");
        }
    }
}
