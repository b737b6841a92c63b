use flashscope_block::{Bytes, DeviceInfo};
use flashscope_document::manifest::{Experiment, MicroBenchmark, Options, Progress, Run};
use flashscope_document::methodology::Methodology;
use flashscope_workload::pattern::{Address, Pattern, Reference};
use flashscope_workload::seed_for;
use flashscope_workload::uflip::{self, Unit};

use crate::placement::Placer;

/// The micro-benchmark whose parameter is the size of the target space.
const LOCALITY: &str = "locality";

/// The name of fio's jobs in a plan.
const FIO: &str = "fio";

/// Plans the runs of `benchmarks` on a drive, each with its target space. A run is skipped, with
/// the reason, if the drive cannot do it within the space that the options allow. With `read_only`,
/// runs that write are skipped.
///
/// Sequential writes disturb the state of a drive most. Each run gets a target space that is in the
/// state it needs, and large enough for all of its IOs. When no such space is left, the state is
/// enforced again and the next run begins at the start (uFLIP section 4.1).
pub fn plan(
    benchmarks: &[&uflip::MicroBenchmark],
    options: &Options,
    device: &DeviceInfo,
    read_only: bool,
) -> Vec<MicroBenchmark> {
    plan_where(|_, _, _| true, benchmarks, options, device, read_only)
}

/// Plans like [`plan`], with one in `step` values of each parameter, including the first and the
/// last.
pub(crate) fn plan_every(
    step: usize,
    benchmarks: &[&uflip::MicroBenchmark],
    options: &Options,
    device: &DeviceInfo,
    read_only: bool,
) -> Vec<MicroBenchmark> {
    let wanted = |_: &uflip::MicroBenchmark, experiment: &uflip::Experiment, value: i64| {
        let runs = &experiment.runs;
        let at = runs.iter().position(|run| run.value == value);
        at.is_some_and(|at| at.is_multiple_of(step) || at + 1 == runs.len())
    };
    plan_where(wanted, benchmarks, options, device, read_only)
}

/// Plans like [`plan`], with only the runs that `wanted` accepts by their micro-benchmark,
/// experiment and value.
pub fn plan_where(
    wanted: impl Fn(&uflip::MicroBenchmark, &uflip::Experiment, i64) -> bool,
    benchmarks: &[&uflip::MicroBenchmark],
    options: &Options,
    device: &DeviceInfo,
    read_only: bool,
) -> Vec<MicroBenchmark> {
    let setup = &options.setup;
    // Runs must not read or write outside the allowed space.
    let end = device.capacity.min(setup.target_offset + setup.target_size);
    let mut id = 0;
    let mut plan_run = |value: i64, reference: Reference| {
        id += 1;
        let progress = match refusal(&reference, device, end, read_only) {
            Some(reason) => Progress::Skipped { reason },
            None => Progress::Pending,
        };
        Run { progress, ..Run::new(id, value, reference) }
    };
    let mut plan_benchmark = |benchmark: &&uflip::MicroBenchmark| MicroBenchmark {
        name: benchmark.name.into(),
        title: benchmark.title.into(),
        question: benchmark.question.into(),
        parameter: benchmark.parameter.into(),
        unit: benchmark.unit,
        experiments: benchmark
            .experiments(setup)
            .into_iter()
            .map(|experiment| {
                let repeats = repeats(benchmark, &experiment.name, &options.methodology);
                let mut runs = Vec::new();
                for run in
                    experiment.runs.iter().filter(|run| wanted(benchmark, &experiment, run.value))
                {
                    runs.extend((1..=repeats).map(|repeat| Run {
                        repeat,
                        ..plan_run(run.value, repeated(&run.reference, repeat))
                    }));
                }
                Experiment { name: experiment.name, runs }
            })
            .collect(),
    };
    let mut plan: Vec<MicroBenchmark> = benchmarks.iter().map(&mut plan_benchmark).collect();
    place(&mut plan, options);
    plan
}

/// Returns how often the runs of an experiment are done. Preparation runs characterize the drive
/// and are done once. The interference run is done once in each pass over the other runs, and at
/// least twice, to check again how long writes linger.
fn repeats(benchmark: &uflip::MicroBenchmark, name: &str, methodology: &Methodology) -> u32 {
    match benchmark.name == uflip::PREPARATION.name {
        true if name != uflip::INTERFERENCE => 1,
        true if !methodology.finds_run_pause => 1,
        true => methodology.repeats.max(2),
        false => methodology.repeats,
    }
}

