//! Tests `flashscope simulate`.

use std::fs;

use flashscope_workload::synthetic::KINDS;
use serde_json::Value;

use crate::{Running, Scratch};

/// Returns a published schema, with the shared definitions among its own.
pub(crate) fn published(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas");
    let read = |name: &str| fs::read_to_string(format!("{folder}/{name}.schema.json")).unwrap();
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut schema = parse(&read(name).replace("common.schema.json#", "#"));
    let mut definitions = parse(&read("common"))["$defs"].take();
    let own = schema["$defs"].as_object().cloned().unwrap_or_default();
    definitions.as_object_mut().unwrap().extend(own);
    schema["$defs"] = definitions;
    schema
}

/// A drive with one pool of 2048 used and two free blocks, in which 90 % of the used pages are
/// valid.
const ONE_POOL: &str = "agrawal-2008?flash.packages=1&flash.dies_per_package=1\
                        &flash.planes_per_die=1&flash.blocks_per_plane=2050\
                        &cleaning.free_threshold=0.0009756&over_provisioning=0.100878";

fn arguments<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&["simulate"], options].concat()
}

/// Returns the document that `--json` prints.
fn json(options: &[&str]) -> Value {
    let place = Scratch::in_memory();
    let outcome = place.run(&[&arguments(options)[..], &["--json"]].concat()).ok();
    assert_eq!(outcome.stderr, "");
    assert!(place.names().is_empty(), "{:?}", place.names());
    serde_json::from_str(&outcome.stdout).unwrap()
}

// Two tenants that read two halves of a drive have equal slowdowns, and the document contains both
// tenants.
#[test]
fn tenants_have_results_of_their_own() {
    let options =
        ["--tenant", "a=uniform?op=read", "--tenant", "b:low=uniform?op=read", "--ios", "4000"];
    let document = json(&[&options[..], &["--warmup", "none"]].concat());
    let root = published("simulation");
    assert_conforms(&document, &root, &root, "simulation");
    let tenants = document["tenants"].as_array().unwrap();
    assert_eq!(tenants.iter().map(|one| &one["name"]).collect::<Vec<_>>(), ["a", "b"]);
    let ios: u64 = tenants.iter().filter_map(|one| one["ios"].as_u64()).sum();
    assert_eq!(ios, 4000);
    assert!(number(&document["fairness"]) > 0.95, "{}", document["fairness"]);
    let place = Scratch::in_memory();
    let refused = place.run(&arguments(&[&options[..], &["--weights", "1,0,1"]].concat()));
    assert!(refused.stderr.contains("three whole numbers"), "{}", refused.stderr);
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Asserts that a value conforms to a schema. Panics at a keyword that [`conforms`] does not know,
/// because it
/// would not be checked.
pub(crate) fn assert_conforms(value: &Value, schema: &Value, root: &Value, path: &str) {
    if let Err(reason) = conforms(value, schema, root) {
        panic!("{path}: {reason}");
    }
}

fn conforms(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else { panic!("{schema} is no schema") };
    let refused = |why: &str| Err(format!("{why}: {value} against {schema}"));
    for (keyword, rule) in keywords {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "required" | "default" => {}
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                conforms(value, root.pointer(pointer).unwrap(), root)?;
            }
            "const" if value != rule => return refused("another value"),
            "const" => {}
            "anyOf" | "oneOf" => {
                let mut any = rule.as_array().unwrap().iter();
                if !any.any(|schema| conforms(value, schema, root).is_ok()) {
                    return refused("none of these");
                }
            }
            "type" if !is_of_type(value, rule) => return refused("of another type"),
            "type" => {}
            "minimum" | "maximum" | "minLength" | "maxLength" | "minItems" | "maxItems" => {
                if !is_within(value, keyword, number(rule)) {
                    return refused(keyword);
                }
            }
            "enum" if !rule.as_array().unwrap().contains(value) => return refused("none of"),
            "enum" => {}
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten();
                for (item, rule) in items.zip(rule.as_array().unwrap()) {
                    conforms(item, rule, root)?;
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    conforms(item, rule, root)?;
                }
            }
            "properties" => {
                let Value::Object(fields) = value else { continue };
                for (name, field) in fields {
                    let Some(schema) = rule.get(name) else { return refused(name) };
                    conforms(field, schema, root).map_err(|why| format!("{name}: {why}"))?;
                }
            }
            // Annotations for the page.
            "x-column" | "x-unit" => {}
            // `properties` above refuses other properties.
            "additionalProperties" if *rule == Value::Bool(false) => {}
            "additionalProperties" => {
                for field in value.as_object().into_iter().flat_map(|fields| fields.values()) {
                    conforms(field, rule, root)?;
                }
            }
            other => panic!("the keyword `{other}` is not checked here"),
        }
    }
    let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut missing = required.filter(|name| value.get(name.as_str().unwrap()).is_none());
    missing.next().map_or(Ok(()), |name| Err(format!("{name} is missing")))
}

