//! The endurance of a drive from readings of its health: the time until its rated wear, and its
//! write amplification.

use flashscope_block::Bytes;
use flashscope_document::environment::{Health, WriteAmplification};
use flashscope_document::watch::{
    EnduranceForecast, KnownEndurance, WatchedAmplification, WearCounter,
};
use flashscope_stats::{
    LOAD_WINDOW_S, MIN_STEPS, UnknownWear, WearForecast, WearReading, wear_forecast,
};

const DAY_S: f64 = 86_400.0;

/// A reading of the wear of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndurancePoint {
    /// The time in seconds since 1970.
    pub at_s: u64,
    /// The used share of the rated life in whole percent.
    pub percentage_used: u32,
    /// Bytes that hosts wrote over the life of the drive.
    pub host_bytes_written: Bytes,
    /// Bytes written to the flash over the life of the drive; `None` if it does not count them.
    pub media_bytes_written: Option<Bytes>,
}

impl EndurancePoint {
    /// Returns the point of a reading, `at_s` seconds after the start of 1970.
    pub fn of(at_s: u64, health: &Health) -> EndurancePoint {
        EndurancePoint {
            at_s,
            percentage_used: health.percentage_used,
            host_bytes_written: health.host_bytes_written,
            media_bytes_written: health.media_bytes_written(),
        }
    }

    fn reading(self, written: Bytes) -> WearReading {
        let EndurancePoint { at_s, percentage_used, .. } = self;
        WearReading { at_s, percentage_used, written_bytes: written.0 }
    }
}

/// Forecasts when the percentage used of a drive reaches 100, from its readings in the order of
/// time. `time` formats a time in seconds since 1970.
///
/// Uses the bytes written to the flash if the last reading has them, because they cause the wear.
/// Else it uses the bytes that the host wrote. [`wear_forecast`] states the method and its
/// assumptions.
pub fn endurance(points: &[EndurancePoint], time: &dyn Fn(u64) -> String) -> EnduranceForecast {
    let has_media = points.last().is_some_and(|last| last.media_bytes_written.is_some());
    let counter = if has_media { WearCounter::Media } else { WearCounter::Host };
    let written = |point: &EndurancePoint| match counter {
        WearCounter::Media => point.media_bytes_written,
        WearCounter::Host => Some(point.host_bytes_written),
    };
    let reading = |point: &EndurancePoint| Some(point.reading(written(point)?));
    let readings: Vec<WearReading> = points.iter().filter_map(reading).collect();
    match wear_forecast(&readings) {
        Ok(forecast) => EnduranceForecast::Known { forecast: known(&forecast, counter) },
        Err(UnknownWear::Reached) => EnduranceForecast::Reached,
        Err(unknown) => EnduranceForecast::Unknown { reason: reason(unknown, time) },
    }
}

fn known(forecast: &WearForecast, counter: WearCounter) -> KnownEndurance {
    KnownEndurance {
        days_left: forecast.left_s / DAY_S,
        days_left_low: forecast.low_s / DAY_S,
        days_left_high: forecast.high_s / DAY_S,
        steps: forecast.steps,
        counter,
        bytes_per_day: forecast.load_bytes_per_s * DAY_S,
        bytes_per_percent: forecast.bytes_per_percent,
    }
}

fn reason(unknown: UnknownWear, time: &dyn Fn(u64) -> String) -> String {
    match unknown {
        UnknownWear::NoReading | UnknownWear::Reached => "there is no reading yet".into(),
        UnknownWear::NoStep { since_s } => {
            format!("percentage used has not moved since {}", time(since_s))
        }
        UnknownWear::FewSteps { steps, since_s } => {
            let times = if steps == 1 { "once" } else { "twice" };
            format!(
                "percentage used has moved only {times} since {}; a forecast needs {MIN_STEPS} steps",
                time(since_s)
            )
        }
        UnknownWear::Idle { since_s } => {
            format!("nothing was written since {}", time(since_s))
        }
        UnknownWear::Scattered { since_s } => format!(
            "percentage used and written bytes since {} vary too much for a forecast",
            time(since_s)
        ),
    }
}

