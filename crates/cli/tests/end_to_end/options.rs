//! Tests that each option of `flashscope bench` changes only what its help states.
//!
//! A simulated drive gives the same completions for the same IOs.

use std::collections::BTreeSet;
use std::fs;

use flashscope_block::{Bytes, Nanos, Op, Record};
use flashscope_document::manifest::State;

use crate::bench::blocks_of_zeros;
use crate::{OpenedResult, Scratch};

/// Measures the first 16 MiB of a simulated drive, unless `more` sets another target size.
fn measure(place: &Scratch, name: &str, more: &[&str]) -> OpenedResult {
    let target: &[&str] =
        if more.contains(&"--target-size") { &[] } else { &["--target-size", "16MiB"] };
    place.bench("sim:demo", name, &[target, more].concat()).ok();
    let measured = place.result(name);
    measured.assert_readable();
    assert!(measured.done().count() > 0);
    measured
}

fn offsets(measured: &OpenedResult) -> Vec<Bytes> {
    measured.all_records().iter().map(|record| record.offset).collect()
}

fn latencies(measured: &OpenedResult) -> Vec<Nanos> {
    measured.all_records().iter().map(|record| record.latency).collect()
}

#[test]
fn only_selects_micro_benchmarks_in_paper_order() {
    let place = Scratch::in_memory();
    let measured = measure(&place, "r", &["--only", "pause,order"]);
    let names: Vec<_> = measured.manifest.micro_benchmarks.iter().map(|b| &b.name).collect();
    assert_eq!(names, ["order", "pause"]);
}

#[test]
fn same_seed_gives_the_same_ios_and_another_seed_others() {
    let place = Scratch::in_memory();
    let with = |name, seed| measure(&place, name, &["--only", "granularity", "--seed", seed]);
    let [first, same, other] = [with("a", "5"), with("b", "5"), with("c", "6")];
    assert_eq!(first.all_records(), same.all_records());
    assert_eq!(offsets(&first).len(), offsets(&other).len());
    assert_ne!(offsets(&first), offsets(&other));
    let sequential = |measured: &OpenedResult| -> Vec<Bytes> {
        let runs = measured.experiment("granularity", "SR");
        runs.iter().flat_map(|run| measured.records(run)).map(|record| record.offset).collect()
    };
    assert_eq!(sequential(&first), sequential(&other));
}

#[test]
fn io_count_sets_the_length_of_the_named_baselines() {
    let place = Scratch::in_memory();
    let measured = measure(&place, "r", &["--only", "granularity", "--io-count", "SR=8,RW=24"]);
    for (experiment, count) in [("SR", 8), ("RR", 1024), ("SW", 1024), ("RW", 24)] {
        for run in measured.experiment("granularity", experiment) {
            // A target space that holds fewer sequential writes cuts the run.
            let planned = run.cut_from_ios.unwrap_or(run.progress.ios());
            assert_eq!(planned, count, "{experiment}");
        }
    }
}

#[test]
fn preparation_io_count_sets_only_the_preparation() {
    let place = Scratch::in_memory();
    let more = ["--only", "preparation,order", "--preparation-io-count", "48"];
    let measured = measure(&place, "r", &more);
    for experiment in ["SR", "RR", "SW", "RW", "SR-RW-SR"] {
        assert_eq!(measured.experiment("preparation", experiment)[0].progress.ios(), 48);
    }
    assert!(measured.experiment("order", "SR").iter().all(|run| run.progress.ios() == 16));
}

#[test]
fn io_ignore_affects_statistics_but_not_records() {
    let place = Scratch::in_memory();
    let measured = measure(&place, "r", &["--only", "alignment", "--io-ignore", "RW=5,SR=0,RR=0"]);
    let facts = measured.json("facts.json");
    let facts = facts["runs"].as_array().unwrap();
    for (experiment, ignored) in [("SR", 0), ("RR", 0), ("RW", 5)] {
        for run in measured.experiment("alignment", experiment) {
            assert_eq!(measured.rows(run).total(), 16);
            let facts = facts.iter().find(|facts| facts["run"] == run.id).unwrap();
            assert_eq!(
                (&facts["ios"], &facts["ignored"]),
                (&(16 - ignored).into(), &ignored.into())
            );
        }
    }
}

#[test]
fn io_size_sets_every_fixed_size() {
    let place = Scratch::in_memory();
    let measured = measure(&place, "r", &["--only", "order,mix", "--io-size", "8KiB"]);
    let lengths: BTreeSet<_> = measured.all_records().iter().map(|record| record.len).collect();
    assert_eq!(lengths, [Bytes::kib(8)].into());
}