/// Returns true if a number, or the length of a text or list, is within a limit. Limits do not
/// apply to values of other types.
fn is_within(value: &Value, keyword: &str, limit: f64) -> bool {
    let found = match &keyword[3..] {
        "imum" => value.as_f64(),
        "Length" => value.as_str().map(|text| text.chars().count() as f64),
        _ => value.as_array().map(|items| items.len() as f64),
    };
    found.is_none_or(|found| match keyword.starts_with("max") {
        true => found <= limit,
        false => found >= limit,
    })
}

fn is_of_type(value: &Value, rule: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type is called {other}"),
    };
    rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is))
}

#[test]
fn json_conforms_to_its_schema() {
    let schema = published("simulation");
    let short = ["--warmup", "none", "--ios", "2000", "--workload"];
    for workload in [
        "uniform?reads=0.3&trims=0.2",
        "sequential?op=read",
        "hotcold?rate=1000&arrivals=poisson",
        "uflip:parallelism",
    ] {
        let mut found = json(&[&short[..], &[workload]].concat());
        assert_conforms(&found, &schema, &schema, workload);
        assert_eq!(found["workload"], workload);
        assert_eq!(found["status"], "complete");
        // Shows that a missing field or a wrong type is detected.
        found["write_amplification"] = "lots".into();
        assert!(conforms(&found, &schema, &schema).is_err());
        found.as_object_mut().unwrap().remove("write_amplification");
        assert!(conforms(&found, &schema, &schema).is_ok(), "it is optional");
        found.as_object_mut().unwrap().remove("erases");
        assert!(conforms(&found, &schema, &schema).is_err());
    }
}

#[test]
fn counts_of_a_measurement_are_consistent() {
    let found = json(&["--workload", "uniform?reads=0.25", "--warmup", "2x", "--ios", "50000"]);
    let count = |pointer: &str| number(found.pointer(pointer).unwrap());
    assert_eq!(count("/ios"), 50_000.0);
    assert_eq!(count("/latency_ns/count"), 50_000.0);
    let (reads, writes) = (count("/read_latency_ns/count"), count("/write_latency_ns/count"));
    assert_eq!(reads + writes, 50_000.0);
    assert!((reads / 50_000.0 - 0.25).abs() < 0.01);
    assert_eq!((count("/host_pages_read"), count("/host_pages_written")), (reads, writes));
    assert_eq!(count("/bytes_written"), writes * 4096.0);
    assert_eq!(count("/flash_programs/host"), writes);
    assert_eq!(count("/flash_programs/cleaning"), count("/cleaning/pages_moved"));
    let programs = found["flash_programs"].as_object().unwrap().values().map(number).sum::<f64>();
    assert!((count("/write_amplification") - programs / writes).abs() < 1e-9);
    let erases = found["erases"].as_object().unwrap().values().map(number).sum::<f64>();
    assert!(erases >= count("/cleaning/count") && count("/cleaning/count") > 0.0);
    // A block of 64 pages uses one page for a summary.
    assert!((count("/equivalent_throughput") - writes / 63.0 / erases).abs() < 1e-9);
    let efficiency = count("/cleaning/efficiency");
    assert!(0.0 < efficiency && efficiency < 1.0, "{efficiency}");
    assert_eq!(count("/warm_up/bytes"), 4096.0 * count("/warm_up/ios"));
    let capacity = count("/drive/capacity_bytes");
    assert!((count("/warm_up/bytes") - 2.0 * capacity).abs() <= 4096.0);
    assert_eq!(found["warm_up"]["steady"], Value::Null);
    let order = ["min", "p50", "p99", "p999", "max"].map(|q| count(&format!("/latency_ns/{q}")));
    assert!(order.is_sorted() && order[0] > 0.0, "{order:?}");
    let mean = |end| count(&format!("/latency_ns/mean/{end}"));
    assert!(mean("low") < mean("value") && mean("value") < mean("high"));
    // With one IO in flight, the latencies add up to the total time.
    let busy = mean("value") * 50_000.0;
    assert!((count("/simulated_ns") / busy - 1.0).abs() < 1e-9);
}

