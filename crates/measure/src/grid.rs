//! A grid of uniform writes: what a drive makes of each mean length with each amount of free space
//! (Boboila and Desnoyers, "Performance Models of Flash-Based Solid-State Drives for Real Workloads",
//! MSST 2011, section IV).
//!
//! The free space of a drive cannot be varied, but the space that is written can: all of the free space
//! of the drive is there for a part of it, too, once the drive has become used to that.

use flashscope_block::{Bytes, Device, DeviceInfo};
use flashscope_result::grid::GridRule;
use flashscope_result::manifest::{Experiment, MicroBenchmark, Options, Progress, Run};
use flashscope_result::plan::{Costs, Estimate};
use flashscope_workload::pattern::{Reference, UniformWrites};
use flashscope_workload::seed_for;
use flashscope_workload::uflip::Unit;

use crate::budget::{Planned, Unaffordable, fits};
use crate::estimate::estimate;
use crate::plan::refusal;
use crate::steady::PTS;

/// The name of the micro-benchmark.
pub const GRID: &str = "grid";

/// The mean lengths in pages, unless others are asked for.
pub const LENGTHS: [u32; 5] = [1, 4, 16, 64, 256];

/// The most free space that is measured, relative to what is written, unless more is asked for.
const MOST_FREE_SPACE: f64 = 100.0;

/// A target space holds so many writes of the longest mean length at least.
const LEAST_WRITES: u64 = 8;

/// A real drive has so much free space at least, as a share of its capacity: none is sold with less
/// than what lies between a GB and a GiB, and the capacity itself may be rounded up a little.
const LEAST_SPARE: f64 = 0.05;

/// What is chosen of a grid.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The unit of lengths and places.
    pub page: Bytes,
    /// Mean lengths in pages; empty for [`LENGTHS`].
    pub lengths: Vec<u32>,
    /// Free space relative to what is written; empty for that of the drive, and from there on in steps
    /// of 1, 2 and 5.
    pub free_spaces: Vec<f64>,
    /// What the flash of the drive holds in all; `None` for what the drive tells or, where it does not,
    /// the next usual size.
    pub physical_capacity: Option<Bytes>,
}

/// Why there is no grid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing is left to be free.
    #[error(
        "the flash of `{name}` is said to hold {physical}, and the drive {capacity}: it holds more \
         than the drive (--capacity-inside)"
    )]
    NoFreeSpace {
        /// The drive.
        name: String,
        /// What its flash is said to hold.
        physical: Bytes,
        /// What the drive holds.
        capacity: Bytes,
    },
    /// Less free space than there is always.
    #[error(
        "a free space of {wanted}: `{name}` has {least:.3} times what is written when all of it is, and \
         more when less is; ask for no less (--grid-spaces)"
    )]
    TooLittle {
        /// The drive.
        name: String,
        /// What is wanted.
        wanted: f64,
        /// What there is at least.
        least: f64,
    },
    /// So much free space that the rest holds no writes.
    #[error(
        "a free space of {wanted}: that would be writes to {target}, and {LEAST_WRITES} of the mean \
         length of {length} pages take {least}; ask for less (--grid-spaces), or for shorter writes \
         (--grid-lengths)"
    )]
    TooMuch {
        /// What is wanted.
        wanted: f64,
        /// What would be written.
        target: Bytes,
        /// The longest mean length.
        length: u32,
        /// What is needed.
        least: Bytes,
    },
}

impl Choice {
    /// The largest IO.
    pub fn largest_io(&self) -> Bytes {
        let length = self.lengths().iter().copied().max().unwrap_or(1);
        self.writes(length, Bytes(u64::MAX), 0).longest()
    }

    /// Mean lengths, rising.
    fn lengths(&self) -> Vec<u32> {
        let chosen = if self.lengths.is_empty() { LENGTHS.to_vec() } else { self.lengths.clone() };
        rising(chosen, u32::cmp)
    }

    fn writes(&self, mean_len: u32, target_size: Bytes, seed: u64) -> UniformWrites {
        UniformWrites {
            page: self.page,
            mean_len,
            target_offset: Bytes(0),
            target_size,
            io_count: 1,
            io_ignore: 0,
            seed,
        }
    }

