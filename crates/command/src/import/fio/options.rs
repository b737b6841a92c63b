//! The options of fio's jobs.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use flashscope_block::{Bytes, Op};
use flashscope_workload::pattern::Address;

use crate::fio::notation::bytes;

/// The options of a job, by name.
pub(super) type Options = BTreeMap<String, String>;

/// Options that do not change the meaning of the records of a job.
const WITHOUT_EFFECT: &[&str] = &[
    "allrandrepeat",
    "buffer_compress_percentage",
    "buffer_pattern",
    "buffered",
    "clat_percentiles",
    "cpumask",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_on_open",
    "create_serialize",
    "description",
    "direct",
    "directory",
    "end_fsync",
    "exitall",
    "fallocate",
    "file_service_type",
    "filename",
    "filesize",
    "fixedbufs",
    "force_async",
    "fsync_on_close",
    "group_reporting",
    "hipri",
    "invalidate",
    "io_size",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "ioengine",
    "iomem",
    "lat_percentiles",
    "log_compression",
    "log_entries",
    "log_max_value",
    "log_offset",
    "log_prio",
    "loops",
    "name",
    "nice",
    "nonvectored",
    "norandommap",
    "nrfiles",
    "number_ios",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "offset",
    "overwrite",
    "percentile_list",
    "prio",
    "prioclass",
    "ramp_time",
    "random_generator",
    "randrepeat",
    "randseed",
    "refill_buffers",
    "registerfiles",
    "runtime",
    "scramble_buffers",
    "size",
    "softrandommap",
    "sqthread_poll",
    "startdelay",
    "stonewall",
    "thread",
    "time_based",
    "unlink",
    "userspace_reap",
    "wait_for_previous",
    "write_bw_log",
    "write_iops_log",
    "write_lat_log",
    "zero_buffers",
];

/// Options that the import reads, with fio's other names for them.
const READ: &[(&str, &[&str])] = &[
    ("rw", &["readwrite"]),
    ("bs", &["blocksize"]),
    ("iodepth", &[]),
    ("numjobs", &[]),
    ("rwmixread", &[]),
    ("rwmixwrite", &[]),
    ("log_avg_msec", &[]),
    ("random_distribution", &[]),
    ("per_job_logs", &[]),
];

/// The IOs of a job, as its options describe them.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::import) struct JobPattern {
    pub(in crate::import) op: Op,
    /// The percentage of reads: 0 or 100, unless the job mixes reads and writes.
    pub(in crate::import) reads_percent: u8,
    pub(in crate::import) address: Address,
    pub(in crate::import) size: Bytes,
    pub(super) depth: u32,
    pub(super) clones: u16,
    /// The end of the space that the job may use, if the options state it in bytes.
    pub(in crate::import) end: Option<Bytes>,
    /// The window over which the logs average.
    pub(super) window_ms: Option<u64>,
}

