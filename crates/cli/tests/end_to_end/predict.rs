//! Tests `flashscope predict`.

use std::fs;

use serde_json::Value;

use crate::Scratch;
use crate::simulate::{assert_conforms, published};

/// A small drive with log blocks, like that of Boboila and Desnoyers.
const SMALL: &str = "flashsim-2009?flash.planes_per_die=1&flash.blocks_per_plane=600&log.blocks=30&over_provisioning=0.06";

/// A small page-mapped drive that meets the assumptions of the models.
const PAGES: &str = "flashsim-2009?ftl=page-map&flash.planes_per_die=1&flash.blocks_per_plane=600\
                     &persistence.map=nv-ram&over_provisioning=0.1&cleaning.free_threshold=0.0025";

/// Returns the document that `--json` prints.
fn json(options: &[&str]) -> Value {
    let place = Scratch::in_memory();
    let outcome = place.run(&[&["predict", "--json"], options].concat()).ok();
    let value = serde_json::from_str(&outcome.stdout).unwrap();
    let schema = published("prediction");
    assert_conforms(&value, &schema, &schema, "prediction");
    value
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).unwrap_or_else(|| panic!("{pointer} in {value}"));
    found.as_f64().unwrap_or_else(|| panic!("{pointer} is {found}"))
}

#[test]
fn models_of_every_request_agree_with_the_simulator() {
    for (drive, model, most) in [
        (format!("{SMALL}&ftl=bast"), "fragment-bast", 1e-3),
        (format!("{SMALL}&ftl=fast"), "fragment-fast", 1e-3),
        (PAGES.to_string(), "survivors", 1e-3),
        (PAGES.replace("page-map", "dftl&map_cache.size=300000"), "dftl", 0.01),
    ] {
        let workload = "zipf?exponent=0.9&size=geometric:16KiB&reads=0.2";
        let options = ["--drive", &drive, "--workload", workload, "--ios", "20000", "--compare"];
        let found = json(&options);
        assert_eq!(found["model"], model);
        assert!(number(&found, "/erases/value") > 1000.0, "{found}");
        for error in ["/simulated/erases_error", "/simulated/write_amplification_error"] {
            let error = number(&found, error);
            assert!(error.abs() < most, "{model}: {error}");
        }
    }
}

// The model counts logical pages of 16 KiB, of which each write of 4 KiB changes a quarter.
#[test]
fn writes_of_a_part_of_a_page_count_with_their_bytes() {
    let drive = "demo?flash.blocks_per_plane=16&logical_page_size=16KiB&background_cleaning=false";
    let of = |size: &str, ios: &str| {
        let workload = format!("uniform?size={size}");
        json(&[
            "--drive",
            drive,
            "--workload",
            &workload,
            "--ios",
            ios,
            "--lifetime",
            "--per-day",
            "1GiB",
        ])
    };
    let (parts, pages) = (of("4KiB", "20000"), of("16KiB", "20000"));
    assert_eq!(number(&parts, "/bytes_written"), 20_000.0 * 4096.0);
    assert_eq!(number(&pages, "/bytes_written"), 20_000.0 * 16_384.0);
    let equal = |pointer: &str, ratio: f64| {
        let found = number(&pages, pointer) / number(&parts, pointer);
        assert!((found / ratio - 1.0).abs() < 1e-6, "{pointer}: {found}");
    };
    equal("/write_amplification/value", 1.0);
    equal("/bytes_per_second/value", 4.0);
    equal("/lifetime/endurance_left_bytes/value", 4.0);
    equal("/lifetime/days/value", 4.0);
    assert!(parts["not_modelled"].to_string().contains("written in part"), "{parts}");
    assert_eq!(pages["not_modelled"].as_array().unwrap().len(), 0, "{pages}");
}

// One pass of 5,000 writes covers only a part of the drive.
#[test]
fn short_passes_repeat_until_the_prediction_is_that_of_long_ones() {
    let of = |ios: &str| {
        let workload = "hotcold?hot_space=0.1&hot_writes=0.9";
        let found = json(&["--drive", PAGES, "--workload", workload, "--ios", ios]);
        assert_eq!(found["passes"]["converged"], true, "{found}");
        number(&found, "/write_amplification/value")
    };
    let (short, long) = (of("5000"), of("500000"));
    assert!(long > 1.5 && (short / long - 1.0).abs() < 0.02, "{short} {long}");
}

