use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

static NEVER_STOP: AtomicBool = AtomicBool::new(false);

fn reproduce(item: &Item, inputs: Inputs) -> Reproduction {
    reproduce_in(item, inputs, false)
}

fn reproduce_in(item: &Item, inputs: Inputs, full: bool) -> Reproduction {
    let reproduction = item.reproduce(&Run { inputs, full, stop: &NEVER_STOP });
    reproduction.unwrap_or_else(|error| panic!("{}: {error}", item.id))
}

/// Items with claims that are not reproduced for an unknown reason.
const UNEXPLAINED: [&str; 4] =
    ["uflip-section5.1", "uflip-locality", "uflip-table3", "uflip-mixes"];

/// Lists the failures of an item: its unexplained claims, unless [`UNEXPLAINED`] contains the item,
/// and its verdict if this is not the expected one.
fn failures(item: &Item, actual: &Reproduction) -> Vec<String> {
    let known = UNEXPLAINED.contains(&item.id);
    let claims = actual.claims.iter().filter(|claim| claim.is_unexplained() && !known);
    let state = (actual.state != item.expected).then(|| format!("{}: {:?}", item.id, actual.state));
    let claims = claims.map(|claim| format!("{}: {:?}", item.id, claim.finding));
    state.into_iter().chain(claims).collect()
}

/// The reproductions of all items with the paper's own inputs.
static REPRODUCTIONS: LazyLock<Vec<Reproduction>> =
    LazyLock::new(|| ITEMS.iter().map(|item| reproduce(item, Inputs::of(item.inputs))).collect());

#[test]
fn every_item_has_claims_and_its_expected_state() {
    let mut failed = Vec::new();
    for (item, reproduction) in ITEMS.iter().zip(REPRODUCTIONS.iter()) {
        assert!(!reproduction.claims.is_empty(), "{}", item.id);
        failed.extend(failures(item, reproduction));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Items that take minutes at full length, most of them because they benchmark several drives; all
/// other items take seconds.
const LONG: [&str; 17] = [
    "agrawal-figure7",
    "boboila-figure3",
    "uflip-section4.2",
    "uflip-section5.1",
    "uflip-figure3",
    "uflip-figure4",
    "uflip-figure5",
    "uflip-figure6",
    "uflip-figure7",
    "uflip-figure8",
    "uflip-locality",
    "uflip-table3",
    "uflip-alignment",
    "uflip-section5.2",
    "uflip-mixes",
    "uflip-hints",
    "uflip-slides-screens",
];

#[test]
fn every_item_has_its_expected_state_at_full_length() {
    assert!(LONG.iter().all(|id| crate::item(id).is_some()));
    let short = ITEMS.iter().filter(|item| !LONG.contains(&item.id));
    let all = short.map(|item| (item, reproduce_in(item, Inputs::of(item.inputs), true)));
    let failed: Vec<String> = all.flat_map(|(item, one)| failures(item, &one)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Returns the inputs that leave the claims of an item unchanged.
fn inputs_without_effect(item: &Item, reproduction: &Reproduction) -> Vec<String> {
    let changes_nothing = |input: &&Input| {
        let mut inputs = Inputs::of(item.inputs);
        inputs.set(input.name, input.other).unwrap();
        reproduction.claims == reproduce(item, inputs).claims
    };
    let inputs = item.inputs.iter().filter(changes_nothing);
    inputs.map(|input| format!("{}: {}", item.id, input.name)).collect()
}

// An input without effect would mean that the outcome is hard-coded. Two threads share the items,
// because with one thread this test would take longer than any other.
#[test]
fn every_input_changes_the_outcome() {
    let reproductions: &[Reproduction] = &REPRODUCTIONS;
    let next = AtomicUsize::new(0);
    let without_effect = std::thread::scope(|threads| {
        let work = || {
            let indices = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
            let items = indices.map_while(|index| Some((ITEMS.get(index)?, &reproductions[index])));
            items.flat_map(|(item, one)| inputs_without_effect(item, one)).collect::<Vec<_>>()
        };
        [threads.spawn(work), threads.spawn(work)].map(|thread| thread.join().unwrap()).concat()
    });
    assert!(without_effect.is_empty(), "{without_effect:#?}");
}

#[test]
fn identifiers_are_unique_and_every_item_has_inputs() {
    let ids: BTreeSet<&str> = ITEMS.iter().map(|item| item.id).collect();
    assert_eq!(ids.len(), ITEMS.len());
    assert!(ITEMS.iter().all(|item| crate::item(item.id).is_some() && !item.inputs.is_empty()));
    let unknown = Inputs::of(ITEMS[0].inputs).set("x", "1").unwrap_err();
    assert!(unknown.to_string().contains("`x`"), "{unknown}");
}

#[test]
fn every_item_can_be_interrupted() {
    for item in ITEMS {
        let run = Run { inputs: Inputs::of(item.inputs), full: false, stop: &true.into() };
        assert!(matches!(item.reproduce(&run), Err(Error::Interrupted)), "{}", item.id);
    }
}
