//! `flashscope what-if`: compares a workload on a drive with variants of the workload, the drive or
//! both.

mod args;

use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use flashscope_analysis::conclusions::Conclude;
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_document::prediction::{PredictedValue, PredictionReport};
use flashscope_document::sweep::{Row, RowStatus};
use flashscope_document::what_if::{ClosedForm, ModelEstimate, Quantity, WhatIf, WhatIfStatus};
use flashscope_result::what_if::WhatIfFolder;
use flashscope_simulate::sweep::Runner;
use flashscope_simulate::what_if::{Answer, Question};
use flashscope_simulate::{Resources, SimulationRequest};

pub use self::args::{WhatIfArgs, repeats};
use crate::predict::{Prediction, PredictionRequest};
use crate::{Failure, PartialResult, Progress, Step, Unit, interrupted, not_made, usage};

/// Receives progress and each row of an answer as it arrives.
pub trait RowSink: Progress {
    /// Called once the prediction for variant `nth` (0 is the baseline) is available, or the reason
    /// why there is none. All predictions come before the first simulation, in order.
    fn predicted(&mut self, so_far: &WhatIf, nth: usize);

    /// Called when the simulations of variant `nth` are done, or turned out impossible. Variants
    /// come in order, the baseline first.
    fn simulated(&mut self, so_far: &WhatIf, nth: usize);
}

/// The answer to a what-if question, complete or not.
pub struct WhatIfResult {
    /// The document.
    pub what_if: WhatIf,
    /// The result of writing the requested folder; `Ok` if none was requested.
    pub written: Result<(), flashscope_result::Error>,
}

impl WhatIfResult {
    /// Checks that the answer is complete and saved.
    ///
    /// # Errors
    /// If the simulations were interrupted, the answer could not be written, or none of its
    /// variants can be simulated.
    pub fn outcome(self) -> Result<(), Failure> {
        self.written?;
        let all = self.what_if.variants.len();
        if self.what_if.status == WhatIfStatus::Unfinished {
            let done = self.what_if.variants.iter().filter(|one| one.status.is_some()).count();
            return Err(interrupted(format_args!(
                "{done} of {all} variants were simulated before the interruption"
            )));
        }
        if self.what_if.count(RowStatus::Done) > 0 {
            return Ok(());
        }
        let first = self.what_if.variants.into_iter().next().and_then(|variant| variant.reason);
        let first = first.unwrap_or_default();
        Err(usage(anyhow!(
            "none of the {all} variants can be simulated; the error of the first: {first}"
        )))
    }
}

/// Answers a question, and writes the answer to a folder if one is requested.
///
/// Setting `stop` ends the simulations; the answer keeps the rows so far.
///
/// # Errors
/// If the question is invalid. [`WhatIfResult::outcome`] reports an incomplete answer.
pub fn what_if(
    args: &WhatIfArgs,
    stop: &AtomicBool,
    rows: &mut dyn RowSink,
) -> Result<WhatIfResult, Failure> {
    let resources = Resources { jobs: args.jobs.count(), memory: args.memory.budget(), stop };
    let question = args.question(&resources.memory)?;
    let folder =
        args.output.folder.as_deref().map(|path| WhatIfFolder::create(path).map_err(not_made));
    let mut folder = folder.transpose()?;
    let what_if = answer(&question, &resources, rows);
    let written = folder.as_mut().map_or(Ok(()), |folder| folder.write(&what_if));
    Ok(WhatIfResult { what_if, written })
}

/// Answers a question. The answer does not depend on the resources.
///
/// If the simulations are stopped, the answer has the rows so far.
pub fn answer(question: &Question, resources: &Resources<'_>, rows: &mut dyn RowSink) -> WhatIf {
    let mut answer = Answer::to(question);
    for (nth, request) in question.requests().iter().enumerate() {
        // Notes about the trace are shown once.
        let predicted = match nth {
            0 => predict(request, resources, rows),
            _ => predict(request, resources, &mut WithoutNotes(rows)),
        };
        if resources.is_stopped() {
            return answer.finish();
        }
        answer.predicted(nth, predicted);
        rows.predicted(answer.so_far(), nth);
    }
    let trials = question.trials();
    let (mut done, total) = (0, Some(trials.len() as u64));
    let names: Vec<String> = answer.so_far().all().map(|one| one.name.clone()).collect();
    let mut each = |row: &Row| {
        done += 1;
        rows.show(&Step::of("simulating", done, total, Unit::Count));
        if let Some(&value) = row.numbers.get("latency_ns.mean") {
            rows.found(&PartialResult {
                chart: "Mean response time of each simulation",
                x_axis: "repeat",
                series: &names[row.point as usize],
                x: f64::from(row.repeat) + 1.0,
                what: &format!("{}: mean response time", names[row.point as usize]),
                value,
                unit: EvidenceUnit::Nanoseconds,
            });
        }
        answer.simulated(row, &mut |so_far, nth| rows.simulated(so_far, nth));
    };
    Runner::new(resources.clone(), &mut ()).passing(&mut each).run(&trials);
    answer.finish().with_conclusions()
}

/// Returns the prediction of a model, or the reason why there is none.
fn predict(
    request: &SimulationRequest,
    resources: &Resources<'_>,
    sink: &mut dyn Progress,
) -> Result<ClosedForm, String> {
    let SimulationRequest { drive, work } = request;
    let request = PredictionRequest::of(drive, &work.workload, work.seed, resources.memory.clone());
    let prediction = request.make((resources.stop, sink));
    prediction.map(|prediction| closed_form(&prediction)).map_err(|failure| failure.message())
}

fn closed_form(Prediction { report, numbers, .. }: &Prediction) -> ClosedForm {
    let PredictionReport { model, validation, not_modelled, write_amplification, .. } = report;
    let known = [
        (Quantity::BytesPerSecond, Some(report.bytes_per_second)),
        (Quantity::WriteAmplification, *write_amplification),
        (Quantity::ErasesPerGib, Some(numbers.erases_per_gib())),
        (Quantity::Endurance, numbers.endurance()),
    ];
    let expected = known.into_iter().filter_map(|(quantity, predicted)| {
        let PredictedValue { value, interval } = predicted?;
        let (low, high) = interval.map(|ends| (ends.low, ends.high)).unzip();
        Some(ModelEstimate { quantity, value, low, high, relative: None })
    });
    ClosedForm {
        model: model.clone(),
        level: validation.level,
        expected: expected.collect(),
        not_modelled: not_modelled.clone(),
        not_compared: None,
    }
}

/// A sink that passes progress on, but drops the notes about a trace, which each variant would
/// repeat.
struct WithoutNotes<'a>(&'a mut dyn Progress);

impl Progress for WithoutNotes<'_> {
    fn show(&mut self, step: &Step<'_>) {
        self.0.show(step);
    }

    fn note(&mut self, _text: &str) {}

    fn found(&mut self, result: &PartialResult<'_>) {
        self.0.found(result);
    }
}