#[test]
fn target_options_bound_the_offsets() {
    let place = Scratch::in_memory();
    let more = ["--target-offset", "8MiB", "--target-size", "4MiB"];
    let measured = measure(&place, "r", &[&more[..], &["--io-count", "200"]].concat());
    let (start, end) = (Bytes::mib(8), Bytes::mib(12));
    let records = measured.all_records();
    let outside = |r: &&Record| r.offset < start || r.offset + r.len > end;
    assert_eq!(records.iter().find(outside), None);
    assert_eq!(records.iter().map(|r| r.offset).min(), Some(start));
    assert_eq!(records.iter().map(|r| r.offset + r.len).max(), Some(end));
}

#[test]
fn state_changes_the_latencies_of_a_simulated_drive() {
    let place = Scratch::in_memory();
    let more = ["--only", "preparation", "--preparation-io-count", "2000"];
    let with = |state| {
        let more = [&more[..], &["--state", state, "--target-size", "900MiB"]].concat();
        measure(&place, state, &more)
    };
    let [random, sequential, keep] = ["random", "sequential", "keep"].map(with);
    let states = [&random, &sequential, &keep].map(|m| m.manifest.options.state);
    assert_eq!(states, [State::Random, State::Sequential, State::Keep]);
    assert!(offsets(&random) == offsets(&keep));
    assert!(latencies(&random) != latencies(&sequential));
    assert!(latencies(&sequential) != latencies(&keep));
}

#[test]
fn states_write_the_whole_file_except_keep() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    for state in ["random", "sequential", "keep"] {
        let drive = format!("file:{}?size=4MiB", disk.arg(state));
        let more = ["--only", "preparation", "--state", state, "--io-count", "4"];
        let more = [&more[..], &["--preparation-io-count", "4", "--keep"]].concat();
        place.bench(&drive, state, &more).ok();
        let untouched = blocks_of_zeros(&fs::read(disk.at(state)).unwrap());
        assert_eq!(untouched > 0, state == "keep", "{state}: {untouched} blocks");
    }
}

#[test]
fn a_steady_state_writes_the_flash_once_and_needs_a_whole_drive_that_maps_pages() {
    let (disk, place) = (Scratch::on_disk(), Scratch::in_memory());
    let few = ["--only", "preparation", "--io-count", "4", "--preparation-io-count", "4"];
    let steady = [&few[..], &["--state", "steady"]].concat();
    let small = "sim:demo?flash.packages=1&flash.dies_per_package=1&flash.blocks_per_plane=128";
    place.bench(small, "simulated", &steady).ok();
    let manifest = place.result("simulated").manifest;
    let (spare, size) = (manifest.options.spare.unwrap(), manifest.options.setup.target_size);
    let written = spare.written(size);
    assert!(written > size && written.0 < 2 * size.0, "{written} of {size}");
    assert!(manifest.spent.bytes >= written && manifest.spent.bytes.0 < written.0 + (16 << 20));

    let drive = format!("file:{}?size=4MiB", disk.arg("file"));
    let asked = [&steady[..], &["--capacity-inside", "5MiB", "--keep"]].concat();
    place.bench(&drive, "file", &asked).ok();
    assert_eq!(blocks_of_zeros(&fs::read(disk.at("file")).unwrap()), 0);

    let text = place.run(&[&["plan", small], &steady[..]].concat()).ok().stdout;
    assert!(text.contains("brought to the steady state of random writes (assumes "), "{text}");
    let refused = |drive: &str, more: &[&str]| {
        place.bench(drive, "refused", &[&steady[..], more].concat()).message(2, &place)
    };
    assert!(refused(small, &["--target-size", "8MiB"]).contains("only the whole drive"));
    assert!(refused("sim:flashsim-2009?ftl=fast", &[]).contains("does not map pages"));
    assert!(refused(&drive, &["--capacity-inside", "4MiB"]).contains("1.001 to 11 times"));
    let unused =
        place.bench(small, "refused", &[&few[..], &["--capacity-inside", "1GiB"]].concat());
    assert!(unused.message(2, &place).contains("only --grid and --state steady use it"));
}

#[test]
fn burst_pause_separates_bursts() {
    let place = Scratch::in_memory();
    let measured = measure(&place, "r", &["--only", "bursts", "--burst-pause", "7ms"]);
    let run = &measured.experiment("bursts", "RR")[0];
    assert_eq!(run.value, 10);
    let records = measured.records(run);
    let gap = |at: usize| records[at].submitted - records[at - 1].completed();
    assert_eq!(gap(10), Nanos::millis(7));
    assert!((1..10).all(|at| gap(at) == Nanos(0)));
}

