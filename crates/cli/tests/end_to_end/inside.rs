//! Tests the internal activity of simulated drives in the results of `bench` and
//! `simulate --output`.

use std::fs;

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_result::activity::Activity;
use flashscope_result::{is_simulation, read_simulation};
use serde_json::Value;

use crate::simulate::{assert_conforms, published};
use crate::{OpenedResult, Scratch};

const EVER: std::ops::Range<Nanos> = Nanos(0)..Nanos(u64::MAX);

/// A small drive, each of whose log blocks serves a single data block (BAST).
const BAST: &str = "flashsim-2009?ftl=bast&flash.blocks_per_plane=128&log.blocks=6";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Returns the sum of all integers in nested lists.
fn sum(value: &Value) -> u64 {
    match value {
        Value::Array(values) => values.iter().map(sum).sum(),
        number => self::number(number),
    }
}

/// Runs a simulation with `--output`.
fn simulated(place: &Scratch, options: &[&str]) -> Value {
    let output = ["simulate", "--output", "s.flashscope"];
    place.run(&[&output, options].concat()).ok();
    let found = read_simulation(&place.at("s.flashscope")).unwrap();
    assert_eq!(place.names(), ["s.flashscope"]);
    fs::remove_dir_all(place.at("s.flashscope")).unwrap();
    found
}

#[test]
fn slowest_write_overlaps_a_merge_of_a_named_block() {
    let place = Scratch::in_memory();
    let drive = format!("sim:{BAST}");
    let more = ["--only", "granularity", "--io-count", "200", "--state", "sequential"];
    place.bench(&drive, "r", &more).ok();
    let found = place.result("r");
    let mut writes = 0;
    for run in found.done() {
        let activities = found.folder.activities(run.id, EVER).unwrap();
        assert!(found.folder.has_activities(run.id) && activities.left_out == 0);
        let records = found.records(run);
        let slowest = records.iter().max_by_key(|record| record.latency).unwrap();
        if slowest.op != Op::Write || slowest.latency < Nanos::millis(5) {
            continue;
        }
        let window = slowest.submitted..slowest.submitted + slowest.latency;
        let meanwhile = found.folder.activities(run.id, window.clone()).unwrap().items;
        let longest = meanwhile.iter().max_by_key(|a| a.end_ns - a.start_ns).unwrap();
        assert!(longest.kind.ends_with(" merge"), "{longest:?}");
        assert!(longest.pages_programmed > 0 && longest.blocks_erased > 0, "{longest:?}");
        let overlaps = |a: &&Activity| a.start_ns < window.end && a.end_ns > window.start;
        let expected: Vec<_> = activities.items.iter().filter(overlaps).cloned().collect();
        assert_eq!(meanwhile, expected);
        // Merges take most of the time of a small write.
        let busy: u64 = meanwhile.iter().map(|a| (a.end_ns - a.start_ns).0).sum();
        let little = slowest.len <= Bytes::kib(8);
        assert!(!little || busy * 2 > slowest.latency.0, "{busy} of {slowest:?}");
        writes += 1;
    }
    assert!(writes > 5, "{writes}");
}

#[test]
fn every_run_has_its_own_activities() {
    let place = Scratch::in_memory();
    let more = ["--only", "granularity", "--io-count", "400"];
    place.bench("sim:demo?flash.blocks_per_plane=48", "r", &more).ok();
    let found: OpenedResult = place.result("r");
    let files = fs::read_dir(place.at("r/activities")).unwrap().count();
    assert_eq!(files, found.done().count());
    let all: Vec<Activity> =
        found.done().flat_map(|run| found.folder.activities(run.id, EVER).unwrap().items).collect();
    let cleanings = all.iter().filter(|a| a.kind == "cleaning" && a.blocks_erased > 0).count();
    assert!(cleanings > 20, "{cleanings}");
    assert!(all.iter().all(|a| a.start_ns <= a.end_ns));
    assert!(found.folder.activities(9999, EVER).unwrap().items.is_empty());
    for other in ["null:", "sim:demo?raid.drives=2&flash.blocks_per_plane=48"] {
        let place = Scratch::in_memory();
        place.bench(other, "r", &["--only", "pause"]).ok();
        assert!(!place.at("r/activities").exists(), "{other}");
    }
}

