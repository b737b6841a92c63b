//! The probe for cleaning (garbage collection): over-provisioning, onset, choice of blocks,
//! separation of moved data from host writes, and use of idle time.

mod choose;
mod estimate;
mod fit;
mod model;
mod plan;

use flashscope_block::{Bytes, Nanos, Op};

use self::plan::Regions;
use crate::outcome::Outcome;
use crate::{Cost, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, Scene, median};

/// The unit of writes in bytes, if the page size is not known: a multiple of all usual page sizes.
const USUAL_UNIT: u64 = 16 << 10;

/// Maximum number of units of a drive.
const MAX_UNITS: u64 = 1 << 18;

/// The length of the writes that fill the drive, in bytes.
const FILL_SIZE: u64 = 128 << 10;

/// The minimum and the maximum physical space to look for, in percent of the space that the host
/// can address.
const MIN_SPACE: usize = 115;
const MAX_SPACE: usize = 150;

/// The number of writes between flushes, which empty a write buffer.
const FLUSH_EVERY: usize = 16;

/// The length of an idle pause.
const REST: Nanos = Nanos::secs(2);

/// The minimum and the maximum number of idle pauses.
const RESTS: [f64; 2] = [40.0, 120.0];

/// Minimum number of idle pauses if a write buffer must be filled again after each pause. All
/// refills together write no more than the capacity of the drive.
const MIN_RESTS: usize = 12;

/// The number of writes after which to check whether a buffer is full.
const REFILL: usize = 64;

/// A buffer took a write if the write takes less than this share of the time of a write to flash.
const IN_MEMORY: f64 = 0.5;

/// The limit of the number of writes before each idle pause, and the number of writes after it.
const AROUND_REST: [usize; 2] = [24, 8];

/// The number of waits for cleaning that the writes after all idle pauses should contain, if pauses
/// have no effect.
const WAITS: f64 = 12.0;

const FINDS: &[Parameter] = &[
    Parameter::OverProvisioning,
    Parameter::CleaningPolicy,
    Parameter::CleaningSeparation,
    Parameter::CleaningOnset,
    Parameter::CleaningPeriod,
    Parameter::IdleCleaning,
];

/// The probe for cleaning; its summary describes the experiment.
pub(super) const PROBE: Probe = Probe {
    name: "cleaning",
    summary: "fills a trimmed drive and overwrites it, densely in one region and thinly in the \
                 others, until it has to clean and beyond; compares the cost of the writes with the cost \
                 under each policy",
    source: "Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013; uFLIP, section 4.2",
    finds: FINDS,
    assumes: &[
        Parameter::PageSize,
        Parameter::FtlClass,
        Parameter::WriteBuffer,
        Parameter::WriteBufferKind,
        Parameter::SlcCache,
        Parameter::MapCache,
    ],
    writes: true,
    cost,
    run,
};

fn cost(scene: &Scene, _: &Knowledge) -> Cost {
    let writes = scene.capacity.0 * 4;
    Cost { written: Bytes(writes), time: Nanos(writes / USUAL_UNIT * scene.write.0) }
}

/// The reason why the experiment gave no findings.
enum StopReason {
    Halt(Halt),
    Because(&'static str),
}

impl From<Halt> for StopReason {
    fn from(halt: Halt) -> StopReason {
        StopReason::Halt(halt)
    }
}

/// The writes of the experiment: the units in the order of writing, and the cost of each.
#[derive(Debug, Clone, Default)]
struct Story {
    /// The bytes of a unit.
    unit: u64,
    /// True if a unit is a flash page.
    by_pages: bool,
    /// The units in the SLC cache; 0 for a drive without one.
    cache: usize,
    /// The amount written to the drive before it was trimmed, in units, as far as known.
    before: usize,
    writes: Vec<u32>,
    /// The cost of each write, in nanoseconds.
    costs: Vec<f64>,
    runs: Vec<u32>,
    /// The index at which overwriting began; all earlier writes went to empty blocks.
    filled: usize,
    /// The index at which the thin overwriting ended and the repeated writing of a small region
    /// began.
    thinned: usize,
    /// The index at which the repeated writing ended.
    looped: usize,
    /// The range of the steady random writes over the whole drive.
    steady: (usize, usize),
}

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    let unknown = |why: &str| {
        Outcome::from(FINDS.iter().map(|at| Finding::unknown(*at, why)).collect::<Vec<_>>())
    };
    if knowledge.class(Parameter::FtlClass).is_some_and(|class| class != "page-mapped") {
        return Ok(unknown(
            "the drive merges log blocks: it does not clean as page-mapped drives do",
        ));
    }
    if knowledge.class(Parameter::WriteBufferKind) == Some("blocks") {
        return Ok(unknown(
            "the write buffer writes whole blocks, which leaves cleaning nothing to move",
        ));
    }
    if lab.attempt > 0 {
        // The experiment writes too much to be repeated.
        return Ok(Outcome::default());
    }
    lab.ensure_filled()?;
    match experiment(lab, knowledge) {
        Ok(findings) => Ok(findings.into()),
        Err(StopReason::Because(why)) => Ok(unknown(why)),
        Err(StopReason::Halt(halt)) => Err(halt),
    }
}

