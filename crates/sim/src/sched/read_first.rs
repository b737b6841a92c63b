//! Reads go before waiting programs and erases, as far as the limits of overtaking allow.

use super::{Choice, Kind, Waiting};

pub(super) const KIND: Kind = Kind {
    name: "read-first",
    summary: "reads go before waiting programs and erases; limits can bound how often or how long",
    source: "Cobham, Operations Research 2 (1954): priorities without preemption",
    overtakes: true,
    suspends: false,
    weighs_starts: false,
    choose,
};

pub(super) fn choose(waiting: &Waiting) -> Choice {
    if waiting.is_due() { Choice::Other } else { Choice::Read }
}
