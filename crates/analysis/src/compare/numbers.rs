use flashscope_block::{Bytes, Op};
use flashscope_document::facts::{Facts, Latency, RunFacts};
use flashscope_document::manifest::{Progress, Run};
use flashscope_document::prediction::PredictionReport;
use flashscope_document::twin::{DepthSource, Range, TwinPrediction};
use flashscope_document::what_if::{Quantity, Variant};
use flashscope_document::{LatencyNs, Manifest, Simulation};
use flashscope_result::{Error, ResultFolder};
use flashscope_stats::{Estimate, mean_of_repeats, quantile_interval};
use flashscope_workload::job::JobPlaces;
use flashscope_workload::pattern::{Address, Reference};
use serde_json::Value;

use super::Subject;
use super::name::{InFlight, What, WorkloadName};

/// The degrees of freedom of an interval by batch means, which has at least 32 batches once there are enough data.
const BATCH_FREEDOM: f64 = 31.0;

/// Minimum number of response times beyond a percentile for its interval. With fewer, the interval of one run misses
/// the differences between runs. All of 40 drives compared with themselves at 1024 IOs a run had a false verdict about
/// a percentile.
const MIN_TAIL_VALUES: f64 = 32.0;

/// Maximum number of response times to read for the intervals of percentiles.
const MAX_VALUES: usize = 1 << 22;

const CONFIDENCE: f64 = 0.95;

const PERCENTILES: [(Quantity, f64); 3] =
    [(Quantity::MedianLatency, 0.5), (Quantity::P99Latency, 0.99), (Quantity::P999Latency, 0.999)];

/// A number with its 95 % interval, and the degrees of freedom of the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub value: Estimate,
    pub freedom: f64,
}

/// The quantities of a workload in one result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WorkloadNumbers {
    pub name: WorkloadName,
    pub numbers: Vec<(Quantity, Number)>,
    /// The target space, if the workload is random and its space is known.
    pub space: Option<Bytes>,
}

/// Returns the numbers of a result, by workload.
pub(super) fn of(subject: &Subject<'_>) -> Result<Vec<WorkloadNumbers>, Error> {
    Ok(match *subject {
        Subject::Measurement { manifest, facts, folder } => measured(manifest, facts, folder)?,
        Subject::Simulation(simulation) => simulated(simulation),
        Subject::WhatIf { variant, repeats } => what_if(variant, repeats),
        Subject::Prediction(report) => predicted(report),
        Subject::TwinPrediction(prediction) => of_twin(prediction),
    })
}

impl Number {
    fn batch(value: Estimate) -> Number {
        Number { value, freedom: BATCH_FREEDOM }
    }

    fn alone(value: f64) -> Number {
        Number::batch(Estimate::symmetric(value, None))
    }

    /// Returns the mean over repeated runs.
    fn repeated(values: &[f64]) -> Option<Number> {
        #[allow(clippy::cast_precision_loss, reason = "a few runs")]
        let freedom = values.len().saturating_sub(1) as f64;
        Some(Number { value: mean_of_repeats(values)?, freedom })
    }

    /// Returns the number with the interval at 95 % instead of `level`. Assumes a normally distributed error.
    fn at_level(value: f64, low: f64, high: f64, level: f64) -> Number {
        Number { value: Estimate::at_level(value, low, high, level), freedom: f64::INFINITY }
    }
}

/// Runs of the same pattern.
struct Group<'a> {
    name: WorkloadName,
    runs: Vec<&'a Run>,
    space: Option<Bytes>,
}

fn measured(
    manifest: &Manifest,
    facts: &Facts,
    folder: Option<&ResultFolder>,
) -> Result<Vec<WorkloadNumbers>, Error> {
    let mut all = Vec::new();
    for group in groups(manifest, facts) {
        let of_run = |run: &&Run| facts.runs.iter().find(|facts| facts.run == run.id);
        let runs: Vec<(&Run, &RunFacts)> =
            group.runs.iter().filter_map(|run| Some((*run, of_run(run)?))).collect();
        if runs.is_empty() {
            continue;
        }
        let mut whole = numbers_of_runs(&runs, folder, !runs[0].1.operations.is_empty())?;
        without_percentiles_of_means(manifest, &mut whole);
        let (name, space) = (group.name, group.space);
        for op in Op::ALL {
            let parts = runs.iter().filter_map(|(_, facts)| {
                facts.operations.iter().find(|part| part.op == op).map(|part| part.latency_ns)
            });
            let parts: Vec<Latency> = parts.collect();
            if parts.len() == runs.len() {
                let mut numbers = latencies(&parts);
                without_percentiles_of_means(manifest, &mut numbers);
                all.push(WorkloadNumbers { name: name.part(op), numbers, space });
            }
        }
        all.push(WorkloadNumbers { name, numbers: whole, space });
    }
    Ok(all)
}

