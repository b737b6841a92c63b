//! Reads go first, and a waiting read suspends a program or an erase in the cells.

use super::{Kind, read_first};

pub(super) const KIND: Kind = Kind {
    name: "suspend",
    summary: "like read-first, but a waiting read also suspends a program or an erase in the cells",
    source: "Wu and He, FAST'12: program and erase suspension",
    overtakes: true,
    suspends: true,
    weighs_starts: false,
    choose: read_first::choose,
};
