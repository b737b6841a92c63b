//! Switches the observers of a drive on before a measurement begins.

use std::cell::Cell;

use flashscope_block::Nanos;

use super::ObserverSwitch;

/// The last 1/`PARTS` of the preparation is observed. Work in progress when the measurement begins
/// started within this part.
const PARTS: u64 = 32;

/// Switches the observers of a drive off while it is filled and warmed up, except for the last
/// part. Observations of the preparation are not kept.
pub struct ObserverSchedule {
    switch: ObserverSwitch,
    /// The progress at the last report.
    last_done: Cell<u64>,
}

impl ObserverSchedule {
    /// Creates a controller for the observers behind `switch`.
    pub fn new(switch: ObserverSwitch) -> ObserverSchedule {
        ObserverSchedule { switch, last_done: Cell::new(0) }
    }

    /// Receives the progress of the preparation: `done` of `total`. Switches the observers on in
    /// its last part, and off before.
    pub fn prepare(&self, done: u64, total: u64) {
        // A value below the last one belongs to another preparation.
        let step = done.checked_sub(self.last_done.replace(done)).unwrap_or(done);
        // Reports are rare: the step until the next report must not reach into the last part.
        let near = (total / PARTS).saturating_add(step.saturating_mul(2));
        self.switch.set(total.saturating_sub(done) <= near);
    }

    /// Switches the observers on for the measurement, and restarts them at its start, `now`.
    pub fn measure(&self, now: Nanos) {
        self.last_done.set(0);
        self.switch.set(true);
        self.switch.restart(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observers_are_on_in_the_last_part_and_the_measurement() {
        let mut drive = crate::open("demo").unwrap_or_else(|_| panic!("no demo"));
        let switch = drive.only().expect("one drive").observer_switch();
        let glances = ObserverSchedule::new(switch.clone());
        let total = 640_000;
        for (step, most) in [(1, 20_003), (4096, 32_768), (100_000, 300_000), (640_000, 640_000)] {
            assert!(switch.is_enabled());
            // The switch keeps its state until the next report.
            let (mut done, mut seen) = (0, step);
            while done + step < total {
                done += step;
                glances.prepare(done, total);
                let next = step.min(total - done);
                let last = (done + next).saturating_sub(total - total / PARTS);
                seen += if switch.is_enabled() { next } else { 0 };
                assert!(switch.is_enabled() || last == 0, "{done} in steps of {step}");
            }
            glances.prepare(total, total);
            assert!(switch.is_enabled() && (total / PARTS..=most).contains(&seen), "{seen}");
            if step % 2 == 0 {
                glances.measure(Nanos(0));
            }
        }
        glances.prepare(1, total);
        assert!(!switch.is_enabled());
        glances.measure(Nanos(0));
        assert!(switch.is_enabled());
    }
}
