//! Tests of sessions with random bytes, without sockets.

use proptest::prelude::*;

use crate::talk::{conversation, talk};

fn bytes_of(choices: &[u16]) -> Vec<u8> {
    let mut choices = choices.iter().cycle();
    conversation(&mut |below| usize::from(*choices.next().unwrap()) % below)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // A nearly valid conversation causes only valid requests, however it is split into pieces.
    #[test]
    fn nearly_valid_input_causes_only_valid_requests(choices in proptest::collection::vec(any::<u16>(), 40..200)) {
        talk(&bytes_of(&choices));
    }

    // Random bytes cause only valid requests.
    #[test]
    fn random_input_causes_only_valid_requests(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        talk(&bytes);
    }
}

// The generated conversations contain every kind of request, replies, refusals and fatal errors.
#[test]
fn conversations_contain_requests_and_errors() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut below = |most: usize| random.usize(..most);
    let outcomes: Vec<_> = (0..4000).map(|_| talk(&conversation(&mut below))).collect();
    let actions = |with: &str| {
        outcomes
            .iter()
            .flat_map(|outcome| &outcome.actions)
            .filter(|action| action.contains(with))
            .count()
    };
    for with in [
        "op: Read",
        "op: Write",
        "op: Trim",
        "op: Flush",
        "Copy",
        "Compare",
        "Erase",
        "offset: Bytes(13",
        "Extended",
        "metadata: Some",
        "appends: true",
        "Zones(Change",
        "Zones(Report",
        "Placement(Status",
        "Placement(Update",
        "stream: 1",
        "Hold",
        "refused",
        "Reply",
    ] {
        assert!(actions(with) >= 5, "{with}: {}", actions(with));
    }
    let ends = outcomes.iter().filter_map(|outcome| outcome.end.as_deref());
    let ends: std::collections::BTreeSet<&str> = ends.collect();
    assert!(ends.len() >= 5, "{ends:?}");
}
