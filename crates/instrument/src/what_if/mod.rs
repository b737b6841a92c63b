//! `flashscope what-if`: what a workload would come to if something of the drive were otherwise.

mod args;

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use flashscope_result::sweep::{Row, RowStatus};
use flashscope_result::what_if::{
    ClosedForm, Expected, Quantity, WhatIf, WhatIfFolder, WhatIfStatus,
};
use flashscope_twin::predict::{Predicted, PredictionReport};
use flashscope_twin::simulate::Asked;
use flashscope_twin::sweep::Runner;
use flashscope_twin::what_if::{Answer, Question};

pub use self::args::{WhatIfArgs, repeats};
use crate::predict::{Made, Wanted};
use crate::{Failure, Onlooker, Step, Unit, interrupted, not_made, usage};

/// Who looks on while a question is answered, and is told of each row as it comes.
pub trait Watcher: Onlooker {
    /// What a model expects of variant `nth` (0 is the base) is known, or why none can say. All of these come
    /// before the first simulation, in order.
    fn predicted(&mut self, so_far: &WhatIf, nth: usize);

    /// The simulations of variant `nth` are done, or cannot be. They come in order, the base first.
    fn simulated(&mut self, so_far: &WhatIf, nth: usize);
}

/// A what-if, as far as it came.
pub struct Answered {
    /// What came of it.
    pub what_if: WhatIf,
    /// Whether it was written to the folder that was asked for.
    pub written: Result<(), flashscope_result::Error>,
}

impl Answered {
    /// Whether all that was asked for was done.
    ///
    /// # Errors
    /// Where it could not be written, was interrupted, or nothing of it can be simulated.
    pub fn outcome(self) -> Result<(), Failure> {
        self.written?;
        let all = self.what_if.variants.len();
        if self.what_if.status == WhatIfStatus::Unfinished {
            let done = self.what_if.variants.iter().filter(|one| one.status.is_some()).count();
            return Err(interrupted(format_args!(
                "{done} of {all} variants were simulated; what is shown came before"
            )));
        }
        if self.what_if.count(RowStatus::Done) > 0 {
            return Ok(());
        }
        let first = self.what_if.variants.into_iter().next().and_then(|variant| variant.reason);
        let first = first.unwrap_or_default();
        Err(usage(anyhow!("none of the {all} variants can be simulated; the first: {first}")))
    }
}

/// Answers what is asked for, and writes it where that is asked for.
///
/// Once `stop` is set it ends with what is known until then.
///
/// # Errors
/// What is wrong with the question. That not all of it was answered is said by [`Answered::outcome`].
pub fn what_if(
    args: &WhatIfArgs,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Answered, Failure> {
    args.memory.apply();
    let question = args.question()?;
    let folder = args.output.as_deref().map(|path| WhatIfFolder::create(path).map_err(not_made));
    let mut folder = folder.transpose()?;
    let what_if = answer(&question, args.jobs.count(), stop, watcher);
    let written = folder.as_mut().map_or(Ok(()), |folder| folder.write(&what_if));
    Ok(Answered { what_if, written })
}

/// Answers a question, with so many simulations at once: the answer does not depend on how many.
///
/// Once `stop` is set it ends with what is known until then.
pub fn answer(
    question: &Question,
    jobs: usize,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> WhatIf {
    let mut answer = Answer::to(question);
    for (nth, asked) in question.asked().iter().enumerate() {
        // What a trace is like is said once.
        let predicted = match nth {
            0 => predict(asked, stop, watcher),
            _ => predict(asked, stop, &mut WithoutNotes(watcher)),
        };
        if stop.load(Ordering::Relaxed) {
            return answer.finish();
        }
        answer.predicted(nth, predicted);
        watcher.predicted(answer.so_far(), nth);
    }
    let trials = question.trials();
    let (mut done, total) = (0, Some(trials.len() as u64));
    let mut each = |row: &Row| {
        done += 1;
        let (phase, unit) = ("simulating", Unit::Count);
        watcher.show(&Step { phase, now: "", done, total, unit });
        answer.simulated(row, &mut |so_far, nth| watcher.simulated(so_far, nth));
    };
    Runner::new(jobs, stop, &mut |_| {}).telling(&mut each).run(&trials);
    answer.finish()
}

/// What a model expects, or why none can say.
fn predict(
    asked: &Asked,
    stop: &AtomicBool,
    onlooker: &mut dyn Onlooker,
) -> Result<ClosedForm, String> {
    let (drive, work) = (&asked.drive, &asked.work);
    let made = Wanted::of(drive, &work.workload, work.seed).make((stop, onlooker));
    made.map(|made| closed_form(&made)).map_err(|failure| failure.message())
}

fn closed_form(Made { report, numbers, .. }: &Made) -> ClosedForm {
    let PredictionReport { model, validation, not_modelled, write_amplification, .. } = report;
    let known = [
        (Quantity::BytesPerSecond, Some(report.bytes_per_second)),
        (Quantity::WriteAmplification, *write_amplification),
        (Quantity::ErasesPerGib, Some(numbers.erases_per_gib())),
        (Quantity::Endurance, numbers.endurance()),
    ];
    let expected = known.into_iter().filter_map(|(quantity, predicted)| {
        let Predicted { value, interval } = predicted?;
        let (low, high) = interval.map(|ends| (ends.low, ends.high)).unzip();
        Some(Expected { quantity, value, low, high, relative: None })
    });
    ClosedForm {
        model: model.clone(),
        level: validation.level,
        expected: expected.collect(),
        not_modelled: not_modelled.clone(),
    }
}

/// Passes on how far something is, but not what a trace is like, which each variant would say again.
struct WithoutNotes<'a>(&'a mut dyn Onlooker);

impl Onlooker for WithoutNotes<'_> {
    fn show(&mut self, step: &Step<'_>) {
        self.0.show(step);
    }

    fn note(&mut self, _text: &str) {}
}