/// Removes the percentiles of a result whose records hold means of windows: these are not percentiles of IOs.
fn without_percentiles_of_means(manifest: &Manifest, numbers: &mut Vec<(Quantity, Number)>) {
    if manifest.imported.as_ref().is_some_and(|imported| imported.window_ns.is_some()) {
        numbers.retain(|(of, _)| PERCENTILES.iter().all(|(percentile, _)| percentile != of));
    }
}

/// The numbers of a pattern with one IO size and one number of IOs in flight.
pub(crate) struct DepthNumbers {
    /// The class of the pattern, such as `random writes`.
    pub class: String,
    pub size: Bytes,
    pub depth: u32,
    pub runs: Vec<u32>,
    pub numbers: Vec<(Quantity, Estimate)>,
}

/// Returns the numbers of the patterns of one operation, by their IOs in flight. Concurrent sequential streams have an IO in flight
/// each.
pub(crate) fn by_depth(manifest: &Manifest, facts: &Facts) -> Vec<DepthNumbers> {
    let of_group = |group: Group| {
        let What::Pattern { size, .. } = group.name.what else { return None };
        let class = group.name.what.class()?;
        let depth = match group.name.in_flight? {
            InFlight::Depth(depth) => depth,
            InFlight::Streams(streams) => streams.into(),
            InFlight::OpenLoop | InFlight::WhatIf => return None,
        };
        let of_run = |run: &&Run| facts.runs.iter().find(|facts| facts.run == run.id);
        let runs: Vec<(&Run, &RunFacts)> =
            group.runs.iter().filter_map(|run| Some((*run, of_run(run)?))).collect();
        if runs.is_empty() {
            return None;
        }
        let numbers = numbers_of_runs(&runs, None, false).ok()?;
        let numbers = numbers.into_iter().map(|(quantity, number)| (quantity, number.value));
        let (ids, numbers) = (runs.iter().map(|(run, _)| run.id).collect(), numbers.collect());
        Some(DepthNumbers { class, size, depth, runs: ids, numbers })
    };
    groups(manifest, facts).into_iter().filter_map(of_group).collect()
}

/// Returns the runs whose records the numbers of a measurement need: patterns that ran once.
pub(super) fn runs_to_read(manifest: &Manifest, facts: &Facts) -> Vec<u32> {
    let groups = groups(manifest, facts);
    groups
        .iter()
        .filter_map(|group| if let [run] = &group.runs[..] { Some(run.id) } else { None })
        .collect()
}

/// Groups the runs of a benchmark by pattern. A pattern that runs in several experiments counts once: in the experiment with the
/// largest target space, and in the first of those. The preparation comes first and has the longest runs.
fn groups<'a>(manifest: &'a Manifest, facts: &Facts) -> Vec<Group<'a>> {
    let find = |id: &u32| manifest.runs().find(|run| run.id == *id);
    let rounds = facts.rounds.iter().flat_map(|rounds| &rounds.cells);
    let cells = rounds.map(|cell| cell.runs.iter().filter_map(find).collect::<Vec<_>>());
    let experiments = manifest.micro_benchmarks.iter().flat_map(|one| &one.experiments);
    let by_value = experiments.flat_map(|one| one.runs.chunk_by(|a, b| a.value == b.value));
    let by_value = by_value.map(|runs| runs.iter().collect::<Vec<_>>());
    let candidates: Vec<Vec<&Run>> = match facts.rounds {
        Some(_) => cells.collect(),
        None => by_value.collect(),
    };
    let mut groups: Vec<Group> = Vec::new();
    for mut runs in candidates {
        runs.retain(|run| matches!(run.progress, Progress::Done { .. }));
        let Some(first) = runs.first() else { continue };
        let Some(name) = WorkloadName::of_run(&first.reference) else { continue };
        let space = space(&first.reference);
        match groups.iter_mut().find(|group| group.name == name) {
            None => groups.push(Group { name, runs, space }),
            Some(group) if group.space < space => *group = Group { name, runs, space },
            Some(_) => {}
        }
    }
    groups
}

/// Returns the target space of random IOs, on which their cost depends.
fn space(reference: &Reference) -> Option<Bytes> {
    if let Reference::Jobs { jobs, .. } = reference {
        let [job] = &jobs[..] else { return None };
        return (job.places != JobPlaces::Sequential).then_some(job.target_size);
    }
    let patterns = reference.patterns();
    let pattern = patterns.first().filter(|pattern| pattern.address == Address::Random)?;
    Some(pattern.target_size)
}

