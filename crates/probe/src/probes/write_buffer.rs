//! The size of the write buffer: the number of fast writes in a burst after an idle pause.
//!
//! A drive with a buffer answers a write once the buffer holds it, until the buffer is full; then
//! each write waits until another write has reached the flash. Data that drains during the burst
//! makes the buffer look larger. The probe therefore repeats bursts at a slower pace. A buffer that
//! drains meanwhile then takes more, and the difference gives its size without draining.
//!
//! Other caches also make the beginning of a burst fast: flash used as SLC, or blocks freed by
//! cleaning during the pause. Two properties identify memory: its contents are read fast, and a
//! flush waits for it.

use flashscope_block::{Nanos, Op};

use crate::outcome::Outcome;
use crate::steps::{Step, medians, step};
use crate::{Cost, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, median, spread};
use flashscope_document::probe::{Shape, Signal};

/// The length of writes in bytes if the page is not known: a multiple of most pages.
const LARGEST_PAGE: u64 = 16 << 10;

/// The number of writes in the shortest burst.
const MIN_BURST: usize = 32;

/// The shortest idle pause before a burst.
const REST: Nanos = Nanos::millis(200);

/// The first idle pause, after the fill, when the amount of pending data is unknown.
const FIRST_REST: Nanos = Nanos::secs(10);

/// Minimum significance of a step, as an approximate t-statistic.
const CLEAR: f64 = 4.0;

/// Minimum share of a burst that is in the buffer when the buffer becomes full.
const MIN_BUFFERED_SHARE: f64 = 0.7;

/// Minimum probability of a finding.
const MIN_PROBABILITY: f64 = 0.72;

/// Minimum ratio of the time of a write to a full buffer to the time of the earlier writes.
const CLIFF: f64 = 1.25;

pub(super) const PROBE: Probe = Probe {
    name: "write-buffer",
    summary: "bursts of writes after a flush and an idle pause: the number of fast writes before writes wait for \
                 the flash, and whether reads of new data come from memory",
    source: "Kim et al., SSDcheck, MICRO 2018; uFLIP, section 5.2",
    finds: &[Parameter::WriteBuffer],
    assumes: &[Parameter::PageSize],
    writes: true,
    cost: |scene, knowledge| {
        let unit = unit(knowledge);
        let Cost { written, time } = scene.cost(500, scene.capacity.0 / 4 / unit, unit);
        Cost { written, time: Nanos(2 * time.0) }
    },
    run,
};

/// Returns the length of writes in bytes: a flash page, because a buffer has an entry per page, or
/// 4 KiB if pages are shorter.
pub(super) fn unit(knowledge: &Knowledge) -> u64 {
    knowledge.whole(Parameter::PageSize).map_or(LARGEST_PAGE, |page| page.max(4096))
}

fn run(lab: &mut Lab<'_>, knowledge: &Knowledge) -> Result<Outcome, Halt> {
    let finding = knowledge.finding(Parameter::WriteBuffer);
    if lab.attempt > 0 && finding.is_none_or(|finding| !finding.is_known()) {
        // Another attempt would repeat the same bursts, with their many writes, and show nothing
        // new.
        return Ok(Outcome::default());
    }
    lab.ensure_filled()?;
    let mut bursts = Bursts::new(lab, unit(knowledge))?;
    let mut cliff = search(lab, &mut bursts)?;
    let count = cliff.as_ref().map_or(MIN_BURST, |cliff| cliff.at);
    let memory = memory(lab, &mut bursts, count)?;
    if cliff.is_none() && memory.is_there() {
        cliff = waits(lab, &mut bursts)?;
    }
    let finding = match cliff {
        Some(cliff) if memory.is_there() => {
            let pace = pace(lab, &mut bursts, &cliff)?;
            size(&bursts, &cliff, &pace, &memory)
        }
        Some(cliff) if cliff.low < memory.flash_read() => Finding::unknown(
            Parameter::WriteBuffer,
            "writes at the beginning of a burst take less time than reading the flash, as in a buffer, but new \
                        data is read as slowly as data on the flash, and a flush takes no time",
        ),
        Some(_) => Finding::absent(Parameter::WriteBuffer, memory.lacks_it()).because(
            "writes are faster at the beginning of a burst, but new data is read as slowly as data on the \
                        flash, and a flush takes no time: no memory holds the data",
        ),
        None if memory.is_there() => Finding::unknown(
            Parameter::WriteBuffer,
            "memory holds new data, but no burst was long enough to fill it",
        ),
        None => Finding::absent(Parameter::WriteBuffer, memory.lacks_it()).because(
            "the first writes of a burst cost as much as the others, new data is read as slowly as data on \
                        the flash, and a flush takes no time",
        ),
    };
    let finding = finding.signal(bursts.picture()).signal(memory.picture());
    Ok(vec![finding.runs(bursts.runs)].into())
}

