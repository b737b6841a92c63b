//! What the probes said beside what is true.

use std::collections::BTreeMap;

use flashscope_probe::{Answer, Finding, Knowledge, Parameter};

use crate::drives::{Drawn, Truth};

/// How an answer turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Right,
    /// It is not.
    Wrong,
    /// There was none.
    Abstained,
}

/// One answer, judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What was asked.
    pub parameter: Parameter,
    /// How the answer turned out.
    pub verdict: Verdict,
    /// With what probability it was said to be right.
    pub probability: f64,
    /// Whether the drive has what was asked for.
    pub has: bool,
    /// What is true, for people.
    pub truth: String,
    /// What was said.
    pub said: String,
    /// Why: what was seen, or why it is not known.
    pub because: String,
}

/// Judges what was found out about a drive.
pub fn judge(drawn: &Drawn, knowledge: &Knowledge) -> Vec<Judged> {
    let judged = |(parameter, truth): (&Parameter, &Truth)| {
        let finding = knowledge.finding(*parameter)?;
        Some(Judged {
            parameter: *parameter,
            verdict: verdict(finding, *truth),
            probability: finding.probability,
            has: *truth != Truth::Absent,
            truth: text(*parameter, *truth),
            said: finding.text(),
            because: match &finding.answer {
                Answer::Unknown { why } => why.clone(),
                _ => finding.because.clone(),
            },
        })
    };
    drawn.truth.iter().filter_map(judged).collect()
}

/// What is true, in the words in which answers are given.
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

/// How the answers about one parameter, or about all, turned out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Right answers.
    pub right: u32,
    /// Wrong ones.
    pub wrong: u32,
    /// None, of drives that have what was asked for.
    pub abstained: u32,
    /// None, of drives that have no such thing.
    pub abstained_absent: u32,
    /// Drives that have it.
    pub have: u32,
}

impl Tally {
    /// Counts an answer.
    pub fn count(&mut self, judged: &Judged) {
        self.have += u32::from(judged.has);
        match judged.verdict {
            Verdict::Right => self.right += 1,
            Verdict::Wrong => self.wrong += 1,
            Verdict::Abstained if judged.has => self.abstained += 1,
            Verdict::Abstained => self.abstained_absent += 1,
        }
    }

    /// The share of answers that are right.
    pub fn accuracy(&self) -> f64 {
        f64::from(self.right) / f64::from((self.right + self.wrong).max(1))
    }

    /// The share of what drives have that was not answered.
    pub fn abstention(&self) -> f64 {
        f64::from(self.abstained) / f64::from(self.have.max(1))
    }
}

/// The tally of all answers.
pub fn total(judged: &[Judged]) -> Tally {
    let mut total = Tally::default();
    judged.iter().for_each(|judged| total.count(judged));
    total
}

/// The tallies of all parameters.
pub fn tallies(judged: &[Judged]) -> BTreeMap<Parameter, Tally> {
    let mut tallies: BTreeMap<Parameter, Tally> = BTreeMap::new();
    for judged in judged {
        tallies.entry(judged.parameter).or_default().count(judged);
    }
    tallies
}

/// Answers of about the same stated probability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// How many.
    pub count: u32,
    /// The mean of the stated probabilities.
    pub stated: f64,
    /// The share that is right.
    pub right: f64,
}

/// Answers by their stated probability, in ten bins of the same width.
pub fn calibration(judged: &[Judged]) -> [Bin; 10] {
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

/// The expected calibration error: how far the shares are from what was stated, by count.
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let total: u32 = bins.iter().map(|bin| bin.count).sum();
    let off = bins.iter().map(|bin| f64::from(bin.count) * (bin.stated - bin.right).abs());
    off.sum::<f64>() / f64::from(total.max(1))
}
