//! First come, first served, at each die.

use super::{Kind, Waiting};

pub(super) const KIND: Kind = Kind {
    name: "fcfs",
    summary: "each die carries out its commands in the order of arrival",
    source: "Agrawal et al., USENIX ATC'08, section 2",
    overtakes: false,
    suspends: false,
    weighs_starts: false,
    choose: Waiting::oldest,
};
