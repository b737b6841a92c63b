//! Fits fill sweeps of real drives. The data are SSD-iq's public logs, in `$FLASHSCOPE_DATA` or in
//! `shared/data` beside the repository.

#![allow(clippy::print_stderr, reason = "prints skipped tests and prediction errors")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of drives in GiB"
)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flashscope_block::Bytes;
use flashscope_document::twin::Level;
use flashscope_fit::{bytes_per_second, fit_fill, write_amplification};

/// The share of intervals that are meant to contain the true value.
const CONFIDENCE: f64 = 0.9;

#[allow(clippy::disallowed_methods, reason = "a test reads the location of its data")]
fn read(name: &str) -> Option<String> {
    let named = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = named.unwrap_or(beside).join("devices/ssdiq/finalop02b").join(name);
    let Ok(packed) = std::fs::File::open(&path) else {
        eprintln!("skipped: {} does not exist", path.display());
        return None;
    };
    let mut text = String::new();
    zstd::Decoder::new(packed).unwrap().read_to_string(&mut text).unwrap();
    Some(text)
}

/// Returns the rows of uniform writes by run, each as a map of its columns.
fn runs(text: &str) -> BTreeMap<String, Vec<BTreeMap<&str, &str>>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').map(str::trim).collect();
    let mut runs: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for line in lines {
        let row: BTreeMap<&str, &str> = names.iter().copied().zip(line.split(',')).collect();
        // The file joins the logs of several programs, each with its own header line.
        if row["pattern"] == "uniform" {
            let run = row.get("time").filter(|time| time.len() > 10).unwrap_or(&row["hash"]);
            runs.entry((*run).to_string()).or_default().push(row);
        }
    }
    runs
}

fn number(row: &BTreeMap<&str, &str>, name: &str) -> f64 {
    row[name].parse().unwrap()
}

/// Returns the last fifth of a run, where the drive is steady.
fn steady<'r>(rows: &'r [BTreeMap<&'r str, &'r str>]) -> &'r [BTreeMap<&'r str, &'r str>] {
    &rows[rows.len() * 4 / 5..]
}

fn mean(rows: &[BTreeMap<&str, &str>], name: &str) -> f64 {
    rows.iter().map(|row| number(row, name)).sum::<f64>() / rows.len() as f64
}

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

/// Reads the levels of a Micron 7450 MAX 800 GB, which reports the bytes it programs.
fn max() -> Option<Vec<Level>> {
    let text = read("iob-log-mp0op02.csv.zst")?;
    let level = |rows: &Vec<BTreeMap<&str, &str>>| {
        let last = steady(rows);
        let media = |row| number(row, "physicalMediaUnitsWrittenBytes");
        let programmed = media(&last[last.len() - 1]) - media(&last[0]);
        let written: f64 = last[1..].iter().map(|row| number(row, "writesMBs") * MIB).sum();
        Level {
            fill: Bytes((number(&rows[0], "usedfilesize") * GIB) as u64),
            write_amplification: Some(programmed / written),
            bytes_per_second: Some(mean(last, "writesMBs") * MIB),
            queue_depth: None,
        }
    };
    let runs = runs(&text);
    // For a level that was measured twice, uses the longer run.
    let mut longest: BTreeMap<u64, &Vec<_>> = BTreeMap::new();
    for rows in runs.values() {
        let fill = number(&rows[0], "usedfilesize") as u64;
        let known = longest.entry(fill).or_insert(rows);
        if rows.len() > known.len() {
            *known = rows;
        }
    }
    Some(longest.into_values().map(level).collect())
}

// Half of the fill levels predict the write amplification of the other half within 2 %, and the
// throughput within 3 %. All levels together do not determine whether the drive cleans greedily or
// in FIFO order, but they exclude random cleaning.
#[test]
fn half_of_the_levels_predict_the_others() {
    let Some(levels) = max() else { return };
    assert_eq!(levels.len(), 6);
    for first in 0..2 {
        let half = |odd: usize| levels.iter().skip(odd).step_by(2).copied().collect::<Vec<_>>();
        let fit = fit_fill(&half(first), 1, CONFIDENCE).unwrap();
        for level in half(1 - first) {
            let measured = level.write_amplification.unwrap();
            let off = write_amplification(fit.best(), level.fill) / measured - 1.0;
            let rate = bytes_per_second(fit.best(), level.fill).unwrap();
            let rate_off = rate / level.bytes_per_second.unwrap() - 1.0;
            eprintln!(
                "{}: WA {measured:.3} off {off:.4}, throughput off {rate_off:.4}",
                level.fill
            );
            assert!(off.abs() < 0.02 && rate_off.abs() < 0.03, "{level:?}: {off} {rate_off}");
        }
    }
    let fit = fit_fill(&levels, 1, CONFIDENCE).unwrap();
    let as_well =
        |name| fit.policies.iter().any(|fit| fit.model.policy == name && fit.fits_as_well);
    eprintln!("{:?} {:?} {:?} {:?}", fit.flash_bytes, fit.kappa, fit.moved, fit.policies);
    assert!(as_well("greedy") && as_well("fifo") && !as_well("random"), "{:?}", fit.policies);
    let gib = fit.flash_bytes.value / GIB;
    assert!((1060.0..1120.0).contains(&gib), "{gib}");
}

// This drive does not report the bytes it programs. The throughput of half of the fill levels
// predicts that of the other levels within 3 %.
#[test]
fn throughput_alone_predicts_the_other_half() {
    let mut levels: BTreeMap<u64, Level> = BTreeMap::new();
    for job in 0..4 {
        let Some(text) = read(&format!("iob-stats-id{job}-m0op02.csv.zst")) else { return };
        for rows in runs(&text).values() {
            let fill = Bytes(number(&rows[0], "filesizeGib") as u64 * (1 << 30));
            let mine = mean(steady(rows), "writeMibs") * MIB;
            let none = Level {
                fill,
                write_amplification: None,
                bytes_per_second: Some(0.0),
                queue_depth: None,
            };
            let level = levels.entry(fill.0).or_insert(none);
            // Each of the two measurements of this level counts half.
            let share = if fill == Bytes::gib(372) { 0.5 } else { 1.0 };
            level.bytes_per_second = level.bytes_per_second.map(|sum| sum + share * mine);
        }
    }
    let levels: Vec<Level> = levels.into_values().collect();
    assert_eq!(levels.len(), 7);
    let half: Vec<Level> = levels.iter().step_by(2).copied().collect();
    let fit = fit_fill(&half, 1, CONFIDENCE).unwrap();
    for level in levels.iter().skip(1).step_by(2) {
        let rate = bytes_per_second(fit.best(), level.fill).unwrap();
        let off = rate / level.bytes_per_second.unwrap() - 1.0;
        eprintln!("{}: {:?} off {off:.4}", level.fill, level.bytes_per_second);
        assert!(off.abs() < 0.03, "{level:?}: {off}");
    }
}
