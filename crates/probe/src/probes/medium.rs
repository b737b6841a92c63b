//! The medium: flash, or something else for which the other probes do not apply.

use flashscope_block::{Bytes, Op};

use crate::outcome::Outcome;
use crate::{Answer, Finding, Halt, Knowledge, Lab, Parameter, Probe, Request, Run, Scene};
use flashscope_document::probe::{Shape, Signal};

/// The length of short requests, in bytes.
const SHORT: u64 = 4096;

/// The length of long requests, in bytes.
const LONG: u64 = 1 << 20;

/// The length of the fill's writes, in bytes; reads of this length are compared with them.
const MIDDLE: u64 = 128 << 10;

/// The number of short reads, and of short writes if reads are not conclusive.
const SAMPLES: u32 = 400;

/// The number of long requests.
const LONG_SAMPLES: u32 = 24;

/// The rate in bytes per nanosecond above which no data can have moved: 400 GB/s, more than the
/// memory bandwidth of a copy.
const NO_TRANSFER: f64 = 400.0;

/// The narrowest range of waits for a platter, in nanoseconds. The fastest disks ever sold take 4
/// ms for a rotation, at 15,000 rpm. The range is the middle 80 % of the rotation, less a tolerance
/// of 10 %.
const PLATTER_WINDOW: f64 = 0.8 * 0.9 * 4e6;

/// Minimum probability of a stated medium.
const SURE: f64 = 0.9;

pub(super) const PROBE: Probe = Probe {
    name: "medium",
    summary: "random short reads at short and long distances, long reads and, if these are \
                 inconclusive, random writes; looks for costs that only one medium has",
    source: "Sun and Zhang, section 3.2; Ruemmler and Wilkes, IEEE Computer 1994, for disks",
    finds: &[Parameter::Medium],
    assumes: &[],
    // Without permission or budget to write, the probe uses its reads alone. It recognizes a disk
    // without filling it.
    writes: false,
    cost: |scene, _| Scene { is_filled: true, ..*scene }.cost(u64::from(3 * SAMPLES), 0, 0),
    run,
};

fn run(lab: &mut Lab<'_>, _: &Knowledge) -> Result<Outcome, Halt> {
    // Recognizing a disk, or a drive without any medium, does not require filling it.
    let reads = walk(lab)?;
    if let Some(finding) = platter(&reads, lab.capacity()) {
        return Ok(vec![finding].into());
    }
    let before = long_reads(lab, LONG)?;
    let answers_at_once = transfers_nothing(&before);
    if answers_at_once && let Some(finding) = nothing(lab, &before)? {
        return Ok(vec![finding].into());
    }
    if lab.left().bytes < Bytes(lab.capacity() + WRITTEN) && lab.fill().is_none() {
        let finding =
            if answers_at_once { reads_too_fast(&before) } else { by_reads_alone(&reads) };
        return Ok(vec![finding].into());
    }
    lab.ensure_filled()?;
    let reads = walk(lab)?;
    let middle = long_reads(lab, MIDDLE)?;
    if transfers_nothing(&middle) {
        return Ok(vec![reads_too_fast(&middle)].into());
    }
    let mut evidence = Evidence::of_reads(&reads);
    if let Some(fill) = lab.fill() {
        let ratio = calm(&fill.costs) / calm(&middle.latencies());
        let runs: Vec<u32> = fill.runs.iter().copied().chain([middle.number]).collect();
        evidence.compare("writes that fill the drive", ratio, FIRST_WRITES, &runs);
    }
    if evidence.posterior().1 < SURE_WITHOUT_WRITES {
        for (len, samples, what) in [(SHORT, SAMPLES, "4 KiB"), (MIDDLE, LONG_SAMPLES, "128 KiB")] {
            let both = reads_and_writes(lab, len, samples)?;
            let [reads, writes] = [Op::Read, Op::Write].map(|op| costs_of(&both, op));
            let what = format!("random writes of {what}");
            evidence.compare(&what, calm(&writes) / calm(&reads), AGAIN, &[both.number]);
            if len == SHORT {
                evidence.pictures.push(("writes", series(&writes)));
            }
        }
    }
    Ok(vec![evidence.finding()].into())
}

/// Maximum number of bytes written in addition to the fill.
const WRITTEN: u64 = 4 * (SHORT * SAMPLES as u64 + MIDDLE * LONG_SAMPLES as u64);

/// The typical ratio of the cost of a write to the cost of a read on memory, and the standard
/// deviation of its logarithm. The first pair is for first writes, which may have to allocate
/// memory; the second pair is for later writes.
const FIRST_WRITES: (f64, f64) = (1.5, 0.4);
const AGAIN: (f64, f64) = (1.0, 0.12);

