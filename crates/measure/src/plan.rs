use flashscope_block::{Bytes, DeviceInfo};
use flashscope_result::manifest::{Experiment, MicroBenchmark, Progress, Run};
use flashscope_workload::pattern::{Address, Reference};
use flashscope_workload::uflip::{self, Setup, Unit};

/// Where target spaces begin: at multiples of this, which every usual flash block divides.
const ALIGNMENT: Bytes = Bytes::mib(1);

/// The runs of `benchmarks` on a drive, each with its target space and, where the drive cannot do
/// it within the space that `setup` allows, why it is skipped. With `read_only`, runs that write are skipped.
///
/// Sequential writes are what disturbs the state of a drive most, so each run of a basic or
/// parallel pattern that does them gets a target space of its own as long as there is room, and
/// after that from the start again (uFLIP section 4.1).
pub fn plan(
    benchmarks: &[&uflip::MicroBenchmark],
    setup: &Setup,
    device: &DeviceInfo,
    read_only: bool,
) -> Vec<MicroBenchmark> {
    let mut spaces = Spaces::new(setup);
    // Nothing outside of the space that may be used is read or written.
    let end = device.capacity.min(setup.target_offset + setup.target_size);
    let mut id = 0;
    let mut plan_run = |mut run: uflip::Run| {
        id += 1;
        let progress = match refusal(&run.reference, device, end, read_only) {
            Some(reason) => Progress::Skipped { reason },
            None => {
                spaces.place(&mut run.reference);
                Progress::Pending
            }
        };
        Run { id, value: run.value, reference: run.reference, progress, conditions: None }
    };
    let mut plan_experiment = |experiment: uflip::Experiment| Experiment {
        name: experiment.name,
        runs: experiment.runs.into_iter().map(&mut plan_run).collect(),
    };
    let plan_benchmark = |benchmark: &&uflip::MicroBenchmark| MicroBenchmark {
        name: benchmark.name.into(),
        title: benchmark.title.into(),
        question: benchmark.question.into(),
        parameter: benchmark.parameter.into(),
        unit: benchmark.unit,
        experiments: benchmark.experiments(setup).into_iter().map(&mut plan_experiment).collect(),
    };
    benchmarks.iter().map(plan_benchmark).collect()
}

/// The plan that plays a trace once, as `reference` says.
pub fn trace_plan(reference: Reference) -> Vec<MicroBenchmark> {
    let pace = if reference.is_open_loop() { "timed" } else { "asap" };
    let value = i64::from(reference.queue_depth());
    let run = Run { id: 1, value, reference, progress: Progress::Pending, conditions: None };
    vec![MicroBenchmark {
        name: "trace".into(),
        title: "Trace".into(),
        question: "How long does each request of a trace take?".into(),
        parameter: "QueueDepth".into(),
        unit: Unit::Count,
        experiments: vec![Experiment { name: pace.into(), runs: vec![run] }],
    }]
}