#[test]
fn trims_lower_the_prediction_as_they_lower_the_simulation() {
    for ftl in ["page-map", "dftl&map_cache.size=300000"] {
        let drive = PAGES.replace("page-map", ftl);
        let of = |workload: &str| {
            let options = ["--drive", &drive, "--workload", workload, "--ios", "20000"];
            json(&[&options[..], &["--compare"]].concat())
        };
        let (plain, trimmed) = (of("uniform"), of("uniform?trims=0.2"));
        let simulated = "/simulated/write_amplification";
        assert!(number(&trimmed, simulated) < 0.8 * number(&plain, simulated), "{trimmed}");
        let error = number(&trimmed, "/simulated/write_amplification_error");
        assert!(error.abs() < 0.02, "{ftl}: {error}");
        assert_eq!(trimmed["not_modelled"], serde_json::json!([]));
    }
}

#[test]
fn trims_are_no_gap_of_models_whose_drives_ignore_them() {
    let not_modelled = |drive: &str, model: &str| {
        let options = ["--drive", drive, "--workload", "uniform?trims=0.2", "--ios", "3000"];
        json(&[&options[..], &["--model", model]].concat())["not_modelled"].to_string()
    };
    assert_eq!(not_modelled(&format!("{SMALL}&ftl=fast"), "fragment-fast"), "[]");
    assert!(not_modelled(PAGES, "greedy").contains("trims"));
}

#[test]
fn ties_to_the_youngest_block_are_a_gap_of_models_of_requests() {
    let drive = format!("{PAGES}&cleaning.ties=youngest");
    let found = json(&["--drive", &drive, "--model", "survivors", "--ios", "20000"]);
    assert!(found["not_modelled"][0].as_str().unwrap().contains("cleaning.ties"), "{found}");
    assert!(found.pointer("/write_amplification/interval").unwrap().is_null());
}

#[test]
fn no_interval_has_zero_width_and_no_throughput_is_above_one() {
    for (drive, workload) in [
        ("flashsim-2009?ftl=page-map", "sequential"),
        ("flashsim-2009?ftl=page-map", "uniform"),
        ("agrawal-2008?flash.packages=2&flash.blocks_per_plane=64", "sequential?size=64KiB"),
        (PAGES, "zipf"),
    ] {
        let found = json(&["--drive", drive, "--workload", workload, "--ios", "50000"]);
        for number in ["erases", "write_amplification", "equivalent_throughput"] {
            let value = &found[number];
            let [low, high] = ["low", "high"].map(|end| value["interval"][end].as_f64().unwrap());
            let value = value["value"].as_f64().unwrap();
            assert!(low < high && low <= value && value <= high, "{drive}, {workload}: {number}");
            assert!(number != "equivalent_throughput" || high <= 1.0, "{found}");
        }
    }
}

#[test]
fn pools_cleaned_in_parts_are_close_and_noted() {
    let drive = PAGES.replace("planes_per_die=1", "planes_per_die=4&active_blocks=plane");
    let found = json(&["--drive", &drive, "--ios", "20000", "--compare"]);
    let error = number(&found, "/simulated/erases_error");
    assert!(error.abs() < 0.06, "{error}");
    assert!(found["not_modelled"][0].as_str().unwrap().starts_with("active_blocks"), "{found}");
    assert!(found.pointer("/erases/interval").unwrap().is_null());
}

#[test]
fn intervals_contain_the_prediction_and_grow_with_confidence() {
    for ftl in ["bast", "fast"] {
        let drive = format!("{SMALL}&ftl={ftl}");
        let of = |share| {
            json(&["--drive", &drive, "--model", ftl, "--ios", "5000", "--confidence", share])
        };
        let (narrow, wide) = (of("50%"), of("90%"));
        assert!(number(&wide, "/validation/cases") >= 9.0);
        let ends = |found: &Value| {
            let (low, high) =
                (number(found, "/erases/interval/low"), number(found, "/erases/interval/high"));
            let value = number(found, "/erases/value");
            assert!(low <= value && value <= high, "{low} {value} {high}");
            high / low
        };
        assert!(ends(&wide) > ends(&narrow));
    }
}