/// The probability above which no further writes are made.
const SURE_WITHOUT_WRITES: f64 = 0.99;

/// Makes short reads, each at a random distance from the previous read. Short and long distances
/// are equally frequent.
fn walk(lab: &mut Lab<'_>) -> Result<Run, Halt> {
    let places = (lab.capacity() / SHORT).max(1);
    let mut at = lab.rng.u64(0..places);
    let reads: Vec<Request> = (0..SAMPLES << lab.attempt)
        .map(|_| {
            at = (at + jump(&mut lab.rng, places)) % places;
            Request::read(at * SHORT, SHORT.min(lab.capacity()))
        })
        .collect();
    lab.run("short reads at short and long distances", reads)
}

/// Returns a jump in either direction, as a number of positions forward in a ring. The logarithm of
/// the distance is uniformly distributed.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn jump(rng: &mut fastrand::Rng, places: u64) -> u64 {
    let distance = ((places as f64).powf(rng.f64()) as u64).clamp(1, places);
    if rng.bool() { distance % places } else { (places - distance) % places }
}

/// Makes reads of `len` bytes at random offsets.
fn long_reads(lab: &mut Lab<'_>, len: u64) -> Result<Run, Halt> {
    let space = 0..lab.capacity();
    let len = len.min(lab.capacity());
    let reads: Vec<Request> = (0..LONG_SAMPLES)
        .map(|_| Request::read(lab.random_offset(&space, len, SHORT.min(len)), len))
        .collect();
    lab.run("long reads at random", reads)
}

/// Makes as many reads as writes of `len` bytes at random offsets, alternately. The host has faster
/// and slower periods; alternating gives reads and writes the same share of these periods.
fn reads_and_writes(lab: &mut Lab<'_>, len: u64, samples: u32) -> Result<Run, Halt> {
    let space = 0..lab.capacity();
    let (len, step) = (len.min(lab.capacity()), SHORT.min(lab.capacity()));
    let requests: Vec<Request> = (0..samples << lab.attempt)
        .flat_map(|_| [Request::read, Request::write])
        .map(|request| request(lab.random_offset(&space, len, step), len))
        .collect();
    lab.run("reads and writes at random, in turns", requests)
}

/// Returns the costs of requests of one kind.
fn costs_of(run: &Run, op: Op) -> Vec<f64> {
    run.records.iter().filter(|record| record.op == op).map(Run::nanos).collect()
}

/// Returns true if long requests complete too soon for data to have moved.
fn transfers_nothing(run: &Run) -> bool {
    let bytes = run.records.first().map_or(0, |record| record.len.0);
    bytes >= 16 * SHORT && is_too_soon(bytes, &run.latencies())
}

/// Returns true if half of the latencies, in nanoseconds, are too short for `bytes` to have moved.
#[allow(clippy::cast_precision_loss)]
fn is_too_soon(bytes: u64, latencies: &[f64]) -> bool {
    bytes as f64 > NO_TRANSFER * quantile(latencies, 0.5)
}

/// Returns the finding that there is no medium, or that the medium is unknown if the budget is too
/// small for the writes. Returns `None` if the writes take the time of a transfer: a drive may
/// answer reads of unwritten data at once.
fn nothing(lab: &mut Lab<'_>, reads: &Run) -> Result<Option<Finding>, Halt> {
    if lab.left().bytes < Bytes(2 * u64::from(LONG_SAMPLES) * LONG) {
        let why = "it reads faster than data can move, as a drive without data also does; reads \
                          alone cannot distinguish them";
        return Ok(Some(Finding::unknown(Parameter::Medium, why).runs([reads.number])));
    }
    // The first writes to a drive are part of its fill, which shows the size of an SLC cache.
    let first = lab.begin_fill(u64::from(LONG_SAMPLES) * LONG)?;
    if !is_too_soon(LONG, first) {
        return Ok(None);
    }
    let (space, len) = (0..lab.capacity(), LONG.min(lab.capacity()));
    let writes: Vec<Request> = (0..LONG_SAMPLES)
        .map(|_| Request::write(lab.random_offset(&space, len, SHORT), len))
        .collect();
    let writes = lab.run("long writes at random", writes)?;
    if !transfers_nothing(&writes) {
        return Ok(None);
    }
    let because = format!(
        "{} are read, and written, in {:.0} ns: faster than memory can be copied",
        reads.records[0].len,
        quantile(&writes.latencies(), 0.5)
    );
    let signal = Signal::new(
        "Long requests, one after the other: answered without moving data",
        "request",
        "response time (ns)",
        Shape::Points,
    )
    .series("reads", indexed(reads, 1.0))
    .series("writes", indexed(&writes, 1.0));
    let runs = [reads.number, writes.number];
    let finding = Finding::class(Parameter::Medium, "nothing", 0.999);
    Ok(Some(finding.because(because).runs(runs).signal(signal)))
}

