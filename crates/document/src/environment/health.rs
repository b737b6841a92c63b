//! What an NVMe drive tells of its own health, and how its two log pages say it.

mod change;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use change::{HealthChange, ThermalSign, WriteAmplification};

/// A log page as a drive gives it.
pub type LogPage = [u8; 512];

/// Bytes of a data unit, in which a drive counts what the host reads and writes: 1,000 of 512 bytes,
/// whatever its sectors are, rounded up.
pub const DATA_UNIT: Bytes = Bytes(512_000);

/// The GUID of the extended page of OCP, AFD514C9-7C6F-4F9C-A4F2-BFEA2810AFC5, which is stored with
/// its last byte first.
const OCP_GUID: u128 = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5;

/// What an NVMe drive tells of itself over its life so far: its SMART / Health Information (NVM
/// Express Base Specification, log identifier 02h).
///
/// Counters of 16 bytes end at 2⁶⁴ - 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// What it warns of now.
    pub critical_warnings: Vec<CriticalWarning>,
    /// Its composite temperature, in degrees Celsius; absent where it reports none.
    #[schemars(range(min = -273.15, max = 1000.0))]
    pub temperature_celsius: Option<f64>,
    /// What is left of its spare blocks, in percent.
    #[schemars(range(max = 100))]
    pub available_spare_percent: u32,
    /// Below how much of them it warns, in percent.
    #[schemars(range(max = 100))]
    pub available_spare_threshold_percent: u32,
    /// How much of its rated life is used, as its maker reckons, in percent: it may be over 100, and
    /// ends at 255.
    pub percentage_used: u32,
    /// Bytes that the host read, counted in data units of 512,000 and rounded up.
    pub host_bytes_read: Bytes,
    /// Bytes that the host wrote, counted in data units of 512,000 and rounded up.
    pub host_bytes_written: Bytes,
    /// Read commands of the host.
    pub host_read_commands: u64,
    /// Write commands of the host.
    pub host_write_commands: u64,
    /// For how long it was busy with IOs, in minutes.
    pub busy_minutes: u64,
    /// How often it was powered on.
    pub power_cycles: u64,
    /// For how long it was powered, in hours; perhaps without its low power states.
    pub power_on_hours: u64,
    /// How often it lost power without being told before.
    pub unsafe_shutdowns: u64,
    /// How often it could not give back data as they were written.
    pub media_errors: u64,
    /// Entries of its error log. They count rejected commands too, so that questions for pages that
    /// it lacks raise it, and a rise is no fault.
    pub error_log_entries: u64,
    /// For how long it was hotter than its warning threshold, in minutes.
    pub warning_temperature_minutes: u32,
    /// For how long it was hotter than its critical threshold, in minutes.
    pub critical_temperature_minutes: u32,
    /// How often it began to throttle lightly, minding performance (thermal management
    /// temperature 1). Drives that cannot be told such a temperature say 0.
    pub light_throttling_transitions: u32,
    /// How often it began to throttle heavily, whatever it costs in performance (thermal management
    /// temperature 2). Drives that cannot be told such a temperature say 0.
    pub heavy_throttling_transitions: u32,
    /// For how long it throttled lightly, in seconds.
    pub light_throttling_s: u32,
    /// For how long it throttled heavily, in seconds.
    pub heavy_throttling_s: u32,
    /// What drives for data centres tell besides; absent where it was not asked for or the drive does
    /// not have it.
    pub ocp: Option<OcpHealth>,
}

/// What an NVMe drive warns of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CriticalWarning {
    /// Fewer spare blocks are left than its threshold.
    LowSpare,
    /// It is hotter or colder than its thresholds.
    Temperature,
    /// It is less reliable, after errors of its media or within.
    Degraded,
    /// It lets nothing be written any more.
    ReadOnly,
    /// What keeps its volatile memory through a power cut failed.
    MemoryBackup,
    /// Its persistent memory region is read-only or unreliable.
    PersistentMemory,
}

impl CriticalWarning {
    /// In the order of their bits, from bit 0.
    const ALL: [CriticalWarning; 6] = [
        CriticalWarning::LowSpare,
        CriticalWarning::Temperature,
        CriticalWarning::Degraded,
        CriticalWarning::ReadOnly,
        CriticalWarning::MemoryBackup,
        CriticalWarning::PersistentMemory,
    ];

