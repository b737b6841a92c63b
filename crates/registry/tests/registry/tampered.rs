//! Tests that the registry refuses simulations and probes with one altered part, and names the
//! contradiction.

use flashscope_block::Op;
use flashscope_registry::{prepare, send};
use flashscope_result::{Recorder, records_path, rows};
use serde_json::{Value, json};

use super::{Place, edit, error};

type Break = fn(&mut Value);

/// For each of `cases`, damages the field `part` of the body, posts the body, and expects an error
/// that contains the words of the case.
#[track_caller]
fn all_refused(place: &Place, address: &str, whole: &Value, part: &str, cases: &[(&str, Break)]) {
    for (words, damage) in cases {
        let mut body = whole.clone();
        damage(&mut body[part]);
        assert_ne!(&body, whole, "{words}: nothing was changed");
        let refused = place.post(address, &body).bearer_auth(&place.token).send().unwrap();
        let error = error(refused, 422);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_simulation_that_contradicts_itself_is_refused() {
    let place = Place::new("simulations-checked");
    let whole = prepare(&place.simulation("s"), false).unwrap().submission;
    let whole = serde_json::to_value(&whole).unwrap();
    let cases: [(&str, Break); 37] = [
        ("the workload may have at most 1000 characters", |s| {
            s["workload"] = "w".repeat(1001).into()
        }),
        ("the drive name may have at most 1000 characters", |s| {
            s["drive"]["name"] = "d".repeat(1001).into();
        }),
        ("of format version 1, not 999", |s| s["schema_version"] = 999.into()),
        ("not 0: simulate again", |s| s["schema_version"] = 0.into()),
        ("must be a simulated drive", |s| s["drive"]["kind"] = "block".into()),
        ("`queue_depth` is 77", |s| s["queue_depth"] = 77.into()),
        ("`error` must be present if", |s| s["status"] = "failed".into()),
        ("must have both `steady` and `criterion`", |s| s["warm_up"]["steady"] = true.into()),
        ("`warm_up` has bytes but no IOs", |s| s["warm_up"]["bytes"] = 512.into()),
        ("must be at least 1", |s| s["warm_up"]["window_write_amplification"] = json!([0.5])),
        ("`flash_programs` must have exactly these fields: host, cleaning", |s| {
            s["flash_programs"]["magic"] = 1.into();
        }),
        ("`events` must have exactly", |s| {
            s["events"].as_object_mut().unwrap().remove("map hits");
        }),
        ("`write_amplification` is 1; it should be 5.9167", |s| {
            s["write_amplification"] = 1.0.into()
        }),
        ("`cleaning.count` is 683; it should be 684, according to `erases`", |s| {
            s["cleaning"]["count"] = 683.into();
        }),
        ("`cleaning.pages_moved` is 1;", |s| s["cleaning"]["pages_moved"] = 1.into()),
        ("`equivalent_throughput` is absent", |s| s["equivalent_throughput"] = Value::Null),
        ("`cleaning.efficiency` is 0.5", |s| s["cleaning"]["efficiency"] = 0.5.into()),
        ("`ios_per_second` is 1000000", |s| s["ios_per_second"] = 1e6.into()),
        ("`latency_ns.count` is 12000; it should be 11999, according to `ios`", |s| {
            s["ios"] = 11_999.into();
            let rate = s["ios_per_second"].as_f64().unwrap();
            s["ios_per_second"] = (rate * 11_999.0 / 12_000.0).into();
        }),
        ("IOs of the kind `trim` cannot transfer 0 bytes", |s| s["bytes_trimmed"] = 0.into()),
        ("the quantiles of `latency_ns` are not in ascending order", |s| {
            s["latency_ns"]["p99"] = 1.into();
        }),
        ("the value and the interval of `write_latency_ns`", |s| {
            s["write_latency_ns"]["mean"]["low"] = 1e9.into();
        }),
        ("`latency_ns.mean` is ", |s| {
            let mean = &mut s["latency_ns"]["mean"];
            mean["value"] = (mean["value"].as_f64().unwrap() - 1000.0).into();
        }),
        ("the range of `read_latency_ns` exceeds", |s| {
            s["read_latency_ns"]["max"] = 900_000_000.into()
        }),
        ("`latency_ns.max` is 900000000; ", |s| s["latency_ns"]["max"] = 900_000_000.into()),
        ("`latency_ns.p50` is ", |s| s["latency_ns"]["p50"] = s["latency_ns"]["min"].clone()),
        ("the number of IOs of `latency_heat_map.writes`", |s| {
            s["latency_heat_map"]["writes"][3][0] = 5000.into();
        }),
        ("`latency_heat_map.limits_ns` must rise", |s| {
            s["latency_heat_map"]["limits_ns"][1] = 0.into();
        }),
        ("extends past the end of the measurement", |s| {
            let rows = s["latency_heat_map"]["reads"].as_array_mut().unwrap();
            let empty = vec![0; rows[0].as_array().unwrap().len()];
            rows.resize(3000, json!(empty));
        }),
        ("the number of programs for `host` is 7759; ", |s| {
            s["observations"]["amplification"]["programs"]["host"][0] = 9999.into();
        }),
        ("has an unknown cause `magic`", |s| {
            s["observations"]["amplification"]["erases"]["magic"] = json!([1]);
        }),
        ("`observations.erases`.blocks is ", |s| {
            s["observations"]["erases"]["histogram"]["counts"][0] = 7777.into();
        }),
        ("`observations.utilization` covers", |s| {
            let used = &mut s["observations"]["utilization"];
            used["from_ns"] = used["until_ns"].clone();
        }),
        ("a `busy_share` of `observations.utilization` is 0.125", |s| {
            s["observations"]["utilization"]["units"][2]["busy_share"] = 0.125.into();
        }),
        ("`observations.free_blocks`.min is 0", |s| {
            s["observations"]["free_blocks"]["min"] = 0.into();
        }),
        ("`observations.wear_map` counts ", |s| {
            let unit = &mut s["observations"]["wear_map"]["units"][0];
            (unit["erases"][0], unit["erases_since_new"][0]) = (5000.into(), 5000.into());
        }),
        ("ends before it begins", |s| {
            s["observations"]["activities"]["longest"][0]["end_ns"] = 0.into();
            s["observations"]["activities"]["longest"][0]["start_ns"] = 1.into();
            s["observations"]["activities"]["longest"][1]["start_ns"] = 1.into();
        }),
    ];
    all_refused(&place, "/api/simulations", &whole, "simulation", &cases);
    let of_body: [(&str, Break); 2] = [
        ("`name` must have 1 to 80 printable characters", |name| *name = "".into()),
        ("expected a string", |name| *name = 7.into()),
    ];
    all_refused(&place, "/api/simulations", &whole, "name", &of_body);
    let of_nothing: [(&str, Break); 1] = [("unknown field `path`", |path| *path = "/etc".into())];
    all_refused(&place, "/api/simulations", &whole, "path", &of_nothing);
    let none = place.post("/api/simulations", &whole).send().unwrap();
    assert!(error(none, 401).contains("Authorization: Bearer"));

    // The client detects the contradiction before it sends anything.
    let path = place.simulation("local");
    edit(&path.join("simulation.json"), |s| s["write_amplification"] = 1.0.into());
    let refused = prepare(&path, false).err().expect("prepare refuses the simulation").to_string();
    assert!(refused.contains("`write_amplification` is 1; it should be 5.9167"), "{refused}");
}

#[test]
fn a_probe_that_contradicts_itself_is_refused() {
    let place = Place::new("probes-checked");
    let whole = prepare(&place.probe("p"), false).unwrap().submission;
    let whole = serde_json::to_value(&whole).unwrap();
    let cases: [(&str, Break); 24] = [
        ("the start time may have at most 1000 characters", |p| {
            p["began"] = "b".repeat(1001).into();
        }),
        ("the runs have more than", |p| p["steps"][0]["runs"][0]["ios"] = json!(1_u64 << 31)),
        ("takes probes of format version", |p| p["schema_version"] = 999.into()),
        ("the runs of `steps` must be numbered from 1", |p| {
            let runs = p["steps"][0]["runs"].as_array_mut().unwrap();
            runs.swap(0, 1);
        }),
        ("run 1 appears twice", |p| p["steps"][0]["runs"][1]["run"] = 1.into()),
        ("run 9 has files, but belongs to no step", |p| {
            p["steps"][1]["runs"].as_array_mut().unwrap().pop();
        }),
        ("`used.bytes_written` is 7; ", |p| p["used"]["bytes_written"] = 7.into()),
        ("but its budget allowed 8", |p| p["budget"]["bytes_written"] = 8.into()),
        ("`used.time_ns` is 9", |p| p["used"]["time_ns"] = 9.into()),
        ("`used.time_ns` is absent", |p| p["used"]["time_ns"] = Value::Null),
        ("there is no probe `magic`", |p| p["steps"][0]["probe"] = "magic".into()),
        ("`attempt` of `page` is 3; it should be 0", |p| p["steps"][1]["attempt"] = 3.into()),
        ("the probe `page` cannot determine `volumes`", |p| {
            p["steps"][1]["found"][0] = "volumes".into()
        }),
        ("each of the 31 parameters", |p| {
            p["findings"].as_array_mut().unwrap().pop();
        }),
        ("`page-size` names run 77", |p| {
            p["findings"][4]["finding"]["runs"][0] = 77.into();
        }),
        ("`page-size` names a signal that does not exist", |p| {
            p["findings"][4]["signals"][0] = 77.into();
        }),
        ("`page-size` is known, but no run shows it", |p| {
            p["findings"][4]["finding"]["runs"] = json!([]);
        }),
        ("`page-size` is known, but no step determined it", |p| p["steps"][1]["found"] = json!([])),
        ("`probe.findings[4].finding.probability` is 1.5; it must be at most 1", |p| {
            p["findings"][4]["finding"]["probability"] = 1.5.into();
        }),
        ("`largest-request` is unknown, but its probability is 0.5", |p| {
            p["findings"][1]["finding"]["probability"] = 0.5.into();
        }),
        ("`page-size` is -4096, from", |p| {
            p["findings"][4]["finding"]["answer"] =
                json!({ "kind": "value", "value": -4096.0, "low": -4096.0, "high": -4096.0 });
        }),
        ("`page-size` is `big`; ", |p| {
            p["findings"][4]["finding"]["answer"] = json!({ "kind": "class", "class": "big" });
        }),
        ("`medium` is `paper`; it must be one of flash, memory", |p| {
            p["findings"][0]["finding"]["answer"]["class"] = "paper".into();
        }),
        ("the medium is memory, not flash, but `page-size` is known", |p| {
            p["findings"][0]["finding"]["answer"]["class"] = "memory".into();
        }),
    ];
    all_refused(&place, "/api/probes", &whole, "probe", &cases);
    let of_parts: [(&str, Break); 3] = [
        ("the record files of run 9 are missing", |parts| {
            parts.as_array_mut().unwrap().pop();
        }),
        ("a probe can only have record files", |parts| parts[0]["content"] = "activities".into()),
        ("`sha256` must be 64 lower-case hexadecimal digits", |parts| {
            parts[0]["sha256"] = "../x".into()
        }),
    ];
    all_refused(&place, "/api/probes", &whole, "parts", &of_parts);
    let none = place.post("/api/probes", &whole).send().unwrap();
    assert!(error(none, 401).contains("Authorization: Bearer"));
}

// The registry also refuses a record file that is not Parquet, or contains the records of another
// run.
#[test]
fn a_probe_that_contradicts_its_records_is_refused() {
    let place = Place::new("probe-records");
    let cases: [(&str, Break); 4] = [
        ("`ios` of run 1 is 401; it should be 400, according to its records", |p| {
            p["steps"][0]["runs"][0]["ios"] = 401.into();
        }),
        ("`bytes_written` of run 1 is 4096; it should be 0, according to its records", |p| {
            p["steps"][0]["runs"][0]["bytes_written"] = 4096.into();
            let used = &mut p["used"]["bytes_written"];
            *used = (used.as_u64().unwrap() + 4096).into();
        }),
        ("run 1 took 1 ns, but ", |p| p["steps"][0]["runs"][0]["took_ns"] = 1.into()),
        ("beyond the end of the drive", |p| p["drive"]["capacity_bytes"] = 1_048_576.into()),
    ];
    for (number, (words, damage)) in cases.into_iter().enumerate() {
        let path = place.probe(&format!("p{number}"));
        edit(&path.join("probe.json"), damage);
        let prepared = prepare(&path, false).unwrap();
        let refused = send(&prepared, &place.url(), &place.token, |_, _| {});
        let refused = refused.expect_err(words).to_string();
        assert!(refused.contains(words) && !refused.contains("/tmp"), "{words}: {refused}");
    }

    let path = place.probe("no-records");
    std::fs::write(path.join("records/run-00003-000.parquet"), "no Parquet").unwrap();
    let prepared = prepare(&path, false).unwrap();
    let refused = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("run-00003-000.parquet") && !refused.contains("/tmp"), "{refused}");

    // The file of run 1 contains the records of run 2.
    let path = place.probe("other-records");
    let records = path.join("records");
    std::fs::copy(records.join("run-00002-000.parquet"), records.join("run-00001-000.parquet"))
        .unwrap();
    let prepared = prepare(&path, false).unwrap();
    let refused = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("run"), "{refused}");
}

// The budget of the probe allows no writes, but the records contain a trim.
#[test]
fn a_read_only_probe_with_a_trim_is_refused() {
    let place = Place::new("probe-read-only");
    let path = place.probe("p");
    edit(&path.join("probe.json"), |p| {
        for step in p["steps"].as_array_mut().unwrap() {
            for run in step["runs"].as_array_mut().unwrap() {
                run["bytes_written"] = 0.into();
            }
        }
        (p["used"]["bytes_written"], p["budget"]["bytes_written"]) = (0.into(), 0.into());
    });
    let mut records = rows(&path, 1).unwrap().to_vec().unwrap();
    records[7].op = Op::Trim;
    std::fs::remove_file(records_path(&path, 1, 0)).unwrap();
    let mut recorder = Recorder::start(path.join("records"));
    recorder.begin(1).unwrap();
    records.iter().for_each(|record| recorder.push(record).unwrap());
    recorder.end().unwrap();
    drop(recorder);
    let prepared = prepare(&path, false).unwrap();
    let refused = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(
        refused.contains("run 1 changes the drive, but the budget allows only reads"),
        "{refused}"
    );
}
