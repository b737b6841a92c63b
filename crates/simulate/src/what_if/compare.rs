//! Derives quantities and their differences from the numbers of simulations.

use std::collections::BTreeMap;

use flashscope_document::what_if::{Difference, Quantity, SimulatedQuantity};
use flashscope_stats::mean_of_repeats;

use crate::profile_name;
use flashscope_block::Bytes;

/// The numbers of a variant's simulations, one map per repeat.
pub(super) struct VariantNumbers {
    /// Numbers by dotted path, see [`Row`](flashscope_document::sweep::Row).
    pub numbers: Vec<BTreeMap<String, f64>>,
    /// The total number of erases that all blocks of the drive endure; `None` if the drive is
    /// impossible.
    pub lasts: Option<f64>,
}

impl VariantNumbers {
    /// Returns a quantity in each repeat; `None` if a repeat lacks it.
    fn values(&self, quantity: Quantity) -> Option<Vec<f64>> {
        self.numbers.iter().map(|numbers| self.value(quantity, numbers)).collect()
    }

    fn value(&self, quantity: Quantity, numbers: &BTreeMap<String, f64>) -> Option<f64> {
        let number = |path: &str| numbers.get(path).copied();
        let written = || number("bytes_written").filter(|written| *written > 0.0);
        let erases = || {
            let by_cause = numbers.iter().filter(|(path, _)| path.starts_with("erases."));
            by_cause.map(|(_, count)| count).sum::<f64>()
        };
        let value = match quantity {
            Quantity::MeanLatency => number("latency_ns.mean.value")?,
            Quantity::P99Latency => number("latency_ns.p99")?,
            Quantity::IosPerSecond => number("ios_per_second")?,
            Quantity::WriteAmplification => number("write_amplification")?,
            Quantity::ErasesPerGib => erases() / written()? * Bytes::GIB.0 as f64,
            Quantity::Endurance => self.lasts? / erases() * written()?,
            Quantity::MedianLatency
            | Quantity::P999Latency
            | Quantity::Throughput
            | Quantity::BytesPerSecond => return None,
        };
        Some(value).filter(|value| value.is_finite())
    }

    /// Returns the simulated quantities, with their differences from the baseline if it is given.
    pub(super) fn beside(&self, base: Option<&VariantNumbers>) -> Vec<SimulatedQuantity> {
        let simulated = |quantity| {
            let values = self.values(quantity)?;
            let before = base.and_then(|base| base.values(quantity));
            let difference = before.and_then(|before| difference(&values, &before));
            Some(SimulatedQuantity { quantity, value: mean_of_repeats(&values)?, difference })
        };
        Quantity::SIMULATED.into_iter().filter_map(simulated).collect()
    }
}

/// Returns the mean difference between values and baseline, paired by repeat.
fn difference(values: &[f64], before: &[f64]) -> Option<Difference> {
    let pairs = values.iter().zip(before);
    let differences: Vec<f64> = pairs.map(|(value, before)| value - before).collect();
    let absolute = mean_of_repeats(&differences)?;
    let before = mean_of_repeats(before)?.value;
    let relative = Some(absolute.value / before).filter(|share| share.is_finite());
    Some(Difference { absolute, relative, sign: absolute.sign() })
}

/// Returns the total number of erases that all blocks of the drive `name` endure.
pub(super) fn lasts(name: &str) -> Option<f64> {
    let profile = flashscope_sim::setup::parse(profile_name(name).ok()?).ok()?;
    let layout = profile.layout().ok()?;
    let blocks = f64::from(layout.geometry.blocks()) * f64::from(profile.raid.drives.max(1));
    Some(blocks * f64::from(layout.reliability.block_lifetime))
}