/// Writes bursts, one after the other.
pub(super) struct Bursts {
    /// The length of a write, in bytes.
    pub unit: u64,
    /// True if the drive supports flushes.
    flushes: bool,
    cursor: u64,
    rest: Nanos,
    /// The response times of the combined bursts.
    shown: Vec<f64>,
    /// The time of a flush after each burst, and of a second flush.
    flushed: Vec<(f64, f64)>,
    pub runs: Vec<u32>,
}

impl Bursts {
    pub(super) fn new(lab: &mut Lab<'_>, unit: u64) -> Result<Bursts, Halt> {
        let flushes = match lab.run("a flush, which the drive may not support", [Request::flush()])
        {
            Ok(_) => true,
            Err(Halt::Failed { .. }) => false,
            Err(halt) => return Err(halt),
        };
        let cursor = lab.random_offset(&(0..lab.capacity()), unit, unit);
        let (shown, flushed, runs) = Default::default();
        Ok(Bursts { unit, flushes, cursor, rest: FIRST_REST, shown, flushed, runs })
    }

    /// Appends requests that begin with an empty buffer: after a flush and an idle pause. If
    /// possible, the first request after the pause is another flush, without work, because drives
    /// and hosts need time to wake up.
    pub(super) fn begin(&self, all: &mut Vec<Request>, then: impl Iterator<Item = Request>) {
        if self.flushes {
            all.extend([Request::flush(), Request::flush().after(self.rest)]);
        }
        let first = all.len();
        all.extend(then);
        if !self.flushes {
            all[first] = all[first].after(self.rest);
        }
    }

    /// Returns `count` writes from the cursor on, each `pace` after the answer to the previous
    /// write. The first write follows an idle pause that empties any buffer.
    fn writes(&mut self, lab: &Lab<'_>, count: usize, pace: Nanos) -> Vec<Request> {
        let mut writes = Vec::with_capacity(count);
        for _ in 0..count {
            if self.cursor + self.unit > lab.capacity() {
                self.cursor = 0;
            }
            writes.push(Request::write(self.cursor, self.unit).after(pace));
            self.cursor += self.unit;
        }
        let mut requests = Vec::new();
        self.begin(&mut requests, writes.into_iter());
        requests
    }

    /// Records a run. The next idle pause is long enough for the drive to write its data out.
    pub(super) fn note(&mut self, run: &Run) {
        let busy: u64 = run.records.iter().map(|record| record.latency.0).sum();
        self.rest = REST.max(Nanos(4 * busy));
        self.runs.push(run.number);
    }

    /// Writes a burst, and returns the times of its writes.
    fn burst(&mut self, lab: &mut Lab<'_>, count: usize, pace: Nanos) -> Result<Vec<f64>, Halt> {
        let mut requests = self.writes(lab, count, pace);
        let at = requests.len();
        if self.flushes {
            requests.extend([Request::flush(), Request::flush()]);
        }
        let run = lab.run("a burst of writes after an idle pause", requests)?;
        if let [first, second] = run.records[at..] {
            self.flushed.push((Run::nanos(&first), Run::nanos(&second)));
        }
        self.note(&run);
        Ok(response_times(&run, Op::Write))
    }

    fn picture(&self) -> Signal {
        let points = self.shown.iter().zip(1u32..).map(|(cost, nth)| (f64::from(nth), cost / 1e6));
        let title = "Cost of writes in a burst after an idle pause (like Sun and Zhang, Figure 5)";
        Signal::new(title, "write", "response time (ms)", Shape::Points)
            .series("median of bursts", points)
    }
}

pub(super) fn response_times(run: &Run, op: Op) -> Vec<f64> {
    run.records.iter().filter(|record| record.op == op).map(Run::nanos).collect()
}

/// The position at which a buffer becomes full.
struct Cliff {
    /// The number of writes before the cliff.
    at: usize,
    /// The median time of a write before the cliff, in nanoseconds.
    low: f64,
    /// The mean time of a write after the cliff, in nanoseconds.
    high: f64,
    /// The time of the first write that waits, in nanoseconds.
    wait: f64,
    /// The share of bursts with a step at that position, within the tolerance.
    agreeing: f64,
}

