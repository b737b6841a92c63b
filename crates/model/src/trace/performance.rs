//! What says what uniform writes cost, and what costs come to.

use super::Total;
use crate::{Family, Model, Surface, Table, Uniform};

/// What writes came to in one quantity.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Pages that the host wrote.
    pub pages: u64,
    /// What they cost, in the unit in which it was measured.
    pub cost: f64,
}

/// What says what uniform writes cost: a model, or points that were measured.
pub trait Performance {
    /// What costs add up to.
    type Sum: Clone + Default;

    /// What it is of: how free space is shared out depends on it.
    fn family(&self) -> Family;

    /// Adds what so many pages of such writes cost.
    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut Self::Sum);
}

impl<P: Performance> Performance for &P {
    type Sum = P::Sum;

    fn family(&self) -> Family {
        (*self).family()
    }

    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut P::Sum) {
        (*self).add(uniform, pages, sum);
    }
}

impl Performance for Model {
    type Sum = Total;

    fn family(&self) -> Family {
        self.family
    }

    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut Total) {
        sum.add(&(self.predict)(uniform), pages);
    }
}

impl Performance for Table {
    type Sum = Total;

    fn family(&self) -> Family {
        Family::PageMap
    }

    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut Total) {
        sum.add(&self.predict(uniform), pages);
    }
}

/// One quantity that was measured of uniform writes: erasures, programs or nanoseconds for each page that the host
/// writes, whichever is known of a drive (Boboila, section IV).
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What the drive is taken to be.
    pub family: Family,
    /// The quantity for each page.
    pub per_page: Surface,
}

impl Performance for Measured {
    type Sum = Spent;

    fn family(&self) -> Family {
        self.family
    }

    #[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut Spent) {
        sum.pages += pages;
        sum.cost += pages as f64 * self.per_page.at(uniform.mean_len(), uniform.free_space());
    }
}
