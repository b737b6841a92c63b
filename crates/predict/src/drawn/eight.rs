//! Workloads that imitate the eight traces of the paper (Boboila and Desnoyers, MSST 2011, section
//! III.C) as far as the paper describes them. docs/models.md lists the published numbers with their
//! source, and the chosen numbers.

use super::{Hot, Lengths, Traits};

const fn fixed(share: f64, pages: u64) -> Lengths {
    Lengths::Fixed(share, pages)
}

const fn geometric(share: f64, mean: f64) -> Lengths {
    Lengths::Geometric(share, mean)
}

const fn hot(space: f64, requests: f64) -> Hot {
    Hot { space, requests }
}

/// All eight workloads, in the paper's order.
pub const EIGHT: [Traits; 8] = [RSRCH0, PRXY0, SRC11, PROJ2, FIN1, FIN2, DEA2, LAIR62B];

/// Imitates rsrch0, a trace of Microsoft Research.
pub const RSRCH0: Traits = Traits {
    name: "like-rsrch0",
    requests: 1_433_655,
    reads: 0.093,
    lengths: &[fixed(0.7, 2), geometric(0.2, 5.0), geometric(0.1, 22.0)],
    longest: 64,
    space: 187_546,
    extent: 512,
    hot: &[hot(0.05, 0.5), hot(0.15, 0.3)],
    phases: 7,
    goes_on: 0.1,
    streams: 4,
    aligned: 0.0,
};

/// Imitates prxy0, a trace of Microsoft Research.
pub const PRXY0: Traits = Traits {
    name: "like-prxy0",
    requests: 2_500_000,
    reads: 0.031,
    lengths: &[fixed(0.85, 2), geometric(0.15, 5.0)],
    longest: 64,
    space: 461_314,
    extent: 512,
    hot: &[hot(0.02, 0.75), hot(0.08, 0.2)],
    phases: 7,
    goes_on: 0.05,
    streams: 4,
    aligned: 0.0,
};

/// Imitates src11, a trace of Microsoft Research.
pub(crate) const SRC11: Traits = Traits {
    name: "like-src11",
    requests: 8_000_000,
    reads: 0.95,
    lengths: &[fixed(0.6, 2), geometric(0.3, 8.0), fixed(0.1, 32)],
    longest: 64,
    space: 3_000_000,
    extent: 512,
    hot: &[hot(0.02, 0.4), hot(0.1, 0.3)],
    phases: 7,
    goes_on: 0.3,
    streams: 4,
    aligned: 0.0,
};

/// Imitates proj2, a trace of Microsoft Research.
pub const PROJ2: Traits = Traits {
    name: "like-proj2",
    requests: 3_000_000,
    reads: 0.88,
    lengths: &[fixed(0.4, 2), geometric(0.2, 12.0), fixed(0.4, 32)],
    longest: 64,
    space: 15_728_640,
    extent: 512,
    hot: &[hot(0.01, 0.2), hot(0.19, 0.6)],
    phases: 7,
    goes_on: 0.5,
    streams: 4,
    aligned: 0.0,
};

/// Imitates fin1, a trace of a database.
pub(crate) const FIN1: Traits = Traits {
    name: "like-fin1",
    requests: 2_000_000,
    reads: 0.232,
    lengths: &[fixed(0.45, 1), fixed(0.3, 2), geometric(0.25, 10.0)],
    longest: 25,
    space: 500_000,
    extent: 512,
    hot: &[hot(0.02, 0.4), hot(0.1, 0.3)],
    phases: 3,
    goes_on: 0.13,
    streams: 24,
    aligned: 0.0,
};

/// Imitates fin2, a trace of a database.
pub(crate) const FIN2: Traits = Traits {
    name: "like-fin2",
    requests: 3_699_194,
    reads: 0.823,
    lengths: &[fixed(0.5, 1), fixed(0.3, 2), geometric(0.2, 4.0)],
    longest: 25,
    space: 290_000,
    extent: 512,
    hot: &[hot(0.01, 0.5), hot(0.09, 0.3)],
    phases: 3,
    goes_on: 0.05,
    streams: 19,
    aligned: 0.0,
};

/// Imitates dea2, a trace of a research file system.
pub const DEA2: Traits = Traits {
    name: "like-dea2",
    requests: 120_000,
    reads: 0.5,
    lengths: &[geometric(0.6, 20.0), geometric(0.3, 120.0), geometric(0.1, 535.0)],
    longest: 2000,
    space: 3_000_000,
    extent: 4096,
    hot: &[hot(0.05, 0.4), hot(0.2, 0.3)],
    phases: 4,
    goes_on: 0.3,
    streams: 4,
    aligned: 0.0,
};

/// Imitates lair62b, a trace of a research file system.
pub const LAIR62B: Traits = Traits {
    name: "like-lair62b",
    requests: 1_500_000,
    reads: 0.3,
    lengths: &[fixed(0.6, 4), geometric(0.4, 6.0)],
    longest: 64,
    space: 500_000,
    extent: 512,
    hot: &[hot(0.02, 0.5), hot(0.1, 0.3)],
    phases: 4,
    goes_on: 0.1,
    streams: 4,
    aligned: 0.4,
};

#[cfg(test)]
mod tests {
    use flashscope_model::trace::Space;

    use super::*;
    use crate::drawn::TraitSummary;

    /// The paper's drive.
    const PAPER: Space =
        Space { pages_per_block: 64, logical_blocks: 245_760, free_blocks: 17_203 };
    const SEED: u64 = 1;

    #[test]
    fn requests_have_the_published_and_chosen_traits() {
        // (name, share of reads, mean pages per write, pages of the longest write), from
        // docs/models.md.
        let known = [
            ("like-rsrch0", 0.093, 4.5, 64),
            ("like-prxy0", 0.031, 2.4, 64),
            ("like-src11", 0.95, 6.8, 64),
            ("like-proj2", 0.88, 16.0, 64),
            ("like-fin1", 0.232, 3.3, 25),
            ("like-fin2", 0.823, 1.9, 25),
            ("like-dea2", 0.5, 100.0, 2000),
            ("like-lair62b", 0.3, 4.8, 64),
        ];
        for (traits, (name, reads, mean, longest)) in EIGHT.iter().zip(known) {
            let traits = Traits { requests: 200_000, ..*traits };
            let of = TraitSummary::of(traits.requests(PAPER, SEED), 64);
            assert_eq!(traits.name, name);
            assert!((of.reads - reads).abs() < 0.01, "{name} {of:?}");
            assert!((of.mean / mean - 1.0).abs() < 0.05, "{name} {of:?}");
            assert!(of.longest <= longest && of.longest > longest / 2, "{name} {of:?}");
            assert!((of.goes_on - traits.goes_on).abs() < 0.05, "{name} {of:?}");
            let aligned = (1.0 - of.goes_on) * traits.aligned + 1.0 / 64.0;
            assert!((of.aligned - aligned).abs() < 0.04, "{name} {of:?}");
            assert!(of.pages <= traits.space, "{name} {of:?}");
        }
    }
}
