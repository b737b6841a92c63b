use std::collections::BTreeSet;

use flashscope_block::{Bytes, DeviceKind, Nanos};
use flashscope_document::probe::{
    Answer, Finding, PARAMETERS, Parameter, ProbeReport, RunSummary, Spec, StatedFinding, Step,
    Unit,
};
use flashscope_probe::{Knowledge, PROBES};

use super::{CheckResult, check_equal, ensure, sum};

/// Checks that a probe report is consistent with itself. Its records are checked by
/// [`check_records`](super::check_records).
pub(crate) fn check_probe(report: &ProbeReport) -> CheckResult {
    ensure(report.drive.kind != DeviceKind::Null, || {
        "`drive` cannot be probed: it is `null:`".into()
    })?;
    check_budget(report)?;
    let mut steps: Vec<&Step> = Vec::new();
    for step in &report.steps {
        check_step(step, &steps)?;
        steps.push(step);
    }
    check_findings(report)
}

/// Checks the consumed budget against the runs, which are numbered from 1.
fn check_budget(report: &ProbeReport) -> CheckResult {
    let runs: Vec<&RunSummary> = report.steps.iter().flat_map(|step| &step.runs).collect();
    let counted = runs.iter().zip(1..).all(|(run, number)| run.run == number);
    ensure(counted, || "the runs of `steps` must be numbered from 1 in their order".into())?;
    let written = sum(runs.iter().map(|run| &run.bytes_written.0));
    let Bytes(stated) = report.used.bytes_written;
    check_equal("`used.bytes_written`", stated, written, "the runs")?;
    let Bytes(most) = report.budget.bytes_written;
    ensure(stated <= most, || {
        format!("the probe wrote {stated} bytes, but its budget allowed {most}")
    })?;
    let took = sum(runs.iter().map(|run| &run.took_ns.0));
    let Some(Nanos(used)) = report.used.time_ns else {
        return Err("`used.time_ns` is absent".into());
    };
    ensure(took <= u128::from(used), || {
        format!("the runs took {took} ns, but `used.time_ns` is {used}")
    })
}

fn check_step(step: &Step, before: &[&Step]) -> CheckResult {
    let name = &step.probe;
    let known = PROBES.iter().find(|probe| probe.name == name);
    let known = known.ok_or_else(|| format!("there is no probe `{name}`"))?;
    let attempts = before.iter().filter(|step| step.probe == *name).count();
    check_equal(
        &format!("`attempt` of `{name}`"),
        step.attempt.into(),
        attempts as u128,
        "the steps before",
    )?;
    match step.found.iter().find(|found| !known.finds.contains(found)) {
        Some(found) => Err(format!("the probe `{name}` cannot determine `{}`", found.name())),
        None => Ok(()),
    }
}

/// Checks that each parameter has one finding, and that the named runs and steps support it.
fn check_findings(report: &ProbeReport) -> CheckResult {
    let stated = || report.findings.iter().map(|stated| &stated.finding);
    let parameters: Vec<Parameter> = stated().map(|finding| finding.parameter).collect();
    let all: Vec<Parameter> = PARAMETERS.iter().map(|spec| spec.parameter).collect();
    ensure(parameters == all, || {
        format!(
            "`findings` must have one entry for each of the {} parameters, in their order",
            all.len()
        )
    })?;
    let runs: BTreeSet<u32> =
        report.steps.iter().flat_map(|step| &step.runs).map(|run| run.run).collect();
    let found: BTreeSet<Parameter> =
        report.steps.iter().flat_map(|step| step.found.iter().copied()).collect();
    let mut knowledge = Knowledge::default();
    for StatedFinding { finding, signals, .. } in &report.findings {
        let name = finding.parameter.name();
        check_answer(finding)?;
        ensure(signals.iter().all(|place| *place < report.signals.len()), || {
            format!(
                "`{name}` names a signal that does not exist; there are {}",
                report.signals.len()
            )
        })?;
        if let Some(run) = finding.runs.iter().find(|run| !runs.contains(run)) {
            return Err(format!("`{name}` names run {run}, which does not exist"));
        }
        ensure(!finding.is_known() || found.contains(&finding.parameter), || {
            format!("`{name}` is known, but no step determined it")
        })?;
        ensure(!finding.is_known() || !finding.runs.is_empty(), || {
            format!("`{name}` is known, but no run shows it")
        })?;
        knowledge.add(finding.clone());
    }
    let Some(medium) = knowledge.class(Parameter::Medium).filter(|medium| *medium != "flash")
    else {
        return Ok(());
    };
    let mut others = stated().filter(|finding| finding.parameter != Parameter::Medium);
    match others.find(|finding| finding.is_known()) {
        Some(other) => Err(format!(
            "the medium is {medium}, not flash, but `{}` is known",
            other.parameter.name()
        )),
        None => Ok(()),
    }
}

/// Checks that an answer has the kind that its parameter requires, and a probability from 0 to 1.
fn check_answer(finding: &Finding) -> CheckResult {
    let Spec { name, unit, classes, .. } = finding.parameter.spec();
    let probability = finding.probability;
    ensure((0.0..=1.0).contains(&probability), || {
        format!("the probability of `{name}` is {probability}; it must be 0 to 1")
    })?;
    match &finding.answer {
        Answer::Unknown { .. } => ensure(probability == 0.0, || {
            format!("`{name}` is unknown, but its probability is {probability} instead of 0")
        }),
        Answer::Absent => Ok(()),
        Answer::Class { class } => ensure(classes.contains(&class.as_str()), || {
            format!("`{name}` is `{class}`; {}", expected(*unit, classes))
        }),
        Answer::Value { value, low, high } => {
            ensure(*unit != Unit::Class, || {
                format!("`{name}` is {value}; {}", expected(*unit, classes))
            })?;
            let most = if *unit == Unit::Share { 1.0 } else { f64::MAX };
            ensure(0.0 <= *low && low <= value && value <= high && *high <= most, || {
                format!("`{name}` is {value}, from {low} to {high}; {}", expected(*unit, classes))
            })
        }
    }
}

/// Returns a clause that names the valid answers of a parameter.
fn expected(unit: Unit, classes: &[&str]) -> String {
    match unit {
        Unit::Class => format!("it must be one of {}", classes.join(", ")),
        Unit::Share => "it must be a share from 0 to 1, within its interval".into(),
        Unit::Bytes | Unit::Nanoseconds | Unit::Count => {
            "it must be a number that is at least 0, within its interval".into()
        }
    }
}
