//! What is sent to a registry: JSON that says of itself what it is.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use flashscope_registry::{Submission, prepare};
use serde_json::Value;

use crate::edit::edit_json;
use crate::repository;

/// A measurement, a probe and a simulation as they are sent.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let sample = |name: &str| {
        let path = repository("testdata/results").join(format!("{name}.flashscope"));
        let prepared = prepare(&path, false).expect("the sample is sound");
        serde_json::to_value(&prepared.submission).expect("it is JSON")
    };
    ["v1", "inside", "probed", "simulated"].map(sample).to_vec()
});

/// The first byte says which sample; the rest is a script of changes to it, or after a 0 what is sent.
pub fn run(input: &[u8]) {
    let [which, rest @ ..] = input else { return };
    let nth = usize::from(*which) % SAMPLES.len();
    let body = match rest {
        [0, raw @ ..] => raw.to_vec(),
        script => {
            let mut value = SAMPLES[nth].clone();
            edit_json(&mut value, &mut Unstructured::new(script));
            serde_json::to_vec(&value).expect("it is JSON")
        }
    };
    let Some(submission) = read(nth, &body) else { return };
    let id = submission.id();
    assert!(id.len() == 20 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    if submission.check().is_ok() {
        let again = serde_json::to_vec(&submission).expect("what was read is written");
        let again = read(nth, &again).expect("what was written is read");
        assert_eq!((again.id(), again.check()), (id, Ok(())), "what is kept is what was sent");
    }
}

/// As the address of the sample is read.
fn read(nth: usize, body: &[u8]) -> Option<Submission> {
    Some(match nth {
        0 | 1 => Submission::Measurement(serde_json::from_slice(body).ok()?),
        2 => Submission::Probe(serde_json::from_slice(body).ok()?),
        _ => Submission::Simulation(serde_json::from_slice(body).ok()?),
    })
}
