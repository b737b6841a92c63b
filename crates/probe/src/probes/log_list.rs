//! The probe for log segments. It writes rounds to many segments. The writes that wait for a merge
//! show how addresses are mapped, how many log segments there are, and which of them the drive
//! merges first.

mod no_list;
mod policies;

use fastrand::Rng;
use flashscope_block::Op;

use self::no_list::{takes_trims, without_list};
use self::policies::{Eviction, List, Touch, posterior};
use super::segment::with_flushes;
use crate::outcome::Outcome;
use crate::period::MIN_BLOCK;
use crate::{
    Cost, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, Scene, levels, median,
    standard_error,
};
use flashscope_document::probe::{Shape, Signal};

/// The length of writes in bytes if the page size is not known, as in Sun and Zhang. The pages of a
/// longer write might belong to different parts of the drive, each with its own list of log
/// segments.
const WRITE: u64 = 4 << 10;

/// The number of writes of this probe, without the writes that fill shared log segments.
const WRITES: u64 = 900;

/// The amount of writes, in segments, that replaces the contents of all shared log segments.
const TURNS: u64 = 16;

/// Minimum number of segments of the drive.
const MIN_WRITES: u64 = 16;

/// Minimum ratio of the cost of a write with a merge to the cost of a write without a merge. A
/// merge copies the pages of a block, which has at least 32 pages; fetching a part of the map costs
/// less.
const MIN_MERGE_RATIO: f64 = 4.0;

/// The inverse of the share of slow writes that hiccups may cause in rounds without merges.
const FEW_SLOW: usize = 20;

/// The probability that a drive that supports TRIM has no log segments, without further evidence.
const TRIMS_ALONE: f64 = 0.88;

/// Minimum log-likelihood ratio between a list of log segments and chance at which the list counts
/// as found.
const CLEARLY: f64 = 8.0;

pub(super) const PROBE: Probe = Probe {
    name: "log-list",
    summary: "writes rounds to m segments, to neighbouring segments and to their first pages, and \
                 observes which writes wait for a merge, and how long",
    source: "Sun and Zhang, section 4.3, Table 2; Lee et al., ACM TECS 6(3), 2007, for FAST",
    finds: &[
        Parameter::FtlClass,
        Parameter::LogList,
        Parameter::LogEviction,
        Parameter::MergeCost,
        Parameter::OpenPartitions,
    ],
    assumes: &[
        Parameter::PageSize,
        Parameter::Segment,
        Parameter::WriteBufferKind,
        Parameter::Parallelism,
        Parameter::Chunk,
    ],
    writes: true,
    cost,
    run,
};

fn write_size(knowledge: &Knowledge) -> u64 {
    knowledge.whole(Parameter::PageSize).unwrap_or(WRITE)
}

fn cost(scene: &Scene, knowledge: &Knowledge) -> Cost {
    let turned = knowledge.whole(Parameter::Segment).unwrap_or(0) * TURNS;
    let size = write_size(knowledge);
    scene.cost(0, WRITES + turned.min(scene.capacity.0 / 4) / size, size)
}

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    if lab.attempt > 0 && is_settled(knowledge) {
        return Ok(Outcome::default());
    }
    lab.ensure_filled()?;
    let enough = |segment: &u64| lab.capacity() / segment >= MIN_WRITES;
    let segment = knowledge.whole(Parameter::Segment).filter(enough);
    let unit = segment.unwrap_or(lab.capacity() / 64 / (128 << 10) * (128 << 10));
    let size = write_size(knowledge);
    if unit < 4 * size || lab.capacity() / unit < MIN_WRITES {
        let why = "the drive has too few segments to write to in turns";
        return Ok(PROBE.unknown(why).into());
    }
    let mut trial = Trial::new(lab, unit, size, step(knowledge, unit, size));
    trial.doubled_rounds()?;
    let guess = trial.likeliest().map_or(8, |list| list.len);
    let order = rounds(&mut trial.lab.rng, trial.places, guess);
    trial.touch("rounds in changing order", order)?;
    if let Some(List { eviction: Eviction::Random, len, .. }) = trial.likeliest() {
        // Random eviction needs more data to be distinguished from chance.
        let more = rounds(&mut trial.lab.rng, trial.places, len);
        trial.touch("more rounds in changing order", more)?;
    }
    // A write buffer that ignores flushes can look like a list, because it holds pages or blocks as
    // a list holds segments. If the flushes wait, they do empty the buffer. If the writes wait
    // instead and the drive supports TRIM, assume a buffer, because few drives with log segments
    // support TRIM.
    let buffered = !knowledge.lacks(Parameter::WriteBuffer);
    let is_list = match trial.likeliest() {
        None => false,
        Some(_) if buffered && !trial.waits_in_flushes() && takes_trims(&mut trial)? => false,
        Some(_) => !buffered || trial.is_of_segments()?,
    };
    let list = match trial.likeliest() {
        Some(list) if is_list => list,
        _ => return Ok(without_list(&mut trial, segment.is_some(), buffered)?.into()),
    };
    let shown = trial.partitions(list.len)?;
    Ok(with_list(&trial, &shown).into())
}

