//! How many uniform random page writes a second the simulator does in the steady state, beside the
//! limit of the machine: a bare loop of random reads, changes and writes on arrays of the same
//! size. And how that, and memory, grow with the size of the drive.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::hint::black_box;
use std::time::Instant;

use flashscope_benches::verdict;
use flashscope_block::{Bytes, Device, Io, Nanos, Op};
use flashscope_sim::SimDevice;
use flashscope_stats::Summary;

const PAGE: u64 = 4096;
/// Blocks of 64 pages of 4 KiB in a package of this bench: 4 GiB.
const GIB_PER_PACKAGE: u64 = 4;
/// Bytes of memory that a physical page may take.
const MEMORY_LIMIT: f64 = 16.0;

/// What is measured: the drive (fields after `?`), and how many million writes a second are asked.
const CASES: [(&str, &str, f64); 3] = [
    ("full timing", "persistence.map=nv-ram", 6.0),
    ("timing, summaries", "persistence.map=summary", 6.0),
    ("counting only", "persistence.map=nv-ram&timed=false", 15.0),
];

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let wanted =
        |name: &str| arguments.is_empty() || arguments.iter().any(|a| name.contains(a.as_str()));
    println!("uniform random 4 KiB writes, 16 GiB drive, 15 % over-provisioning, steady state");
    println!(
        "case               million/s   limit          WA   B/page  million flash operations/s"
    );
    for (name, fields, limit) in CASES {
        if wanted(name) {
            let run = Run::steady(16, fields);
            report(name, run, limit);
        }
    }
    if wanted("bare loop") {
        println!("bare loop         {:>10.1}", bare_loop(16 << 30));
    }
    if wanted("sizes") {
        sizes();
    }
}

struct Run {
    drive: SimDevice,
    random: fastrand::Rng,
    pages: u64,
    latencies: Summary,
    memory_before: f64,
    timed: bool,
}

fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    let kib = line.split_whitespace().nth(1).expect("a number");
    kib.parse::<f64>().expect("a number") * 1024.0
}

impl Run {
    fn new(gib: u64, fields: &str) -> Self {
        let memory_before = memory();
        let spec = format!(
            "agrawal-2008?flash.packages={}&over_provisioning=0.1304&cleaning.free_threshold=0.0002\
             &{fields}",
            (gib / GIB_PER_PACKAGE).max(1)
        );
        let mut profile = flashscope_sim::profile::parse(&spec).expect("a valid spec");
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
        run.write(2 * run.pages);
        run
    }

    fn submit(&mut self, page: u64, pages: u64) -> Nanos {
        let at = self.drive.now();
        let (offset, len) = (Bytes(page * PAGE), Bytes(pages * PAGE));
        self.drive.submit(&Io { op: Op::Write, stream: 0, offset, len, at });
        let done = self.drive.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()));
        done.latency()
    }

    fn fill(&mut self) {
        for page in (0..self.pages).step_by(64) {
            self.submit(page, 64.min(self.pages - page));
        }
    }

    fn write(&mut self, count: u64) {
        for _ in 0..count {
            let page = self.random.u64(..self.pages);
            let latency = self.submit(page, 1);
            if self.timed {
                self.latencies.push(latency.0);
            }
        }
    }

    /// Writes a second, in millions: the best of several stretches, as others use the machine.
    fn speed(&mut self, writes: u64, stretches: usize) -> f64 {
        let stretch = |run: &mut Self| {
            let start = Instant::now();
            run.write(writes);
            writes as f64 / start.elapsed().as_secs_f64() / 1e6
        };
        (0..stretches).map(|_| stretch(self)).fold(0.0, f64::max)
    }

    fn bytes_per_page(&self) -> f64 {
        let geometry = self.drive.nand().geometry();
        let pages = u64::from(geometry.blocks()) * u64::from(geometry.pages_per_block);
        (memory() - self.memory_before) / pages as f64
    }
}

fn report(name: &str, mut run: Run, limit: f64) {
    let before = run.drive.counters();
    let speed = run.speed(2_000_000, 10);
    let done = run.drive.counters().since(&before);
    let amplification = done.write_amplification().expect("pages were written");
    let (programs, reads) = (done.flash.programs.total(), done.flash.reads.total());
    let operations = (programs + reads + done.flash.erases.total()) as f64;
    let bytes = run.bytes_per_page();
    println!(
        "{name:<18} {speed:>9.2} {limit:>7} {:<6} {amplification:>6.3} {bytes:>8.1}  {:>8.1}",
        verdict(speed >= limit && bytes <= MEMORY_LIMIT),
        speed * operations / done.host_pages_written as f64,
    );
}

/// Random reads, changes and writes of 4 bytes a second, in millions, on an array that has 4 bytes
/// for each page of a drive of this size.
fn bare_loop(size: u64) -> f64 {
    let mut array = vec![1u32; usize::try_from(size / PAGE).expect("small")];
    let mut random = fastrand::Rng::with_seed(1);
    let rounds = 20_000_000;
    let mut best = 0.0f64;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..rounds {
            let place = random.usize(..array.len());
            array[place] = array[place].wrapping_add(1);
        }
        best = best.max(f64::from(rounds) / start.elapsed().as_secs_f64() / 1e6);
    }
    black_box(array);
    best
}

fn sizes() {
    println!("\nsize     million/s   bare loop   ratio   B/page   memory GiB");
    for gib in [1, 4, 16, 64, 256, 1024] {
        let mut run = Run::new(gib, "persistence.map=nv-ram");
        run.fill();
        run.write(run.pages / 4);
        let speed = run.speed((run.pages / 8).min(4_000_000), 5);
        let (bytes, used) = (run.bytes_per_page(), memory() - run.memory_before);
        drop(run);
        let bare = bare_loop(gib << 30);
        let used = used / f64::from(1 << 30);
        println!(
            "{gib:>4} GiB {speed:>9.2} {bare:>11.1} {:>7.3} {bytes:>8.1} {used:>12.2}",
            speed / bare
        );
    }
}
