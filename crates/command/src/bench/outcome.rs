//! Describes how a benchmark ended.

use anyhow::anyhow;
use flashscope_document::manifest::{
    Experiment, Manifest, MicroBenchmark, Progress, Run, Status, find_run,
};
use flashscope_measure::order;
use flashscope_result::ResultFolder;

use crate::{Failure, interrupted};

/// Advice about failed IOs.
pub(crate) const LOOK: &str = "Check the kernel's log (dmesg) and the drive's health \
                               (flashscope devices); cables and power fail more often than drives";

/// Checks that all runs of a plan were executed.
///
/// # Errors
/// If the benchmark was interrupted, or IO errors ended runs.
pub fn outcome(folder: &ResultFolder, manifest: &Manifest) -> Result<(), Failure> {
    if manifest.status == Status::Interrupted {
        return Err(interrupted(format_args!(
            "finished runs are kept; continue with `flashscope bench --resume {}`",
            folder.path().display()
        )));
    }
    let runs = order(&manifest.micro_benchmarks);
    let runs = runs.into_iter().filter_map(|id| find_run(&manifest.micro_benchmarks, id));
    let failed: Vec<_> =
        runs.filter(|(.., run)| matches!(run.progress, Progress::Failed { .. })).collect();
    let Some(first) = failed.first() else { return Ok(()) };
    let count = if failed.len() == 1 { "1 run".into() } else { format!("{} runs", failed.len()) };
    let what = describe(folder, *first)?;
    let left = manifest.runs().filter(|run| run.progress == Progress::Pending).count();
    let go_on = match manifest.status {
        Status::Failed if left > 0 => format!(
            ". {left} runs are left: once the drive works again, continue with `flashscope bench --resume {}`",
            folder.path().display()
        ),
        _ => String::new(),
    };
    Err(Failure::Failed(anyhow!("IO errors ended {count}, first {what}. {LOOK}{go_on}")))
}

/// Describes the failed run: its name, the failed IO, and the number of successful IOs before it.
fn describe(
    folder: &ResultFolder,
    (benchmark, experiment, run): (&MicroBenchmark, &Experiment, &Run),
) -> Result<String, Failure> {
    let Progress::Failed { ios, errors, error, offset_bytes, .. } = &run.progress else {
        return Ok(String::new());
    };
    let mut failed = None;
    folder.records(run)?.for_each(|record| {
        if record.result.is_err() && failed.is_none() {
            failed = Some(format!("a {} of {}", record.op, record.len));
        }
    })?;
    let what = failed.unwrap_or_else(|| "an IO".into());
    Ok(format!(
        "run {} ({} {}, {} = {}, repeat {}): {error} at {what} at offset {}, after {} successful IOs",
        run.id,
        benchmark.name,
        experiment.name,
        benchmark.parameter,
        run.value,
        run.repeat,
        offset_bytes.0,
        ios - errors
    ))
}