/// Returns the finding for a drive that answers these reads immediately, but not its writes.
fn reads_too_fast(reads: &Run) -> Finding {
    let why = "it reads faster than data can move";
    Finding::unknown(Parameter::Medium, why).runs([reads.number])
}

/// Returns the finding of a rotating disk, if reads wait for a platter and, at longer distances,
/// for an arm.
#[allow(clippy::cast_precision_loss, reason = "distances are far below 2^53")]
fn platter(run: &Run, capacity: u64) -> Option<Finding> {
    let mut by_distance: Vec<(f64, f64)> = distances(run);
    by_distance.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let third = by_distance.len() / 3;
    let costs = |part: &[(f64, f64)]| -> Vec<f64> { part.iter().map(|(_, cost)| *cost).collect() };
    let near = costs(&by_distance[..third]);
    let far: Vec<f64> = costs(&by_distance[by_distance.len() - third..]);
    if far.len() < 30 {
        return None;
    }
    let window = quantile(&far, 0.9) - quantile(&far, 0.1);
    if window < PLATTER_WINDOW {
        return None;
    }
    // Compare means. At short distances, half of the reads go against the rotation and wait for
    // nearly a whole rotation; the others hardly wait. Their mean wait is half a rotation, as at
    // long distances.
    let (more, error) = difference(&far, &near);
    let farther = more / error;
    let filled = occupied(&far);
    if farther < 2.0 || filled < 0.7 {
        return None;
    }
    let probability = 1.0 - 0.5 * (-0.5 * farther * farther).exp();
    let because = format!(
        "the times of random reads spread over {:.1} ms, as with a rotating platter, and are \
                {:.1} ms longer at long distances than at short ones, as with a moving arm",
        window / 1e6,
        more / 1e6
    );
    let points = by_distance.iter().map(|(distance, cost)| (distance / 1048576.0, cost / 1e6));
    let signal = Signal::new(
        "Cost of reads by distance from the previous read",
        "distance (MiB)",
        "response time (ms)",
        Shape::Points,
    )
    .log_x()
    .series("reads of 4 KiB", points)
    .mark(capacity as f64 / 1048576.0, "the drive");
    Some(
        Finding::class(Parameter::Medium, "rotating", probability.min(0.995))
            .because(because)
            .runs([run.number])
            .signal(signal),
    )
}

/// Returns the difference between two means, and its standard error.
#[allow(clippy::cast_precision_loss)]
fn difference(larger: &[f64], smaller: &[f64]) -> (f64, f64) {
    let variance = |costs: &[f64], mean: f64| {
        let squares = costs.iter().map(|cost| (cost - mean).powi(2));
        squares.sum::<f64>() / costs.len().max(2) as f64 / costs.len().max(1) as f64
    };
    let (large, small) = (body(larger), body(smaller));
    (large - small, (variance(larger, large) + variance(smaller, small)).sqrt().max(1.0))
}

/// Divides the range between the lowest and the highest decile into ten parts. Returns the share of
/// parts with at least a quarter of the costs expected there. The share is 1 for uniform waits,
/// with or without seeks of many lengths, and about 0.2 for two levels.
fn occupied(costs: &[f64]) -> f64 {
    let (low, high) = (quantile(costs, 0.1), quantile(costs, 0.9));
    let width = (high - low) / 10.0;
    let within = |i: u32| {
        let from = low + f64::from(i) * width;
        costs.iter().filter(|cost| (from..from + width).contains(cost)).count()
    };
    let part = costs.len() * 8 / 100;
    f64::from((0..10).map(|i| u8::from(4 * within(i) >= part)).sum::<u8>()) / 10.0
}

/// Returns the distance of each read from the previous read, and the cost of the read.
#[allow(clippy::cast_precision_loss, reason = "distances are far below 2^53")]
fn distances(run: &Run) -> Vec<(f64, f64)> {
    let pairs = run.records.windows(2);
    pairs
        .map(|pair| (pair[0].offset.0.abs_diff(pair[1].offset.0) as f64, Run::nanos(&pair[1])))
        .collect()
}

