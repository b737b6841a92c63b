use flashscope_block::{DeviceKind, Nanos};
use flashscope_document::Manifest;
use flashscope_document::manifest::{Experiment, MicroBenchmark, Progress, Run, State};
use flashscope_document::rounds::Rounds;
use flashscope_stats::Steadiness;
use flashscope_workload::pattern::Reference;

use flashscope_document::facts::{Cell, RoundsFacts, RunFacts, TrackedValue};

/// Returns the report of a test in rounds; `None` if there is no such test, or no complete round.
pub(crate) fn rounds_facts(manifest: &Manifest, runs: &[RunFacts]) -> Option<RoundsFacts> {
    let (rule, test) = manifest.rounds()?;
    let rounds = whole_rounds(test);
    if rounds == 0 {
        return None;
    }
    let tracked: Vec<(&String, Vec<Option<f64>>)> =
        rule.tracked.iter().map(|name| (name, manifest.tracked_values(name))).collect();
    let steady_in = |round: &u32| {
        let within = |(_, values): &(_, Vec<Option<f64>>)| {
            window(values, *round, rule).is_some_and(|w| w.is_within(rule.range, rule.slope))
        };
        !tracked.is_empty() && tracked.iter().all(within)
    };
    // For a test that continues when steady: the first round of its final steady phase.
    let steady_round = (1..=rounds).rev().take_while(steady_in).last();
    let last = if rule.until_steady { steady_round.unwrap_or(rounds) } else { rounds };
    let first = if rule.until_steady { (last + 1).saturating_sub(rule.window).max(1) } else { 1 };
    Some(RoundsFacts {
        test: test.name.clone(),
        rounds,
        window: [first, last],
        steady: steady_round.is_some(),
        steady_round,
        tracked: tracked
            .into_iter()
            .map(|(name, values)| tracked_facts(name, values, last, rule))
            .collect(),
        cells: test.experiments.iter().filter_map(|e| cell(e, [first, last], runs)).collect(),
        deviations: deviations(manifest, rule),
    })
}

/// Returns the number of completed rounds.
fn whole_rounds(test: &MicroBenchmark) -> u32 {
    let ended =
        |run: &&Run| matches!(run.progress, Progress::Done { .. } | Progress::Failed { .. });
    // Runs that are impossible on the drive belong to no round.
    let counts = test.experiments.iter().filter_map(|e| {
        let possible = e.runs.first().is_some_and(|run| run.progress.ios() > 0);
        possible.then(|| e.runs.iter().take_while(ended).count())
    });
    u32::try_from(counts.min().unwrap_or(0)).unwrap_or(u32::MAX)
}

/// Returns the steadiness of the values over the window that ends with `round`.
fn window(values: &[Option<f64>], round: u32, rule: &Rounds) -> Option<Steadiness> {
    Steadiness::of(&rule.window_of(values, round)?)
}

fn tracked_facts(
    experiment: &str,
    values: Vec<Option<f64>>,
    round: u32,
    rule: &Rounds,
) -> TrackedValue {
    let found = window(&values, round, rule);
    TrackedValue {
        experiment: experiment.into(),
        metric: rule.metric,
        mean: found.map(|found| found.mean),
        range: found.map(|found| found.range / found.mean),
        slope: found.map(|found| found.rise / found.mean),
        range_limit: rule.range,
        slope_limit: rule.slope,
        steady: found.is_some_and(|found| found.is_within(rule.range, rule.slope)),
        values,
    }
}

/// Returns the means of an experiment over rounds `first` to `last`; `None` if nothing was
/// measured.
#[allow(clippy::cast_precision_loss)]
fn cell(experiment: &Experiment, [first, last]: [u32; 2], runs: &[RunFacts]) -> Option<Cell> {
    let Reference::Blend { pattern, reads_percent, queue_depth, .. } =
        &experiment.runs.first()?.reference
    else {
        return None;
    };
    let counts = |run: &&Run| (first.into()..=last.into()).contains(&run.value);
    let facts = |run: &Run| runs.iter().find(|facts| facts.run == run.id);
    let found: Vec<&RunFacts> = experiment.runs.iter().filter(counts).filter_map(facts).collect();
    let count = found.len() as f64;
    let mean =
        |value: fn(&RunFacts) -> f64| found.iter().map(|facts| value(facts)).sum::<f64>() / count;
    (!found.is_empty()).then(|| Cell {
        experiment: experiment.name.clone(),
        reads_percent: *reads_percent,
        io_size_bytes: pattern.io_size,
        queue_depth: *queue_depth,
        runs: found.iter().map(|facts| facts.run).collect(),
        iops: mean(|facts| facts.ios as f64 / facts.duration_ns.as_secs_f64().max(1e-9)),
        throughput_bytes_per_s: mean(|facts| facts.throughput_bytes_per_s),
        mean_latency_ns: mean(|facts| facts.latency_ns.mean.value),
        max_latency_ns: found.iter().map(|facts| facts.latency_ns.max).max().unwrap_or(0),
    })
}

/// Returns the deviations from the specification of a test, as text.
fn deviations(manifest: &Manifest, rule: &Rounds) -> Vec<String> {
    let options = &manifest.options;
    let mut found = Vec::new();
    if options.state != State::Purged {
        found.push("the drive was not purged first".into());
    }
    if rule.round_ns != rule.specified_round_ns {
        let (is, specified) = (rule.round_ns, rule.specified_round_ns);
        found.push(format!("each run took {is} instead of {specified}"));
    }
    let (used, capacity) = (options.setup.target_size, manifest.device.capacity);
    if used < capacity {
        found.push(format!("{used} of {capacity} were used"));
    }
    if options.run_pause_ns > Nanos(0) {
        found.push(format!("the drive was idle for {} between runs", options.run_pause_ns));
    }
    // Resuming a test does not affect a simulated drive.
    if !manifest.resumed.is_empty() && manifest.device.kind != DeviceKind::Sim {
        found.push(format!("it was interrupted and resumed {} times", manifest.resumed.len()));
    }
    let test = manifest.rounds().map(|(_, test)| test);
    let impossible = test.into_iter().flat_map(|test| &test.experiments).find_map(|e| {
        match &e.runs.first()?.progress {
            Progress::Skipped { reason } => Some(format!("{} was not run: {reason}", e.name)),
            _ => None,
        }
    });
    found.extend(impossible);
    let failed = manifest.runs().filter(|run| matches!(run.progress, Progress::Failed { .. }));
    match failed.count() {
        0 => {}
        count => found.push(format!("{count} runs were ended by an IO error")),
    }
    found
}