/// The number of writes in order within each segment of [`Trial::partitions`].
const TURNS_IN_ORDER: u64 = 6;

/// Returns the distance in bytes from a page of a segment to the next page on the same part of the
/// drive. If several parts take pages in turn, each part has its own list. Returns `None` if the
/// number of parts is not known.
///
/// If a part takes at least [`TURNS_IN_ORDER`] pages in order, the distance is a page. Otherwise, a
/// segment has a block on each part, and the distance in pages is the number of smallest blocks in
/// the segment. If that number is not a multiple of the pages that all observed units take in turn,
/// the distance is those pages. If the units are not known, the pages of a segment must be a power
/// of two.
fn step(knowledge: &Knowledge, unit: u64, size: u64) -> Option<u64> {
    let chunk = knowledge.whole(Parameter::Chunk).map_or(1, |bytes| (bytes / size).max(1));
    if chunk >= TURNS_IN_ORDER {
        return Some(size);
    }
    let pages = unit / size;
    let by_block = (pages / MIN_BLOCK as u64).max(1);
    let units = knowledge.whole(Parameter::Parallelism).map(|units| units.max(1) * chunk);
    match units {
        Some(period) if by_block.is_multiple_of(period) => Some(by_block * size),
        Some(period) => Some(period * size),
        None => pages.is_power_of_two().then_some(by_block * size),
    }
}

/// Returns true if another attempt would not make the findings more certain.
fn is_settled(knowledge: &Knowledge) -> bool {
    let class = knowledge.class(Parameter::FtlClass);
    let sure = |parameter: &Parameter| {
        knowledge.finding(*parameter).is_some_and(|finding| finding.probability > 0.9)
    };
    match class {
        // TRIM support would give the same answer again.
        Some("page-mapped") => {
            let found = knowledge.finding(Parameter::FtlClass);
            found.is_some_and(|finding| finding.probability > TRIMS_ALONE - 0.03)
        }
        Some("fast") => sure(&Parameter::FtlClass),
        // Repeated writes to one page would merge again, and show nothing new.
        Some("groups-of-blocks") if knowledge.whole(Parameter::LogList).is_none() => true,
        _ => {
            let eviction = Parameter::LogEviction;
            [Parameter::FtlClass, Parameter::LogList, Parameter::MergeCost].iter().all(sure)
                && (knowledge.whole(Parameter::LogList) == Some(1) || sure(&eviction))
        }
    }
}

fn unknown(parameters: &[Parameter], why: &str) -> Vec<Finding> {
    parameters.iter().map(|parameter| Finding::unknown(*parameter, why)).collect()
}

/// Returns the order in which to write to segments, for a list of about `len` log segments. First
/// come rounds over a few more than `len` distant segments, each round in another order and with
/// some segments twice in a row. Then come rounds over about `2 * len` adjacent segments.
fn rounds(rng: &mut Rng, places: u64, len: usize) -> Vec<u64> {
    let len = (len as u64).min(places / 4).max(1);
    let many = (len + len.div_ceil(2) + 1).min(places);
    let mut apart = spread_out(rng, places, many);
    let mut order = Vec::new();
    for _ in 0..6 {
        rng.shuffle(&mut apart);
        for segment in &apart {
            order.push(*segment);
            if rng.u32(..5) == 0 {
                order.push(*segment);
            }
        }
    }
    let many = (2 * len + 4).min(places / 2);
    let first = rng.u64(..=places - many);
    let mut beside: Vec<u64> = (first..first + many).collect();
    for _ in 0..2 {
        rng.shuffle(&mut beside);
        order.extend_from_slice(&beside);
    }
    order
}

/// Returns `many` segments, as far apart as possible.
fn spread_out(rng: &mut Rng, places: u64, many: u64) -> Vec<u64> {
    let step = (places / many).max(1);
    let first = rng.u64(..step);
    (0..many).map(|nth| first + nth * step).collect()
}