#[test]
fn each_option_changes_the_prediction() {
    let drive = format!("{SMALL}&ftl=bast");
    let workload = "hotcold?hot_space=0.1&hot_writes=0.9&size=4KiB";
    let of = |more: &[&str]| {
        let base = ["--drive", &drive, "--workload", workload, "--ios", "3000", "--model", "bast"];
        number(&json(&[&base[..], more].concat()), "/erases/value")
    };
    let plain = of(&[]);
    assert!((of(&[]) - plain).abs() < 1e-9);
    assert!((of(&["--seed", "7"]) - plain).abs() > 1e-6);
    assert!((of(&["--ranges", "written"]) - plain).abs() > 1.0);
    assert!((of(&["--stretches", "stationary"]) - plain).abs() > 1.0);
    assert!((of(&["--stretches", "own-time"]) - plain).abs() > 1.0);
}

// Choosing the best of ten random blocks is slightly worse than greedy, and a windowed policy lies
// between greedy and FIFO.
#[test]
fn tabulated_models_lie_between_their_limits() {
    let of = |model| {
        let options = ["--drive", PAGES, "--model", model, "--ios", "20000"];
        number(&json(&options), "/write_amplification/value")
    };
    let [greedy, ten, windowed, fifo] = ["greedy", "best-of-ten", "windowed", "fifo"].map(of);
    assert!(greedy < ten && ten < 1.1 * greedy, "{greedy} {ten}");
    assert!(greedy < windowed && windowed < fifo, "{greedy} {windowed} {fifo}");
}

#[test]
fn lifetime_follows_from_erases_and_daily_writes() {
    let drive = format!("{SMALL}&reliability.block_lifetime=3000");
    let of = |worn: &str, per_day: &str| {
        let base = ["--drive", &drive, "--ios", "5000", "--lifetime"];
        json(&[&base[..], &["--worn", worn, "--per-day", per_day]].concat())
    };
    let (new, used, busy) = (of("0", "1GB"), of("1500", "1GB"), of("0", "2GB"));
    let days = |found: &Value| number(found, "/lifetime/days/value");
    let left = |found: &Value| number(found, "/lifetime/endurance_left_bytes/value");
    assert!((left(&used) / left(&new) - 0.5).abs() < 1e-9);
    assert!((days(&used) / days(&new) - 0.5).abs() < 1e-9);
    assert!((days(&busy) / days(&new) - 0.5).abs() < 1e-9);
    // Each of the 600 blocks endures 3000 erases.
    let written = number(&new, "/bytes_written");
    let expected = 600.0 * 3000.0 / number(&new, "/erases/value") * written;
    assert!((left(&new) / expected - 1.0).abs() < 1e-9);
}

#[test]
fn unpredictable_requests_are_refused_with_advice() {
    let place = Scratch::in_memory();
    fs::write(place.at("reads.csv"), "128166372003061629,hm,0,Read,0,4096,1\n").unwrap();
    for (options, expected) in [
        (&["--drive", "kingston-dti"][..], "`flashscope simulate` runs the workload"),
        (&["--drive", "/dev/null"], "--profile` has saved"),
        (&["--drive", "demo?raid.drives=2"], "set raid.drives=1"),
        (&["--model", "bast"], "the model `bast` is not for ftl = \"page-map\""),
        (&["--model", "gready"], "choose one of: fragment-bast"),
        (&["--workload", "uflip:granularity"], "uFLIP runs cannot be predicted"),
        (&["--lifetime"], "--per-day SIZE"),
        (&["--trace", "reads.csv"], "writes nothing"),
        (&["--worn", "5"], "--lifetime"),
    ] {
        let outcome = place.run(&[&["predict"], options].concat());
        assert_eq!(outcome.status, 2, "{options:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{options:?}: {}", outcome.stderr);
    }
}

#[test]
fn text_names_intervals_and_what_is_not_modelled() {
    let place = Scratch::in_memory();
    let of = |workload: &str| {
        place
            .run(&["predict", "--drive", "demo", "--ios", "20000", "--workload", workload])
            .ok()
            .stdout
    };
    let shown = of("uniform");
    for expected in
        ["predicted by long-run-greedy", "intervals contain 90 %", "other idle time of packages"]
    {
        assert!(shown.contains(expected), "{shown}");
    }
    let shown = of("uniform?size=geometric:16KiB");
    for expected in ["blocks erased", "no intervals", "not modelled: background cleaning"] {
        assert!(shown.contains(expected), "{shown}");
    }
    let shown = place.run(&["predict", "--drive", PAGES, "--ios", "20000"]).ok().stdout;
    assert!(shown.contains("intervals contain 90 %"), "{shown}");
    let listed = place.run(&["predict", "--list"]).ok().stdout;
    for expected in ["fragment-fast", "survivors", "greedy-2012", "long-run-cost-benefit"] {
        assert!(listed.contains(expected), "{listed}");
    }
}

