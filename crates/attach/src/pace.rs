use std::str::FromStr;

use flashscope_block::Nanos;
use flashscope_drive::Clock;

use crate::round_trip::RoundTrip;

/// How fast the time of a simulated drive passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// So many times as fast as the machine's; more than 0.
    Times(f64),
    /// Requests are answered as soon as they are worked out.
    Max,
}

/// The least and the greatest speed: what lies beyond is mistyped.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// A text is no [`Speed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a speed is `max` or a number from {} to {}, such as 1 or 0.5", SPEEDS.start(), SPEEDS.end())]
pub struct ParseSpeedError;

impl FromStr for Speed {
    type Err = ParseSpeedError;

    fn from_str(text: &str) -> Result<Speed, ParseSpeedError> {
        if text == "max" {
            return Ok(Speed::Max);
        }
        let times = text.parse().ok().filter(|times| SPEEDS.contains(times));
        times.map(Speed::Times).ok_or(ParseSpeedError)
    }
}

/// When the requests to a simulated drive are answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// How fast its time passes.
    pub speed: Speed,
    /// What the way to it takes by itself. It is of no account at [`Speed::Max`].
    pub round_trip: RoundTrip,
}

impl From<Speed> for Timing {
    /// As if the way took no time.
    fn from(speed: Speed) -> Timing {
        Timing { speed, round_trip: RoundTrip::default() }
    }
}

/// Ties the time of a simulated drive to the machine's.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    clock: Clock,
    /// The time of the drive when the clock was made.
    origin: Nanos,
    times: f64,
}

impl Pace {
    pub(crate) fn new(origin: Nanos, times: f64) -> Pace {
        Pace { clock: Clock::new(), origin, times }
    }

    /// The time of the machine.
    pub(crate) fn machine(&self) -> Nanos {
        self.clock.now()
    }

    /// The time of the drive when the machine's is `machine`.
    pub(crate) fn of_drive(&self, machine: Nanos) -> Nanos {
        self.origin + scaled(machine, self.times)
    }

    /// The time of the machine when the drive's is `drive`.
    pub(crate) fn of_machine(&self, drive: Nanos) -> Nanos {
        match drive {
            Nanos::MAX => Nanos::MAX,
            drive => scaled(Nanos(drive.0.saturating_sub(self.origin.0)), self.times.recip()),
        }
    }
}

/// A time times a factor; exact within a nanosecond for a hundred days.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "times and factors are positive, and a cast of what is too large gives the largest"
)]
fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((time.0 as f64 * factor).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is what a person types understood, and what makes no sense refused with a hint?
    #[test]
    fn speeds() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("0.5".parse(), Ok(Speed::Times(0.5)));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "fast", ""] {
            assert_eq!(wrong.parse::<Speed>(), Err(ParseSpeedError), "{wrong}");
        }
        assert_eq!(
            ParseSpeedError.to_string(),
            "a speed is `max` or a number from 0.001 to 1000, such as 1 or 0.5"
        );
    }

    // Does the time of a drive pass as fast as was asked for, from where it was?
    #[test]
    fn time_passes() {
        let pace = Pace::new(Nanos(1000), 4.0);
        assert_eq!(pace.of_drive(Nanos(0)), Nanos(1000));
        assert_eq!(pace.of_drive(Nanos(100)), Nanos(1400));
        assert_eq!(pace.of_machine(Nanos(1400)), Nanos(100));
        assert_eq!(pace.of_machine(Nanos(0)), Nanos(0));
        assert_eq!(pace.of_machine(Nanos::MAX), Nanos::MAX);
    }
}
