//! Runs long enough that their own error is negligible. They use neither the plan nor the analysis
//! of the benchmark.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos, Op};
use flashscope_measure::execute;
use flashscope_sim::{Profile, ProfileError, SimDevice};
use flashscope_stats::{Estimate, knee};
use flashscope_workload::Stream;
use flashscope_workload::pattern::{Address, Pattern, Timing};
use flashscope_workload::state::RandomFill;

use crate::IO;
use crate::quantity::Quantity;

/// The number of reads in a run.
const READS: u64 = 100_000;

/// The number of states from which sequential writes begin.
const STATES: u64 = 3;

/// The idle pause after the state, in which the drive finishes its deferred work.
const REST: Nanos = Nanos::secs(600);

/// The number of times that random writes write the capacity of the drive. Only the second half
/// counts.
const TURNS: u64 = 4;

/// The results of long runs, by quantity.
pub struct LongRun {
    sequential_read: f64,
    random_read: f64,
    sequential_write: f64,
    random_write: f64,
    locality: f64,
    partitions: f64,
}

impl LongRun {
    /// Measures all quantities. Reads, random writes and writes to areas share a drive, in this
    /// order, because reads and random writes keep the state random. Each run of sequential or
    /// partitioned writes has a new drive.
    ///
    /// # Errors
    /// Returns an error if the profile is invalid.
    pub fn of(profile: &Profile, seed: u64) -> Result<LongRun, ProfileError> {
        let mut runs = Runs { profile, seed };
        let sequential_write = runs.sequential_writes()?;
        let mut drive = runs.drive()?;
        Ok(LongRun {
            sequential_read: runs.reads(&mut drive, Address::Sequential),
            random_read: runs.reads(&mut drive, Address::Random),
            sequential_write,
            random_write: runs.random_writes(&mut drive),
            locality: runs.locality(&mut drive, sequential_write),
            partitions: runs.partitions(sequential_write)?,
        })
    }

    /// Returns a quantity; `None` if no long run shows it.
    pub fn get(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::SequentialRead => Some(self.sequential_read),
            Quantity::RandomRead => Some(self.random_read),
            Quantity::SequentialWrite => Some(self.sequential_write),
            Quantity::RandomWrite => Some(self.random_write),
            Quantity::Locality => Some(self.locality),
            Quantity::Partitions => Some(self.partitions),
            Quantity::ReadSize | Quantity::ReadShift | Quantity::ConcurrentReads => None,
        }
    }
}

/// Long runs of a drive, each with another seed.
struct Runs<'a> {
    profile: &'a Profile,
    seed: u64,
}