#[test]
fn series_of_a_simulation_add_up_to_its_counts() {
    let place = Scratch::in_memory();
    let schema = published("simulation");
    for (drive, workload, warm_up) in [
        ("demo", "uniform?reads=0.3&trims=0.1&queue_depth=4", "2x"),
        ("demo?flash.blocks_per_plane=48&ftl=dftl", "zipf?rate=1500&arrivals=poisson", "2x"),
        (BAST, "uniform?size=geometric:16KiB", "1000"),
    ] {
        let options = ["--drive", drive, "--workload", workload, "--warmup", warm_up];
        let found = simulated(&place, &[&options[..], &["--ios", "20000"]].concat());
        assert_conforms(&found, &schema, &schema, workload);
        assert_eq!(found["schema_version"], 1);
        let seen = &found["observations"];
        for (series, counter) in
            [("programs", "flash_programs"), ("reads", "flash_reads"), ("erases", "erases")]
        {
            for (cause, count) in found[counter].as_object().unwrap() {
                let series = &seen["amplification"][series][cause];
                let added = if series.is_null() { 0 } else { sum(series) };
                assert_eq!(added, number(count), "{drive}: {counter} for {cause}");
            }
        }
        let erases: u64 = found["erases"].as_object().unwrap().values().map(number).sum();
        let wear = &seen["wear_map"];
        let of_units = |name: &str| -> u64 {
            wear["units"].as_array().unwrap().iter().map(|unit| sum(&unit[name])).sum()
        };
        assert!(erases > 100, "{drive}: {erases}");
        assert_eq!(of_units("erases"), erases, "{drive}");
        let blocks = of_units("blocks");
        let mean = seen["erases"]["mean"].as_f64().unwrap();
        #[allow(clippy::cast_precision_loss)]
        let since_new = of_units("erases_since_new") as f64;
        assert_eq!(number(&seen["erases"]["blocks"]), blocks, "{drive}");
        #[allow(clippy::cast_precision_loss)]
        let expected = mean * blocks as f64;
        assert!((since_new - expected).abs() < 1e-6 * expected, "{drive}");

        let map = &found["latency_heat_map"];
        let counted = |name: &str| {
            let latency = &found[name];
            if latency.is_null() { 0 } else { number(&latency["count"]) }
        };
        assert_eq!(sum(&map["reads"]), counted("read_latency_ns"), "{drive}");
        assert_eq!(sum(&map["writes"]), counted("write_latency_ns"), "{drive}");
        assert_eq!(sum(&map["others"]), counted("trim_latency_ns"), "{drive}");
        assert_eq!(counted("latency_ns"), 20_000);
        let limits: Vec<u64> = map["limits_ns"].as_array().unwrap().iter().map(number).collect();
        let latency = |what: &str| number(&found["latency_ns"][what]);
        assert!((limits[0]..limits[1]).contains(&latency("min")), "{drive}");
        let last = limits.len() - 2;
        assert!((limits[last]..limits[last + 1]).contains(&latency("max")), "{drive}");

        let took = number(&found["simulated_ns"]);
        for unit in seen["utilization"]["units"].as_array().unwrap() {
            assert_eq!(sum(&unit["busy_by_bucket_ns"]), number(&unit["busy_ns"]), "{drive}");
        }
        let activities = &seen["activities"];
        let longest = activities["longest"].as_array().unwrap();
        let total = number(&activities["total"]);
        assert_eq!(longest.len() as u64 + number(&activities["left_out"]), total, "{drive}");
        assert!(longest.len() <= 2000 && longest.len() > 100, "{drive}: {}", longest.len());
        assert!(longest.iter().all(|a| number(&a["start_ns"]) <= took), "{drive}");
        let counts: u64 =
            activities["count_by_bucket"].as_object().unwrap().values().map(sum).sum();
        assert!(counts <= total && counts + 100 > total, "{drive}: {counts} of {total}");
    }
}

#[test]
fn observation_changes_no_other_result() {
    let place = Scratch::in_memory();
    let options = ["simulate", "--warmup", "1000", "--ios", "5000", "--json"];
    let plain = place.run(&options).ok().stdout;
    let mut plain: Value = serde_json::from_str(&plain).unwrap();
    let printed = place.run(&[&options[..], &["--output", "s"]].concat()).ok().stdout;
    let mut printed: Value = serde_json::from_str(&printed).unwrap();
    let kept = read_simulation(&place.at("s")).unwrap();
    assert_eq!(printed, kept);
    for found in [&mut plain, &mut printed] {
        let fields = found.as_object_mut().unwrap();
        for own in ["wall_ns", "speed", "observations", "latency_heat_map"] {
            fields.remove(own);
        }
    }
    assert_eq!(plain, printed);
    // A second simulation writes the same document, except for its wall time and speed.
    place.run(&[&options[..], &["--output", "t"]].concat()).ok();
    let mut again = read_simulation(&place.at("t")).unwrap();
    ["wall_ns", "speed"].iter().for_each(|own| again[own] = kept[own].clone());
    assert_eq!(again, kept);
}

#[test]
fn simulation_folder_replaces_nothing_and_survives_failures() {
    let place = Scratch::in_memory();
    let short = ["simulate", "--warmup", "none", "--ios", "100", "--output", "s"];
    let message = place.run(&short).ok().stdout;
    assert!(message.ends_with("\nresult: s\nsee it: flashscope report s\n"), "{message}");
    let refused = place.run(&short).message(2, &place);
    assert!(refused.contains("s exists already: choose another name with --output"), "{refused}");
    let nothing = ["simulate", "--trace", "none.csv", "--output", "t"];
    assert_eq!(place.run(&nothing).status, 1);
    let nothing = ["simulate", "--workload", "uflip:pause", "--warmup", "999999", "--output", "t"];
    assert_eq!(place.run(&nothing).status, 1);
    assert_eq!(place.names(), ["s"]);
    let nowhere = place.run(&["simulate", "--output", "s/simulation.json/t"]);
    assert!(nowhere.message(1, &place).contains("cannot create s/simulation.json"));

    let worn = "demo?flash.blocks_per_plane=48&reliability.block_lifetime=20";
    let options = ["simulate", "--drive", worn, "--warmup", "none", "--output", "w"];
    assert_eq!(place.run(&options).status, 1);
    let found = read_simulation(&place.at("w")).unwrap();
    assert!(is_simulation(&place.at("w")) && found["status"] == "failed", "{}", found["status"]);
    assert_eq!(sum(&found["latency_heat_map"]["writes"]), number(&found["ios"]));
}

#[test]
fn array_has_a_folder_without_observers() {
    let place = Scratch::in_memory();
    let drive = "demo?raid.drives=2";
    let found = simulated(&place, &["--drive", drive, "--warmup", "none", "--ios", "3000"]);
    assert_eq!(sum(&found["latency_heat_map"]["writes"]), 3000);
    assert!(found["observations"].get("activities").is_none());
}
