//! The fields of a case, and their defaults.

use anyhow::{Context, Result, bail};
use flashscope_sim::sched::{self, BusOrder, ChoiceTime, Limits, Nanos, Parts, Setup, Suspension};
use serde::Deserialize;

/// The values of `cleaning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cleaning {
    None,
    /// One command that nothing interrupts.
    Whole,
    /// The next step joins the queue when the previous step is done.
    Steps,
}

/// The values of `cleaning_priority`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Priority {
    Low,
    Equal,
}

/// How commands of an open loop arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Arrivals {
    Poisson,
    Constant,
}

/// The die of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Placement {
    Random,
    RoundRobin,
}

/// The order in which the host admits the commands of tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Arbitration {
    RoundRobin,
    Weighted,
}

/// The order of events at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ties {
    Scheduled,
}

/// A command of a script: microseconds, kind, die, plane, row.
pub(super) type ScriptLine = (f64, String, u32, u32, u32);

/// A tenant of the host. A missing field has the value that the case gives for all tenants.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tenant {
    pub queue_depth: Option<u32>,
    pub rate_per_s: Option<f64>,
    pub arrivals: Option<Arrivals>,
    pub read_share: Option<f64>,
    pub erase_share: Option<f64>,
    pub weight: Option<i64>,
}

/// A case. Times are microseconds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Case {
    pub name: String,
    pub set: String,
    pub channels: u32,
    pub dies_per_channel: u32,
    pub planes_per_die: u32,
    pub block_rows: u32,
    pub read_us: Vec<f64>,
    pub program_us: Vec<f64>,
    pub erase_us: f64,
    pub bus_command_us: f64,
    pub bus_page_us: f64,
    pub multi_plane: bool,
    pub cache_read: bool,
    pub cache_program: bool,
    pub policy: String,
    pub overtake_limit: Option<u32>,
    pub overtake_wait_us: Option<f64>,
    pub suspend_us: f64,
    pub resume_us: f64,
    pub suspensions_max: Option<u32>,
    pub suspend_min_progress_us: f64,
    pub suspend_min_remaining_us: f64,
    /// The order in which a bus serves requests: `asking`, or `data-first` as in MQSim.
    pub bus_order: BusOrder,
    /// The time at which a die chooses its next command: `die-free`, or `bus-granted` as in MQSim.
    pub choice_time: ChoiceTime,
    pub cleaning: Cleaning,
    pub cleaning_priority: Priority,
    pub cleaning_pages: u32,
    pub cleaning_jobs_per_s: f64,
    pub cleaning_every_programs: u64,
    pub host_turnaround_us: f64,
    pub queue_depth: u32,
    pub rate_per_s: Option<f64>,
    pub arrivals: Arrivals,
    pub read_share: f64,
    pub erase_share: f64,
    pub read_placement: Placement,
    pub program_placement: Placement,
    pub tenants: Option<Vec<Tenant>>,
    pub arbitration: Arbitration,
    pub device_limit: Option<u32>,
    pub script: Option<Vec<ScriptLine>>,
    /// The expected completion time of each command of the script.
    pub done_us: Option<Vec<f64>>,
    pub seed: u64,
    pub warmup_commands: usize,
    pub commands: usize,
    pub ties: Ties,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            name: String::new(),
            set: String::new(),
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            block_rows: 1,
            read_us: vec![50.0],
            program_us: vec![500.0],
            erase_us: 3000.0,
            bus_command_us: 0.0,
            bus_page_us: 10.0,
            multi_plane: false,
            cache_read: false,
            cache_program: false,
            policy: "fcfs".into(),
            overtake_limit: None,
            overtake_wait_us: None,
            suspend_us: 0.0,
            resume_us: 0.0,
            suspensions_max: None,
            suspend_min_progress_us: 0.0,
            suspend_min_remaining_us: 0.0,
            bus_order: BusOrder::Asking,
            choice_time: ChoiceTime::DieFree,
            cleaning: Cleaning::None,
            cleaning_priority: Priority::Low,
            cleaning_pages: 16,
            cleaning_jobs_per_s: 0.0,
            cleaning_every_programs: 0,
            host_turnaround_us: 0.0,
            queue_depth: 1,
            rate_per_s: None,
            arrivals: Arrivals::Poisson,
            read_share: 1.0,
            erase_share: 0.0,
            read_placement: Placement::Random,
            program_placement: Placement::Random,
            tenants: None,
            arbitration: Arbitration::RoundRobin,
            device_limit: None,
            script: None,
            done_us: None,
            seed: 1,
            warmup_commands: 20_000,
            commands: 200_000,
            ties: Ties::Scheduled,
        }
    }
}

