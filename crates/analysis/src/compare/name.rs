use std::path::Path;

use flashscope_block::{Bytes, Op, parse_share};
use flashscope_workload::job::{Job, JobAddresses};
use flashscope_workload::pattern::{Address, Pattern, Reference, Timing};

/// The name of a workload, by which results of different kinds are matched.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WorkloadName {
    pub what: What,
    /// The IOs in flight; `None` for a quantity that does not depend on them.
    pub in_flight: Option<InFlight>,
    /// The operation, if only the IOs of one operation of the workload count.
    pub part: Option<Op>,
}

/// The IOs in flight.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InFlight {
    /// At most this many, in one stream.
    Depth(u32),
    /// One in each of several sequential streams.
    Streams(u16),
    /// As many as the clock of the workload requires.
    OpenLoop,
    /// The unrecorded number of a what-if.
    WhatIf,
}

/// The IOs of a workload.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// IOs of one size, uniformly random or sequential.
    Pattern { is_random: bool, reads_percent: u8, size: Bytes },
    /// Any other workload, in the syntax of the command line.
    Other(String),
}

impl WorkloadName {
    /// Returns the name of a run; `None` for runs that exist only in micro-benchmarks.
    pub(super) fn of_run(reference: &Reference) -> Option<WorkloadName> {
        let (what, in_flight) = match reference {
            Reference::Basic { pattern } => (What::of_pattern(pattern)?, InFlight::Depth(1)),
            Reference::Parallel { pattern, degree } => {
                let what = What::of_pattern(pattern)?;
                let is_alone = *degree == 1 || pattern.address == Address::Random;
                let depth = InFlight::Depth(u32::from(*degree));
                (what, if is_alone { depth } else { InFlight::Streams(*degree) })
            }
            Reference::Blend { pattern, reads_percent, queue_depth, .. } => {
                let What::Pattern { is_random, size, .. } = What::of_pattern(pattern)? else {
                    return None;
                };
                let what = What::Pattern { is_random, reads_percent: *reads_percent, size };
                (what, InFlight::Depth(*queue_depth))
            }
            Reference::Jobs { jobs, .. } => {
                (What::of_jobs(jobs), InFlight::Depth(reference.in_flight()))
            }
            Reference::Trace { playback, queue_depth, .. } => {
                let files: Vec<&str> = playback.files.iter().map(|file| base_name(file)).collect();
                let fields = playback.fields.iter().map(|(name, value)| format!("{name}={value}"));
                let fields: Vec<String> = fields.collect();
                let start = format!("trace:{}", files.join(","));
                let parts = [start, fields.join("&")];
                let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
                let in_flight = match reference.is_open_loop() {
                    true => InFlight::OpenLoop,
                    false => InFlight::Depth(*queue_depth),
                };
                (What::Other(name.join("?")), in_flight)
            }
            Reference::Mixed { .. } | Reference::Sequence { .. } | Reference::Uniform { .. } => {
                return None;
            }
        };
        Some(WorkloadName { what, in_flight: Some(in_flight), part: None })
    }

    /// Returns the name of a workload in the syntax of the command line.
    pub(super) fn of_spec(spec: &str, in_flight: Option<InFlight>) -> WorkloadName {
        let what = What::of_synthetic(spec).unwrap_or_else(|| What::Other(without_seed(spec)));
        WorkloadName { what, in_flight, part: None }
    }

    pub(super) fn part(&self, op: Op) -> WorkloadName {
        WorkloadName { part: Some(op), ..self.clone() }
    }

    /// Returns the only operation of the workload; `None` for several.
    pub(super) fn operation(&self) -> Option<Op> {
        self.part.or(match self.what {
            What::Pattern { reads_percent: 0, .. } => Some(Op::Write),
            What::Pattern { reads_percent: 100, .. } => Some(Op::Read),
            _ => None,
        })
    }

    /// Returns the name for quantities that do not depend on the IOs in flight.
    pub(super) fn at_any_depth(&self) -> WorkloadName {
        WorkloadName { in_flight: None, ..self.clone() }
    }

    /// Returns the name as text.
    pub(super) fn text(&self) -> String {
        let what = self.what.text();
        let in_flight = match &self.in_flight {
            None | Some(InFlight::Depth(1)) => String::new(),
            Some(InFlight::Depth(depth)) => format!(" at queue depth {depth}"),
            Some(InFlight::Streams(streams)) => format!(" in {streams} streams"),
            Some(InFlight::OpenLoop) => " in an open loop".into(),
            Some(InFlight::WhatIf) => " as in the what-if".into(),
        };
        match self.part {
            None => what + &in_flight,
            Some(op) => format!("{} of {what}{in_flight}", plural(op)),
        }
    }
}

