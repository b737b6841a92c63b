//! The files of fio's logs.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::options::Options;

/// The logs of a process of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogFiles {
    /// A log of latencies: `lat`, or `clat` if `lat` does not exist. If no log exists, the path of
    /// `lat`.
    pub latency: Option<PathBuf>,
    /// True if the latencies count from the submission (`clat`).
    pub is_completion: bool,
    /// A log of bandwidths.
    pub bandwidth: Option<PathBuf>,
    /// A log of IOs per second.
    pub iops: Option<PathBuf>,
}

/// The options that make fio write logs.
const LOGS: [&str; 3] = ["write_lat_log", "write_bw_log", "write_iops_log"];

impl LogFiles {
    /// Finds the logs of the process `number` of job `name`.
    ///
    /// # Errors
    /// If the options of the job make fio write no logs, or only logs of rates, which are missing.
    pub(super) fn find(
        folder: &Path,
        name: &str,
        options: &Options,
        number: u32,
    ) -> Result<LogFiles> {
        if LOGS.iter().all(|log| !options.contains_key(*log)) {
            return Err(anyhow!(
                "job `{name}` has no log: run fio with --write_lat_log={name} --log_avg_msec=0 --log_offset=1"
            ));
        }
        let is_shared = options.get("per_job_logs").is_some_and(|value| value == "0");
        let path = |option: &str, kind: &str| {
            let prefix = options.get(option)?;
            // Without a name, fio uses the name of the job.
            let prefix = if prefix.is_empty() { name } else { prefix };
            let base = Path::new(prefix).file_name().unwrap_or_default().to_string_lossy();
            Some(folder.join(match is_shared {
                true => format!("{base}_{kind}.log"),
                false => format!("{base}_{kind}.{number}.log"),
            }))
        };
        let existing = |path: Option<PathBuf>| path.filter(|path| path.exists());
        let [lat, clat] = ["lat", "clat"].map(|kind| path("write_lat_log", kind));
        let is_completion = existing(lat.clone()).is_none() && existing(clat.clone()).is_some();
        let bandwidth = existing(path("write_bw_log", "bw"));
        let iops = existing(path("write_iops_log", "iops"));
        // If no log exists, the reader of the missing log of latencies fails with its path.
        let missing = lat.clone().filter(|_| bandwidth.is_none() && iops.is_none());
        let latency = existing(lat).or(existing(clat)).or(missing);
        let nothing = latency.is_none() && bandwidth.is_none() && iops.is_none();
        if nothing {
            let expected = path("write_bw_log", "bw").or(path("write_iops_log", "iops"));
            let expected = expected.unwrap_or_default();
            return Err(anyhow!(
                "{} does not exist: name the folder of the logs with --logs",
                expected.display()
            ));
        }
        Ok(LogFiles { latency, is_completion, bandwidth, iops })
    }
}
