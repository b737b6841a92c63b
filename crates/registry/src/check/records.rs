use std::path::Path;

use flashscope_block::{Op, Record};
use flashscope_probe::{ProbeReport, RunSummary};
use flashscope_result::rows;
use flashscope_serve::Problem;

use super::{Checked, holds, same, without_path};

/// Whether the records of a probe in `folder` are those of its runs.
pub(crate) fn of_probe(folder: &Path, report: &ProbeReport) -> Result<(), Problem> {
    for run in report.steps.iter().flat_map(|step| &step.runs) {
        let records = rows(folder, run.run).map_err(|error| without_path(folder, &error))?;
        let mut seen = Seen::default();
        records
            .for_each(|record| seen.add(record, report))
            .map_err(|error| without_path(folder, &error))?;
        seen.check(run).map_err(Problem::damaged)?;
    }
    Ok(())
}

/// What the records of a run come to.
#[derive(Default)]
struct Seen {
    ios: u64,
    written: u128,
    ended_ns: u128,
    /// Whether something else was done than can be: a change of a drive that must only be read, or an IO
    /// beyond its end.
    changes: bool,
    beyond: bool,
}

impl Seen {
    fn add(&mut self, record: &Record, report: &ProbeReport) {
        self.ios += 1;
        if record.op == Op::Write {
            self.written += u128::from(record.len.0);
        }
        let end = u128::from(record.submitted.0) + u128::from(record.latency.0);
        self.ended_ns = self.ended_ns.max(end);
        self.changes |= record.op.modifies() && report.budget.bytes_written.0 == 0;
        let end = record.offset.0.checked_add(record.len.0);
        self.beyond |= end.is_none_or(|end| end > report.drive.capacity.0);
    }

    fn check(&self, run: &RunSummary) -> Checked {
        let number = run.run;
        same(&format!("`ios` of run {number}"), run.ios, self.ios.into(), "its records")?;
        let written = run.bytes_written.0;
        same(&format!("`bytes_written` of run {number}"), written, self.written, "its records")?;
        holds(self.ended_ns <= run.took_ns.0.into(), || {
            let (ended, took) = (self.ended_ns, run.took_ns.0);
            format!("run {number} took {took} ns, and {ended} by its records")
        })?;
        holds(!self.beyond, || format!("run {number} has an IO beyond the end of the drive"))?;
        holds(!self.changes, || {
            format!("run {number} changes a drive that must only be read, by the budget")
        })
    }
}
