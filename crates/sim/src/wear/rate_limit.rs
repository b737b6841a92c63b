use super::{Kind, Options, Verdict};

pub(super) const KIND: Kind = Kind {
    name: "rate-limit",
    summary: "the probability that a worn block is recycled falls linearly from 1 to 0 as its \
              remaining lifetime falls from (1 - age_variance) times the average to 0",
    source: "Agrawal et al., USENIX ATC'08, section 5, after Random Early Discard",
    active: true,
    migrates: false,
    judge,
};

pub(super) fn judge(options: &Options, ratio: f64, random: f64) -> Verdict {
    let limit = 1.0 - options.age_variance;
    if ratio >= limit || random < ratio / limit { Verdict::Recycle } else { Verdict::Spare }
}
