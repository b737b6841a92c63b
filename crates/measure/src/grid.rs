//! A grid of uniform writes: the cost of each mean length at each amount of free space. The source
//! is Boboila and Desnoyers, "Performance Models of Flash-Based Solid-State Drives for Real
//! Workloads", MSST 2011, section IV.
//!
//! The free space of a drive is fixed, but the written space is not. If only a part of the drive is
//! written, that part has all of the free space, once the drive has settled.

use flashscope_block::{Bytes, Device, DeviceInfo};
use flashscope_document::grid::GridRule;
use flashscope_document::manifest::{Experiment, MicroBenchmark, Options, Progress, Run};
use flashscope_document::plan::{Costs, Estimate};
use flashscope_workload::pattern::{Reference, UniformWrites};
use flashscope_workload::seed_for;
use flashscope_workload::uflip::Unit;

use crate::budget::{BudgetedPlan, Unaffordable, fits};
use crate::estimate::estimate;
use crate::plan::refusal;
use crate::steady::PTS;

/// The name of the micro-benchmark.
pub const GRID: &str = "grid";

/// The default mean lengths, in pages.
pub const LENGTHS: [u32; 5] = [1, 4, 16, 64, 256];

/// The largest default free space, relative to the written space.
const MAX_FREE_SPACE: f64 = 100.0;

/// Minimum number of writes of the longest mean length that a target space must hold.
const MIN_WRITES: u64 = 8;

/// Minimum free space of a real drive, as a share of its capacity. Every drive has at least the
/// difference between a GB and a GiB; the capacity itself may be rounded up a little.
const MIN_SPARE: f64 = 0.05;

/// The options of a grid.
#[derive(Debug, Clone)]
pub struct GridOptions {
    /// The unit of lengths and offsets.
    pub page: Bytes,
    /// Mean lengths in pages; empty for [`LENGTHS`].
    pub lengths: Vec<u32>,
    /// Free space relative to the written space. If empty, starts at the free space of the drive
    /// and continues in steps of 1, 2 and 5.
    pub free_spaces: Vec<f64>,
    /// Capacity of the flash inside the drive. `None` uses the value reported by the drive or, if
    /// it reports none, the likely size for its capacity.
    pub physical_capacity: Option<Bytes>,
}

/// An error in the options of a grid.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The flash is no larger than the drive.
    #[error(
        "the flash of `{name}` cannot have only {physical}: the drive holds {capacity}, and its flash must \
         hold more; choose a larger value (--capacity-inside)"
    )]
    NoFreeSpace {
        /// The name of the drive.
        name: String,
        /// The capacity of its flash.
        physical: Bytes,
        /// The capacity of the drive.
        capacity: Bytes,
    },
    /// Less free space than the drive always has.
    #[error(
        "a free space of {wanted} is too little: if `{name}` is written completely, its free space is \
         {least:.3} times the written space, and more if less is written; choose a larger value (--grid-spaces)"
    )]
    TooLittle {
        /// The name of the drive.
        name: String,
        /// The requested free space.
        wanted: f64,
        /// The least possible free space.
        least: f64,
    },
    /// So much free space that the written part is too small.
    #[error(
        "a free space of {wanted} is too much: it leaves {target} to write, and {MIN_WRITES} writes of \
         the mean length of {length} pages need {least}; choose a smaller value (--grid-spaces), or shorter \
         writes (--grid-lengths)"
    )]
    TooMuch {
        /// The requested free space.
        wanted: f64,
        /// The size of the written part.
        target: Bytes,
        /// The longest mean length.
        length: u32,
        /// The least size of the written part.
        least: Bytes,
    },
}

impl GridOptions {
    /// Returns the largest IO of the grid.
    pub fn largest_io(&self) -> Bytes {
        let length = self.lengths().iter().copied().max().unwrap_or(1);
        self.writes(length, Bytes(u64::MAX), 0).longest()
    }

    /// Returns the mean lengths in rising order.
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

