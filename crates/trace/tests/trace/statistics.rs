//! Compares the statistics of real traces with their manifest.

use std::path::Path;

use flashscope_document::trace::DoubtKind;
use flashscope_document::trace::TraceFacts;
use flashscope_trace::statistics::Characteristics;
use flashscope_trace::{Reader, Spec};

use crate::manifest::{Entry, manifest};

fn number(entry: &Entry, name: &str) -> f64 {
    entry[name].parse().unwrap_or_else(|_| panic!("{name} is {}", entry[name]))
}

fn facts(path: &Path) -> TraceFacts {
    let mut trace = Spec::default().open(&[path.to_str().expect("UTF-8")]).expect("a trace");
    let (mut found, mut batch) = (Characteristics::new(), Vec::new());
    loop {
        trace.read(&mut batch).expect("no bad lines");
        if batch.is_empty() {
            return found.finish(trace.volumes());
        }
        found.push(&batch);
    }
}

/// Returns the differences between the facts and the manifest, to the digits printed there.
fn differences(entry: &Entry, found: &TraceFacts) -> Vec<String> {
    let sizes = found.sizes.as_ref().expect("accesses");
    let mean = |summary: Option<&flashscope_document::trace::SizeSummary>| {
        summary.map_or(f64::NAN, |summary| summary.mean)
    };
    let sequentiality = found.sequentiality.expect("accesses");
    let alignment = found.alignment.expect("accesses");
    let overwrite = found.overwrite_ratio.map_or(0.0, |ratio| ratio.value);
    // The manifest counts requests before a partition as part of the partition.
    let volumes = found.volumes.iter().filter(|volume| volume.name != "before").count();
    let volumes = volumes as u64 + found.volume_count - found.volumes.len() as u64;
    let checks = [
        ("requests", found.requests.total as f64, 0.0),
        ("reads", found.requests.reads as f64, 0.0),
        ("writes", found.requests.writes as f64, 0.0),
        ("discards", found.requests.trims as f64, 0.0),
        ("other", found.requests.flushes as f64, 0.0),
        ("written_bytes", found.bytes.written.0 as f64, 0.0),
        ("uniq4k", found.footprint.accessed_pages.value, 0.0),
        ("uniq4k_written", found.footprint.written_pages.value, 0.0),
        ("max_end_byte", found.footprint.highest_end.0 as f64, 0.0),
        ("vols", volumes as f64, 0.0),
        ("span_s", found.time.span_ns.as_secs_f64(), 6e-4),
        ("mean_B", sizes.all.mean, 0.06),
        ("median_B", sizes.all.p50.0 as f64, 0.0),
        ("mean_R_B", mean(sizes.reads.as_ref()), 0.06),
        ("mean_W_B", mean(sizes.writes.as_ref()), 0.06),
        ("seq_frac", sequentiality.sequential_share, 6e-5),
        ("unaligned4k_frac", alignment.unaligned_share, 6e-5),
        ("overwrite_x", overwrite, 6e-4),
    ];
    let differs = |(name, value, within): (&str, f64, f64)| {
        if entry[name].is_empty() && value.is_nan() {
            return None;
        }
        let wanted = number(entry, name);
        // Written without `>`, so that NaN counts as a difference.
        let same = (value - wanted).abs() <= within;
        (!same).then(|| format!("{}: {name} is {value}, not {wanted}", entry["file"]))
    };
    checks.into_iter().filter_map(differs).collect()
}

// The values of the manifest were counted by other programs.
#[test]
fn real_traces_are_as_their_manifest_says() {
    let Some((folder, entries)) = manifest() else { return };
    let mut wrong = Vec::new();
    for entry in &entries {
        let found = facts(&folder.join(&entry["file"]));
        assert_eq!((found.sampling.rate, found.sampling.coverage), (1.0, Some(1.0)));
        let backwards = found.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Backwards);
        if backwards != (entry["time_monotonic"] == "False") {
            wrong.push(format!("{}: whether time goes backwards", entry["file"]));
        }
        wrong.extend(differences(entry, &found));
    }
    assert!(entries.len() > 10 && wrong.is_empty(), "{}", wrong.join("\n"));
}
