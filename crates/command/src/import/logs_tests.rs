//! Logs without offsets, of means, of rates or of several processes give the means of the logs of
//! single IOs.

use std::collections::BTreeMap;

use super::tests::{import_with, replace_all, samples};
use super::*;

/// The logs of the sample: the name of the job, which is the base name of the log, and the number
/// of the process.
const LOGS: [(&str, u32); 4] = [("fill", 1), ("randread", 2), ("randwrite", 3), ("mixed", 4)];

/// Replaces each log by a log of this kind, whose text `change` returns for the old text.
fn rewrite(place: &tempfile::TempDir, kind: &str, change: impl Fn(&str) -> String) {
    for (name, number) in LOGS {
        let old = place.path().join(format!("{name}_lat.{number}.log"));
        let Ok(text) = std::fs::read_to_string(&old) else { continue };
        std::fs::remove_file(&old).unwrap();
        let new = place.path().join(format!("{name}_{kind}.{number}.log"));
        std::fs::write(new, change(&text)).unwrap();
    }
}

fn each_line(text: &str, change: impl Fn(&[&str]) -> String) -> String {
    let line = |line: &str| change(&line.split(", ").collect::<Vec<_>>()) + "\n";
    text.lines().map(line).collect()
}

/// Returns a log with a line for each direction and each window of 1 ms with IOs, as fio writes it.
/// `value` returns the value of a line from the latencies and the time since the previous line.
fn averaged(text: &str, value: impl Fn(&[u64], u64) -> u64) -> String {
    let mut windows = BTreeMap::<(u64, u64), Vec<u64>>::new();
    for line in text.lines() {
        let fields: Vec<u64> = line.split(", ").map_while(|field| field.parse().ok()).collect();
        windows.entry((fields[0], fields[2])).or_default().push(fields[1]);
    }
    let mut previous = [0, 0];
    let line = |((ms, direction), values): (&(u64, u64), &Vec<u64>)| {
        let previous = &mut previous[usize::try_from(*direction).unwrap()];
        let elapsed = std::mem::replace(previous, ms + 1).abs_diff(ms + 1).max(1);
        format!("{}, {}, {direction}, 0, 0\n", ms + 1, value(values, elapsed))
    };
    windows.iter().map(line).collect()
}

fn mean(values: &[u64], _: u64) -> u64 {
    values.iter().sum::<u64>() / values.len() as u64
}

fn rate(values: &[u64], elapsed: u64) -> u64 {
    1000 * values.len() as u64 / elapsed
}

fn notes(imported: &ImportResult) -> String {
    imported.manifest.imported.as_ref().unwrap().notes.join("\n")
}

/// Asserts that the runs have the IOs of fio, and its means within a share of `tolerance`.
fn assert_means(imported: &ImportResult, tolerance: f64) {
    let means = [54_766.6, 7_592.7, 108_192.7, 109_987.1];
    for (run, mean) in imported.facts.runs.iter().zip(means) {
        assert_eq!(run.ios, 600);
        let ratio = run.latency_ns.mean.value / mean;
        assert!((ratio - 1.0).abs() < tolerance, "run {}: {ratio}", run.run);
    }
}

#[test]
fn the_whole_log_needs_no_note() {
    let imported = import_with(&samples(), &[]).unwrap();
    assert_means(&imported, 1e-3);
    assert_eq!(imported.manifest.imported, Some(ImportNotes { window_ns: None, notes: vec![] }));
}

#[test]
fn logs_without_offsets_say_so() {
    let place = samples();
    rewrite(&place, "lat", |text| each_line(text, |fields| fields[..4].join(", ")));
    let imported = import_with(&place, &[]).unwrap();
    assert_means(&imported, 1e-3);
    assert!(
        notes(&imported).contains("The logs of `fill` have no offsets"),
        "{}",
        notes(&imported)
    );
}

#[test]
fn a_log_of_completion_latencies_stands_for_the_total_ones() {
    let place = samples();
    rewrite(&place, "clat", ToString::to_string);
    let imported = import_with(&place, &[]).unwrap();
    assert_means(&imported, 1e-3);
    assert!(notes(&imported).contains("are fio's clat"), "{}", notes(&imported));
}