    /// The rule by which the runs on a drive are measured.
    ///
    /// # Errors
    /// Where the drive is said to hold no more inside than outside.
    pub fn rule<D: Device + ?Sized>(&self, device: &D) -> Result<GridRule, Error> {
        let info = device.info();
        let known = self.physical_capacity.or(device.flash().map(|flash| flash.capacity));
        let physical = known.unwrap_or_else(|| usual_size(info.capacity));
        let free = physical.0.checked_sub(info.capacity.0).filter(|free| *free > 0);
        let free = free.ok_or_else(|| Error::NoFreeSpace {
            name: info.name.clone(),
            physical,
            capacity: info.capacity,
        })?;
        Ok(GridRule {
            page: self.page,
            free: Bytes(free),
            windows: 5,
            range: PTS.range / 2.0,
            slope: PTS.slope / 2.0,
            most_windows: 25,
            least_counted: 2,
            most_counted: 20,
        })
    }

    /// The spaces that are written, each with all lengths: the smallest first.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // far below 2^53 bytes
    fn targets(&self, rule: &GridRule, device: &DeviceInfo) -> Result<Vec<Bytes>, Error> {
        let length = self.lengths().last().copied().unwrap_or(1);
        let whole = device.capacity.round_down(rule.page);
        let least = Bytes(LEAST_WRITES * self.writes(length, whole, 0).mean_bytes().0);
        let target = |space: f64| Bytes((rule.free.0 as f64 / space) as u64).round_down(rule.page);
        let own = rule.free.0 as f64 / whole.0 as f64;
        if self.free_spaces.is_empty() {
            let steps = steps().filter(|step| *step >= 1.25 * own && *step <= MOST_FREE_SPACE);
            let targets = steps.map(target).take_while(|target| *target >= least);
            return Ok(rising(std::iter::once(whole).chain(targets).collect(), Bytes::cmp));
        }
        let check = |space: f64| {
            let target = target(space);
            if target > whole {
                let name = device.name.clone();
                return Err(Error::TooLittle { name, wanted: space, least: own });
            }
            if target < least {
                return Err(Error::TooMuch { wanted: space, target, length, least });
            }
            Ok(target)
        };
        let targets = self.free_spaces.iter().map(|space| check(*space));
        Ok(rising(targets.collect::<Result<_, _>>()?, Bytes::cmp))
    }

    /// The runs of the grid on a drive, numbered in the order of execution: by rising target spaces,
    /// each with all lengths.
    ///
    /// In another order data that is left alone would share blocks with what was written before, and
    /// some of the free space would stay in them: a drive that maps by pages does not clean such blocks
    /// as long as others hold less.
    ///
    /// # Errors
    /// Where the drive has no such free space.
    pub fn plan(
        &self,
        rule: &GridRule,
        options: &Options,
        device: &DeviceInfo,
    ) -> Result<Vec<MicroBenchmark>, Error> {
        self.plan_up_to(u32::MAX, rule, options, device)
    }

    /// The same of the first levels alone: those of the first are the corners of the grid, and each level
    /// with those before it is a grid again.
    fn plan_up_to(
        &self,
        most: u32,
        rule: &GridRule,
        options: &Options,
        device: &DeviceInfo,
    ) -> Result<Vec<MicroBenchmark>, Error> {
        let (lengths, targets) = (self.lengths(), self.targets(rule, device)?);
        let (of_length, of_target) = (levels(lengths.len()), levels(targets.len()));
        let points = (0..targets.len()).flat_map(|t| (0..lengths.len()).map(move |l| (t, l)));
        let points = points.filter(|&(t, l)| of_target[t].max(of_length[l]) <= most);
        let run = |(id, (t, l)): (u32, (usize, usize))| {
            let seed = seed_for(options.setup.seed, (t * lengths.len() + l) as u64);
            let writes = self.writes(lengths[l], targets[t], seed);
            let windows = rule.most_windows + rule.most_counted;
            let writes = UniformWrites { io_count: rule.ios_in(windows, &writes), ..writes };
            let reference = Reference::Uniform { writes };
            let progress = match refusal(&reference, device, device.capacity, false) {
                Some(reason) => Progress::Skipped { reason },
                None => Progress::Pending,
            };
            let value = i64::try_from(targets[t].0).unwrap_or(i64::MAX);
            (l, Run { progress, ..Run::new(id, value, reference) })
        };
        let runs: Vec<(usize, Run)> = (1..).zip(points).map(run).collect();
        let experiment = |(l, length): (usize, &u32)| {
            let of_length = runs.iter().filter(|(of, _)| *of == l).map(|(_, run)| run.clone());
            let pages = if *length == 1 { "page" } else { "pages" };
            Experiment { name: format!("{length} {pages}"), runs: of_length.collect() }
        };
        let experiments = lengths.iter().enumerate().map(experiment);
        Ok(vec![MicroBenchmark {
            name: GRID.into(),
            title: "Uniform writes".into(),
            question: "What do uniform writes cost by their mean length and the free space?".into(),
            parameter: "TargetSize".into(),
            unit: Unit::Bytes,
            experiments: experiments.filter(|e| !e.runs.is_empty()).collect(),
        }])
    }

