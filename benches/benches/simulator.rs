//! Measures the uniform random page IOs per second of the simulator in the steady state. It
//! compares them with the limit of the machine: a bare loop of random reads, changes and writes on
//! arrays of the same size. It also measures how speed and memory scale with the size of the drive.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads its arguments")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::hint::black_box;

use flashscope_benches::{cpu_time, verdict};
use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::SimDevice;
use flashscope_sim::observe::{KINDS, Watch};
use flashscope_stats::Summary;

const PAGE: u64 = 4096;
/// The size of a package in GiB: blocks of 64 pages of 4 KiB.
const GIB_PER_PACKAGE: u64 = 4;
/// The largest memory per physical page, in bytes.
const MEMORY_LIMIT: f64 = 16.0;

/// A case of the benchmark.
struct Case {
    name: &'static str,
    /// Profile fields after `?`.
    fields: &'static str,
    op: Op,
    /// The least number of million IOs per second.
    limit: Option<f64>,
}

const fn writes(name: &'static str, fields: &'static str, limit: Option<f64>) -> Case {
    Case { name, fields, op: Op::Write, limit }
}

const CASES: [Case; 6] = [
    writes("full timing", "persistence.map=nv-ram", Some(12.0)),
    writes("timing, summaries", "persistence.map=summary", None),
    writes("counting only", "persistence.map=nv-ram&timed=false", Some(24.0)),
    // The map cache of these two cases holds an eighth and a 64th of the map.
    writes("dftl, 1/8 of map", "persistence.map=nv-ram&ftl=dftl&map_cache.size=3584KiB", Some(6.0)),
    writes("dftl, 1/64 of map", "persistence.map=nv-ram&ftl=dftl&map_cache.size=448KiB", None),
    Case { name: "reads", fields: "persistence.map=nv-ram", op: Op::Read, limit: Some(20.0) },
];

/// The number of IOs generated ahead, as in a closed loop of `simulate`.
const AHEAD: usize = 16;

/// The arguments of child processes, which give each case its own memory.
const CASE: &str = "case";
const SIZE: &str = "size";
const OBSERVERS: &str = "observers";
/// The maximum time per IO with one observer and with all observers, as a multiple of the time
/// without observers.
const OBSERVER_LIMITS: [f64; 2] = [1.15, 1.5];
/// The sizes of drives, in GiB of flash.
const SIZES: [u64; 6] = [1, 4, 16, 64, 256, 1024];

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [CASE, index] => return case(&CASES[index.parse::<usize>().expect("an index")]),
        [SIZE, gib] => return size(gib.parse().expect("a size")),
        [OBSERVERS, name] => return observed(name),
        _ => {}
    }
    let selected =
        |name: &str| arguments.is_empty() || arguments.iter().any(|part| name.contains(part));
    println!(
        "uniform random 4 KiB IOs, one at a time, 16 GiB drive, 15 % over-provisioning, steady state, alternating with \
                a bare\nloop of random reads, changes and writes on 4 bytes per page"
    );
    println!("case               million/s   limit          bare  share      WA  flash/s  B/page");
    for (index, Case { name, .. }) in
        CASES.iter().enumerate().filter(|(_, case)| selected(case.name))
    {
        child(name, &[CASE, &index.to_string()]);
    }
    if selected(OBSERVERS) {
        println!("\nobservers       time of an IO   limit");
        let names = KINDS.iter().map(|kind| kind.name).filter(|name| *name != "events");
        names.chain([ALL]).for_each(|name| child(name, &[OBSERVERS, name]));
    }
    if selected("sizes") {
        println!("\nsize     million/s   bare loop  share   B/page   memory GiB");
        SIZES.iter().for_each(|gib| child("a size", &[SIZE, &gib.to_string()]));
    }
    println!();
}

/// Runs this program again for one case, which prints its own line.
fn child(name: &str, arguments: &[&str]) {
    let program = std::env::current_exe().expect("a program");
    let status = std::process::Command::new(program).args(arguments).status().expect("started");
    assert!(status.success(), "{name}: {status}");
}

