//! Measures the stored bytes per IO of a real run, compared with fio's text log of the same run,
//! and the memory of a long run.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::fs;
use std::path::Path;

use flashscope_benches::{
    Cost, main as bench_main, measure, output, pinned, random_reads, run_case, verdict,
    written_file,
};
use flashscope_block::{Bytes, NullDevice};
use flashscope_drive::{Clock, Location, OpenOptions, open};

/// The largest number of stored bytes per IO.
const STORED_LIMIT: f64 = 6.0;
/// The largest memory of a long run in MiB, and the length of the run in IOs.
const MEMORY_LIMIT: f64 = 200.0;
const LONG_RUN: u64 = 50_000_000;
const SIZE: Bytes = Bytes::GIB;

/// The file system of the file, fio's `--direct` for it, and the number of IOs.
const PLACES: [(&str, &str, u64); 2] = [("tmpfs", "0", 2_000_000), ("ext4", "1", 200_000)];

fn main() {
    bench_main(case, |selected| {
        println!("stored bytes per IO: 4 KiB random reads on 1 GiB, pread, one at a time");
        println!("place      ours   limit          fio's text log (latency, with offsets)");
        for (place, direct, ios) in PLACES.into_iter().filter(|(place, ..)| selected(place)) {
            let ours = run_case(Some(1), &[place, &ios.to_string()]);
            let log = fio_log(place, direct, ios);
            let met = verdict(ours.stored <= STORED_LIMIT);
            println!("{place:<7} {:>7.2} {STORED_LIMIT:>7} {met:<6} {log:>7.1}", ours.stored);
        }
        if selected("memory") {
            let long = run_case(None, &["null", &LONG_RUN.to_string()]);
            println!("\na run of {LONG_RUN} IOs on null:");
            println!(
                "memory {:.0} MiB, limit {MEMORY_LIMIT} {}; {:.2} bytes stored per IO",
                long.memory,
                verdict(long.memory <= MEMORY_LIMIT),
                long.stored,
            );
        }
        println!();
    });
}

fn folder(place: &str) -> &'static Path {
    Path::new(if place == "tmpfs" { "/dev/shm" } else { env!("CARGO_TARGET_TMPDIR") })
}

fn case(arguments: &[String]) -> Cost {
    let [place, ios] = arguments else { panic!("two arguments") };
    let pattern = random_reads(ios.parse().expect("a number of IOs"), SIZE);
    // Store the records on the disk: a case measures the memory of a long run.
    let records = tempfile::tempdir_in(folder("ext4")).expect("a folder");
    if place == "null" {
        let clock = Clock::new();
        let mut null = NullDevice::new(SIZE, 1, move || clock.now());
        return measure(&mut null, &pattern, 1, records.path());
    }
    let data = tempfile::tempdir_in(folder(place)).expect("a folder");
    let file = data.path().join("file");
    written_file(&file, place != "tmpfs");
    let mut device = open(&OpenOptions {
        direct: place != "tmpfs",
        engine: Some(flashscope_drive::EngineKind::Psync),
        ..OpenOptions::new(Location::File(file))
    })
    .expect("the file was made");
    measure(&mut device, &pattern, 1, records.path())
}

/// Runs fio, and returns the bytes per IO of its latency log with offsets.
fn fio_log(place: &str, direct: &str, ios: u64) -> f64 {
    let data = tempfile::tempdir_in(folder(place)).expect("a folder");
    let logs = tempfile::tempdir_in(folder("ext4")).expect("a folder");
    let mut command = pinned(1, Path::new("fio"));
    command.args(["--name=x", "--rw=randread", "--bs=4k", "--norandommap", "--size=1g"]);
    command.args(["--ioengine=psync", "--log_offset=1", &format!("--direct={direct}")]);
    command.arg(format!("--filename={}", data.path().join("file").display()));
    command.arg(format!("--io_size={}", ios * 4096));
    command.arg(format!("--write_lat_log={}", logs.path().join("log").display()));
    output(&mut command);
    let files = fs::read_dir(logs.path()).expect("fio wrote its logs");
    let bytes: u64 = files.map(|f| f.and_then(|f| f.metadata()).expect("a log").len()).sum();
    bytes as f64 / ios as f64
}
