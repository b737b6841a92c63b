//! What would come of a workload on other drives, beside what comes of it on one: what `flashscope
//! what-if --json` prints, and the folder `NAME.flashscope/what-if.json`.

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sweep::RowStatus;

/// The version of `what-if.json` that is written, and the latest that is read.
pub const WHAT_IF_VERSION: u32 = 1;

/// What `flashscope what-if --json` prints, and `what-if.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The version of this format.
    pub schema_version: u32,
    /// Whether all that was asked for is here.
    pub status: WhatIfStatus,
    /// Seed of everything random in the first simulation of each variant.
    pub seed: u64,
    /// Simulations of each variant, with one seed after the other: all variants have the same seeds.
    pub repeats: u32,
    /// What is asked about, as it is.
    pub base: Variant,
    /// The same with something changed, in the order in which it was asked for.
    pub variants: Vec<Variant>,
}

/// Whether a what-if is at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhatIfStatus {
    /// All variants were simulated, or cannot be.
    Complete,
    /// It was interrupted, or goes on: variants without a status were not simulated.
    Unfinished,
}

/// A drive and a workload, and what comes of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// What is set otherwise than in the base.
    pub changes: Vec<Change>,
    /// The drive, as `flashscope simulate --drive` takes it.
    pub drive: String,
    /// The workload, as `flashscope simulate --workload` takes it.
    pub workload: String,
    /// What a model expects; absent until one was asked, and where none can say.
    pub closed_form: Option<ClosedForm>,
    /// Why no model can say.
    pub not_predicted: Option<String>,
    /// How its simulations ended; absent until they did.
    pub status: Option<RowStatus>,
    /// Why it is impossible, or failed.
    pub reason: Option<String>,
    /// What the simulations came to, as far as each quantity is known.
    pub simulated: Vec<SimulatedQuantity>,
}

/// A field that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// A field of the drive's profile by its dotted name, `workload.FIELD`, or `drive` or `workload` as a
    /// whole.
    pub field: String,
    /// What it is set to, as it stands on the command line.
    pub value: String,
}

/// What variants are compared by.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Quantity {
    /// Mean response time, in nanoseconds.
    #[serde(rename = "latency_ns.mean")]
    MeanLatency,
    /// The response time that 99 % of the IOs do not exceed, in nanoseconds.
    #[serde(rename = "latency_ns.p99")]
    P99Latency,
    /// IOs answered in a second of simulated time.
    #[serde(rename = "ios_per_second")]
    IosPerSecond,
    /// Bytes written in a second while all packages are kept busy by writes alone: what a drive can do
    /// at most.
    #[serde(rename = "bytes_per_second")]
    BytesPerSecond,
    /// Flash pages programmed for each page programmed for the host.
    #[serde(rename = "write_amplification")]
    WriteAmplification,
    /// Blocks erased for each GiB that the host writes.
    #[serde(rename = "erases_per_gib")]
    ErasesPerGib,
    /// Bytes that the host can write until the blocks give out, if they wear evenly.
    #[serde(rename = "endurance_bytes")]
    Endurance,
}

impl Quantity {
    /// Those that simulations have, in the order in which they are shown.
    pub const SIMULATED: [Quantity; 6] = [
        Quantity::MeanLatency,
        Quantity::P99Latency,
        Quantity::IosPerSecond,
        Quantity::WriteAmplification,
        Quantity::ErasesPerGib,
        Quantity::Endurance,
    ];
}

/// What a model expects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedForm {
    /// The model: see `flashscope predict --list`.
    pub model: String,
    /// How often the intervals are to hold the truth, from 0 to 1.
    pub level: f64,
    /// The quantities that it knows.
    pub expected: Vec<ModelEstimate>,
    /// What of the drive or the workload the model does not know, in words.
    pub not_modelled: Vec<String>,
}

/// A quantity that a model expects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEstimate {
    /// The quantity.
    pub quantity: Quantity,
    /// The number.
    pub value: f64,
    /// Lower end of the interval; absent where nothing says how far the model may be off.
    pub low: Option<f64>,
    /// Upper end of it; likewise.
    pub high: Option<f64>,
    /// By how much it is more than in the base, as a share of that; absent of the base, and where nothing
    /// is expected of it.
    pub relative: Option<f64>,
}

/// A quantity that was simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedQuantity {
    /// The quantity.
    pub quantity: Quantity,
    /// The mean over the repeats.
    pub value: Estimate,
    /// What differs from the base; absent of the base.
    pub difference: Option<Difference>,
}

/// By how much a variant differs from the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The mean difference of the pairs of simulations with the same seed, with its interval over the
    /// repeats.
    pub absolute: Estimate,
    /// The same as a share of the mean of the base; absent where that is 0.
    pub relative: Option<f64>,
    /// 1 where the quantity rises, -1 where it falls, 0 where that is not sure: the interval holds 0.
    pub sign: i8,
}

impl WhatIf {
    /// The base, and then the variants.
    pub fn all(&self) -> impl Iterator<Item = &Variant> {
        std::iter::once(&self.base).chain(&self.variants)
    }

    /// How many of the variants, without the base, ended so.
    pub fn count(&self, status: RowStatus) -> usize {
        self.variants.iter().filter(|variant| variant.status == Some(status)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what_if() -> WhatIf {
        let base = Variant {
            name: "as it is".into(),
            changes: Vec::new(),
            drive: "sim:demo".into(),
            workload: "uniform".into(),
            closed_form: None,
            not_predicted: Some("no model".into()),
            status: Some(RowStatus::Done),
            reason: None,
            simulated: vec![SimulatedQuantity {
                quantity: Quantity::MeanLatency,
                value: Estimate { value: 1.0, low: None, high: None },
                difference: None,
            }],
        };
        let change = Change { field: "ftl".into(), value: "fast".into() };
        let variants = vec![Variant { changes: vec![change], status: None, ..base.clone() }];
        let (status, schema_version) = (WhatIfStatus::Unfinished, WHAT_IF_VERSION);
        WhatIf { schema_version, status, seed: 1, repeats: 1, base, variants }
    }

    // Are variants counted without the base, by how they ended?
    #[test]
    fn variants_are_counted() {
        let mut counted = what_if();
        assert_eq!((counted.count(RowStatus::Done), counted.all().count()), (0, 2));
        counted.variants[0].status = Some(RowStatus::Impossible);
        assert_eq!(counted.count(RowStatus::Impossible), 1);
    }
}
