//! Compares the cost of an IO with fio's for each engine, on the same file. flashscope records and
//! stores every IO; fio's logs are off.
//!
//! The IOs are 4 KiB random reads on a file of 1 GiB, in memory (tmpfs, buffered) and on the disk
//! of the build folder (direct). Each program runs on one core, and the two alternate.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::fs;
use std::path::{Path, PathBuf};

use flashscope_benches::{
    Cost, cpu_time, main as bench_main, measure, median, output, pinned, random_reads, run_case,
    verdict, written_file,
};
use flashscope_block::Bytes;
use flashscope_drive::{EngineKind, Location, OpenOptions, open};

const SIZE: Bytes = Bytes::GIB;
const BLOCK: Bytes = Bytes::kib(4);
const ROUNDS: usize = 5;
const CORE: u32 = 1;

/// The largest user time per IO, in µs.
const USER_LIMIT: f64 = 0.10;

struct Case {
    place: &'static str,
    engine: &'static str,
    depth: u32,
    ios: u64,
    /// The largest processor time relative to fio.
    limit: f64,
}

const fn case(place: &'static str, engine: &'static str, depth: u32, ios: u64, limit: f64) -> Case {
    Case { place, engine, depth, ios, limit }
}

const CASES: [Case; 10] = [
    case("tmpfs", "psync", 1, 1_500_000, 0.85),
    case("tmpfs", "libaio", 1, 1_000_000, 0.85),
    case("tmpfs", "libaio", 32, 1_500_000, 0.85),
    case("tmpfs", "io_uring", 1, 400_000, 1.0),
    case("tmpfs", "io_uring", 32, 800_000, 1.0),
    case("ext4", "psync", 1, 40_000, 1.0),
    case("ext4", "libaio", 1, 40_000, 1.0),
    case("ext4", "libaio", 32, 200_000, 1.0),
    case("ext4", "io_uring", 1, 40_000, 1.0),
    case("ext4", "io_uring", 32, 200_000, 1.0),
];

fn main() {
    bench_main(one_case, |selected| {
        println!(
            "4 KiB random reads on 1 GiB, one core; flashscope records every IO, fio keeps no log"
        );
        println!(
            "place engine   depth |   kIOPS     fio  ratio      | CPU µs/IO   fio  ratio  limit      | own user µs (≤ {USER_LIMIT}), fio's"
        );
        for case in &CASES {
            if selected(&format!("{} {} {}", case.place, case.engine, case.depth)) {
                compare(case);
            }
        }
        for place in ["tmpfs", "ext4"] {
            // The file exists only if a case for that file system ran.
            let _ = fs::remove_file(path_in(place));
        }
        println!();
    });
}

fn compare(case: &Case) {
    let path = prepare(case);
    let (mut ours, mut fio) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let [depth, ios] = [u64::from(case.depth), case.ios].map(|n| n.to_string());
        let path = path.to_str().expect("the benchmark chose a UTF-8 path");
        ours.push(run_case(Some(CORE), &[case.place, case.engine, &depth, &ios, path]));
        fio.push(run_fio(case, Path::new(path)));
    }
    // The speed of the machine drifts. Ratios within a round are unaffected.
    let ratio = |of: fn(&Cost) -> f64| median(ours.iter().zip(&fio).map(|(a, b)| of(a) / of(b)));
    let (iops, cpu) = (ratio(|cost| cost.iops), ratio(|cost| cost.cpu));
    let (ours, fio) = (Cost::median(&ours), Cost::median(&fio));
    println!(
        "{:<5} {:<8} {:>5} | {:>7.0} {:>7.0} {:>6.2} {:<6} | {:>8.3} {:>6.3} {:>6.2} {:>6} {:<6} | {:.3} {:<6} {:.3}",
        case.place,
        case.engine,
        case.depth,
        ours.iops / 1e3,
        fio.iops / 1e3,
        iops,
        verdict(iops >= 1.0),
        ours.cpu,
        fio.cpu,
        cpu,
        case.limit,
        verdict(cpu <= case.limit),
        ours.user,
        verdict(ours.user <= USER_LIMIT),
        fio.user,
    );
}

fn folder(place: &str) -> &'static str {
    if place == "tmpfs" { "/dev/shm" } else { env!("CARGO_TARGET_TMPDIR") }
}

fn path_in(place: &str) -> PathBuf {
    Path::new(folder(place)).join(format!("flashscope-bench-{}", std::process::id()))
}

fn options(path: &Path, place: &str) -> OpenOptions {
    let options = OpenOptions::new(Location::File(path.into()));
    OpenOptions { direct: place != "tmpfs", max_io: BLOCK, ..options }
}

fn prepare(case: &Case) -> PathBuf {
    let path = path_in(case.place);
    if !path.exists() {
        written_file(&path, case.place != "tmpfs");
    }
    path
}

fn one_case(arguments: &[String]) -> Cost {
    let [place, engine, depth, ios, path] = arguments else { panic!("five arguments") };
    let depth: u32 = depth.parse().expect("a queue depth");
    let engine = Some(engine.parse::<EngineKind>().expect("an engine"));
    let options = OpenOptions { engine, queue_depth: depth, ..options(Path::new(path), place) };
    let mut device = open(&options).expect("the file was made");
    let records = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let pattern = random_reads(ios.parse().expect("a number of IOs"), SIZE);
    measure(&mut device, &pattern, depth, records.path())
}

/// Runs fio, and returns its cost per IO. fio reports only the processor time of the submitting
/// thread. This function measures the whole process instead, and subtracts a run with few IOs,
/// which measures the cost of starting and ending fio.
fn run_fio(case: &Case, path: &Path) -> Cost {
    let few = 1000;
    let (_, start) = fio(case, path, few);
    let (iops, all) = fio(case, path, case.ios);
    let each = |all: f64, start: f64| (all - start) / (case.ios - few) as f64;
    let cpu = each(all.0 + all.1, start.0 + start.1);
    Cost { iops, cpu, user: each(all.0, start.0), ..Cost::default() }
}

/// Runs fio, and returns its IOPS, and the user and system time of its processes in µs.
fn fio(case: &Case, path: &Path, ios: u64) -> (f64, (f64, f64)) {
    let mut command = pinned(CORE, Path::new("fio"));
    command.args(["--name=x", "--rw=randread", "--bs=4k", "--norandommap", "--size=1g"]);
    command.args(["--output-format=terse", "--invalidate=0"]);
    command.arg(format!("--filename={}", path.display()));
    command.arg(format!("--io_size={}", ios * BLOCK.0));
    command.arg(format!("--ioengine={}", case.engine));
    command.arg(format!("--iodepth={}", case.depth));
    command.arg(format!("--direct={}", u8::from(case.place != "tmpfs")));
    if case.engine == "io_uring" {
        command.args(["--fixedbufs", "--registerfiles"]);
    }
    let before = cpu_time(libc::RUSAGE_CHILDREN);
    let printed = output(&mut command);
    let after = cpu_time(libc::RUSAGE_CHILDREN);
    let iops = printed.split(';').nth(7).expect("field 8 of the terse format is the read IOPS");
    (iops.parse().expect("a number"), (after.0 - before.0, after.1 - before.1))
}
