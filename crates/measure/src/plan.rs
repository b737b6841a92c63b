use flashscope_block::{Bytes, DeviceInfo};
use flashscope_document::manifest::{Experiment, MicroBenchmark, Options, Progress, Run, State};
use flashscope_document::methodology::Methodology;
use flashscope_workload::pattern::{Address, Pattern, Reference};
use flashscope_workload::seed_for;
use flashscope_workload::uflip::{self, Setup, Unit};

/// The alignment of target spaces, a multiple of every usual flash block.
const ALIGNMENT: Bytes = Bytes::mib(1);

/// Plans the runs of `benchmarks` on a drive, each with its target space. A run is skipped, with the reason, if the drive cannot
/// do it within the space that the options allow. With `read_only`, runs that write are skipped.
///
/// Sequential writes disturb the state of a drive most. Each run of a basic or parallel pattern that writes sequentially
/// therefore gets a target space of its own, as long as there is room. When the space is used up, the state is enforced again and
/// the next run begins at the start (uFLIP section 4.1).
pub fn plan(
    benchmarks: &[&uflip::MicroBenchmark],
    options: &Options,
    device: &DeviceInfo,
    read_only: bool,
) -> Vec<MicroBenchmark> {
    plan_where(|_, _, _| true, benchmarks, options, device, read_only)
}

/// Plans like [`plan`], with one in `step` values of each parameter, including the first and the last.
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

/// Plans like [`plan`], with only the runs that `wanted` accepts by their micro-benchmark, experiment and value.
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

/// Returns how often the runs of an experiment are done. Preparation runs characterize the drive and are done once. The
/// interference run repeats with each pass over the other runs, at least once more, to check how long writes linger.
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

/// Assigns target spaces to sequential writes in the order of execution, and marks the runs before which the state is enforced
/// again. Call it again if the order of a plan changes.
pub fn place(plan: &mut [MicroBenchmark], options: &Options) {
    let mut spaces = Spaces::new(&options.setup);
    let order = order(plan);
    let mut runs: Vec<&mut Run> =
        plan.iter_mut().flat_map(|m| &mut m.experiments).flat_map(|e| &mut e.runs).collect();
    // Runs are numbered from 1 in this order.
    for id in order {
        let run = &mut runs[id as usize - 1];
        run.reset = spaces.resets(&run.reference) && options.state != State::Keep;
        spaces.place(&mut run.reference);
    }
}

