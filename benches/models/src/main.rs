//! How well do the models predict real traces: the drive of Boboila and Desnoyers (30 GB, 7 % free, pages of
//! 2 KB, blocks of 64), each trace repeated until the ring of log blocks has come round, beside the simulator?
//! Names are parts of names of traces, all unless given. With `--speed`: how fast the models predict uniform writes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads clocks and its arguments")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod speed;

use std::path::{Path, PathBuf};
use std::time::Instant;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_model::Model;
use flashscope_model::trace::{
    Decomposition, FragmentBast, FragmentFast, Merging, Predictor, Ranges, Reuse, Space, Stretches,
    Total,
};
use flashscope_sim::SimDevice;
use flashscope_workload::Stream;
use flashscope_workload::synthetic::{self, Ios, Target};

const PAGE: u64 = 2048;

const SPACE: Space = Space { pages_per_block: 64, logical_blocks: 245_760, free_blocks: 17_203 };

/// Fewer writes than these are not looked at.
const LEAST_WRITES: usize = 5000;

/// A write, in pages.
type Write = (u64, u64);

fn main() {
    if std::env::args().any(|argument| argument == "--speed") {
        speed::print();
        return;
    }
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!(
        "trace                            ftl        erasures/1000 pages   WA     predicted by"
    );
    for path in traces() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let writes = writes(&path);
        if writes.len() < LEAST_WRITES {
            continue;
        }
        for ftl in ["bast", "fast", "page-map"] {
            case(&name, ftl, &writes);
        }
    }
}

/// The traces of the reference data.
fn traces() -> Vec<PathBuf> {
    let told = std::env::var_os("FLASHSCOPE_DATA").map(PathBuf::from);
    let data =
        told.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let Ok(found) = std::fs::read_dir(data.join("traces")) else {
        eprintln!("skipped: there are no traces in {}; set FLASHSCOPE_DATA", data.display());
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| !path.ends_with("MANIFEST.csv"));
    paths.sort();
    paths
}

fn writes(path: &Path) -> Vec<Write> {
    let target = Target {
        capacity: Bytes(SPACE.pages() * PAGE),
        logical_block: Bytes(PAGE),
        filled: true,
        seed: 0,
    };
    let spec = format!("trace:{}?remap=fold", path.display());
    let workload = match synthetic::open(&spec, &target) {
        Ok(workload) => workload,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            return Vec::new();
        }
    };
    let Ios::Trace(playback) = workload.ios else { unreachable!("a trace is asked for") };
    let mut replay = playback.replay().expect("the trace opens");
    let of = |io: Io| (io.op == Op::Write).then_some((io.offset.0 / PAGE, io.len.0 / PAGE));
    std::iter::from_fn(|| replay.next(Nanos(0))).filter_map(of).collect()
}

fn drive(ftl: &str) -> SimDevice {
    let blocks = SPACE.logical_blocks + SPACE.free_blocks + 1;
    let spare = f64::from(SPACE.free_blocks + 1) / f64::from(blocks);
    let mut spec = format!(
        "flashsim-2009-30g?flash.planes_per_die=1&flash.blocks_per_plane={blocks}&timed=false\
         &over_provisioning={spare}&persistence.map=nv-ram&ftl={ftl}"
    );
    if ftl != "page-map" {
        spec += &format!("&log.blocks={}", SPACE.free_blocks);
    }
    let profile = flashscope_sim::profile::parse(&spec).expect("a valid spec");
    SimDevice::new("sim:models", &profile).expect("a valid profile")
}

/// The simulator, as what it may be predicted by.
struct Simulator(SimDevice);

impl Predictor for Simulator {
    fn write(&mut self, page: u64, pages: u64) {
        let (offset, len, at) = (Bytes(page * PAGE), Bytes(pages * PAGE), self.0.now());
        let (op, data) = (Op::Write, Data::Random);
        self.0.submit(&Io { op, stream: 0, offset, len, data, at });
        let done = self.0.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()));
    }

    fn total(&mut self) -> Total {
        let counters = self.0.counters();
        let pages = counters.host_pages_written;
        let wa = counters.write_amplification().unwrap_or(1.0);
        Total {
            pages,
            erasures: counters.flash.erases.total() as f64,
            copies: (wa - 1.0) * pages as f64,
        }
    }
}

