//! The health of an NVMe drive, decoded from two log pages.

mod change;
mod encode;
mod latency;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use change::{HealthChange, ThermalSign, WriteAmplification};
pub use latency::{LatencyBucket, LatencyMonitor};

/// A raw log page.
pub type LogPage = [u8; 512];

/// The size of a data unit. A drive counts host reads and writes in data units of 1,000 times 512
/// bytes, whatever its sector size, and rounds up.
pub const DATA_UNIT: Bytes = Bytes(512_000);

/// The GUID of the extended OCP page, AFD514C9-7C6F-4F9C-A4F2-BFEA2810AFC5, stored with its last
/// byte first.
const OCP_GUID: u128 = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5;

/// The lifetime health data of an NVMe drive: its SMART / Health Information (NVM Express Base
/// Specification, log identifier 02h).
///
/// Counters of 16 bytes saturate at 2⁶⁴ - 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// The active warnings.
    pub critical_warnings: Vec<CriticalWarning>,
    /// The composite temperature in degrees Celsius; absent if the drive reports none.
    #[schemars(range(min = -273.15, max = 1000.0))]
    pub temperature_celsius: Option<f64>,
    /// The remaining spare blocks, in percent.
    #[schemars(range(max = 100))]
    pub available_spare_percent: u32,
    /// The warning threshold for spare blocks, in percent.
    #[schemars(range(max = 100))]
    pub available_spare_threshold_percent: u32,
    /// The used share of the rated life, as the vendor estimates it, in percent. It may exceed 100
    /// and saturates at 255.
    pub percentage_used: u32,
    /// Bytes that the host read, counted in data units of 512,000 and rounded up.
    pub host_bytes_read: Bytes,
    /// Bytes that the host wrote, counted in data units of 512,000 and rounded up.
    pub host_bytes_written: Bytes,
    /// Read commands from the host.
    pub host_read_commands: u64,
    /// Write commands from the host.
    pub host_write_commands: u64,
    /// The time during which the controller was busy with IOs, in minutes.
    pub busy_minutes: u64,
    /// The number of power cycles.
    pub power_cycles: u64,
    /// The time powered on, in hours; it may exclude low-power states.
    pub power_on_hours: u64,
    /// The number of power losses without prior notice.
    pub unsafe_shutdowns: u64,
    /// The number of detected errors of media and data integrity: the drive could not return data
    /// as written.
    pub media_errors: u64,
    /// The number of error log entries. Rejected commands count too. Requests for unsupported pages
    /// raise the number, hence a rise alone is not a fault.
    pub error_log_entries: u64,
    /// The time above the warning temperature, in minutes.
    pub warning_temperature_minutes: u32,
    /// The time above the critical temperature, in minutes.
    pub critical_temperature_minutes: u32,
    /// The number of transitions to light throttling, which limits the performance loss (thermal
    /// management temperature 1). Always 0 for drives without this feature.
    pub light_throttling_transitions: u32,
    /// The number of transitions to heavy throttling, regardless of performance (thermal management
    /// temperature 2). Always 0 for drives without this feature.
    pub heavy_throttling_transitions: u32,
    /// The time in light throttling, in seconds.
    pub light_throttling_s: u32,
    /// The time in heavy throttling, in seconds.
    pub heavy_throttling_s: u32,
    /// The additional data of data centre drives; absent if not requested or not supported.
    pub ocp: Option<OcpHealth>,
}

/// A critical warning of an NVMe drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriticalWarning {
    /// The spare blocks are below their threshold.
    LowSpare,
    /// The temperature is outside its thresholds.
    Temperature,
    /// Media or internal errors degraded the reliability.
    Degraded,
    /// The media are read-only.
    ReadOnly,
    /// The backup of volatile memory against power loss failed.
    MemoryBackup,
    /// The persistent memory region is read-only or unreliable.
    PersistentMemory,
}

