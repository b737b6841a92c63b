//! Compares the responses of the server with its OpenAPI document.

use flashscope_serve::openapi;
use serde_json::{Value, json};

use super::{Answer, Place};

/// Every GET path, with an example address.
const ADDRESSES: [(&str, &str); 17] = [
    ("/api/shelf", "/api/shelf?search=demo&kind=measurement&sort=-started&offset=0&limit=10"),
    ("/api/results/{id}", "/api/results/demo"),
    (
        "/api/results/{id}/runs/{run}/outline",
        "/api/results/demo/runs/3/outline?from=1&to=7&buckets=2",
    ),
    ("/api/results/{id}/runs/{run}/histogram", "/api/results/demo/runs/3/histogram?from=2"),
    ("/api/results/{id}/runs/{run}/ios", "/api/results/demo/runs/3/ios?from=2&count=3"),
    ("/api/results/{id}/runs/{run}/activities", "/api/results/demo/runs/3/activities?to_ns=9"),
    ("/api/results/{id}/colours", "/api/results/demo/colours?micro_benchmark=pause&experiment=SR"),
    ("/api/commands", "/api/commands"),
    ("/api/comparison", "/api/comparison?ids=demo,other"),
    ("/api/simulations/{id}", "/api/simulations/simulated"),
    ("/api/probes/{id}", "/api/probes/probed"),
    ("/api/sweeps/{id}", "/api/sweeps/swept"),
    ("/api/what-if", "/api/what-if"),
    ("/api/what-ifs/{id}", "/api/what-ifs/asked"),
    ("/api/results/{id}/matches", "/api/results/demo/matches?where=latency%20%3E%200%20ms&limit=5"),
    ("/api/twins/{id}", "/api/twins/bench-v1"),
    ("/api/predictions/{id}", "/api/predictions/expected"),
];

/// Creates the part of a simulation that the shelf reads.
fn simulation(place: &Place) {
    let folder = place.path("simulated.flashscope");
    std::fs::create_dir(&folder).unwrap();
    let drive = json!({
        "name": "sim:demo", "kind": "sim", "capacity_bytes": 1 << 30, "logical_block_bytes": 512,
        "queue_depth": 32, "model": "a model", "serial": null, "firmware": null, "engine": null,
    });
    let simulation = json!({ "drive": drive, "workload": "uniform", "ios": 7 });
    std::fs::write(folder.join("simulation.json"), simulation.to_string()).unwrap();
}

/// Creates the part of a probe that the shelf reads.
fn probe(place: &Place) {
    let folder = place.path("probed.flashscope");
    std::fs::create_dir(&folder).unwrap();
    let drive = json!({
        "name": "sim:demo", "kind": "sim", "capacity_bytes": 1 << 30, "logical_block_bytes": 512,
        "queue_depth": 32, "model": "a model", "serial": null, "firmware": null, "engine": null,
    });
    let probe = json!({
        "schema_version": 1, "drive": drive, "began": "2026-01-02T03:04:05Z", "status": "complete",
        "steps": [{ "runs": [{ "ios": 3 }, { "ios": 4 }] }],
    });
    std::fs::write(folder.join("probe.json"), probe.to_string()).unwrap();
}

/// Creates a sweep without any rows.
fn sweep(place: &Place) {
    let folder = place.path("swept.flashscope");
    std::fs::create_dir(&folder).unwrap();
    let sweep = json!({
        "schema_version": 1, "status": "unfinished", "space": "", "factors": ["over_provisioning"],
        "objectives": [{ "goal": "minimize", "field": "write_amplification" }], "repeats": 1,
        "counts": { "points": 4, "asked": 4, "done": 0, "impossible": 0, "failed": 0 },
        "skipped": [], "front": [], "effects": [], "interactions": [], "regressions": [],
    });
    std::fs::write(folder.join("sweep.json"), sweep.to_string()).unwrap();
}

