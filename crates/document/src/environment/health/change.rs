//! What became of a drive between two readings of its health.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CriticalWarning, DATA_UNIT, Health, OcpHealth};

/// The fewest data units that write amplification is told of, so that the host's counter, which may
/// be off by less than one of them, makes it uncertain by 1 % at most.
const FEWEST_UNITS: u64 = 101;

/// What became of a drive between two readings of its health.
///
/// What a counter says is absent where it is lower afterwards: it was reset, or it is another drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthChange {
    /// Bytes that hosts read, as the drive counts; within 512,000.
    pub host_bytes_read: Option<Bytes>,
    /// Bytes that hosts wrote, as the drive counts; within 512,000.
    pub host_bytes_written: Option<Bytes>,
    /// Bytes read from the flash; absent where the drive does not count them.
    pub media_bytes_read: Option<Bytes>,
    /// Bytes written to the flash; absent where the drive does not count them.
    pub media_bytes_written: Option<Bytes>,
    /// The second by the first of what was written; absent where either is, and where the host wrote
    /// less than 101 data units of 512,000 bytes.
    pub write_amplification: Option<WriteAmplification>,
    /// What its counters of heat say; empty where they say nothing, as of drives that lack them.
    pub thermal: Vec<ThermalSign>,
    /// What it warns of that it did not warn of before.
    pub new_critical_warnings: Vec<CriticalWarning>,
    /// Data that it could not give back as they were written.
    pub media_errors: Option<u64>,
    /// Times that it lost power without being told before.
    pub unsafe_shutdowns: Option<u64>,
    /// Reads of the flash that nothing could correct; absent where the drive does not count them.
    pub uncorrectable_reads: Option<u64>,
    /// Blocks that were retired; absent where the drive does not count them.
    pub retired_blocks: Option<u64>,
}

/// Bytes written to the flash for each byte that the host wrote.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteAmplification {
    /// The ratio of the counters. What was still in the drive's write buffer, or is yet to be cleaned
    /// for what was written, is not in it.
    #[schemars(range(min = 0.0))]
    pub ratio: f64,
    /// How far the host's counter, which is rounded to data units, lets the ratio be off, as a share
    /// of it: at most 0.01. How often the drive brings its other counter up to date is not known.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub relative_uncertainty: f64,
}

/// What tells that a drive was hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThermalSign {
    /// It throttled lightly (thermal management temperature 1).
    LightThrottling,
    /// It throttled heavily (thermal management temperature 2).
    HeavyThrottling,
    /// Its OCP page counts throttling, or says that it throttled at one of the readings.
    OcpThrottling,
    /// It was hotter than its warning threshold, where it still works as always.
    WarningTemperature,
    /// It was hotter than its critical threshold, where it may do anything to cool down.
    CriticalTemperature,
}

impl ThermalSign {
    /// Whether the drive was slower for it.
    pub fn throttles(self) -> bool {
        self != ThermalSign::WarningTemperature
    }
}

impl HealthChange {
    /// From `before` to `after`, of the same drive.
    pub fn between(before: &Health, after: &Health) -> HealthChange {
        let both = before.ocp.as_ref().zip(after.ocp.as_ref());
        let ocp = |counter: fn(&OcpHealth) -> u64| {
            both.and_then(|(before, after)| counter(after).checked_sub(counter(before)))
        };
        let bytes = |before: Bytes, after: Bytes| after.0.checked_sub(before.0).map(Bytes);
        let host_bytes_written = bytes(before.host_bytes_written, after.host_bytes_written);
        let media_bytes_written = ocp(|ocp| ocp.media_bytes_written.0).map(Bytes);
        let old = &before.critical_warnings;
        let new = after.critical_warnings.iter().filter(|warning| !old.contains(warning));
        HealthChange {
            host_bytes_read: bytes(before.host_bytes_read, after.host_bytes_read),
            host_bytes_written,
            media_bytes_read: ocp(|ocp| ocp.media_bytes_read.0).map(Bytes),
            media_bytes_written,
            write_amplification: host_bytes_written
                .zip(media_bytes_written)
                .and_then(|(host, media)| write_amplification(host, media)),
            thermal: thermal(before, after),
            new_critical_warnings: new.copied().collect(),
            media_errors: after.media_errors.checked_sub(before.media_errors),
            unsafe_shutdowns: after.unsafe_shutdowns.checked_sub(before.unsafe_shutdowns),
            uncorrectable_reads: ocp(|ocp| ocp.uncorrectable_reads),
            retired_blocks: ocp(|ocp| ocp.bad_user_blocks.saturating_add(ocp.bad_system_blocks)),
        }
    }

    /// Whether the drive throttled, as far as it tells.
    pub fn throttled(&self) -> bool {
        self.thermal.iter().any(|sign| sign.throttles())
    }

    /// Whether errors appeared, as far as the drive tells: new warnings, data or power lost, or blocks
    /// retired.
    pub fn has_errors(&self) -> bool {
        let counts = [
            self.media_errors,
            self.unsafe_shutdowns,
            self.uncorrectable_reads,
            self.retired_blocks,
        ];
        !self.new_critical_warnings.is_empty()
            || counts.into_iter().flatten().any(|count| count > 0)
    }
}

/// None where the host wrote too little.
fn write_amplification(host: Bytes, media: Bytes) -> Option<WriteAmplification> {
    let units = host.0 / DATA_UNIT.0;
    if units < FEWEST_UNITS {
        return None;
    }
    // Both readings are rounded up, so that what was written is within one unit of the difference.
    let relative_uncertainty = 1.0 / (units - 1) as f64;
    Some(WriteAmplification { ratio: media.0 as f64 / host.0 as f64, relative_uncertainty })
}

fn thermal(before: &Health, after: &Health) -> Vec<ThermalSign> {
    let moved = |counters: &[fn(&Health) -> u32]| {
        counters.iter().any(|counter| counter(before) != counter(after))
    };
    let throttling =
        |health: &Health| health.ocp.as_ref().is_some_and(|ocp| ocp.throttling_level > 0);
    let events = |health: &Health| health.ocp.as_ref().map(|ocp| ocp.throttling_events);
    let counted = events(before).zip(events(after)).is_some_and(|(before, after)| before != after);
    let signs = [
        (
            ThermalSign::LightThrottling,
            moved(&[
                |health| health.light_throttling_transitions,
                |health| health.light_throttling_s,
            ]),
        ),
        (
            ThermalSign::HeavyThrottling,
            moved(&[
                |health| health.heavy_throttling_transitions,
                |health| health.heavy_throttling_s,
            ]),
        ),
        (ThermalSign::OcpThrottling, counted || throttling(before) || throttling(after)),
        (ThermalSign::WarningTemperature, moved(&[|health| health.warning_temperature_minutes])),
        (ThermalSign::CriticalTemperature, moved(&[|health| health.critical_temperature_minutes])),
    ];
    signs.into_iter().filter_map(|(sign, seen)| seen.then_some(sign)).collect()
}

#[cfg(test)]
mod tests;