#[allow(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
impl Runs<'_> {
    /// Returns a drive in the random state. The state is enforced twice, because a drive that was
    /// written once still has all of its spare blocks.
    fn drive(&mut self) -> Result<SimDevice, ProfileError> {
        let mut device = SimDevice::new("sim:long", self.profile)?;
        let (size, block) = (usable(&device), device.info().logical_block);
        for _ in 0..2 {
            self.seed += 1;
            run(&mut device, RandomFill::new(Bytes(0), size, block, self.seed), 0);
            rest(&mut device);
        }
        Ok(device)
    }

    /// Returns the mean response time of a pattern from the start of the drive, without the first
    /// `ignored` IOs.
    fn mean(
        &mut self,
        device: &mut SimDevice,
        (op, address, target_size): (Op, Address, Bytes),
        (io_count, ignored): (u64, u64),
    ) -> f64 {
        self.seed += 1;
        let pattern = Pattern {
            op,
            address,
            timing: Timing::Consecutive,
            io_size: Bytes(IO),
            io_shift: Bytes(0),
            target_offset: Bytes(0),
            target_size,
            io_count,
            io_ignore: 0,
            seed: self.seed,
        };
        run(device, pattern.stream(0), ignored)
    }

    fn reads(&mut self, device: &mut SimDevice, address: Address) -> f64 {
        let size = usable(device);
        self.mean(device, (Op::Read, address, size), (READS, READS / 10))
    }

    /// Returns the mean response time of sequential writes over several states. Each run writes
    /// half of the space. The first half of its writes does
    /// not count: it is the start-up phase, in which the drive uses up its spare
    /// blocks.
    fn sequential_writes(&mut self) -> Result<f64, ProfileError> {
        let mut sum = 0.0;
        for _ in 0..STATES {
            sum += self.half_of_the_space(Address::Sequential)?;
        }
        Ok(sum / STATES as f64)
    }

    fn half_of_the_space(&mut self, address: Address) -> Result<f64, ProfileError> {
        let mut device = self.drive()?;
        let size = usable(&device);
        let count = size.0 / IO / 2;
        Ok(self.mean(&mut device, (Op::Write, address, size), (count, count / 2)))
    }

    fn random_writes(&mut self, device: &mut SimDevice) -> f64 {
        let size = usable(device);
        let count = TURNS * size.0 / IO;
        self.mean(device, (Op::Write, Address::Random, size), (count, count / 2))
    }

    /// Returns the largest cheap area. Areas below 1 MiB do not count: some drives write them in
    /// place. The writes to each area equal the capacity of the drive, so that garbage collection
    /// has adapted; the second half counts.
    fn locality(&mut self, device: &mut SimDevice, sequential: f64) -> f64 {
        let capacity = usable(device).0;
        let count = capacity / IO;
        let areas = (20..=31).map(|n| 1_u64 << n).take_while(|area| *area <= capacity);
        let costs = areas.map(|area| {
            let pattern = (Op::Write, Address::Random, Bytes(area));
            (area, self.mean(device, pattern, (count, count / 2)))
        });
        limit(&costs.collect::<Vec<_>>(), sequential)
    }

    /// Returns the largest cheap number of partitions of the whole space.
    fn partitions(&mut self, sequential: f64) -> Result<f64, ProfileError> {
        let cost = |partitions| {
            Ok((partitions, self.half_of_the_space(Address::Partitioned { partitions })?))
        };
        let costs: Result<Vec<_>, _> = (0..=8).map(|n| 1_u64 << n).map(cost).collect();
        Ok(limit(&costs?, sequential))
    }
}

/// Returns the capacity, rounded down to complete IOs.
fn usable(device: &SimDevice) -> Bytes {
    device.info().capacity.round_down(Bytes(IO))
}

/// Returns the largest cheap value: the knee of the costs, by the rule of the benchmark, or
/// infinity
/// if there is no knee. Costs that differ by a factor of at most 1.5 have none: the value is then
/// infinite if all are at most 1.5 times the cost of sequential writes, and 0 otherwise.
#[allow(clippy::cast_precision_loss, reason = "sizes and counts are far below 2^53")]
fn limit(costs: &[(u64, f64)], sequential: f64) -> f64 {
    let highest = costs.iter().map(|(_, cost)| *cost).fold(0.0, f64::max);
    let lowest = costs.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
    if highest <= ALIKE * lowest {
        return if highest <= ALIKE * sequential { f64::INFINITY } else { 0.0 };
    }
    let certain = |(_, cost): &(u64, f64)| Estimate::symmetric(*cost, Some(0.0));
    let estimates: Vec<_> = costs.iter().map(certain).collect();
    let knee = knee(&estimates, 2.0 * sequential);
    knee.map_or(f64::INFINITY, |knee| costs[knee.at].0 as f64)
}

/// The ratio up to which costs count as equal.
const ALIKE: f64 = 1.5;

/// Runs a stream, and returns the mean response time in ns without the first `ignored` IOs.
#[allow(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
fn run(device: &mut SimDevice, stream: impl Stream, ignored: u64) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u64);
    let stop = AtomicBool::new(false);
    let ended = execute::<_, _, Infallible>(device, &mut [stream], 1, &stop, |_, completion| {
        count += 1;
        if count > ignored {
            sum += (completion.completed - completion.submitted).0 as f64;
        }
        Ok(())
    });
    match ended {
        Ok(_) => sum / count.saturating_sub(ignored) as f64,
        Err(never) => match never {},
    }
}

fn rest(device: &mut SimDevice) {
    let until = device.now() + REST;
    while device.complete(until).is_some() {}
}
