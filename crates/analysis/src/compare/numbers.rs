use flashscope_block::{Bytes, Op};
use flashscope_document::facts::{Facts, Latency, RunFacts};
use flashscope_document::manifest::{Progress, Run};
use flashscope_document::prediction::PredictionReport;
use flashscope_document::twin::{DepthSource, Range, TwinPrediction};
use flashscope_document::what_if::{Quantity, Variant};
use flashscope_document::{LatencyNs, Manifest, Simulation};
use flashscope_stats::{Estimate, Spread, mean_of_repeats};
use flashscope_workload::job::JobAddresses;
use flashscope_workload::pattern::{Address, Reference};
use serde_json::Value;

use super::name::{InFlight, What, WorkloadName};

/// The degrees of freedom of an interval by batch means, which has at least 32 batches once there
/// are enough data.
const BATCH_FREEDOM: f64 = 31.0;

/// Student's quantile of 95 % intervals with these degrees of freedom.
const BATCH_QUANTILE: f64 = 2.04;

pub(super) const PERCENTILES: [Quantity; 3] =
    [Quantity::MedianLatency, Quantity::P99Latency, Quantity::P999Latency];

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
    /// The counted IOs of a run, for a measurement.
    pub window: Option<Window>,
}

/// The values of the runs of a workload.
pub(super) struct RepeatedWorkload {
    pub name: WorkloadName,
    /// The value of each run, by quantity.
    pub quantities: Vec<(Quantity, Vec<f64>)>,
    /// The target space, if the workload is random and its space is known.
    pub space: Option<Bytes>,
    /// The counted IOs of a run.
    pub window: Window,
    /// The error of the mean response time of a run, from the response times within it.
    pub within: Option<Spread>,
}

/// The IOs of a run that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// The number of IOs ignored at the start.
    pub ignored: u64,
    /// The number of IOs after them.
    pub ios: u64,
}

impl Window {
    fn of(facts: &RunFacts) -> Window {
        Window { ignored: facts.ignored, ios: facts.ios }
    }

    /// Returns the number of the first IO after the window.
    pub(super) fn end(self) -> u64 {
        self.ignored + self.ios
    }

    /// Returns true if both windows show the same phase of a run: their starts differ by at most a
    /// tenth of the shorter one. The cost of writes grows as free blocks run out, so their ends
    /// must agree, too.
    pub(super) fn agrees_with(self, other: Window, writes: bool) -> bool {
        let tolerance = self.ios.min(other.ios) / 10;
        let is_near = |a: u64, b: u64| a.abs_diff(b) <= tolerance;
        is_near(self.ignored, other.ignored) && (!writes || is_near(self.end(), other.end()))
    }
}

impl Number {
    fn batch(value: Estimate) -> Number {
        Number { value, freedom: BATCH_FREEDOM }
    }

    pub(super) fn alone(value: f64) -> Number {
        Number::batch(Estimate::symmetric(value, None))
    }