/// Returns the reference with other random addresses for repeat `repeat`.
fn repeated(reference: &Reference, repeat: u32) -> Reference {
    let mut reference = reference.clone();
    if repeat > 1 {
        for pattern in reference.patterns_mut() {
            pattern.seed = seed_for(pattern.seed, repeat.into());
        }
    }
    reference
}

/// Assigns target spaces to the runs of a plan in the order of execution, and marks the runs before
/// which the state is enforced again. Call it again if the order of a plan changes.
///
/// The plan assumes that each run has all the IOs that it may have. While a plan is executed,
/// spaces are assigned again according to the actual writes.
pub fn place(plan: &mut [MicroBenchmark], options: &Options) {
    let mut placer = Placer::new(options);
    for id in order(plan) {
        let Some((run, keeps_size)) = find(plan, id) else { continue };
        placer.place(run, keeps_size);
        if run.progress == Progress::Pending {
            placer.executed(run, run.reference.io_count());
        }
    }
}

/// Returns run `id`, and whether the size of its target space is its parameter.
pub(crate) fn find(plan: &mut [MicroBenchmark], id: u32) -> Option<(&mut Run, bool)> {
    plan.iter_mut().find_map(|benchmark| {
        let keeps_size = benchmark.name == LOCALITY;
        let runs = benchmark.experiments.iter_mut().flat_map(|e| &mut e.runs);
        runs.into_iter().find(|run| run.id == id).map(|run| (run, keeps_size))
    })
}

/// Plans a single run that plays the trace of `reference` once.
pub fn trace_plan(reference: Reference) -> Vec<MicroBenchmark> {
    let pace = if reference.is_open_loop() { "timed" } else { "asap" };
    let value = i64::from(reference.in_flight());
    let run = Run::new(1, value, reference);
    vec![MicroBenchmark {
        name: "trace".into(),
        title: "Trace".into(),
        question: "How long does each request of a trace take?".into(),
        parameter: "QueueDepth".into(),
        unit: Unit::Count,
        experiments: vec![Experiment { name: pace.into(), runs: vec![run] }],
    }]
}

/// Plans a run for each group of jobs, in order. Jobs of a group run at the same time.
pub fn jobs_plan(groups: Vec<Reference>, device: &DeviceInfo) -> Vec<MicroBenchmark> {
    let experiment = |(id, reference): (u32, Reference)| {
        let Reference::Jobs { jobs, .. } = &reference else { unreachable!("groups are jobs") };
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let name = names.join(" + ");
        let progress = match refusal(&reference, device, device.capacity, false) {
            Some(reason) => Progress::Skipped { reason },
            None => Progress::Pending,
        };
        let run = Run { progress, ..Run::new(id, i64::from(reference.in_flight()), reference) };
        Experiment { name, runs: vec![run] }
    };
    vec![jobs_benchmark((1..).zip(groups).map(experiment).collect())]
}

/// Returns the micro-benchmark of fio's jobs, with an experiment for each job or group of jobs.
pub fn jobs_benchmark(experiments: Vec<Experiment>) -> MicroBenchmark {
    MicroBenchmark {
        name: FIO.into(),
        title: FIO.into(),
        question: "How long does each IO of a job take?".into(),
        parameter: "QueueDepth".into(),
        unit: Unit::Count,
        experiments,
    }
}

/// Returns the reason if a run is impossible within the space that ends at `end`.
pub(crate) fn refusal(
    reference: &Reference,
    device: &DeviceInfo,
    end: Bytes,
    read_only: bool,
) -> Option<String> {
    if read_only && reference.writes() {
        return Some("it writes, and only reads are allowed".into());
    }
    reference.validate(end, device.logical_block).err().map(|error| error.to_string())
}

/// Returns the numbers of the runs in the order of execution, without skipped ones.
///
/// The preparation comes first, starting with the run that measures the pause and ending with the
/// run that writes sequentially. Then follow the runs that preserve the state, reads first.
/// Last are the runs that disturb the state, because they write in order, or at random in a small
/// area. Within these groups every run is done once before any is repeated, so that repeats show
/// changes over the plan. Blends (the rounds of a test), uniform writes, jobs and traces are
/// executed in the order of their numbers, because they must follow each other.
pub fn order(plan: &[MicroBenchmark]) -> Vec<u32> {
    let mut runs: Vec<(u8, u32, u32)> = Vec::new();
    for benchmark in plan {
        for experiment in &benchmark.experiments {
            for run in &experiment.runs {
                if !matches!(run.progress, Progress::Skipped { .. }) {
                    runs.push((rank(benchmark, &experiment.name, run), run.repeat, run.id));
                }
            }
        }
    }
    runs.sort_unstable();
    runs.into_iter().map(|(_, _, id)| id).collect()
}

