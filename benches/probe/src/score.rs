//! Scores the answers of the probes against the true values.

use std::collections::BTreeMap;

use flashscope_document::probe::{Answer, Finding, Parameter};
use flashscope_probe::Knowledge;

use crate::drives::{RandomDrive, Truth};

/// The outcome of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is right.
    Right,
    /// The answer is wrong.
    Wrong,
    /// The probe gave no answer.
    Abstained,
}

/// An answer with its outcome.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The parameter.
    pub parameter: Parameter,
    /// The outcome.
    pub verdict: Verdict,
    /// The stated probability of being right.
    pub probability: f64,
    /// True if the drive has the feature.
    pub has: bool,
    /// The true value, as text.
    pub truth: String,
    /// The answer, as text.
    pub answer: String,
    /// The observation behind the answer, or the reason for abstaining.
    pub because: String,
}

/// Judges the findings about a drive.
pub fn judge(drive: &RandomDrive, knowledge: &Knowledge) -> Vec<Judgement> {
    let judged = |(parameter, truth): (&Parameter, &Truth)| {
        let finding = knowledge.finding(*parameter)?;
        Some(Judgement {
            parameter: *parameter,
            verdict: verdict(finding, *truth),
            probability: finding.probability,
            has: *truth != Truth::Absent,
            truth: text(*parameter, *truth),
            answer: finding.text(),
            because: match &finding.answer {
                Answer::Unknown { why } => why.clone(),
                _ => finding.because.clone(),
            },
        })
    };
    drive.truth.iter().filter_map(judged).collect()
}

/// Returns a true value in the wording of answers.
fn text(parameter: Parameter, truth: Truth) -> String {
    match truth {
        Truth::Value(value) => Finding::exact(parameter, value, 1.0),
        Truth::Class(class) => Finding::class(parameter, class, 1.0),
        Truth::Absent => Finding::absent(parameter, 1.0),
    }
    .text()
}

fn verdict(finding: &Finding, truth: Truth) -> Verdict {
    let right = match (&finding.answer, truth) {
        (Answer::Unknown { .. }, _) => return Verdict::Abstained,
        (Answer::Value { value, .. }, Truth::Value(truth)) => {
            let tolerance = finding.parameter.spec().tolerance * truth.abs();
            (value - truth).abs() <= tolerance + 1e-6
        }
        (Answer::Class { class }, Truth::Class(truth)) => class == truth,
        (Answer::Absent, Truth::Absent) => true,
        _ => false,
    };
    if right { Verdict::Right } else { Verdict::Wrong }
}

/// Counts of outcomes, for one parameter or for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Right answers.
    pub right: u32,
    /// Wrong answers.
    pub wrong: u32,
    /// Missing answers about drives that have the feature.
    pub abstained: u32,
    /// Missing answers about drives that lack the feature.
    pub abstained_absent: u32,
    /// Drives that have the feature.
    pub have: u32,
}

impl Tally {
    /// Counts an answer.
    pub fn count(&mut self, judged: &Judgement) {
        self.have += u32::from(judged.has);
        match judged.verdict {
            Verdict::Right => self.right += 1,
            Verdict::Wrong => self.wrong += 1,
            Verdict::Abstained if judged.has => self.abstained += 1,
            Verdict::Abstained => self.abstained_absent += 1,
        }
    }

    /// Returns the share of right answers.
    pub fn accuracy(&self) -> f64 {
        f64::from(self.right) / f64::from((self.right + self.wrong).max(1))
    }

    /// Returns the share of present features without an answer.
    pub fn abstention(&self) -> f64 {
        f64::from(self.abstained) / f64::from(self.have.max(1))
    }
}

/// Returns the tally of all answers.
pub fn total(judged: &[Judgement]) -> Tally {
    let mut total = Tally::default();
    judged.iter().for_each(|judged| total.count(judged));
    total
}

/// Returns the tally of each parameter.
pub fn tallies(judged: &[Judgement]) -> BTreeMap<Parameter, Tally> {
    let mut tallies: BTreeMap<Parameter, Tally> = BTreeMap::new();
    for judged in judged {
        tallies.entry(judged.parameter).or_default().count(judged);
    }
    tallies
}

/// Answers with a similar stated probability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// The number of answers.
    pub count: u32,
    /// The mean stated probability.
    pub stated: f64,
    /// The share of right answers.
    pub right: f64,
}

/// Groups answers by stated probability, in ten bins of equal width.
pub fn calibration(judged: &[Judgement]) -> [Bin; 10] {
    let mut bins = [Bin::default(); 10];
    for judged in judged.iter().filter(|judged| judged.verdict != Verdict::Abstained) {
        // A probability is within 0 and 1.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bin = &mut bins[((judged.probability * 10.0) as usize).min(9)];
        bin.count += 1;
        bin.stated += judged.probability;
        bin.right += f64::from(u8::from(judged.verdict == Verdict::Right));
    }
    for bin in &mut bins {
        let count = f64::from(bin.count.max(1));
        (bin.stated, bin.right) = (bin.stated / count, bin.right / count);
    }
    bins
}

/// Returns the expected calibration error: the mean difference of accuracy and stated probability,
/// weighted by count.
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let total: u32 = bins.iter().map(|bin| bin.count).sum();
    let off = bins.iter().map(|bin| f64::from(bin.count) * (bin.stated - bin.right).abs());
    off.sum::<f64>() / f64::from(total.max(1))
}
