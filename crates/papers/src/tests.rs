use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use super::*;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn reproduce(item: &Item, inputs: Inputs) -> Reproduction {
    let found = item.reproduce(&Run { inputs, full: false, stop: &GO_ON });
    found.unwrap_or_else(|error| panic!("{}: {error}", item.id))
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
        if found.state != item.stands {
            failed.push(format!("{}: {:?}", item.id, found.state));
        }
        let claims = found.claims.iter().filter(|claim| claim.state == State::Fail);
        failed.extend(claims.map(|claim| format!("{}: {:?}", item.id, claim.finding)));
    }
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
