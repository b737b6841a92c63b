//! Conclusions: sentences that a reader can act on, each with its evidence. Documents with results
//! begin with them.

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sentence that a reader can act on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// The sentence, with its numbers.
    pub text: String,
    /// The numbers that support the sentence.
    pub evidence: Vec<Evidence>,
}

/// A number that supports a sentence, with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The description, such as `random writes in 8 MiB, relative to sequential ones`.
    pub what: String,
    /// The number, in `unit`.
    pub value: Estimate,
    /// The unit of the number.
    pub unit: EvidenceUnit,
    /// The micro-benchmark that gave the number; absent if it does not come from a benchmark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub micro_benchmark: String,
    /// The experiment that gave the number; absent if it does not come from a benchmark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub experiment: String,
    /// The runs that gave the number.
    #[serde(default)]
    pub runs: Vec<u32>,
    /// The section of the page that shows the number; absent if an experiment shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<PageSection>,
}

/// The unit of an [`Evidence`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceUnit {
    /// A ratio.
    Ratio,
    /// A time in nanoseconds.
    Nanoseconds,
    /// A number without a unit, such as a write amplification or a count.
    Number,
    /// A share or a relative change: 0.1 for 10 %.
    Share,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// IOs per second.
    IosPerSecond,
    /// Days.
    Days,
}

/// A section of a page that shows the evidence of a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageSection {
    /// The key numbers of the item, on every page.
    Numbers,
    /// The table of IOs per second and latency by queue depth and IO size.
    Depths,
    /// The latencies of a simulation.
    Latencies,
    /// The flash operations of a simulation.
    Operations,
    /// The warm-up of a simulation.
    WarmUp,
    /// The Pareto front of a sweep.
    Front,
    /// The effects of the factors of a sweep.
    Effects,
    /// The points of a sweep that were not simulated.
    Skipped,
    /// The predictions of models in a what-if.
    Predictions,
    /// The simulations of a what-if.
    Simulations,
    /// The findings of a probe.
    Findings,
    /// The parameters that a probe did not find.
    Unknown,
    /// The runs that a twin was fitted to.
    FittedRuns,
    /// The fill sweep that a twin was fitted to.
    FillSweep,
    /// The fields of a twin.
    Fields,
}

impl Conclusion {
    /// Creates a conclusion.
    pub fn new(text: impl Into<String>, evidence: Vec<Evidence>) -> Conclusion {
        Conclusion { text: text.into(), evidence }
    }
}

impl Evidence {
    /// Creates evidence that a section of the page shows.
    pub fn shown_in(
        section: PageSection,
        what: impl Into<String>,
        value: Estimate,
        unit: EvidenceUnit,
    ) -> Evidence {
        let (micro_benchmark, experiment, runs) = Default::default();
        let (what, section) = (what.into(), Some(section));
        Evidence { what, value, unit, micro_benchmark, experiment, runs, section }
    }

    /// Creates evidence that an experiment shows.
    pub fn measured(
        what: impl Into<String>,
        value: Estimate,
        unit: EvidenceUnit,
        (micro_benchmark, experiment): (&str, &str),
        runs: Vec<u32>,
    ) -> Evidence {
        let (micro_benchmark, experiment) = (micro_benchmark.into(), experiment.into());
        Evidence {
            what: what.into(),
            value,
            unit,
            micro_benchmark,
            experiment,
            runs,
            section: None,
        }
    }
}
