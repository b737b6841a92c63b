//! The health report of a simulated drive, in the form of NVMe's SMART / Health Information log
//! page (NVM Express Base Specification, log identifier 02h) and its extension by OCP (Datacenter
//! NVMe SSD Specification, log identifier C0h).

use flashscope_block::{Bytes, Flash, Nanos, Op};
use flashscope_document::environment::{CriticalWarning, DATA_UNIT, Health, OcpHealth};

use crate::statistics::{OpStatistics, Snapshot};

/// The percentage of available spare below which a simulated drive warns; many drives use this
/// value.
const SPARE_THRESHOLD: u32 = 10;

/// The maximum of the field percentage used, which has one byte.
const MAX_PERCENTAGE_USED: u32 = 255;

/// The version of the log page in version 2.0 of OCP's specification.
const OCP_PAGE: u32 = 3;

/// Returns the health of a drive that reports the state of its flash; `None` for other drives. The
/// drive's life begins when it is attached, or with earlier writes that bring it into its initial
/// state. The drive has one power cycle, and its power-on hours count on its own clock.
///
/// Quantities that the simulation does not model are 0. Examples are throttling, link errors,
/// uncorrectable reads, and blocks for the drive's own data.
pub fn health(snapshot: &Snapshot) -> Option<Health> {
    let flash = snapshot.flash?;
    let [reads, writes] = [Op::Read, Op::Write].map(|op| &snapshot.ops[usize::from(op.code())]);
    let spare = share(flash.spare_blocks, flash.spare_blocks + flash.retired_blocks);
    let errors = |op: &OpStatistics| op.errors;
    Some(Health {
        critical_warnings: warnings(&flash, spare),
        temperature_celsius: None,
        available_spare_percent: spare,
        available_spare_threshold_percent: SPARE_THRESHOLD,
        percentage_used: percentage_used(&flash),
        host_bytes_read: data_units(Bytes(reads.bytes)),
        host_bytes_written: data_units(flash.host_written),
        host_read_commands: reads.requests,
        host_write_commands: writes.requests,
        busy_minutes: snapshot.busy.0 / Nanos::secs(60).0,
        power_cycles: 1,
        power_on_hours: snapshot.now.0 / Nanos::secs(3600).0,
        unsafe_shutdowns: 0,
        media_errors: reads.errors,
        error_log_entries: snapshot.ops.iter().map(errors).sum(),
        warning_temperature_minutes: 0,
        critical_temperature_minutes: 0,
        light_throttling_transitions: 0,
        heavy_throttling_transitions: 0,
        light_throttling_s: 0,
        heavy_throttling_s: 0,
        ocp: Some(extended(&flash)),
    })
}

/// Returns the fields of OCP's page. The comments give the name and the first byte of each field
/// that the simulation models.
fn extended(flash: &Flash) -> OcpHealth {
    OcpHealth {
        media_bytes_written: flash.programmed, // Physical Media Units Written, 0
        media_bytes_read: flash.read,          // Physical Media Units Read, 16
        bad_user_blocks: flash.retired_blocks, // Bad User NAND Blocks, raw count, 32
        bad_system_blocks: 0,
        xor_recoveries: 0,
        uncorrectable_reads: 0,
        soft_ecc_errors: 0,
        system_percentage_used: 0,
        refreshes: 0,
        most_erases: flash.most_erases, // User Data Erase Counts, maximum, 88
        fewest_erases: flash.fewest_erases, // User Data Erase Counts, minimum, 92
        throttling_events: 0,
        throttling_level: 0,
        pcie_correctable_errors: 0,
        incomplete_shutdowns: 0,
        free_blocks_percent: share(flash.free_blocks, flash.blocks()), // % Free Blocks, 120
        unaligned_ios: flash.unaligned_writes,                         // Unaligned I/O, 136
        // Endurance Estimate, 176: the bytes that could be written without write amplification.
        endurance_bytes: Some(Bytes(flash.capacity.0.saturating_mul(flash.rated_erases.into()))),
        page_version: OCP_PAGE,
    }
}

