//! Tests of submissions that a registry refuses.

use flashscope_registry::{prepare, send};
use serde_json::{Value, json};

use super::{Place, error, measurement};

fn body(place: &Place) -> Value {
    serde_json::to_value(&prepare(&place.result("r"), false).unwrap().submission).unwrap()
}

// Each request that writes is refused without a token, and with an unknown token.
#[test]
fn writing_needs_a_token() {
    let place = Place::new("authorized");
    let body = body(&place);
    let begin = || place.post("/api/submissions", &body);
    assert!(error(begin().send().unwrap(), 401).contains("Authorization: Bearer"));
    for wrong in ["x", "flashscope_", "flashscope_0123", "' OR '1'='1"] {
        assert!(
            error(begin().bearer_auth(wrong).send().unwrap(), 401).contains("not known"),
            "{wrong}"
        );
    }
    assert!(error(begin().basic_auth("a", Some("b")).send().unwrap(), 401).contains("Bearer"));
    let staged: Value = begin().bearer_auth(&place.token).send().unwrap().json().unwrap();
    let id = staged["id"].as_str().unwrap();
    let path = format!("/api/submissions/{id}/records/1/0");
    error(place.put(&path, vec![0]).send().unwrap(), 401);
    error(place.post(&format!("/api/submissions/{id}/finish"), &json!({})).send().unwrap(), 401);
    let marks = place.client.put(format!("{}api/results/x/marks", place.url()));
    error(marks.json(&json!({ "experiments": [] })).send().unwrap(), 403);
}

// The registry makes these checks before it stores anything.
#[test]
fn invalid_submissions_are_refused() {
    let place = Place::new("checked");
    let whole = body(&place);
    type Break = fn(&mut Value);
    let cases: [(&str, Break); 16] = [
        ("takes manifests of format version", |body| {
            body["manifest"]["schema_version"] = 999.into()
        }),
        ("takes facts of format version", |body| body["facts"]["schema_version"] = 1.into()),
        ("`name` must have 1 to 80 printable characters", |body| body["name"] = "".into()),
        ("`name` must have 1 to 80 printable characters", |body| body["name"] = "a\u{7}".into()),
        ("the record files of run 36 are missing", |body| {
            body["parts"].as_array_mut().unwrap().pop();
        }),
        ("run 77 has files", |body| {
            body["parts"].as_array_mut().unwrap().push(json!({
                "run": 77, "part": 0, "bytes": 1, "sha256": "0".repeat(64),
            }))
        }),
        ("must be numbered from 0", |body| body["parts"][0]["part"] = 1.into()),
        ("`sha256` must be 64 lower-case hexadecimal digits", |body| {
            body["parts"][0]["sha256"] = "../../x".into();
        }),
        ("a file must have 1 to", |body| body["parts"][0]["bytes"] = 0.into()),
        ("take more than", |body| body["parts"][0]["bytes"] = json!(1_u64 << 50)),
        ("`/manifest/options/methodology/budget` is an array instead", |body| {
            body["manifest"]["options"]["methodology"]["budget"] = json!([null, null]);
        }),
        // If two runs had the same number, each would be read with the files of both.
        ("run 1 appears twice", |body| {
            let runs = &mut body["manifest"]["micro_benchmarks"][0]["experiments"][0]["runs"];
            runs[1]["id"] = runs[0]["id"].clone();
        }),
        ("the runs have more than", |body| {
            let runs = &mut body["manifest"]["micro_benchmarks"][0]["experiments"][0]["runs"];
            runs[0]["progress"]["ios"] = json!(1_u64 << 31);
        }),
        // The list of results shows these texts to everyone.
        ("the drive model may have at most 1000 characters", |body| {
            body["manifest"]["device"]["model"] = "m".repeat(1001).into();
        }),
        ("the start time may have at most 1000 characters", |body| {
            body["manifest"]["started"] = "s".repeat(1001).into();
        }),
        ("unknown field `path`", |body| body["path"] = "/etc/passwd".into()),
    ];
    for (words, damage) in cases {
        let mut body = whole.clone();
        damage(&mut body);
        let refused =
            place.post("/api/submissions", &body).bearer_auth(&place.token).send().unwrap();
        let error = error(refused, 422);
        assert!(error.contains(words), "{words}: {error}");
    }
    let no_json = place.client.post(format!("{}api/submissions", place.url())).body("{");
    let no_json = no_json.header("content-type", "application/json").bearer_auth(&place.token);
    error(no_json.send().unwrap(), 400);
}

#[test]
fn unannounced_and_altered_files_are_refused() {
    let place = Place::new("files");
    let staged = place.post("/api/submissions", &body(&place)).bearer_auth(&place.token);
    let staged: Value = staged.send().unwrap().json().unwrap();
    let base = format!("/api/submissions/{}", staged["id"].as_str().unwrap());
    let put = |path: String, bytes: Vec<u8>| {
        place.put(&path, bytes).bearer_auth(&place.token).send().unwrap()
    };
    assert!(error(put(format!("{base}/records/1/0"), vec![0; 1327]), 422).contains("SHA-256"));
    error(put(format!("{base}/records/1/1"), vec![0]), 404);
    error(put(format!("{base}/records/one/0"), vec![0]), 400);
    error(put("/api/submissions/nobody/records/1/0".into(), vec![0]), 404);
}

#[test]
fn facts_that_contradict_the_records_are_refused() {
    let place = Place::new("follows");
    let mut prepared = prepare(&place.result("facts"), false).unwrap();
    measurement(&mut prepared).facts.runs[4].latency_ns.max += 1_000_000;
    let refused = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("facts.runs[4].latency_ns.max differs"), "{refused}");

    let path = place.result("manifest");
    let mut prepared = prepare(&path, false).unwrap();
    let run = measurement(&mut prepared).manifest.runs_mut().next().unwrap();
    run.progress = flashscope_document::manifest::Progress::Done { ios: 7 };
    let refused = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("it holds 8 IOs of run 1 instead of 7"), "{refused}");
    assert!(!refused.contains("/tmp"), "{refused}");
}

#[test]
fn the_token_is_never_sent_unencrypted() {
    let place = Place::new("clear");
    let prepared = prepare(&place.result("r"), false).unwrap();
    let refused = send(&prepared, &"http://registry.example/".parse().unwrap(), "t", |_, _| {});
    assert!(refused.unwrap_err().to_string().contains("https://"));
}

#[test]
fn invalid_activity_files_are_refused() {
    let place = Place::new("inside-checked");
    let path = place.result("r");
    let folder = path.join("activities");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("run-00030.parquet"), "no Parquet").unwrap();
    let prepared = prepare(&path, false).unwrap();
    let refused = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(refused.contains("run-00030.parquet") && !refused.contains("/tmp"), "{refused}");

    let whole = serde_json::to_value(&prepared.submission).unwrap();
    let at =
        whole["parts"].as_array().unwrap().iter().position(|part| part["content"] == "activities");
    let mut real = whole.clone();
    real["manifest"]["device"]["kind"] = "block".into();
    let mut twice = whole.clone();
    let mut second = whole["parts"][at.unwrap()].clone();
    second["part"] = 1.into();
    twice["parts"].as_array_mut().unwrap().push(second);
    for (body, words) in [(real, "only simulated drives report"), (twice, "2 activity files")] {
        let refused = place.post("/api/submissions", &body).bearer_auth(&place.token).send();
        assert!(error(refused.unwrap(), 422).contains(words), "{words}");
    }
}
