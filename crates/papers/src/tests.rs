use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use super::*;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn reproduce(item: &Item, inputs: Inputs) -> Reproduction {
    reproduce_in(item, inputs, false)
}

fn reproduce_in(item: &Item, inputs: Inputs, full: bool) -> Reproduction {
    let found = item.reproduce(&Run { inputs, full, stop: &GO_ON });
    found.unwrap_or_else(|error| panic!("{}: {error}", item.id))
}

/// What does not hold of an item.
fn missed(item: &Item, found: &Reproduction) -> Vec<String> {
    let claims = found.claims.iter().filter(|claim| claim.state == State::Fail);
    let state = (found.state != item.stands).then(|| format!("{}: {:?}", item.id, found.state));
    let told = claims.map(|claim| format!("{}: {:?}", item.id, claim.finding));
    state.into_iter().chain(told).collect()
}

/// What each item finds by the paper's own inputs.
static FOUND: LazyLock<Vec<Reproduction>> =
    LazyLock::new(|| ITEMS.iter().map(|item| reproduce(item, Inputs::of(item.inputs))).collect());

// Is no claim of any item other than it is printed without a reason, is none without claims, and does each stand as
// the list has it?
#[test]
fn every_item_holds() {
    let mut failed = Vec::new();
    for (item, found) in ITEMS.iter().zip(FOUND.iter()) {
        assert!(!found.claims.is_empty(), "{}", item.id);
        failed.extend(missed(item, found));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Items that take minutes in full, where others take seconds.
const LONG: [&str; 2] = ["boboila-figure3", "uflip-hints"];

// Does each item stand the same at the papers' own lengths of runs?
#[test]
fn items_hold_in_full() {
    assert!(LONG.iter().all(|id| crate::item(id).is_some()));
    let short = ITEMS.iter().filter(|item| !LONG.contains(&item.id));
    let found = short.map(|item| (item, reproduce_in(item, Inputs::of(item.inputs), true)));
    let failed: Vec<String> = found.flat_map(|(item, found)| missed(item, &found)).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

// Is nothing written down but what is printed: does each input change what each item finds?
#[test]
fn every_input_counts() {
    let mut idle = Vec::new();
    for (item, found) in ITEMS.iter().zip(FOUND.iter()) {
        for input in item.inputs {
            let mut inputs = Inputs::of(item.inputs);
            inputs.set(input.name, input.other).unwrap();
            if found.claims == reproduce(item, inputs).claims {
                idle.push(format!("{}: {}", item.id, input.name));
            }
        }
    }
    assert!(idle.is_empty(), "{idle:#?}");
}

// Has each item a name of its own by its paper, and inputs to be changed?
#[test]
fn names() {
    let ids: BTreeSet<&str> = ITEMS.iter().map(|item| item.id).collect();
    assert_eq!(ids.len(), ITEMS.len());
    assert!(ITEMS.iter().all(|item| crate::item(item.id).is_some() && !item.inputs.is_empty()));
    let unknown = Inputs::of(ITEMS[0].inputs).set("x", "1").unwrap_err();
    assert!(unknown.to_string().contains("`x`"), "{unknown}");
}

// Does every item that is to stop do so?
#[test]
fn stops() {
    for item in ITEMS {
        let run = Run { inputs: Inputs::of(item.inputs), full: false, stop: &true.into() };
        assert!(matches!(item.reproduce(&run), Err(Error::Interrupted)), "{}", item.id);
    }
}