    /// The finest grid that fits into the budget of the options.
    ///
    /// # Errors
    /// Where even its corners do not fit.
    pub fn fitting(
        &self,
        options: &Options,
        rule: &GridRule,
        device: &DeviceInfo,
        costs: &Costs,
    ) -> Result<Planned, Refused> {
        let counts = [self.lengths().len(), self.targets(rule, device)?.len()];
        let deepest = counts.into_iter().flat_map(levels).max().unwrap_or(0);
        let (mut all, mut least) = (None, Estimate::default());
        for most in (0..=deepest).rev() {
            let micro_benchmarks = self.plan_up_to(most, rule, options, device)?;
            let estimate = estimate(&micro_benchmarks, options, costs);
            let (runs, all) = (estimate.runs, *all.get_or_insert(estimate.runs));
            if fits(&estimate, &options.methodology) {
                let points = format!("points between others: {runs} of {all} are measured");
                let left_out = if runs < all { vec![points] } else { vec![] };
                let options = options.clone();
                return Ok(Planned { options, micro_benchmarks, estimate, left_out });
            }
            least = estimate;
        }
        Err(Unaffordable::least(&least, options.setup.target_size, "--grid-spaces").into())
    }
}

/// Why a grid is not planned within a budget.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// There is no such grid.
    #[error(transparent)]
    Grid(#[from] Error),
    /// It takes too much.
    #[error(transparent)]
    Budget(#[from] Unaffordable),
}

/// Sorted, each once.
fn rising<T: PartialEq>(
    mut values: Vec<T>,
    order: impl FnMut(&T, &T) -> std::cmp::Ordering,
) -> Vec<T> {
    values.sort_by(order);
    values.dedup();
    values
}

/// 0.001, 0.002, 0.005, 0.01 and so on.
fn steps() -> impl Iterator<Item = f64> {
    (-3..=2).flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(exponent)))
}

/// The level of each of `count` values in a row: 0 for the first and the last, and for each halving of
/// the gaps one more.
fn levels(count: usize) -> Vec<u32> {
    let mut levels = vec![u32::MAX; count];
    let last = count.saturating_sub(1);
    for end in [0, last] {
        levels.get_mut(end).into_iter().for_each(|level| *level = 0);
    }
    let (mut gaps, mut level) = (vec![(0, last)], 0);
    while !gaps.is_empty() {
        level += 1;
        let halves =
            gaps.into_iter().filter(|(low, high)| high - low > 1).flat_map(|(low, high)| {
                let middle = low.midpoint(high);
                levels[middle] = level;
                [(low, middle), (middle, high)]
            });
        gaps = halves.collect();
    }
    levels
}

/// What the flash of a drive is likely to hold that has `capacity`: the next of 2ⁿ and 2ⁿ + 2ⁿ⁻¹ GiB (or
/// MiB) that leaves it a twentieth to spare. The paper has 64 GiB for 64 GB.
fn usual_size(capacity: Bytes) -> Bytes {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let least = (capacity.0 as f64 * (1.0 + LEAST_SPARE)) as u64;
    let power = least.max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
    let three_quarters = power / 4 * 3;
    Bytes(if three_quarters >= least { three_quarters } else { power })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Do levels halve the gaps, the ends first, and leave nothing out?
    #[test]
    fn levels_go_from_coarse_to_fine() {
        assert_eq!(levels(1), [0]);
        assert_eq!(levels(2), [0, 0]);
        assert_eq!(levels(5), [0, 2, 1, 2, 0]);
        assert_eq!(levels(9), [0, 3, 2, 3, 1, 3, 2, 3, 0]);
        assert!(levels(100).iter().all(|level| *level <= 7));
    }

    // Is the flash of drives as large as their makers build it, by the capacity that they are sold with?
    #[test]
    fn usual_sizes() {
        let gib = |gb: f64| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let size = usual_size(Bytes((gb * 1e9) as u64));
            size.0 >> 30
        };
        assert_eq!([64.0, 120.0, 128.0, 240.0, 256.0].map(gib), [64, 128, 128, 256, 256]);
        assert_eq!([480.0, 512.0, 750.0, 1000.2, 1920.4].map(gib), [512, 512, 768, 1024, 2048]);
        assert_eq!(usual_size(Bytes::gib(1)), Bytes::mib(1536));
    }
}
