//! The options of fio's jobs that flashscope supports or ignores.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use flashscope_block::suggestion;

use super::file::{FileOption, Section};

/// An option that flashscope supports.
pub struct JobOption {
    /// The name.
    pub name: &'static str,
    /// fio's aliases of the option.
    pub others: &'static [&'static str],
    /// The effect.
    pub summary: &'static str,
}

/// Options of fio that have no effect in flashscope, with the reason.
pub struct Harmless {
    /// The reason why the options have no effect.
    pub reason: &'static str,
    /// The names.
    pub names: &'static [&'static str],
}

const fn option(
    name: &'static str,
    others: &'static [&'static str],
    summary: &'static str,
) -> JobOption {
    JobOption { name, others, summary }
}

/// The options that flashscope supports, in the order of the docs.
pub const SUPPORTED: &[JobOption] = &[
    option(
        "rw",
        &["readwrite"],
        "`read`, `write`, `randread`, `randwrite`, `rw`, `randrw`, `trim` or `randtrim`",
    ),
    option("rwmixread", &[], "percentage of reads in `rw` and `randrw`, by default 50"),
    option(
        "rwmixwrite",
        &[],
        "percentage of writes; the later of `rwmixread` and `rwmixwrite` holds",
    ),
    option(
        "bs",
        &["blocksize"],
        "size of an IO, or sizes of reads, writes and trims: `4k`, `4k,64k`",
    ),
    option("bsrange", &["blocksize_range"], "sizes from a range, all equally frequent: `4k-16k`"),
    option("bssplit", &[], "sizes with their percentages: `4k/60:64k/40`"),
    option(
        "size",
        &[],
        "size of the target space, and the bytes of a job: `1g`, `50%` [default: to the end of the drive]",
    ),
    option("io_size", &["io_limit"], "bytes of a job, if they differ from `size`"),
    option("offset", &[], "start of the target space: `1g`, `50%`"),
    option("offset_increment", &[], "distance between the target spaces of the processes of a job"),
    option("number_ios", &[], "maximum number of IOs of a process"),
    option("loops", &[], "number of iterations of a job"),
    option(
        "runtime",
        &["timeout"],
        "time after which a process issues no IO, in seconds or with a unit",
    ),
    option("time_based", &[], "the job repeats until its `runtime` ends"),
    option("ramp_time", &[], "time at the start whose IOs are recorded, but not counted"),
    option("startdelay", &["start_delay"], "time before the first IO"),
    option(
        "iodepth",
        &[],
        "IOs that a process keeps in flight; 1 for engines that wait for each IO, as in fio",
    ),
    option("numjobs", &[], "number of processes of a job"),
    option(
        "thinktime",
        &[],
        "pause between IOs, in microseconds or with a unit, for an `iodepth` of 1",
    ),
    option("thinktime_blocks", &[], "number of IOs between two pauses"),
    option("fsync", &[], "number of writes after which a process flushes the drive"),
    option("fdatasync", &[], "like `fsync`, if `fsync` is not set or 0"),
    option("random_distribution", &[], "`random`, `zipf:EXPONENT` or `pareto:SHARE`"),
    option(
        "norandommap",
        &[],
        "random offsets are independent; without this option, each offset occurs once before any occurs again",
    ),
    option("randseed", &[], "seed of the job [default: derived from --seed]"),
    option(
        "stonewall",
        &["wait_for_previous"],
        "the job waits for the jobs before it; jobs without `stonewall` run at the same time",
    ),
    option("filename", &[], "the drive, unless the command names one"),
    option("directory", &[], "folder of a `filename` that is a file"),
    option(
        "ioengine",
        &[],
        "`psync`, `sync`, `vsync`, `pvsync`, `pvsync2`, `libaio`, `io_uring`, `io_uring_cmd` or `null`",
    ),
    option("hipri", &[], "with `io_uring`: wait for IOs by polling"),
    option("direct", &[], "`1` bypasses the page cache; fio's default is 0"),
    option("buffered", &[], "`0` bypasses the page cache, as `direct=1` does"),
];

/// The options that are accepted without effect.
pub const HARMLESS: &[Harmless] = &[
    Harmless {
        reason: "every IO is recorded, and the page shows the statistics",
        names: &[
            "group_reporting",
            "new_group",
            "description",
            "lat_percentiles",
            "clat_percentiles",
            "slat_percentiles",
            "percentile_list",
            "significant_figures",
            "unit_base",
            "bwavgtime",
            "iopsavgtime",
            "write_bw_log",
            "write_iops_log",
            "write_lat_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_offset",
            "log_prio",
            "log_compression",
            "log_store_compressed",
            "log_unix_epoch",
            "log_entries",
            "per_job_logs",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw_measurement",
            "gtod_reduce",
            "clocksource",
            "disk_util",
            "eta",
            "eta_interval",
            "status_interval",
        ],
    },
    Harmless {
        reason: "one thread of flashscope submits the IOs of all processes",
        names: &[
            "thread",
            "cpus_allowed",
            "cpus_allowed_policy",
            "cpumask",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "nice",
            "create_serialize",
            "lockmem",
        ],
    },
    Harmless {
        reason: "flashscope prepares its drive and its buffers in one way",
        names: &[
            "invalidate",
            "fallocate",
            "create_on_open",
            "overwrite",
            "unlink",
            "iomem",
            "mem",
            "iomem_align",
            "mem_align",
            "fixedbufs",
            "registerfiles",
            "nonvectored",
            "sqthread_poll",
            "file_service_type",
            "end_fsync",
            "fsync_on_close",
        ],
    },
    Harmless {
        reason: "each write has new random data",
        names: &["refill_buffers", "scramble_buffers"],
    },
    Harmless {
        reason: "the seed alone determines random numbers",
        names: &["randrepeat", "allrandrepeat", "random_generator", "softrandommap"],
    },
];