struct Run {
    drive: SimDevice,
    random: fastrand::Rng,
    pages: u64,
    latencies: Summary,
    memory_before: f64,
    timed: bool,
}

/// Returns the memory of this process in bytes.
fn memory() -> f64 {
    flashscope_benches::memory("VmRSS") * f64::from(1 << 20)
}

impl Run {
    fn new(gib: u64, fields: &str) -> Self {
        let memory_before = memory();
        let spec = format!(
            "agrawal-2008?flash.packages={}&over_provisioning=0.1304&cleaning.free_threshold=0.0002\
             &{fields}",
            (gib / GIB_PER_PACKAGE).max(1)
        );
        let mut profile = flashscope_sim::setup::parse(&spec).expect("a valid spec");
        if gib < GIB_PER_PACKAGE {
            profile.flash.blocks_per_plane /= u32::try_from(GIB_PER_PACKAGE / gib).expect("small");
            profile.cleaning.free_threshold *= 4.0;
        }
        let drive = SimDevice::new("sim:bench", &profile).expect("a valid profile");
        let pages = drive.info().capacity.0 / PAGE;
        let random = fastrand::Rng::with_seed(1);
        Run {
            drive,
            random,
            pages,
            latencies: Summary::default(),
            memory_before,
            timed: profile.timed,
        }
    }

    fn steady(gib: u64, fields: &str) -> Self {
        let mut run = Run::new(gib, fields);
        run.fill();
        run.execute(Op::Write, 2 * run.pages);
        run
    }

    fn submit(&mut self, page: u64, pages: u64) -> Nanos {
        let at = self.drive.now();
        let (offset, len) = (Bytes(page * PAGE), Bytes(pages * PAGE));
        self.drive.submit(&Io { op: Op::Write, stream: 0, offset, len, at, data: Data::Random });
        let done = self.drive.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()));
        done.latency()
    }

    fn fill(&mut self) {
        for page in (0..self.pages).step_by(64) {
            self.submit(page, 64.min(self.pages - page));
        }
    }

    fn draw(&mut self, op: Op, ios: &mut Vec<Io>) {
        ios.extend(
            std::iter::repeat_with(|| {
                let offset = Bytes(self.random.u64(..self.pages) * PAGE);
                Io { op, stream: 0, offset, len: Bytes(PAGE), at: Nanos(0), data: Data::Random }
            })
            .take(AHEAD),
        );
    }

    /// Executes at least `count` IOs, one at a time.
    fn execute(&mut self, op: Op, count: u64) {
        let (mut near, mut far) = (Vec::with_capacity(AHEAD), Vec::with_capacity(AHEAD));
        self.draw(op, &mut far);
        for _ in 0..count.div_ceil(AHEAD as u64) {
            std::mem::swap(&mut near, &mut far);
            far.clear();
            self.draw(op, &mut far);
            self.drive.announce(&near, &far);
            for io in &near {
                let io = Io { at: self.drive.now(), ..*io };
                let done = self.drive.round_trip(&io).expect("an IO in flight completes");
                assert_eq!(done.result, Ok(()));
                if self.timed {
                    self.latencies.push(done.latency().0);
                }
            }
        }
    }

    /// Returns the millions of IOs, and the millions of iterations of the bare loop, per second of
    /// processor time. Both rates are the best of several alternating intervals, because other
    /// processes use the caches too.
    fn speed(&mut self, op: Op, ios: u64, intervals: usize) -> Speed {
        let mut bare = Bare::new(self.pages);
        let mut best = Speed { ios: 0.0, bare: 0.0 };
        for _ in 0..intervals {
            let start = seconds();
            self.execute(op, ios);
            best.ios = best.ios.max(ios as f64 / (seconds() - start) / 1e6);
            best.bare = best.bare.max(bare.speed());
        }
        best
    }

    fn bytes_per_page(&self) -> f64 {
        let geometry = self.drive.nand().geometry();
        let pages = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block);
        (memory() - self.memory_before) / pages as f64
    }
}