/// Returns the write amplification over the last four weeks, or over the life of the drive if the
/// readings show too few writes. `None` if the drive does not count the bytes written to its flash,
/// or too few bytes were written at all. `time` formats a time in seconds since 1970.
pub fn amplification(
    points: &[EndurancePoint],
    time: &dyn Fn(u64) -> String,
) -> Option<WatchedAmplification> {
    let last = points.last()?;
    let media = last.media_bytes_written?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number")]
    let start = last.at_s.saturating_sub(LOAD_WINDOW_S as u64);
    let recent =
        |point: &&EndurancePoint| point.at_s >= start && point.media_bytes_written.is_some();
    let since = points.iter().find(recent).and_then(|first| {
        // A counter that has decreased was reset.
        let host = last.host_bytes_written.0.checked_sub(first.host_bytes_written.0)?;
        let media = media.0.checked_sub(first.media_bytes_written?.0)?;
        let value = WriteAmplification::of(Bytes(host), Bytes(media))?;
        Some(WatchedAmplification { since: Some(time(first.at_s)), value })
    });
    let over_life = || {
        let value = WriteAmplification::of(last.host_bytes_written, media)?;
        Some(WatchedAmplification { since: None, value })
    };
    since.or_else(over_life)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    /// Returns a reading a day of a drive with a write amplification of 3, which uses a percent in
    /// 5 days.
    fn points(days: u64) -> Vec<EndurancePoint> {
        let point = |day: u64| EndurancePoint {
            at_s: day * DAY,
            percentage_used: u32::try_from(day / 5).unwrap(),
            host_bytes_written: Bytes(day * 1_000_000_000),
            media_bytes_written: Some(Bytes(day * 3_000_000_000)),
        };
        (0..days).map(point).collect()
    }

    fn time(seconds: u64) -> String {
        format!("day {}", seconds / DAY)
    }

    #[test]
    fn a_forecast_rests_on_the_bytes_written_to_the_flash_if_they_are_counted() {
        let of = |points: &[EndurancePoint]| match endurance(points, &time) {
            EnduranceForecast::Known { forecast } => forecast,
            other => panic!("{other:?}"),
        };
        let media = of(&points(41));
        assert_eq!((media.counter, media.steps), (WearCounter::Media, 8));
        assert!((media.days_left - 460.0).abs() < 5.0, "{media:?}");
        assert!((media.bytes_per_day - 3e9).abs() < 1.0);
        let mut without = points(41);
        without.iter_mut().for_each(|point| point.media_bytes_written = None);
        let host = of(&without);
        assert_eq!(host.counter, WearCounter::Host);
        assert!((host.days_left - media.days_left).abs() < 1e-6);
    }

    #[test]
    fn an_unknown_endurance_has_a_reason_in_words() {
        let reason = |points: &[EndurancePoint]| match endurance(points, &time) {
            EnduranceForecast::Unknown { reason } => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(reason(&[]), "there is no reading yet");
        assert_eq!(reason(&points(3)), "percentage used has not moved since day 0");
        let few = "percentage used has moved only twice since day 0; a forecast needs 3 steps";
        assert_eq!(reason(&points(12)), few);
        let mut worn = points(2);
        worn[1].percentage_used = 100;
        assert_eq!(endurance(&worn, &time), EnduranceForecast::Reached);
    }

    #[test]
    fn write_amplification_is_that_of_four_weeks_or_of_the_life() {
        let mut history = points(60);
        history.iter_mut().for_each(|point| {
            // Earlier, the amplification was higher.
            let bytes = point.media_bytes_written.unwrap().0 + 1_000_000_000_000;
            point.media_bytes_written = Some(Bytes(bytes));
        });
        let recent = amplification(&history, &time).unwrap();
        assert_eq!(recent.since.as_deref(), Some("day 31"));
        assert!((recent.value.ratio - 3.0).abs() < 1e-9);
        let life = amplification(&history[59..], &time).unwrap();
        assert_eq!(life.since, None);
        assert!(life.value.ratio > 19.0);
        history[59].media_bytes_written = None;
        assert_eq!(amplification(&history, &time), None);
    }
}