    /// What the drive warns of, for people: "the drive warns that ...".
    pub fn text(self) -> &'static str {
        match self {
            CriticalWarning::LowSpare => "few spare blocks are left",
            CriticalWarning::Temperature => "it is too hot or too cold",
            CriticalWarning::Degraded => "errors made it less reliable",
            CriticalWarning::ReadOnly => "it cannot be written any more",
            CriticalWarning::MemoryBackup => "a power cut may lose what is in its memory",
            CriticalWarning::PersistentMemory => "its persistent memory region failed",
        }
    }
}

/// What drives for data centres tell besides: SMART / Health Information Extended (OCP Datacenter
/// NVMe SSD Specification, log identifier C0h).
///
/// Counters of 16 bytes end at 2⁶⁴ - 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OcpHealth {
    /// Bytes written to the flash: for the host, and for cleaning, wear levelling and metadata.
    pub media_bytes_written: Bytes,
    /// Bytes read from the flash, for whatever reason.
    pub media_bytes_read: Bytes,
    /// Blocks for the host's data that were retired.
    pub bad_user_blocks: u64,
    /// Blocks for the drive's own data that were retired.
    pub bad_system_blocks: u64,
    /// How often data were rebuilt from the parity over several dies.
    pub xor_recoveries: u64,
    /// Reads that nothing could correct.
    pub uncorrectable_reads: u64,
    /// Reads that the first, fast error correction could not correct.
    pub soft_ecc_errors: u64,
    /// How much of the rated life of the blocks for the drive's own data is used, in percent.
    pub system_percentage_used: u32,
    /// Blocks that were rewritten so that their data stay readable.
    pub refreshes: u64,
    /// Erases of the block for the host's data that was erased most.
    pub most_erases: u32,
    /// Erases of the block for the host's data that was erased least.
    pub fewest_erases: u32,
    /// How often it began to throttle for its temperature: of one byte, so 255 at most.
    pub throttling_events: u32,
    /// How much it throttles now: 0 not at all, 1 to 3 rising.
    pub throttling_level: u32,
    /// Errors of its PCI Express link that were corrected.
    pub pcie_correctable_errors: u64,
    /// How often it could not save all of its state when power went.
    pub incomplete_shutdowns: u32,
    /// Free blocks, in percent of all.
    pub free_blocks_percent: u32,
    /// IOs of the host that were not aligned to its own unit of writing.
    pub unaligned_ios: u64,
    /// How many bytes may be written to it in all its life, as its maker reckons; absent where it
    /// does not say.
    pub endurance_bytes: Option<Bytes>,
    /// Version of the page: 2, 3 and 4 for versions 1.0, 2.0 and 2.5 of the specification.
    pub page_version: u32,
}

impl Health {
    /// What the pages of a drive say: `smart` of log identifier 02h, `extended` of C0h.
    ///
    /// None where `smart` is all zero, as of drives of virtual machines that keep no such log. A page
    /// at C0h without OCP's GUID is some vendor's own, and is passed over.
    pub fn decode(smart: &LogPage, extended: Option<&LogPage>) -> Option<Health> {
        if smart.iter().all(|&byte| byte == 0) {
            return None;
        }
        let page = Page(smart);
        let warns = |bit: &usize| smart[0] >> bit & 1 == 1;
        Some(Health {
            critical_warnings: (0..CriticalWarning::ALL.len())
                .filter(warns)
                .map(|bit| CriticalWarning::ALL[bit])
                .collect(),
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

/// Numbers of a page: little-endian, at any offset and of any length up to 16 bytes.
struct Page<'a>(&'a LogPage);

impl Page<'_> {
    /// Ends at `u64::MAX`.
    fn number(&self, at: usize, len: usize) -> u64 {
        let bytes = self.0[at..at + len].iter().rev();
        let number = bytes.fold(0, |number: u128, &byte| number << 8 | u128::from(byte));
        u64::try_from(number).unwrap_or(u64::MAX)
    }

    /// Of up to 4 bytes.
    fn small(&self, at: usize, len: usize) -> u32 {
        u32::try_from(self.number(at, len)).unwrap_or(u32::MAX)
    }
}

fn data_units(units: u64) -> Bytes {
    Bytes(units.saturating_mul(DATA_UNIT.0))
}

/// Whole Kelvin, of which 0 says that there is no sensor.
fn celsius(kelvin: u32) -> Option<f64> {
    let hundredths = 100.0 * f64::from(kelvin) - 27_315.0;
    (kelvin > 0).then_some(hundredths / 100.0)
}

#[cfg(test)]
mod tests;
