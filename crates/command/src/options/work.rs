use std::borrow::Cow;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use flashscope_block::Nanos;
use flashscope_measure::WarmUp;
use flashscope_simulate::Work;
use flashscope_workload::state::Fill;

use super::SeedArgs;
use crate::names;

/// The simulated drive of a command.
#[derive(Debug, Clone, clap::Args)]
pub struct SimulatedDriveArgs {
    /// The simulated drive, as with --drive
    #[arg(id = "first", value_name = "DRIVE", conflicts_with = "drive")]
    first: Option<String>,

    /// The simulated drive: a profile or a TOML file, such as a twin, with any profile field after
    /// `?`
    #[arg(long = "drive", id = "drive", default_value = "sim:demo", value_name = "DRIVE")]
    named: String,
}

impl SimulatedDriveArgs {
    /// Returns the drive, as the user wrote it.
    pub fn name(&self) -> &str {
        self.first.as_deref().unwrap_or(&self.named)
    }
}

/// The workload to run.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkloadArgs {
    /// The workload, with any fields to set after `?`
    ///
    /// Examples: uniform, sequential, hotcold, zipf, uflip:MICRO-BENCHMARK and trace:FILE.
    /// `flashscope simulate --list` shows all workloads, and their fields.
    #[arg(long, default_value = "uniform", value_name = "WORKLOAD")]
    workload: String,

    /// Run a trace: short for --workload trace:FILE, with any field of a trace after `?`
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    trace: Option<String>,
}

impl WorkloadArgs {
    /// Returns the workload, as the user wrote it.
    pub fn spec(&self) -> Cow<'_, str> {
        match &self.trace {
            Some(trace) => Cow::Owned(format!("trace:{trace}")),
            None => Cow::Borrowed(&self.workload),
        }
    }
}

/// A workload, with the way in which it runs on a simulated drive.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Workload")]
pub struct LoadArgs {
    /// The workload.
    #[command(flatten)]
    pub workload: WorkloadArgs,

    /// IOs to measure [default: 1000000, or all of a workload that ends]
    #[arg(long, value_name = "COUNT", value_parser = names::ios)]
    pub ios: Option<u64>,

    /// Run the workload before it is measured: `steady`, `none`, a number of IOs, or a number of
    /// times the capacity, as in `10x` [default: steady, or none for a workload that ends]
    ///
    /// `steady` continues until write amplification is steady. A window ends once writes and trims
    /// together reach the capacity of the drive. Steady means that write amplification ranges by at
    /// most 2 % of its mean over 5 windows. A line fitted to it may change by at most 1 %. Windows
    /// before the drive erases blocks do not count. After 50 windows, or reads, writes and trims of
    /// 50 times the capacity, the warm-up ends in any case, with a note. A trace repeats during the
    /// warm-up, with one pass per window.
    #[arg(long, value_name = "LENGTH")]
    pub warmup: Option<WarmUp>,

    /// IOs in flight at once, unless the workload sets it [default: 1, or in an open loop as many
    /// as the drive accepts]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub queue_depth: Option<u32>,

    /// The seed.
    #[command(flatten)]
    pub seed: SeedArgs,
}

impl LoadArgs {
    /// Returns the work on a drive that is filled in sequence, without any observers.
    #[must_use]
    pub fn work(&self) -> Work {
        Work {
            workload: self.workload.spec().into_owned(),
            warm_up: self.warmup,
            ios: self.ios,
            queue_depth: self.queue_depth,
            seed: self.seed.value,
            ..Work::default()
        }
    }
}

/// The work on a simulated drive: its contents, the workload and the length of the measurement.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Workload")]
pub struct WorkArgs {
    /// The workload, and the way in which it runs.
    #[command(flatten)]
    pub load: LoadArgs,

    /// Time to measure, in simulated time
    #[arg(long, value_name = "TIME", value_parser = names::duration, conflicts_with = "ios")]
    pub duration: Option<Nanos>,

    /// Contents of the drive at the start
    #[arg(long, value_parser = fill_parser(), default_value = "sequential", value_name = "STATE")]
    pub fill: Fill,
}

impl WorkArgs {
    /// Returns the work, without any observers.
    #[must_use]
    pub fn work(&self) -> Work {
        Work { fill: self.fill, duration: self.duration, ..self.load.work() }
    }
}

/// Returns a parser of the contents of a simulated drive at the start.
pub fn fill_parser() -> impl TypedValueParser<Value = Fill> {
    let values = Fill::ALL.map(|fill| PossibleValue::new(fill.name()).help(fill.summary()));
    PossibleValuesParser::new(values).try_map(|name| {
        Fill::ALL.into_iter().find(|fill| fill.name() == name).ok_or("no such state")
    })
}

/// The confidence of a prediction.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct PredictionConfidenceArgs {
    /// Confidence level of the intervals. The default is lower than that of `bench`: intervals at
    /// 95 % need more validation cases than most models have
    #[arg(long = "confidence", id = "confidence", default_value = "90%", value_name = "SHARE",
          value_parser = names::share)]
    pub level: f64,
}