/// The writes of the experiment, and their costs.
struct Trial<'l, 'd> {
    lab: &'l mut Lab<'d>,
    unit: u64,
    size: u64,
    /// The distance to the next page on the same part of the drive, if it is known.
    step: Option<u64>,
    /// The number of segments in the drive.
    places: u64,
    segments: Vec<u64>,
    /// The cost of each write, including the flush after it.
    costs: Vec<f64>,
    /// The cost of the flush after each write of [`Trial::touch`].
    flushes: Vec<f64>,
    runs: Vec<u32>,
}

impl<'l, 'd> Trial<'l, 'd> {
    fn new(lab: &'l mut Lab<'d>, unit: u64, size: u64, step: Option<u64>) -> Self {
        let places = lab.capacity() / unit;
        let (segments, costs, flushes, runs) = Default::default();
        Trial { lab, unit, size, step, places, segments, costs, flushes, runs }
    }

    /// Returns an offset inside a segment, away from its first page: FAST takes a write to the
    /// first page for the beginning of a sequential write.
    fn inside(&self, segment: u64) -> u64 {
        segment * self.unit + self.unit / 2 / self.size * self.size
    }

    /// Writes to these addresses, one by one. A flush after each write exposes the cost that a
    /// buffer would hide.
    fn write(&mut self, purpose: &str, offsets: impl Iterator<Item = u64>) -> Result<Run, Halt> {
        let size = self.size;
        let writes = offsets.flat_map(|offset| [Request::write(offset, size), Request::flush()]);
        let run = self.lab.run(purpose, writes)?;
        self.runs.push(run.number);
        Ok(run)
    }

    /// Writes to the inside of these segments, one after the other.
    fn touch(&mut self, purpose: &str, segments: Vec<u64>) -> Result<(), Halt> {
        let offsets: Vec<u64> = segments.iter().map(|segment| self.inside(*segment)).collect();
        let run = self.write(purpose, offsets.into_iter())?;
        self.costs.extend(with_flushes(&run));
        self.flushes.extend(flushes(&run));
        self.segments.extend(segments);
        Ok(())
    }

    /// Returns true if the flush after a slow write takes longer than the write itself. A buffer
    /// then takes the writes, but the flushes show the cost of the flash.
    fn waits_in_flushes(&self) -> bool {
        let cut = self.cut();
        let slow = self.costs.iter().zip(&self.flushes).filter(|(cost, _)| **cost > cut);
        let (all, waited) =
            slow.fold((0.0, 0.0), |(all, waited), (cost, flush)| (all + cost, waited + flush));
        waited > 0.5 * all
    }

    /// Writes two rounds over 1, 2, 4 segments and so on (Sun and Zhang, section 4.3).
    fn doubled_rounds(&mut self) -> Result<(), Halt> {
        let mut many = 1;
        while many <= 32 && many <= self.places / 2 {
            let segments = spread_out(&mut self.lab.rng, self.places, many);
            self.touch(&format!("two rounds of {many} segments"), segments.repeat(2))?;
            many *= 2;
        }
        Ok(())
    }

