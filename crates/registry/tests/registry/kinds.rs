//! Tests of publishing simulations and probes.

use flashscope_registry::{prepare, send};
use serde_json::{Value, json};

use super::{Place, edit, error};

// A search for its kind, drive or workload finds the simulation. The registry refuses a second
// submission, even if the computing time differs.
#[test]
fn a_published_simulation_is_found_and_lacks_private_paths() {
    let place = Place::new("simulation");
    let path = place.simulation("my simulation");
    let model = format!("Simulated {}", place.token);
    edit(&path.join("simulation.json"), |simulation| {
        simulation["drive"]["name"] = "sim:/home/me/secret/drive.toml".into();
        simulation["drive"]["serial"] = "S3CR3T".into();
        simulation["drive"]["model"] = model.clone().into();
        simulation["workload"] = "trace:/home/me/secret/hm_0.csv?pace=asap".into();
    });
    let prepared = prepare(&path, false).unwrap();
    let sent = serde_json::to_string(&prepared.submission).unwrap();
    assert!(!sent.contains("secret") && !sent.contains("S3CR3T"));
    let published = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap();
    assert!(published.unchecked[0].contains("simulate again"), "{published:?}");

    let (id, unique) = (published.id, place.token.to_uppercase());
    for query in ["", "&kind=simulation", "&kind=simulation&search=HM_0"] {
        let shelf = place.json(&format!("/api/shelf?model={unique}{query}"));
        let item = &shelf["items"][0];
        assert_eq!((&shelf["total"], &item["id"]), (&json!(1), &json!(id)), "{query}");
        let shown = [&item["kind"], &item["workload"], &item["ios"], &item["device"]["name"]];
        assert_eq!(
            shown,
            ["simulation", "trace:hm_0.csv?pace=asap", "12000", "sim:drive.toml"]
                .map(|text| text.parse().map_or(json!(text), |ios: u64| json!(ios)))
                .each_ref()
        );
    }
    for query in ["kind=measurement", "kind=probe", "kind=simulation&search=nobody"] {
        let none = place.json(&format!("/api/shelf?model={unique}&{query}"));
        assert_eq!(none["items"], json!([]), "{query}");
    }
    let mut kept: Value =
        serde_json::from_slice(&std::fs::read(path.join("simulation.json")).unwrap()).unwrap();
    kept["drive"]["name"] = "sim:drive.toml".into();
    kept["drive"]["serial"] = Value::Null;
    // The simulation is older than these fields.
    kept["host_pages_absorbed"] = json!(0);
    kept["observations"]["amplification"]["page_bytes"] = json!(0);
    kept["observations"]["amplification"]["host_bytes"] = json!([]);
    kept["workload"] = "trace:hm_0.csv?pace=asap".into();
    let served = place.json(&format!("/api/simulations/{id}"));
    // The registry derives the conclusions itself.
    assert!(served["conclusions"][0]["text"].is_string(), "{served}");
    kept["conclusions"] = served["conclusions"].clone();
    assert_eq!(served, kept);
    let other = error(place.get(&format!("/api/results/{id}")), 404);
    assert!(other.contains(&format!("a simulation: ask for /api/simulations/{id}")), "{other}");
    error(place.get(&format!("/api/probes/{id}")), 404);

    edit(&path.join("simulation.json"), |simulation| simulation["wall_ns"] = 1.into());
    let again = prepare(&path, false).unwrap();
    let again = send(&again, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(again.contains(&format!("already published, as `{id}`")), "{again}");
}

// The registry replaces the profile and the titles of parameters by those that follow from the
// findings. It refuses a second submission.
#[test]
fn a_published_probe_is_found_and_its_forged_texts_are_replaced() {
    let place = Place::new("probe");
    let path = place.probe("my probe");
    let model = format!("Probed {}", place.token);
    let mut profile = Value::Null;
    edit(&path.join("probe.json"), |probe| {
        let drive = &mut probe["drive"];
        (drive["kind"], drive["name"]) = ("block".into(), "/dev/nvme7n1".into());
        (drive["serial"], drive["model"]) = ("S3CR3T".into(), model.clone().into());
        profile = probe["profile"].clone();
        probe["profile"] = "FORGED".into();
        probe["findings"][4]["title"] = "FORGED".into();
    });
    let prepared = prepare(&path, false).unwrap();
    let sent = serde_json::to_string(&prepared.submission).unwrap();
    for secret in ["S3CR3T", "nvme7n1", "FORGED", place.folder.path().to_str().unwrap()] {
        assert!(!sent.contains(secret), "{secret} is sent");
    }
    let published = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap();
    assert!(published.unchecked[0].contains("concluded"), "{published:?}");

    let (id, unique) = (published.id, place.token.to_uppercase());
    let shelf = place.json(&format!("/api/shelf?model={unique}&kind=probe"));
    let item = &shelf["items"][0];
    assert_eq!((&shelf["total"], &item["id"]), (&json!(1), &json!(id)));
    assert_eq!(
        [&item["kind"], &item["runs_done"], &item["ios"], &item["status"], &item["started"]],
        [&json!("probe"), &json!(9), &json!(12121), &json!("complete"), &item["started"]]
    );
    let none = place.json(&format!("/api/shelf?model={unique}&kind=simulation"));
    assert_eq!(none["items"], json!([]));
    let probe = place.json(&format!("/api/probes/{id}"));
    assert_eq!(probe["findings"][4]["title"], "Flash page");
    let fitted = profile.as_str().unwrap().replace("flashscope demo, 1 GiB", &model);
    // An earlier version wrote the sample profile, with other comments and another order at the
    // end.
    let profile = probe["profile"].as_str().unwrap();
    assert!(profile.starts_with("# A simulated drive with the findings of `flashscope probe`."));
    let fields = |profile: &str| {
        let (_, fields) = profile.split_once("\n\n").unwrap();
        let (fields, rest) = fields.split_once("\n\n# ").unwrap();
        let values = fields.lines().filter_map(|line| line.split(" # ").next());
        (values.collect::<Vec<_>>().join("\n"), rest.to_owned())
    };
    let rest = "medium: flash; no field says so\n# alignment: 0 B; no field says so\n";
    assert_eq!(fields(profile), (fields(&fitted).0, rest.to_owned()));
    error(place.get(&format!("/api/simulations/{id}")), 404);
    let again = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap_err().to_string();
    assert!(again.contains(&format!("already published, as `{id}`")), "{again}");
}

#[test]
fn the_serial_number_of_a_probed_drive_is_published_on_request() {
    let place = Place::new("probe-serial");
    let path = place.probe("p");
    edit(&path.join("probe.json"), |probe| probe["drive"]["serial"] = "S3CR3T".into());
    let prepared = prepare(&path, true).unwrap();
    let id = send(&prepared, &place.url(), &place.token, |_, _| {}).unwrap().id;
    assert_eq!(place.json(&format!("/api/probes/{id}"))["drive"]["serial"], "S3CR3T");
}