    /// Returns the rule that decides how the runs on a drive are measured.
    ///
    /// # Errors
    /// If the flash is not larger than the drive.
    pub fn rule<D: Device + ?Sized>(&self, device: &D) -> Result<GridRule, Error> {
        let info = device.info();
        let physical = flash_inside(device, self.physical_capacity);
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

    /// Returns the sizes of the written spaces, the smallest first. Each is written with all
    /// lengths.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // far below 2^53 bytes
    fn targets(&self, rule: &GridRule, device: &DeviceInfo) -> Result<Vec<Bytes>, Error> {
        let length = self.lengths().last().copied().unwrap_or(1);
        let whole = device.capacity.round_down(rule.page);
        let least = Bytes(MIN_WRITES * self.writes(length, whole, 0).mean_bytes().0);
        let target = |space: f64| Bytes((rule.free.0 as f64 / space) as u64).round_down(rule.page);
        let own = rule.free.0 as f64 / whole.0 as f64;
        if self.free_spaces.is_empty() {
            let steps = steps().filter(|step| *step >= 1.25 * own && *step <= MAX_FREE_SPACE);
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

    /// Plans the runs of the grid on a drive, numbered in the order of execution: by rising target
    /// spaces, each with all lengths.
    ///
    /// In falling order, data outside a smaller target space would share blocks with invalid pages.
    /// These pages would occupy a part of the free space. A page-mapped drive does not clean such
    /// blocks while other blocks hold less valid data.
    ///
    /// # Errors
    /// If the drive cannot have a requested amount of free space.
    pub fn plan(
        &self,
        rule: &GridRule,
        options: &Options,
        device: &DeviceInfo,
    ) -> Result<Vec<MicroBenchmark>, Error> {
        self.plan_up_to(u32::MAX, rule, options, device)
    }

    /// Plans the runs of the levels up to `most`. Level 0 holds the corners of the grid; each level
    /// together with the levels before it forms a complete grid.
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

    /// Plans the finest grid that fits into the budget of the options.
    ///
    /// # Errors
    /// If even the corners do not fit.
    pub fn fitting(
        &self,
        options: &Options,
        rule: &GridRule,
        device: &DeviceInfo,
        costs: &Costs,
    ) -> Result<BudgetedPlan, FittingError> {
        let counts = [self.lengths().len(), self.targets(rule, device)?.len()];
        let deepest = counts.into_iter().flat_map(levels).max().unwrap_or(0);
        let (mut all, mut least) = (None, Estimate::default());
        for most in (0..=deepest).rev() {
            let micro_benchmarks = self.plan_up_to(most, rule, options, device)?;
            let estimate = estimate(&micro_benchmarks, options, costs);
            let (runs, all) = (estimate.runs, *all.get_or_insert(estimate.runs));
            if fits(&estimate, &options.methodology) {
                let points = format!("only {runs} of the {all} points of the grid are measured");
                let left_out = if runs < all { vec![points] } else { vec![] };
                let options = options.clone();
                return Ok(BudgetedPlan { options, micro_benchmarks, estimate, left_out });
            }
            least = estimate;
        }
        Err(Unaffordable::least(&least, options.setup.target_size, "--grid-spaces").into())
    }
}

/// A grid that cannot be planned within a budget.
#[derive(Debug, thiserror::Error)]
pub enum FittingError {
    /// The options of the grid are wrong.
    #[error(transparent)]
    Grid(#[from] Error),
    /// The grid exceeds the budget.
    #[error(transparent)]
    Budget(#[from] Unaffordable),
}

/// Sorts the values and removes duplicates.
fn rising<T: PartialEq>(
    mut values: Vec<T>,
    order: impl FnMut(&T, &T) -> std::cmp::Ordering,
) -> Vec<T> {
    values.sort_by(order);
    values.dedup();
    values
}

/// Returns 0.001, 0.002, 0.005, 0.01 and so on.
fn steps() -> impl Iterator<Item = f64> {
    (-3..=2).flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(exponent)))
}

/// Returns the level of each of `count` values: 0 for the first and the last. Each halving of the
/// gaps adds a level.
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

/// Returns the capacity of the flash in a drive: as given, as the drive reports, or the likely size
/// for its capacity.
pub fn flash_inside<D: Device + ?Sized>(device: &D, given: Option<Bytes>) -> Bytes {
    let known = given.or(device.flash().map(|flash| flash.capacity));
    known.unwrap_or_else(|| usual_size(device.info().capacity))
}

/// Returns the likely capacity of the flash in a drive of `capacity`. It is the smallest of 2ⁿ and
/// 2ⁿ + 2ⁿ⁻¹ bytes that exceeds `capacity` by at least a twentieth. The paper has 64 GiB for 64 GB.
fn usual_size(capacity: Bytes) -> Bytes {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let least = (capacity.0 as f64 * (1.0 + MIN_SPARE)) as u64;
    let power = least.max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
    let three_quarters = power / 4 * 3;
    Bytes(if three_quarters >= least { three_quarters } else { power })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_halve_the_gaps_and_omit_no_value() {
        assert_eq!(levels(1), [0]);
        assert_eq!(levels(2), [0, 0]);
        assert_eq!(levels(5), [0, 2, 1, 2, 0]);
        assert_eq!(levels(9), [0, 3, 2, 3, 1, 3, 2, 3, 0]);
        assert!(levels(100).iter().all(|level| *level <= 7));
    }

    #[test]
    fn usual_sizes_match_drives_on_sale() {
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
