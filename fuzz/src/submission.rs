//! Submissions to a registry, as JSON.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use flashscope_registry::{Submission, prepare};
use serde_json::Value;

use crate::edit::edit_json;
use crate::repository;

/// Valid submissions of each kind.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let sample = |name: &str| {
        let path = repository("testdata/results").join(format!("{name}.flashscope"));
        let prepared = prepare(&path, false).expect("the sample is valid");
        serde_json::to_value(&prepared.submission).expect("a submission can be serialized")
    };
    ["v1", "inside", "probed", "simulated"].map(sample).to_vec()
});

/// Reads and checks a submission. The first byte selects a sample. If the second byte is 0, the
/// remaining input is sent unchanged; else it is a script of changes to the sample.
pub fn run(input: &[u8]) {
    let [which, rest @ ..] = input else { return };
    let nth = usize::from(*which) % SAMPLES.len();
    let body = match rest {
        [0, raw @ ..] => raw.to_vec(),
        script => {
            let mut value = SAMPLES[nth].clone();
            edit_json(&mut value, &mut Unstructured::new(script));
            serde_json::to_vec(&value).expect("JSON can be serialized")
        }
    };
    let Some(submission) = read(nth, &body) else { return };
    let id = submission.id();
    assert!(id.len() == 20 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    if submission.check().is_ok() {
        let again = serde_json::to_vec(&submission).expect("a submission can be serialized");
        let again = read(nth, &again).expect("serialized data can be read");
        assert_eq!((again.id(), again.check()), (id, Ok(())), "storing keeps the submission");
    }
}

/// Parses a submission of the kind of sample `nth`.
fn read(nth: usize, body: &[u8]) -> Option<Submission> {
    Some(match nth {
        0 | 1 => Submission::Measurement(serde_json::from_slice(body).ok()?),
        2 => Submission::Probe(serde_json::from_slice(body).ok()?),
        _ => Submission::Simulation(serde_json::from_slice(body).ok()?),
    })
}
