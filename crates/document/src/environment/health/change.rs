//! The change of a drive's health between two readings.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CriticalWarning, DATA_UNIT, Health, OcpHealth};

/// The minimum number of data units for a write amplification. The host's counter may be off by
/// less than one unit; this minimum bounds the uncertainty to 1 %.
const MIN_UNITS: u64 = 101;

/// The change of a drive's health between two readings.
///
/// A value is absent if its counter is lower in the second reading: the counter was reset, or the
/// drive was exchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthChange {
    /// Bytes that hosts read, by the drive's counter; exact to within 512,000.
    pub host_bytes_read: Option<Bytes>,
    /// Bytes that hosts wrote, by the drive's counter; exact to within 512,000.
    pub host_bytes_written: Option<Bytes>,
    /// Bytes read from the flash; absent if the drive does not count them.
    pub media_bytes_read: Option<Bytes>,
    /// Bytes written to the flash; absent if the drive does not count them.
    pub media_bytes_written: Option<Bytes>,
    /// The bytes written to the flash, divided by the bytes that hosts wrote. Absent if one of the
    /// two is unknown, or if the host wrote less than 101 data units of 512,000 bytes.
    pub write_amplification: Option<WriteAmplification>,
    /// The thermal signs; empty if there were none or the drive has no such counters.
    pub thermal: Vec<ThermalSign>,
    /// The warnings that are new in the second reading.
    pub new_critical_warnings: Vec<CriticalWarning>,
    /// Errors of media and data integrity: the drive could not return data as written.
    pub media_errors: Option<u64>,
    /// Power losses without prior notice.
    pub unsafe_shutdowns: Option<u64>,
    /// Uncorrectable flash reads; absent if the drive does not count them.
    pub uncorrectable_reads: Option<u64>,
    /// Retired blocks; absent if the drive does not count them.
    pub retired_blocks: Option<u64>,
}

/// Write amplification: bytes written to the flash for each byte that the host wrote.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteAmplification {
    /// The ratio of the counters. It does not cover data still in the drive's write buffer, nor
    /// garbage collection that the writes cause after the second reading.
    #[schemars(range(min = 0.0))]
    pub ratio: f64,
    /// The relative uncertainty of the ratio due to the rounding of the host's counter to data
    /// units: at most 0.01. The update interval of the drive's flash counter is unknown.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub relative_uncertainty: f64,
}

/// A sign that a drive was hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThermalSign {
    /// Light throttling (thermal management temperature 1).
    LightThrottling,
    /// Heavy throttling (thermal management temperature 2).
    HeavyThrottling,
    /// Throttling in the OCP page: its counter changed, or its level was above 0 at a reading.
    OcpThrottling,
    /// A temperature above the warning threshold, at which the drive still works normally.
    WarningTemperature,
    /// A temperature above the critical threshold, at which the drive may take any action to cool
    /// down.
    CriticalTemperature,
}

impl ThermalSign {
    /// Returns true if the sign means that the drive was slower.
    pub(crate) fn throttles(self) -> bool {
        self != ThermalSign::WarningTemperature
    }
}

impl HealthChange {
    /// Returns the change from `before` to `after` of the same drive.
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
                .and_then(|(host, media)| WriteAmplification::of(host, media)),
            thermal: thermal(before, after),
            new_critical_warnings: new.copied().collect(),
            media_errors: after.media_errors.checked_sub(before.media_errors),
            unsafe_shutdowns: after.unsafe_shutdowns.checked_sub(before.unsafe_shutdowns),
            uncorrectable_reads: ocp(|ocp| ocp.uncorrectable_reads),
            retired_blocks: ocp(|ocp| ocp.bad_user_blocks.saturating_add(ocp.bad_system_blocks)),
        }
    }

    /// Returns true if the drive reports that it throttled.
    pub fn throttled(&self) -> bool {
        self.thermal.iter().any(|sign| sign.throttles())
    }

    /// Returns true if the drive reports new errors: warnings, data errors, power losses or retired
    /// blocks.
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

impl WriteAmplification {
    /// Returns the write amplification of `media` bytes written to the flash for `host` bytes,
    /// which the drive counts in data units. Returns `None` if the host wrote fewer than 101 data
    /// units.
    #[allow(clippy::cast_precision_loss, reason = "a ratio tolerates rounding")]
    pub fn of(host: Bytes, media: Bytes) -> Option<WriteAmplification> {
        let units = host.0 / DATA_UNIT.0;
        if units < MIN_UNITS {
            return None;
        }
        // Both counter readings are rounded up, hence the true number of bytes is within one unit
        // of the difference.
        let relative_uncertainty = 1.0 / (units - 1) as f64;
        let ratio = media.0 as f64 / host.0 as f64;
        Some(WriteAmplification { ratio, relative_uncertainty })
    }
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