/// Converts microseconds to integer nanoseconds; a half rounds to the even number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(super) fn nanoseconds(us: f64) -> u64 {
    (us * 1000.0).round_ties_even() as u64
}

impl Case {
    /// Parses a case, and checks the rules that its types do not express.
    ///
    /// # Errors
    /// If a field is unknown, or a value is invalid.
    pub(crate) fn read(value: serde_json::Value) -> Result<Case> {
        let case: Case = serde_json::from_value(value)?;
        case.check().with_context(|| case.title())?;
        Ok(case)
    }

    pub(crate) fn title(&self) -> String {
        format!("the case {:?}", self.name)
    }

    fn check(&self) -> Result<()> {
        let parts = [self.channels, self.dies_per_channel, self.planes_per_die, self.block_rows];
        if parts.contains(&0) || self.planes_per_die > 64 {
            bail!("give at least one channel, die, plane and row, and at most 64 planes per die");
        }
        if self.read_us.is_empty() || self.program_us.is_empty() {
            bail!("`read_us` or `program_us` is empty: give at least one time");
        }
        let times = [self.erase_us, self.bus_command_us, self.bus_page_us, self.suspend_us];
        let all = times.iter().chain(&self.read_us).chain(&self.program_us);
        if all.chain([&self.resume_us, &self.host_turnaround_us]).any(|time| *time < 0.0) {
            bail!("a time is negative: give 0 or more");
        }
        if self.warmup_commands == 0 && self.script.is_none() || self.commands < 40 {
            bail!("too few commands: give at least 1 to warm up and 40 to measure");
        }
        if self.tenants.as_ref().is_some_and(Vec::is_empty) {
            bail!("`tenants` is empty: give at least one tenant, or omit the field");
        }
        for (_, kind, die, plane, _) in self.script.iter().flatten() {
            if *die >= self.dies() || *plane >= self.planes_per_die {
                bail!("the script names die {die}, plane {plane}, which the case does not have");
            }
            if !["read", "program", "erase"].contains(&kind.as_str()) {
                bail!("`{kind}` is no command of a script: use read, program or erase");
            }
        }
        self.setup().map(drop)
    }

    pub(crate) fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    pub(crate) fn parts(&self) -> Parts {
        Parts {
            bus_of: (0..self.dies()).map(|die| die % self.channels).collect(),
            buses: self.channels,
            planes: self.planes_per_die,
            packages: 1,
        }
    }

    /// Returns the settings of the scheduler.
    pub(crate) fn setup(&self) -> Result<Setup> {
        let names = || sched::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
        let policy =
            *sched::kind(&self.policy).with_context(|| format!("policy is one of {}", names()))?;
        let mut setup = Setup::of(policy);
        let time = |us: f64| Nanos(nanoseconds(us));
        if policy.overtakes {
            setup.limits = Limits {
                overtakes: self.overtake_limit.filter(|limit| *limit > 0),
                wait: self.overtake_wait_us.filter(|wait| *wait > 0.0).map(time),
            };
        }
        if policy.suspends {
            setup.suspension = Suspension {
                suspend: time(self.suspend_us),
                resume: time(self.resume_us),
                most: self.suspensions_max,
                min_progress: time(self.suspend_min_progress_us),
                min_remaining: time(self.suspend_min_remaining_us),
            };
        }
        setup.command = time(self.bus_command_us);
        setup.multi_plane = self.multi_plane;
        setup.cache_read = self.cache_read;
        setup.cache_program = self.cache_program;
        setup.bus_order = self.bus_order;
        setup.choice_time = self.choice_time;
        setup.check()?;
        Ok(setup)
    }
}