impl Cliff {
    /// Returns true if bursts at another pace wait at the same position.
    fn is_in(&self, shared: &[f64]) -> bool {
        let near = self.at / 25 + 2;
        let places = self.at - near.min(self.at)..(self.at + near).min(shared.len());
        let wait = 0.5 * (self.low + self.wait);
        let before = shared.iter().take(places.start).filter(|cost| **cost > wait).count();
        before <= 1 + places.start / 32 && shared[places].iter().any(|cost| *cost > wait)
    }
}

/// Looks for the cliff in longer and longer bursts.
fn search(lab: &mut Lab<'_>, bursts: &mut Bursts) -> Result<Option<Cliff>, Halt> {
    let longest = usize::try_from(lab.capacity() / 8 / bursts.unit).unwrap_or(usize::MAX);
    let mut count = MIN_BURST.min(longest);
    loop {
        let burst = bursts.burst(lab, count, Nanos(0))?;
        if bursts.shown.len() < burst.len() {
            bursts.shown.clone_from(&burst);
        }
        if let Some(step) = first_step(&burst, CLEAR)
            && let Some(cliff) = refine(lab, bursts, step.at)?
        {
            return Ok(Some(cliff));
        }
        if count >= longest {
            return Ok(None);
        }
        count = (2 * count).min(longest);
    }
}

/// Returns the first step up in a series whose significance, an approximate t-statistic, exceeds
/// `sure`.
fn first_step(series: &[f64], sure: f64) -> Option<Step> {
    let is_clear = |step: &Step, count: usize| {
        #[allow(clippy::cast_precision_loss, reason = "bursts are short")]
        let clear = (step.explains / (1.0 - step.explains).max(1e-9) * count as f64).sqrt();
        step.ratio() >= CLIFF && clear > sure
    };
    let mut first = step(series, 2).filter(|step| is_clear(step, series.len()))?;
    // There may be an earlier step: a buffer in front of an SLC cache.
    while let Some(earlier) = step(&series[..first.at], 2).filter(|s| is_clear(s, first.at)) {
        first = earlier;
    }
    Some(first)
}

/// Returns the number of bursts of about `writes` writes to combine: enough to separate hiccups
/// from regular steps, and more for short bursts.
fn repeats(writes: usize) -> usize {
    (3072 / writes.max(1)).clamp(3, 7)
}

/// Repeats bursts around a step, and combines them.
fn refine(lab: &mut Lab<'_>, bursts: &mut Bursts, about: usize) -> Result<Option<Cliff>, Halt> {
    let series = laid(lab, bursts, about * 3 / 2 + 24, Nanos(0))?;
    let Some(cliff) = cliff(&series) else { return Ok(None) };
    bursts.shown = medians(&series);
    Ok(Some(cliff))
}

/// Writes several bursts of at least `count` writes. Their length varies; cleaning then occurs at
/// different positions.
fn laid(
    lab: &mut Lab<'_>,
    bursts: &mut Bursts,
    count: usize,
    think: Nanos,
) -> Result<Vec<Vec<f64>>, Halt> {
    let one = |_| {
        let count = count + lab.rng.usize(0..16);
        bursts.burst(lab, count, think)
    };
    (0..repeats(count)).map(one).collect()
}

/// Returns the cliff that the bursts share.
fn cliff(series: &[Vec<f64>]) -> Option<Cliff> {
    let shared = medians(series);
    let about = first_step(&shared, CLEAR)?;
    let low = median(&shared[..about.at.div_ceil(2)]);
    let noise = spread(&shared[..about.at.div_ceil(2)]).max(0.01 * low);
    let top = median(&shared[about.at..]).max(about.after);
    let slow = low + (6.0 * noise).max(0.25 * (top - low));
    let is_slow = |place: usize| shared[place] > slow;
    let next = |place: usize| (place + 1..place + 17).any(|p| p < shared.len() && is_slow(p));
    // A single wait counts if every burst has it.
    let in_all = |place: usize| series.iter().all(|burst| burst[place] > 2.0 * low + 8.0 * noise);
    let waits = |place: &usize| is_slow(*place) && (next(*place) || in_all(*place));
    let at = (1..shared.len() - 1).find(waits)?;
    // A burst agrees if it waits at that position, and hardly ever before, except for hiccups or
    // cleaning.
    let near = (at / 10).max(2);
    let agrees = |burst: &&Vec<f64>| {
        let (before, there) = burst.split_at(at - near.min(at));
        let early = before.iter().filter(|cost| **cost > slow).count();
        early <= 1 + at / 32 && there.iter().take(2 * near).any(|cost| *cost > slow)
    };
    #[allow(clippy::cast_precision_loss, reason = "bursts are few")]
    let agreeing = series.iter().filter(agrees).count() as f64 / series.len() as f64;
    let high = behind(series, at, slow).max(CLIFF * low);
    let wait = shared[at..].iter().take(16).copied().fold(0.0, f64::max);
    (at >= 2).then_some(Cliff { at, low, high, wait, agreeing })
}