/// Returns the group of a run in the order of execution.
fn rank(benchmark: &MicroBenchmark, experiment: &str, run: &Run) -> u8 {
    let in_order = run.reference.patterns().into_iter().any(writes_in_order);
    if benchmark.prepares() && run.repeat == 1 {
        return if experiment == uflip::INTERFERENCE { 0 } else { 1 + u8::from(in_order) };
    }
    let focused = benchmark.name == LOCALITY && run.reference.writes();
    match run.reference {
        Reference::Blend { .. }
        | Reference::Uniform { .. }
        | Reference::Jobs { .. }
        | Reference::Trace { .. } => 3,
        _ if in_order || focused => 5,
        _ => 3 + u8::from(run.reference.writes()),
    }
}

fn writes_in_order(pattern: &Pattern) -> bool {
    pattern.op.modifies() && pattern.address != Address::Random
}

#[cfg(test)]
mod tests {
    use flashscope_block::{DeviceKind, Nanos};
    use flashscope_document::manifest::{OnError, State};
    use flashscope_workload::uflip::Setup;

    use super::*;

    fn device(capacity: Bytes, logical_block: Bytes) -> DeviceInfo {
        DeviceInfo::new(("null:", DeviceKind::Null), (capacity, logical_block), 16)
    }

    fn options(setup: Setup) -> Options {
        Options {
            setup,
            state: State::Random,
            spare: None,
            run_pause_ns: Nanos::secs(1),
            on_error: OnError::Continue,
            methodology: Methodology::default(),
            rounds: None,
            grid: None,
        }
    }

    fn everything(capacity: Bytes, logical_block: Bytes, read_only: bool) -> Vec<MicroBenchmark> {
        let benchmarks: Vec<_> = uflip::all().collect();
        let options = options(Setup::paper(capacity, 1));
        plan(&benchmarks, &options, &device(capacity, logical_block), read_only)
    }

    fn runs(plan: &[MicroBenchmark]) -> impl Iterator<Item = &Run> {
        plan.iter().flat_map(|m| &m.experiments).flat_map(|e| &e.runs)
    }

    #[test]
    fn preparation_runs_first_and_sequential_writes_last() {
        let plan = everything(Bytes::gib(32), Bytes(512), false);
        let order = order(&plan);
        assert_eq!(order.len(), runs(&plan).count());
        let preparation = runs(&plan[..1]).count();
        assert!(order[..preparation].iter().all(|&id| id as usize <= preparation));
        let in_order = |id: &u32| {
            let run = runs(&plan).find(|run| run.id == *id).unwrap();
            run.reference.patterns().into_iter().any(writes_in_order)
        };
        let rest = &order[preparation..];
        let first = rest.iter().position(in_order).unwrap();
        let focused =
            |id: &u32| runs(&plan[3..4]).any(|run| run.id == *id && run.reference.writes());
        assert!(rest[first..].iter().all(|id| in_order(id) || focused(id)));
    }

    #[test]
    fn sequential_writes_are_disjoint_until_the_state_is_enforced_again() {
        let plan = everything(Bytes::gib(512), Bytes(512), false);
        let (mut spaces, mut most) = (Vec::<(u64, u64)>::new(), 0);
        for id in order(&plan) {
            let run = runs(&plan).find(|run| run.id == id).unwrap();
            if run.reset {
                spaces.clear();
            }
            let Reference::Basic { pattern } = &run.reference else { continue };
            // Runs with gaps leave space for others in between.
            if !pattern.op.modifies() || pattern.address != Address::Sequential {
                continue;
            }
            let space = (pattern.target_offset.0, pattern.target_offset.0 + pattern.target_size.0);
            assert!(spaces.iter().all(|other| other.1 <= space.0 || space.1 <= other.0));
            spaces.push(space);
            most = most.max(spaces.len());
        }
        assert!(most > 15, "{most}");
    }

    #[test]
    fn impossible_runs_are_skipped_with_the_reason() {
        for (capacity, block) in [(Bytes::mib(64), Bytes(4096)), (Bytes::mib(3), Bytes(512))] {
            let plan = everything(capacity, block, false);
            let skipped = runs(&plan).filter(|r| matches!(r.progress, Progress::Skipped { .. }));
            assert!(skipped.count() > 5);
            for run in runs(&plan).filter(|r| r.progress == Progress::Pending) {
                assert_eq!(run.reference.validate(capacity, block), Ok(()));
            }
        }
        let small = everything(Bytes::gib(32), Bytes(4096), false);
        let first = &small[1].experiments[0].runs[0];
        let reason = "IOSize = 512 B: must be a multiple of the logical block, 4 KiB".to_string();
        assert_eq!(first.progress, Progress::Skipped { reason });
    }