fn warnings(flash: &Flash, spare: u32) -> Vec<CriticalWarning> {
    let warnings = [
        (CriticalWarning::LowSpare, spare < SPARE_THRESHOLD),
        (CriticalWarning::ReadOnly, flash.read_only),
    ];
    warnings.into_iter().filter_map(|(warning, is)| is.then_some(warning)).collect()
}

/// Returns the mean erases per block as a percentage of the rated erases. It exceeds 100 if blocks
/// outlive their rating.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; the cast saturates, and the result is limited to 255"
)]
fn percentage_used(flash: &Flash) -> u32 {
    let used = 100.0 * flash.mean_erases() / f64::from(flash.rated_erases);
    (used as u32).min(MAX_PERCENTAGE_USED)
}

/// Returns `part` in whole percent of `whole`; 100 if `whole` is 0.
fn share(part: u64, whole: u64) -> u32 {
    let percent = (100 * part).checked_div(whole).unwrap_or(100);
    u32::try_from(percent).unwrap_or(u32::MAX)
}

/// Rounds up to whole data units, in which NVMe drives count.
fn data_units(bytes: Bytes) -> Bytes {
    Bytes(bytes.0.next_multiple_of(DATA_UNIT.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flash, snapshot};

    // Bytes, commands and times are those of the snapshot, in NVMe's units.
    #[test]
    fn counters_are_those_of_the_snapshot() {
        let health = health(&snapshot()).unwrap();
        assert_eq!(health.host_bytes_read, Bytes(512_000), "rounded up");
        assert_eq!(health.host_bytes_written, Bytes(1_024_000));
        assert_eq!((health.host_read_commands, health.host_write_commands), (3, 2));
        assert_eq!((health.media_errors, health.error_log_entries), (1, 1));
        assert_eq!((health.busy_minutes, health.power_on_hours), (61, 2));
        let ocp = health.ocp.unwrap();
        assert_eq!((ocp.media_bytes_written, ocp.media_bytes_read), (Bytes(3 << 20), Bytes(4096)));
        assert_eq!((ocp.most_erases, ocp.fewest_erases, ocp.free_blocks_percent), (9, 2, 25));
        assert_eq!(ocp.endurance_bytes, Some(Bytes(160 << 20)));
    }

    // Percentage used exceeds 100 and stops at 255; available spare is relative to the initial
    // spare.
    #[test]
    fn wear_raises_percentage_used_and_lowers_spare() {
        let of = |erasures, spare_blocks, retired_blocks, read_only| {
            let flash = Flash { erasures, spare_blocks, retired_blocks, read_only, ..flash() };
            health(&Snapshot { flash: Some(flash), ..snapshot() }).unwrap()
        };
        let new = of(0, 4, 0, false);
        assert_eq!((new.percentage_used, new.available_spare_percent), (0, 100));
        assert_eq!(new.critical_warnings, []);
        // 64 blocks are rated for 10 erases each.
        assert_eq!(of(704, 4, 0, false).percentage_used, 110);
        assert_eq!(of(64_000, 4, 0, false).percentage_used, 255);
        let worn = of(640, 1, 19, true);
        assert_eq!((worn.percentage_used, worn.available_spare_percent), (100, 5));
        assert_eq!(worn.critical_warnings, [CriticalWarning::LowSpare, CriticalWarning::ReadOnly]);
        assert_eq!(worn.ocp.unwrap().bad_user_blocks, 19);
        assert_eq!(
            of(0, 0, 0, false).available_spare_percent,
            100,
            "the drive never had spare blocks"
        );
    }

    // A drive that does not report its flash has no health report.
    #[test]
    fn a_drive_without_flash_has_no_health() {
        assert_eq!(health(&Snapshot { flash: None, ..snapshot() }), None);
    }
}