impl JobPattern {
    /// Reads the options of job `name`.
    pub(super) fn read(name: &str, options: &Options) -> Result<JobPattern> {
        for option in options.keys() {
            let is_read = READ.iter().any(|(known, others)| {
                known == option || others.iter().any(|other| other == option)
            });
            if !is_read && !WITHOUT_EFFECT.contains(&option.as_str()) {
                bail!("job `{name}` has the option `{option}`, which flashscope does not support");
            }
        }
        let get = |wanted: &str| {
            let (_, others) = READ.iter().find(|(known, _)| *known == wanted)?;
            let mut names = std::iter::once(&wanted).chain(*others);
            names.find_map(|name| options.get(*name)).map(String::as_str)
        };
        let unsupported = |option: &str, value: &str, reason: &str| {
            anyhow!("job `{name}` has `{option}={value}`: {reason}")
        };
        for (option, allowed, reason) in
            [("random_distribution", "random", "only uniformly random IOs can be imported")]
        {
            if let Some(value) = get(option).filter(|value| *value != allowed) {
                return Err(unsupported(option, value, reason));
            }
        }
        let rw = get("rw").unwrap_or("read");
        let (op, is_mixed, address) = match rw {
            "read" => (Op::Read, false, Address::Sequential),
            "write" => (Op::Write, false, Address::Sequential),
            "randread" => (Op::Read, false, Address::Random),
            "randwrite" => (Op::Write, false, Address::Random),
            "rw" | "readwrite" => (Op::Write, true, Address::Sequential),
            "randrw" => (Op::Write, true, Address::Random),
            _ => {
                let reason = "only reads, writes and their mixes can be imported";
                return Err(unsupported("rw", rw, reason));
            }
        };
        let number = |option: &str, default: u32| match get(option) {
            None => Ok(default),
            Some(value) => {
                let parsed =
                    value.parse().ok().filter(|number| *number > 0 || option.starts_with("rwmix"));
                parsed.ok_or_else(|| unsupported(option, value, "it must be a whole number"))
            }
        };
        let reads = match get("rwmixwrite") {
            Some(_) => 100_u32.saturating_sub(number("rwmixwrite", 50)?),
            None => number("rwmixread", 50)?,
        };
        let reads_percent = match (is_mixed, op) {
            (true, _) => u8::try_from(reads.min(100)).unwrap_or(100),
            (false, Op::Read) => 100,
            (false, _) => 0,
        };
        let size = get("bs").unwrap_or("4096");
        let size = bytes(size)
            .filter(|size| size.0 > 0)
            .ok_or_else(|| unsupported("bs", size, "only IOs of one size can be imported"))?;
        let clones = number("numjobs", 1)?;
        let clones = u16::try_from(clones)
            .map_err(|_| unsupported("numjobs", &clones.to_string(), "it must be at most 65535"))?;
        let window =
            match get("log_avg_msec") {
                None => None,
                Some(value) => {
                    let whole = value.parse::<u64>();
                    Some(whole.map_err(|_| {
                        unsupported("log_avg_msec", value, "it must be a whole number")
                    })?)
                }
            };
        let (depth, window_ms) = (number("iodepth", 1)?, window.filter(|ms| *ms > 0));
        let space = |option: &str| options.get(option).and_then(|value| bytes(value));
        let end = space("size").map(|size| space("offset").unwrap_or_default() + size);
        Ok(JobPattern { op, reads_percent, address, size, depth, clones, end, window_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[(&str, &str)]) -> Result<JobPattern> {
        let options = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        JobPattern::read("job", &options.collect())
    }

    #[test]
    fn options_describe_a_pattern() {
        let mixed =
            read(&[("rw", "randrw"), ("rwmixwrite", "30"), ("bs", "16k"), ("iodepth", "8")])
                .unwrap();
        assert_eq!((mixed.reads_percent, mixed.size, mixed.depth), (70, Bytes::kib(16), 8));
        assert_eq!(mixed.address, Address::Random);
        let plain = read(&[]).unwrap();
        assert_eq!((plain.op, plain.reads_percent, plain.size), (Op::Read, 100, Bytes(4096)));
        assert_eq!(
            read(&[("readwrite", "write"), ("blocksize", "1M")]).unwrap().size,
            Bytes::mib(1)
        );
    }

    #[test]
    fn options_without_a_meaning_here_are_refused_by_name() {
        for (option, value) in [
            ("zonemode", "zbd"),
            ("rate_iops", "100"),
            ("bssplit", "4k/50:8k/50"),
            ("bs", "4k,8k"),
            ("rw", "randtrim"),
            ("log_avg_msec", "often"),
            ("random_distribution", "zipf:1.1"),
            ("iodepth", "many"),
            ("thinktime", "5"),
        ] {
            let error = read(&[(option, value)]).unwrap_err().to_string();
            assert!(error.contains(&format!("`{option}")), "{error}");
        }
    }
}