    #[test]
    fn plans_stay_within_the_target_space() {
        let benchmarks: Vec<_> = uflip::all().collect();
        let (offset, size) = (Bytes::mib(512), Bytes::mib(64));
        let setup = Setup { target_offset: offset, ..Setup::paper(size, 1) };
        let plan = plan(&benchmarks, &options(setup), &device(Bytes::gib(32), Bytes(512)), false);
        let pending = runs(&plan).filter(|r| r.progress == Progress::Pending);
        for pattern in pending.flat_map(|run| run.reference.patterns()) {
            assert!(pattern.target_offset >= offset);
            assert!(pattern.target_offset + pattern.target_size <= offset + size);
        }
        let locality = runs(&plan[3..4]).filter(|r| r.progress != Progress::Pending);
        assert!(locality.count() > 0);
    }

    #[test]
    fn more_processes_than_the_queue_depth_are_planned() {
        let benchmarks = [uflip::find("parallelism").unwrap()];
        let shallow = DeviceInfo { queue_depth: 1, ..device(Bytes::gib(1), Bytes(512)) };
        let options = options(Setup::paper(Bytes::gib(1), 1));
        let plan = plan(&benchmarks, &options, &shallow, false);
        assert!(runs(&plan).all(|run| run.progress == Progress::Pending));
    }

    #[test]
    fn read_only_plans_do_not_write() {
        let plan = everything(Bytes::gib(32), Bytes(512), true);
        let mut pending = runs(&plan).filter(|r| r.progress == Progress::Pending).peekable();
        assert!(pending.peek().is_some());
        assert!(pending.all(|run| !run.reference.writes()));
    }

    // Repeats use other random addresses, and each pass checks again how long writes linger.
    #[test]
    fn all_runs_are_done_once_before_any_repeat() {
        let benchmarks = [uflip::PREPARATION, uflip::find("locality").unwrap()];
        let methodology =
            Methodology { repeats: 3, finds_run_pause: true, ..Methodology::default() };
        let setup = Setup::paper(Bytes::gib(32), 1);
        let options = Options { methodology, ..options(setup) };
        let plan = plan(&benchmarks, &options, &device(Bytes::gib(32), Bytes(512)), false);
        let of = |name: &str| {
            plan[0].experiments.iter().find(|e| e.name == name).map(|e| e.runs.len()).unwrap()
        };
        assert_eq!((of("SR"), of("RW"), of(uflip::INTERFERENCE)), (1, 1, 3));
        let order = order(&plan);
        let run_of = |id: &u32| runs(&plan).find(|run| run.id == *id).unwrap();
        let interference: Vec<u32> = plan[0].experiments[4].runs.iter().map(|run| run.id).collect();
        assert_eq!(order[0], interference[0]);
        let group = |run: &Run| {
            let benchmark = &plan[usize::from(!interference.contains(&run.id))];
            rank(benchmark, uflip::INTERFERENCE, run)
        };
        for pair in order[5..].windows(2) {
            let [a, b] = [run_of(&pair[0]), run_of(&pair[1])];
            assert!(a.repeat <= b.repeat || group(a) < group(b));
        }
        let random = &plan[1].experiments[1].runs;
        let seeds: Vec<u64> = random[..3].iter().map(|r| r.reference.patterns()[0].seed).collect();
        assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2]);
    }

    #[test]
    fn the_state_is_enforced_again_when_no_space_in_it_is_left() {
        let benchmarks = [uflip::find("granularity").unwrap()];
        let runs_that = |capacity, state, is: fn(&Run) -> bool| {
            let options = Options { state, ..options(Setup::paper(capacity, 1)) };
            let plan = plan(&benchmarks, &options, &device(capacity, Bytes(512)), false);
            runs(&plan).filter(|run| is(run)).count()
        };
        assert_eq!(runs_that(Bytes::gib(512), State::Random, |run| run.reset), 0);
        assert!(runs_that(Bytes::mib(300), State::Random, |run| run.reset) > 1);
        // Random writes disturb the sequential state.
        assert!(runs_that(Bytes::gib(32), State::Sequential, |run| run.reset) > 10);
        // If the state cannot be enforced again, the runs list the runs with which they share
        // space.
        assert_eq!(runs_that(Bytes::mib(300), State::Keep, |run| run.reset), 0);
        let shares = |run: &Run| !run.shares_space_with.is_empty();
        assert!(runs_that(Bytes::mib(300), State::Keep, shares) > 1);
        assert_eq!(runs_that(Bytes::mib(300), State::Random, shares), 0);
    }
}
