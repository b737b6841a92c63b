use super::*;

/// An OCP drive in the middle of its life.
fn drive() -> Health {
    // Only each 16th byte is set, which keeps the counters of 16 bytes small.
    let mut smart: [u8; 512] = std::array::from_fn(|i| if i % 16 == 0 { 3 } else { 0 });
    smart[0] = 0b1;
    let mut extended = smart;
    extended[56] = 5;
    extended[496..].copy_from_slice(&super::super::OCP_GUID.to_le_bytes());
    let mut health = Health::decode(&smart, Some(&extended)).unwrap();
    health.host_bytes_read = Bytes(1_000 * 512_000);
    health.host_bytes_written = Bytes(2_000 * 512_000);
    health
}

/// Returns the health change that `change` causes in [`drive`].
fn after(change: impl FnOnce(&mut Health, &mut OcpHealth)) -> HealthChange {
    let mut after = drive();
    let mut ocp = after.ocp.take().unwrap();
    change(&mut after, &mut ocp);
    after.ocp = Some(ocp);
    HealthChange::between(&drive(), &after)
}

/// Returns the change of a drive that wrote `media` bytes to its flash while the host wrote `units`
/// data units.
fn written(units: u64, media: u64) -> HealthChange {
    after(|health, ocp| {
        health.host_bytes_written.0 += units * 512_000;
        ocp.media_bytes_written.0 += media;
    })
}

// Each change equals the difference of its counter, and is 0 if the counter is unchanged.
#[test]
fn a_change_is_the_difference_of_its_counter() {
    let nothing = HealthChange {
        host_bytes_read: Some(Bytes(0)),
        host_bytes_written: Some(Bytes(0)),
        media_bytes_read: Some(Bytes(0)),
        media_bytes_written: Some(Bytes(0)),
        write_amplification: None,
        thermal: Vec::new(),
        new_critical_warnings: Vec::new(),
        media_errors: Some(0),
        unsafe_shutdowns: Some(0),
        uncorrectable_reads: Some(0),
        retired_blocks: Some(0),
    };
    let idle = HealthChange::between(&drive(), &drive());
    assert_eq!(idle, nothing);
    assert!(!idle.throttled() && !idle.has_errors());
    let busy = after(|health, ocp| {
        health.host_bytes_read.0 += 512_000;
        health.host_bytes_written.0 += 1_024_000;
        ocp.media_bytes_read.0 += 70_000;
        ocp.media_bytes_written.0 += 3_000_001;
        // Rejected commands, including our own, are not errors of the drive.
        health.error_log_entries += 1;
        health.power_on_hours += 1;
    });
    let expected = HealthChange {
        host_bytes_read: Some(Bytes(512_000)),
        host_bytes_written: Some(Bytes(1_024_000)),
        media_bytes_read: Some(Bytes(70_000)),
        media_bytes_written: Some(Bytes(3_000_001)),
        ..nothing
    };
    assert_eq!(busy, expected);
    assert!(!busy.has_errors());
}

// Write amplification is the ratio of the counters, and is absent below 101 data units, where the
// uncertainty would exceed 1 %.
#[test]
fn write_amplification_and_its_uncertainty() {
    assert_eq!(written(100, 1 << 40).write_amplification, None);
    let least = written(101, 101 * 512_000).write_amplification.unwrap();
    assert_eq!((least.ratio, least.relative_uncertainty), (1.0, 0.01));
    let much = written(1_000_001, 2_500_002_500 * 512).write_amplification.unwrap();
    assert!((much.ratio - 2.5).abs() < 1e-12, "{much:?}");
    assert!((much.relative_uncertainty - 1e-6).abs() < 1e-18, "{much:?}");
}

// The true ratio lies within the stated uncertainty, however much each reading was rounded up.
#[test]
fn the_uncertainty_is_a_bound() {
    for true_bytes in [101 * 512_000, 51_800_123, 77_777_777] {
        for began in [1, 255_999, 511_999, 512_000] {
            let units = |bytes: u64| bytes.div_ceil(512_000);
            let counted = units(began + true_bytes) - units(began);
            let media = 3 * true_bytes;
            let Some(found) = written(counted, media).write_amplification else {
                panic!("{true_bytes} {began} {counted}");
            };
            let off = (found.ratio - 3.0).abs() / found.ratio;
            assert!(off <= found.relative_uncertainty, "{true_bytes} {began}: {off} {found:?}");
        }
    }
}