/// How often a trace is repeated before it is counted, and while it is.
#[derive(Clone, Copy)]
struct Passes {
    warm_up: u64,
    counted: u64,
}

/// As often as it takes until the ring of log blocks, or as many pages where nothing goes to the ring, has
/// come round three times, and once more: before that nothing is evicted, and what is then seen is not
/// what the trace comes to.
fn passes(writes: &[Write]) -> Passes {
    let ring = f64::from(SPACE.free_blocks) * f64::from(SPACE.pages_per_block);
    let mut fast = FragmentFast::new(SPACE).expect("in range");
    writes.iter().for_each(|(page, pages)| fast.write(*page, *pages));
    let all = writes.iter().map(|write| write.1).sum::<u64>() as f64;
    let in_turn = (fast.pages_in_turn() as f64).max(0.05 * all);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousands")]
    let counted = (ring / in_turn).ceil() as u64;
    Passes { warm_up: (3 * counted).max(2), counted }
}

/// What the counted passes come to, and the nanoseconds that each write took.
fn repeated(predictor: &mut dyn Predictor, writes: &[Write], passes: Passes) -> (Total, f64) {
    let start = Instant::now();
    let mut pass = |count: u64| {
        for _ in 0..count {
            writes.iter().for_each(|(page, pages)| predictor.write(*page, *pages));
        }
        predictor.total()
    };
    let before = pass(passes.warm_up);
    let after = pass(passes.counted);
    let all = (passes.warm_up + passes.counted) * writes.len() as u64;
    (after.since(&before), start.elapsed().as_nanos() as f64 / all as f64)
}

fn case(name: &str, ftl: &str, writes: &[Write]) {
    let mut simulator = Simulator(drive(ftl));
    for block in 0..u64::from(SPACE.logical_blocks) {
        simulator.write(block * u64::from(SPACE.pages_per_block), u64::from(SPACE.pages_per_block));
    }
    let passes = passes(writes);
    let (truth, nanos) = repeated(&mut simulator, writes, passes);
    let name: String = name.chars().take(30).collect();
    let line = |by: &str, total: &Total, nanos: f64| {
        let erasures = 1e3 * total.erasures / total.pages as f64;
        println!(
            "{name:<32} {ftl:<10} {erasures:>10.3} {:>+7.1} % {:>8.3} {by:<18} {nanos:>8.0} ns/write",
            100.0
                * (total.erasures / truth.erasures * truth.pages as f64 / total.pages as f64 - 1.0),
            total.write_amplification(),
        );
    };
    line("simulator", &truth, nanos);
    let divided = |model: &str, ranges, stretches| -> Box<dyn Predictor> {
        let model = Model::named(model).expect("a model by name");
        Box::new(Decomposition::new(model, SPACE, ranges, stretches).expect("a space in range"))
    };
    let decomposed = |model: &str, ranges| divided(model, ranges, Stretches::LogList);
    let otherwise = |model: &str, stretches| divided(model, Ranges::Whole, stretches);
    let predictors: Vec<(&str, Box<dyn Predictor>)> = match ftl {
        "bast" => vec![
            ("equations", decomposed("bast", Ranges::Whole)),
            ("equations, written", decomposed("bast", Ranges::Written)),
            ("stationary", otherwise("bast", Stretches::Stationary)),
            ("own time", otherwise("bast", Stretches::OwnTime)),
            ("by renewal", decomposed("bast-eager", Ranges::Whole)),
            ("fragments", Box::new(FragmentBast::new(SPACE, Merging::Eager).expect("in range"))),
        ],
        "fast" => vec![
            ("equations", decomposed("fast", Ranges::Whole)),
            ("equations 2011", decomposed("fast-2011", Ranges::Whole)),
            ("stationary", otherwise("fast", Stretches::Stationary)),
            ("own time", otherwise("fast", Stretches::OwnTime)),
            ("fragments", Box::new(FragmentFast::new(SPACE).expect("in range"))),
        ],
        _ => vec![("reuse, greedy", Box::new(Reuse::new(SPACE, true).expect("in range")))],
    };
    for (by, mut predictor) in predictors {
        let (total, nanos) = repeated(predictor.as_mut(), writes, passes);
        line(by, &total, nanos);
    }
}
