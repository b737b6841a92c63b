use super::{Kind, Verdict};

pub(super) const KIND: Kind = Kind {
    name: "none",
    summary: "every block that garbage collection chooses is recycled, however worn",
    source: "Agrawal et al., USENIX ATC'08, section 5, the greedy row of Table 7",
    active: false,
    migrates: false,
    judge: |_, _, _| Verdict::Recycle,
};