/// Returns the first wait that bursts share, for a drive that writes out as fast as the host
/// writes, but in large batches. A single write waits whenever the buffer is full.
fn waits(lab: &mut Lab<'_>, bursts: &mut Bursts) -> Result<Option<Cliff>, Halt> {
    let count = usize::try_from(lab.capacity() / 12 / bursts.unit).unwrap_or(usize::MAX);
    let series = laid(lab, bursts, count, Nanos(0))?;
    bursts.shown = medians(&series);
    Ok(first_wait(&series))
}

fn first_wait(series: &[Vec<f64>]) -> Option<Cliff> {
    let shared = medians(series);
    let low = median(&shared);
    let waits = |cost: f64| cost > 2.0 * low + 8.0 * spread(&shared);
    let at = (2..shared.len()).find(|place| series.iter().all(|burst| waits(burst[*place])))?;
    let high = behind(series, at, 2.0 * low);
    Some(Cliff { at, low, high: high.max(CLIFF * low), wait: shared[at], agreeing: 0.9 })
}

/// Returns the mean time of the writes from `at` on. The median would mislead, because writes that
/// wait for a batch alternate with writes that find room afterwards. Times far above the usual wait
/// are limited, because they include cleaning.
fn behind(series: &[Vec<f64>], at: usize, slow: f64) -> f64 {
    let tails: Vec<f64> = series.iter().flat_map(|burst| burst.iter().skip(at)).copied().collect();
    let waiting: Vec<f64> = tails.iter().filter(|cost| **cost > slow).copied().collect();
    let most = 1.5 * median(&waiting).max(slow);
    #[allow(clippy::cast_precision_loss, reason = "bursts are short")]
    let count = tails.len().max(1) as f64;
    tails.iter().map(|cost| cost.min(most)).sum::<f64>() / count
}

/// The result of bursts at a slower pace.
enum Pace {
    /// Bursts wait at the same position: the buffer does not drain meanwhile.
    Same,
    /// Bursts wait later, after `at` writes, with `period` nanoseconds from one write to the next.
    Later { period: f64, at: usize },
    /// Bursts never wait: the buffer drains as fast as it fills.
    Never,
}

/// Repeats the bursts at a pace between the pace of an empty buffer and the pace of a full buffer.
fn pace(lab: &mut Lab<'_>, bursts: &mut Bursts, cliff: &Cliff) -> Result<Pace, Halt> {
    let mut period = (0.6 * cliff.high).max(0.5 * (cliff.low + cliff.high));
    // Long bursts are tried only once.
    let tries = if 16 * cliff.at as u64 * bursts.unit > lab.capacity() { 1 } else { 2 };
    for _ in 0..tries {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
        let think = Nanos((period - cliff.low) as u64);
        // Most buffers take no more writes at this pace than at full pace; slightly longer bursts
        // are enough to show it.
        let short = laid(lab, bursts, cliff.at * 9 / 8 + 8, think)?;
        if cliff.is_in(&medians(&short)) {
            return Ok(Pace::Same);
        }
        let long = laid(lab, bursts, 5 * cliff.at / 2 + 24, think)?;
        if let Some(slow) = self::cliff(&long) {
            return Ok(Pace::Later { period, at: slow.at });
        }
        period = 0.7 * cliff.low + 0.3 * period;
    }
    Ok(Pace::Never)
}

