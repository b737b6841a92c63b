//! Measures the speed of reading traces on one core and from memory.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads clocks")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use flashscope_benches::{Cost, cpu_time, main as bench_main, memory, run_case, verdict};
use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::writer::{self, Output};
use flashscope_trace::{Reader, Request, Spec, Volumes};

const ROUNDS: usize = 5;
const REQUESTS: u64 = 10_000_000;

/// Each format, and the least number of million requests per second.
const CASES: [(&str, f64); 3] = [("msr", 6.0), ("spc", 6.0), ("parquet", 30.0)];

fn main() {
    bench_main(case, |selected| {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        println!("traces: {REQUESTS} requests, mixed reads and writes, one core");
        println!("format     million/s   limit          MB/s   bytes/request   memory MiB");
        for (format, limit) in CASES.into_iter().filter(|(format, _)| selected(format)) {
            let path = folder.path().join(format);
            write(format, &path);
            let arguments = ["read", path.to_str().expect("UTF-8")];
            let rounds: Vec<Cost> = (0..ROUNDS).map(|_| run_case(Some(0), &arguments)).collect();
            let cost = Cost::median(&rounds);
            let rate = cost.iops / 1e6;
            println!(
                "{format:<8} {rate:>11.1} {limit:>7} {:<6} {:>10.0} {:>15.1} {:>12.0}",
                verdict(rate >= limit),
                cost.iops * cost.stored / 1e6,
                cost.stored,
                cost.memory,
            );
            std::fs::remove_file(&path).expect("it was written");
        }
        println!();
    });
}

/// Reads a trace to its end, and returns the cost per request.
fn case(arguments: &[String]) -> Cost {
    let path = &arguments[1];
    let before = cpu_time(libc::RUSAGE_SELF);
    let start = Instant::now();
    let mut trace = Spec::default().open(&[path]).expect("a trace");
    let mut batch = Vec::new();
    let (mut requests, mut sum) = (0u64, 0u64);
    loop {
        trace.read(&mut batch).expect("no bad lines");
        if batch.is_empty() {
            break;
        }
        requests += batch.len() as u64;
        sum = batch.iter().fold(sum, |sum, r| sum ^ r.at.0 ^ r.offset.0 ^ r.len.0);
    }
    std::hint::black_box(sum);
    assert_eq!(requests, REQUESTS);
    let wall = start.elapsed().as_secs_f64();
    let after = cpu_time(libc::RUSAGE_SELF);
    let requests = requests as f64;
    Cost {
        iops: requests / wall,
        cpu: (after.0 + after.1 - before.0 - before.1) / requests,
        user: (after.0 - before.0) / requests,
        wall: wall * 1e9 / requests,
        stored: std::fs::metadata(path).expect("it is there").len() as f64 / requests,
        memory: memory("VmHWM"),
    }
}

/// Generates requests like those of a busy server: seven in ten write, anywhere in 100 GB, 512 B to
/// 64 KiB, 50 µs apart on average.
fn requests() -> impl Iterator<Item = Request> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut at = 1_166_000_000_000_000_000;
    (0..REQUESTS).map(move |_| {
        at += random.u64(0..1000) * 100;
        Request {
            at: Nanos(at),
            latency: Some(Nanos(random.u64(1..100_000) * 100)),
            offset: Bytes(random.u64(0..200_000_000) * 512),
            len: Bytes(512 << random.u32(0..8)),
            volume: 0,
            op: if random.u32(0..10) < 7 { Op::Write } else { Op::Read },
        }
    })
}

fn write(format: &str, path: &Path) {
    if format == "spc" {
        return write_spc(path);
    }
    let mut volumes = Volumes::new();
    volumes.id(b"hm_0");
    let kind = writer::find(format).expect("a writer");
    let output = Output::create(path.to_str().expect("UTF-8")).expect("the folder is writable");
    let mut writer = (kind.open)(output).expect("the folder is writable");
    let mut requests = requests().peekable();
    while requests.peek().is_some() {
        let batch: Vec<Request> = requests.by_ref().take(4096).collect();
        writer.write(&batch, &volumes).expect("the folder is writable");
    }
    writer.finish(&volumes).expect("the folder is writable");
}

/// Writes the format of the Storage Performance Council, for which the library has only a reader.
fn write_spc(path: &Path) {
    let mut file = BufWriter::new(File::create(path).expect("the folder is writable"));
    for request in requests() {
        let Request { at, offset, len, op, .. } = request;
        let op = if op == Op::Read { 'r' } else { 'W' };
        let (seconds, micros) = (at.0 / 1_000_000_000 % 100_000, at.0 / 1000 % 1_000_000);
        writeln!(file, "0,{},{},{op},{seconds}.{micros:06}", offset.0 / 512, len.0)
            .expect("the folder is writable");
    }
}
