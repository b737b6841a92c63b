//! Workloads that each differ from another workload in one trait.

use flashscope_predict::drawn::{DEA2, Hot, LAIR62B, Lengths, PROJ2, Traits};

const fn fixed(share: f64, pages: u64) -> Lengths {
    Lengths::Fixed(share, pages)
}

const fn geometric(share: f64, mean: f64) -> Lengths {
    Lengths::Geometric(share, mean)
}

const fn hot(space: f64, requests: f64) -> Hot {
    Hot { space, requests }
}

/// Uniform writes with geometric lengths, to four times as many blocks as there are log blocks.
const PLAIN: Traits = Traits {
    name: "plain",
    requests: 300_000,
    reads: 0.0,
    lengths: &[geometric(1.0, 8.0)],
    longest: 512,
    space: 4_403_200,
    extent: 512,
    hot: &[],
    phases: 1,
    goes_on: 0.0,
    streams: 1,
    aligned: 0.0,
};

/// Variants of uniform writes and of workloads like traces, which mostly change one trait each.
pub(crate) const VARIATIONS: [Traits; 29] = [
    PLAIN,
    Traits { name: "plain, shorter than the ring", requests: 130_000, ..PLAIN },
    Traits { name: "plain, aligned 0.1", aligned: 0.1, ..PLAIN },
    Traits { name: "plain, aligned 0.4", aligned: 0.4, ..PLAIN },
    Traits { name: "plain, aligned 1.0", aligned: 1.0, ..PLAIN },
    Traits { name: "plain, all of 8", lengths: &[fixed(1.0, 8)], ..PLAIN },
    Traits { name: "plain, of 1 and 71", lengths: &[fixed(0.9, 1), fixed(0.1, 71)], ..PLAIN },
    LONG,
    Traits { name: "long, all of 100", lengths: &[fixed(1.0, 100)], ..LONG },
    Traits { name: "long, of dea2", lengths: DEA2.lengths, ..LONG },
    Traits { name: "plain, 0.2 to 0.01", hot: &[hot(0.01, 0.2)], ..PLAIN },
    Traits { name: "plain, 0.5 to 0.01", hot: &[hot(0.01, 0.5)], ..PLAIN },
    Traits { name: "plain, 0.9 to 0.01", hot: &[hot(0.01, 0.9)], ..PLAIN },
    Traits { name: "plain, goes on 0.3", goes_on: 0.3, ..PLAIN },
    Traits { name: "plain, goes on 0.6", goes_on: 0.6, ..PLAIN },
    Traits { name: "plain, goes on 0.9", goes_on: 0.9, ..PLAIN },
    Traits { name: "plain, in 24 streams 0.9", goes_on: 0.9, streams: 24, ..PLAIN },
    Traits { name: "plain, half the log blocks", space: 550_400, ..PLAIN },
    Traits { name: "plain, as many blocks", space: 1_100_800, ..PLAIN },
    Traits { name: "plain, twice the blocks", space: 2_201_600, ..PLAIN },
    Traits { name: "plain, the whole drive", space: 15_728_640, ..PLAIN },
    Traits { name: "plain, in pieces of 64", extent: 64, longest: 64, ..PLAIN },
    Traits { name: "plain, 1 phase", hot: HALF, phases: 1, ..PLAIN },
    Traits { name: "plain, 7 phases", hot: HALF, phases: 7, ..PLAIN },
    Traits { name: "like-lair62b, not aligned", aligned: 0.0, ..LAIR62B },
    Traits { name: "like-proj2, nothing goes on", goes_on: 0.0, ..PROJ2 },
    Traits { name: "like-proj2, one stream", streams: 1, ..PROJ2 },
    Traits { name: "like-proj2, without hot parts", hot: &[], ..PROJ2 },
    Traits { name: "like-dea2, geometric", lengths: &[geometric(1.0, 100.0)], ..DEA2 },
];

const LONG: Traits = Traits {
    name: "long",
    requests: 24_000,
    lengths: &[geometric(1.0, 100.0)],
    longest: 2000,
    extent: 4096,
    ..PLAIN
};

const HALF: &[Hot] = &[hot(0.05, 0.5)];