/// Returns the capacity of the buffer without draining, in writes, from bursts at two paces.
///
/// A buffer of S writes begins to drain when it holds A writes. It drains one write in the time T
/// that a write takes when the buffer is full. At a period of p from write to write, it takes A +
/// (S - A) / (1 - p / T) writes. `drains` is S - A.
#[allow(clippy::cast_precision_loss, reason = "bursts are short")]
fn at_rest(cliff: &Cliff, pace: &Pace) -> Option<f64> {
    let fast = cliff.at as f64;
    let (period, slow) = match *pace {
        Pace::Same => return Some(fast),
        Pace::Never => return None,
        Pace::Later { period, at } => (period, at as f64),
    };
    let grows = |period: f64| 1.0 / (1.0 - (period / cliff.high).min(0.95));
    let (at_fast, at_slow) = (grows(cliff.low), grows(period));
    let drains = (slow - fast) / (at_slow - at_fast).max(1e-3);
    let places = fast - drains * (at_fast - 1.0);
    // If much data drains, a small error of the rate is a large error of the capacity.
    let is_slow = cliff.low < MIN_BUFFERED_SHARE * cliff.high;
    (slow > fast && is_slow && places > MIN_BUFFERED_SHARE * fast).then_some(places)
}

fn size(bursts: &Bursts, cliff: &Cliff, pace: &Pace, memory: &Memory) -> Finding {
    let Some(places) = at_rest(cliff, pace) else {
        let why = "the buffer writes out about as much during a burst as it receives, which hides its \
                          size";
        return Finding::unknown(Parameter::WriteBuffer, why);
    };
    #[allow(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    let (unit, fast) = (bursts.unit as f64, cliff.at as f64);
    let drained = (fast - places) / fast;
    let value = (places * unit / 4096.0).round() * 4096.0;
    let probability = (0.985 - 0.4 * (1.0 - cliff.agreeing) - 0.3 * drained.max(0.0)).max(0.5);
    if probability < MIN_PROBABILITY {
        let why =
            "bursts slow down at positions that differ too much to show the size of the buffer";
        return Finding::unknown(Parameter::WriteBuffer, why);
    }
    let off = unit.max(0.5 * drained * value);
    let because = format!(
        "{} writes of {} KiB in a burst take {:.3} ms each, the others {:.3} ms; {}{}",
        cliff.at,
        bursts.unit / 1024,
        cliff.low / 1e6,
        cliff.high / 1e6,
        memory.tells(),
        if drained > 0.0 { "; writes that left during a burst are subtracted" } else { "" },
    );
    Finding::value(Parameter::WriteBuffer, value, value - off, value + off, probability)
        .because(because)
}

/// The evidence that memory holds the written data.
struct Memory {
    /// Times of reads of new data.
    new: Vec<f64>,
    /// Times of later reads of the same data.
    old: Vec<f64>,
    /// The time of a flush after a burst, relative to the time of a flush without work.
    flush: f64,
}

impl Memory {
    /// Returns the difference between reads of new and of old data, in standard errors.
    #[allow(clippy::cast_precision_loss, reason = "reads are few")]
    fn contrast(&self) -> f64 {
        let noise = |reads: &[f64]| spread(reads).max(0.01 * median(reads)).powi(2);
        let noise = (noise(&self.new) + noise(&self.old)) * 1.57 / self.new.len().max(1) as f64;
        (median(&self.old) - median(&self.new)) / noise.sqrt().max(1.0)
    }

    /// Returns the time of a read of the flash, in nanoseconds. A write to flash takes longer.
    fn flash_read(&self) -> f64 {
        median(&self.old)
    }

    fn is_read_faster(&self) -> bool {
        self.contrast() > 5.0 && median(&self.new) < 0.93 * median(&self.old)
    }

    fn is_there(&self) -> bool {
        self.is_read_faster() || self.flush > 5.0
    }

    /// Returns the probability that there is no buffer, if none shows.
    fn lacks_it(&self) -> f64 {
        let slower = 0.02 * (self.contrast() / 5.0).clamp(0.0, 1.0);
        let flush = 0.02 * ((self.flush - 1.0) / 4.0).clamp(0.0, 1.0);
        0.985 - slower - flush
    }

    fn tells(&self) -> String {
        format!(
            "new data is read in {:.3} ms, and later in {:.3} ms; a flush after \
                        a burst takes {:.1} times as long as one without preceding writes",
            median(&self.new) / 1e6,
            median(&self.old) / 1e6,
            self.flush
        )
    }

    fn picture(&self) -> Signal {
        let points = |reads: &[f64]| -> Vec<(f64, f64)> {
            reads.iter().zip(1u32..).map(|(read, nth)| (f64::from(nth), read / 1e6)).collect()
        };
        Signal::new("Reads of new data", "read", "response time (ms)", Shape::Points)
            .series("new data", points(&self.new))
            .series("later", points(&self.old))
    }
}