/// Returns the finding from reads alone: flash, if the reads are slow enough to have reached it.
fn by_reads_alone(reads: &Run) -> Finding {
    let mut evidence = Evidence::of_reads(reads);
    // Reads over a network cost the same, but few users probe a drive over a network.
    evidence.logs[Medium::Other as usize] -= 3.0;
    let finding = evidence.finding();
    match finding.answer {
        Answer::Class { ref class } if class == "flash" => finding,
        _ => Finding::unknown(
            Parameter::Medium,
            "its reads are as fast as those of memory, or of flash that was never written; reads \
                        alone cannot distinguish them",
        )
        .runs([reads.number]),
    }
}

/// The media that [`Evidence`] compares. The probe recognizes disks, and drives without a medium,
/// before it gathers this evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Medium {
    Flash,
    Memory,
    /// A medium that is slow, and as slow for writes as for reads, such as a network.
    Other,
}

/// The evidence for each medium.
struct Evidence<'r> {
    /// The log-likelihood of each medium, up to a constant.
    logs: [f64; 3],
    seen: Vec<String>,
    runs: Vec<u32>,
    pictures: Vec<(&'r str, Vec<(f64, f64)>)>,
}

impl Evidence<'_> {
    /// Returns the evidence from the fastest of the random short reads. Flash takes tens of
    /// microseconds to sense a page (Z-NAND takes 3), plus the transfer. Only the fastest reads
    /// count, because the host may delay any read.
    fn of_reads(reads: &Run) -> Evidence<'static> {
        let least = quantile(&reads.latencies(), 0.05).max(1.0);
        let at = |typical: f64, deviation: f64| log_normal((least / typical).ln(), deviation);
        let prior: [f64; 3] = [0.7, 0.2, 0.1];
        let mut logs = prior.map(f64::ln);
        logs[Medium::Flash as usize] += if least < 3e3 { -30.0 } else { at(150e3, 1.0) };
        logs[Medium::Memory as usize] += at(10e3, 0.8);
        logs[Medium::Other as usize] += at(400e3, 1.2);
        let seen = vec![format!("random reads of 4 KiB take {:.3} ms at least", least / 1e6)];
        let pictures = vec![("reads", series(&reads.latencies()))];
        Evidence { logs, seen, runs: vec![reads.number], pictures }
    }

    /// Adds the evidence from the cost of writes, as a multiple (`ratio`) of the cost of reads of
    /// the same length. Flash takes longer to program and erase than to read; if a buffer hides
    /// this time, writes are faster than reads. `memory` holds the typical multiple for memory and
    /// the standard deviation of its logarithm.
    fn compare(&mut self, what: &str, ratio: f64, memory: (f64, f64), runs: &[u32]) {
        let log = ratio.max(1e-6).ln();
        self.logs[Medium::Flash as usize] += log_normal(log, 1.2);
        let (typical, deviation) = (memory.0.ln(), memory.1);
        let near = |deviation: f64| log_normal(log - typical, deviation).exp();
        // The wide component accounts for occasional disturbances by the host.
        let same = (0.9 * near(deviation) + 0.1 * near(0.9)).ln();
        self.logs[Medium::Memory as usize] += same;
        self.logs[Medium::Other as usize] += same;
        self.seen.push(format!("{what} take {ratio:.2} times as long as such reads"));
        self.runs.extend(runs);
    }

    /// Returns the likeliest medium, and its probability.
    fn posterior(&self) -> (Medium, f64) {
        let most = self.logs.iter().copied().fold(f64::MIN, f64::max);
        let weights = self.logs.map(|log| (log - most).exp());
        let total: f64 = weights.iter().sum();
        let of = |medium: Medium| (medium, weights[medium as usize] / total);
        let all = [of(Medium::Flash), of(Medium::Memory), of(Medium::Other)];
        all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are three media")
    }

    fn finding(self) -> Finding {
        let (medium, probability) = self.posterior();
        let because = self.seen.join("; ");
        let class = match medium {
            Medium::Flash => "flash",
            Medium::Memory => "memory",
            Medium::Other => "",
        };
        let finding = if medium == Medium::Other || probability < SURE {
            let why = format!("it may be flash, memory or a slow connection: {because}");
            Finding::unknown(Parameter::Medium, why)
        } else {
            Finding::class(Parameter::Medium, class, probability.min(0.999)).because(because)
        };
        let mut signal = Signal::new(
            "Random requests of 4 KiB, from the fastest to the slowest",
            "share of requests",
            "response time (ms)",
            Shape::Line,
        );
        for (name, points) in self.pictures {
            signal = signal.series(name, points);
        }
        finding.runs(self.runs).signal(signal)
    }
}

