use super::{Kind, Options, Verdict, rate_limit};

pub(super) const KIND: Kind = Kind {
    name: "migrate",
    summary: "a block whose remaining lifetime is below retirement_age times the average receives \
              the coldest data, and the block that held this data is recycled instead; other \
              blocks are rate-limited",
    source: "Agrawal et al., USENIX ATC'08, section 5",
    active: true,
    migrates: true,
    judge,
};

fn judge(options: &Options, ratio: f64, random: f64) -> Verdict {
    if ratio < options.retirement_age {
        Verdict::Rest
    } else {
        rate_limit::judge(options, ratio, random)
    }
}