fn experiment(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Vec<Finding>, StopReason> {
    let unit = unit(lab.capacity(), knowledge);
    let regions = Regions::new(u32::try_from(lab.capacity() / unit).unwrap_or(u32::MAX));
    if regions.units < 256 {
        return Err(StopReason::Because("the drive is too small to be divided into regions"));
    }
    let buffered = !knowledge.lacks(Parameter::WriteBuffer);
    let by_pages = knowledge.whole(Parameter::PageSize) == Some(unit);
    let before = usize::try_from(lab.used().bytes.0 / unit).unwrap_or(usize::MAX);
    let cache = knowledge.whole(Parameter::SlcCache).unwrap_or(0) / unit;
    let cache = usize::try_from(cache).unwrap_or(usize::MAX);
    let story = Story { unit, by_pages, cache, before, ..Story::default() };
    let mut bench = Bench { lab, buffered, story };
    bench.trim()?;
    bench.fill(0..regions.filled)?;
    bench.overwrite(&regions)?;
    let onset = bench.thin(&regions)?;
    bench.circle(&regions, onset)?;
    bench.settle(&regions)?;
    let rests = bench.idle(&regions)?;
    let capacity = bench.lab.capacity();
    let fetches_map = !knowledge.lacks(Parameter::MapCache)
        && knowledge.whole(Parameter::MapCache).is_none_or(|reach| reach < capacity);
    Ok(estimate::findings(&bench.story, &regions, onset, &rests, fetches_map))
}

fn unit(capacity: u64, knowledge: &Knowledge) -> u64 {
    let page = knowledge.whole(Parameter::PageSize).unwrap_or(USUAL_UNIT).max(512);
    page.max((capacity / MAX_UNITS).next_power_of_two())
}

/// A drive under the experiment.
struct Bench<'l, 'd> {
    lab: &'l mut Lab<'d>,
    /// True if there may be a write buffer, which would hide the writes to the flash.
    buffered: bool,
    story: Story,
}

impl Bench<'_, '_> {
    fn trim(&mut self) -> Result<(), StopReason> {
        let capacity = self.lab.capacity();
        let pieces = (0..capacity).step_by(1 << 20);
        let trims = pieces.map(|at| Request::trim(at, (capacity - at).min(1 << 20)));
        let trimmed = self.lab.run("trim the drive", trims.chain([Request::flush()]));
        match trimmed {
            Ok(run) => self.story.runs.push(run.number),
            Err(Halt::Failed { .. }) => {
                return Err(StopReason::Because(
                    "the drive cannot be trimmed, and would begin full",
                ));
            }
            Err(halt) => return Err(halt.into()),
        }
        self.lab.idle(Nanos::secs(1));
        Ok(())
    }

    /// Fills a region in order, with long writes.
    fn fill(&mut self, units: std::ops::Range<u32>) -> Result<(), StopReason> {
        let unit = self.story.unit;
        let (from, to) = (u64::from(units.start) * unit, u64::from(units.end) * unit);
        let len = FILL_SIZE.max(unit);
        let writes = (from..to).step_by(usize::try_from(len).unwrap_or(usize::MAX));
        let writes = writes.map(|at| Request::write(at, len.min(to - at)));
        let run = self.lab.run("fill a trimmed drive in order", writes)?;
        #[allow(clippy::cast_precision_loss)]
        let costs = run.records.iter().flat_map(|record| {
            let count = record.len.0.div_ceil(unit);
            (0..count).map(move |_| Run::nanos(record) / count as f64)
        });
        self.story.costs.extend(costs);
        self.story.writes.extend(units);
        self.story.runs.push(run.number);
        self.story.filled = self.story.writes.len();
        Ok(())
    }

    /// Writes units one by one, with the usual flushes.
    fn write(&mut self, purpose: &str, units: &[u32]) -> Result<(), StopReason> {
        self.write_through(purpose, units, FLUSH_EVERY)
    }

    /// Writes units one by one. If there may be a write buffer, flushes after every `every` units.
    fn write_through(
        &mut self,
        purpose: &str,
        units: &[u32],
        every: usize,
    ) -> Result<(), StopReason> {
        let unit = self.story.unit;
        let buffered = self.buffered;
        let requests = units.iter().enumerate().flat_map(|(nth, at)| {
            let write = Request::write(u64::from(*at) * unit, unit);
            let flush = (buffered && nth % every == every - 1).then(Request::flush);
            std::iter::once(write).chain(flush)
        });
        let run = self.lab.run(purpose, requests)?;
        for record in &run.records {
            match record.op {
                Op::Write => self.story.costs.push(Run::nanos(record)),
                _ => {
                    *self.story.costs.last_mut().expect("a flush follows writes") +=
                        Run::nanos(record)
                }
            }
        }
        self.story.writes.extend(units);
        self.story.runs.push(run.number);
        Ok(())
    }

    fn overwrite(&mut self, regions: &Regions) -> Result<(), StopReason> {
        let writes = regions.stale_writes(&mut self.lab.rng);
        self.write("overwrite most of one region", &writes)
    }

    /// Overwrites the other regions thinly until cleaning has to move data, and beyond. Returns the
    /// number of units written before cleaning began to move data, if the onset can be detected.
    fn thin(&mut self, regions: &Regions) -> Result<Option<usize>, StopReason> {
        let mut thin = regions.thin_writes(&mut self.lab.rng);
        let units = regions.units as usize;
        let mut onset = None;
        let (begun, chunk) = (self.story.writes.len(), (units / 64).max(4 * FLUSH_EVERY));
        while self.story.writes.len() < units * MAX_SPACE / 100 {
            let next: Vec<u32> = thin.by_ref().take(chunk).collect();
            self.write("overwrite the other regions thinly", &next)?;
            if self.story.writes.len() < begun + chunk * 3
                && estimate::amplifies(&self.story, begun)
            {
                return Err(StopReason::Because(
                    "scattered overwriting costs far more than overwriting in order before anything has to \
                                        be cleaned: the drive writes whole blocks for it",
                ));
            }
            onset = estimate::onset(&self.story, regions);
            let enough = |onset| units * MIN_SPACE / 100 + units / 5 * usize::from(onset > units);
            if onset
                .is_some_and(|onset| self.story.writes.len() > enough(onset).max(onset + units / 5))
            {
                break;
            }
        }
        self.story.thinned = self.story.writes.len();
        Ok(onset)
    }

    /// Writes a small empty region again and again. Blocks with only its data become invalid as a
    /// whole; blocks shared with older data never do. The region is larger than an SLC cache if the
    /// space allows, because the cache would absorb the overwriting of a smaller region.
    fn circle(&mut self, regions: &Regions, onset: Option<usize>) -> Result<(), StopReason> {
        let units = regions.units as usize;
        let spare = onset.unwrap_or(units + units / 5) - regions.filled as usize;
        let empty = (regions.units - regions.filled) as usize * 9 / 10;
        let size = (spare * 3 / 10).max(2 * self.story.cache).min(empty);
        let count = size + (spare - size) * 9 / 5;
        let count = count.min(units * 7 / 10);
        let last = regions.filled + u32::try_from(size).unwrap_or(0);
        let units: Vec<u32> = (regions.filled..last).cycle().take(count).collect();
        self.write("overwrite a small region repeatedly", &units)?;
        self.story.looped = self.story.writes.len();
        Ok(())
    }

    /// Writes at random over the whole drive: first 70 % of the units, until the cost should be
    /// constant, and then 30 % as the steady writes.
    fn settle(&mut self, regions: &Regions) -> Result<(), StopReason> {
        let untouched: Vec<u32> = (regions.filled..regions.units).collect();
        self.write("fill the empty space", &untouched)?;
        let random = |lab: &mut Lab<'_>, percent: usize| -> Vec<u32> {
            let count = regions.units as usize * percent / 100;
            (0..count).map(|_| lab.rng.u32(0..regions.units)).collect()
        };
        let units = random(self.lab, 70);
        self.write("random writes until they are steady", &units)?;
        let from = self.story.writes.len();
        let units = random(self.lab, 30);
        // No flushes are needed: a full buffer writes to the flash as much as it takes from the
        // host.
        self.write_through("steady random writes", &units, usize::MAX)?;
        self.story.steady = (from, self.story.writes.len());
        Ok(())
    }

    /// Returns the costs of random writes after idle pauses, and without pauses.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn idle(&mut self, regions: &Regions) -> Result<Rests, StopReason> {
        let each = estimate::waiting(&self.story).max(1e-4);
        let mut count = (WAITS / each / AROUND_REST[1] as f64).clamp(RESTS[0], RESTS[1]) as usize;
        let usual = count * AROUND_REST[1] * 2;
        let usual = self.random("random writes without idle pauses", regions, usual)?;
        let mut rests = Rests { usual, after: Vec::new() };
        // A buffer that ignores flushes empties during a pause, and then takes the following
        // writes.
        let most = regions.units as usize / MIN_RESTS;
        let (_, refilled) = self.after_rest(regions, most)?;
        if refilled >= most {
            return Ok(rests);
        }
        if refilled > REFILL {
            count = count.min(MIN_RESTS * most / refilled).max(MIN_RESTS);
        }
        for _ in 0..count {
            rests.after.extend(self.after_rest(regions, most)?.0);
        }
        Ok(rests)
    }

    /// Returns the costs of random writes after an idle pause, once the buffer is full again. Also
    /// returns the number of writes that filled the buffer, and stops once it reaches `most`.
    fn after_rest(
        &mut self,
        regions: &Regions,
        most: usize,
    ) -> Result<(Vec<f64>, usize), StopReason> {
        // The number varies, to prevent waits from synchronizing with pauses.
        let before = self.lab.rng.usize(AROUND_REST[0] / 2..AROUND_REST[0]);
        self.random("random writes before an idle pause", regions, before)?;
        self.lab.idle(REST);
        // The read absorbs the delay of waking the drive or the host, which is not a wait for
        // cleaning.
        self.lab.run("a read that ends an idle pause", [Request::read(0, self.story.unit)])?;
        let (on_flash, mut refilled) = (estimate::base(&self.story, regions), 0);
        let purpose = "random writes after an idle pause";
        let mut costs = self.random(purpose, regions, AROUND_REST[1])?;
        while self.buffered && median(&costs) < IN_MEMORY * on_flash && refilled < most {
            self.random("random writes that fill the buffer again", regions, REFILL)?;
            refilled += REFILL + costs.len();
            costs = self.random(purpose, regions, AROUND_REST[1])?;
        }
        Ok((costs, refilled))
    }

    /// Returns the costs of random writes, each flushed to the flash.
    fn random(
        &mut self,
        purpose: &str,
        regions: &Regions,
        count: usize,
    ) -> Result<Vec<f64>, StopReason> {
        let units: Vec<u32> = (0..count).map(|_| self.lab.rng.u32(0..regions.units)).collect();
        let from = self.story.costs.len();
        self.write_through(purpose, &units, 1)?;
        Ok(self.story.costs[from..].to_vec())
    }
}

/// The costs of random writes, in nanoseconds.
#[derive(Debug, Clone, Default)]
struct Rests {
    /// Costs without idle pauses.
    usual: Vec<f64>,
    /// Costs after idle pauses; empty if a buffer takes all writes.
    after: Vec<f64>,
}