#[test]
fn run_pause_leaves_time_for_background_cleaning() {
    let place = Scratch::in_memory();
    let more = ["--only", "granularity", "--io-count", "128", "--run-pause"];
    let with = |name, pause| {
        place.bench("sim:demo", name, &[&more[..], &[pause]].concat()).ok();
        place.result(name)
    };
    let [without, with] = [with("a", "0ms"), with("b", "5s")];
    assert!(offsets(&without) == offsets(&with));
    let of_writes = |measured: &OpenedResult| -> u64 {
        let records = measured.all_records();
        records.iter().filter(|r| r.op == Op::Write).map(|r| r.latency.0).sum()
    };
    let (slow, fast) = (of_writes(&without), of_writes(&with));
    assert!(fast < slow, "{fast} ns with pauses, {slow} ns without");
}

#[test]
fn default_name_has_the_drive_and_the_time() {
    let place = Scratch::in_memory();
    let more = ["bench", "null:", "--only", "order", "--io-count", "2", "--run-pause", "0ms"];
    let outcome = place.run(&[&more[..], &["--repeats", "1"]].concat()).ok();
    let [name] = &place.names()[..] else { panic!("{:?}", place.names()) };
    let digits: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(digits, "null-00000000-000000.flashscope");
    assert!(outcome.stdout.contains(&format!("result: {name}\n")));
    assert_eq!(place.result(name).done().count(), 22);
}

#[test]
fn repeats_use_other_addresses_and_have_joint_facts() {
    let place = Scratch::in_memory();
    let measured = measure(&place, "r", &["--only", "alignment", "--repeats", "3"]);
    let runs = measured.experiment("alignment", "RW");
    assert_eq!(runs.iter().map(|run| run.repeat).collect::<Vec<_>>(), [1, 2, 3].repeat(8));
    let offsets = |run| measured.records(run).iter().map(|r| r.offset).collect::<Vec<_>>();
    assert_ne!(offsets(&runs[0]), offsets(&runs[1]));
    let facts = measured.json("facts.json");
    let repeats = facts["repeats"].as_array().unwrap();
    assert!(repeats.iter().all(|facts| facts["runs"].as_array().unwrap().len() == 3));
}

/// Measures with these options, and with further options that keep the measurement short.
fn found(place: &Scratch, name: &str, more: &[&str]) -> OpenedResult {
    let short = ["--only", "alignment", "--preparation-io-count", "4096", "--repeats", "1"];
    place.run(&[&["bench", "sim:demo", "--output", name][..], &short, more].concat()).ok();
    place.result(name)
}

#[test]
fn precision_options_set_the_length_of_runs() {
    let place = Scratch::in_memory();
    let ios = |name, more: &[&str]| -> u64 {
        let measured = found(&place, name, more);
        let names: Vec<_> = measured.manifest.micro_benchmarks.iter().map(|b| &b.name).collect();
        assert_eq!(names, ["preparation", "alignment"]);
        let runs = measured.experiment("alignment", "RW");
        runs.iter().map(|run| run.progress.ios() - run.reference.io_ignore()).sum()
    };
    let usual = ios("usual", &[]);
    assert!(ios("wide", &["--precision", "20%"]) < usual);
    assert!(ios("unsure", &["--confidence", "50%"]) < usual);
    assert_ne!(ios("p90", &["--statistic", "p90"]), usual);
    assert_eq!(ios("ios", &["--max-ios", "100"]), 800);
    assert!(ios("time", &["--max-time", "100ms"]) < usual);
    let bytes = found(&place, "bytes", &["--max-bytes", "1MiB"]);
    let runs = bytes.experiment("alignment", "RW");
    assert!(runs.iter().all(|run| run.progress.ios() == 32));
}

#[test]
fn given_io_ignore_and_run_pause_override_the_preparation() {
    let place = Scratch::in_memory();
    let given = found(&place, "given", &["--io-ignore", "7", "--run-pause", "3s"]);
    assert!(given.experiment("alignment", "SR").iter().all(|run| run.reference.io_ignore() == 7));
    assert_eq!(given.manifest.options.run_pause_ns, Nanos::secs(3));
    assert!(!given.manifest.options.methodology.finds());
    assert_eq!(given.manifest.micro_benchmarks.len(), 1);
    let found = found(&place, "found", &[]);
    let findings = &found.manifest.findings;
    assert_eq!((findings.phases.len(), findings.interference.len()), (4, 2));
    assert!(findings.interference.iter().all(|look| look.run_pause_ns >= Nanos::secs(1)));
}
