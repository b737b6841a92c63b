//! The knowledge about a drive so far.

use std::collections::BTreeMap;

use crate::{PARAMETERS, Parameter};
use flashscope_document::probe::{Answer, Finding};

/// Minimum probability of a finding on which other probes rely.
const BELIEVED: f64 = 0.5;

/// The findings so far, at most one per parameter.
#[derive(Debug, Clone, Default)]
pub struct Knowledge(BTreeMap<Parameter, Finding>);

impl Knowledge {
    /// Returns the finding about a parameter, if a probe looked for it.
    pub fn finding(&self, parameter: Parameter) -> Option<&Finding> {
        self.0.get(&parameter)
    }

    /// Returns every finding, in display order.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.0.values()
    }

    /// Returns the value of a parameter, if it is believed.
    pub fn value(&self, parameter: Parameter) -> Option<f64> {
        match self.believed(parameter)?.answer {
            Answer::Value { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns the value of a parameter that is a whole number, such as a number of bytes, if it is
    /// believed.
    pub fn whole(&self, parameter: Parameter) -> Option<u64> {
        self.believed(parameter)?.answer.whole()
    }

    /// Returns the class of a parameter, if it is believed.
    pub fn class(&self, parameter: Parameter) -> Option<&str> {
        match &self.believed(parameter)?.answer {
            Answer::Class { class } => Some(class),
            _ => None,
        }
    }

    /// Returns true if the drive is believed not to have the feature.
    pub fn lacks(&self, parameter: Parameter) -> bool {
        self.believed(parameter).is_some_and(|finding| finding.answer == Answer::Absent)
    }

    fn believed(&self, parameter: Parameter) -> Option<&Finding> {
        self.finding(parameter).filter(|finding| finding.probability >= BELIEVED)
    }

    /// Returns the uncertainty about a parameter in bits. Without a known finding, it is the
    /// logarithm of the number of alternatives; with one, it is the entropy that the probability of
    /// the answer leaves.
    pub fn uncertainty(&self, parameter: Parameter) -> f64 {
        let alternatives = f64::from(parameter.spec().alternatives);
        let known = self.finding(parameter).filter(|finding| finding.is_known());
        let Some(finding) = known else { return alternatives.log2() };
        let (p, q) = (finding.probability, 1.0 - finding.probability);
        let part = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
        part(p) + part(q) + q * (alternatives - 1.0).log2()
    }

    /// Adds a finding. An unknown finding does not replace a known one. If two findings agree, the
    /// combined probability exceeds both. If they disagree, the likelier finding stays; its
    /// probability falls if that of the other finding is above 0.5.
    pub fn add(&mut self, finding: Finding) {
        let Some(old) = self.0.remove(&finding.parameter).filter(Finding::is_known) else {
            self.0.insert(finding.parameter, finding);
            return;
        };
        let kept = if !finding.is_known() {
            old
        } else if old.agrees_with(&finding) {
            let probability = 1.0 - (1.0 - old.probability) * (1.0 - finding.probability);
            Finding { probability, ..finding }
        } else {
            let (likelier, other) = match finding.probability >= old.probability {
                true => (finding, old),
                false => (old, finding),
            };
            let (p, q) = (likelier.probability, other.probability);
            let (right, wrong) = (p * (1.0 - q), q * (1.0 - p));
            // Both are certain and contradict each other: either may be right.
            let probability = if right + wrong > 0.0 { right / (right + wrong) } else { 0.5 };
            // An unlikely other finding says more for any third answer than for this one.
            Finding { probability: probability.min(p), ..likelier }
        };
        self.0.insert(kept.parameter, kept);
    }

    /// Withdraws the finding about a parameter, so that probes look for the parameter again.
    pub fn withdraw(&mut self, parameter: Parameter) {
        self.0.remove(&parameter);
    }

    /// Withdraws all findings except that of one parameter.
    pub(crate) fn withdraw_all_but(&mut self, parameter: Parameter) {
        self.0.retain(|of, _| *of == parameter);
    }

    /// Returns the parameters without a finding.
    pub fn missing(&self) -> impl Iterator<Item = Parameter> {
        PARAMETERS.iter().map(|spec| spec.parameter).filter(|at| !self.0.contains_key(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreeing_findings_raise_the_probability_and_differing_ones_lower_it() {
        let pages = |value, probability| Finding::exact(Parameter::PageSize, value, probability);
        let mut knowledge = Knowledge::default();
        assert!((knowledge.uncertainty(Parameter::PageSize) - 6f64.log2()).abs() < 1e-12);
        knowledge.add(pages(4096.0, 0.8));
        let once = knowledge.uncertainty(Parameter::PageSize);
        knowledge.add(pages(4096.0, 0.8));
        assert!((knowledge.finding(Parameter::PageSize).unwrap().probability - 0.96).abs() < 1e-12);
        assert!(knowledge.uncertainty(Parameter::PageSize) < once);
        knowledge.add(pages(8192.0, 0.9));
        let finding = knowledge.finding(Parameter::PageSize).unwrap();
        assert_eq!(knowledge.whole(Parameter::PageSize), Some(4096));
        assert!(finding.probability > 0.5 && finding.probability < 0.96);
        knowledge.add(Finding::unknown(Parameter::PageSize, "noise"));
        assert_eq!(knowledge.whole(Parameter::PageSize), Some(4096));
        knowledge.withdraw(Parameter::PageSize);
        assert_eq!(knowledge.whole(Parameter::PageSize), None);
    }
}
