use std::str::FromStr;

use flashscope_block::Nanos;
use flashscope_drive::Clock;

use crate::round_trip::RoundTrip;

/// The speed of a simulated drive's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// A multiple of real time; more than 0.
    Times(f64),
    /// Replies are sent as soon as they are computed.
    Max,
}

/// The minimum and the maximum speed; values beyond are probably mistyped.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// The error for a text that is not a [`Speed`].
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

/// The timing of replies of a simulated drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// The speed of the drive's clock.
    pub speed: Speed,
    /// The round trip of the transport; it has no effect at [`Speed::Max`].
    pub round_trip: RoundTrip,
}

impl From<Speed> for Timing {
    /// Returns a timing without a round trip.
    fn from(speed: Speed) -> Timing {
        Timing { speed, round_trip: RoundTrip::default() }
    }
}

/// A conversion between the clock of a simulated drive and the machine's clock.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    clock: Clock,
    /// The time of the drive when the clock was created.
    origin: Nanos,
    times: f64,
}

impl Pace {
    pub(crate) fn new(origin: Nanos, times: f64) -> Pace {
        Pace { clock: Clock::new(), origin, times }
    }

    /// Returns the time of the machine.
    pub(crate) fn machine(&self) -> Nanos {
        self.clock.now()
    }

    /// Returns the time of the drive at the machine's time `machine`.
    pub(crate) fn of_drive(&self, machine: Nanos) -> Nanos {
        self.origin + scaled(machine, self.times)
    }

    /// Returns the time of the machine at the drive's time `drive`.
    pub(crate) fn of_machine(&self, drive: Nanos) -> Nanos {
        match drive {
            Nanos::MAX => Nanos::MAX,
            drive => scaled(Nanos(drive.0.saturating_sub(self.origin.0)), self.times.recip()),
        }
    }
}

/// Multiplies a time by a factor; exact to a nanosecond for a hundred days.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "times and factors are positive, and the cast saturates at the maximum"
)]
fn scaled(time: Nanos, factor: f64) -> Nanos {
    Nanos((time.0 as f64 * factor).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    // `max` and numbers in the permitted range are parsed; anything else is rejected with a hint.
    #[test]
    fn speeds_parse_within_their_range() {
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

    // The drive's clock runs at the given speed from its present time.
    #[test]
    fn the_drive_clock_runs_at_the_given_speed() {
        let pace = Pace::new(Nanos(1000), 4.0);
        assert_eq!(pace.of_drive(Nanos(0)), Nanos(1000));
        assert_eq!(pace.of_drive(Nanos(100)), Nanos(1400));
        assert_eq!(pace.of_machine(Nanos(1400)), Nanos(100));
        assert_eq!(pace.of_machine(Nanos(0)), Nanos(0));
        assert_eq!(pace.of_machine(Nanos::MAX), Nanos::MAX);
    }
}
