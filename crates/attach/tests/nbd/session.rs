//! Tests of sessions with random bytes, without sockets.

use proptest::prelude::*;

use crate::talk::{self, conversation, talk};

fn bytes_of(choices: &[u16]) -> Vec<u8> {
    let mut choices = choices.iter().cycle();
    conversation(&mut |below| usize::from(*choices.next().unwrap()) % below)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

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

// The generated conversations contain requests, refusals and violations.
#[test]
fn conversations_contain_requests_and_violations() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut below = |most: usize| random.usize(..most);
    let outcomes: Vec<_> = (0..1000).map(|_| talk(&conversation(&mut below))).collect();
    let events = |with: &str| {
        outcomes
            .iter()
            .flat_map(|outcome| &outcome.events)
            .filter(|event| event.contains(with))
            .count()
    };
    for with in ["op: Read", "op: Write", "op: Trim", "op: Flush", "Err(", "structured: true"] {
        assert!(events(with) >= 20, "{with}: {}", events(with));
    }
    let ends = outcomes.iter().filter_map(|outcome| outcome.end.as_deref());
    let ends: std::collections::BTreeSet<&str> = ends.collect();
    assert!(ends.len() >= 3, "{ends:?}");
}

// The data of an oversized option are skipped without storing them, and the next option is
// answered.
#[test]
fn oversized_options_are_skipped() {
    let mut bytes = vec![0, 0, 0, 0, 1];
    bytes.extend(talk::option(3, &vec![0; 1 << 20]));
    bytes.extend(talk::option(7, &talk::info("")));
    bytes.extend(talk::request(0, 0, 1, 0, 512));
    let outcome = talk(&bytes);
    assert_eq!(outcome.events.len(), 2, "{:?}", outcome.events);
    let words = b"the data of the option is too long";
    assert!(outcome.output.windows(words.len()).any(|window| window == words));
}

// A client that sends too many options is disconnected.
#[test]
fn too_many_options_end_the_session() {
    let mut bytes = vec![0, 0, 0, 0, 1];
    bytes.extend(talk::option(3, &[]).repeat(100));
    let outcome = talk(&bytes);
    assert!(outcome.end.unwrap().contains("too many options"));
}
