//! Every number of a submission, replaced by what it cannot be.

use std::collections::BTreeMap;
use std::path::Path;

use flashscope_registry::{
    MeasurementSubmission, ProbeSubmission, SimulationSubmission, Submission, prepare,
};
use serde_json::{Value, json};

/// Numbers that may be as wrong as that, by the end of their path, and why.
const LEGAL: [(&str, &str); 7] = [
    (".seed", "any 64 bits are a seed"),
    (
        ".value",
        "the value of a parameter, such as a step of -1 IOs; facts are found anew from the records",
    ),
    (".incr", "a step backwards"),
    (".low", "the interval of a mean of few values may reach below 0"),
    (".points[][]", "a point of a picture is anywhere"),
    (".x", "a mark of a picture is anywhere"),
    (
        ".mean_remaining_lifetime",
        "blocks may live longer than they are rated for; it follows from the mean",
    ),
];

/// The submission that is this JSON, if it is one that is sound by itself.
fn taken(kind: &str, body: Value) -> Result<(), String> {
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

/// The places of numbers, one for each path without its indices: the first and the last of a list are looked at.
fn numbers(value: &Value, pointer: &str, path: &str, found: &mut BTreeMap<String, Vec<String>>) {
    match value {
        Value::Number(_) => found.entry(path.into()).or_default().push(pointer.into()),
        Value::Object(fields) => {
            for (name, field) in fields {
                numbers(field, &format!("{pointer}/{name}"), &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                numbers(item, &format!("{pointer}/{nth}"), &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn no_number_beyond_its_range_is_taken() {
    let mut wrongly_taken = Vec::new();
    let mut tried = 0;
    for kind in ["v1", "inside", "simulated", "probed"] {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
        let prepared = prepare(&samples.join(format!("{kind}.flashscope")), false).unwrap();
        let whole = serde_json::to_value(&prepared.submission).unwrap();
        assert_eq!(taken(kind, whole.clone()), Ok(()), "{kind}");
        let mut found = BTreeMap::new();
        numbers(&whole, "", "", &mut found);
        for (path, pointers) in found {
            for pointer in [&pointers[0], &pointers[pointers.len() - 1]] {
                for wrong in [json!(-1), json!(u64::MAX), json!(1e308), json!("NaN"), json!("-inf")]
                {
                    let mut body = whole.clone();
                    *body.pointer_mut(pointer).unwrap() = wrong.clone();
                    tried += 1;
                    if taken(kind, body).is_ok()
                        && !LEGAL.iter().any(|(end, _)| path.ends_with(end))
                    {
                        wrongly_taken.push(format!("{kind}: {path} = {wrong}"));
                    }
                }
            }
        }
    }
    wrongly_taken.sort();
    wrongly_taken.dedup();
    assert!(tried > 1000, "{tried}");
    assert!(
        wrongly_taken.is_empty(),
        "{} taken:\n{}",
        wrongly_taken.len(),
        wrongly_taken.join("\n")
    );
}

/// The places of objects with a least and a most that differ.
fn spans(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let number = |name: &str| fields.get(name).and_then(Value::as_f64);
            if number("min").zip(number("max")).is_some_and(|(min, max)| max > 1.01 * min) {
                found.push(pointer.into());
            }
            for (name, field) in fields {
                spans(field, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                spans(item, &format!("{pointer}/{nth}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn no_least_above_its_most_is_taken() {
    for kind in ["v1", "inside", "simulated"] {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
        let prepared = prepare(&samples.join(format!("{kind}.flashscope")), false).unwrap();
        let whole = serde_json::to_value(&prepared.submission).unwrap();
        let mut found = Vec::new();
        spans(&whole, "", &mut found);
        assert!(!found.is_empty(), "{kind}");
        for pointer in found {
            let mut body = whole.clone();
            let object = body.pointer_mut(&pointer).unwrap();
            let [min, max] = ["min", "max"].map(|name| object[name].clone());
            (object["min"], object["max"]) = (max, min);
            assert!(taken(kind, body).is_err(), "{kind}: {pointer}");
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
            "`facts.runs[0].latency_ns.standard_deviation` is -1.0, and may be at least 0",
        ),
        (
            "v1",
            "/facts/runs/0/latency_ns/max",
            json!(u64::MAX),
            "`facts.runs[0].latency_ns.max` is 18446744073709551615, and may be at most 9007199254740991",
        ),
        (
            "v1",
            "/facts/runs/0/latency_ns/min",
            json!(1_u64 << 50),
            "and may be at least 1125899906842624, as `facts.runs[0].latency_ns.min` is",
        ),
        (
            "v1",
            "/manifest/machine/memory_bytes",
            json!(u64::MAX),
            "`manifest.machine.memory_bytes` is 18446744073709551615, and may be at most 9223372036854775807",
        ),
        (
            "v1",
            "/manifest/machine/kernel",
            json!("k".repeat(5000)),
            "`manifest.machine.kernel` has at most 4096 characters",
        ),
        (
            "probed",
            "/probe/findings/4/finding/probability",
            json!(1.5),
            "`probe.findings[4].finding.probability` is 1.5, and may be at most 1",
        ),
        (
            "simulated",
            "/simulation/events/map hits",
            json!(u64::MAX),
            "may be at most 9007199254740991",
        ),
    ] {
        let mut body = of(kind);
        *body.pointer_mut(pointer).unwrap() = wrong;
        let error = taken(kind, body).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}