/// Returns the options in words, for the help of a command.
pub fn help() -> String {
    let names =
        |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(", ");
    let supported = names(&mut SUPPORTED.iter().map(|option| option.name));
    let harmless = names(&mut HARMLESS.iter().flat_map(|harmless| harmless.names.iter().copied()));
    format!("Options that flashscope supports: {supported}.\n\nOptions without effect: {harmless}.")
}

fn supported(name: &str) -> Option<&'static JobOption> {
    SUPPORTED.iter().find(|option| option.name == name || option.others.contains(&name))
}

fn reason(name: &str) -> Option<&'static str> {
    let harmless = HARMLESS.iter().find(|harmless| harmless.names.contains(&name))?;
    Some(harmless.reason)
}

/// Returns each option of the file once, in the order of the lines.
fn once(sections: &[Section]) -> impl Iterator<Item = &FileOption> {
    let lines = sections.iter().flat_map(|section| &section.given);
    lines.map(|given| (given.line, given)).collect::<BTreeMap<_, _>>().into_values()
}

/// Refuses a file with unknown options, and names all of them.
pub(super) fn check_known(sections: &[Section]) -> Result<()> {
    let is_unknown =
        |given: &&FileOption| supported(&given.name).is_none() && reason(&given.name).is_none();
    let unknown: Vec<String> = once(sections).filter(is_unknown).map(refusal).collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(anyhow!("{}\n{}", unknown.join("\n"), help())),
    }
}

fn refusal(given: &FileOption) -> String {
    let FileOption { name, line, section, .. } = given;
    let near = suggestion(name, SUPPORTED.iter().map(|option| option.name));
    format!(
        "line {line}: [{section}] has the option `{name}`, which flashscope does not support{near}"
    )
}

/// Returns a note for each reason why options of the file have no effect.
pub(super) fn notes(sections: &[Section]) -> Vec<String> {
    let given: Vec<&FileOption> = once(sections).collect();
    let of_reason = |harmless: &Harmless| {
        let here = given.iter().filter(|given| harmless.names.contains(&given.name.as_str()));
        let mut named: Vec<String> = here.map(|given| format!("`{}`", given.name)).collect();
        named.sort();
        named.dedup();
        let has = if named.len() == 1 { "has" } else { "have" };
        (!named.is_empty())
            .then(|| format!("{} {has} no effect: {}", named.join(", "), harmless.reason))
    };
    HARMLESS.iter().filter_map(of_reason).collect()
}

/// The supported options of a job, by name.
pub(super) struct Values<'a> {
    job: &'a str,
    given: BTreeMap<&'static str, &'a FileOption>,
}

impl<'a> Values<'a> {
    /// Creates the values from the options of a section. If an option occurs twice, the last value
    /// takes effect.
    pub(super) fn of(section: &'a Section) -> Values<'a> {
        let known = |given: &'a FileOption| Some((supported(&given.name)?.name, given));
        Values { job: &section.name, given: section.given.iter().filter_map(known).collect() }
    }

    /// Returns the line of an option.
    pub(super) fn line(&self, name: &str) -> Option<usize> {
        self.given.get(name).map(|given| given.line)
    }

    /// Returns the value of an option, as written in the file.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>> {
        let Some(given) = self.given.get(name) else { return Ok(None) };
        match given.value.as_deref() {
            Some(value) if !value.is_empty() => Ok(Some(value)),
            _ => Err(self.wrong(name, "it needs a value")),
        }
    }

    /// Returns the value of an option, parsed.
    ///
    /// # Errors
    /// If `parse` returns `None`; the error says that the value must be `what`.
    pub(super) fn parsed<T>(
        &self,
        name: &str,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match parse(text) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong(name, &format!("it must be {what}"))),
        }
    }

    /// Returns the value of a switch; a switch without a value is on. Returns `None` if the job
    /// does not have the switch.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        let Some(given) = self.given.get(name) else { return Ok(None) };
        match given.value.as_deref() {
            None | Some("1") => Ok(Some(true)),
            Some("0") => Ok(Some(false)),
            Some(_) => Err(self.wrong(name, "it must be 0 or 1")),
        }
    }

    /// Returns the error that the value of an option is wrong.
    pub(super) fn wrong(&self, name: &str, rule: &str) -> anyhow::Error {
        let Some(given) = self.given.get(name) else {
            return anyhow!("job `{}` lacks `{name}`: {rule}", self.job);
        };
        let value = given.value.as_deref().map(|value| format!("={value}")).unwrap_or_default();
        let FileOption { name, line, .. } = given;
        anyhow!("line {line}: `{name}{value}`, in job `{}`: {rule}", self.job)
    }

    /// Fails if the job has an option that `rule` forbids together with other options.
    pub(super) fn refuse(&self, name: &str, rule: &str) -> Result<()> {
        if self.given.contains_key(name) {
            bail!(self.wrong(name, rule));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_option_has_one_meaning() {
        let supported =
            SUPPORTED.iter().flat_map(|option| option.others.iter().chain([&option.name]));
        let harmless = HARMLESS.iter().flat_map(|harmless| harmless.names);
        let all: Vec<&str> = supported.chain(harmless).copied().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
