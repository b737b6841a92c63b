//! Checks that the measurements are of a single drive and are enough for a fit.

use super::knobs::KNOBS;
use super::{FitError, MeasuredResult, MeasuredRun};
use flashscope_document::twin::Twin;

/// Limits above which two results of the same run contradict each other: a number of standard
/// errors, and a relative difference. Both must be exceeded.
const APART: (f64, f64) = (6.0, 0.25);

/// Returns an error if the results name different drives, or if most runs that they share took
/// different times.
pub(super) fn one_drive(measured: &[MeasuredResult]) -> Result<(), FitError> {
    let Some((first, others)) = measured.split_first() else { return Ok(()) };
    let identity = |one: &MeasuredResult| {
        let device = &one.manifest.device;
        (device.model.clone(), device.serial.clone(), device.capacity)
    };
    for other in others {
        if identity(first) != identity(other) {
            let who = |one: &MeasuredResult| {
                let device = &one.manifest.device;
                let model = device.model.as_deref().unwrap_or(&device.name);
                format!("{} is of `{model}`, {}", one.name, device.capacity)
            };
            return Err(FitError::Contradiction(format!(
                "{}, but {}: fit a separate twin for each drive",
                who(first),
                who(other)
            )));
        }
    }
    for (nth, one) in measured.iter().enumerate() {
        for other in &measured[nth + 1..] {
            same_answers(one, other)?;
        }
    }
    Ok(())
}

fn same_answers(one: &MeasuredResult, other: &MeasuredResult) -> Result<(), FitError> {
    let median = |run: &MeasuredRun| (run.numbers[2], run.errors[2]);
    let differ = |a: &MeasuredRun, b: &MeasuredRun| {
        let ((of_a, error_a), (of_b, error_b)) = (median(a), median(b));
        let off = (of_a / of_b).ln().abs();
        off > APART.1 && off > APART.0 * error_a.hypot(error_b)
    };
    let mut same = 0;
    let mut apart = Vec::new();
    for run in &one.runs {
        for twin in other.runs.iter().filter(|twin| twin.title == run.title) {
            same += 1;
            if differ(run, twin) {
                apart.push(run.title.as_str());
            }
        }
    }
    if apart.len() * 2 <= same {
        return Ok(());
    }
    Err(FitError::Contradiction(format!(
        "of {same} runs that are in both {} and {}, {} differ in their times, such as {}: are these results of two \
         drives, or of two states of one drive? Measure both again, from the same --state",
        one.name,
        other.name,
        apart.len(),
        apart[0]
    )))
}

/// Returns an error if there are fewer runs than times to fit.
pub(super) fn enough(measured: &[MeasuredResult]) -> Result<(), FitError> {
    let runs: usize = measured.iter().map(|one| one.runs.len()).sum();
    // The number of times that a fit can adjust.
    let least = KNOBS.len();
    if runs >= least {
        return Ok(());
    }
    Err(FitError::TooFew {
        what: format!("{runs} runs to fit {least} times of a drive"),
        needed: "measure reads and writes of several sizes: `flashscope bench DRIVE --only granularity,locality,\
                 partitioning`"
            .into(),
    })
}

/// Returns advice on what to measure next, for the fields that the sources of a twin do not
/// determine.
pub(super) fn next(twin: &Twin) -> Vec<String> {
    let mut next = Vec::new();
    for time in twin.times.iter().filter(|time| !time.is_determined) {
        let what = match time.field.as_str() {
            "flash.page_program" | "slc.page_program" => "writes: granularity of SW and RW",
            "flash.block_erase" => {
                "random writes for longer than the drive has free blocks: locality with a \
                                    larger --max-ios"
            }
            "groups.switch_time" => "random reads over the whole drive: locality of RR",
            _ => "reads of all sizes: granularity of SR and RR",
        };
        next.push(format!("{}: {what}", time.field));
    }
    for choice in twin.choices.iter().filter(|choice| !choice.as_well.is_empty()) {
        let what = match choice.field.split('.').next().unwrap_or_default() {
            "cleaning" | "over_provisioning" | "background_cleaning" => {
                "a fill sweep, or `flashscope bench DRIVE --grid`"
            }
            "cache" => "micro-benchmarks order, pause and bursts",
            "interface" | "stripe" | "packages_per_pool" => {
                "micro-benchmarks alignment and parallelism"
            }
            _ => "`flashscope probe DRIVE`",
        };
        next.push(format!("{} (also fits: {}): {what}", choice.field, choice.as_well.join(", ")));
    }
    next
}
