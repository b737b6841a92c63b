use std::collections::BTreeSet;

use flashscope_block::{Bytes, DeviceKind, Nanos};
use flashscope_probe::{
    Answer, Finding, Knowledge, PARAMETERS, PROBES, Parameter, ProbeReport, RunSummary, Spec,
    Stated, Step, Unit,
};

use super::{Checked, holds, same, sum};

/// Whether all of a probe that follows from something in it does, but for its records.
pub(crate) fn probe(report: &ProbeReport) -> Checked {
    holds(report.drive.kind != DeviceKind::Null, || "`drive` is none that can be probed".into())?;
    spent(report)?;
    let mut steps: Vec<&Step> = Vec::new();
    for step in &report.steps {
        experiment(step, &steps)?;
        steps.push(step);
    }
    findings(report)
}

/// What was used up follows from the runs, which count from 1.
fn spent(report: &ProbeReport) -> Checked {
    let runs: Vec<&RunSummary> = report.steps.iter().flat_map(|step| &step.runs).collect();
    let counted = runs.iter().zip(1..).all(|(run, number)| run.run == number);
    holds(counted, || "the runs of `steps` are not counted from 1".into())?;
    let written = sum(runs.iter().map(|run| &run.bytes_written.0));
    let Bytes(said) = report.used.bytes_written;
    same("`used.bytes_written`", said, written, "the runs")?;
    let Bytes(most) = report.budget.bytes_written;
    holds(said <= most, || format!("{said} bytes were written, and the budget allowed {most}"))?;
    let took = sum(runs.iter().map(|run| &run.took_ns.0));
    let Some(Nanos(used)) = report.used.time_ns else {
        return Err("`used.time_ns` is absent".into());
    };
    holds(took <= u128::from(used), || {
        format!("the runs took {took} ns, and `used.time_ns` is {used}")
    })
}

fn experiment(step: &Step, before: &[&Step]) -> Checked {
    let name = &step.probe;
    let known = PROBES.iter().find(|probe| probe.name == name);
    let known = known.ok_or_else(|| format!("there is no probe `{name}`"))?;
    let attempts = before.iter().filter(|step| step.probe == *name).count();
    same(
        &format!("`attempt` of `{name}`"),
        step.attempt.into(),
        attempts as u128,
        "the steps before",
    )?;
    match step.found.iter().find(|found| !known.finds.contains(found)) {
        Some(found) => Err(format!("the probe `{name}` finds no `{}`", found.name())),
        None => Ok(()),
    }
}

/// What is stated: once of each parameter, and what its runs and steps can have shown.
fn findings(report: &ProbeReport) -> Checked {
    let stated = || report.findings.iter().map(|stated| &stated.finding);
    let parameters: Vec<Parameter> = stated().map(|finding| finding.parameter).collect();
    let all: Vec<Parameter> = PARAMETERS.iter().map(|spec| spec.parameter).collect();
    holds(parameters == all, || {
        format!(
            "`findings` has something about each of the {} parameters, in their order",
            all.len()
        )
    })?;
    let runs: BTreeSet<u32> =
        report.steps.iter().flat_map(|step| &step.runs).map(|run| run.run).collect();
    let found: BTreeSet<Parameter> =
        report.steps.iter().flat_map(|step| step.found.iter().copied()).collect();
    let mut knowledge = Knowledge::default();
    for Stated { finding, signals, .. } in &report.findings {
        let name = finding.parameter.name();
        answer(finding)?;
        holds(signals.iter().all(|place| *place < report.signals.len()), || {
            format!("`{name}` is shown by a signal that is not among the {}", report.signals.len())
        })?;
        if let Some(run) = finding.runs.iter().find(|run| !runs.contains(run)) {
            return Err(format!("`{name}` is shown by run {run}, which there is none of"));
        }
        holds(!finding.is_known() || found.contains(&finding.parameter), || {
            format!("`{name}` is known, and no step found it")
        })?;
        holds(!finding.is_known() || !finding.runs.is_empty(), || {
            format!("`{name}` is known, and no run shows it")
        })?;
        knowledge.take(finding.clone());
    }
    let Some(medium) = knowledge.class(Parameter::Medium).filter(|medium| *medium != "flash")
    else {
        return Ok(());
    };
    let mut others = stated().filter(|finding| finding.parameter != Parameter::Medium);
    match others.find(|finding| finding.is_known()) {
        Some(other) => Err(format!(
            "the medium is {medium}, which is no flash, and yet `{}` is known",
            other.parameter.name()
        )),
        None => Ok(()),
    }
}

/// An answer is of the kind of its parameter, and its probability is one.
fn answer(finding: &Finding) -> Checked {
    let Spec { name, unit, classes, .. } = finding.parameter.spec();
    let probability = finding.probability;
    holds((0.0..=1.0).contains(&probability), || {
        format!("the probability of `{name}` is {probability}, which is not from 0 to 1")
    })?;
    match &finding.answer {
        Answer::Unknown { .. } => holds(probability == 0.0, || {
            format!("`{name}` is not known, with a probability of {probability}")
        }),
        Answer::Absent => Ok(()),
        Answer::Class { class } => holds(classes.contains(&class.as_str()), || {
            format!("`{name}` is `{class}`, which it cannot be: {}", expected(*unit, classes))
        }),
        Answer::Value { value, low, high } => {
            holds(*unit != Unit::Class, || {
                format!("`{name}` is {value}, which it cannot be: {}", expected(*unit, classes))
            })?;
            let most = if *unit == Unit::Share { 1.0 } else { f64::MAX };
            holds(0.0 <= *low && low <= value && value <= high && *high <= most, || {
                format!("`{name}` is {value}, from {low} to {high}: {}", expected(*unit, classes))
            })
        }
    }
}

/// What the answers of a parameter are.
fn expected(unit: Unit, classes: &[&str]) -> String {
    match unit {
        Unit::Class => format!("it is one of {}", classes.join(", ")),
        Unit::Share => "it is a share, 0 to 1, within its interval".into(),
        Unit::Bytes | Unit::Nanoseconds | Unit::Count => {
            "it is a number, not below 0, within its interval".into()
        }
    }
}
