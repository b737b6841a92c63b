//! Results of fio: the JSON of `--output-format=json+`, and logs of IOs or of windows.

mod files;
mod log;
mod options;
mod windows;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use files::LogFiles;
use flashscope_block::{Nanos, Op, Record};
use flashscope_document::manifest::ImportNotes;
use log::Meaning;
use options::{JobPattern, Options};
use serde::Deserialize;
use windows::Totals;

/// The output of fio.
#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    timestamp: i64,
    #[serde(rename = "global options", default)]
    global: Options,
    jobs: Vec<OutputJob>,
}

#[derive(Deserialize)]
struct OutputJob {
    jobname: String,
    groupid: u32,
    error: i64,
    #[serde(rename = "job options", default)]
    options: Options,
    read: OutputIos,
    write: OutputIos,
}

#[derive(Deserialize)]
struct OutputIos {
    total_ios: u64,
    lat_ns: OutputLatency,
}

#[derive(Deserialize)]
struct OutputLatency {
    mean: f64,
}

/// A measurement by fio.
pub(in crate::import) struct Fio {
    pub version: String,
    /// The start, in seconds since 1970.
    pub started: i64,
    pub file: String,
    pub engine: String,
    pub jobs: Vec<Job>,
}

/// A job, with its clones.
pub(in crate::import) struct Job {
    pub name: String,
    /// The IOs, as the options describe them.
    pub pattern: JobPattern,
    /// The number of processes.
    processes: u32,
    logs: Vec<LogFiles>,
    /// Reads and writes, as fio counts them.
    totals: [Totals; 2],
}

/// The largest accepted relative difference between the mean latency of a log of single IOs and
/// that of the JSON.
const SAME_MEAN: f64 = 1e-3;

/// Reads the JSON at `path`, and finds the logs in `folder`.
///
/// # Errors
/// If the file is not fio's JSON, or has an option or a value that flashscope does not support.
pub(super) fn read(path: &Path, folder: &Path) -> Result<Fio> {
    let place = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(place)?;
    // Warnings of fio may precede the JSON.
    let json = text.find('{').map_or(&text[..], |start| &text[start..]);
    let output: Output = serde_json::from_str(json)
        .with_context(|| format!("{} is not the output of fio --output-format=json+", place()))?;
    if !output.version.starts_with("fio-3.") {
        bail!("{} is from {}, and only fio 3 can be imported", place(), output.version);
    }
    let option = |job: &OutputJob, name: &str| {
        job.options.get(name).or_else(|| output.global.get(name)).cloned()
    };
    let mut jobs: Vec<(u32, Job)> = Vec::new();
    let (mut number, mut files, mut engines) = (1, Vec::new(), Vec::new());
    for job in &output.jobs {
        let name = &job.jobname;
        if job.error != 0 {
            bail!("{}: job `{name}` failed with error {}", place(), job.error);
        }
        let merged = output.global.clone().into_iter().chain(job.options.clone()).collect();
        let pattern = JobPattern::read(name, &merged).with_context(place)?;
        let is_grouped = merged.contains_key("group_reporting");
        let count = if is_grouped { u32::from(pattern.clones) } else { 1 };
        let logs = (number..number + count).map(|n| LogFiles::find(folder, name, &merged, n));
        let mut logs = logs.collect::<Result<Vec<_>>>().with_context(place)?;
        // Processes that share a log all name the same file.
        logs.dedup();
        number += count;
        files.extend(option(job, "filename"));
        engines.extend(option(job, "ioengine"));
        let totals = [(Op::Read, &job.read), (Op::Write, &job.write)].map(|(op, of)| Totals {
            op,
            ios: of.total_ios,
            mean_ns: of.lat_ns.mean,
        });
        let found = Job { name: name.clone(), pattern, processes: count, logs, totals };
        match jobs.last_mut() {
            Some((group, clone)) if *group == job.groupid => clone.merge(found)?,
            _ => jobs.push((job.groupid, found)),
        }
    }
    files.dedup();
    engines.dedup();
    let [file] = &files[..] else {
        bail!("{}: all jobs must name the same --filename, and these name {files:?}", place());
    };
    Ok(Fio {
        version: output.version,
        started: output.timestamp,
        file: file.clone(),
        engine: if engines.is_empty() { "psync".into() } else { engines.join(", ") },
        jobs: jobs.into_iter().map(|(_, job)| job).collect(),
    })
}

