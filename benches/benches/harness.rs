//! Measures the cost of the harness on a drive that takes no time, with every IO recorded and
//! stored.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

use std::path::Path;

use flashscope_benches::{Cost, main as bench_main, measure, random_reads, run_case, verdict};
use flashscope_block::{Bytes, NullDevice};
use flashscope_drive::Clock;

const ROUNDS: usize = 5;
const IOS: u64 = 20_000_000;

/// The queue depth, and the largest time per IO in ns.
const CASES: [(u32, f64); 2] = [(1, 60.0), (32, 40.0)];

fn main() {
    bench_main(case, |selected| {
        println!("harness on null:, {IOS} random reads, all recorded");
        println!("depth   wall ns/IO   limit           cpu ns/IO   memory MiB");
        for (depth, limit) in CASES.into_iter().filter(|(depth, _)| selected(&depth.to_string())) {
            let round = |_| run_case(None, &[&depth.to_string()]);
            let cost = Cost::median(&(0..ROUNDS).map(round).collect::<Vec<_>>());
            println!(
                "{depth:>5} {:>12.1} {limit:>7} {:<6} {:>10.1} {:>12.0}",
                cost.wall,
                verdict(cost.wall <= limit),
                cost.cpu * 1e3,
                cost.memory,
            );
        }
        println!();
    });
}

fn case(arguments: &[String]) -> Cost {
    let depth: u32 = arguments[0].parse().expect("a queue depth");
    let clock = Clock::new();
    let mut null = NullDevice::new(Bytes::GIB, depth, move || clock.now());
    let records = tempfile::tempdir_in(memory()).expect("a folder in memory");
    measure(&mut null, &random_reads(IOS, Bytes::GIB), depth, records.path())
}

/// Returns a folder in memory, where storing needs no disk.
fn memory() -> &'static Path {
    Path::new("/dev/shm")
}
