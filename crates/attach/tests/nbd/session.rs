//! Any bytes at all, without sockets.

use proptest::prelude::*;

use crate::talk::{self, conversation, talk};

fn bytes_of(choices: &[u16]) -> Vec<u8> {
    let mut choices = choices.iter().cycle();
    conversation(&mut |below| usize::from(*choices.next().unwrap()) % below)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // Does nothing come of a conversation that is nearly right but what a drive can be asked, however
    // it is cut into pieces?
    #[test]
    fn nearly_right(choices in proptest::collection::vec(any::<u16>(), 40..200)) {
        talk(&bytes_of(&choices));
    }

    // And of garbage?
    #[test]
    fn garbage(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        talk(&bytes);
    }
}

// Do the conversations above reach what they are to test: requests, refusals, violations?
#[test]
fn conversations_get_somewhere() {
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

// Is no memory taken by the word of a client: is what an option that is too long brings passed over, and
// what is asked next answered?
#[test]
fn long_options() {
    let mut said = vec![0, 0, 0, 0, 1];
    said.extend(talk::option(3, &vec![0; 1 << 20]));
    said.extend(talk::option(7, &talk::info("")));
    said.extend(talk::request(0, 0, 1, 0, 512));
    let outcome = talk(&said);
    assert_eq!(outcome.events.len(), 2, "{:?}", outcome.events);
    let words = b"the data of the option is too long";
    assert!(outcome.output.windows(words.len()).any(|found| found == words));
}

// Is a client that sends options without end let go?
#[test]
fn options_without_end() {
    let mut said = vec![0, 0, 0, 0, 1];
    said.extend(talk::option(3, &[]).repeat(100));
    let outcome = talk(&said);
    assert!(outcome.end.unwrap().contains("more options"));
}
