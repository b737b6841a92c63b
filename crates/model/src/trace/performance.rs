//! The cost function of uniform writes that a decomposition applies to each part.

use std::rc::Rc;

use super::Total;
use crate::{Family, Model, Table, Uniform};

/// A cost function of uniform writes: a model, or interpolated measurements.
pub trait Performance {
    /// The type that accumulates costs.
    type Sum: Clone + Default;

    /// Returns the kind of FTL, which determines how free space is divided.
    fn family(&self) -> Family;

    /// Adds the cost of `pages` pages of writes like `uniform` to `sum`.
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