impl CriticalWarning {
    /// All warnings in the order of their bits, from bit 0.
    pub const ALL: [CriticalWarning; 6] = [
        CriticalWarning::LowSpare,
        CriticalWarning::Temperature,
        CriticalWarning::Degraded,
        CriticalWarning::ReadOnly,
        CriticalWarning::MemoryBackup,
        CriticalWarning::PersistentMemory,
    ];

    /// Decodes the byte of the log in which each bit is a warning.
    pub fn of_bits(bits: u8) -> Vec<CriticalWarning> {
        let warns = |bit: &usize| bits >> bit & 1 == 1;
        (0..Self::ALL.len()).filter(warns).map(|bit| Self::ALL[bit]).collect()
    }

    /// Returns the name of the warning in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CriticalWarning::LowSpare => "low_spare",
            CriticalWarning::Temperature => "temperature",
            CriticalWarning::Degraded => "degraded",
            CriticalWarning::ReadOnly => "read_only",
            CriticalWarning::MemoryBackup => "memory_backup",
            CriticalWarning::PersistentMemory => "persistent_memory",
        }
    }

    /// Returns a description for the user, to follow "the drive warns that".
    pub fn text(self) -> &'static str {
        match self {
            CriticalWarning::LowSpare => "few spare blocks are left",
            CriticalWarning::Temperature => "it is too hot or too cold",
            CriticalWarning::Degraded => "errors made it less reliable",
            CriticalWarning::ReadOnly => "it cannot be written any more",
            CriticalWarning::MemoryBackup => "a power cut may lose the data in its memory",
            CriticalWarning::PersistentMemory => "its persistent memory region failed",
        }
    }
}

/// The additional health data of data centre drives: SMART / Health Information Extended (OCP
/// Datacenter NVMe SSD Specification, log identifier C0h).
///
/// Counters of 16 bytes saturate at 2⁶⁴ - 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OcpHealth {
    /// Bytes written to the flash: host data, garbage collection, wear levelling and metadata.
    pub media_bytes_written: Bytes,
    /// Bytes read from the flash for any purpose.
    pub media_bytes_read: Bytes,
    /// Retired blocks of the user data area.
    pub bad_user_blocks: u64,
    /// Retired blocks of the system area.
    pub bad_system_blocks: u64,
    /// The number of data recoveries from parity across dies (XOR).
    pub xor_recoveries: u64,
    /// Uncorrectable reads.
    pub uncorrectable_reads: u64,
    /// Reads that the first, fast stage of error correction could not correct.
    pub soft_ecc_errors: u64,
    /// The used share of the rated life of the system area, in percent.
    pub system_percentage_used: u32,
    /// Blocks refreshed to keep their data readable.
    pub refreshes: u64,
    /// The highest erase count of a user data block.
    pub most_erases: u32,
    /// The lowest erase count of a user data block.
    pub fewest_erases: u32,
    /// The number of thermal throttling events: a one-byte counter, 255 at most.
    pub throttling_events: u32,
    /// The current throttling level: 0 is none, 1 to 3 are increasing levels.
    pub throttling_level: u32,
    /// Corrected errors of the PCI Express link.
    pub pcie_correctable_errors: u64,
    /// The number of incomplete shutdowns: at power loss, the drive could not save its full state.
    pub incomplete_shutdowns: u32,
    /// Free blocks, in percent of all blocks.
    pub free_blocks_percent: u32,
    /// Host IOs not aligned to the drive's indirection unit.
    pub unaligned_ios: u64,
    /// The rated endurance in bytes written, as the vendor estimates it; absent if not reported.
    pub endurance_bytes: Option<Bytes>,
    /// The version of the page: 2, 3 and 4 for versions 1.0, 2.0 and 2.5 of the specification.
    pub page_version: u32,
}