impl What {
    fn of_pattern(pattern: &Pattern) -> Option<What> {
        let is_random = match pattern.address {
            Address::Random => true,
            Address::Sequential | Address::Ordered { incr: 1 } => false,
            Address::Ordered { .. } | Address::Partitioned { .. } => return None,
        };
        let is_plain = pattern.timing == Timing::Consecutive && pattern.io_shift == Bytes(0);
        let reads_percent = if pattern.op == Op::Read { 100 } else { 0 };
        is_plain.then_some(What::Pattern { is_random, reads_percent, size: pattern.io_size })
    }

    /// Returns a plain job as its pattern, and other jobs by their descriptions.
    fn of_jobs(jobs: &[Job]) -> What {
        match jobs {
            [job] => What::of_job(job).unwrap_or_else(|| What::Other(job.to_string())),
            _ => What::Other(jobs.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    fn of_job(job: &Job) -> Option<What> {
        let is_random = match job.places {
            JobAddresses::Covering | JobAddresses::Independent => true,
            JobAddresses::Sequential if job.processes == 1 => false,
            _ => return None,
        };
        let is_plain = job.think.is_none()
            && job.flush_every.is_none()
            && (job.op == Op::Write || job.reads_percent == 100);
        let (size, reads_percent) = (job.single_size()?, job.reads_percent);
        is_plain.then_some(What::Pattern { is_random, reads_percent, size })
    }

    /// Returns the pattern of a synthetic workload; `None` if it is more than a pattern over the
    /// whole drive.
    fn of_synthetic(spec: &str) -> Option<What> {
        let (name, fields) = spec.split_once('?').unwrap_or((spec, ""));
        let is_random = match name {
            "uniform" => true,
            "sequential" => false,
            _ => return None,
        };
        let (mut size, mut reads) = (Bytes::kib(4), 0.0_f64);
        for field in fields.split('&').filter(|field| !field.is_empty()) {
            match field.split_once('=')? {
                ("size", value) => size = value.parse().ok()?,
                ("reads", value) => reads = parse_share(value)?,
                ("op", "read") => reads = 1.0,
                ("op", "write") => reads = 0.0,
                ("queue_depth" | "seed", _) => {}
                _ => return None,
            }
        }
        let percent = 100.0 * reads;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
        let reads_percent = percent.round() as u8;
        let is_whole = (percent - f64::from(reads_percent)).abs() < 1e-9;
        is_whole.then_some(What::Pattern { is_random, reads_percent, size })
    }

    /// Returns the class of a pattern of one operation, such as `random writes`.
    pub(super) fn class(&self) -> Option<String> {
        let What::Pattern { is_random, reads_percent, .. } = self else { return None };
        let op = match reads_percent {
            100 => "reads",
            0 => "writes",
            _ => return None,
        };
        Some(format!("{} {op}", order(*is_random)))
    }

    fn text(&self) -> String {
        match (self, self.class()) {
            (What::Pattern { size, .. }, Some(class)) => format!("{class} of {size}"),
            (What::Pattern { is_random, reads_percent, size }, None) => {
                format!("{} IOs of {size} with {reads_percent} % reads", order(*is_random))
            }
            (What::Other(spec), _) => spec.clone(),
        }
    }
}

const fn order(is_random: bool) -> &'static str {
    if is_random { "random" } else { "sequential" }
}

const fn plural(op: Op) -> &'static str {
    match op {
        Op::Read => "reads",
        Op::Write => "writes",
        Op::Trim => "trims",
        Op::Flush => "flushes",
    }
}

/// Returns a workload without its seed and its queue depth, and a trace without its folder.
fn without_seed(spec: &str) -> String {
    let (name, fields) = spec.split_once('?').unwrap_or((spec, ""));
    let name = match name.split_once(':') {
        Some(("trace", file)) => format!("trace:{}", base_name(file)),
        _ => name.into(),
    };
    let is_kept = |field: &&str| !field.starts_with("seed=") && !field.starts_with("queue_depth=");
    let fields: Vec<&str> = fields.split('&').filter(is_kept).collect();
    let parts = [name, fields.join("&")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("?")
}

fn base_name(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}
