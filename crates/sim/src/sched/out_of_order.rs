//! Starts the oldest command that can start now. A die then uses its cells instead of waiting for a
//! bus that another die holds.

use super::{Choice, Kind, Waiting};

pub(super) const KIND: Kind = Kind {
    name: "out-of-order",
    summary: "the oldest command that can start now, without waiting for the bus or another \
              register; if none can, the oldest command",
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
