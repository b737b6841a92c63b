use std::fs;

use clap::Parser;
use flashscope_analysis::compare::{Contestant, Subject};
use flashscope_block::Op;
use tempfile::TempDir;

use super::*;

#[derive(clap::Parser)]
struct Command {
    #[command(flatten)]
    import: ImportArgs,
}

/// Returns a folder with a copy of the measurements that ship with the project.
pub(super) fn samples() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fio");
    for entry in fs::read_dir(testdata).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path().join(path.file_name().unwrap())).unwrap();
    }
    place
}

pub(super) fn import_with(place: &TempDir, more: &[&str]) -> Result<ImportResult, String> {
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let mut arguments =
        vec!["import".to_owned(), at("four.json"), "--output".into(), at("r.flashscope")];
    arguments.extend(
        more.iter().map(|text| if text.ends_with(".json") { at(text) } else { (*text).into() }),
    );
    let args = Command::parse_from(arguments).import;
    import(&args, &AtomicBool::new(false), &mut ()).map_err(|failure| failure.message())
}

pub(super) fn replace_all(place: &TempDir, file: &str, from: &str, to: &str) {
    let path = place.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn replace(place: &TempDir, file: &str, from: &str, to: &str) {
    let path = place.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

// The expected numbers are from fio's own summary.
#[test]
fn a_result_has_the_ios_and_means_of_fio() {
    let place = samples();
    let imported = import_with(&place, &[]).unwrap();
    let (folder, manifest) = ResultFolder::open(&imported.path).unwrap();
    assert_eq!(manifest, imported.manifest);
    assert_eq!(manifest.status, Status::Complete);
    assert_eq!(
        (manifest.started.as_str(), manifest.tool.version.as_str()),
        ("2026-11-26T16:28:05Z", "fio-3.33")
    );
    let names: Vec<_> =
        manifest.micro_benchmarks[0].experiments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["fill", "randread", "randwrite", "mixed"]);
    let facts = analyse(&folder, &manifest).unwrap();
    assert_eq!(facts, imported.facts);
    for (run, mean) in facts.runs.iter().zip([54_766.558_333, 7_592.652_667, 108_192.651_667]) {
        assert_eq!(run.ios, 600);
        assert!((run.latency_ns.mean.value / mean - 1.0).abs() < 1e-4, "{run:?}");
    }
    let mixed = facts.runs[3].operations.iter().map(|part| (part.op, part.ios)).collect::<Vec<_>>();
    assert_eq!(mixed, [(Op::Read, 413), (Op::Write, 187)]);
}

#[test]
fn imported_jobs_are_workloads_that_compare_with_others() {
    let place = samples();
    let ImportResult { manifest, facts, .. } = import_with(&place, &[]).unwrap();
    let subject = Subject::Measurement { manifest: &manifest, facts: &facts };
    let mut names = Contestant::new("fio", subject).workloads();
    names.dedup();
    assert_eq!(
        names,
        [
            "sequential writes of 4 KiB",
            "random reads of 4 KiB",
            "random writes of 4 KiB",
            "reads of random IOs of 4 KiB with 70 % reads at queue depth 4",
            "writes of random IOs of 4 KiB with 70 % reads at queue depth 4",
            "random IOs of 4 KiB with 70 % reads at queue depth 4",
        ]
    );
}

#[test]
fn smart_logs_of_both_notations_give_the_change() {
    let place = samples();
    let smart = ["--smart-before", "before.json", "--smart-after", "after.json"];
    let health = import_with(&place, &smart).unwrap().manifest.health.unwrap();
    assert_eq!(health.before.temperature_celsius, Some(38.0));
    assert_eq!(health.before.host_bytes_written, Bytes(2_411_730 * 512_000));
    let change = health.change.unwrap();
    assert_eq!(change.host_bytes_written, Some(Bytes(2000 * 512_000)));
    assert!(change.throttled() && change.new_critical_warnings.len() == 1, "{change:?}");
}

#[test]
fn unsupported_logs_are_refused_by_name_and_nothing_is_written() {
    for (file, from, to, message) in [
        (
            "four.json",
            "\"rwmixread\" : \"70\"",
            "\"rwmixread\" : \"70\", \"thinktime\" : \"5\"",
            "job `mixed` has the option `thinktime`",
        ),
        ("four.json", "fio-3.33", "fio-2.99", "only fio 3 can be imported"),
        ("four.json", "\"error\" : 0", "\"error\" : 5", "job `fill` failed with error 5"),
        (
            "four.json",
            "\"write_lat_log\" : \"fill\"",
            "\"log_entries\" : \"9\"",
            "job `fill` has no log: run fio with --write_lat_log=fill",
        ),
        (
            "four.json",
            "\"groupid\" : 1",
            "\"groupid\" : 0",
            "`fill` and `randread` ran at the same time",
        ),
        ("four.json", "\"jobs\"", "\"works\"", "is not the output of fio --output-format=json+"),
        (
            "fill_lat.1.log",
            "\n",
            "\n0, 5, 1, 4096, 0, 0\n",
            "the JSON has 600: they belong to different runs",
        ),
        ("fill_lat.1.log", ", 1, 4096", "7, 1, 4096", "is not that of the JSON"),
        ("randread_lat.2.log", ", 0, 4096", ", 2, 4096", "direction 2"),
        ("before.json", "\"percent_used\":2,", "", "there is no `percent_used`"),
        (
            "before.json",
            "\"power_cycles\":38",
            "\"power_cycles\":\"many\"",
            "`power_cycles` is \"many\"",
        ),
    ] {
        let place = samples();
        replace(&place, file, from, to);
        let Err(error) = import_with(&place, &["--smart-before", "before.json"]) else {
            panic!("{file}: {to} was accepted");
        };
        assert!(error.contains(message), "{to}: {error}");
        assert!(!place.path().join("r.flashscope").exists(), "{to}");
    }
    let place = samples();
    fs::remove_file(place.path().join("mixed_lat.4.log")).unwrap();
    let error = import_with(&place, &[]).err().unwrap();
    assert!(error.contains("mixed_lat.4.log") && error.contains("--write_lat_log"), "{error}");
}
