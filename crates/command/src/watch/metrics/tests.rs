use flashscope_block::Bytes;
use flashscope_document::environment::{LatencyMonitor, LogPage, WriteAmplification};
use flashscope_document::manifest::Tool;
use flashscope_document::watch::{
    WATCH_VERSION, WatchReport, WatchSource, WatchedAmplification, WatchedDrive, WearCounter,
};

use super::*;
use crate::watch::WatchFailures;

/// Returns the state of a watch of one drive that has every value, with a folder.
pub(in crate::watch) fn state() -> WatchState {
    let mut smart: LogPage = [0; 512];
    (smart[0], smart[1], smart[2], smart[3], smart[4], smart[5]) = (0b1, 0x2C, 1, 90, 10, 7);
    smart[48] = 5;
    let mut extended: LogPage = [0; 512];
    extended[0..4].copy_from_slice(&7_000_000u32.to_le_bytes());
    let guid: u128 = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5;
    extended[496..].copy_from_slice(&guid.to_le_bytes());
    let mut monitor: LogPage = [0; 512];
    (monitor[0], monitor[44]) = (1, 3);
    // The thresholds of the last two buckets are equal.
    (monitor[7], monitor[8], monitor[9], monitor[92]) = (1, 9, 9, 7);
    let guid: u128 = 0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92;
    monitor[496..].copy_from_slice(&guid.to_le_bytes());
    let known = KnownEndurance {
        days_left: 100.0,
        days_left_low: 80.0,
        days_left_high: 125.0,
        steps: 5,
        counter: WearCounter::Media,
        bytes_per_day: 1e9,
        bytes_per_percent: 1e10,
    };
    let value = WriteAmplification::of(Bytes(512_000_000), Bytes(1_024_000_000)).unwrap();
    let drive = DriveWatch {
        drive: WatchedDrive {
            name: "/dev/nvme0n1".into(),
            source: WatchSource::Nvme,
            model: Some("a \"test\" drive".into()),
            serial: Some("S1".into()),
        },
        error: None,
        read_at: Some("2026-01-01T00:00:00Z".into()),
        health: Health::decode(&smart, Some(&extended)),
        latency_monitor: LatencyMonitor::decode(&monitor),
        write_amplification: Some(WatchedAmplification { since: None, value }),
        endurance: EnduranceForecast::Known { forecast: known },
    };
    let tool = Tool { version: "1".into(), commit: None };
    let at = "2026-01-01T00:00:30Z".into();
    let report = WatchReport { schema_version: WATCH_VERSION, tool, at, drives: vec![drive] };
    WatchState { report, has_folder: true, failures: WatchFailures::default() }
}

/// Returns the names of the samples of a page.
pub(in crate::watch) fn sample_names(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(['{', ' ']).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_metric_has_samples_with_the_label_of_the_drive() {
    let text = text(&state());
    let names = sample_names(&text);
    for metric in ALL {
        assert!(names.contains(&metric.full_name()), "{} in {text}", metric.full_name());
    }
    let is_of_drive = |line: &&str| !line.starts_with('#') && !line.contains("_folder_up ");
    let samples = text.lines().filter(is_of_drive);
    assert!(samples.into_iter().all(|line| line.contains("{drive=\"S1\"")), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn values_have_base_units() {
    let text = text(&state());
    for line in [
        "flashscope_watch_up{drive=\"S1\"} 1.0",
        "flashscope_watch_read_timestamp_seconds{drive=\"S1\"} 1767225600.0",
        "flashscope_watch_critical_warning{drive=\"S1\",warning=\"low_spare\"} 1.0",
        "flashscope_watch_critical_warning{drive=\"S1\",warning=\"read_only\"} 0.0",
        "flashscope_watch_temperature_celsius{drive=\"S1\"} 26.85",
        "flashscope_watch_life_used_ratio{drive=\"S1\"} 0.07",
        "flashscope_watch_rated_life_left_low_seconds{drive=\"S1\"} 6912000.0",
        "flashscope_watch_host_written_bytes_total{drive=\"S1\"} 2560000.0",
        "flashscope_watch_media_written_bytes_total{drive=\"S1\"} 7000000.0",
        "flashscope_watch_write_amplification{drive=\"S1\"} 2.0",
        "flashscope_watch_slow_commands{drive=\"S1\",op=\"read\",at_least_seconds=\"0.005\"} 3.0",
        "flashscope_watch_slow_commands{drive=\"S1\",op=\"read\",at_least_seconds=\"0.05\"} 7.0",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line} in {text}");
    }
    assert!(text.contains("model=\"a \\\"test\\\" drive\""), "{text}");
}

#[test]
fn the_state_of_the_folder_is_a_metric_of_the_watch() {
    let mut state = state();
    assert!(text(&state).contains("\nflashscope_watch_folder_up 1.0\n"));
    state.failures.folder = Some("full".into());
    assert!(text(&state).contains("\nflashscope_watch_folder_up 0.0\n"));
}

#[test]
fn each_series_is_on_the_page_once() {
    let text = text(&state());
    let series = |line: &str| line.rsplit_once(' ').unwrap().0.to_owned();
    let mut all: Vec<String> =
        text.lines().filter(|line| !line.starts_with('#')).map(series).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "{text}");
}

#[test]
fn a_drive_that_failed_before_its_first_reading_has_only_its_state() {
    let mut state = state();
    state.has_folder = false;
    let drive = &mut state.report.drives[0];
    drive.error = Some("gone".into());
    (drive.read_at, drive.health, drive.latency_monitor) = (None, None, None);
    drive.write_amplification = None;
    drive.endurance = EnduranceForecast::Unknown { reason: "there is no reading yet".into() };
    let names = sample_names(&text(&state));
    assert_eq!(names, ["flashscope_watch_drive_info", "flashscope_watch_up"]);
    state.report.drives[0].endurance = EnduranceForecast::Reached;
    let worn = text(&state);
    assert!(worn.contains("flashscope_watch_rated_life_left_seconds{drive=\"S1\"} 0.0"), "{worn}");
    state.report.drives.clear();
    assert_eq!(text(&state), "# EOF\n");
}