// The greedy mean field (Van Houdt, SIGMETRICS'13) gives 4.8213 for 64 pages per block, 90 % of
// them valid.
#[test]
fn write_amplification_agrees_with_theory() {
    let found = json(&["--drive", ONE_POOL, "--ios", "400000"]);
    assert_eq!(found["warm_up"]["steady"], true);
    let windows = found["warm_up"]["window_write_amplification"].as_array().unwrap().len();
    assert!(windows >= 5, "{windows}");
    // The formula does not include the pages that the drive programs for its map.
    let [host, cleaning] =
        ["host", "cleaning"].map(|cause| number(&found["flash_programs"][cause]));
    let amplification = (host + cleaning) / host;
    assert!((amplification / 4.8213 - 1.0).abs() < 0.01, "{amplification}");
    let efficiency = number(&found["cleaning"]["efficiency"]);
    assert!((efficiency * amplification - 1.0).abs() < 0.01, "{efficiency}");
}

#[test]
fn open_loop_keeps_its_rate_and_shows_overload_in_latency() {
    let at = |rate: &str| {
        let workload = format!("uniform?rate={rate}");
        json(&["--workload", &workload, "--warmup", "none", "--fill", "none", "--ios", "20000"])
    };
    let easy = at("1000");
    assert_eq!((&easy["open_loop"], &easy["queue_depth"]), (&true.into(), &32.into()));
    assert!((number(&easy["ios_per_second"]) / 1000.0 - 1.0).abs() < 1e-3);
    assert!(number(&easy["latency_ns"]["max"]) < 1e7);
    // 20,000 IOs are due within 0.2 s, and the last one waits for all others.
    let hard = at("100000");
    let waited = number(&hard["simulated_ns"]) - 0.2e9;
    assert!((number(&hard["latency_ns"]["max"]) / waited - 1.0).abs() < 0.01, "{hard}");
    assert!(waited > 0.5e9, "{waited}");
}

/// Removes the fields that differ between two runs with the same seed.
fn without_times(found: &mut Value) {
    let fields = found.as_object_mut().unwrap();
    assert!(["wall_ns", "speed"].into_iter().all(|own| fields.remove(own).is_some()));
}

#[test]
fn the_speed_of_each_phase_is_told() {
    let found = json(&["--warmup", "5000", "--ios", "20000"]);
    let speed = &found["speed"];
    let ios = ["fill", "warm_up", "measurement"].map(|phase| speed[phase]["ios"].as_u64());
    assert_eq!(ios, [None, Some(5000), Some(20_000)]);
    let capacity = number(&found["drive"]["capacity_bytes"]);
    assert_eq!(number(&speed["fill"]["bytes"]), capacity);
    let all = |field: &str| -> f64 {
        ["fill", "warm_up", "measurement"].map(|phase| number(&speed[phase][field])).iter().sum()
    };
    assert!(all("wall_ns") <= number(&found["wall_ns"]), "{found}");
    assert!(number(&speed["measurement"]["ios_per_cpu_second"]) > 0.0);
    assert!(all("cpu_ns") > 0.0);
}

