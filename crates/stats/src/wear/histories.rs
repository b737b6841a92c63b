//! Generated histories of wear, with the truth.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "days, percents and bytes of generated histories are small and not negative"
)]

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::WearReading;

const DAY_S: u64 = 86_400;

/// The mean bytes that a drive writes a day.
const BYTES_A_DAY: f64 = 1e12;

/// A kind of history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same load each day.
    Constant,
    /// An independent load each day.
    Noise,
    /// Weekends with 42 % of the load of weekdays.
    Weekly,
    /// Daily loads with a correlation time of ten days.
    Correlated,
    /// Nine of ten days are nearly idle.
    Bursts,
    /// Write amplification that wanders between 0.4 and 1.6 times its mean, invisible in the bytes
    /// that the host writes.
    Amplification,
    /// A watch that is off half of the time, for days at a time.
    Absent,
    /// The load doubles 60 to 200 days before the forecast.
    EarlierChange,
    /// The load doubles 1 to 28 days before the forecast.
    RecentChange,
    /// Each percent takes 0.5 % fewer bytes than the previous percent.
    Ageing,
    /// A load that follows the seasons by ± 50 %.
    Seasons,
    /// Campaigns: a load of 0.4 or 1.6, chosen at random about every ten days.
    Campaigns,
}

impl Kind {
    /// The kinds that the estimator was developed on.
    pub(super) const DEVELOPED: [Kind; 6] = [
        Kind::Constant,
        Kind::Noise,
        Kind::Weekly,
        Kind::Correlated,
        Kind::EarlierChange,
        Kind::Ageing,
    ];

    /// The kinds that the estimator was not developed on.
    pub(super) const OTHERS: [Kind; 6] = [
        Kind::Bursts,
        Kind::Campaigns,
        Kind::Absent,
        Kind::Amplification,
        Kind::RecentChange,
        Kind::Seasons,
    ];

    /// Returns the description in the documentation.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Constant => "the same load each day",
            Kind::Noise => "independent loads of the days, ± 40 %",
            Kind::Weekly => "less load on weekends",
            Kind::Correlated => "a load with a memory of ten days, ± 34 %",
            Kind::Bursts => "nine days of ten nearly idle",
            Kind::Campaigns => "a load of 0.4 or 1.6, chosen at random about every ten days",
            Kind::Absent => "a watch that was off half of the time",
            Kind::Amplification => "an amplification that wanders over months, unseen by the host",
            Kind::EarlierChange => "a load that doubled 60 to 200 days ago",
            Kind::RecentChange => "a load that doubled 1 to 28 days ago",
            Kind::Ageing => "each percent takes 0.5 % fewer bytes than the one before",
            Kind::Seasons => "a load that follows the seasons by ± 50 %",
        }
    }
}

/// A history up to the forecast, with the truth.
pub(super) struct History {
    pub(super) readings: Vec<WearReading>,
    /// The time from the last reading until the percentage shows 100, if the load continues as
    /// before.
    pub(super) left_s: f64,
}

/// The state of a drive under a kind of load.
struct Drive {
    kind: Kind,
    rng: Xoshiro256PlusPlus,
    memory: f64,
    /// The day on which the load changes, or the phase of the seasons.
    change: f64,
}

impl Drive {
    fn gauss(&mut self) -> f64 {
        // The sum of twelve uniform numbers has a variance of 1.
        (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Returns the relative load of a day, and the relative wear of its bytes at `used` percent.
    fn day(&mut self, day: u64, used: f64) -> (f64, f64) {
        let today = day as f64;
        match self.kind {
            Kind::Constant => (1.0, 1.0),
            Kind::Noise => ((1.0 + 0.4 * self.gauss()).max(0.0), 1.0),
            Kind::Weekly => (if day % 7 < 5 { 1.2 } else { 0.5 }, 1.0),
            Kind::Correlated | Kind::Absent => {
                self.memory = 0.9 * self.memory + 0.15 * self.gauss();
                ((1.0 + self.memory).max(0.0), 1.0)
            }
            Kind::Bursts => (if self.rng.random::<f64>() < 0.1 { 9.1 } else { 0.1 }, 1.0),
            Kind::Amplification => {
                self.memory = 0.98 * self.memory + 0.1 * self.gauss();
                (1.0, 1.0 + 0.6 * (0.6 * self.memory).tanh())
            }
            Kind::EarlierChange | Kind::RecentChange => {
                (if today < self.change { 0.5 } else { 1.0 }, 1.0)
            }
            Kind::Ageing => (1.0, 1.005f64.powf(used)),
            Kind::Campaigns => {
                if day == 0 || self.rng.random::<f64>() < 0.1 {
                    self.memory = if self.rng.random::<bool>() { 1.6 } else { 0.4 };
                }
                (self.memory, 1.0)
            }
            Kind::Seasons => (1.0 + 0.5 * sine(today / 365.0 + self.change), 1.0),
        }
    }
}

/// Returns the sine of an angle in turns.
fn sine(turns: f64) -> f64 {
    (turns * std::f64::consts::TAU).sin()
}

impl History {
    /// Generates a history with a reading each `reading_h` hours.
    pub(super) fn new(kind: Kind, seed: u64, reading_h: u64) -> History {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let percent_a_day = 1.0 / rng.random_range(5.0..40.0);
        let mut used = rng.random_range(0.0..60.0);
        let seen = rng.random_range(3.2..12.0);
        let now = (seen / percent_a_day) as u64;
        let change = match kind {
            Kind::EarlierChange => now as f64 - rng.random_range(60.0..200.0),
            Kind::RecentChange => now as f64 - rng.random_range(1.0..28.0),
            _ => rng.random(),
        };
        let mut drive = Drive { kind, rng, memory: 0.0, change };
        let mut written = 0.0;
        let mut readings = Vec::new();
        for day in 0.. {
            let (load, wear) = drive.day(day, used);
            let (bytes, percent) = (load * BYTES_A_DAY, load * wear * percent_a_day);
            let is_on = kind != Kind::Absent || day / 5 % 2 == 0 || day + 1 >= now;
            for hour in (0..24).step_by(reading_h as usize).filter(|_| day < now && is_on) {
                let part = hour as f64 / 24.0;
                readings.push(WearReading {
                    at_s: day * DAY_S + hour * 3600,
                    percentage_used: (used + part * percent) as u32,
                    written_bytes: (written + part * bytes) as u64,
                });
            }
            if day >= now && used + percent >= 100.0 {
                let end_s = (day as f64 + (100.0 - used) / percent) * DAY_S as f64;
                let last = readings.last().unwrap().at_s as f64;
                return History { readings, left_s: end_s - last };
            }
            used += percent;
            written += bytes;
        }
        unreachable!("the drive wears out")
    }
}
