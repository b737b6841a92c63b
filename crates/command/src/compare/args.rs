//! The options of `flashscope compare`.

use std::path::PathBuf;

use flashscope_block::parse_share;

use crate::options::{JsonArgs, json_schema};

/// Compare results with the first, and find regressions.
///
/// A result is a measurement, a simulation, a what-if, a prediction, or the JSON that `simulate`,
/// `what-if`, `predict` and `twin predict` print. A what-if counts as several results: its baseline
/// and each of its variants. Workloads that at least two results ran are compared. The intervals of
/// all ratios hold simultaneously with 95 % probability. The exit status is 3 if
/// --fail-on-regression finds a regression. See docs/compare.md.
#[derive(clap::Args)]
#[command(mut_arg("json", json_schema("comparison")))]
#[command(after_help = "Examples:
  flashscope compare old.flashscope new.flashscope
  flashscope compare old.flashscope new.flashscope --fail-on-regression 5%
  flashscope compare simulation.flashscope drive.flashscope prediction.json --json")]
pub struct CompareArgs {
    /// The results, two to six: folders, or files of JSON; the first is the baseline
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// Exit with status 3 if a latency, a rate or write amplification is worse than that of the
    /// baseline by more than this share, beyond uncertainty
    #[arg(long, value_name = "SHARE", value_parser = limit)]
    pub fail_on_regression: Option<f64>,

    /// The form of the output.
    #[command(flatten)]
    pub json: JsonArgs,
}

fn limit(text: &str) -> Result<f64, String> {
    let share = parse_share(text).filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| "give a share such as `5%` or `0.05`".into())
}
