//! Measures a grid of uniform writes on simulated drives like the paper's, with 1 GB.

use flashscope_model::Family;
use flashscope_model::trace::{Space, Total};
use flashscope_predict::{Access, Cost, InterpolatedModel, Point, Request, SimulatedDrive};

use crate::cases;

/// The layout of the drives, 7 % of which is free space.
const SPACE: Space = Space { pages_per_block: 64, logical_blocks: 8192, free_blocks: 573 };

/// The mean lengths of writes, in pages.
const LENS: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 128.0, 256.0];

/// The ratios of free space to written space.
const FREES: [f64; 7] = [0.07, 0.15, 0.4, 1.0, 3.0, 10.0, 30.0];

/// The number of times that the target and the free space are written: before counting, and while
/// counting.
const TURNS: (u64, u64) = (3, 1);

/// The measured grid of each FTL.
pub(crate) struct Grids(Vec<(&'static str, InterpolatedModel)>);

impl Grids {
    pub(crate) fn measure() -> Grids {
        let of = |(ftl, family)| (ftl, grid(ftl, family));
        let kinds = [("bast", Family::Bast), ("fast", Family::Fast), ("page-map", Family::PageMap)];
        Grids(kinds.into_iter().map(of).collect())
    }

    pub(crate) fn of(&self, ftl: &str) -> Option<&InterpolatedModel> {
        self.0.iter().find(|(name, _)| *name == ftl).map(|(_, grid)| grid)
    }
}

fn grid(ftl: &str, family: Family) -> InterpolatedModel {
    let mut points = Vec::new();
    for mean_len in LENS {
        // Go from the smallest part of the drive to the largest, which lets one drive serve all
        // free spaces.
        let mut simulated = drive(ftl);
        for free_space in FREES.into_iter().rev() {
            points.push(point(&mut simulated, mean_len, free_space));
        }
    }
    InterpolatedModel::new(&points, family).expect("a grid")
}

fn drive(ftl: &str) -> SimulatedDrive {
    let blocks = SPACE.logical_blocks + SPACE.free_blocks + 3;
    let threshold = 1.5 / f64::from(blocks);
    let fields = match ftl {
        "page-map" => format!("ftl={ftl}&cleaning.free_threshold={threshold}"),
        _ => format!("ftl={ftl}&log.blocks={}", SPACE.free_blocks),
    };
    let profile = cases::drive(blocks, SPACE.pages_per_block, SPACE.logical_blocks, &fields);
    SimulatedDrive::new(&profile).expect("a valid profile")
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of pages are positive and small"
)]
fn point(simulated: &mut SimulatedDrive, mean_len: f64, free_space: f64) -> Point {
    let free = u64::from(SPACE.free_blocks * SPACE.pages_per_block);
    let target = ((free as f64 / free_space) as u64).min(SPACE.pages());
    let mut rng = fastrand::Rng::with_seed(3);
    let mut write = |pages: u64| {
        let mut written = 0;
        while written < pages {
            let longer = (1.0 - rng.f64()).ln() / (1.0 - 1.0 / mean_len).ln();
            let len = if mean_len > 1.0 { 1 + longer as u64 } else { 1 };
            let page = rng.u64(0..target);
            let len = len.min(target - page);
            simulated.request(Request::new(Access::Write, page, len).expect("pages of the drive"));
            written += len;
        }
        simulated.total().0
    };
    let before = write(TURNS.0 * (target + free));
    let total = write(TURNS.1 * (target + free)).since(&before);
    let counts = (total.erasures / total.pages as f64, total.write_amplification());
    // The flash takes no time in these drives; 1 ns is a placeholder that nothing uses.
    Point { mean_len, free_space, nanos: 1.0, counts: Some(counts) }
}

/// Converts an interpolated cost into totals, without the time.
pub(crate) fn total(cost: &Cost) -> Total {
    let (erasures, programs) = cost.counts;
    Total { pages: cost.pages, erasures, copies: programs - cost.pages as f64 }
}
