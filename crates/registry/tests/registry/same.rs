//! Tests of two senders that submit the same result.

use std::path::Path;

use flashscope_registry::{PreparedSubmission, Publication, StagedSubmission, prepare, send};
use reqwest::blocking::Response;
use serde_json::json;

use super::{Place, error};

/// A submission in progress with one sender's token.
struct Sending<'a> {
    place: &'a Place,
    token: &'a str,
    prepared: &'a PreparedSubmission,
    folder: &'a Path,
}

impl Sending<'_> {
    fn begin(&self) -> Response {
        let body = serde_json::to_value(&self.prepared.submission).unwrap();
        self.place
            .post(self.prepared.submission.address(), &body)
            .bearer_auth(self.token)
            .send()
            .unwrap()
    }

    /// Sends the first `files` of the announced files.
    fn send(&self, id: &str, files: usize) {
        for part in self.prepared.submission.parts().iter().take(files) {
            let file = std::fs::read(part.name().path(self.folder)).unwrap();
            let path = format!("/api/submissions/{id}/{}", part.name().address());
            let sent = self.place.put(&path, file).bearer_auth(self.token).send().unwrap();
            assert_eq!(sent.status(), 204);
        }
    }

    fn finish(&self, id: &str) -> Response {
        let request = self.place.post(&format!("/api/submissions/{id}/finish"), &json!({}));
        request.bearer_auth(self.token).send().unwrap()
    }
}

/// Submits a result from two senders, whose steps alternate.
fn both_finish(place: &Place, folder: &Path, collection: &str) {
    let prepared = prepare(folder, false).unwrap();
    let sending = |token| Sending { place, token, prepared: &prepared, folder };
    let (first, second) = (sending(&place.token), sending(&place.second));
    let all = prepared.submission.parts().len();

    let staged: StagedSubmission = first.begin().json().unwrap();
    let id = staged.id.as_str();
    first.send(id, all - 1);
    // Neither sender sees the progress of the other.
    let other: StagedSubmission = second.begin().json().unwrap();
    assert_eq!(other.id, id);
    assert_eq!((staged.missing.len(), other.missing.len()), (all, all));
    assert!(error(second.finish(id), 409).contains(&format!("{all} files have not arrived")));
    second.send(id, all);
    assert!(error(first.finish(id), 409).contains("1 files have not arrived"));

    // The sender that finishes first publishes, and the other gets the same answer.
    let published: Publication = second.finish(id).json().unwrap();
    assert_eq!(published.id, id);
    let also: Publication = first.finish(id).json().unwrap();
    assert_eq!(also, published);
    assert!(error(first.begin(), 409).contains(&format!("already published, as `{id}`")));
    // The registry has deleted the files of the first sender, and keeps those of the published
    // result.
    place.json(&format!("/api/{collection}/{id}"));
    if collection == "results" {
        for run in [1, 36] {
            place.json(&format!("/api/results/{id}/runs/{run}/ios"));
        }
    }
    assert_eq!(place.files_of_submissions(all), all);
}

#[test]
fn two_senders_of_the_same_measurement_both_finish() {
    let place = Place::new("same-measurement");
    both_finish(&place, &place.result("r"), "results");
}

#[test]
fn two_senders_of_the_same_probe_both_finish() {
    let place = Place::new("same-probe");
    both_finish(&place, &place.probe("p"), "probes");
}

#[test]
fn a_second_sender_of_the_same_simulation_gets_its_id() {
    let place = Place::new("same-simulation");
    let prepared = prepare(&place.simulation("s"), false).unwrap();
    let sent = |token: &str| send(&prepared, &place.url(), token, |_, _| {});
    let id = sent(&place.token).unwrap().id;
    let again = sent(&place.second).unwrap_err().to_string();
    assert!(again.contains(&format!("already published, as `{id}`")), "{again}");
    place.json(&format!("/api/simulations/{id}"));
}

#[test]
fn a_second_sender_finishes_after_the_first_stops() {
    let place = Place::new("same-given-up");
    let folder = place.result("r");
    let prepared = prepare(&folder, false).unwrap();
    let first =
        Sending { place: &place, token: &place.token, prepared: &prepared, folder: &folder };
    let staged: StagedSubmission = first.begin().json().unwrap();
    first.send(&staged.id, 3);
    let id = send(&prepared, &place.url(), &place.second, |_, _| {}).unwrap().id;
    assert_eq!(id, staged.id);
    // Files that the first sender sends later change nothing.
    first.send(&id, 5);
    assert_eq!(first.finish(&id).json::<Publication>().unwrap().id, id);
    place.json(&format!("/api/results/{id}/runs/1/ios"));
}
