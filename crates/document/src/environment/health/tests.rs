use super::*;

/// Returns a page with `fields` as bytes at offsets, and zeros elsewhere.
fn page(fields: &[(usize, &[u8])]) -> LogPage {
    let mut page = [0; 512];
    for (at, bytes) in fields {
        page[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    page
}

/// Returns a page whose byte at `i` is `7 * i + 1`, modulo 256, which makes all fields differ.
fn numbered() -> LogPage {
    std::array::from_fn(|i| u8::try_from((7 * i + 1) % 256).unwrap())
}

/// The GUID in the byte order of a page.
const GUID: [u8; 16] = [
    0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF,
];

// Every field of a used drive's page comes from its offset, in its unit.
#[test]
fn smart_of_a_drive_in_use() {
    let smart = page(&[
        (0, &[0b0000_1010]),
        (1, &[0x35, 0x01]),
        (3, &[97]),
        (4, &[10]),
        (5, &[143]),
        (32, &[0x0D, 0xF4, 0x33]),
        (48, &[0xD6, 0xD7, 0x45, 0x02]),
        (64, &[1, 2, 3]),
        (80, &[4, 5, 6]),
        (96, &[0x40, 0xE2, 0x01]),
        (112, &[0x0C]),
        (128, &[0x7A, 0x12]),
        (144, &[5]),
        (160, &[6]),
        (176, &[7, 1]),
        (192, &[0x08, 0, 0, 1]),
        (196, &[0x09, 0, 1]),
        (200, &[0xFF; 16]),
        (216, &[1, 0, 0, 0x10]),
        (220, &[2, 0, 0, 0x20]),
        (224, &[3, 0, 0, 0x30]),
        (228, &[4, 0, 0, 0xFF]),
        (232, &[0xFF; 280]),
    ]);
    let expected = Health {
        critical_warnings: vec![CriticalWarning::Temperature, CriticalWarning::ReadOnly],
        // 309 K.
        temperature_celsius: Some(35.85),
        available_spare_percent: 97,
        available_spare_threshold_percent: 10,
        percentage_used: 143,
        host_bytes_read: Bytes(3_404_813 * 512_000),
        host_bytes_written: Bytes(38_131_670 * 512_000),
        host_read_commands: 0x03_0201,
        host_write_commands: 0x06_0504,
        busy_minutes: 123_456,
        power_cycles: 12,
        power_on_hours: 4730,
        unsafe_shutdowns: 5,
        media_errors: 6,
        error_log_entries: 263,
        warning_temperature_minutes: 0x0100_0008,
        critical_temperature_minutes: 0x0001_0009,
        light_throttling_transitions: 0x1000_0001,
        heavy_throttling_transitions: 0x2000_0002,
        light_throttling_s: 0x3000_0003,
        heavy_throttling_s: 0xFF00_0004,
        ocp: None,
    };
    assert_eq!(Health::decode(&smart, None), Some(expected));
}

// Each warning bit has its name, and undefined bits have none.
#[test]
fn each_warning_bit_has_its_name() {
    let warnings = |bits| Health::decode(&page(&[(0, &[bits])]), None).unwrap().critical_warnings;
    let names =
        ["low_spare", "temperature", "degraded", "read_only", "memory_backup", "persistent_memory"];
    for (bit, name) in names.into_iter().enumerate() {
        assert_eq!(serde_json::json!(warnings(1 << bit)), serde_json::json!([name]));
    }
    assert_eq!(warnings(0xFF).len(), names.len());
    assert_eq!(warnings(0b1100_0000), []);
}

// A counter that exceeds 64 bits saturates instead of wrapping, and the largest one that fits is
// exact.
#[test]
fn counters_beyond_64_bits_saturate() {
    let read = |bytes: &[u8]| Health::decode(&page(&[(32, bytes), (64, bytes)]), None).unwrap();
    let fits = read(&[0xFF; 8]);
    assert_eq!((fits.host_read_commands, fits.host_bytes_read), (u64::MAX, Bytes(u64::MAX)));
    let over = read(&[0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!((over.host_read_commands, over.host_bytes_read), (u64::MAX, Bytes(u64::MAX)));
    let highest = read(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(highest.host_read_commands, u64::MAX);
}

// An empty page gives no health, rather than a drive at 0 K without spare blocks.
#[test]
fn an_empty_page_gives_no_health() {
    assert_eq!(Health::decode(&[0; 512], None), None);
    assert_eq!(Health::decode(&[0xFF; 512], None), None);
    assert_eq!(Health::decode(&[0; 512], Some(&page(&[(496, &GUID)]))), None);
    let told = Health::decode(&page(&[(5, &[1])]), None).unwrap();
    assert_eq!((told.temperature_celsius, told.percentage_used), (None, 1));
}

// Missing bytes of a short page count as 0. The first version of the specification has shorter
// pages; a page may also end within a counter.
#[test]
fn pages_cut_short() {
    let whole = Health::decode(&numbered(), None).unwrap();
    let cut = |at: usize| {
        let mut smart = numbered();
        smart[at..].fill(0);
        Health::decode(&smart, None).unwrap()
    };
    let first = cut(192);
    assert_eq!(first.error_log_entries, whole.error_log_entries);
    assert_eq!((first.warning_temperature_minutes, first.heavy_throttling_s), (0, 0));
    // Bytes 64 and 65 are 7 · 64 + 1 and 7 · 65 + 1, modulo 256.
    assert_eq!((cut(66).host_read_commands, cut(66).host_write_commands), (0xC8C1, 0));
}

// Every field of the OCP page comes from its offset.
#[test]
fn every_ocp_field_comes_from_its_offset() {
    let extended = page(&[
        (0, &[0x00, 0x10, 0x5E, 0x5F, 0x01]),
        (16, &[1, 0, 0, 0, 0, 0, 0, 0x80]),
        (32, &[2, 0, 0, 0, 0, 1]),
        (38, &[100, 0]),
        (40, &[3, 0, 0, 0, 0, 2]),
        (46, &[99, 0]),
        (48, &[4, 0, 0, 0, 0, 0, 0, 1]),
        (56, &[5, 0, 0, 0, 0, 0, 0, 2]),
        (64, &[6, 0, 0, 0, 0, 0, 0, 3]),
        (72, &[0xEE; 8]),
        (80, &[7]),
        (81, &[8, 0, 0, 0, 0, 0, 4]),
        (88, &[9, 0, 0, 5]),
        (92, &[10, 0, 0, 6]),
        (96, &[11]),
        (97, &[2]),
        (98, &[0xEE; 6]),
        (104, &[12, 0, 0, 0, 0, 0, 0, 7]),
        (112, &[13, 0, 0, 8]),
        (116, &[0xEE; 4]),
        (120, &[14]),
        (121, &[0xEE; 15]),
        (136, &[15, 0, 0, 0, 0, 0, 0, 9]),
        (144, &[0xEE; 32]),
        (176, &[16, 0, 0, 0, 0, 0, 0, 10]),
        (192, &[0xEE; 302]),
        (494, &[3, 1]),
        (496, &GUID),
    ]);
    let expected = OcpHealth {
        media_bytes_written: Bytes(0x01_5F5E_1000),
        media_bytes_read: Bytes(0x8000_0000_0000_0001),
        bad_user_blocks: 0x0100_0000_0002,
        bad_system_blocks: 0x0200_0000_0003,
        xor_recoveries: 0x0100_0000_0000_0004,
        uncorrectable_reads: 0x0200_0000_0000_0005,
        soft_ecc_errors: 0x0300_0000_0000_0006,
        system_percentage_used: 7,
        refreshes: 0x0004_0000_0000_0008,
        most_erases: 0x0500_0009,
        fewest_erases: 0x0600_000A,
        throttling_events: 11,
        throttling_level: 2,
        pcie_correctable_errors: 0x0700_0000_0000_000C,
        incomplete_shutdowns: 0x0800_000D,
        free_blocks_percent: 14,
        unaligned_ios: 0x0900_0000_0000_000F,
        endurance_bytes: Some(Bytes(0x0A00_0000_0000_0010)),
        page_version: 0x0103,
    };
    let health = Health::decode(&numbered(), Some(&extended)).unwrap();
    assert_eq!(health.ocp, Some(expected));
    let silent = page(&[(496, &GUID)]);
    let silent = Health::decode(&numbered(), Some(&silent)).unwrap().ocp.unwrap();
    assert_eq!((silent.endurance_bytes, silent.media_bytes_written), (None, Bytes(0)));
}

// A vendor-specific page with the same identifier is ignored if any byte of its GUID differs, or if
// the GUID is in reverse byte order.
#[test]
fn pages_of_other_vendors() {
    let ocp = |guid: &[u8]| {
        let mut extended = numbered();
        extended[496..].copy_from_slice(guid);
        Health::decode(&numbered(), Some(&extended)).unwrap().ocp
    };
    assert!(ocp(&GUID).is_some());
    for i in 0..GUID.len() {
        let mut other = GUID;
        other[i] ^= 1;
        assert_eq!(ocp(&other), None, "byte {i}");
    }
    let mut reversed = GUID;
    reversed.reverse();
    assert_eq!(ocp(&reversed), None);
    assert_eq!(ocp(&[0; 16]), None);
}

// Health survives a round trip through JSON.
#[test]
fn survives_json() {
    let mut extended = numbered();
    extended[496..].copy_from_slice(&GUID);
    let health = Health::decode(&numbered(), Some(&extended)).unwrap();
    let text = serde_json::to_string(&health).unwrap();
    assert_eq!(serde_json::from_str::<Health>(&text).unwrap(), health);
}
