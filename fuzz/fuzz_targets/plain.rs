//! The same as the others, on random inputs, where cargo-fuzz is not installed:
//! `plain TARGET SECONDS`. A failing input is left in `crash-SEED`, which `cargo fuzz run TARGET`
//! takes, too.

#[path = "../../crates/workload/tests/traces/exhaust.rs"]
mod exhaust;
#[path = "../../crates/sim/tests/drive/life/mod.rs"]
#[allow(dead_code)] // what only the tests compare
mod life;
#[path = "../../crates/attach/tests/nbd/talk.rs"]
#[allow(dead_code)] // what only the tests look at
mod talk;

use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, seconds] = &arguments[..] else { usage() };
    let Ok(seconds) = seconds.parse() else { usage() };
    let time = Duration::from_secs(seconds);
    match target.as_str() {
        "drive" => drives(time),
        "trace" => traces(time),
        "nbd" => clients(time),
        _ => usage(),
    }
}

fn usage() -> ! {
    eprintln!("usage: plain drive|trace|nbd SECONDS");
    std::process::exit(2);
}

fn drives(time: Duration) {
    let (mut lives, mut cuts) = (0u64, 0);
    try_for(
        time,
        |random| {
            let mut bytes = vec![0; random.usize(64..6000)];
            random.fill(&mut bytes);
            bytes
        },
        |bytes| {
            if let Some(story) = life::Life::new(bytes).map(life::Life::live) {
                lives += 1;
                cuts += story.recoveries.len();
            }
        },
    );
    println!("{lives} lives with {cuts} power cuts, none lost a page");
}

fn traces(time: Duration) {
    let samples = samples();
    let (mut read, mut requests) = (0u64, 0);
    try_for(
        time,
        |random| changed(&samples, random),
        |bytes| {
            read += 1;
            requests += exhaust::read_every_way(bytes);
        },
    );
    println!("{read} traces read in every format, with {requests} requests");
}

fn clients(time: Duration) {
    let (mut clients, mut events) = (0u64, 0);
    try_for(
        time,
        |random| talk::conversation(&mut |most| random.usize(..most)),
        |bytes| {
            clients += 1;
            events += talk::talk(bytes).events.len();
        },
    );
    println!("{clients} clients of the network block device, {events} requests and replies");
}

/// Samples of the formats, and seeds of the fuzz target.
fn samples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/traces");
    let entries = std::fs::read_dir(folder).expect("the samples are there");
    let mut samples: Vec<_> =
        entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
    samples.sort();
    samples
}

/// A piece of a sample behind another, with some of it changed.
fn changed(samples: &[Vec<u8>], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.usize(1..4) {
        let sample = &samples[random.usize(..samples.len())];
        let start = random.usize(..sample.len()) * random.usize(..2);
        bytes.extend_from_slice(&sample[start..random.usize(start..=sample.len())]);
    }
    for _ in 0..random.usize(..8) {
        let start = random.usize(..=bytes.len());
        let end = (start + random.usize(..12)).min(bytes.len());
        let mut with = vec![0; random.usize(..6)];
        match random.u8(..3) {
            0 => random.fill(&mut with),
            1 => with.fill(b'9'),
            _ => with.fill(*random.choice(b"\n\r\t ,;.-:0x\"").expect("there are some")),
        }
        bytes.splice(start..end, with);
    }
    bytes
}

/// Tries random inputs until the time is over or one fails.
fn try_for(
    time: Duration,
    input: impl Fn(&mut fastrand::Rng) -> Vec<u8>,
    mut target: impl FnMut(&[u8]),
) {
    let started = Instant::now();
    let mut seeds = fastrand::Rng::new();
    while started.elapsed() < time {
        let seed = seeds.u64(..);
        let bytes = input(&mut fastrand::Rng::with_seed(seed));
        let target = std::panic::AssertUnwindSafe(|| target(&bytes));
        if std::panic::catch_unwind(target).is_err() {
            let file = format!("crash-{seed:016x}");
            match std::fs::write(&file, &bytes) {
                Ok(()) => eprintln!("the input is in {file}"),
                Err(error) => eprintln!("{file} cannot be written: {error}"),
            }
            std::process::exit(1);
        }
    }
}
