//! Generates results without measuring a drive.

use flashscope_block::{Bytes, Completion, Data, DeviceInfo, DeviceKind, Io, Nanos, Op, Record};
use flashscope_document::manifest::{
    Calibration, Experiment, Machine, Manifest, MicroBenchmark, OnError, Options, Progress, Run,
    State, Status, Tool,
};
use flashscope_document::methodology::Methodology;
use flashscope_result::Recorder;
use flashscope_workload::pattern::Reference;
use flashscope_workload::uflip::{Setup, Unit};

use crate::random_reads;

/// Returns a completed run of `ios` random reads over 1 GiB.
pub fn run(id: u32, ios: u64) -> Run {
    let reference = Reference::Basic { pattern: random_reads(ios, Bytes::GIB) };
    Run { progress: Progress::Done { ios }, ..Run::new(id, i64::from(id), reference) }
}

/// Records run `id` with `ios` random reads. The response times vary like those of a drive: most
/// are about 80 µs, and one in 500 is a few ms.
pub fn record(recorder: &mut Recorder, id: u32, ios: u64, random: &mut fastrand::Rng) {
    recorder.begin(id).expect("the folder is writable");
    let mut now = 0;
    for _ in 0..ios {
        let stall = if random.u32(..500) == 0 { random.u64(..5_000_000) } else { 0 };
        let latency = 70_000 + random.u64(..20_000) + stall;
        let io = Io {
            op: Op::Read,
            stream: 0,
            offset: Bytes(random.u64(..262_144) * 4096),
            len: Bytes::kib(4),
            data: Data::Random,
            at: Nanos(now),
        };
        let completed = Nanos(now + latency);
        let completion = Completion { io, submitted: Nanos(now), completed, result: Ok(()) };
        recorder.push(&Record::new(&completion, Nanos(0))).expect("the folder is writable");
        now += latency + 200;
    }
    recorder.end().expect("the folder is writable");
}

/// Returns the manifest of a result whose `runs` form the experiment `RR` of the micro-benchmark
/// `locality`.
pub fn manifest(runs: Vec<Run>) -> Manifest {
    let manifest = Manifest::new(
        Tool { version: "0".into(), commit: None },
        Machine {
            processor: String::new(),
            processors: 1,
            memory_bytes: Bytes(0),
            kernel: String::new(),
        },
        Calibration {
            clock_resolution_ns: Nanos(1),
            clock_cost_ns: Nanos(1),
            harness_cost_ns: None,
        },
        DeviceInfo::new(("null:", DeviceKind::Null), (Bytes::GIB, Bytes(512)), 1),
        Options {
            setup: Setup::paper(Bytes::GIB, 0),
            state: State::Keep,
            spare: None,
            run_pause_ns: Nanos(0),
            on_error: OnError::Stop,
            methodology: Methodology::default(),
            rounds: None,
            grid: None,
        },
        vec![MicroBenchmark {
            name: "locality".into(),
            title: "Locality".into(),
            question: String::new(),
            parameter: "TargetSize".into(),
            unit: Unit::Bytes,
            experiments: vec![Experiment { name: "RR".into(), runs }],
        }],
        "2026-01-01T00:00:00Z".into(),
    );
    Manifest { status: Status::Complete, ..manifest }
}
