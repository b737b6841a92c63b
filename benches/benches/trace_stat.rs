//! Measures the speed and the memory of computing the characteristics of a long trace in one pass.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads clocks")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::time::{Duration, Instant};

use flashscope_benches::{Cost, cpu_time, main as bench_main, memory, run_case, verdict};
use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::statistics::Characteristics;
use flashscope_trace::{BATCH, Request, Volumes};

const REQUESTS: u64 = 100_000_000;

/// Each case: name, number of 4 KiB pages, and true for skewed accesses.
const CASES: [(&str, u64, bool); 3] = [
    ("zipf 100 GB", 100_000_000_000 / 4096, true),
    ("zipf 20 GB", 20_000_000_000 / 4096, true),
    ("uniform 4 TB", 4_000_000_000_000 / 4096, false),
];

/// The least number of million requests per second, and the largest memory in MiB.
const LIMITS: (f64, f64) = (5.0, 1024.0);

fn main() {
    bench_main(case, |selected| {
        println!("characteristics of a trace: {REQUESTS} requests of 8 KiB on average, one core");
        println!("trace           million/s   limit        memory MiB   limit");
        for (name, ..) in CASES.into_iter().filter(|(name, ..)| selected(name)) {
            let cost = run_case(Some(0), &["stat", name]);
            let rate = cost.iops / 1e6;
            let (least, most) = LIMITS;
            println!(
                "{name:<13} {rate:>11.1} {least:>7} {:<6} {:>11.0} {most:>7} {}",
                verdict(rate >= least),
                cost.memory,
                verdict(cost.memory <= most),
            );
        }
        println!();
    });
}

/// Computes the characteristics. The time to generate the requests does not count.
fn case(arguments: &[String]) -> Cost {
    let case = CASES.into_iter().find(|(name, ..)| *name == arguments[1]);
    let (_, pages, zipf) = case.expect("a case by name");
    let mut volumes = Volumes::new();
    volumes.id(b"0");
    let before = cpu_time(libc::RUSAGE_SELF);
    let mut characteristics = Characteristics::new();
    let mut took = Duration::ZERO;
    let mut requests = requests(pages, zipf);
    let mut batch = Vec::new();
    loop {
        batch.clear();
        batch.extend(requests.by_ref().take(BATCH));
        if batch.is_empty() {
            break;
        }
        let start = Instant::now();
        characteristics.push(&batch);
        took += start.elapsed();
    }
    let start = Instant::now();
    let facts = characteristics.finish(&volumes);
    took += start.elapsed();
    assert_eq!(facts.requests.total, REQUESTS);
    let wall = took.as_secs_f64();
    let after = cpu_time(libc::RUSAGE_SELF);
    let requests = REQUESTS as f64;
    Cost {
        iops: requests / wall,
        cpu: (after.0 + after.1 - before.0 - before.1) / requests,
        user: (after.0 - before.0) / requests,
        wall: wall * 1e9 / requests,
        stored: 0.0,
        memory: memory("VmHWM"),
    }
}

/// Generates requests of 4 to 12 KiB, seven in ten of them writes, 50 µs apart on average. With
/// `zipf`, the rank of a page is log-uniform, which is Zipf's law with exponent 1; ranks are
/// scattered over the pages.
fn requests(pages: u64, zipf: bool) -> impl Iterator<Item = Request> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut at = 0;
    (0..REQUESTS).map(move |_| {
        at += random.u64(0..1000) * 100;
        let page = if zipf {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let rank = (pages as f64).powf(random.f64()) as u64;
            ((u128::from(rank.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * u128::from(pages)) >> 64)
                as u64
        } else {
            random.u64(0..pages)
        };
        Request {
            at: Nanos(at),
            latency: None,
            offset: Bytes(page * 4096),
            len: Bytes(4096 * random.u64(1..4)),
            volume: 0,
            op: if random.u32(0..10) < 7 { Op::Write } else { Op::Read },
        }
    })
}