fn numbers_of_runs(
    runs: &[(&Run, &RunFacts)],
    folder: Option<&ResultFolder>,
    has_parts: bool,
) -> Result<Vec<(Quantity, Number)>, Error> {
    let latency: Vec<Latency> = runs.iter().map(|(_, facts)| facts.latency_ns).collect();
    let mut numbers = latencies(&latency);
    if let ([(run, _)], Some(folder)) = (runs, folder) {
        percentiles(folder, run, &mut numbers)?;
    }
    let is_open_loop = runs.iter().any(|(run, _)| run.reference.is_open_loop());
    if !is_open_loop {
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 IOs")]
        let iops =
            |(_, facts): &(&Run, &RunFacts)| facts.ios as f64 / facts.duration_ns.as_secs_f64();
        let throughput = |(_, facts): &(&Run, &RunFacts)| facts.throughput_bytes_per_s;
        let rates = |rate: &dyn Fn(&(&Run, &RunFacts)) -> f64| {
            let rates: Vec<f64> = runs.iter().map(rate).collect();
            rate_number(&rates, numbers[0].1)
        };
        let rates =
            [(Quantity::IosPerSecond, rates(&iops)), (Quantity::Throughput, rates(&throughput))];
        numbers.extend(rates.into_iter().filter_map(|(of, number)| Some((of, number?))));
    }
    // The latency over all IOs of a mix depends on the shares of its operations. Only its parts are compared.
    if has_parts {
        numbers.retain(|(quantity, _)| {
            matches!(quantity, Quantity::IosPerSecond | Quantity::Throughput)
        });
    }
    Ok(numbers)
}

/// Returns a rate. In a closed loop, the rate is the IOs in flight over the mean latency (Little's law). Its relative
/// interval is therefore that of the mean latency.
fn rate_number(rates: &[f64], mean: Number) -> Option<Number> {
    let [rate] = rates else { return Number::repeated(rates) };
    let end =
        |end: Option<f64>| end.filter(|end| *end > 0.0).map(|end| rate * mean.value.value / end);
    let value = Estimate { value: *rate, low: end(mean.value.high), high: end(mean.value.low) };
    rate.is_finite().then_some(Number { value, ..mean })
}

/// Returns the latencies of runs of the same pattern. The percentiles of a single run have no interval yet.
#[allow(clippy::cast_precision_loss, reason = "nanoseconds")]
fn latencies(runs: &[Latency]) -> Vec<(Quantity, Number)> {
    let of = |number: &dyn Fn(&Latency) -> f64| match runs {
        [one] => Some(Number::alone(number(one))),
        _ => Number::repeated(&runs.iter().map(number).collect::<Vec<_>>()),
    };
    let mean = match runs {
        [one] => Some(Number::batch(one.mean)),
        _ => of(&|one| one.mean.value),
    };
    let all = [
        (Quantity::MeanLatency, mean),
        (Quantity::MedianLatency, of(&|one| one.p50 as f64)),
        (Quantity::P99Latency, of(&|one| one.p99 as f64)),
        (Quantity::P999Latency, of(&|one| one.p999 as f64)),
    ];
    all.into_iter().filter_map(|(quantity, number)| Some((quantity, number?))).collect()
}

/// Adds the intervals of the percentiles of a run, from its records.
fn percentiles(
    folder: &ResultFolder,
    run: &Run,
    numbers: &mut [(Quantity, Number)],
) -> Result<(), Error> {
    if run.progress.ios() > MAX_VALUES as u64 {
        return Ok(());
    }
    let mut values = Vec::new();
    let mut left = run.reference.io_ignore();
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds")]
    folder.records(run)?.for_each(|record| match left {
        0 if record.result.is_ok() => values.push(record.latency.0 as f64),
        0 => {}
        _ => left -= 1,
    })?;
    let period = run.length.map_or(1, |length| usize::try_from(length.period_ios).unwrap_or(1));
    #[allow(clippy::cast_precision_loss, reason = "at most MAX_VALUES")]
    let enough = |share: &f64| (1.0 - share) * values.len() as f64 >= MIN_TAIL_VALUES;
    for (quantity, share) in PERCENTILES.into_iter().filter(|(_, share)| enough(share)) {
        let interval = quantile_interval(&values, share, period, CONFIDENCE);
        let number = numbers.iter_mut().find(|(of, _)| *of == quantity);
        if let (Some(interval), Some((_, number))) = (interval, number) {
            number.value.low = Some(interval.low);
            number.value.high = Some(interval.high);
        }
    }
    Ok(())
}

