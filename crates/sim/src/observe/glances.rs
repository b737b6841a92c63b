//! When to look into a simulated drive that is prepared for a measurement.

use std::cell::Cell;

use super::Attention;

/// Which part of what prepares a drive is looked at: the last of so many. What is under way inside the
/// drive when a measurement begins is a part of it, and was begun within that.
const PARTS: u64 = 32;

/// Lets the observers of a drive look away while it is filled and warmed up, of which nothing is
/// kept, but for the last part.
pub struct Glances {
    attention: Attention,
    /// How much was prepared when it was told last.
    told: Cell<u64>,
}

impl Glances {
    /// Of a drive whose observers this directs.
    pub fn new(attention: Attention) -> Glances {
        Glances { attention, told: Cell::new(0) }
    }

    /// So much of `total` is prepared.
    pub fn prepare(&self, done: u64, total: u64) {
        // A smaller number is that of another preparation.
        let step = done.checked_sub(self.told.replace(done)).unwrap_or(done);
        // It is told now and then only: what comes until then must leave the last part to look at.
        let near = (total / PARTS).saturating_add(step.saturating_mul(2));
        self.attention.set(total.saturating_sub(done) <= near);
    }

    /// The measurement begins.
    pub fn measure(&self) {
        self.told.set(0);
        self.attention.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is the last part looked at however seldom it is told, most of the rest not where it is told often,
    // and everything once it is measured, whatever is prepared after what?
    #[test]
    fn the_last_part_is_looked_at() {
        let mut drive = crate::open("demo").unwrap_or_else(|_| panic!("no demo"));
        let attention = drive.only().expect("one drive").attention();
        let glances = Glances::new(attention.clone());
        let total = 640_000;
        for (step, most) in [(1, 20_003), (4096, 32_768), (100_000, 300_000), (640_000, 640_000)] {
            assert!(attention.looks());
            // Of what follows when it is told, until it is told again.
            let (mut done, mut seen) = (0, step);
            while done + step < total {
                done += step;
                glances.prepare(done, total);
                let next = step.min(total - done);
                let last = (done + next).saturating_sub(total - total / PARTS);
                seen += if attention.looks() { next } else { 0 };
                assert!(attention.looks() || last == 0, "{done} in steps of {step}");
            }
            glances.prepare(total, total);
            assert!(attention.looks() && (total / PARTS..=most).contains(&seen), "{seen}");
            if step % 2 == 0 {
                glances.measure();
            }
        }
        glances.prepare(1, total);
        assert!(!attention.looks());
        glances.measure();
        assert!(attention.looks());
    }
}
