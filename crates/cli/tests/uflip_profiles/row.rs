//! What uFLIP's Table 3 says of a drive, measured on a simulated one with the paper's own
//! micro-benchmarks.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos, Op};
use flashscope_measure::{Ended, execute};
use flashscope_workload::pattern::{Pattern, Reference};
use flashscope_workload::state::RandomFill;
use flashscope_workload::uflip::{self, Baseline, PerBaseline, Setup};

/// Where target spaces begin: no run begins in the middle of an erase unit that another wrote.
const ALIGNMENT: Bytes = Bytes::mib(16);

/// The large increments of section 5.2, "gaps from one 1 MB to 8 MB", in IOs of 32 KiB.
const LARGE: [i64; 4] = [32, 64, 128, 256];

/// IOCount and IOIgnore of section 5.1, and the pause between runs.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    pub io_count: PerBaseline,
    pub ignored_random_writes: u64,
    pub pause_between: Nanos,
}

impl Method {
    /// "512 in all cases for slow and/or small devices".
    pub const SMALL: Method = Method {
        io_count: PerBaseline::same(512),
        ignored_random_writes: 0,
        pause_between: Nanos::millis(1000),
    };
    /// "1,024 for SR, RR and SW and 5,120 for RW".
    pub const SSD: Method = Method {
        io_count: PerBaseline { random_write: 5120, ..PerBaseline::same(1024) },
        ..Method::SMALL
    };
}

/// Mean response times in milliseconds, of the IOs after IOIgnore.
#[derive(Debug)]
pub struct Row {
    /// SR, RR, SW and RW.
    pub baselines: [f64; 4],
    /// RW by the pause before each IO, in ms.
    pub pause: Vec<(f64, f64)>,
    /// RW by TargetSize in MiB, from 1 on.
    pub locality: Vec<(f64, f64)>,
    /// SW by Partitions.
    pub partitions: Vec<(f64, f64)>,
    /// SW with Incr = -1.
    pub reverse: f64,
    /// SW with Incr = 0.
    pub in_place: f64,
    /// SW with each of [`LARGE`].
    pub large: Vec<f64>,
}

impl Row {
    pub fn measure(device: &mut impl Device, method: Method) -> Row {
        let mut bench = Bench::new(device, method);
        bench.fill();
        let baselines = Baseline::ALL.map(|baseline| bench.baseline(baseline));
        let (rw, sw) = (Baseline::RandomWrite, Baseline::SequentialWrite);
        let large_area = i64::try_from(bench.setup.target_size.0 / 2).expect("a small drive");
        Row {
            baselines,
            pause: bench.experiment("pause", rw, |_| true, 1e-6),
            locality: bench.experiment(
                "locality",
                rw,
                |size| (1 << 20..=large_area.min(64 << 20)).contains(&size),
                1.0 / (1u64 << 20) as f64,
            ),
            partitions: bench.experiment("partitioning", sw, |n| n <= 32, 1.0),
            reverse: bench.experiment("order", sw, |incr| incr == -1, 1.0)[0].1,
            in_place: bench.experiment("order", sw, |incr| incr == 0, 1.0)[0].1,
            large: bench
                .experiment("order", sw, |incr| LARGE.contains(&incr), 1.0)
                .into_iter()
                .map(|(_, ms)| ms)
                .collect(),
        }
    }

    /// SW, which most ratios are over.
    pub fn sequential_write(&self) -> f64 {
        self.baselines[2]
    }

    /// RW, which the ratio of large increments is over.
    pub fn random_write(&self) -> f64 {
        self.baselines[3]
    }
}

struct Bench<'a, D> {
    device: &'a mut D,
    method: Method,
    setup: Setup,
    /// Where the next target space begins.
    next: Bytes,
}

impl<'a, D: Device> Bench<'a, D> {
    fn new(device: &'a mut D, method: Method) -> Self {
        let target_size = device.info().capacity.round_down(Bytes::kib(32));
        let mut setup = Setup::paper(target_size, 2009);
        setup.io_count = method.io_count;
        setup.io_ignore.random_write = method.ignored_random_writes;
        Bench { device, method, setup, next: Bytes(0) }
    }

    /// The random state of section 4.1.
    fn fill(&mut self) {
        let Setup { target_size, seed, .. } = self.setup;
        let fill = RandomFill::new(Bytes(0), target_size, self.device.info().logical_block, seed);
        let stop = AtomicBool::new(false);
        let ended = execute(self.device, &mut [fill], 1, &stop, |_, _| Ok::<(), Infallible>(()));
        assert_eq!(ended, Ok(Ended::Complete));
    }

    /// One of the four baselines: it is the run of Alignment that is not shifted.
    fn baseline(&mut self, baseline: Baseline) -> f64 {
        self.experiment("alignment", baseline, |shift| shift == 0, 1.0)[0].1
    }

    /// Executes those runs of an experiment whose value is `wanted`. Returns their values times
    /// `unit` and their mean response times in ms.
    fn experiment(
        &mut self,
        benchmark: &str,
        baseline: Baseline,
        wanted: impl Fn(i64) -> bool,
        unit: f64,
    ) -> Vec<(f64, f64)> {
        let benchmark = uflip::find(benchmark).expect("one of the nine");
        let experiments = benchmark.experiments(&self.setup);
        let experiment = experiments.into_iter().find(|e| e.name == baseline.name());
        let runs = experiment.expect("it varies this baseline").runs;
        let runs = runs.into_iter().filter(|run| wanted(run.value));
        runs.map(|run| (run.value as f64 * unit, self.three_times(&run.reference))).collect()
    }

    /// "Each experiment was run three times" (section 5.1). The paper reports the average of the
    /// three; the median leaves out what a run before has left to do, of which there is more here,
    /// as the drives are small.
    fn three_times(&mut self, reference: &Reference) -> f64 {
        let mut means = [(); 3].map(|()| self.run(reference.clone()));
        means.sort_unstable_by(f64::total_cmp);
        means[1]
    }

    /// The mean response time of a run, in a target space of its own where it has one.
    fn run(&mut self, mut reference: Reference) -> f64 {
        let rest = Nanos(self.device.now().0 + self.method.pause_between.0);
        self.device.idle_until(rest);
        for pattern in reference.patterns_mut() {
            pattern.target_offset = self.place(pattern);
        }
        let ignored = reference.io_ignore();
        let mut streams = reference.streams().expect("a pattern is no trace");
        let (mut ios, mut total) = (0, 0);
        let stop = AtomicBool::new(false);
        let ended = execute(self.device, &mut streams, 1, &stop, |_, completion| {
            ios += 1;
            if ios > ignored {
                total += completion.completed.0 - completion.submitted.0;
            }
            Ok::<(), Infallible>(())
        });
        assert_eq!(ended, Ok(Ended::Complete));
        total as f64 / (ios - ignored) as f64 / 1e6
    }

    /// Section 4.1: sequential writes go to distinct target spaces, as they disturb the state.
    fn place(&mut self, pattern: &Pattern) -> Bytes {
        let size = pattern.target_size;
        if pattern.op == Op::Read || size.0 > self.setup.target_size.0 / 2 {
            return Bytes(0);
        }
        if self.next + size > self.setup.target_size {
            self.next = Bytes(0);
        }
        let start = self.next;
        self.next = Bytes((start + size).0.next_multiple_of(ALIGNMENT.0));
        start
    }
}