/// Returns the processor time of this program in seconds, which excludes other processes.
fn seconds() -> f64 {
    let (user, system) = cpu_time(libc::RUSAGE_SELF);
    (user + system) / 1e6
}

struct Speed {
    ios: f64,
    bare: f64,
}

/// A loop of random reads, changes and writes on an array with 4 bytes per page: the limit of the
/// memory.
struct Bare {
    array: Vec<u32>,
    random: fastrand::Rng,
}

impl Bare {
    fn new(pages: u64) -> Self {
        let array = vec![1; usize::try_from(pages).expect("small")];
        Bare { array, random: fastrand::Rng::with_seed(1) }
    }

    /// Runs the loop, and returns millions of iterations per second.
    fn speed(&mut self) -> f64 {
        let turns = 10_000_000;
        let start = seconds();
        for _ in 0..turns {
            let place = self.random.usize(..self.array.len());
            self.array[place] = self.array[place].wrapping_add(1);
        }
        black_box(&self.array);
        f64::from(turns) / (seconds() - start) / 1e6
    }
}

fn case(Case { name, fields, op, limit }: &Case) {
    let mut run = Run::steady(16, fields);
    let (before, bytes) = (run.drive.counters(), run.bytes_per_page());
    let Speed { ios, bare } = run.speed(*op, 2_000_000, 10);
    let done = run.drive.counters().since(&before);
    let amplification = done.write_amplification();
    let amplification = amplification.map_or_else(String::new, |wa| format!("{wa:.3}"));
    let flash = done.flash.programs.total() + done.flash.reads.total() + done.flash.erases.total();
    let (shown, met) = match limit {
        Some(limit) => (limit.to_string(), verdict(ios >= *limit && bytes <= MEMORY_LIMIT)),
        None => (String::new(), ""),
    };
    println!(
        "{name:<18} {ios:>9.2} {shown:>7} {met:<6} {bare:>7.0} {:>6.3} {amplification:>7} \
         {:>7.1}M {bytes:>7.1}",
        ios / bare,
        ios * flash as f64 / (done.host_pages_written + done.host_pages_read) as f64,
    );
}

/// The name that stands for all observers.
const ALL: &str = "all";

/// Prints the time of an IO with an observer as a multiple of the time without observers. Both
/// times are the best of alternating intervals on one drive.
fn observed(name: &str) {
    let mut run = Run::new(16, "persistence.map=nv-ram");
    let mut watch = Watch::default();
    match name {
        ALL => watch.add_all(&mut run.drive),
        _ => assert!(watch.add(name, &mut run.drive), "no observer {name}"),
    }
    let switch = run.drive.observer_switch();
    switch.set(false);
    run.fill();
    run.execute(Op::Write, 2 * run.pages);
    let mut best = [f64::MAX; 2];
    for interval in 0..24 {
        let nth = interval % 2;
        switch.set(nth == 1);
        let start = seconds();
        run.execute(Op::Write, 1_000_000);
        best[nth] = best[nth].min(seconds() - start);
    }
    black_box(watch.report(run.drive.now()));
    let (ratio, limit) = (best[1] / best[0], OBSERVER_LIMITS[usize::from(name == ALL)]);
    println!("{name:<15} {ratio:>12.2} x {limit:>7} {}", verdict(ratio <= limit));
}

fn size(gib: u64) {
    let mut run = Run::new(gib, "persistence.map=nv-ram");
    run.fill();
    run.execute(Op::Write, run.pages / 4);
    let (bytes, used) = (run.bytes_per_page(), memory() - run.memory_before);
    let Speed { ios, bare } = run.speed(Op::Write, (run.pages / 16).min(4_000_000), 5);
    let used = used / f64::from(1 << 30);
    println!("{gib:>4} GiB {ios:>9.2} {bare:>11.0} {:>6.3} {bytes:>8.1} {used:>12.2}", ios / bare);
}