/// Creates a saved what-if with a finished, an impossible and an open variant.
pub(crate) fn what_if(place: &Place) {
    let folder = place.path("asked.flashscope");
    std::fs::create_dir(&folder).unwrap();
    let variant = |name: &str, field: &str, status: Value| {
        let changes =
            if field.is_empty() { json!([]) } else { json!([{ "field": field, "value": "1" }]) };
        json!({
            "name": name, "changes": changes, "drive": "sim:demo", "workload": "zipf",
            "closed_form": null, "not_predicted": "no model", "status": status, "reason": null,
            "simulated": [],
        })
    };
    let what_if = json!({
        "schema_version": 1, "status": "unfinished", "seed": 1, "repeats": 1,
        "base": variant("baseline", "", json!("done")),
        "variants": [
            variant("a", "over_provisioning", json!("impossible")),
            variant("b", "over_provisioning", Value::Null),
            variant("c", "workload.reads", Value::Null),
        ],
    });
    std::fs::write(folder.join("what-if.json"), what_if.to_string()).unwrap();
}

/// Adds a twin that an earlier version fitted, and a prediction of a twin.
pub(crate) fn twin_and_prediction(place: &Place) {
    let twin = "bench-v1.twin.json";
    let testdata = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/twins");
    std::fs::copy(testdata.join(twin), place.path(twin)).unwrap();
    let folder = place.path("expected.flashscope");
    std::fs::create_dir(&folder).unwrap();
    let range = |value: f64| json!({ "value": value, "low": value / 2.0, "high": 2.0 * value });
    let prediction = json!({
        "drive": "a drive", "workload": "zipf", "confidence": 0.9, "draws": 20, "end_error": 0.05,
        "ios": 1000, "filled": 1 << 30, "scale": 1.0, "queue_depth": 1,
        "queue_depth_from": "measurement", "extrapolated": [], "bytes_per_second": range(1e8),
        "latency_ns": { "mean": range(1e5), "p50": range(1e5), "p99": range(1e6), "p999": range(1e7) },
        "write_amplification": range(2.0), "is_amplification_identified": true,
        "lifetime_bytes": null,
    });
    std::fs::write(folder.join("prediction.json"), prediction.to_string()).unwrap();
}

fn place() -> Place {
    let place = Place::new();
    place.add("other");
    simulation(&place);
    probe(&place);
    sweep(&place);
    what_if(&place);
    twin_and_prediction(&place);
    place
}

#[track_caller]
fn assert_described(document: &Value, address: &str, status: &str, answer: &Answer) {
    let response = &document["paths"][address]["get"]["responses"][status];
    let schema = &response["content"]["application/json"]["schema"];
    assert!(schema.is_object() || schema.is_boolean(), "{address} describes no {status}");
    let whole = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::draft202012::new(&whole).unwrap();
    let body = answer.json();
    let wrong: Vec<_> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{address}: {wrong:?}");
}

// The test also fails if the OpenAPI document has a GET address without an example in `ADDRESSES`.
#[test]
fn responses_match_the_openapi_document() {
    let place = place();
    let document = place.get("/api/openapi.json").ok().json();
    assert_eq!(document, openapi());
    let described = document["paths"].as_object().unwrap();
    let requested: Vec<&String> =
        described.iter().filter(|(_, d)| !d["get"].is_null()).map(|(a, _)| a).collect();
    let mut known = ADDRESSES.map(|(address, _)| address);
    known.sort_unstable();
    assert_eq!(requested, known);
    for (address, example) in ADDRESSES {
        let answer = place.get(example).ok();
        assert_eq!(answer.headers["content-type"], "application/json");
        assert_described(&document, address, "200", &answer);
        let refused = place.get(&format!("{}?nothing=1", example.split('?').next().unwrap()));
        assert_described(&document, address, "400", &refused);
        refused.error(400);
    }
}

