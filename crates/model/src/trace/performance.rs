//! What says what uniform writes cost, and what costs come to.

use std::rc::Rc;

use super::Total;
use crate::{Family, Model, Table, Uniform};

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

impl<P: Performance> Performance for Rc<P> {
    type Sum = P::Sum;

    fn family(&self) -> Family {
        (**self).family()
    }

    fn add(&self, uniform: &Uniform, pages: u64, sum: &mut P::Sum) {
        (**self).add(uniform, pages, sum);
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