#[test]
fn each_option_changes_the_measurement() {
    // The warm-up is long enough for garbage collection.
    let quick = ["--warmup", "80000", "--ios", "3000"];
    let with = |more: &[&str]| {
        // clap refuses an option that is given twice: `more` replaces the default.
        let kept = quick.chunks(2).filter(|pair| !more.contains(&pair[0])).flatten().copied();
        let mut found = json(&[&kept.collect::<Vec<_>>()[..], more].concat());
        without_times(&mut found);
        found
    };
    let plain = with(&[]);
    assert_eq!((&plain["ios"], &plain["warm_up"]["ios"]), (&3000.into(), &80_000.into()));
    assert_eq!(plain, with(&["--drive", "demo", "--workload", "uniform", "--seed", "1"]));
    for (option, value, pointer, expected) in [
        ("--drive", "demo?interface.queue_depth=8", "/drive/queue_depth", 8.into()),
        ("--workload", "sequential", "/workload", "sequential".into()),
        ("--ios", "2000", "/latency_ns/count", 2000.into()),
        ("--fill", "random", "/fill", "random".into()),
        ("--fill", "none", "/flash_programs/cleaning", 0.into()),
        ("--warmup", "none", "/warm_up/ios", 0.into()),
        ("--warmup", "steady", "/warm_up/steady", true.into()),
        ("--queue-depth", "4", "/queue_depth", 4.into()),
        ("--seed", "2", "/seed", 2.into()),
    ] {
        assert_ne!(plain.pointer(pointer), Some(&expected), "{option} {value}");
        let found = with(&[option, value]);
        assert_eq!(found.pointer(pointer), Some(&expected), "{option} {value}");
    }
    let part = with(&["--warmup", "0.01x"]);
    let excess =
        number(&part["warm_up"]["bytes"]) - 0.01 * number(&part["drive"]["capacity_bytes"]);
    assert!((0.0..4096.0).contains(&excess.ceil()), "{excess}");
    let second = json(&["--warmup", "none", "--duration", "1s"]);
    assert_eq!(second["simulated_ns"], 1_000_000_000);
    // The fields of the workload override the options.
    let own = with(&["--workload", "uniform?queue_depth=2&seed=3", "--queue-depth", "4"]);
    assert_eq!((&own["queue_depth"], &own["seed"]), (&2.into(), &3.into()));
}

#[test]
fn same_seed_gives_the_same_bytes() {
    let of_seed = |seed: &str| {
        let workload = "zipf?reads=0.3&trims=0.1&rate=2000&arrivals=poisson";
        let mut found =
            json(&["--workload", workload, "--warmup", "1x", "--ios", "20000", "--seed", seed]);
        without_times(&mut found);
        found.to_string()
    };
    assert_eq!(of_seed("7"), of_seed("7"));
    assert_ne!(of_seed("7"), of_seed("8"));
}

#[test]
fn observers_conform_and_change_no_other_result() {
    let options = ["--warmup", "80000", "--ios", "3000"];
    let plain = json(&options);
    let names = "utilization,free_blocks,cleaning";
    let mut found = json(&[&options[..], &["--observe", names]].concat());
    assert_conforms(&found, &published("simulation"), &published("simulation"), names);
    let seen = found["observations"].take();
    let took = number(&found["simulated_ns"]);
    let utilization = &seen["utilization"];
    assert_eq!(number(&utilization["until_ns"]) - number(&utilization["from_ns"]), took);
    assert_eq!(utilization["units"].as_array().unwrap().len(), 8);
    assert_eq!(seen["free_blocks"]["curve"]["from_ns"], utilization["from_ns"]);
    for same in ["count", "pages_moved", "efficiency"] {
        assert_eq!(seen["cleaning"][same], found["cleaning"][same], "{same}");
    }
    assert!(number(&found["cleaning"]["count"]) > 0.0);
    assert_eq!(seen["erases"], plain["observations"]["erases"]);
    assert!(plain["observations"].get("utilization").is_none());
    for mut rest in [found, plain] {
        let fields = rest.as_object_mut().unwrap();
        fields.remove("observations");
        ["wall_ns", "speed"].iter().for_each(|own| drop(fields.remove(*own)));
        let mut again = json(&options);
        let fields = again.as_object_mut().unwrap();
        fields.remove("observations");
        ["wall_ns", "speed"].iter().for_each(|own| drop(fields.remove(*own)));
        assert_eq!(rest, again);
    }
}

