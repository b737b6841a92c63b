//! Random drives and workloads, in two parts: the intervals come from the first part, and are
//! scored on the second part.
//!
//! The second part differs from the first in kind: other numbers of packages, other block sizes,
//! less
//! and more spare space, and parameters of workloads outside the ranges of the first part.

use flashscope_block::Bytes;
use flashscope_predict::{Requests, SelectedModel};
use flashscope_sim::{Design, setup};
use flashscope_workload::synthetic::{Ios, Target};

/// A part of the population.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The cases that intervals come from.
    Calibration,
    /// The cases that intervals are scored on.
    HeldOut,
}

/// A drive with a workload.
pub(crate) struct Pair {
    /// The profile, as a spec.
    pub drive: String,
    /// The workload, as a spec.
    pub workload: String,
    /// IOs in a pass.
    pub ios: u64,
}

/// The seeds of the two parts.
const SEEDS: [u64; 2] = [2011, 33];

/// The approximate range of the number of pages of a drive: small enough to simulate thousands of
/// drives.
const PAGES: [u64; 2] = [1 << 13, 1 << 16];

impl Part {
    /// Generates `count` random pairs.
    pub(crate) fn draw(self, count: usize) -> impl Iterator<Item = Pair> {
        let mut rng = fastrand::Rng::with_seed(SEEDS[usize::from(self == Part::HeldOut)]);
        (0..count).map(move |nth| self.pair(&mut rng, nth))
    }

    fn pick<'a, T: ?Sized>(self, rng: &mut fastrand::Rng, of: [&[&'a T]; 2]) -> &'a T {
        let choices = of[usize::from(self == Part::HeldOut)];
        choices[rng.usize(..choices.len())]
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and below 2^53"
    )]
    fn pair(self, rng: &mut fastrand::Rng, nth: usize) -> Pair {
        let ftl = ["page-map", "page-map", "dftl", "bast", "fast"][nth % 5];
        let packages = self.pick(rng, [&["1", "2", "4", "8"], &["3", "6", "16"]]);
        let planes = self.pick(rng, [&["1", "2"], &["1", "4"]]);
        let block = self.pick(rng, [&["32", "64", "128"], &["16", "256"]]);
        let number = |text: &str| text.parse::<u64>().expect("a number of a list");
        let pages = rng.u64(PAGES[0]..PAGES[1]);
        let lanes = number(packages) * number(planes);
        let blocks = (pages / number(block) / lanes).max(64);
        let spare = match (self, rng.bool()) {
            (Part::Calibration, _) => 0.07 + 0.28 * rng.f64(),
            (Part::HeldOut, true) => 0.05 + 0.02 * rng.f64(),
            (Part::HeldOut, false) => 0.35 + 0.1 * rng.f64(),
        };
        // A pool needs room for its open and its free blocks.
        let spare = spare.max(8.0 / blocks as f64);
        let mut drive = format!(
            "agrawal-2008?ftl={ftl}&flash.packages={packages}&flash.dies_per_package=1\
             &flash.planes_per_die={planes}&flash.blocks_per_plane={blocks}&flash.pages_per_block={block}\
             &over_provisioning={spare:.4}&timed=false"
        );
        let all = blocks * number(planes) * number(packages) * number(block);
        match ftl {
            "bast" | "fast" => {
                let spare_blocks = (spare * (blocks * lanes) as f64) as u64 / number(packages);
                let logs = (spare_blocks / 2).max(2);
                let map = ["pages", "nv-ram"][rng.usize(..2)];
                drive += &format!("&log.blocks={logs}&persistence.map={map}");
                if ftl == "bast" {
                    drive += ["&log.merge=eager", "&log.merge=lazy"][rng.usize(..2)];
                }
            }
            _ => {
                drive +=
                    ["&cleaning.policy=greedy", "&cleaning.policy=greedy", "&cleaning.policy=fifo"]
                        [rng.usize(..3)];
                drive += ["", "&persistence.map=nv-ram"][rng.usize(..2)];
                if ftl == "dftl" {
                    let share = 0.02 + 0.5 * rng.f64() * rng.f64();
                    drive += &format!("&map_cache.size={}", (share * (all * 8) as f64) as u64);
                }
            }
        }
        let workload = self.workload(rng, ftl);
        Pair { drive, workload, ios: all }
    }

    /// Generates a random workload. Only FTLs without log blocks get trims, because FTLs with log
    /// blocks ignore them.
    fn workload(self, rng: &mut fastrand::Rng, ftl: &str) -> String {
        let (low, high) = match self {
            Part::Calibration => (0.0, 1.0),
            Part::HeldOut => (1.0, 1.5),
        };
        let level = low + (high - low) * rng.f64();
        let size = self.pick(
            rng,
            [
                &["4KiB", "8KiB", "16KiB", "geometric:16KiB", "64KiB"],
                &["12KiB", "32KiB", "geometric:64KiB", "128KiB"],
            ],
        );
        let trims = if ftl.starts_with(['p', 'd']) && rng.f64() < 0.3 {
            format!("&trims={:.3}", 0.02 + 0.18 * rng.f64())
        } else {
            String::new()
        };
        let reads = if rng.bool() { "&reads=0.4" } else { "" };
        match rng.usize(..8) {
            0 | 1 => format!("uniform?size={size}{reads}{trims}"),
            2 | 3 => format!("zipf?exponent={:.3}&size={size}{reads}{trims}", 0.3 + 0.8 * level),
            4 | 5 => {
                let space = (0.3 - 0.18 * level).max(0.02);
                let writes = (0.6 + 0.24 * level).min(0.97);
                format!(
                    "hotcold?hot_space={space:.3}&hot_writes={writes:.3}&size={size}{reads}{trims}"
                )
            }
            6 => "sequential".into(),
            _ => self.pick(rng, [&["tpcc", "btree", "postmark"], &["lsm", "iozone"]]).into(),
        }
    }
}

