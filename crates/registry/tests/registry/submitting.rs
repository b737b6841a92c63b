//! Tests of submitting a result from a folder until it is published.

use flashscope_block::Nanos;
use flashscope_registry::{Content, Publication, prepare, send};
use flashscope_result::ResultFolder;
use flashscope_result::activity::{Activities, Activity};
use serde_json::json;

use super::{Place, edit, error};

// A search by each field finds the result. The registry serves its data, and refuses a second
// submission.
#[test]
fn a_published_result_is_found_and_can_be_viewed() {
    let place = Place::new("published");
    let path = place.result("my drive");
    edit(&path.join("manifest.json"), |manifest| {
        let device = &mut manifest["device"];
        (device["kind"], device["name"]) = ("block".into(), "/dev/nvme7n1".into());
        (device["model"], device["firmware"]) =
            (format!("Model {}", place.token).into(), "FW%_7".into());
        device["serial"] = "S3CR3T".into();
        device["capacity_bytes"] = json!(123_456_789_000_u64);
    });
    let prepared = prepare(&path, false).unwrap();
    let sent = serde_json::to_string(&prepared.submission).unwrap();
    for secret in ["S3CR3T", "nvme7n1", place.folder.path().to_str().unwrap()] {
        assert!(!sent.contains(secret), "{secret} is sent");
    }
    let mut steps = Vec::new();
    let id = send(&prepared, &place.url(), &place.token, |sent, total| steps.push((sent, total)))
        .unwrap()
        .id;
    let total = steps[0].1;
    assert_eq!((steps[0].0, *steps.last().unwrap(), steps.len()), (0, (total, total), 37));

    let unique = place.token.to_uppercase();
    for query in [
        format!("search={unique}%20fw%25_7"),
        format!("model={unique}&firmware=w%25_"),
        format!(
            "search={unique}&capacity_min=123456789000&capacity_max=123456789000&kind=measurement"
        ),
        format!("search={unique}&sort=-random_write"),
    ] {
        let shelf = place.json(&format!("/api/shelf?{query}"));
        assert_eq!((&shelf["total"], &shelf["items"][0]["id"]), (&json!(1), &json!(id)), "{query}");
        let item = &shelf["items"][0];
        assert_eq!(
            (&item["name"], &item["runs_done"], &item["ios"]),
            (&json!("my drive"), &json!(36), &json!(288))
        );
        assert!(item["characteristics"].is_object() && item["device"]["serial"].is_null());
    }
    for query in [
        "firmware=wx_7",
        "capacity_min=123456789001",
        "kind=simulation",
        "offset=1",
        "search=nobody",
    ] {
        let both = format!("/api/shelf?{query}&model={unique}");
        assert_eq!(place.json(&both)["items"], json!([]), "{query}");
    }
    let measurement = place.json(&format!("/api/results/{id}"));
    assert_eq!(measurement["facts"]["runs"].as_array().unwrap().len(), 36);
    let ios = place.json(&format!("/api/results/{id}/runs/30/ios"));
    assert_eq!(ios["latency_ns"].as_array().unwrap().len(), 8);
    let colours = format!("/api/results/{id}/colours?micro_benchmark=pause&experiment=RW");
    assert_eq!(place.json(&colours)["rows"].as_array().unwrap().len(), 9);
    place.json(&format!("/api/comparison?ids={id},{id}"));

    let again = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err();
    assert!(again.to_string().contains(&format!("already published, as `{id}`")), "{again}");
}

#[test]
fn the_serial_number_is_published_on_request() {
    let place = Place::new("serial");
    let path = place.result("r");
    edit(&path.join("manifest.json"), |manifest| manifest["device"]["serial"] = "S3CR3T".into());
    let id =
        send(&prepare(&path, true).unwrap(), &place.url(), &place.token, |_, _| {}).unwrap().id;
    let measurement = place.json(&format!("/api/results/{id}"));
    assert_eq!(measurement["manifest"]["device"]["serial"], "S3CR3T");
}

#[test]
fn a_resumed_submission_sends_only_missing_files() {
    let place = Place::new("going-on");
    let prepared = prepare(&place.result("r"), false).unwrap();
    let body = serde_json::to_value(&prepared.submission).unwrap();
    let begin = || place.post("/api/submissions", &body).bearer_auth(&place.token).send().unwrap();
    let staged: serde_json::Value = begin().json().unwrap();
    assert_eq!(staged["missing"].as_array().unwrap().len(), 36);
    let id = staged["id"].as_str().unwrap();
    let file =
        std::fs::read(place.folder.path().join("r.flashscope/records/run-00001-000.parquet"))
            .unwrap();
    let path = format!("/api/submissions/{id}/records/1/0");
    assert_eq!(place.put(&path, file).bearer_auth(&place.token).send().unwrap().status(), 204);
    let staged: serde_json::Value = begin().json().unwrap();
    assert_eq!(staged["missing"].as_array().unwrap().len(), 35);
    let finish = place.post(&format!("/api/submissions/{id}/finish"), &json!({}));
    let refused = finish.bearer_auth(&place.token).send().unwrap();
    assert!(error(refused, 409).contains("35 files have not arrived"));

    let mut first = None;
    let sent = send(&prepared, &place.url(), &place.token, |arrived, _| {
        first.get_or_insert(arrived);
    });
    assert_eq!(sent.unwrap().id, id);
    assert_eq!(first, Some(prepared.submission.parts()[0].bytes));
}

// A sender that lost the first answer can repeat the request.
#[test]
fn finishing_twice_returns_the_published_result() {
    let place = Place::new("finished-twice");
    let prepared = prepare(&place.result("r"), false).unwrap();
    let published = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap();
    let finish = |id: &str| {
        let request = place.post(&format!("/api/submissions/{id}/finish"), &json!({}));
        request.bearer_auth(&place.token).send().unwrap()
    };
    assert_eq!(finish(&published.id).json::<Publication>().unwrap(), published);
    error(finish("nobody"), 404);
}

// The answer lists activities as unchecked.
#[test]
fn activities_are_published() {
    let place = Place::new("inside");
    let path = place.result("r");
    let (folder, _) = ResultFolder::open(&path).unwrap();
    let activity = |nth: u64| Activity {
        kind: "cleaning".into(),
        start_ns: Nanos(nth * 10),
        end_ns: Nanos(nth * 10 + 7),
        unit: 0,
        block: 3,
        pages_read: 1,
        pages_programmed: 1,
        blocks_erased: 0,
    };
    let written = Activities { items: (0..20).map(activity).collect(), left_out: 0 };
    folder.write_activities(30, &written).unwrap();
    let without = prepare(&place.result("without"), false).unwrap().submission.id();
    let prepared = prepare(&path, false).unwrap();
    let inside =
        prepared.submission.parts().iter().filter(|part| part.content == Content::Activities);
    assert_eq!((inside.count(), prepared.submission.parts().len()), (1, 37));
    assert_ne!(prepared.submission.id(), without);
    let published = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap();
    let [unchecked] = published.unchecked.as_slice() else { panic!("{published:?}") };
    assert!(unchecked.contains("background operations of the drive"), "{unchecked}");
    let shown = place.json(&format!("/api/results/{}/runs/30/activities", published.id));
    assert_eq!(shown, serde_json::to_value(&written.items).unwrap());
    let none = place.json(&format!("/api/results/{}/runs/29/activities", published.id));
    assert_eq!(none, json!([]));
}
