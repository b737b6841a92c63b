//! Tests `flashscope compare`.

use std::fs;

use serde_json::Value;

use crate::Scratch;
use crate::simulate::{assert_conforms, published};

/// A small drive, whose simulation takes milliseconds.
const DRIVE: &str = "demo?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=128";
const SLOWER: &str = "&flash.page_read=27500ns&flash.page_program=220us&flash.block_erase=1650us&flash.serial_access_per_kib=28160ns";

fn simulate(place: &Scratch, drive: &str, seed: &str, more: &[&str]) -> String {
    let start = ["simulate", "--drive", drive, "--seed", seed, "--ios", "20000", "--warmup", "1x"];
    place.run(&[&start[..], more].concat()).ok().stdout
}

/// Writes simulations of a drive, of a slower drive, and of the first drive with another seed.
fn old_and_new(place: &Scratch) {
    simulate(place, DRIVE, "1", &["--output", "old.flashscope"]);
    simulate(place, &format!("{DRIVE}{SLOWER}"), "2", &["--output", "new.flashscope"]);
    simulate(place, DRIVE, "3", &["--output", "same.flashscope"]);
}

#[test]
fn a_regression_has_an_exit_status_of_its_own() {
    let place = Scratch::in_memory();
    old_and_new(&place);
    let limit = ["--fail-on-regression", "5%"];
    let compare =
        |results: &[&str], more: &[&str]| place.run(&[&["compare"], results, more].concat());
    let found = compare(&["old.flashscope", "new.flashscope"], &limit);
    assert_eq!(found.status, 3, "{}{}", found.stdout, found.stderr);
    assert!(found.stderr.contains("regressions beyond 5 %"), "{}", found.stderr);
    assert!(found.stdout.contains("times as slow as old in random writes"), "{}", found.stdout);
    assert!(found.stdout.contains("new, random writes of 4 KiB: mean latency worse by"));
    // Without the option, with a larger limit, in the other direction, and for equal drives, there
    // is no regression.
    compare(&["old.flashscope", "new.flashscope"], &[]).ok();
    compare(&["old.flashscope", "new.flashscope"], &["--fail-on-regression", "0.2"]).ok();
    compare(&["new.flashscope", "old.flashscope"], &limit).ok();
    let same = compare(&["old.flashscope", "same.flashscope"], &limit).ok().stdout;
    assert!(same.contains("no regression beyond 5 %"), "{same}");
}

#[test]
fn a_limit_needs_numbers_that_have_a_verdict() {
    let place = Scratch::in_memory();
    for name in ["a.flashscope", "b.flashscope"] {
        let options = ["--only", "granularity", "--io-size", "4KiB", "--repeats", "1"];
        place.bench(&format!("sim:{DRIVE}"), name, &options).ok();
    }
    let results = ["compare", "a.flashscope", "b.flashscope"];
    let found = place.run(&results).ok().stdout;
    assert!(found.contains("so measure with `--repeats 3`"), "{found}");
    let limited = place.run(&[&results[..], &["--fail-on-regression", "5%"]].concat());
    assert_eq!(limited.status, 2, "{}", limited.stderr);
    assert!(limited.stderr.contains("no number has an interval"), "{}", limited.stderr);
}

#[test]
fn json_follows_the_published_schema_and_has_the_same_exit_status() {
    let place = Scratch::in_memory();
    old_and_new(&place);
    let found = place.run(&[
        "compare",
        "old.flashscope",
        "new.flashscope",
        "same.flashscope",
        "--json",
        "--fail-on-regression",
        "5%",
    ]);
    assert_eq!(found.status, 3);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let schema = published("comparison");
    assert_conforms(&found, &schema, &schema, "comparison");
    let places: Vec<_> =
        found["ranking"].as_array().unwrap().iter().map(|rank| &rank["place"]).collect();
    assert_eq!(places, [1, 1, 3]);
    assert_eq!(found["ranking"][2]["result"], 1);
    assert_eq!(found["regressions"]["found"][0]["result"], 1);
}

