//! The options of `flashscope what-if`.

use flashscope_sim::budget::Budget;
use flashscope_simulate::SimulationRequest;
use flashscope_simulate::what_if::{MAX_REPEATS, Question, VariantRequest, changes};

use crate::options::{
    JobsArgs, JsonArgs, MemoryArgs, OutputFolderArgs, SimulatedDriveArgs, WorkArgs, folder_default,
    json_schema,
};
use crate::{Failure, usage};

/// The default number of simulations per variant.
const REPEATS: u32 = 3;

/// See how a change to a drive or workload affects performance.
///
/// For the baseline and for each change, a model first predicts the outcome, if there is a model.
/// Then each is simulated, as `flashscope simulate` would, and compared with the baseline. All
/// variants have the same seeds, which makes differences more precise than the values themselves.
/// See docs/what-if.md.
#[derive(clap::Args)]
#[command(
    mut_arg("output", folder_default("none, nothing is written")),
    mut_arg("json", json_schema("what-if"))
)]
#[command(after_help = "Examples:
  flashscope what-if --change over_provisioning=0.28
  flashscope what-if --trace 'hm_0.csv.gz?remap=fold' --change cleaning.frontiers=host-and-cleaning
  flashscope what-if --workload 'zipf?exponent=0.9' --change cleaning.policy=fifo --name FIFO
  flashscope what-if --workload uniform --change workload.trims=0.2 --repeats 5 --json
  flashscope what-if --change over_provisioning=0.1 --change over_provisioning=0.28 --jobs 2
  flashscope what-if --drive flashsim-2009 --change ftl=fast,log.blocks=512 --output a.flashscope")]
pub struct WhatIfArgs {
    /// The baseline drive.
    #[command(flatten)]
    pub drive: SimulatedDriveArgs,

    /// The work on the drive.
    #[command(flatten)]
    pub work: WorkArgs,

    /// Changes to try: `field=value`, several separated by commas; once for each variant
    ///
    /// A field is one of the drive's profile (docs/profiles.md), one of the workload or trace as
    /// `workload.FIELD` (docs/workloads.md), or `drive` or `workload` as a whole.
    #[arg(long, required = true, value_name = "CHANGES")]
    pub change: Vec<String>,

    /// Name of a variant: the first name is for the first --change, and so on [default: its
    /// changes]
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,

    /// Simulations of each variant, with consecutive seeds [default: 3, or 1 for a trace, in which
    /// nothing is random]
    #[arg(long, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEATS)))]
    pub repeats: Option<u32>,

    /// The number of simulations at once.
    #[command(flatten)]
    pub jobs: JobsArgs,

    /// The memory limit.
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// The folder for `what-if.json`.
    #[command(flatten)]
    pub output: OutputFolderArgs,

    /// The format of the output. JSON is printed once all rows are complete.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl WhatIfArgs {
    /// Returns the question. The baseline drive must fit in `memory`.
    ///
    /// # Errors
    /// If the question is invalid.
    pub fn question(&self, memory: &Budget) -> Result<Question, Failure> {
        if self.name.len() > self.change.len() {
            let (names, changes) = (self.name.len(), self.change.len());
            return Err(usage(anyhow::anyhow!(
                "--name is given {names} times, --change {changes} times: give at most one name per change"
            )));
        }
        let mut names = self.name.iter();
        let variant = |text: &String| {
            Ok(VariantRequest {
                name: names.next().cloned(),
                changes: changes(text).map_err(usage)?,
            })
        };
        let variants: Result<Vec<VariantRequest>, Failure> =
            self.change.iter().map(variant).collect();
        let base = SimulationRequest { drive: self.drive.name().into(), work: self.work.work() };
        let repeats = self.repeats.unwrap_or_else(|| repeats(&base));
        Question::new(base, variants?, repeats, memory).map_err(usage)
    }
}

/// Returns the default number of simulations: 1 for a trace, because all its repeats would be
/// equal.
#[must_use]
pub fn repeats(base: &SimulationRequest) -> u32 {
    if base.work.workload.starts_with("trace:") { 1 } else { REPEATS }
}