/// Why a run cannot be done within the space that ends at `end`, if it cannot.
fn refusal(
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

/// The numbers of the runs that can be run in the order of execution: the preparation first, then
/// what does not write sequentially, then what does.
pub fn order(plan: &[MicroBenchmark]) -> Vec<u32> {
    let mut runs: Vec<(u8, u32)> = Vec::new();
    for benchmark in plan {
        for run in benchmark.experiments.iter().flat_map(|e| &e.runs) {
            let rank = match benchmark.name == uflip::PREPARATION.name {
                true => 0,
                false => 1 + u8::from(writes_in_order(&run.reference)),
            };
            if !matches!(run.progress, Progress::Skipped { .. }) {
                runs.push((rank, run.id));
            }
        }
    }
    runs.sort_unstable();
    runs.into_iter().map(|(_, id)| id).collect()
}

fn writes_in_order(reference: &Reference) -> bool {
    let in_order = |p: &&flashscope_workload::pattern::Pattern| {
        p.op.modifies() && p.address != Address::Random
    };
    reference.patterns().iter().any(in_order)
}

/// Hands out disjoint target spaces, from the start of the space that may be used to its end, and
/// again from the start when it is used up.
struct Spaces {
    start: u64,
    end: u64,
    next: u64,
}

impl Spaces {
    fn new(setup: &Setup) -> Spaces {
        let start = setup.target_offset.0;
        Spaces { start, end: start + setup.target_size.0, next: start }
    }

    fn place(&mut self, reference: &mut Reference) {
        // The two halves of a mix and the parts of a sequence belong together: they stay.
        let (Reference::Basic { pattern } | Reference::Parallel { pattern, .. }) = reference else {
            return;
        };
        let movable = pattern.target_size.0 < self.end - self.start;
        if !pattern.op.modifies() || pattern.address == Address::Random || !movable {
            return;
        }
        if self.end - self.next < pattern.target_size.0 {
            self.next = self.start;
        }
        pattern.target_offset = Bytes(self.next);
        let used = self.next - self.start + pattern.target_size.0;
        self.next = (self.start + used.next_multiple_of(ALIGNMENT.0)).min(self.end);
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{DeviceKind, Op};

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

    fn everything(capacity: Bytes, logical_block: Bytes, read_only: bool) -> Vec<MicroBenchmark> {
        let benchmarks: Vec<_> = uflip::all().collect();
        let setup = Setup::paper(capacity, 1);
        plan(&benchmarks, &setup, &device(capacity, logical_block), read_only)
    }

    fn runs(plan: &[MicroBenchmark]) -> impl Iterator<Item = &Run> {
        plan.iter().flat_map(|m| &m.experiments).flat_map(|e| &e.runs)
    }

    // Is every run planned once, and the preparation executed first, sequential writes last?
    #[test]
    fn order_is_that_of_the_paper() {
        let plan = everything(Bytes::gib(32), Bytes(512), false);
        let order = order(&plan);
        assert_eq!(order.len(), runs(&plan).count());
        let preparation = runs(&plan[..1]).count();
        assert!(order[..preparation].iter().all(|&id| id as usize <= preparation));
        let in_order = |id: &u32| runs(&plan).any(|r| r.id == *id && writes_in_order(&r.reference));
        let rest = &order[preparation..];
        let first = rest.iter().position(in_order).unwrap();
        assert!(rest[first..].iter().all(in_order));
    }

    // Do sequential writes get target spaces that do not overlap while there is room?
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

    // Is what a drive cannot do skipped with the reason, and nothing left that it cannot do?
    #[test]
    fn impossible_runs_are_skipped() {
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

    // Does every run stay within the space that may be used, though the drive is larger?
    #[test]
    fn plans_stay_within_the_target_space() {
        let benchmarks: Vec<_> = uflip::all().collect();
        let (offset, size) = (Bytes::mib(512), Bytes::mib(64));
        let setup = Setup { target_offset: offset, ..Setup::paper(size, 1) };
        let plan = plan(&benchmarks, &setup, &device(Bytes::gib(32), Bytes(512)), false);
        let pending = runs(&plan).filter(|r| r.progress == Progress::Pending);
        for pattern in pending.flat_map(|run| run.reference.patterns()) {
            assert!(pattern.target_offset >= offset);
            assert!(pattern.target_offset + pattern.target_size <= offset + size);
        }
        let locality = runs(&plan[3..4]).filter(|r| r.progress != Progress::Pending);
        assert!(locality.count() > 0);
    }

    // Are more processes than the drive takes IOs skipped with the reason?
    #[test]
    fn too_many_processes_are_skipped() {
        let benchmarks = [uflip::find("parallelism").unwrap()];
        let shallow = DeviceInfo { queue_depth: 4, ..device(Bytes::gib(1), Bytes(512)) };
        let plan = plan(&benchmarks, &Setup::paper(Bytes::gib(1), 1), &shallow, false);
        for run in runs(&plan) {
            let reason = format!("ParallelDegree = {}: the drive takes 4 IOs at once", run.value);
            let skipped = run.progress == Progress::Skipped { reason };
            assert_eq!(skipped, run.value > 4, "{}", run.value);
        }
    }

    // Does a read-only plan write nothing?
    #[test]
    fn read_only_plans_do_not_write() {
        let plan = everything(Bytes::gib(32), Bytes(512), true);
        let mut pending = runs(&plan).filter(|r| r.progress == Progress::Pending).peekable();
        assert!(pending.peek().is_some());
        assert!(pending.all(|run| !run.reference.writes()));
    }
}
