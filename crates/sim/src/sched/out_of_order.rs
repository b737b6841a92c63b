//! The oldest command that can start now starts, so that a die does not wait for a bus that another die holds while it
//! has something to do in the cells.

use super::{Choice, Kind, Waiting};

pub(super) const KIND: Kind = Kind {
    name: "out-of-order",
    summary: "the oldest command that can start at once, without waiting for the bus or another \
              register; the oldest of all where none can",
    source: "Agrawal et al., USENIX ATC'08, section 3.3",
    overtakes: true,
    suspends: false,
    weighs_starts: true,
    choose,
};

fn choose(waiting: &Waiting) -> Choice {
    if waiting.is_due() {
        return Choice::Other;
    }
    match (waiting.read_starts, waiting.other_starts) {
        (true, false) => Choice::Read,
        (false, true) => Choice::Other,
        _ => waiting.oldest(),
    }
}