/// Plans a single run that plays the trace of `reference` once.
pub fn trace_plan(reference: Reference) -> Vec<MicroBenchmark> {
    let pace = if reference.is_open_loop() { "timed" } else { "asap" };
    let value = i64::from(reference.queue_depth());
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

/// Returns why a run cannot be done within the space that ends at `end`, or `None` if it can.
pub(crate) fn refusal(
    reference: &Reference,
    device: &DeviceInfo,
    end: Bytes,
    read_only: bool,
) -> Option<String> {
    let (streams, depth) = (reference.streams_count(), device.queue_depth);
    if read_only && reference.writes() {
        return Some("it writes, and only reads are allowed".into());
    }
    if u32::from(streams) > depth {
        return Some(format!("ParallelDegree = {streams}: the drive takes {depth} IOs at once"));
    }
    reference.validate(end, device.logical_block).err().map(|error| error.to_string())
}

/// Returns the numbers of the runs in the order of execution, without skipped ones.
///
/// The preparation comes first, starting with the run that measures the pause. Then follow the runs that do not write
/// sequentially, then those that do. Within both groups every run is done once before any is repeated, so that repeats show
/// changes over the plan. Blends, which the rounds of a test use, are executed in the order of their numbers, because the rounds
/// must follow each other.
pub fn order(plan: &[MicroBenchmark]) -> Vec<u32> {
    let mut runs: Vec<(u8, u32, u32)> = Vec::new();
    for benchmark in plan {
        for experiment in &benchmark.experiments {
            let interference = experiment.name == uflip::INTERFERENCE;
            for run in &experiment.runs {
                let rank = match (benchmark.prepares(), run.repeat) {
                    (true, 1) => u8::from(!interference),
                    (true, _) => 2,
                    (false, _) => {
                        let in_order = run.reference.patterns().into_iter().any(writes_in_order);
                        let ordered = matches!(run.reference, Reference::Blend { .. });
                        2 + u8::from(in_order && !ordered)
                    }
                };
                if !matches!(run.progress, Progress::Skipped { .. }) {
                    runs.push((rank, run.repeat, run.id));
                }
            }
        }
    }
    runs.sort_unstable();
    runs.into_iter().map(|(_, _, id)| id).collect()
}

fn writes_in_order(pattern: &Pattern) -> bool {
    pattern.op.modifies() && pattern.address != Address::Random
}

/// Hands out disjoint target spaces from the start of the allowed space to its end, and then again from the start.
struct Spaces {
    start: u64,
    end: u64,
    next: u64,
    /// Bytes written sequentially since the state was enforced.
    disturbed: u64,
}

impl Spaces {
    fn new(setup: &Setup) -> Spaces {
        let start = setup.target_offset.0;
        Spaces { start, end: start + setup.target_size.0, next: start, disturbed: 0 }
    }

    /// Gives a pattern that writes sequentially a space of its own, while there is one.
    fn place(&mut self, reference: &mut Reference) {
        // The two halves of a mix, and the parts of a sequence, must keep their places relative to each other.
        let (Reference::Basic { pattern } | Reference::Parallel { pattern, .. }) = reference else {
            return;
        };
        let movable = pattern.target_size.0 < self.end - self.start;
        if !writes_in_order(pattern) || !movable {
            return;
        }
        if self.end - self.next < pattern.target_size.0 {
            self.next = self.start;
        }
        pattern.target_offset = Bytes(self.next);
        let used = self.next - self.start + pattern.target_size.0;
        self.next = (self.start + used.next_multiple_of(ALIGNMENT.0)).min(self.end);
    }

    /// Adds the sequential writes of a run, and returns true if the state must be enforced before it: if all sequential writes
    /// since then, with this run, exceed the whole space.
    fn resets(&mut self, reference: &Reference) -> bool {
        let disturbs = |pattern: &&Pattern| writes_in_order(pattern);
        let space = |pattern: &Pattern| {
            pattern.target_size.0.min(pattern.io_count.saturating_mul(pattern.io_size.0))
        };
        let patterns = reference.patterns();
        let more: u64 = patterns.into_iter().filter(disturbs).map(space).sum();
        let resets =
            more > 0 && self.disturbed > 0 && self.disturbed + more > self.end - self.start;
        if resets {
            (self.disturbed, self.next) = (0, self.start);
        }
        self.disturbed += more;
        resets
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{DeviceKind, Nanos, Op};
    use flashscope_document::manifest::OnError;

    use super::*;

    fn device(capacity: Bytes, logical_block: Bytes) -> DeviceInfo {
        DeviceInfo {
            name: "null:".into(),
            kind: DeviceKind::Null,
            capacity,
            logical_block,
            queue_depth: 16,
            model: None,
            serial: None,
            firmware: None,
            engine: None,
        }
    }

    fn options(setup: Setup) -> Options {
        Options {
            setup,
            state: State::Random,
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
        assert!(rest[first..].iter().all(in_order));
    }

    #[test]
    fn sequential_writes_are_disjoint() {
        let plan = everything(Bytes::gib(512), Bytes(512), false);
        let mut spaces: Vec<(u64, u64)> = runs(&plan)
            .filter_map(|run| match &run.reference {
                Reference::Basic { pattern } if pattern.op == Op::Write => Some(pattern),
                _ => None,
            })
            .filter(|p| p.address != Address::Random && p.target_size < Bytes::gib(512))
            .map(|p| (p.target_offset.0, p.target_offset.0 + p.target_size.0))
            .collect();
        assert!(spaces.len() > 30);
        spaces.sort_unstable();
        assert!(spaces.windows(2).all(|pair| pair[0].1 <= pair[1].0));
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
    fn more_processes_than_the_queue_depth_are_skipped() {
        let benchmarks = [uflip::find("parallelism").unwrap()];
        let shallow = DeviceInfo { queue_depth: 4, ..device(Bytes::gib(1), Bytes(512)) };
        let options = options(Setup::paper(Bytes::gib(1), 1));
        let plan = plan(&benchmarks, &options, &shallow, false);
        for run in runs(&plan) {
            let reason = format!("ParallelDegree = {}: the drive takes 4 IOs at once", run.value);
            let skipped = run.progress == Progress::Skipped { reason };
            assert_eq!(skipped, run.value > 4, "{}", run.value);
        }
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
        for pair in order[5..].windows(2) {
            let [a, b] = [run_of(&pair[0]), run_of(&pair[1])];
            let same_kind = |run: &Run| run.reference.patterns().into_iter().any(writes_in_order);
            assert!(a.repeat <= b.repeat || same_kind(a) != same_kind(b));
            assert!(a.repeat == b.repeat || interference.contains(&b.id) || same_kind(b));
        }
        let random = &plan[1].experiments[1].runs;
        let seeds: Vec<u64> = random[..3].iter().map(|r| r.reference.patterns()[0].seed).collect();
        assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2]);
    }

    #[test]
    fn the_state_is_enforced_again_when_sequential_writes_exceed_the_space() {
        let benchmarks = [uflip::find("granularity").unwrap()];
        let resets = |capacity, state| {
            let setup = Setup::paper(capacity, 1);
            let options = Options { state, ..options(setup) };
            let plan = plan(&benchmarks, &options, &device(capacity, Bytes(512)), false);
            let (mut disturbed, mut resets) = (0, 0);
            for id in order(&plan) {
                let run = runs(&plan).find(|run| run.id == id).unwrap();
                let pattern = *run.reference.patterns()[0];
                let more = if writes_in_order(&pattern) { pattern.target_size.0 } else { 0 };
                let due = state != State::Keep && more > 0 && disturbed + more > capacity.0;
                assert_eq!(run.reset, due, "{id}");
                disturbed = if due { more } else { disturbed + more };
                resets += u32::from(due);
            }
            resets
        };
        assert_eq!(resets(Bytes::gib(32), State::Random), 0);
        assert!(resets(Bytes::mib(300), State::Random) > 1);
        assert_eq!(resets(Bytes::mib(300), State::Keep), 0);
    }
}
