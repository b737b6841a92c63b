//! Builds the answer from the simulations done so far.

use std::collections::BTreeMap;

use flashscope_document::sweep::{Row, RowStatus};
use flashscope_document::what_if::{ClosedForm, Disagreement, Variant, WhatIf, WhatIfStatus};

use super::Question;
use super::compare::{VariantNumbers, lasts};

/// An answer that is updated as rows arrive.
pub struct Answer {
    what_if: WhatIf,
    /// Rows of unfinished variants, by variant and repeat.
    rows: BTreeMap<u32, BTreeMap<u32, Row>>,
    /// The numbers of the baseline, once all its repeats have arrived.
    base: Option<VariantNumbers>,
    /// The number of finished variants, including the baseline.
    done: usize,
}

impl Answer {
    /// Creates the empty answer to a question.
    #[must_use]
    pub fn to(question: &Question) -> Answer {
        Answer { what_if: question.unanswered(), rows: BTreeMap::new(), base: None, done: 0 }
    }

    /// Returns the answer so far.
    #[must_use]
    pub fn so_far(&self) -> &WhatIf {
        &self.what_if
    }

    /// Returns the final answer.
    #[must_use]
    pub fn finish(mut self) -> WhatIf {
        if self.what_if.all().all(|variant| variant.status.is_some()) {
            self.what_if.status = WhatIfStatus::Complete;
        }
        self.what_if
    }

    /// Sets the prediction of a closed-form model for variant `nth` (0 is the baseline), or the
    /// reason why there is none.
    pub fn predicted(&mut self, nth: usize, predicted: Result<ClosedForm, String>) {
        let base = self.what_if.base.closed_form.clone().filter(|_| nth > 0);
        let Some(variant) = self.variant(nth) else { return };
        match predicted {
            Ok(mut form) => {
                if let Some(base) = &base {
                    form.compare_with(base);
                }
                variant.closed_form = Some(form);
            }
            Err(reason) => variant.not_predicted = Some(reason),
        }
    }

    /// Adds a row; rows may arrive in any order. Calls `each` for every variant that it completes,
    /// in the order of variants, the baseline (0) first.
    pub fn simulated(&mut self, row: &Row, each: &mut dyn FnMut(&WhatIf, usize)) {
        self.rows.entry(row.point).or_default().insert(row.repeat, row.clone());
        while let Some(rows) = self.whole(self.done) {
            let nth = self.done;
            self.end(nth, &rows);
            self.done += 1;
            each(&self.what_if, nth);
        }
    }

    /// Removes and returns the rows of a variant once all its repeats have arrived.
    fn whole(&mut self, nth: usize) -> Option<Vec<Row>> {
        let point = u32::try_from(nth).ok()?;
        let count = self.rows.get(&point)?.len();
        if count < self.what_if.repeats as usize {
            return None;
        }
        Some(self.rows.remove(&point)?.into_values().collect())
    }

    fn end(&mut self, nth: usize, rows: &[Row]) {
        let Some(variant) = self.variant(nth) else { return };
        if let Some(row) = rows.iter().find(|row| row.status != RowStatus::Done) {
            variant.status = Some(row.status);
            variant.reason.clone_from(&row.reason);
            return;
        }
        let numbers = rows.iter().map(|row| row.numbers.clone()).collect();
        let measured = VariantNumbers { numbers, lasts: lasts(&variant.drive) };
        let simulated = measured.beside(self.base.as_ref());
        if nth == 0 {
            self.base = Some(measured);
        }
        let Some(variant) = self.variant(nth) else { return };
        variant.status = Some(RowStatus::Done);
        let expected = variant.closed_form.as_ref().map(|form| &form.expected[..]);
        variant.disagreement =
            expected.and_then(|expected| Disagreement::between(expected, &simulated));
        variant.simulated = simulated;
    }

    fn variant(&mut self, nth: usize) -> Option<&mut Variant> {
        match nth.checked_sub(1) {
            None => Some(&mut self.what_if.base),
            Some(nth) => self.what_if.variants.get_mut(nth),
        }
    }
}