#[test]
fn measured_grid_predicts_its_points_and_interpolates() {
    let place = Scratch::in_memory();
    let drive = format!("sim:{SMALL}&ftl=fast");
    let grid = [
        "--grid",
        "--grid-page",
        "2KiB",
        "--grid-lengths",
        "1,4,16",
        "--grid-spaces",
        "0.07,0.5,2,8",
    ];
    place.run(&[&["bench", &drive, "--output", "g"], &grid[..]].concat()).ok();
    let of = |more: &[&str]| -> Value {
        let base = ["predict", "--json", "--grid", "g", "--ios", "50000", "--workload"];
        let outcome = place.run(&[&base[..], more].concat()).ok();
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    let amplification = |found: &Value| number(found, "/write_amplification/value");
    let short = of(&["uniform?size=2KiB"]);
    let long = of(&["uniform?size=geometric:64KiB"]);
    assert!(amplification(&short) > amplification(&long), "{short} {long}");
    assert!(number(&short, "/ns_per_page/value") > number(&long, "/ns_per_page/value"));
    assert_eq!(short["model"], "grid");
    let hot = ["hotcold?hot_space=0.01&hot_writes=0.95&size=2KiB"];
    let plain = amplification(&of(&hot));
    for more in [["--like", "bast"], ["--block-size", "32KiB"], ["--ranges", "written"]] {
        let other = amplification(&of(&[&hot[..], &more].concat()));
        assert!((other - plain).abs() > 1e-6, "{more:?}: {other}");
    }
    let beyond = |found: &Value| found["not_modelled"].to_string().contains("the grid");
    assert!(!beyond(&short), "{short}");
    let coarse = ["--grid-lengths", "1,4", "--grid-spaces", "1,8"];
    let measured = ["bench", &drive, "--output", "c", "--grid", "--grid-page", "2KiB"];
    place.run(&[&measured[..], &coarse[..]].concat()).ok();
    let outcome = place.run(&["predict", "--json", "--grid", "c", "--ios", "50000"]).ok();
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(beyond(&found) && found["write_amplification"]["interval"].is_null(), "{found}");
    // `--compare` simulates the measured drive, or a drive of the same size that `--drive` names.
    for more in [vec![], vec!["--drive", drive.as_str()]] {
        let compared = of(&[&["uniform?size=2KiB", "--compare"], &more[..]].concat());
        let error = number(&compared, "/simulated/write_amplification_error");
        assert!(error.abs() < 0.4, "{compared}");
        assert_eq!(compared["drive"], drive.as_str());
    }
    let outcome = place.run(&["predict", "--grid", "g", "--compare", "--drive", "demo"]);
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("name a drive of the same size"), "{}", outcome.stderr);
    place
        .run(&["bench", "sim:demo", "--only", "pause", "--target-size", "16MiB", "--output", "r"])
        .ok();
    let outcome = place.run(&["predict", "--grid", "r"]);
    assert!(outcome.status == 2 && outcome.stderr.contains("--grid"), "{}", outcome.stderr);
}

// A million writes do not reach the steady state of this drive: as a sample, they gave a write
// amplification of 1.347.
#[test]
fn long_run_of_a_large_drive_does_not_depend_on_the_sample() {
    let workload = "hotcold?hot_space=0.05&hot_writes=0.9";
    let of = |ios: &str| json(&["--drive", "agrawal-2008", "--workload", workload, "--ios", ios]);
    let (default, few) = (of("1000000"), of("1000"));
    assert_eq!(default["model"], "long-run-greedy");
    let [value, low, high] = ["value", "interval/low", "interval/high"]
        .map(|at| number(&default, &format!("/write_amplification/{at}")));
    assert!((value / 6.424 - 1.0).abs() < 0.015, "{value}");
    assert!(low < 6.424 && 6.424 < high && high / low < 1.15, "{low} to {high}");
    assert!((number(&few, "/write_amplification/value") / value - 1.0).abs() < 1e-12);
}

#[test]
fn models_of_the_long_run_refuse_other_workloads() {
    let place = Scratch::in_memory();
    let of = |model: &str, workload: &str| {
        let request = ["predict", "--drive", PAGES, "--model", model, "--workload", workload];
        place.run(&request).message(2, &place)
    };
    for (model, workload) in [("long-run-greedy", "sequential"), ("long-run-fifo", "uniform")] {
        let message = of(model, workload);
        assert!(message.contains("omit the model"), "{message}");
    }
}