impl Job {
    /// Adds a clone of this job that ran at the same time.
    fn merge(&mut self, clone: Job) -> Result<()> {
        if clone.pattern != self.pattern {
            bail!(
                "the jobs `{}` and `{}` ran at the same time with different options: separate them with `stonewall`",
                self.name,
                clone.name
            );
        }
        self.logs.extend(clone.logs);
        self.logs.dedup();
        self.processes += clone.processes;
        for (ours, theirs) in self.totals.iter_mut().zip(clone.totals) {
            ours.add(theirs);
        }
        Ok(())
    }

    fn ios(&self) -> u64 {
        self.totals.iter().map(|totals| totals.ios).sum()
    }

    fn sum_ns(&self) -> f64 {
        self.totals.iter().map(Totals::sum_ns).sum()
    }

    /// Reads the IOs of the job, in the order of their completion, and checks them against the
    /// JSON. Fails once `stop` is set.
    pub(super) fn records(&self, stop: &AtomicBool) -> Result<Vec<Record>> {
        let mut records = match self.pattern.window_ms {
            Some(window) => self.windows(window, stop)?,
            None => self.single_ios(stop)?,
        };
        let name = &self.name;
        if records.is_empty() {
            bail!("job `{name}` has no IO");
        }
        records.sort_by_key(|record| record.submitted + record.latency);
        Ok(records)
    }

    fn windows(&self, window_ms: u64, stop: &AtomicBool) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for totals in self.totals {
            let found = windows::records(&self.logs, window_ms, totals, self.pattern.size, stop);
            records.extend(found.with_context(|| format!("job `{}`", self.name))?);
        }
        Ok(records)
    }

    fn single_ios(&self, stop: &AtomicBool) -> Result<Vec<Record>> {
        let (name, mut records) = (&self.name, Vec::new());
        let depth = if self.logs.len() == 1 { self.depth() } else { self.pattern.depth };
        for (stream, files) in (0..).zip(&self.logs) {
            let (log, meaning) = match (&files.latency, &files.bandwidth) {
                (Some(log), _) => (log, Meaning::Latency),
                (None, Some(log)) => (log, Meaning::Bandwidth),
                (None, None) => bail!(
                    "job `{name}` has a log of IOs per second alone, which states no latency: run fio with --write_lat_log={name}"
                ),
            };
            log::read(log, meaning, depth, stream, stop, &mut |record| records.push(record))?;
        }
        let count = records.len() as u64;
        if count != self.ios() {
            bail!(
                "the logs of job `{name}` have {count} IOs, and the JSON has {}: they belong to different runs",
                self.ios()
            );
        }
        if self.difference(&records) > SAME_MEAN && self.has_total_latencies() {
            bail!(
                "the mean latency in the logs of job `{name}` is not that of the JSON: they belong to different runs"
            );
        }
        Ok(records)
    }

    /// Returns true if the logs have the latencies whose mean the JSON states.
    fn has_total_latencies(&self) -> bool {
        self.logs.iter().all(|files| files.latency.is_some() && !files.is_completion)
    }

    /// Returns the relative difference between the mean latency of the records and that of the
    /// JSON.
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 ns")]
    fn difference(&self, records: &[Record]) -> f64 {
        let sum: f64 = records.iter().map(|record| record.latency.0 as f64).sum();
        (sum - self.sum_ns()).abs() / self.sum_ns().max(f64::MIN_POSITIVE)
    }

    /// Returns the window over which the logs of the job average, and the limitations of its
    /// records.
    pub(super) fn origin(&self, records: &[Record]) -> ImportNotes {
        let (name, window) = (&self.name, self.pattern.window_ms);
        let mut notes = Vec::new();
        if let Some(ms) = window {
            notes.push(format!(
                "The logs of `{name}` have means over {}: each IO has the mean latency of its window, and percentiles describe windows. \
                 The mean latency differs from fio's by {:.1} %.",
                Nanos::millis(ms),
                100.0 * self.difference(records)
            ));
        }
        if self.logs.iter().any(|files| files.is_completion) {
            notes
                .push(format!("The latencies of `{name}` are fio's clat, from the submission on."));
        }
        if self.logs.iter().any(|files| files.latency.is_none()) {
            let source = if window.is_some() { "rates and mean" } else { "bandwidth of each IO" };
            notes.push(format!(
                "The latencies of `{name}` follow from the {source}: fio logged none."
            ));
        }
        if records.iter().all(|record| record.offset.0 == 0) {
            notes.push(format!(
                "The logs of `{name}` have no offsets: all of its IOs are recorded at offset 0. fio writes offsets with --log_offset=1 and --log_avg_msec=0."
            ));
        }
        ImportNotes { window_ns: window.map(Nanos::millis), notes }
    }

    /// Returns the maximum number of IOs in flight, over all clones together.
    pub(super) fn depth(&self) -> u32 {
        self.pattern.depth.saturating_mul(self.processes)
    }
}
