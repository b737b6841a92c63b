//! Tests the contents, the ids and the order of the shelf.

use std::fs;

use serde_json::{Value, json};

use super::described::{twin_and_prediction, what_if};
use super::{Place, copy, edit};

fn ids(shelf: &Value) -> Vec<&str> {
    shelf["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

// The shelf finds results in folders up to the depth limit, and shows additions, changes and
// removals without a restart.
#[test]
fn shelf_follows_the_folders() {
    let place = Place::empty();
    assert_eq!(place.get("/api/shelf").ok().json(), json!({ "total": 0, "items": [] }));
    let demo = place.add("demo");
    for below in ["a", "a/b", "a/b/c"] {
        fs::create_dir(place.path(below)).unwrap();
        copy(&demo, &place.path(&format!("{below}/below-{}.flashscope", below.len())));
    }
    let shelf = place.get("/api/shelf").ok().json();
    assert_eq!(ids(&shelf), ["below-1", "below-3", "demo"]);
    let item = place.item("demo");
    assert_eq!((&item["kind"], &item["status"]), (&json!("measurement"), &json!("complete")));
    assert_eq!(
        (&item["runs_done"], &item["runs_planned"], &item["ios"]),
        (&json!(36), &json!(36), &json!(288))
    );
    assert_eq!(item["device"]["model"], "flashscope demo, 1 GiB");

    edit(&demo.join("manifest.json"), |manifest| manifest["device"]["model"] = "another".into());
    assert_eq!(place.item("demo")["device"]["model"], "another");
    assert_eq!(
        place.get("/api/results/demo").ok().json()["manifest"]["device"]["model"],
        "another"
    );
    fs::remove_dir_all(demo).unwrap();
    assert_eq!(ids(&place.get("/api/shelf").ok().json()), ["below-1", "below-3"]);
    place.get("/api/results/demo").error(404);
}

#[test]
fn a_kept_what_if_stands_on_the_shelf_as_one() {
    let place = Place::empty();
    what_if(&place);
    let item = place.item("asked");
    assert_eq!((&item["kind"], &item["problem"]), (&json!("what_if"), &Value::Null));
    assert_eq!(
        (&item["workload"], &item["factors"], &item["status"]),
        (
            &json!("zipf on sim:demo"),
            &json!(["over_provisioning", "workload.reads"]),
            &json!("interrupted")
        )
    );
    // The baseline and the two other variants count as planned; the impossible one does not.
    assert_eq!((&item["runs_done"], &item["runs_planned"]), (&json!(1), &json!(3)));
    for (query, total) in [("kind=what_if", 1), ("kind=sweep", 0), ("search=sim:demo%20reads", 1)] {
        let shelf = place.get(&format!("/api/shelf?{query}")).ok().json();
        assert_eq!(shelf["total"], total, "{query}");
    }
    let kept = place.get("/api/what-ifs/asked").ok().json();
    assert_eq!(kept["variants"].as_array().unwrap().len(), 3);

    // The item follows a change of its status and damage to its file.
    let file = place.path("asked.flashscope/what-if.json");
    edit(&file, |json| json["status"] = "complete".into());
    assert_eq!(place.item("asked")["status"], "complete");
    fs::write(&file, "{}").unwrap();
    let problem = place.item("asked")["problem"].as_str().unwrap().to_string();
    assert!(problem.contains("what-if.json is damaged"), "{problem}");
    place.get("/api/what-ifs/asked").error(422);
}

#[test]
fn twins_and_predictions_stand_on_the_shelf() {
    let place = Place::empty();
    twin_and_prediction(&place);
    let (twin, prediction) = (place.item("bench-v1"), place.item("expected"));
    assert_eq!((&twin["kind"], &twin["problem"]), (&json!("twin"), &Value::Null));
    assert_eq!(twin["fitted_to"], json!(["one.flashscope"]));
    assert_eq!(
        (&prediction["kind"], &prediction["workload"]),
        (&json!("prediction"), &json!("zipf on a drive"))
    );
    for query in ["kind=twin", "search=one.flashscope", "kind=prediction"] {
        assert_eq!(place.get(&format!("/api/shelf?{query}")).ok().json()["total"], 1, "{query}");
    }
    // Documents of any version begin with conclusions.
    for address in ["/api/twins/bench-v1", "/api/predictions/expected"] {
        assert!(place.get(address).ok().json()["conclusions"][0]["text"].is_string(), "{address}");
    }

    // A file that only has the name of a twin is shown with its problem, and a removed one
    // disappears.
    fs::write(place.path("empty.twin.json"), "{}").unwrap();
    let problem = place.item("empty")["problem"].as_str().unwrap().to_string();
    assert!(
        problem.contains("empty.twin.json is damaged") || problem.contains("empty is damaged"),
        "{problem}"
    );
    place.get("/api/twins/empty").error(422);
    fs::remove_file(place.path("bench-v1.twin.json")).unwrap();
    place.get("/api/twins/bench-v1").error(404);
    edit(&place.path("expected.flashscope/prediction.json"), |json| json["drive"] = Value::Null);
    assert!(place.item("expected")["problem"].is_string());
}

#[test]
fn results_of_several_kinds_are_compared() {
    let place = Place::empty();
    twin_and_prediction(&place);
    // The same prediction with half the latencies, and times with narrow intervals.
    let (one, two) = (place.path("expected.flashscope"), place.path("faster.flashscope"));
    copy(&one, &two);
    let latencies = |folder: &std::path::Path, ns: f64| {
        let range =
            |value: f64| json!({ "value": value, "low": 0.99 * value, "high": 1.01 * value });
        edit(&folder.join("prediction.json"), |json| {
            json["latency_ns"]["mean"] = range(ns);
        });
    };
    latencies(&one, 2e5);
    latencies(&two, 1e5);
    let found = place.get("/api/comparison?ids=expected,faster").ok().json();
    assert_eq!(found["results"][1]["kind"], "twin_prediction");
    let quantities = found["workloads"][0]["quantities"].as_array().unwrap();
    let mean = quantities.iter().find(|one| one["quantity"] == "latency_ns.mean").unwrap();
    assert_eq!(mean["results"][1]["ratio"]["value"], 0.5);
    assert_eq!(mean["results"][1]["verdict"], "better");
    assert!(found["conclusions"][0]["text"].as_str().unwrap().contains("faster"), "{found}");
}

#[test]
fn a_folder_that_another_process_writes_is_not_on_the_shelf() {
    let place = Place::empty();
    let demo = place.add("demo");
    let unfinished = place.path(".other.flashscope.flashscope-unfinished-12-0");
    fs::create_dir(&unfinished).unwrap();
    copy(&demo, &unfinished.join("inside.flashscope"));
    assert_eq!(ids(&place.get("/api/shelf").ok().json()), ["demo"]);
}

#[test]
fn ids_are_unique_and_stable() {
    let place = Place::new();
    assert_eq!(ids(&place.get("/api/shelf").ok().json()), ["demo"]);
    // The path of the new result sorts before that of the first.
    fs::create_dir(place.path("a")).unwrap();
    copy(&place.path("demo.flashscope"), &place.path("a/demo.flashscope"));
    let shelf = place.get("/api/shelf").ok().json();
    let [first, second] = ids(&shelf)[..] else { panic!("{shelf}") };
    assert_eq!(first, "demo");
    assert!(second.starts_with("demo~"), "{second}");
    fs::remove_dir_all(place.path("demo.flashscope")).unwrap();
    assert_eq!(ids(&place.get("/api/shelf").ok().json()), [second]);
}

#[test]
fn queries_filter_and_sort() {
    let place = Place::empty();
    for (name, model, firmware, capacity, started) in [
        ("one", "Alpha 1", "F1", 3_u64 << 30, "2026-01-03T00:00:00Z"),
        ("two", "Beta", "F2", 1 << 30, "2026-01-01T00:00:00Z"),
        ("three", "alpha 1", "F3", 2 << 30, "2026-01-02T00:00:00Z"),
    ] {
        edit(&place.add(name).join("manifest.json"), |manifest| {
            let device = &mut manifest["device"];
            (device["model"], device["firmware"]) = (model.into(), firmware.into());
            device["capacity_bytes"] = capacity.into();
            manifest["started"] = started.into();
        });
    }
    fs::create_dir(place.path("broken.flashscope")).unwrap();
    for (query, expected) in [
        ("", &["broken", "one", "three", "two"][..]),
        ("sort=-name", &["two", "three", "one", "broken"]),
        ("sort=started", &["two", "three", "one", "broken"]),
        ("sort=-started", &["one", "three", "two", "broken"]),
        ("sort=capacity", &["two", "three", "one", "broken"]),
        ("sort=-capacity", &["one", "three", "two", "broken"]),
        ("sort=model", &["one", "three", "two", "broken"]),
        ("sort=-model", &["two", "one", "three", "broken"]),
        ("search=ALPHA%20f3", &["three"]),
        ("search=T", &["three", "two"]),
        ("model=ALPHA", &["one", "three"]),
        ("firmware=f2", &["two"]),
        ("capacity_min=2147483648", &["one", "three"]),
        ("capacity_max=2147483648", &["three", "two"]),
        ("kind=simulation", &[]),
        ("offset=1&limit=2", &["one", "three"]),
    ] {
        let shelf = place.get(&format!("/api/shelf?{query}")).ok().json();
        assert_eq!(ids(&shelf), expected, "{query}");
        let total = if query.starts_with("offset") { 4 } else { expected.len() };
        assert_eq!(shelf["total"], total, "{query}");
    }
}

#[test]
fn results_without_facts_sort_last() {
    let place = Place::empty();
    for (name, nanoseconds) in [("slow", 9e6), ("none", 0.0), ("fast", 10.5)] {
        let path = place.add(name);
        edit(&path.join("facts.json"), |facts| {
            let version =
                if name == "none" { 1 } else { flashscope_document::facts::SCHEMA_VERSION };
            facts["schema_version"] = version.into();
            facts["characteristics"]["random_write_ns"] =
                json!({ "value": nanoseconds, "low": null, "high": null });
        });
    }
    for (sort, expected) in
        [("random_write", ["fast", "slow", "none"]), ("-random_write", ["slow", "fast", "none"])]
    {
        assert_eq!(ids(&place.get(&format!("/api/shelf?sort={sort}")).ok().json()), expected);
    }
}

#[test]
fn marks_are_saved_returned_and_checked() {
    let place = Place::new();
    let mark = |experiment: &str| {
        let mark =
            json!({ "micro_benchmark": "pause", "experiment": experiment, "interesting": true });
        json!({ "experiments": [mark] }).to_string()
    };
    let path = "/api/results/demo/marks";
    assert_eq!(place.put(path, mark("SR"), &[]).status, 204);
    let marks = place.get("/api/results/demo").ok().json()["marks"].clone();
    assert_eq!(
        (&marks["experiments"][0]["experiment"], &marks["experiments"][0]["note"]),
        (&json!("SR"), &json!(""))
    );
    let file = place.path("demo.flashscope/marks.json");
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap(), marks);

    assert!(place.put(path, mark("XX"), &[]).error(404).contains("no experiment `XX` of `pause`"));
    place.put("/api/results/nobody/marks", mark("SR"), &[]).error(404);
    place.put(path, "{", &[]).error(400);
    place.put(path, "{\"experiments\":1}", &[]).error(422);
    place.put(path, mark("SR"), &[("content-type", "text/plain")]).error(415);
    place.put(path, vec![b' '; 2 << 20], &[]).error(413);
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap(), marks);

    // The server does not follow a link in place of the temporary file.
    let elsewhere = place.path("elsewhere");
    fs::write(&elsewhere, "kept").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.path("demo.flashscope/marks.json.unfinished"))
        .unwrap();
    assert_eq!(place.put(path, mark("RW"), &[]).status, 204);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "kept");
}