#[test]
fn a_measurement_compares_with_a_simulation_of_the_same_workload() {
    let place = Scratch::in_memory();
    place
        .bench(
            &format!("sim:{DRIVE}"),
            "drive.flashscope",
            &["--only", "granularity", "--io-size", "4KiB"],
        )
        .ok();
    let simulated = simulate(&place, DRIVE, "2", &["--json"]);
    fs::write(place.at("simulation.json"), simulated).unwrap();
    let predicted = place.run(&["predict", "--drive", DRIVE, "--json"]).ok().stdout;
    fs::write(place.at("prediction.json"), predicted).unwrap();
    let found = place
        .run(&["compare", "simulation.json", "drive.flashscope", "prediction.json"])
        .ok()
        .stdout;
    assert!(found.contains("drive: measurement of sim:demo"), "{found}");
    assert!(found.contains("prediction: prediction of a model"), "{found}");
    assert!(found.contains("The drives began in different states"), "{found}");
    let table = found.split("random writes of 4 KiB\n").nth(1).expect(&found);
    for quantity in ["mean latency", "p99 latency", "IOs/s", "WA"] {
        assert!(table.contains(quantity), "{table}");
    }
}

#[test]
fn results_that_cannot_be_compared_are_refused_by_name() {
    let place = Scratch::in_memory();
    simulate(&place, DRIVE, "1", &["--output", "a.flashscope"]);
    simulate(
        &place,
        DRIVE,
        "1",
        &["--output", "deep.flashscope", "--queue-depth", "4", "--workload", "uniform?op=read"],
    );
    fs::write(place.at("twin.json"), r#"{"profile": "", "draws": []}"#).unwrap();
    fs::write(place.at("other.json"), "{}").unwrap();
    fs::write(place.at("text.json"), "no JSON").unwrap();
    let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
    let fixture = |name: &str| results.join(name).to_str().unwrap().to_owned();
    let [probe, sweep] = [fixture("probed.flashscope"), fixture("swept.flashscope")];
    for (results, message) in [
        (vec!["a.flashscope"], "takes two to 6 results, not 1"),
        (vec!["a.flashscope"; 7], "takes two to 6 results, not 7"),
        (
            vec!["a.flashscope", "deep.flashscope"],
            "share no workload and quantity: a has random writes of 4 KiB; deep has random reads of 4 KiB at queue depth 4",
        ),
        (vec!["a.flashscope", &probe], "is a probe, which cannot be compared"),
        (vec!["a.flashscope", &sweep], "is a sweep, which cannot be compared"),
        (vec!["a.flashscope", "twin.json"], "is a twin, which is a drive and not a result"),
        (
            vec!["a.flashscope", "other.json"],
            "is not the JSON of `simulate`, `what-if`, `predict` or `twin predict`",
        ),
        (vec!["a.flashscope", "text.json"], "is neither a result folder nor JSON"),
        (vec!["a.flashscope", "missing.flashscope"], "missing.flashscope"),
    ] {
        let refused = place.run(&[&["compare"], &results[..]].concat());
        assert_eq!(refused.status, 2, "{results:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(message), "{results:?}: {}", refused.stderr);
    }
    for limit in ["-1", "much", "-5%"] {
        let refused = place.run(&[
            "compare",
            "a.flashscope",
            "a.flashscope",
            &format!("--fail-on-regression={limit}"),
        ]);
        assert_eq!(refused.status, 2, "{limit}: {}", refused.stderr);
    }
}

#[test]
fn a_what_if_stands_for_its_baseline_and_its_variants() {
    let place = Scratch::in_memory();
    let options =
        ["--drive", DRIVE, "--ios", "20000", "--warmup", "1x", "--output", "w.flashscope"];
    let changes = [
        "--change",
        "flash.page_program=400us",
        "--name",
        "slow",
        "--change",
        "over_provisioning=2",
    ];
    place.run(&[&["what-if"], &options[..], &changes].concat()).ok();
    let found = place.run(&["compare", "w.flashscope"]).ok();
    assert!(found.stdout.contains("w, slow: what-if of"), "{}", found.stdout);
    assert!(
        found.stdout.contains("times as slow as w, baseline in random writes"),
        "{}",
        found.stdout
    );
    assert!(
        found.stderr.contains("w, over_provisioning=2 was not simulated, and is left out"),
        "{}",
        found.stderr
    );
    // The document that `what-if --json` prints gives the same comparison.
    fs::copy(place.at("w.flashscope/what-if.json"), place.at("w.json")).unwrap();
    assert_eq!(place.run(&["compare", "w.json"]).ok().stdout, found.stdout);
}
