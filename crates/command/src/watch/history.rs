//! The readings of a drive that its forecast needs.

use flashscope_analysis::endurance::{EndurancePoint, amplification, endurance};
use flashscope_document::environment::{Health, HealthChange};
use flashscope_document::watch::{DriveWatch, WatchReading, WatchedDrive};
use flashscope_measure::{seconds_of, timestamp_of};

/// The maximum time between two stored readings, in seconds.
const KEEP_EVERY_S: u64 = 3600;

/// The readings of a drive: the stored readings, and the last reading.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The stored readings, in order.
    points: Vec<EndurancePoint>,
    /// The last stored reading.
    kept: Option<WatchReading>,
    /// The last reading, if it is not stored.
    latest: Option<WatchReading>,
}

impl History {
    /// Adds a reading from the stored history, which need not be stored again.
    pub(super) fn restore(&mut self, reading: WatchReading) {
        self.latest = None;
        self.points.push(EndurancePoint::of(seconds(&reading), &reading.health));
        self.kept = Some(reading);
    }

    /// Adds a reading. Passes the readings to store to `keep`. This reading is stored if wear,
    /// warnings or errors changed, if the last stored reading is an hour old, or if `always`. The
    /// reading before a change is stored too, because it bounds the time of the change.
    pub(super) fn add<E>(
        &mut self,
        reading: WatchReading,
        always: bool,
        keep: &mut dyn FnMut(&WatchReading) -> Result<(), E>,
    ) -> Result<(), E> {
        let previous = self.latest.take();
        let kept = self.kept.as_ref();
        let has_news = kept.is_none_or(|kept| is_news(&kept.health, &reading.health));
        let is_old = |kept| seconds(&reading).abs_diff(seconds(kept)) >= KEEP_EVERY_S;
        let is_due = always || has_news || kept.is_some_and(is_old);
        self.latest = Some(reading);
        if !is_due {
            return Ok(());
        }
        if let Some(previous) = previous.filter(|_| has_news) {
            keep(&previous)?;
            let latest = self.latest.take();
            self.restore(previous);
            self.latest = latest;
        }
        self.keep_latest(keep)
    }

    /// Returns true if the last reading equals `reading`, as for a file that has not changed.
    pub(super) fn has(&self, reading: &WatchReading) -> bool {
        let last = self.latest.as_ref().or(self.kept.as_ref());
        last.is_some_and(|last| last.at == reading.at && last.health == reading.health)
    }

    /// Stores the last reading, if it is not stored.
    pub(super) fn keep_latest<E>(
        &mut self,
        keep: &mut dyn FnMut(&WatchReading) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(latest) = &self.latest {
            keep(latest)?;
            let latest = latest.clone();
            self.restore(latest);
        }
        Ok(())
    }

    /// Returns the state of the drive. `error` is the reason why the last reading failed, if it
    /// did.
    pub(super) fn watch(&self, drive: &WatchedDrive, error: Option<&String>) -> DriveWatch {
        let last = self.latest.as_ref().or(self.kept.as_ref());
        let latest =
            self.latest.as_ref().map(|latest| EndurancePoint::of(seconds(latest), &latest.health));
        let points: Vec<EndurancePoint> = self.points.iter().copied().chain(latest).collect();
        DriveWatch {
            drive: drive.clone(),
            error: error.cloned(),
            read_at: last.map(|last| last.at.clone()),
            health: last.map(|last| last.health.clone()),
            latency_monitor: last.and_then(|last| last.latency_monitor.clone()),
            write_amplification: amplification(&points, &time),
            endurance: endurance(&points, &time),
        }
    }
}

/// Returns true if a reading differs from the last stored reading in wear, warnings or errors.
fn is_news(kept: &Health, health: &Health) -> bool {
    kept.percentage_used != health.percentage_used
        || kept.available_spare_percent != health.available_spare_percent
        || kept.critical_warnings != health.critical_warnings
        || HealthChange::between(kept, health).has_errors()
}

/// Returns the time of a reading in seconds since 1970; 0 for an invalid time, as in a damaged
/// folder.
fn seconds(reading: &WatchReading) -> u64 {
    seconds_of(&reading.at).unwrap_or(0)
}

/// Formats a time in seconds since 1970.
fn time(seconds: u64) -> String {
    timestamp_of(i64::try_from(seconds).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use flashscope_document::watch::{EnduranceForecast, WatchSource};

    use super::*;

    fn drive() -> WatchedDrive {
        let name = "/dev/nvme0n1".into();
        WatchedDrive { name, source: WatchSource::Nvme, model: None, serial: None }
    }

    fn reading(at_s: u64, used: u8) -> WatchReading {
        let mut smart = [0; 512];
        (smart[3], smart[5]) = (100, used);
        smart[48..56].copy_from_slice(&at_s.to_le_bytes());
        let health = Health::decode(&smart, None).unwrap();
        WatchReading { at: time(at_s), drive: drive(), health, latency_monitor: None }
    }

    /// Adds a reading and returns the times of the readings that it stores.
    fn add(history: &mut History, reading: WatchReading, always: bool) -> Vec<u64> {
        let mut kept = Vec::new();
        let mut keep = |reading: &WatchReading| {
            kept.push(seconds(reading));
            Ok::<(), ()>(())
        };
        history.add(reading, always, &mut keep).unwrap();
        kept
    }

    #[test]
    fn readings_are_kept_hourly_and_around_each_change() {
        let mut history = History::default();
        assert_eq!(add(&mut history, reading(1000, 5), false), [1000]);
        assert_eq!(add(&mut history, reading(1060, 5), false), [0; 0]);
        assert_eq!(add(&mut history, reading(1120, 5), false), [0; 0]);
        assert_eq!(add(&mut history, reading(1180, 6), false), [1120, 1180]);
        assert_eq!(add(&mut history, reading(4779, 6), false), [0; 0]);
        assert_eq!(add(&mut history, reading(4780, 6), false), [4780]);
        assert_eq!(add(&mut history, reading(4781, 6), true), [4781]);
    }

    #[test]
    fn a_reading_of_an_unchanged_file_is_no_new_one() {
        let mut history = History::default();
        assert!(!history.has(&reading(1000, 5)));
        add(&mut history, reading(1000, 5), false);
        assert!(history.has(&reading(1000, 5)));
        assert!(!history.has(&reading(1001, 5)) && !history.has(&reading(1000, 6)));
    }

    #[test]
    fn a_drive_is_forecast_from_kept_readings_and_the_last_one() {
        let mut history = History::default();
        for day in 0..40u64 {
            history.restore(reading(86_400 * day, u8::try_from(day / 10).unwrap()));
        }
        let watch = history.watch(&drive(), None);
        assert!(matches!(watch.endurance, EnduranceForecast::Known { .. }), "{watch:?}");
        assert_eq!(watch.read_at.as_deref(), Some("1970-02-09T00:00:00Z"));
        let error = "gone".to_owned();
        assert_eq!(history.watch(&drive(), Some(&error)).error.as_deref(), Some("gone"));
    }

    #[test]
    fn a_failed_write_keeps_the_reading_for_the_next_time() {
        let mut history = History::default();
        let mut full = |_: &WatchReading| Err("full");
        assert_eq!(history.add(reading(1000, 5), false, &mut full), Err("full"));
        let mut kept = 0;
        let mut keep = |_: &WatchReading| {
            kept += 1;
            Ok::<(), ()>(())
        };
        history.keep_latest(&mut keep).unwrap();
        assert_eq!(kept, 1);
    }
}