    /// Returns true if the write of a second page of a segment is fast. The log segment that took
    /// the first page also takes the second page; in a buffer of pages, each page needs its own
    /// entry.
    fn is_of_segments(&mut self) -> Result<bool, Halt> {
        for step in self.steps() {
            if self.takes_second_pages(step)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns distances in bytes to another page of a segment. If the number of parts is not
    /// known, at least one distance should lead to the same part. A segment has the same number of
    /// pages on each part. If one of `SHARES` divides this number, that fraction of the segment
    /// leads to the same part.
    fn steps(&self) -> Vec<u64> {
        const SHARES: [u64; 4] = [4, 3, 5, 7];
        let pages = self.unit / self.size;
        let of_segment = SHARES.into_iter().filter(|share| pages.is_multiple_of(*share));
        match self.step {
            Some(step) => vec![step],
            None => [1]
                .into_iter()
                .chain(of_segment.map(|share| pages / share))
                .map(|n| n * self.size)
                .collect(),
        }
    }

    /// Returns true if the second of two writes to a segment is fast, if their pages are `step`
    /// bytes apart.
    fn takes_second_pages(&mut self, step: u64) -> Result<bool, Halt> {
        const PAIRS: usize = 12;
        let cut = self.cut();
        let segments: Vec<u64> = (0..PAIRS).map(|_| self.lab.rng.u64(..self.places)).collect();
        let firsts = segments.iter().map(|segment| self.inside(*segment));
        let offsets: Vec<u64> = firsts.flat_map(|at| [at, at + step]).collect();
        let run = self.write("two pages of a segment", offsets.into_iter())?;
        let costs = with_flushes(&run);
        let second = costs.iter().skip(1).step_by(2);
        Ok(second.filter(|cost| **cost > cut).count() <= PAIRS / 4)
    }

    /// Returns the cost that separates writes with a merge from writes without a merge.
    fn cut(&self) -> f64 {
        let mut sorted = self.costs.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let cheap = sorted.get(sorted.len() / 20).copied().unwrap_or(0.0);
        let apart = levels(&self.costs).filter(|l| l.high > MIN_MERGE_RATIO * l.low);
        apart.map_or(MIN_MERGE_RATIO * cheap, |l| l.threshold).max(1.5 * cheap)
    }

    fn touches(&self) -> Vec<Touch> {
        let cut = self.cut();
        let touches = self.segments.iter().zip(&self.costs);
        touches.map(|(segment, cost)| Touch { segment: *segment, slow: *cost > cut }).collect()
    }

    /// Returns true if writes to segments in rounds wait for merges.
    fn rounds_merge(&self) -> bool {
        let touches = self.touches();
        let slow = touches.iter().filter(|touch| touch.slow).count();
        slow > touches.len() / FEW_SLOW
    }

    /// Returns true if flushes right after writes take no longer than flushes without preceding
    /// writes. A buffer that ignores flushes then hides the cost of the flash.
    fn flushes_do_nothing(&mut self) -> Result<bool, Halt> {
        const ALONE: usize = 16;
        let run = self.lab.run("flushes without preceding writes", [Request::flush(); ALONE])?;
        self.runs.push(run.number);
        let alone: Vec<f64> = flushes(&run).collect();
        let more = median(&self.flushes) - median(&alone);
        let noise = standard_error(&self.flushes).hypot(standard_error(&alone));
        Ok(more < (5.0 * noise).max(0.1 * median(&alone)))
    }

    /// Returns the list that explains the costs best, if it explains them better than chance.
    fn likeliest(&self) -> Option<List> {
        let (lists, better) = posterior(&self.touches());
        let cut = self.cut();
        let (slow, cheap): (Vec<f64>, Vec<f64>) = self.costs.iter().partition(|cost| **cost > cut);
        let merges = median(&slow) > MIN_MERGE_RATIO * median(&cheap);
        (merges && better > CLEARLY).then_some(lists[0].0)
    }

    /// Writes in turns to as many segments as the list has log segments, in order within each
    /// segment. Then repeats this with one segment more. Returns the costs of the writes for each
    /// number of segments, or nothing if the next page on the same part of the drive is not known.
    fn partitions(&mut self, len: usize) -> Result<Vec<Rounds>, Halt> {
        let mut shown = Vec::new();
        let Some(step) = self.step else { return Ok(shown) };
        for many in [len as u64, len as u64 + 1] {
            let segments = spread_out(&mut self.lab.rng, self.places, many.min(self.places));
            let turns = TURNS_IN_ORDER.min(self.unit / 2 / step).max(1);
            let from = self.costs.len();
            let order: Vec<u64> = (0..turns).flat_map(|_| segments.iter().copied()).collect();
            let places = (0..turns).flat_map(|turn| segments.iter().map(move |s| (turn, *s)));
            let offsets: Vec<u64> =
                places.map(|(turn, segment)| self.inside(segment) + turn * step).collect();
            let purpose = format!("writes in order to {many} segments in turns");
            let run = self.write(&purpose, offsets.into_iter())?;
            self.costs.extend(with_flushes(&run));
            self.segments.extend(order);
            shown.push(Rounds { places: segments.len(), costs: self.costs[from..].to_vec() });
        }
        Ok(shown)
    }
}

/// Returns the cost of each flush.
fn flushes(run: &Run) -> impl Iterator<Item = f64> {
    run.records.iter().filter(|record| record.op == Op::Flush).map(Run::nanos)
}

/// The costs of writes to several segments in turns.
struct Rounds {
    places: usize,
    costs: Vec<f64>,
}

impl Rounds {
    /// Returns the number of slow writes in the last two rounds.
    fn slow(&self, cut: f64) -> usize {
        let last = self.costs.len().saturating_sub(2 * self.places);
        self.costs[last..].iter().filter(|cost| **cost > cut).count()
    }

    /// Returns the points of the first two rounds, in milliseconds.
    #[allow(clippy::cast_precision_loss, reason = "rounds are short")]
    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let shown = self.costs.iter().take(2 * self.places).enumerate();
        shown.map(|(nth, cost)| ((nth + 1) as f64, cost / 1e6))
    }
}

/// Returns the findings for a drive with a list of log segments, each of which serves one segment
/// or one group of segments.
fn with_list(trial: &Trial<'_, '_>, shown: &[Rounds]) -> Vec<Finding> {
    let (lists, _) = posterior(&trial.touches());
    let share = |is: &dyn Fn(&List) -> bool| {
        lists.iter().filter(|(list, _)| is(list)).map(|(_, p)| p).sum::<f64>().min(0.99)
    };
    let best = lists[0].0;
    let is_grouped = best.group > 1;
    let class = if is_grouped { "groups-of-blocks" } else { "bast" };
    let p_class = share(&|list| (list.group > 1) == is_grouped);
    let p_len = share(&|list| list.len == best.len);
    let p_eviction = share(&|list| list.eviction == best.eviction);
    let (len, cut) = (best.len, trial.cut());
    let table = table(shown);
    let together = if is_grouped {
        format!(
            "{} neighbouring segments share a log block, and writes in turns to up to {len} such groups do not merge",
            best.group
        )
    } else {
        format!("writes in turns to up to {len} segments do not merge, whatever their addresses")
    };
    let grows = shown.len() == 2 && shown[0].slow(cut) <= 1 && shown[1].slow(cut) >= 2;
    let len = f64::from(u32::try_from(len).unwrap_or(u32::MAX));
    let state = |finding: Finding, because: String| {
        finding.because(because).runs(trial.runs.iter().copied()).signal(table.clone())
    };
    let eviction = match best.len {
        1 => Finding::unknown(Parameter::LogEviction, "the list has only one log segment"),
        _ if p_eviction < 0.6 => {
            Finding::unknown(Parameter::LogEviction, "the order of merges fits several policies")
        }
        _ => state(
            Finding::class(Parameter::LogEviction, best.eviction.name(), p_eviction),
            format!("the merges of {} writes follow this order", trial.costs.len()),
        ),
    };
    let in_turns = if grows { p_len } else { p_len * 0.9 };
    let partitions = match shown {
        [few, more] => state(
            Finding::exact(Parameter::OpenPartitions, len, in_turns),
            format!(
                "in the last two rounds, {} writes merge with that many segments, and {} with one segment more",
                few.slow(cut),
                more.slow(cut),
            ),
        ),
        _ => Finding::unknown(
            Parameter::OpenPartitions,
            "the number of parts that take pages in turn is not known, and each part has its own list",
        ),
    };
    vec![
        state(Finding::class(Parameter::FtlClass, class, p_class), together.clone()),
        state(Finding::exact(Parameter::LogList, len, p_len), together),
        eviction,
        merge_cost(trial, cut, &table),
        partitions,
    ]
}

/// Returns the response times of the rounds, as in the paper's table.
fn table(shown: &[Rounds]) -> Signal {
    let table = Signal::new(
        "Two rounds of writes to m segments (Sun and Zhang, Table 2)",
        "write",
        "response time (ms)",
        Shape::Points,
    );
    shown.iter().fold(table, |table, rounds| {
        table.series(&format!("m = {}", rounds.places), rounds.points())
    })
}

/// Estimates the additional cost of slow writes.
fn merge_cost(trial: &Trial<'_, '_>, cut: f64, table: &Signal) -> Finding {
    let (slow, cheap): (Vec<f64>, Vec<f64>) = trial.costs.iter().partition(|cost| **cost > cut);
    // Leave out merges of several segments, which log segments of groups need, and hiccups, which
    // are shorter than merges.
    let mut sorted = slow.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(low) = sorted.get(sorted.len() / 4).copied() else {
        return Finding::unknown(Parameter::MergeCost, "no write waited for a merge");
    };
    let alike: Vec<f64> = slow.into_iter().filter(|c| (0.6 * low..1.5 * low).contains(c)).collect();
    stated_cost(&alike, median(&cheap)).runs(trial.runs.iter().copied()).signal(table.clone())
}

/// Returns the cost of merges, from the costs of writes with a merge and the median cost of writes
/// without a merge.
fn stated_cost(slow: &[f64], cheap: f64) -> Finding {
    let value = median(slow) - cheap;
    let error = standard_error(slow);
    // The probability that the median is within the tolerance, from the tails of a normal
    // distribution.
    let reach = Parameter::MergeCost.spec().tolerance * value / error.max(1e-3 * value);
    let few = if slow.len() < 4 { 0.8 } else { 0.97 };
    let probability = few * (1.0 - (-0.5 * reach * reach).exp());
    let finding = Finding::value(
        Parameter::MergeCost,
        value,
        value - 2.0 * error,
        value + 2.0 * error,
        probability,
    );
    finding.because(format!(
        "the median of {} writes with a merge, minus the median of the others",
        slow.len()
    ))
}