    /// Returns the number with the interval at 95 % instead of `level`. Assumes a normally
    /// distributed error.
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

impl<'a> Group<'a> {
    /// Returns the runs that have facts.
    fn with_facts(&self, facts: &'a Facts) -> Vec<(&'a Run, &'a RunFacts)> {
        let of_run = |run: &Run| facts.runs.iter().find(|facts| facts.run == run.id);
        self.runs.iter().filter_map(|run| Some((*run, of_run(run)?))).collect()
    }
}

/// Returns the values of each run, by workload.
pub(super) fn measured(manifest: &Manifest, facts: &Facts) -> Vec<RepeatedWorkload> {
    let mut all = Vec::new();
    for group in groups(manifest, facts) {
        let runs = group.with_facts(facts);
        if runs.is_empty() {
            continue;
        }
        let (name, space, window) = (group.name, group.space, Window::of(runs[0].1));
        for op in Op::ALL {
            let parts = runs.iter().filter_map(|(_, facts)| {
                facts.operations.iter().find(|part| part.op == op).map(|part| part.latency_ns)
            });
            let parts: Vec<Latency> = parts.collect();
            if parts.len() == runs.len() {
                let quantities = latencies(&parts);
                let within = within(&parts);
                all.push(RepeatedWorkload {
                    name: name.part(op),
                    quantities,
                    space,
                    window,
                    within,
                });
            }
        }
        // The latency over all IOs of a mix depends on the shares of its operations. Only its parts
        // are compared.
        let mut quantities = Vec::new();
        let latency: Vec<Latency> = runs.iter().map(|(_, facts)| facts.latency_ns).collect();
        if runs[0].1.operations.is_empty() {
            quantities.extend(latencies(&latency));
        }
        let within = within(&latency);
        quantities.extend(rates(&runs));
        all.push(RepeatedWorkload { name, quantities, space, window, within });
    }
    if manifest.imported.as_ref().is_some_and(|imported| imported.window_ns.is_some()) {
        // Percentiles of means of windows are not percentiles of IOs.
        for workload in &mut all {
            workload.quantities.retain(|(quantity, _)| !PERCENTILES.contains(quantity));
        }
    }
    all
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

/// Returns the numbers of the patterns of one operation, by their IOs in flight. Concurrent
/// sequential streams have an IO in flight each.
pub(crate) fn by_depth(manifest: &Manifest, facts: &Facts) -> Vec<DepthNumbers> {
    let of_group = |group: Group| {
        let What::Pattern { size, .. } = group.name.what else { return None };
        let class = group.name.what.class()?;
        let depth = match group.name.in_flight.as_ref()? {
            InFlight::Depth(depth) => *depth,
            InFlight::Streams(streams) => (*streams).into(),
            InFlight::OpenLoop | InFlight::WhatIf => return None,
        };
        let runs = group.with_facts(facts);
        if runs.is_empty() {
            return None;
        }
        let numbers = numbers_alone(&runs).into_iter();
        let (ids, numbers) = (runs.iter().map(|(run, _)| run.id).collect(), numbers.collect());
        Some(DepthNumbers { class, size, depth, runs: ids, numbers })
    };
    groups(manifest, facts).into_iter().filter_map(of_group).collect()
}

/// Groups the runs of a benchmark by pattern. A pattern that runs in several experiments counts
/// once: in the experiment with the largest target space, and in the first of those. The
/// preparation comes first and has the longest runs.
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
        return (job.places != JobAddresses::Sequential).then_some(job.target_size);
    }
    let patterns = reference.patterns();
    let pattern = patterns.first().filter(|pattern| pattern.address == Address::Random)?;
    Some(pattern.target_size)
}

/// Returns the numbers of runs of the same pattern, without regard to other patterns. The interval
/// of a single run comes from its IOs.
fn numbers_alone(runs: &[(&Run, &RunFacts)]) -> Vec<(Quantity, Estimate)> {
    let latency: Vec<Latency> = runs.iter().map(|(_, facts)| facts.latency_ns).collect();
    let all = [latencies(&latency), rates(runs)].concat();
    let of = |(quantity, values): (Quantity, Vec<f64>)| {
        let ([one], [(_, facts)]) = (&values[..], runs) else {
            return Some((quantity, mean_of_repeats(&values)?));
        };
        let mean = facts.latency_ns.mean;
        let number = match quantity {
            Quantity::MeanLatency => mean,
            _ if PERCENTILES.contains(&quantity) => Estimate::symmetric(*one, None),
            _ => rate_number(*one, Number::batch(mean))?.value,
        };
        Some((quantity, number))
    };
    all.into_iter().filter_map(of).collect()
}

/// Returns the rates of each run; none in an open loop, whose workload sets them.
fn rates(runs: &[(&Run, &RunFacts)]) -> Vec<(Quantity, Vec<f64>)> {
    if runs.iter().any(|(run, _)| run.reference.is_open_loop()) {
        return vec![];
    }
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 IOs")]
    let iops = |(_, facts): &(&Run, &RunFacts)| facts.ios as f64 / facts.duration_ns.as_secs_f64();
    let throughput = |(_, facts): &(&Run, &RunFacts)| facts.throughput_bytes_per_s;
    vec![
        (Quantity::IosPerSecond, runs.iter().map(iops).collect()),
        (Quantity::Throughput, runs.iter().map(throughput).collect()),
    ]
}

/// Returns the mean relative variance of the means of runs, from the response times within each;
/// `None` if a run has no interval.
fn within(runs: &[Latency]) -> Option<Spread> {
    let variance = |run: &Latency| {
        let error = run.mean.half_width()? / BATCH_QUANTILE / run.mean.value;
        Some(error.powi(2))
    };
    let variances: Option<Vec<f64>> = runs.iter().map(variance).collect();
    Some(Spread { variance: mean_of_repeats(&variances?)?.value, freedom: BATCH_FREEDOM })
}