#[test]
fn event_trace_contains_its_window() {
    let place = Scratch::in_memory();
    let trace = |more: &[&str]| {
        let options = ["--fill", "none", "--warmup", "100", "--ios", "1000"];
        let options = [&options[..], &["--trace-events", "events.json"], more].concat();
        place.run(&arguments(&options)).ok();
        let text = fs::read(place.at("events.json")).unwrap();
        let trace: Value = serde_json::from_slice(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().clone();
        let of = |phase: &str| {
            let of_phase = events.iter().filter(|event| event["ph"] == phase);
            of_phase.map(|event| number(&event["ts"])).collect::<Vec<_>>()
        };
        (of("X"), of("b"), of("e"))
    };
    // With one IO in flight, a write takes 305.6 us.
    let (commands, begun, ended) = trace(&["--trace-for", "1h"]);
    assert_eq!((begun.len(), ended.len()), (1000, 1000));
    assert!(commands.len() >= 1000);
    let start = begun[0];
    let (commands, begun, ended) = trace(&["--trace-from", "1ms", "--trace-for", "2ms"]);
    assert!((5..10).contains(&begun.len()), "{begun:?}");
    assert!((5..10).contains(&commands.len()), "{commands:?}");
    assert!(begun.iter().all(|begin| *begin < start + 3000.0), "{start} {begun:?}");
    assert!(ended.iter().all(|end| *end > start + 1000.0), "{start} {ended:?}");

    fs::create_dir(place.at("folder")).unwrap();
    let refused = place.run(&arguments(&["--trace-events", "folder"])).message(2, &place);
    assert!(refused.contains("--trace-events: folder is not a file"), "{refused}");
    let refused = place.run(&arguments(&["--trace-events", "no/where.json"])).message(1, &place);
    assert!(refused.contains("--trace-events: cannot create `no/where.json`: "), "{refused}");
    let refused = place.run(&arguments(&["--json", "--observe", "erasures"])).message(2, &place);
    assert!(refused.contains("--observe: there is no observer `erasures`"), "{refused}");
}

#[test]
fn text_is_complete_and_names_limits() {
    let place = Scratch::in_memory();
    let options = ["--drive", "demo", "--warmup", "none", "--ios", "10000"];
    let text = place.run(&arguments(&options)).ok().stdout;
    for part in [
        "sim:demo: flashscope demo, 1 GiB; capacity 1.01 GiB\n",
        "uniform, seed 1: closed loop, 1 IO of each stream in flight\n",
        "filled in order, not warmed up\n",
        "host pages           10,000 written, 0 read, 0 trimmed\n",
        "\nwrite amplification  ",
        "\n  writes  10,000  ",
        "\n10,000 IOs in ",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn every_ftl_runs_with_consistent_counts() {
    for kind in flashscope_sim::ftl::KINDS {
        let drive = format!(
            "flashsim-2009?ftl={}&flash.blocks_per_plane=512&log.blocks=9&\
                             cleaning.free_threshold=0.02&map_cache.size=4KiB",
            kind.name
        );
        let command = ["--drive", &drive, "--warmup", "1x", "--ios", "3000", "--workload"];
        let found = json(&[&command[..], &["uniform?size=geometric:16KiB"]].concat());
        let sum = |pointer: &str| -> f64 {
            found[pointer].as_object().unwrap().values().map(number).sum()
        };
        let host = number(&found["flash_programs"]["host"]);
        let amplification = number(&found["write_amplification"]);
        assert!((sum("flash_programs") / host - amplification).abs() < 1e-9, "{}", kind.name);
        let throughput = number(&found["equivalent_throughput"]);
        assert!((host / 64.0 / sum("erases") - throughput).abs() < 1e-9, "{}", kind.name);
        assert!(sum("events") > 100.0 || kind.name == "page-map", "{}", kind.name);
        if !kind.trims() {
            let trims = ["--drive", &drive, "--workload", "uniform?trims=0.1"];
            let place = Scratch::in_memory();
            let refused = place.run(&[&["simulate"][..], &trims].concat()).message(1, &place);
            assert!(refused.contains("a trim, which the FTL of this drive does not support"));
        }
    }
}

#[test]
fn the_drive_may_be_named_first_as_in_other_commands() {
    let place = Scratch::in_memory();
    for command in ["simulate", "predict"] {
        let answer = |drive: &[&str]| {
            let options = ["--workload", "uniform", "--ios", "100"];
            let arguments = [&[command][..], drive, &options].concat();
            place.run(&arguments).ok().stdout.lines().next().unwrap().to_owned()
        };
        let drive = "demo?flash.packages=2";
        assert_eq!(answer(&[drive]), answer(&["--drive", drive]), "{command}");
        assert_ne!(answer(&[drive]), answer(&["demo"]), "{command}");
    }
    let twice = place.run(&["simulate", "demo", "--drive", "demo", "--ios", "100"]);
    assert_eq!(twice.status, 2);
    assert!(twice.stderr.contains("cannot be used with"), "{}", twice.stderr);
}

#[test]
fn list_has_every_drive_and_workload() {
    let text = Scratch::in_memory().run(&["simulate", "--list"]).ok().stdout;
    let workloads = KINDS.iter().map(|kind| kind.name);
    for name in ["agrawal-2008", "demo", "uflip:"].into_iter().chain(workloads) {
        assert!(text.contains(&format!("\n  {name}")), "no {name} in\n{text}");
    }
    for field in KINDS.iter().flat_map(|kind| kind.all_fields()).map(|field| field.name) {
        assert!(text.contains(&format!("\n      {field} ")), "no {field} in\n{text}");
    }
}

#[test]
fn every_workload_runs_at_its_defaults() {
    for kind in KINDS.iter().filter(|kind| kind.name != "trace") {
        let (workload, depth) = match kind.argument {
            None => (kind.name.to_string(), "8"),
            Some(_) => (format!("{}:order/SW", kind.name), "1"),
        };
        let options = ["--warmup", "none", "--ios", "500", "--queue-depth", depth, "--workload"];
        let found = json(&[&options[..], &[&workload]].concat());
        assert_eq!((&found["status"], number(&found["ios"])), (&"complete".into(), 500.0));
        assert!(number(&found["bytes_read"]) + number(&found["bytes_written"]) > 0.0, "{workload}");
    }
}

#[test]
fn invalid_requests_have_status_2_and_advice() {
    let place = Scratch::in_memory();
    let refused = |options: &str| {
        let options: Vec<&str> = options.split_whitespace().collect();
        let outcome = place.run(&arguments(&options));
        assert_eq!(outcome.stdout, "");
        outcome.message(2, &place)
    };
    for (options, message) in [
        ("--drive dmeo", "no simulated drive is called `dmeo` (did you mean `demo`?); choose "),
        ("--drive file:x", "`file:x` is not a simulated drive: name a profile, such as `sim:demo`"),
        ("--drive demo?ftl=x", "profile field `ftl` is x: it must be one of: "),
        ("--workload unifrom", "no workload is called `unifrom` (did you mean `uniform`?)"),
        (
            "--workload uniform?reeds=1",
            "the workload `uniform` has no field `reeds` (did you mean ",
        ),
        ("--workload uniform?size=3KB", "workload field `size` is 3KB: it must be a multiple of "),
        ("--queue-depth 33", "33 IOs in flight exceed the 32 that the drive accepts: set a larger"),
        (
            "--workload uflip:order --queue-depth 2",
            "--queue-depth: each process of a uFLIP pattern",
        ),
        (
            "--workload uflip:ordr",
            "no micro-benchmark is called `ordr` (did you mean `order`?); choose one of",
        ),
    ] {
        let expected = format!("flashscope: {message}");
        let found = refused(options);
        assert!(found.starts_with(&expected), "{options}: {found}");
    }
    for options in
        ["--ios 0", "--duration 0s", "--warmup 5y", "--warmup 2000000x", "--queue-depth 0"]
    {
        let found = refused(options);
        assert!(found.starts_with("error: invalid value"), "{options}: {found}");
    }
    assert!(refused("--ios 5 --duration 5s").starts_with("error: the argument '--ios <COUNT>'"));
    for options in ["--trace-from 1s", "--trace-for 1s"] {
        let found = refused(options);
        assert!(found.contains("\n  --trace-events <FILE>\n"), "{options}: {found}");
    }
    let ended = place.run(&arguments(&["--workload", "uflip:pause/RR", "--warmup", "steady"]));
    let message = ended.message(1, &place);
    assert!(message.contains("nothing is left to measure"), "{message}");
}

/// Starts a simulation and sends Ctrl-C once its handler is installed. Returns the exit status and
/// the output.
fn interrupt(place: &Scratch, options: &[&str]) -> (Option<i32>, String, String) {
    let mut running: Running = place.start(&arguments(options));
    let status = format!("/proc/{}/status", running.0.as_ref().unwrap().id());
    let heeds = || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // Signal 2 is SIGINT.
        caught.is_some_and(|mask| mask & 0b10 != 0)
    };
    running.wait_until("a handler of signals", heeds);
    running.signal("-INT");
    let output = running.0.take().unwrap().wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn ctrl_c_prints_the_measurements_so_far() {
    let place = Scratch::in_memory();
    let endless = ["--fill", "none", "--warmup", "none", "--ios", "1000000000000", "--json"];
    let (status, stdout, stderr) = interrupt(&place, &endless);
    assert_eq!(status, Some(130));
    assert_eq!(
        stderr.trim(),
        "stopping: results so far are kept; Ctrl-C again ends at once\n\
         flashscope: interrupted: the results shown were measured before the interruption"
    );
    let found: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(found["status"], "interrupted");
    let ios = number(&found["ios"]);
    assert!(ios >= 1.0 && ios == number(&found["latency_ns"]["count"]));
    assert_eq!(number(&found["host_pages_written"]), ios);

    // During the fill, nothing has been measured.
    let (status, stdout, stderr) = interrupt(&place, &["--drive", "agrawal-2008"]);
    assert_eq!((status, stdout.as_str()), (Some(130), ""));
    assert!(stderr.ends_with("flashscope: interrupted before anything was measured\n"), "{stderr}");
}

#[test]
fn worn_out_drive_is_reported() {
    let place = Scratch::in_memory();
    let drive = "demo?reliability.block_lifetime=12&flash.blocks_per_plane=20";
    let run = |options: &[&str]| {
        let options = [&["--drive", drive, "--ios", "10000000"], options].concat();
        place.run(&arguments(&options)).message(1, &place)
    };
    let shown = run(&["--warmup", "none"]);
    for message in [&shown, &run(&["--warmup", "50x"])] {
        assert!(message.contains("EROFS"), "{message}");
        assert!(message.contains("the drive is at the end of its life"), "{message}");
    }
    assert!(shown.contains("the results shown were measured before"), "{shown}");
}

#[test]
fn few_erased_blocks_get_a_note() {
    let place = Scratch::in_memory();
    let message = |ios: &str| place.run(&["simulate", "--ios", ios]).ok().stdout;
    let few = message("30");
    assert!(few.contains("too few to extrapolate to more writes"), "{few}");
    assert!(few.contains("was steady at the end of the warm-up"), "{few}");
    assert!(!message("30000").contains("too few to extrapolate"));
}