#[test]
fn each_documented_problem_occurs_with_a_message() {
    let place = place();
    for (path, status, words) in [
        ("/api/shelf?limit=1001", 400, "`limit` is at most 1000"),
        (&format!("/api/shelf?search={}", "x".repeat(201)), 400, "at most 200 characters"),
        ("/api/shelf?sort=colour", 400, "unknown variant `colour`"),
        ("/api/shelf?capacity_min=-1", 400, "the query is invalid"),
        ("/api/results/nobody", 404, "there is no result `nobody` on the shelf"),
        ("/api/results/simulated", 404, "`simulated` is a simulation"),
        ("/api/simulations/demo", 404, "`demo` is a measurement"),
        ("/api/results/asked", 404, "`asked` is a what-if: ask for /api/what-ifs/asked"),
        ("/api/what-ifs/demo", 404, "`demo` is a measurement"),
        ("/api/results/bench-v1", 404, "`bench-v1` is a twin: ask for /api/twins/bench-v1"),
        (
            "/api/twins/expected",
            404,
            "`expected` is a prediction: ask for /api/predictions/expected",
        ),
        ("/api/what-ifs/nobody", 404, "there is no result `nobody` on the shelf"),
        ("/api/results/demo/matches?where=latncy%20%3E%201ms", 400, "did you mean `latency`?"),
        (
            "/api/results/demo/matches?where=run%20=%201&limit=1001",
            400,
            "`limit` is a whole number",
        ),
        ("/api/results/demo/matches", 400, "missing field `where`"),
        ("/api/results/bench-v1/matches?where=run%20=%201", 404, "`bench-v1` is a twin"),
        ("/api/results/demo/runs/x/ios", 400, "the address is invalid"),
        ("/api/results/demo/runs/99/ios", 404, "`demo` has no such records"),
        (
            "/api/results/demo/runs/1/ios?count=1001",
            400,
            "`count` is a whole number from 0 to 1000",
        ),
        ("/api/results/demo/runs/1/outline?buckets=0", 400, "from 1 to 4096"),
        ("/api/results/demo/runs/1/outline?stretches=0", 400, "from 1 to 4096"),
        (
            "/api/results/demo/runs/1/histogram?from=9007199254740992",
            400,
            "is more than 9007199254740991",
        ),
        ("/api/results/demo/colours?experiment=SR", 400, "missing field `micro_benchmark`"),
        ("/api/results/demo/colours?micro_benchmark=pause&experiment=XX", 404, "no such records"),
        ("/api/comparison?ids=demo,nobody", 404, "`nobody`"),
        ("/api/comparison?ids=demo,bench-v1", 400, "`bench-v1` cannot be compared"),
        ("/api/comparison?ids=expected,demo", 400, "they share no workload and quantity"),
        ("/api/comparison?ids=a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", 400, "at most 16 results"),
        ("/api/nothing", 404, "there is no such address"),
    ] {
        let error = place.get(path).error(status);
        assert!(error.contains(words), "{path}: {error}");
    }
    let error = super::ask(
        &place.app,
        axum::http::Request::delete("/api/shelf")
            .header("host", "localhost")
            .body(axum::body::Body::empty())
            .unwrap(),
    )
    .error(405);
    assert!(error.contains("does not support the method"), "{error}");
}

#[test]
fn windows_contain_the_requested_ios() {
    let place = Place::new();
    let all = place.get("/api/results/demo/runs/30/ios").ok().json();
    assert_eq!((&all["ios"], &all["from"]), (&json!(8), &json!(0)));
    let some = place.get("/api/results/demo/runs/30/ios?from=3&count=2").ok().json();
    assert_eq!(some["from"], 3);
    assert_eq!(
        some["latency_ns"].as_array().unwrap(),
        &all["latency_ns"].as_array().unwrap()[3..5]
    );
    let outline = place.get("/api/results/demo/runs/30/outline?from=3&to=5").ok().json();
    assert_eq!(outline["index"], json!([3, 4]));
    let histogram = place.get("/api/results/demo/runs/30/histogram?from=3&to=5").ok().json();
    assert_eq!(
        (&histogram["ios"], &histogram["from"], &histogram["to"]),
        (&json!(2), &json!(3), &json!(5))
    );
    let none = place.get("/api/results/demo/runs/30/histogram?from=5&to=3").ok().json();
    assert_eq!(none["ios"], 0);
    let behind = place.get("/api/results/demo/runs/30/ios?from=9000").ok().json();
    assert_eq!(behind["latency_ns"], json!([]));
    let colours = "/api/results/demo/colours?micro_benchmark=pause&experiment=RW&columns=4";
    let colours = place.get(colours).ok().json();
    assert_eq!((&colours["ios_per_column"], &colours["to"]), (&json!(2), &json!(8)));
    assert_eq!(colours["rows"].as_array().unwrap().len(), 9);
}

#[test]
fn facts_of_an_older_format_are_computed_again() {
    let place = Place::new();
    assert!(place.item("demo")["characteristics"].is_null());
    let measurement = place.get("/api/results/demo").ok().json();
    assert_eq!(measurement["facts"]["schema_version"], flashscope_document::facts::SCHEMA_VERSION);
    assert_eq!(measurement["facts"]["runs"].as_array().unwrap().len(), 36);
    assert!(place.item("demo")["characteristics"].is_object());
}
