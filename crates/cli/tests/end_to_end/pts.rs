//! Tests `--test`: the tests of SNIA's specification run and report as specified.

use std::fs;

use flashscope_block::{Bytes, Nanos, Op, Record};
use flashscope_document::manifest::{Progress, Run, State, Status};
use flashscope_workload::pattern::Reference;
use insta::assert_snapshot;
use serde_json::Value;

use crate::resume::content;
use crate::{OpenedResult, Scratch, files_of_records};

/// A drive of 107 MiB, which fills quickly.
const DRIVE: &str = "sim:demo?flash.blocks_per_plane=8";

/// Returns a duration of runs at which a round has the 30 IOs that it needs.
fn round_of(test: &str) -> &'static str {
    match test {
        "pts-latency" => "60ms",
        _ => "4ms",
    }
}

/// Runs a test with rounds of milliseconds.
fn test(place: &Scratch, name: &str, more: &[&str]) -> (OpenedResult, String) {
    let arguments = ["bench", DRIVE, "--output", name, "--test", name, "--round", round_of(name)];
    let output = place.run(&[&arguments[..], more].concat()).ok().stdout;
    let measured = place.result(name);
    measured.assert_readable();
    assert_eq!(measured.manifest.options.state, State::Purged);
    (measured, output)
}

fn rounds(measured: &OpenedResult) -> Value {
    measured.json("facts.json")["rounds"].clone()
}

/// Returns the IOs per second of a run, from its records.
#[allow(clippy::cast_precision_loss)]
fn iops(records: &[Record]) -> f64 {
    let first = records.iter().map(|record| record.submitted).min().unwrap();
    let last = records.iter().map(Record::completed).max().unwrap();
    records.len() as f64 / (last - first).as_secs_f64()
}

/// Returns the maximum number of IOs in flight.
fn max_in_flight(records: &[Record]) -> i64 {
    let mut changes: Vec<(Nanos, i64)> = records
        .iter()
        .flat_map(|record| [(record.submitted, 1), (record.completed(), -1)])
        .collect();
    changes.sort_unstable();
    let mut in_flight = 0;
    let levels = changes.iter().map(|(_, change)| {
        in_flight += change;
        in_flight
    });
    levels.max().unwrap_or(0)
}

/// Returns the value of a number in the facts.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Returns the range and the slope of the last five values, relative to their mean.
fn steadiness(values: &[f64]) -> (f64, f64) {
    let [a, b, c, d, e] = values[values.len() - 5..] else { panic!("five values") };
    let mean = (a + b + c + d + e) / 5.0;
    let (low, high) = values[values.len() - 5..]
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    let slope = (2.0 * e + d - b - 2.0 * a) / 10.0;
    ((high - low) / mean, 4.0 * slope / mean)
}

/// Asserts that the facts agree with the tracked values, and that the test ended as soon as all
/// were steady.
fn assert_ended_when_steady(measured: &OpenedResult, facts: &Value) {
    let tracked = facts["tracked"].as_array().unwrap();
    assert!(!tracked.is_empty());
    let all: Vec<Vec<f64>> = tracked
        .iter()
        .map(|tracked| tracked["values"].as_array().unwrap().iter().map(number).collect())
        .collect();
    let steady_after = |round: usize| {
        all.iter().all(|values| {
            let (range, slope) = steadiness(&values[..round]);
            range <= 0.2 && slope.abs() <= 0.1
        })
    };
    let count = all[0].len();
    let first = (5..=count).find(|&round| steady_after(round));
    assert_eq!(facts["steady"], first.is_some());
    assert_eq!(facts["rounds"], count);
    if let Some(first) = first {
        assert_eq!((first, &facts["steady_round"]), (count, &first.into()));
        assert_eq!(facts["window"], serde_json::json!([first - 4, first]));
    }
    for (tracked, values) in tracked.iter().zip(&all) {
        let (range, slope) = steadiness(values);
        assert!(is_near(number(&tracked["range"]), range), "{tracked}");
        assert!((number(&tracked["slope"]) - slope).abs() < 1e-9, "{tracked}");
        assert_eq!((&tracked["range_limit"], &tracked["slope_limit"]), (&0.2.into(), &0.1.into()));
    }
    let skipped = |run: &&Run| matches!(run.progress, Progress::Skipped { .. });
    for run in measured.manifest.runs().filter(skipped) {
        let reason = format!("steady since round {}", count - 4);
        assert_eq!(run.progress, Progress::Skipped { reason });
    }
}