#[test]
fn a_log_of_bandwidths_gives_latencies() {
    let place = samples();
    replace_all(&place, "four.json", "write_lat_log", "write_bw_log");
    rewrite(&place, "bw", |text| {
        each_line(text, |fields| {
            let [latency, len] = [1, 3].map(|nth| fields[nth].parse::<u64>().unwrap());
            format!(
                "{}, {}, {}, {len}, {}, 0",
                fields[0],
                len * 1_000_000 / latency,
                fields[2],
                fields[4]
            )
        })
    });
    let imported = import_with(&place, &[]).unwrap();
    assert_means(&imported, 0.02);
    assert!(
        notes(&imported).contains("follow from the bandwidth of each IO"),
        "{}",
        notes(&imported)
    );
}

#[test]
fn averages_become_ios_with_the_mean_of_their_window() {
    let place = samples();
    replace_all(&place, "four.json", "\"log_avg_msec\" : \"0\"", "\"log_avg_msec\" : \"1\"");
    let rates = |text: &str| averaged(text, rate);
    for (name, number) in LOGS {
        let log = place.path().join(format!("{name}_lat.{number}.log"));
        let Ok(text) = std::fs::read_to_string(log) else { continue };
        std::fs::write(place.path().join(format!("{name}_iops.{number}.log")), rates(&text))
            .unwrap();
    }
    rewrite(&place, "lat", |text| averaged(text, mean));
    let by_littles_law = import_with(&place, &[]).unwrap();
    assert_means(&by_littles_law, 0.5);
    std::fs::remove_dir_all(&by_littles_law.path).unwrap();
    replace_all(
        &place,
        "four.json",
        "\"write_lat_log\" : \"",
        "\"write_iops_log\" : \"\", \"write_lat_log\" : \"",
    );
    let imported = import_with(&place, &[]).unwrap();
    assert_means(&imported, 0.1);
    assert_eq!(imported.manifest.imported.as_ref().unwrap().window_ns, Some(Nanos::millis(1)));
    assert!(
        notes(&imported).contains("The logs of `mixed` have means over 1 ms"),
        "{}",
        notes(&imported)
    );
    let reads =
        |facts: &Facts| facts.runs[3].operations.iter().map(|part| part.ios).collect::<Vec<_>>();
    assert_eq!(reads(&imported.facts), [413, 187]);
}

#[test]
fn rates_alone_have_the_mean_latency_of_fio() {
    let place = samples();
    replace_all(&place, "four.json", "\"log_avg_msec\" : \"0\"", "\"log_avg_msec\" : \"1\"");
    replace_all(&place, "four.json", "write_lat_log", "write_iops_log");
    rewrite(&place, "iops", |text| averaged(text, rate));
    let imported = import_with(&place, &[]).unwrap();
    assert_means(&imported, 1e-3);
    assert!(notes(&imported).contains("follow from the rates and mean"), "{}", notes(&imported));
    let place = samples();
    replace_all(&place, "four.json", "write_lat_log", "write_iops_log");
    rewrite(&place, "iops", |text| {
        each_line(text, |fields| format!("{}, 1, {}, 4096", fields[0], fields[2]))
    });
    let error = import_with(&place, &[]).err().unwrap();
    assert!(error.contains("a log of IOs per second alone"), "{error}");
}

#[test]
fn processes_may_share_a_log() {
    let place = samples();
    replace_all(
        &place,
        "four.json",
        "\"log_avg_msec\"",
        "\"per_job_logs\" : \"0\", \"log_avg_msec\"",
    );
    for (name, number) in LOGS {
        let log = place.path().join(format!("{name}_lat.{number}.log"));
        let Ok(text) = std::fs::read_to_string(&log) else { continue };
        let shared = place.path().join(format!("{name}_lat.log"));
        let before = std::fs::read_to_string(&shared).unwrap_or_default();
        std::fs::write(shared, before + &text).unwrap();
        std::fs::remove_file(log).unwrap();
    }
    assert_means(&import_with(&place, &[]).unwrap(), 1e-3);
}
