//! Pages in classes with different write rates that share the same blocks (Desnoyers).

use super::desnoyers::from_fifo;
use crate::OutOfRange;
use crate::root::root;

/// A class of pages with the same write rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// The share of the class in all writes, r.
    pub writes: f64,
    /// The share of the class in all live pages, f.
    pub space: f64,
}

/// Classes that together make up all writes and all live pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix(Vec<Class>);

impl Mix {
    /// Combines classes, in any order.
    ///
    /// # Errors
    ///
    /// Returns an error if a share is out of range, a class has no space, or the shares do not add
    /// up to 1 within a millionth.
    pub fn new(classes: Vec<Class>) -> Result<Mix, OutOfRange> {
        for class in &classes {
            let share = (0.0..=1.0).contains(&class.writes);
            OutOfRange::unless(share, "share of writes", class.writes, "0 to 1")?;
            let share = class.space > 0.0 && class.space <= 1.0;
            OutOfRange::unless(share, "share of space", class.space, "above 0, at most 1")?;
        }
        let writes: f64 = classes.iter().map(|class| class.writes).sum();
        OutOfRange::unless((writes - 1.0).abs() < 1e-6, "sum of shares of writes", writes, "1")?;
        let space: f64 = classes.iter().map(|class| class.space).sum();
        OutOfRange::unless((space - 1.0).abs() < 1e-6, "sum of shares of space", space, "1")?;
        Ok(Mix(classes))
    }

    /// Splits the pages into a hot class, with the shares `writes` of all writes and `space` of all
    /// pages, and a cold class with the remaining shares.
    ///
    /// # Errors
    ///
    /// Returns an error unless both shares are below 1, `writes` is 0 or more, and `space` is above
    /// 0.
    pub fn hot_cold(writes: f64, space: f64) -> Result<Mix, OutOfRange> {
        let below = writes < 1.0;
        OutOfRange::unless(below, "share of writes", writes, "0 or more, below 1")?;
        let hot = Class { writes, space };
        Mix::new(vec![hot, Class { writes: 1.0 - writes, space: 1.0 - space }])
    }

    /// Returns the classes.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.0
    }

    /// Returns the exact write amplification if GC collects the oldest block: A = 1 + sum of r_i /
    /// (exp((r_i / f_i)(alpha / A)) - 1). `alpha` is the number of physical pages divided by
    /// logical pages, above 1.
    #[must_use]
    pub fn fifo(&self, alpha: f64) -> f64 {
        let moved = |class: &Class, amplification: f64| {
            let written = class.writes / class.space * alpha / amplification;
            // Pages that are never written move at every pass of the queue: r / (exp(r x) - 1)
            // tends to 1/x.
            if written < 1e-12 {
                return class.space * amplification / alpha;
            }
            class.writes / written.exp_m1()
        };
        let off = |amplification: f64| {
            let all = self.0.iter().map(|class| moved(class, amplification));
            1.0 + all.sum::<f64>() - amplification
        };
        root(1.0, alpha / (alpha - 1.0) * (1.0 + 1e-9), off)
    }

    /// Returns the write amplification if GC collects the block with the fewest valid pages
    /// (Desnoyers, equation 16). It is that of FIFO at k alpha, divided by k, with k = 1 + 1/(2b).
    ///
    /// The write amplification of simulated drives is 0.3 to 4.1 % above this result if ties go to
    /// the youngest block. If ties go to the oldest block, it is within 0.7 % of this result.
    #[must_use]
    pub fn greedy(&self, alpha: f64, pages_per_block: f64) -> f64 {
        from_fifo(pages_per_block, |k| self.fifo(k * alpha))
    }
}