impl Health {
    /// Decodes the pages of a drive: `smart` of log identifier 02h, `extended` of C0h.
    ///
    /// Returns `None` if `smart` is all zero, as for virtual drives without this log, or all FFh,
    /// as for a drive that has left the bus. Ignores a page C0h without OCP's GUID, which is
    /// vendor-specific.
    pub fn decode(smart: &LogPage, extended: Option<&LogPage>) -> Option<Health> {
        if [0, 0xFF].iter().any(|empty| smart.iter().all(|byte| byte == empty)) {
            return None;
        }
        let page = Page(smart);
        Some(Health {
            critical_warnings: CriticalWarning::of_bits(smart[0]),
            temperature_celsius: celsius(page.small(1, 2)),
            available_spare_percent: page.small(3, 1),
            available_spare_threshold_percent: page.small(4, 1),
            percentage_used: page.small(5, 1),
            host_bytes_read: data_units(page.number(32, 16)),
            host_bytes_written: data_units(page.number(48, 16)),
            host_read_commands: page.number(64, 16),
            host_write_commands: page.number(80, 16),
            busy_minutes: page.number(96, 16),
            power_cycles: page.number(112, 16),
            power_on_hours: page.number(128, 16),
            unsafe_shutdowns: page.number(144, 16),
            media_errors: page.number(160, 16),
            error_log_entries: page.number(176, 16),
            warning_temperature_minutes: page.small(192, 4),
            critical_temperature_minutes: page.small(196, 4),
            light_throttling_transitions: page.small(216, 4),
            heavy_throttling_transitions: page.small(220, 4),
            light_throttling_s: page.small(224, 4),
            heavy_throttling_s: page.small(228, 4),
            ocp: extended.and_then(OcpHealth::decode),
        })
    }
}

impl OcpHealth {
    fn decode(page: &LogPage) -> Option<OcpHealth> {
        if !page.ends_with(&OCP_GUID.to_le_bytes()) {
            return None;
        }
        let page = Page(page);
        Some(OcpHealth {
            media_bytes_written: Bytes(page.number(0, 16)),
            media_bytes_read: Bytes(page.number(16, 16)),
            bad_user_blocks: page.number(32, 6),
            bad_system_blocks: page.number(40, 6),
            xor_recoveries: page.number(48, 8),
            uncorrectable_reads: page.number(56, 8),
            soft_ecc_errors: page.number(64, 8),
            system_percentage_used: page.small(80, 1),
            refreshes: page.number(81, 7),
            most_erases: page.small(88, 4),
            fewest_erases: page.small(92, 4),
            throttling_events: page.small(96, 1),
            throttling_level: page.small(97, 1),
            pcie_correctable_errors: page.number(104, 8),
            incomplete_shutdowns: page.small(112, 4),
            free_blocks_percent: page.small(120, 1),
            unaligned_ios: page.number(136, 8),
            endurance_bytes: Some(Bytes(page.number(176, 16))).filter(|bytes| bytes.0 > 0),
            page_version: page.small(494, 2),
        })
    }
}

/// A reader of the numbers in a page, which are little-endian, unaligned and up to 16 bytes long.
struct Page<'a>(&'a LogPage);

impl Page<'_> {
    /// Reads a number and saturates it at `u64::MAX`.
    fn number(&self, at: usize, len: usize) -> u64 {
        let bytes = self.0[at..at + len].iter().rev();
        let number = bytes.fold(0, |number: u128, &byte| number << 8 | u128::from(byte));
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// Reads a number of up to 4 bytes.
    fn small(&self, at: usize, len: usize) -> u32 {
        u32::try_from(self.number(at, len)).unwrap_or(u32::MAX)
    }
}

fn data_units(units: u64) -> Bytes {
    Bytes(units.saturating_mul(DATA_UNIT.0))
}

/// Converts whole kelvins to degrees Celsius. Returns `None` for 0, which means that there is no
/// sensor.
fn celsius(kelvin: u32) -> Option<f64> {
    let hundredths = 100.0 * f64::from(kelvin) - 27_315.0;
    (kelvin > 0).then_some(hundredths / 100.0)
}

#[cfg(test)]
mod tests;
