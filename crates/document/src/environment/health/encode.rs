//! Encodes the health as log pages: the inverse of decoding.

use super::{CriticalWarning, DATA_UNIT, Health, LogPage, OCP_GUID, OcpHealth};

impl Health {
    /// Encodes the page 02h of a drive. A drive without a temperature reports 0 K.
    pub fn encode(&self) -> LogPage {
        let mut page = PageWriter([0; 512]);
        let bit = |warning: &CriticalWarning| {
            CriticalWarning::ALL.iter().position(|other| other == warning).unwrap_or_default()
        };
        let warnings =
            self.critical_warnings.iter().fold(0, |bits, warning| bits | 1 << bit(warning));
        page.number(0, 1, warnings);
        page.number(1, 2, self.temperature_celsius.map_or(0, kelvin));
        page.number(3, 1, self.available_spare_percent.into());
        page.number(4, 1, self.available_spare_threshold_percent.into());
        page.number(5, 1, self.percentage_used.into());
        page.number(32, 16, self.host_bytes_read.0.div_ceil(DATA_UNIT.0));
        page.number(48, 16, self.host_bytes_written.0.div_ceil(DATA_UNIT.0));
        page.number(64, 16, self.host_read_commands);
        page.number(80, 16, self.host_write_commands);
        page.number(96, 16, self.busy_minutes);
        page.number(112, 16, self.power_cycles);
        page.number(128, 16, self.power_on_hours);
        page.number(144, 16, self.unsafe_shutdowns);
        page.number(160, 16, self.media_errors);
        page.number(176, 16, self.error_log_entries);
        page.number(192, 4, self.warning_temperature_minutes.into());
        page.number(196, 4, self.critical_temperature_minutes.into());
        page.number(216, 4, self.light_throttling_transitions.into());
        page.number(220, 4, self.heavy_throttling_transitions.into());
        page.number(224, 4, self.light_throttling_s.into());
        page.number(228, 4, self.heavy_throttling_s.into());
        page.0
    }
}

impl OcpHealth {
    /// Encodes the page C0h of a drive.
    pub fn encode(&self) -> LogPage {
        let mut page = PageWriter([0; 512]);
        page.number(0, 16, self.media_bytes_written.0);
        page.number(16, 16, self.media_bytes_read.0);
        page.number(32, 6, self.bad_user_blocks);
        page.number(40, 6, self.bad_system_blocks);
        page.number(48, 8, self.xor_recoveries);
        page.number(56, 8, self.uncorrectable_reads);
        page.number(64, 8, self.soft_ecc_errors);
        page.number(80, 1, self.system_percentage_used.into());
        page.number(81, 7, self.refreshes);
        page.number(88, 4, self.most_erases.into());
        page.number(92, 4, self.fewest_erases.into());
        page.number(96, 1, self.throttling_events.into());
        page.number(97, 1, self.throttling_level.into());
        page.number(104, 8, self.pcie_correctable_errors);
        page.number(112, 4, self.incomplete_shutdowns.into());
        page.number(120, 1, self.free_blocks_percent.into());
        page.number(136, 8, self.unaligned_ios);
        page.number(176, 16, self.endurance_bytes.map_or(0, |bytes| bytes.0));
        page.number(494, 2, self.page_version.into());
        page.0[496..].copy_from_slice(&OCP_GUID.to_le_bytes());
        page.0
    }
}

/// A writer of the numbers in a page, which are little-endian, unaligned and up to 16 bytes long.
struct PageWriter(LogPage);

impl PageWriter {
    /// Writes a number, which saturates at the largest value of `len` bytes.
    fn number(&mut self, at: usize, len: usize, value: u64) {
        let most = if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 };
        let bytes = value.min(most).to_le_bytes();
        let len = len.min(bytes.len());
        self.0[at..at + len].copy_from_slice(&bytes[..len]);
    }
}

/// Converts degrees Celsius to whole kelvins.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn kelvin(celsius: f64) -> u64 {
    (celsius + 273.15).round() as u64
}

#[cfg(test)]
mod tests {
    use flashscope_block::Bytes;

    use super::*;

    /// Returns a health whose fields all differ.
    fn health() -> Health {
        let mut page = [0; 512];
        page[0] = 0b1001;
        for (at, byte) in page.iter_mut().enumerate().take(232).skip(1) {
            // Counters have 16 bytes. The bytes from 5 on stay 0, because larger values saturate.
            let counter = (32..192).contains(&at) && at % 16 >= 5;
            *byte = if counter || (6..32).contains(&at) || (200..216).contains(&at) {
                0
            } else {
                u8::try_from(at).unwrap()
            };
        }
        let mut ocp = [0; 512];
        for at in (0..5).chain(16..21).chain(32..37).chain(40..144).chain(176..181).chain(494..496)
        {
            ocp[at] = u8::try_from(at % 251).unwrap() + 1;
        }
        ocp[496..].copy_from_slice(&OCP_GUID.to_le_bytes());
        Health::decode(&page, Some(&ocp)).unwrap()
    }

    // A host decodes the health that a drive encoded.
    #[test]
    fn encoded_pages_decode_to_the_same_health() {
        let health = health();
        let ocp = health.ocp.clone().unwrap();
        assert_eq!(Health::decode(&health.encode(), Some(&ocp.encode())), Some(health.clone()));
        let full = OcpHealth { bad_user_blocks: u64::MAX, ..ocp };
        assert_eq!(
            OcpHealth::decode(&full.encode()).unwrap().bad_user_blocks,
            (1 << 48) - 1,
            "saturates"
        );
        let written = Health { host_bytes_written: Bytes(1), ..health };
        let decoded = Health::decode(&written.encode(), None).unwrap();
        assert_eq!(decoded.host_bytes_written, DATA_UNIT, "rounds up");
    }
}