/// Reads new data, and the same data again after a flush and an idle pause, when it is on the
/// flash. Everything else, such as the map entries in memory, is the same.
fn memory(lab: &mut Lab<'_>, bursts: &mut Bursts, fits: usize) -> Result<Memory, Halt> {
    let count = (fits / 2).clamp(1, 32);
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for _ in 0..(8 << lab.attempt) {
        let mut requests = bursts.writes(lab, count, Nanos(0));
        let at = requests.len();
        let written: Vec<u64> = requests[at - count..].iter().map(|r| r.offset).collect();
        // The latest writes are the likeliest to be in the buffer. No read begins where another
        // ended, which avoids read-ahead.
        let apart = written.iter().rev().step_by((count / 8).max(2));
        let reads: Vec<Request> = apart.map(|offset| Request::read(*offset, bursts.unit)).collect();
        requests.extend(&reads);
        bursts.begin(&mut requests, reads.into_iter());
        let run = lab.run("reads of new data, and again after an idle pause", requests)?;
        let times = response_times(&run, Op::Read);
        let (first, again) = times.split_at(times.len() / 2);
        new.extend(first);
        old.extend(again);
        bursts.note(&run);
    }
    let ratios: Vec<f64> =
        bursts.flushed.iter().map(|(first, then)| first / then.max(1.0)).collect();
    Ok(Memory { new, old, flush: median(&ratios) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generates noisy bursts of a drive with room for `room` writes, with a hiccup in each. When
    /// it is full, it waits for `batch` writes to drain, 300 µs each, and then has room for as
    /// many.
    fn bursts(room: usize, len: usize, batch: usize) -> Vec<Vec<f64>> {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut cost = |nth: usize| {
            let waits = nth >= room && (nth - room).is_multiple_of(batch);
            #[allow(clippy::cast_precision_loss)]
            let wait = if waits { 300e3 * batch as f64 } else { 0.0 };
            (50e3 + wait) * (1.0 + 0.1 * (rng.f64() - 0.5))
        };
        let mut series: Vec<Vec<f64>> = (0..5).map(|_| (0..len).map(&mut cost).collect()).collect();
        for (nth, burst) in series.iter_mut().enumerate() {
            burst[7 + 11 * nth] += 9e6;
        }
        series
    }

    #[test]
    fn a_full_buffer_is_found_with_any_batch() {
        for batch in [1, 4] {
            let cliff = cliff(&bursts(64, 130, batch)).unwrap();
            assert_eq!(cliff.at, 64);
            assert!((cliff.high / 350e3 - 1.0).abs() < 0.15, "{}", cliff.high);
            assert!(cliff.agreeing > 0.9);
        }
    }

    #[test]
    fn hiccups_are_no_cliff() {
        assert!(cliff(&bursts(1000, 130, 1)).is_none());
        assert!(first_wait(&bursts(1000, 130, 1)).is_none());
    }

    // The drive writes out in large batches.
    #[test]
    fn a_single_wait_of_every_burst_is_found() {
        assert_eq!(first_wait(&bursts(64, 130, 64)).unwrap().at, 64);
    }

    // The buffer of 1,000 writes drains all the time, or once it is half full, or not at all.
    #[test]
    fn drained_writes_are_subtracted() {
        let (low, high, period) = (50e3, 500e3, 300e3);
        for always in [0.0, 500.0] {
            let at = |period: f64| always + (1000.0 - always) / (1.0 - period / high);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let [fast, slow] = [at(low), at(period)].map(|at| at as usize);
            let cliff = Cliff { at: fast, low, high, wait: high, agreeing: 1.0 };
            let places = at_rest(&cliff, &Pace::Later { period, at: slow }).unwrap();
            assert!((places - 1000.0).abs() < 5.0, "{places}");
            assert_eq!(at_rest(&cliff, &Pace::Never), None);
        }
        let cliff = Cliff { at: 1000, low, high, wait: high, agreeing: 1.0 };
        assert_eq!(at_rest(&cliff, &Pace::Same), Some(1000.0));
    }

    #[test]
    fn memory_shows_by_fast_reads_or_a_long_flush() {
        let reads = |cost: f64| -> Vec<f64> {
            (0..64).map(|i| cost * (1.0 + f64::from(i * 7 % 10) / 100.0)).collect()
        };
        let memory = |new, flush| Memory { new: reads(new), old: reads(200e3), flush };
        assert!(memory(60e3, 1.0).is_there());
        assert!(memory(200e3, 50.0).is_there());
        assert!(!memory(200e3, 1.1).is_there() && memory(200e3, 1.1).lacks_it() > 0.95);
    }
}