/// Asserts that the target space was written twice from start to end before anything else.
fn assert_preconditioned(measured: &OpenedResult) {
    let first = &measured.experiment("preconditioning", "SW")[0];
    assert_eq!(first.id, 1);
    let mut offsets: Vec<u64> = measured.records(first).iter().map(|r| r.offset.0).collect();
    let whole = measured.manifest.options.setup.target_size.0 / (128 << 10);
    assert_eq!(offsets.len() as u64, 2 * whole);
    offsets.sort_unstable();
    assert!(offsets.chunks(2).zip(0u64..).all(|(pair, i)| *pair == [i * (128 << 10); 2]));
    assert!(measured.records(first).iter().all(|r| r.op == Op::Write && r.len == Bytes::kib(128)));
}

#[test]
fn iops_test_covers_every_size_and_mix() {
    let place = Scratch::in_memory();
    let (measured, output) = test(&place, "pts-iops", &["--max-rounds", "7"]);
    assert_preconditioned(&measured);
    let facts = rounds(&measured);
    assert_ended_when_steady(&measured, &facts);
    let cells = facts["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 56);
    let of_run = |id: &Value| measured.manifest.runs().find(|run| run.id == *id).unwrap();
    for cell in cells {
        let runs: Vec<&Run> = cell["runs"].as_array().unwrap().iter().map(of_run).collect();
        assert_eq!(runs.len(), 5, "{cell}");
        let mut sum = 0.0;
        for run in &runs {
            let records = measured.records(run);
            sum += iops(&records);
            assert_eq!(max_in_flight(&records), 32.min(records.len() as i64));
            assert!(records.iter().all(|record| record.len.0 == cell["io_size_bytes"]));
            assert!(records.iter().map(|record| record.submitted).max() < Some(Nanos::millis(4)));
        }
        assert!(is_near(number(&cell["iops"]), sum / 5.0), "{cell}");
        let bytes = number(&cell["io_size_bytes"]) * sum / 5.0;
        assert!(is_near(number(&cell["throughput_bytes_per_s"]), bytes), "{cell}");
    }
    let first = &cells[0];
    assert_eq!(
        (&first["experiment"], &first["reads_percent"]),
        (&"100/0 1 MiB".into(), &100.into())
    );
    assert_eq!(facts["deviations"], serde_json::json!(["each run took 4 ms instead of 60 s"]));
    assert!(output.contains("SNIA PTS IOPS") && output.contains("range"), "{output}");
}

#[test]
fn mixes_have_the_specified_share_of_reads() {
    let place = Scratch::in_memory();
    let (measured, _) = test(&place, "pts-latency", &["--max-rounds", "25"]);
    for (experiment, share) in [("100/0 4 KiB", 1.0), ("65/35 4 KiB", 0.65), ("0/100 4 KiB", 0.0)] {
        let runs = measured.experiment("pts-latency", experiment);
        let ops: Vec<Op> =
            runs.iter().flat_map(|run| measured.records(run)).map(|r| r.op).collect();
        let (reads, all) = (ops.iter().filter(|op| **op == Op::Read).count(), ops.len());
        #[allow(clippy::cast_precision_loss)]
        let (found, count) = (reads as f64 / all as f64, all as f64);
        let deviation = (share * (1.0 - share) / count).sqrt();
        assert!((found - share).abs() <= 4.0 * deviation, "{reads} of {all}");
    }
}

#[test]
fn latency_test_has_one_io_in_flight() {
    let place = Scratch::in_memory();
    let (measured, output) = test(&place, "pts-latency", &[]);
    assert_preconditioned(&measured);
    let facts = rounds(&measured);
    assert_ended_when_steady(&measured, &facts);
    assert_eq!(facts["tracked"][0]["metric"], "latency");
    let cells = facts["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 9);
    for cell in cells {
        let name = cell["experiment"].as_str().unwrap();
        let window = facts["window"][0].as_i64().unwrap()..=facts["window"][1].as_i64().unwrap();
        let runs = measured.experiment("pts-latency", name);
        let counted = runs.iter().filter(|run| window.contains(&run.value));
        let records: Vec<Vec<Record>> = counted.map(|run| measured.records(run)).collect();
        assert!(records.iter().all(|records| max_in_flight(records) == 1));
        let longest = records.iter().flatten().map(|record| record.latency.0).max();
        assert_eq!(cell["max_latency_ns"].as_u64(), longest);
    }
    assert!(output.contains("one IO at a time"), "{output}");
}

#[test]
fn throughput_tests_read_and_write_in_sequence() {
    let place = Scratch::in_memory();
    for (name, size) in [("pts-throughput", 1 << 20), ("pts-throughput-128k", 128 << 10)] {
        let (measured, output) = test(&place, name, &[]);
        assert_preconditioned(&measured);
        let facts = rounds(&measured);
        assert_ended_when_steady(&measured, &facts);
        assert_eq!(facts["cells"].as_array().unwrap().len(), 2);
        assert_eq!(facts["tracked"][0]["metric"], "throughput");
        for run in measured.done().filter(|run| run.id > 1) {
            let Reference::Blend { pattern, reads_percent, .. } = &run.reference else {
                panic!("{run:?}")
            };
            let mut records = measured.records(run);
            records.sort_by_key(|record| record.offset);
            let op = if *reads_percent == 100 { Op::Read } else { Op::Write };
            let slots = pattern.slots();
            assert!(records.len() as u64 <= slots, "a round passes over the drive once at most");
            for (i, record) in records.iter().enumerate() {
                assert_eq!((record.op, record.len.0), (op, size));
                assert_eq!(record.offset.0, i as u64 * size);
            }
        }
        assert!(output.contains("MiB/s"), "{output}");
    }
}

#[test]
fn saturation_test_writes_a_purged_drive_four_times() {
    let place = Scratch::in_memory();
    let more = ["--round", "100ms"];
    let arguments = ["bench", DRIVE, "--output", "r", "--test", "pts-write-saturation", "--json"];
    let output = place.run(&[&arguments[..], &more].concat()).ok().stdout;
    let output: Value = serde_json::from_str(&output).unwrap();
    let measured = place.result("r");
    let facts = rounds(&measured);
    assert_eq!(output["facts"]["rounds"], facts);
    let written: u64 = measured.all_records().iter().map(|record| record.len.0).sum();
    let size = measured.manifest.options.setup.target_size.0;
    let last = measured.done().last().unwrap();
    let of_last: u64 = measured.records(last).iter().map(|record| record.len.0).sum();
    assert!(written >= 4 * size && written - of_last < 4 * size, "{written} of {size}");
    assert!(measured.all_records().iter().all(|r| r.op == Op::Write && r.len == Bytes::kib(4)));
    let done = measured.done().count();
    assert_eq!((&facts["rounds"], &facts["window"]), (&done.into(), &serde_json::json!([1, done])));
    let values = facts["tracked"][0]["values"].as_array().unwrap();
    let (first, last) = (number(&values[0]), number(&values[done - 1]));
    assert!(last < 0.5 * first, "{first} {last}");
    let reason = measured.manifest.runs().find_map(|run| match &run.progress {
        Progress::Skipped { reason } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.unwrap().ends_with(&format!("were written up to the end of round {done}")));
}

#[test]
fn unsteady_drive_is_reported() {
    let place = Scratch::in_memory();
    let (measured, output) = test(&place, "pts-latency", &["--max-rounds", "3"]);
    let facts = rounds(&measured);
    assert_eq!((&facts["steady"], &facts["rounds"]), (&false.into(), &3.into()));
    assert_eq!(facts["steady_round"], Value::Null);
    assert!(output.contains("NOT STEADY in any 5 successive rounds of 3"), "{output}");
    assert!(
        output.contains("too few rounds to judge, or a round with fewer than 30 IOs"),
        "{output}"
    );
}

#[test]
fn changed_state_target_and_depth_are_used_and_reported() {
    let place = Scratch::in_memory();
    let more = ["--state", "keep", "--target-size", "16MiB", "--queue-depth", "3"];
    let arguments = ["bench", DRIVE, "--output", "r", "--test", "pts-throughput-128k"];
    let round = ["--round", "2ms", "--max-rounds", "5"];
    place.run(&[&arguments[..], &more, &round].concat()).ok();
    let measured = place.result("r");
    assert!(measured.all_records().iter().all(|r| r.offset + r.len <= Bytes::mib(16)));
    assert!(measured.done().all(|run| max_in_flight(&measured.records(run)) == 3));
    let deviations = rounds(&measured)["deviations"].to_string();
    for deviation in ["was not purged first", "took 2 ms instead of 60 s", "16 MiB of 107 MiB"] {
        assert!(deviations.contains(deviation), "{deviations}");
    }
}

// Only the history of the result may differ.
#[test]
fn killed_test_resumes_to_the_same_bytes() {
    const TEST: &str = "pts-latency";
    let place = Scratch::in_memory();
    let (_, _) = test(&place, TEST, &[]);
    let whole = content(&place, TEST);
    let (mut random, mut kills) = (1u64, 0);
    for cut in 0..6 {
        let name = format!("cut-{cut}");
        let options = ["--output", &name, "--test", TEST, "--round", round_of(TEST)];
        let begin = [&["bench", DRIVE][..], &options].concat();
        let go_on = ["bench", "--resume", &name];
        // Kills the program three times, each time a few runs later, and then runs the remaining
        // plan.
        for attempt in 0..3 {
            let done = files_of_records(&place.at(&name));
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(attempt + 1);
            let until = done + 1 + usize::try_from((random >> 33) % 15).unwrap();
            assert!(until < whole.0.len(), "a kill comes in the midst of a test");
            let mut running = place.start(if attempt == 0 { &begin } else { &go_on });
            if !running.reaches("runs", || files_of_records(&place.at(&name)) >= until) {
                break;
            }
            running.signal("-KILL");
            kills += usize::from(!running.wait().0.success());
        }
        if place.result(&name).manifest.status != Status::Complete {
            place.run(&go_on).ok();
        }
        assert!(content(&place, &name) == whole, "{name} differs from what it would have been");
    }
    assert!(kills > 0, "no kill came before the end");
}

#[test]
fn planned_test_runs_as_planned() {
    let place = Scratch::in_memory();
    let options = ["--test", "pts-throughput", "--round", "4ms"];
    let planned = place.run(&[&["plan", DRIVE][..], &options, &["--output", "p.json"]].concat());
    let output = planned.ok().stdout;
    assert!(output.contains("4 ms for each run of a round, until 5 rounds are steady"), "{output}");
    assert!(output.contains("pts-throughput: 25 rounds at most"), "{output}");
    place.run(&["bench", "--plan", "p.json", "--output", "planned"]).ok();
    place.run(&[&["bench", DRIVE, "--output", "options"][..], &options].concat()).ok();
    let [planned, typed] = ["planned", "options"].map(|name| place.result(name));
    assert_eq!(planned.all_records(), typed.all_records());
    assert_eq!(rounds(&planned), rounds(&typed));
}

#[test]
fn page_of_a_test_has_results_and_runs() {
    let place = Scratch::in_memory();
    test(&place, "pts-throughput", &[]);
    place.run(&["report", "pts-throughput"]).ok();
    let page = fs::read_to_string(place.at("pts-throughput/report.html")).unwrap();
    assert!(page.contains("\"test\":\"pts-throughput\"") && page.contains("\"kind\":\"blend\""));
}

#[test]
fn options_without_effect_on_a_test_are_refused() {
    let place = Scratch::on_disk();
    let refused = |drive: &str, options: &str| {
        let options: Vec<&str> = options.split_whitespace().collect();
        let message = place.run(&[&["bench", drive][..], &options].concat()).message(2, &place);
        assert!(place.names().is_empty(), "{:?}", place.names());
        message
    };
    assert_snapshot!(refused("null:", "--test pts-iop"), @"
    flashscope: `pts-iop` is not a test (did you mean `pts-iops`?)
      choose one of: pts-iops, pts-throughput, pts-throughput-128k, pts-latency, pts-write-saturation
    ");
    assert_snapshot!(refused("null:", "--test pts-iops --read-only"), @"flashscope: pts-iops writes to the drive, and --read-only forbids it");
    assert_snapshot!(refused(DRIVE, "--test pts-iops --queue-depth 33"), @"flashscope: QueueDepth = 33: at most 32 IOs can be in flight");
    assert_snapshot!(refused(DRIVE, "--test pts-latency --queue-depth 2"), @"flashscope: QueueDepth = 2: at most one IO can be in flight");
    for alone in ["--round 1s", "--queue-depth 4", "--max-rounds 5"] {
        let message = refused("null:", alone);
        assert!(message.contains("--test <NAME>"), "{message}");
    }
    for other in [
        "--only order",
        "--trace x.csv",
        "--precision 1%",
        "--io-count 5",
        "--io-size 4KiB",
        "--repeats 2",
        "--budget-time 1h",
        "--max-time 1s",
    ] {
        let message = refused("null:", &format!("--test pts-iops {other}"));
        assert!(message.contains("cannot be used with"), "{message}");
    }
    assert!(refused("null:", "--test pts-iops --round 0s").contains("must be above 0"));
}