impl Pair {
    /// Returns the layout of the drive; `None` if the random fields contradict each other.
    pub(crate) fn design(&self) -> Option<Design> {
        setup::parse(&self.drive).ok()?.design().ok()
    }

    /// Opens the workload on a drive.
    pub(crate) fn requests(&self, design: &Design) -> Option<Requests> {
        let page_size = u64::from(design.logical_page_size());
        let workload = flashscope_trace::open_workload(&self.workload, &target_of(design)).ok()?;
        let stream: Box<dyn flashscope_workload::Stream> = match workload.ios {
            Ios::Endless(stream) => stream,
            Ios::Application(stream) => stream,
            Ios::Trace(_) | Ios::Runs(_) => return None,
        };
        Some(Requests::Endless { stream, page_size, ios: self.ios, trims: false })
    }
}

/// Returns the properties of a full drive that a workload depends on.
pub(crate) fn target_of(design: &Design) -> Target {
    let page_size = u64::from(design.logical_page_size());
    Target {
        capacity: Bytes(u64::from(design.logical_pages()) * page_size),
        logical_block: Bytes(page_size),
        filled: true,
        seed: 1,
    }
}

/// Returns the models of a drive for which predictions have intervals, the best first.
pub(crate) fn models(design: &Design) -> Vec<SelectedModel> {
    let names = ["reuse", "greedy", "fifo", "bast", "bast-eager", "bast-lazy", "fast", "fast-2011"];
    let best = SelectedModel::for_drive(design).ok();
    let others = names.iter().filter_map(|name| SelectedModel::named(name, design).ok());
    let suits = |model: &SelectedModel| match model.name() {
        "greedy" | "fifo" => model.name() == design.policies.victim.name,
        _ => true,
    };
    best.into_iter().chain(others.filter(suits)).collect()
}
