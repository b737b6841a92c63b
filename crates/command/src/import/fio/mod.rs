//! Results of fio: the JSON of `--output-format=json+`, and logs of single IOs.

mod log;
mod options;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use flashscope_block::Record;
use options::{JobPattern, Options};
use serde::Deserialize;

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
    logs: Vec<PathBuf>,
    ios: u64,
    sum_ns: f64,
}

/// The largest relative difference between the mean latency of a log and that of the JSON.
const SAME_MEAN: f64 = 1e-3;

/// Reads the JSON at `path`, and finds the logs in `folder`.
///
/// # Errors
/// If the file is not fio's JSON, or has something that flashscope does not understand.
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
        let prefix = merged.get("write_lat_log").filter(|prefix| !prefix.is_empty());
        let prefix = prefix.ok_or_else(|| {
            anyhow!(
                "{}: job `{name}` has no log of single IOs: run fio with --write_lat_log={name} --log_avg_msec=0 --log_offset=1",
                place()
            )
        })?;
        let base = Path::new(prefix).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_grouped = merged.contains_key("group_reporting");
        let count = if is_grouped { u32::from(pattern.clones) } else { 1 };
        let logs = (number..number + count).map(|n| folder.join(format!("{base}_lat.{n}.log")));
        let logs: Vec<PathBuf> = logs.collect();
        number += count;
        files.extend(option(job, "filename"));
        engines.extend(option(job, "ioengine"));
        let of = |ios: &OutputIos| (ios.total_ios, ios.lat_ns.mean);
        let ((reads, read_mean), (writes, write_mean)) = (of(&job.read), of(&job.write));
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 IOs")]
        let sum_ns = reads as f64 * read_mean + writes as f64 * write_mean;
        let found = Job { name: name.clone(), pattern, logs, ios: reads + writes, sum_ns };
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
    /// Adds a clone, which ran at the same time.
    fn merge(&mut self, clone: Job) -> Result<()> {
        if clone.pattern != self.pattern {
            bail!(
                "the jobs `{}` and `{}` ran at the same time with different options: separate them with `stonewall`",
                self.name,
                clone.name
            );
        }
        self.logs.extend(clone.logs);
        self.ios += clone.ios;
        self.sum_ns += clone.sum_ns;
        Ok(())
    }

    /// Reads the IOs of the job, in the order of their completion, and checks them against the JSON.
    pub(super) fn records(&self) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for (stream, log) in (0..).zip(&self.logs) {
            log::read(log, self.pattern.depth, stream, &mut |record| records.push(record))?;
        }
        let name = &self.name;
        let count = records.len() as u64;
        if count != self.ios {
            bail!(
                "the logs of job `{name}` have {count} IOs, and the JSON has {}: they belong to different runs",
                self.ios
            );
        }
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 ns")]
        let sum: f64 = records.iter().map(|record| record.latency.0 as f64).sum();
        if (sum - self.sum_ns).abs() > SAME_MEAN * self.sum_ns {
            bail!(
                "the mean latency in the logs of job `{name}` is not that of the JSON: they belong to different runs"
            );
        }
        if records.is_empty() {
            bail!("job `{name}` has no IO");
        }
        records.sort_by_key(|record| record.submitted + record.latency);
        Ok(records)
    }

    /// Returns the IOs in flight of all clones.
    pub(super) fn depth(&self) -> u32 {
        let clones = u32::try_from(self.logs.len()).unwrap_or(u32::MAX);
        self.pattern.depth.saturating_mul(clones)
    }
}
