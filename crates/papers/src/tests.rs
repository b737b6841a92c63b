use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use super::*;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn reproduce(item: &Item, inputs: Inputs) -> Reproduction {
    item.reproduce(&Run { inputs, full: false, stop: &GO_ON }).unwrap()
}

// Is no claim of any item other than it is printed without a reason, and is none without claims?
#[test]
fn every_item_holds() {
    for item in ITEMS {
        let found = reproduce(item, Inputs::of(item.inputs));
        let failed = |claim: &&Claim| claim.state == State::Fail;
        let failed: Vec<&Claim> = found.claims.iter().filter(failed).collect();
        assert!(!found.claims.is_empty() && failed.is_empty(), "{}: {failed:#?}", item.id);
    }
}

// Is nothing written down but what is printed: does each input change what each item finds?
#[test]
fn every_input_counts() {
    for item in ITEMS {
        let found = reproduce(item, Inputs::of(item.inputs));
        for input in item.inputs {
            let mut inputs = Inputs::of(item.inputs);
            inputs.set(input.name, input.other).unwrap();
            let other = reproduce(item, inputs);
            assert_ne!(found.claims, other.claims, "{}: {}", item.id, input.name);
        }
    }
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

// Does an item that is to stop do so?
#[test]
fn stops() {
    let item = ITEMS[0];
    let run = Run { inputs: Inputs::of(item.inputs), full: false, stop: &true.into() };
    assert!(matches!(item.reproduce(&run), Err(Error::Interrupted)));
}