/// Returns the logarithm of the density of a normal distribution around 0, up to a constant.
fn log_normal(distance: f64, deviation: f64) -> f64 {
    let z = distance / deviation;
    -0.5 * z * z - deviation.ln()
}

/// Returns the lower quartile of the costs. The pauses of a busy host hardly affect it, because
/// they only add time.
fn calm(costs: &[f64]) -> f64 {
    quantile(costs, 0.25).max(1.0)
}

/// Returns the mean without the slowest hundredth, which contains the host's pauses.
#[allow(clippy::cast_precision_loss)]
fn body(costs: &[f64]) -> f64 {
    let mut costs = costs.to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    let kept = &costs[..costs.len() - costs.len() / 100];
    (kept.iter().sum::<f64>() / kept.len().max(1) as f64).max(1.0)
}

/// Returns the cost that this share of the costs does not exceed, or 0 if there are no costs.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn quantile(costs: &[f64], share: f64) -> f64 {
    let mut costs = costs.to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    let last = costs.len().saturating_sub(1);
    costs.get((share * last as f64).round() as usize).copied().unwrap_or(0.0)
}

/// Returns the sorted costs in milliseconds, each with the share of costs that precede it.
#[allow(clippy::cast_precision_loss)]
fn series(costs: &[f64]) -> Vec<(f64, f64)> {
    let mut costs = costs.to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    let count = costs.len().max(1) as f64;
    costs.iter().enumerate().map(|(i, cost)| (i as f64 / count, cost / 1e6)).collect()
}

/// Returns the costs in units of `unit` nanoseconds, each with its index in the run.
#[allow(clippy::cast_precision_loss)]
fn indexed(run: &Run, unit: f64) -> Vec<(f64, f64)> {
    run.latencies().iter().enumerate().map(|(i, cost)| (i as f64, cost / unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(finding: &Finding) -> Option<&str> {
        match &finding.answer {
            Answer::Class { class } => Some(class),
            _ => None,
        }
    }

    #[test]
    fn a_disk_is_recognised_and_flash_with_two_levels_or_pauses_is_not() {
        let mut rng = fastrand::Rng::with_seed(1);
        let capacity = 1 << 40;
        let mut walk = |cost: &mut dyn FnMut(u64, &mut fastrand::Rng) -> u64| {
            let mut at = 0;
            let mut costs = Vec::new();
            for _ in 0..400 {
                let to = (at + jump(&mut rng, capacity / SHORT) * SHORT) % capacity;
                costs.push((to, cost(at.abs_diff(to), &mut rng)));
                at = to;
            }
            Run::of(Op::Read, SHORT, costs)
        };
        let disk = walk(&mut |distance, rng| {
            let seek = 1_000_000 + 8 * distance.isqrt();
            seek + rng.u64(0..8_300_000)
        });
        assert_eq!(class(&platter(&disk, capacity).unwrap()), Some("rotating"));
        let groups =
            walk(&mut |distance, _| if distance > capacity / 4 { 6_000_000 } else { 800_000 });
        assert_eq!(platter(&groups, capacity), None);
        let paused =
            walk(&mut |_, rng| if rng.u8(0..20) == 0 { rng.u64(0..20_000_000) } else { 90_000 });
        assert_eq!(platter(&paused, capacity), None);
    }

    // A slow medium whose reads and writes take the same time is neither flash nor memory.
    #[test]
    fn flash_and_memory_differ_by_read_time_and_write_cost() {
        let judged = |read: u64, ratios: &[f64]| {
            let run = Run::of(Op::Read, SHORT, (0..400).map(|i| (i * SHORT, read + i)));
            let mut evidence = Evidence::of_reads(&run);
            for (ratio, memory) in ratios.iter().zip([FIRST_WRITES, AGAIN]) {
                evidence.compare("writes", *ratio, memory, &[2]);
            }
            evidence.finding()
        };
        assert_eq!(class(&judged(90_000, &[4.0])), Some("flash"));
        assert_eq!(class(&judged(900_000, &[6.0, 40.0])), Some("flash"));
        assert_eq!(class(&judged(120_000, &[3.0, 0.3])), Some("flash"));
        assert_eq!(class(&judged(1_500, &[3.0, 1.5])), Some("memory"));
        assert_eq!(class(&judged(9_000, &[1.6, 1.1])), Some("memory"));
        assert!(!judged(300_000, &[1.0, 1.05]).is_known());
    }
}
