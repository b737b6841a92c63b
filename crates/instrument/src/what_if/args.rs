//! The options of `flashscope what-if`, as they are documented.

use std::path::PathBuf;

use flashscope_twin::simulate::Asked;
use flashscope_twin::what_if::{Asking, MOST_REPEATS, Question, changes};

use crate::simulate::WorkArgs;
use crate::{Failure, JobsArgs, MemoryArgs, usage};

/// Simulations of each variant, unless something else is asked for.
const REPEATS: u32 = 3;

/// Ask what a workload would come to if something of the drive were otherwise.
///
/// For the drive as it is and with each change, a model says at once what it expects, where there is one;
/// then each is simulated, as `flashscope simulate` would, and put beside the drive as it is. All have the
/// same seeds, so that a difference is known better than what it is of. See docs/what-if.md.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope what-if --change over_provisioning=0.28
  flashscope what-if --trace 'hm_0.csv.gz?remap=fold' --change cleaning.frontiers=host-and-cleaning
  flashscope what-if --workload 'zipf?exponent=0.9' --change cleaning.policy=fifo --name FIFO
  flashscope what-if --workload uniform --change workload.trims=0.2 --repeats 5 --json
  flashscope what-if --change over_provisioning=0.1 --change over_provisioning=0.28 --jobs 2
  flashscope what-if --drive flashsim-2009 --change ftl=fast,log.blocks=512 --output a.flashscope")]
pub struct WhatIfArgs {
    /// The simulated drive as it is: a profile or a TOML file, such as a twin of `flashscope twin fit`,
    /// with any field of it after `?`
    #[arg(long, default_value = "sim:demo", value_name = "DRIVE")]
    pub drive: String,

    /// What is done on it.
    #[command(flatten)]
    pub work: WorkArgs,

    /// What would be otherwise: `field=value`, several separated by commas; once for each variant
    ///
    /// A field is one of the drive's profile (docs/profiles.md), one of the workload or trace as
    /// `workload.FIELD` (docs/workloads.md), or `drive` or `workload` as a whole.
    #[arg(long, required = true, value_name = "CHANGES")]
    pub change: Vec<String>,

    /// What to call a variant: the first name is for the first --change, and so on [default: its changes]
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,

    /// Simulate each variant so often, with seeds one after the other [default: 3, or 1 of a trace, in
    /// which nothing is random]
    #[arg(long, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPEATS)))]
    pub repeats: Option<u32>,

    /// How much is simulated at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Write what came of it to this folder, as `what-if.json`; it must not be there yet
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Print the outcome as JSON, once there is all of it (schema: docs/schemas/what-if.schema.json)
    #[arg(long)]
    pub json: bool,
}

impl WhatIfArgs {
    /// What is asked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn question(&self) -> Result<Question, Failure> {
        if self.name.len() > self.change.len() {
            let (names, changes) = (self.name.len(), self.change.len());
            return Err(usage(anyhow::anyhow!(
                "--name is given {names} times, --change {changes} times: each name is of a --change"
            )));
        }
        let mut names = self.name.iter();
        let asking = |text: &String| {
            Ok(Asking { name: names.next().cloned(), changes: changes(text).map_err(usage)? })
        };
        let variants: Result<Vec<Asking>, Failure> = self.change.iter().map(asking).collect();
        let base = Asked { drive: self.drive.clone(), work: self.work.work() };
        let repeats = self.repeats.unwrap_or_else(|| repeats(&base));
        Question::new(base, variants?, repeats).map_err(usage)
    }
}

/// How often something is simulated unless it is said: of a trace each time would be the same.
#[must_use]
pub fn repeats(base: &Asked) -> u32 {
    if base.work.workload.starts_with("trace:") { 1 } else { REPEATS }
}