fn simulated(simulation: &Simulation<Value>) -> Vec<WorkloadNumbers> {
    let in_flight = match simulation.open_loop {
        true => InFlight::OpenLoop,
        false => InFlight::Depth(simulation.queue_depth),
    };
    let name = WorkloadName::of_spec(&simulation.workload, Some(in_flight));
    let parts = [
        (Op::Read, &simulation.read_latency_ns),
        (Op::Write, &simulation.write_latency_ns),
        (Op::Trim, &simulation.trim_latency_ns),
    ];
    let parts: Vec<(Op, &LatencyNs)> =
        parts.into_iter().filter_map(|(op, latency)| Some((op, latency.as_ref()?))).collect();
    let space = Some(simulation.drive.capacity);
    let mut all: Vec<WorkloadNumbers> = match &parts[..] {
        [(_, one)] => vec![WorkloadNumbers { name: name.clone(), numbers: of_latency(one), space }],
        _ => parts
            .iter()
            .map(|(op, one)| WorkloadNumbers {
                name: name.part(*op),
                numbers: of_latency(one),
                space,
            })
            .collect(),
    };
    let rates = simulation.ios_per_second.filter(|_| !simulation.open_loop);
    if let (Some(rate), Some(latency)) = (rates, &simulation.latency_ns) {
        let mean = Number::batch(latency.mean);
        let bytes = simulation.bytes_read + simulation.bytes_written;
        #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 bytes")]
        let throughput = bytes.0 as f64 / simulation.simulated_ns.as_secs_f64();
        let rates = [(Quantity::IosPerSecond, rate), (Quantity::Throughput, throughput)];
        let numbers =
            rates.into_iter().filter_map(|(of, rate)| Some((of, rate_number(&[rate], mean)?)));
        let numbers: Vec<_> = numbers.collect();
        match all.iter_mut().find(|one| one.name == name) {
            Some(whole) => whole.numbers.extend(numbers),
            None => all.push(WorkloadNumbers { name: name.clone(), numbers, space }),
        }
    }
    if let Some(value) = simulation.write_amplification {
        let numbers = vec![(Quantity::WriteAmplification, Number::alone(value))];
        all.push(WorkloadNumbers { name: name.at_any_depth(), numbers, space });
    }
    all
}

#[allow(clippy::cast_precision_loss, reason = "nanoseconds")]
fn of_latency(latency: &LatencyNs) -> Vec<(Quantity, Number)> {
    vec![
        (Quantity::MeanLatency, Number::batch(latency.mean)),
        (Quantity::MedianLatency, Number::alone(latency.p50 as f64)),
        (Quantity::P99Latency, Number::alone(latency.p99 as f64)),
        (Quantity::P999Latency, Number::alone(latency.p999 as f64)),
    ]
}

fn what_if(variant: &Variant, repeats: u32) -> Vec<WorkloadNumbers> {
    let name = WorkloadName::of_spec(&variant.workload, Some(InFlight::WhatIf));
    let freedom = f64::from(repeats.saturating_sub(1));
    let numbers = variant.simulated.iter();
    let numbers = numbers.map(|one| (one.quantity, Number { value: one.value, freedom }));
    let (at_any_depth, numbers): (Vec<_>, Vec<_>) =
        numbers.partition(|(quantity, _)| *quantity == Quantity::WriteAmplification);
    let of = |(name, numbers)| WorkloadNumbers { name, numbers, space: None };
    [(name.at_any_depth(), at_any_depth), (name, numbers)].map(of).into()
}

fn predicted(report: &PredictionReport) -> Vec<WorkloadNumbers> {
    let Some(predicted) = report.write_amplification else { return vec![] };
    let level = report.validation.level;
    let number = match predicted.interval {
        Some(interval) => Number::at_level(predicted.value, interval.low, interval.high, level),
        None => Number::alone(predicted.value),
    };
    let name = WorkloadName::of_spec(&report.workload, None);
    vec![WorkloadNumbers {
        name,
        numbers: vec![(Quantity::WriteAmplification, number)],
        space: None,
    }]
}

fn of_twin(prediction: &TwinPrediction) -> Vec<WorkloadNumbers> {
    let in_flight = match prediction.queue_depth_from {
        // The queue depth of an open loop is an average.
        DepthSource::Workload if prediction.workload.contains("rate=") => InFlight::OpenLoop,
        _ => InFlight::Depth(prediction.queue_depth),
    };
    let name = WorkloadName::of_spec(&prediction.workload, Some(in_flight));
    let number =
        |range: Range| Number::at_level(range.value, range.low, range.high, prediction.confidence);
    let latency = &prediction.latency_ns;
    let numbers = vec![
        (Quantity::MeanLatency, number(latency.mean)),
        (Quantity::MedianLatency, number(latency.p50)),
        (Quantity::P99Latency, number(latency.p99)),
        (Quantity::P999Latency, number(latency.p999)),
        (Quantity::Throughput, number(prediction.bytes_per_second)),
    ];
    let identified =
        prediction.write_amplification.filter(|_| prediction.is_amplification_identified);
    let amplified = identified.map(|range| WorkloadNumbers {
        name: name.at_any_depth(),
        numbers: vec![(Quantity::WriteAmplification, number(range))],
        space: None,
    });
    let timed = WorkloadNumbers { name, numbers, space: Some(prediction.filled) };
    std::iter::once(timed).chain(amplified).collect()
}
