//! Compares real traces with the counts in their manifest.

use std::collections::BTreeSet;

use flashscope_block::Op;
use flashscope_trace::format::find;
use flashscope_trace::{SkippedInput, Source};

use crate::formats::{TraceContent, open_all};
use crate::manifest::{Entry, manifest};

/// Returns flashscope's name of a format from its name in the manifest.
fn format_of(parser: &str) -> &str {
    match parser {
        "cpcsv" => "cloudphysics",
        // These formats are indistinguishable.
        "ssdsim" => "mqsim",
        same => same,
    }
}

/// Returns the counts that the manifest states exactly.
fn counts(told: &TraceContent) -> Vec<(&'static str, u64)> {
    let requests = &told.requests;
    let count = |op| requests.iter().filter(|request| request.op == op).count() as u64;
    vec![
        ("requests", requests.len() as u64),
        ("reads", count(Op::Read)),
        ("writes", count(Op::Write)),
        ("discards", count(Op::Trim)),
        ("other", count(Op::Flush)),
        ("written_bytes", bytes(told, Op::Write)),
        ("uniq4k", pages(told, &[Op::Read, Op::Write])),
        ("uniq4k_written", pages(told, &[Op::Write])),
        ("max_end_byte", requests.iter().map(|request| request.end().0).max().unwrap_or(0)),
        ("vols", told.volumes.len() as u64),
    ]
}

fn bytes(told: &TraceContent, op: Op) -> u64 {
    told.requests.iter().filter(|request| request.op == op).map(|request| request.len.0).sum()
}

/// Returns the number of pages of 4 KiB that the requests touch.
fn pages(told: &TraceContent, ops: &[Op]) -> u64 {
    let transfers = told.requests.iter().filter(|request| ops.contains(&request.op));
    let pages = transfers.flat_map(|request| {
        let pages = request.offset.0 / 4096..=(request.end().0 - 1) / 4096;
        pages.map(|page| (request.volume, page))
    });
    pages.collect::<BTreeSet<_>>().len() as u64
}

/// Returns the values that the manifest rounds, with the rounding error.
fn rounded(told: &TraceContent) -> Vec<(&'static str, f64, f64)> {
    let mebibytes = |op| bytes(told, op) as f64 / (1u64 << 20) as f64;
    let times = || told.requests.iter().map(|request| request.at.0);
    let span = times().max().unwrap_or(0) - times().min().unwrap_or(0);
    vec![
        ("read_MiB", mebibytes(Op::Read), 0.005),
        ("discard_MiB", mebibytes(Op::Trim), 0.005),
        ("span_s", span as f64 / 1e9, 0.0005),
    ]
}

/// Returns the 1 %, 50 %, 99 % and 100 % quantiles of the latencies in microseconds, with
/// interpolation.
fn latencies(told: &TraceContent) -> Vec<f64> {
    let mut sorted: Vec<_> = told.requests.iter().filter_map(|request| request.latency).collect();
    sorted.sort();
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
    let at = |place: usize| sorted[place].0 as f64 / 1000.0;
    let quantile = |percent: usize| {
        let (place, part) = (last * percent / 100, (last * percent % 100) as f64 / 100.0);
        at(place) + part * (at((place + 1).min(last)) - at(place))
    };
    [1, 50, 99, 100].map(quantile).to_vec()
}

fn check(file: &str, told: &TraceContent, entry: &Entry) {
    assert_eq!(told.skipped, SkippedInput::default(), "{file}");
    for (column, counted) in counts(told) {
        // The manifest counts requests before a partition as part of the partition.
        let beyond = u64::from(column == "vols" && told.volumes.find("before").is_some());
        assert_eq!((counted - beyond).to_string(), entry[column], "{file}: {column}");
    }
    for (column, counted, off) in rounded(told) {
        let wanted: f64 = entry[column].parse().expect("a number");
        assert!((counted - wanted).abs() <= off * 1.001, "{file}: {column} is {counted}");
    }
    let wanted = entry["lat_us"].trim_matches(['[', ']']);
    let wanted: Vec<f64> = wanted.split(", ").filter_map(|text| text.parse().ok()).collect();
    if !wanted.is_empty() {
        let found = latencies(told);
        let close = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 0.0501;
        assert!(found.len() == 4 && found.iter().zip(&wanted).all(close), "{file}: {found:?}");
    }
}

// Every trace matches its manifest exactly, and its format is detected.
#[test]
fn traces_hold_what_their_manifest_says() {
    let Some((folder, entries)) = manifest() else { return };
    let mut checked = 0;
    for entry in entries {
        let (file, name) = (&entry["file"], format_of(&entry["parser"]));
        if find(name).is_none() {
            continue;
        }
        let path = folder.join(file);
        let source = Source::open(path.to_str().expect("the path is UTF-8")).unwrap();
        let (found, told) = open_all(source).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(found, name, "{file}");
        check(file, &told, &entry);
        checked += 1;
    }
    assert!(checked > 0);
}
