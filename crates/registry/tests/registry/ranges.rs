//! Tests that a registry refuses impossible values of any number in a submission.

use std::collections::BTreeMap;
use std::path::Path;

use flashscope_registry::{
    MeasurementSubmission, ProbeSubmission, SimulationSubmission, Submission, prepare,
};
use serde_json::{Value, json};

/// Path ends of numbers that may have some of the values that the test tries, with the reason.
const LEGAL: [(&str, &str); 7] = [
    (".seed", "any 64 bits are a seed"),
    (
        ".value",
        "a parameter may be negative, such as a step of -1 IOs; facts are recomputed from the records",
    ),
    (".incr", "a step may be negative"),
    (".low", "the interval of a mean of few values may reach below 0"),
    (".points[][]", "a point of a chart may have any value"),
    (".x", "a mark of a chart may be anywhere"),
    (
        ".mean_remaining_lifetime",
        "blocks may outlive their rating; the value is checked against the mean",
    ),
];

/// Parses and checks the submission in `body`, as a registry does.
fn check(kind: &str, body: Value) -> Result<(), String> {
    let words = |error: serde_json::Error| error.to_string();
    let submission = match kind {
        "v1" | "inside" => {
            let read = serde_json::from_value::<MeasurementSubmission>(body);
            Submission::Measurement(Box::new(read.map_err(words)?))
        }
        "simulated" => {
            let read = serde_json::from_value::<SimulationSubmission>(body);
            Submission::Simulation(Box::new(read.map_err(words)?))
        }
        _ => {
            let read = serde_json::from_value::<ProbeSubmission>(body);
            Submission::Probe(Box::new(read.map_err(words)?))
        }
    };
    submission.check()
}

/// Collects the JSON pointers of all numbers, grouped by their path without indices.
fn numbers(value: &Value, pointer: &str, path: &str, groups: &mut BTreeMap<String, Vec<String>>) {
    match value {
        Value::Number(_) => groups.entry(path.into()).or_default().push(pointer.into()),
        Value::Object(fields) => {
            for (name, field) in fields {
                numbers(field, &format!("{pointer}/{name}"), &format!("{path}.{name}"), groups);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                numbers(item, &format!("{pointer}/{nth}"), &format!("{path}[]"), groups);
            }
        }
        _ => {}
    }
}

#[test]
fn no_number_outside_its_range_is_accepted() {
    let mut accepted = Vec::new();
    let mut tried = 0;
    for kind in ["v1", "inside", "simulated", "probed"] {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
        let prepared = prepare(&samples.join(format!("{kind}.flashscope")), false).unwrap();
        let whole = serde_json::to_value(&prepared.submission).unwrap();
        assert_eq!(check(kind, whole.clone()), Ok(()), "{kind}");
        let mut groups = BTreeMap::new();
        numbers(&whole, "", "", &mut groups);
        for (path, pointers) in groups {
            // The first and the last item of a list stand for the others.
            for pointer in [&pointers[0], &pointers[pointers.len() - 1]] {
                for wrong in [json!(-1), json!(u64::MAX), json!(1e308), json!("NaN"), json!("-inf")]
                {
                    let mut body = whole.clone();
                    *body.pointer_mut(pointer).unwrap() = wrong.clone();
                    tried += 1;
                    if check(kind, body).is_ok()
                        && !LEGAL.iter().any(|(end, _)| path.ends_with(end))
                    {
                        accepted.push(format!("{kind}: {path} = {wrong}"));
                    }
                }
            }
        }
    }
    accepted.sort();
    accepted.dedup();
    assert!(tried > 1000, "{tried}");
    assert!(
        accepted.is_empty(),
        "{} values were accepted:\n{}",
        accepted.len(),
        accepted.join("\n")
    );
}

/// Collects the pointers of objects whose `min` and `max` differ.
fn spans(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let number = |name: &str| fields.get(name).and_then(Value::as_f64);
            if number("min").zip(number("max")).is_some_and(|(min, max)| max > 1.01 * min) {
                pointers.push(pointer.into());
            }
            for (name, field) in fields {
                spans(field, &format!("{pointer}/{name}"), pointers);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                spans(item, &format!("{pointer}/{nth}"), pointers);
            }
        }
        _ => {}
    }
}

#[test]
fn no_minimum_above_its_maximum_is_accepted() {
    for kind in ["v1", "inside", "simulated"] {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
        let prepared = prepare(&samples.join(format!("{kind}.flashscope")), false).unwrap();
        let whole = serde_json::to_value(&prepared.submission).unwrap();
        let mut pointers = Vec::new();
        spans(&whole, "", &mut pointers);
        assert!(!pointers.is_empty(), "{kind}");
        for pointer in pointers {
            let mut body = whole.clone();
            let object = body.pointer_mut(&pointer).unwrap();
            let [min, max] = ["min", "max"].map(|name| object[name].clone());
            (object["min"], object["max"]) = (max, min);
            assert!(check(kind, body).is_err(), "{kind}: {pointer}");
        }
    }
}

#[test]
fn a_refusal_names_the_field_its_value_and_its_range() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
    let of = |kind: &str| {
        let prepared = prepare(&samples.join(format!("{kind}.flashscope")), false).unwrap();
        serde_json::to_value(&prepared.submission).unwrap()
    };
    for (kind, pointer, wrong, words) in [
        (
            "v1",
            "/facts/runs/0/latency_ns/standard_deviation",
            json!(-1.0),
            "`facts.runs[0].latency_ns.standard_deviation` is -1.0; it must be at least 0",
        ),
        (
            "v1",
            "/facts/runs/0/latency_ns/max",
            json!(u64::MAX),
            "`facts.runs[0].latency_ns.max` is 18446744073709551615; it must be at most 9007199254740991",
        ),
        (
            "v1",
            "/facts/runs/0/latency_ns/min",
            json!(1_u64 << 50),
            "it must be at least 1125899906842624, the value of `facts.runs[0].latency_ns.min`",
        ),
        (
            "v1",
            "/manifest/machine/memory_bytes",
            json!(u64::MAX),
            "`manifest.machine.memory_bytes` is 18446744073709551615; it must be at most 9223372036854775807",
        ),
        (
            "v1",
            "/manifest/machine/kernel",
            json!("k".repeat(5000)),
            "`manifest.machine.kernel` may have at most 4096 characters",
        ),
        (
            "probed",
            "/probe/findings/4/finding/probability",
            json!(1.5),
            "`probe.findings[4].finding.probability` is 1.5; it must be at most 1",
        ),
        (
            "simulated",
            "/simulation/events/map hits",
            json!(u64::MAX),
            "it must be at most 9007199254740991",
        ),
    ] {
        let mut body = of(kind);
        *body.pointer_mut(pointer).unwrap() = wrong;
        let error = check(kind, body).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}