/// Returns a rate. In a closed loop, the rate is the IOs in flight over the mean latency (Little's
/// law). Its relative interval is therefore that of the mean latency.
fn rate_number(rate: f64, mean: Number) -> Option<Number> {
    let end =
        |end: Option<f64>| end.filter(|end| *end > 0.0).map(|end| rate * mean.value.value / end);
    let value = Estimate { value: rate, low: end(mean.value.high), high: end(mean.value.low) };
    rate.is_finite().then_some(Number { value, ..mean })
}

/// Returns the latencies of each run.
#[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns")]
fn latencies(runs: &[Latency]) -> Vec<(Quantity, Vec<f64>)> {
    let of = |number: &dyn Fn(&Latency) -> f64| runs.iter().map(number).collect();
    vec![
        (Quantity::MeanLatency, of(&|one| one.mean.value)),
        (Quantity::MedianLatency, of(&|one| one.p50 as f64)),
        (Quantity::P99Latency, of(&|one| one.p99 as f64)),
        (Quantity::P999Latency, of(&|one| one.p999 as f64)),
    ]
}

pub(super) fn simulated(simulation: &Simulation<Value>) -> Vec<WorkloadNumbers> {
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
    let is_random = matches!(name.what, What::Pattern { is_random: true, .. });
    let space = is_random.then_some(simulation.drive.capacity);
    let mut all: Vec<WorkloadNumbers> = match &parts[..] {
        [(_, one)] => vec![WorkloadNumbers {
            name: name.clone(),
            numbers: of_latency(one),
            space,
            window: None,
        }],
        _ => parts
            .iter()
            .map(|(op, one)| WorkloadNumbers {
                name: name.part(*op),
                numbers: of_latency(one),
                space,
                window: None,
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
            rates.into_iter().filter_map(|(of, rate)| Some((of, rate_number(rate, mean)?)));
        let numbers: Vec<_> = numbers.collect();
        match all.iter_mut().find(|one| one.name == name) {
            Some(whole) => whole.numbers.extend(numbers),
            None => {
                all.push(WorkloadNumbers { name: name.clone(), numbers, space, window: None });
            }
        }
    }
    if let Some(value) = simulation.write_amplification {
        let numbers = vec![(Quantity::WriteAmplification, Number::alone(value))];
        all.push(WorkloadNumbers { name: name.at_any_depth(), numbers, space, window: None });
    }
    all
}

#[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns")]
fn of_latency(latency: &LatencyNs) -> Vec<(Quantity, Number)> {
    vec![
        (Quantity::MeanLatency, Number::batch(latency.mean)),
        (Quantity::MedianLatency, Number::alone(latency.p50 as f64)),
        (Quantity::P99Latency, Number::alone(latency.p99 as f64)),
        (Quantity::P999Latency, Number::alone(latency.p999 as f64)),
    ]
}

pub(super) fn what_if(variant: &Variant, repeats: u32) -> Vec<WorkloadNumbers> {
    let name = WorkloadName::of_spec(&variant.workload, Some(InFlight::WhatIf));
    let freedom = f64::from(repeats.saturating_sub(1));
    let numbers = variant.simulated.iter();
    let numbers = numbers.map(|one| (one.quantity, Number { value: one.value, freedom }));
    let (at_any_depth, numbers): (Vec<_>, Vec<_>) =
        numbers.partition(|(quantity, _)| *quantity == Quantity::WriteAmplification);
    let of = |(name, numbers)| WorkloadNumbers { name, numbers, space: None, window: None };
    [(name.at_any_depth(), at_any_depth), (name, numbers)].map(of).into()
}

pub(super) fn predicted(report: &PredictionReport) -> Vec<WorkloadNumbers> {
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
        window: None,
    }]
}

pub(super) fn of_twin(prediction: &TwinPrediction) -> Vec<WorkloadNumbers> {
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
        window: None,
    });
    let timed = WorkloadNumbers { name, numbers, space: Some(prediction.filled), window: None };
    std::iter::once(timed).chain(amplified).collect()
}
