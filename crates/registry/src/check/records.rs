use std::path::Path;

use flashscope_block::{Op, Record};
use flashscope_document::probe::{ProbeReport, RunSummary};
use flashscope_result::rows;
use flashscope_serve::Problem;

use super::{CheckResult, check_equal, ensure, without_path};

/// Checks that the records of a probe in `folder` agree with the runs in its report.
pub(crate) fn check_records(folder: &Path, report: &ProbeReport) -> Result<(), Problem> {
    for run in report.steps.iter().flat_map(|step| &step.runs) {
        let records = rows(folder, run.run).map_err(|error| without_path(folder, &error))?;
        let mut totals = RunTotals::default();
        records
            .for_each(|record| totals.add(record, report))
            .map_err(|error| without_path(folder, &error))?;
        totals.check(run).map_err(Problem::damaged)?;
    }
    Ok(())
}

/// Totals over the records of a run.
#[derive(Default)]
struct RunTotals {
    ios: u64,
    written: u128,
    ended_ns: u128,
    /// True if an IO changed the drive although the budget allows only reads.
    changes: bool,
    /// True if an IO reached past the end of the drive.
    beyond: bool,
}

impl RunTotals {
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

    fn check(&self, run: &RunSummary) -> CheckResult {
        let number = run.run;
        check_equal(&format!("`ios` of run {number}"), run.ios, self.ios.into(), "its records")?;
        let written = run.bytes_written.0;
        check_equal(
            &format!("`bytes_written` of run {number}"),
            written,
            self.written,
            "its records",
        )?;
        ensure(self.ended_ns <= run.took_ns.0.into(), || {
            let (ended, took) = (self.ended_ns, run.took_ns.0);
            format!("run {number} took {took} ns, but its records last {ended} ns")
        })?;
        ensure(!self.beyond, || format!("run {number} has an IO beyond the end of the drive"))?;
        ensure(!self.changes, || {
            format!("run {number} changes the drive, but the budget allows only reads")
        })
    }
}