// Without the OCP page in both readings, there is no write amplification and no flash count.
#[test]
fn drives_without_the_ocp_page_have_no_write_amplification() {
    let plain = Health { ocp: None, ..drive() };
    for (before, after) in
        [(plain.clone(), plain.clone()), (drive(), plain.clone()), (plain, drive())]
    {
        let mut after = after;
        after.host_bytes_written.0 += 1 << 30;
        let change = HealthChange::between(&before, &after);
        assert_eq!(change.host_bytes_written, Some(Bytes(1 << 30)));
        assert_eq!((change.media_bytes_written, change.write_amplification), (None, None));
        assert_eq!((change.uncorrectable_reads, change.retired_blocks), (None, None));
        assert!(!change.throttled() && !change.has_errors());
    }
}

// A counter that decreased, as after a reset or an exchange of the drive, gives an absent value.
#[test]
fn counters_that_went_back() {
    let change = after(|health, ocp| {
        health.host_bytes_written.0 -= 512_000;
        health.media_errors -= 1;
        ocp.media_bytes_written.0 += 1 << 40;
        ocp.uncorrectable_reads -= 1;
    });
    assert_eq!((change.host_bytes_written, change.write_amplification), (None, None));
    assert_eq!((change.media_errors, change.uncorrectable_reads), (None, None));
    assert!(!change.has_errors());
}

// Each thermal counter gives its sign. All signs except the warning temperature count as
// throttling.
#[test]
fn each_thermal_counter_gives_its_sign() {
    type Change = fn(&mut Health, &mut OcpHealth);
    let cases: [(Change, ThermalSign, bool); 8] = [
        (|h, _| h.light_throttling_transitions += 1, ThermalSign::LightThrottling, true),
        (|h, _| h.light_throttling_s += 1, ThermalSign::LightThrottling, true),
        (|h, _| h.heavy_throttling_transitions += 1, ThermalSign::HeavyThrottling, true),
        (|h, _| h.heavy_throttling_s += 1, ThermalSign::HeavyThrottling, true),
        (|_, ocp| ocp.throttling_events += 1, ThermalSign::OcpThrottling, true),
        (|_, ocp| ocp.throttling_level = 1, ThermalSign::OcpThrottling, true),
        (|h, _| h.warning_temperature_minutes += 1, ThermalSign::WarningTemperature, false),
        (|h, _| h.critical_temperature_minutes += 1, ThermalSign::CriticalTemperature, true),
    ];
    for (change, sign, throttled) in cases {
        let change = after(change);
        assert_eq!((change.thermal.as_slice(), change.throttled()), ([sign].as_slice(), throttled));
        assert!(!change.has_errors());
    }
    let mut hot = drive();
    hot.ocp.as_mut().unwrap().throttling_level = 3;
    assert!(HealthChange::between(&hot, &drive()).throttled());
}

// Each kind of error counts as an error, but a warning that was active in both readings does not.
#[test]
fn each_kind_of_error_counts() {
    type Change = fn(&mut Health, &mut OcpHealth);
    let cases: [Change; 6] = [
        |health, _| health.critical_warnings.push(CriticalWarning::Degraded),
        |health, _| health.media_errors += 1,
        |health, _| health.unsafe_shutdowns += 1,
        |_, ocp| ocp.uncorrectable_reads += 1,
        |_, ocp| ocp.bad_user_blocks += 1,
        |_, ocp| ocp.bad_system_blocks += 1,
    ];
    for (i, change) in cases.into_iter().enumerate() {
        assert!(after(change).has_errors(), "case {i}");
    }
    assert_eq!(drive().critical_warnings, [CriticalWarning::LowSpare]);
    let warned = after(cases[0]);
    assert_eq!(warned.new_critical_warnings, [CriticalWarning::Degraded]);
    assert!(!after(|health, _| health.critical_warnings.clear()).has_errors());
}
