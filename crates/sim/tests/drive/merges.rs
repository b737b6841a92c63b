//! BAST and FAST, compared with the equivalent throughput of an independent event simulation under
//! the assumptions of Boboila and Desnoyers, MSST'11, section III: uniform starts; geometric
//! lengths with mean w, cut off at the end of the drive; 8192 data blocks of 64 pages.

use flashscope_block::{Device, Op};
use flashscope_sim::SimDevice;
use flashscope_sim::setup::{Eviction, Merge};

use crate::{drive, one_pool, round_trip};

const PAGE: u64 = 4096;
const PAGES: u64 = 64;
const DATA_BLOCKS: u32 = 8192;

/// Expected equivalent throughput with 573 log blocks. Each row holds the mean length, then the
/// values for BAST with eager merging, BAST with lazy merging, and FAST.
const UNIFORM: [(u32, [f64; 3]); 15] = [
    (1, [0.008462, 0.008462, 0.077413]),
    (2, [0.016783, 0.016783, 0.090305]),
    (4, [0.033027, 0.033027, 0.114370]),
    (8, [0.063971, 0.063971, 0.156933]),
    (16, [0.119970, 0.119943, 0.227328]),
    (32, [0.211574, 0.211176, 0.336581]),
    (64, [0.341663, 0.340759, 0.487434]),
    (100, [0.439910, 0.440588, 0.598562]),
    (128, [0.495910, 0.498968, 0.659939]),
    (256, [0.641336, 0.658268, 0.812813]),
    (512, [0.754314, 0.790364, 0.915683]),
    (1000, [0.827087, 0.878560, 0.964617]),
    (1024, [0.829244, 0.881168, 0.965692]),
    (2048, [0.875232, 0.936189, 0.984849]),
    (2500, [0.884490, 0.947117, 0.987717]),
];

/// Each row holds the number of log blocks, the mean length, and the three values as in
/// [`UNIFORM`].
const FREE_SPACE: [(u32, u32, [f64; 3]); 8] = [
    (246, 1, [0.008116, 0.008116, 0.043333]),
    (246, 64, [0.339057, 0.338701, 0.454678]),
    (1229, 4, [0.036005, 0.036005, 0.169557]),
    (1229, 256, [0.619152, 0.647748, 0.857722]),
    (2458, 1, [0.011214, 0.011214, 0.218173]),
    (2458, 16, [0.152345, 0.152136, 0.350891]),
    (2458, 64, [0.364079, 0.358810, 0.617936]),
    (2458, 1024, [0.705313, 0.845889, 0.971522]),
];

/// Each row holds the mean length, then the values for BAST with FIFO eviction, BAST with LRU
/// eviction, and FAST; 80 % of the writes go to 20 % of the space.
const HOT_AND_COLD: [(u32, [f64; 3]); 5] = [
    (1, [0.010008, 0.010093, 0.099052]),
    (4, [0.038804, 0.039138, 0.162952]),
    (16, [0.137968, 0.138922, 0.294279]),
    (64, [0.355849, 0.356080, 0.566332]),
    (256, [0.603040, 0.603058, 0.858904]),
];

/// An FTL with its merge and eviction options.
type Case = (&'static str, Merge, Eviction);

const BAST: Case = ("bast", Merge::Eager, Eviction::Fifo);
const LAZY_BAST: Case = ("bast", Merge::Lazy, Eviction::Fifo);
const LRU_BAST: Case = ("bast", Merge::Eager, Eviction::Lru);
const FAST: Case = ("fast", Merge::Eager, Eviction::Fifo);

/// Returns a drive on which every page was written once, block by block.
fn merged(case: Case, logs: u32) -> SimDevice {
    let mut profile = one_pool(DATA_BLOCKS + logs + 1);
    profile.over_provisioning = f64::from(logs + 1) / f64::from(DATA_BLOCKS + logs + 1);
    profile.timed = false;
    profile.log.blocks = logs;
    (profile.ftl, profile.log.merge, profile.log.eviction) = (case.0.into(), case.1, case.2);
    let mut drive = drive(&profile);
    assert_eq!(drive.info().capacity.0, u64::from(DATA_BLOCKS) * PAGES * PAGE);
    for block in 0..u64::from(DATA_BLOCKS) {
        round_trip(&mut drive, Op::Write, block * PAGES * PAGE, PAGES * PAGE);
    }
    assert_eq!(drive.counters().flash.programs.total(), u64::from(DATA_BLOCKS) * PAGES);
    drive
}

/// Writes requests of geometric lengths with mean `w`. If `local`, 80 % of them go to a fifth of
/// the space.
fn write(drive: &mut SimDevice, random: &mut fastrand::Rng, w: u32, local: bool, requests: u64) {
    let pages = drive.info().capacity.0 / PAGE;
    let hot = pages / 5;
    for _ in 0..requests {
        let start = match local {
            false => random.u64(..pages),
            true if random.f64() < 0.8 => random.u64(..hot),
            true => random.u64(hot..pages),
        };
        let length = geometric(random, w).min(pages - start);
        round_trip(drive, Op::Write, start * PAGE, length * PAGE);
    }
}

/// Returns the number of requests that turn the log blocks over once: counted with FAST by pages
/// that do not begin a data block, and with BAST by data blocks.
fn turnover(case: Case, logs: u32, w: u32) -> u64 {
    let (logs, w) = (f64::from(logs), f64::from(w));
    let head = (1..64).map(|room| w * (1.0 - (1.0 - 1.0 / w).powi(room))).sum::<f64>() / 63.0;
    let requests = match case {
        ("fast", ..) => 64.0 * logs / head,
        _ => logs / (1.0 + w / 64.0).min(2.0),
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive and small
    let requests = requests.ceil() as u64;
    requests
}

/// Returns the equivalent throughput after the log blocks were turned over four times. FAST with
/// short writes needs more turnovers, because its ring is merged in waves at first.
fn equivalent_throughput(case: Case, logs: u32, w: u32, local: bool) -> f64 {
    let (mut drive, mut random) = (merged(case, logs), fastrand::Rng::with_seed(u64::from(w)));
    let (turnover, waves) = (turnover(case, logs, w), case == FAST && w <= 8);
    write(&mut drive, &mut random, w, local, if waves { 6 } else { 4 } * turnover);
    let before = drive.counters();
    // This number gives a random error of a third of a percent.
    let least = if w <= 4 { 20_000 } else { 3_000_000 / u64::from(w.max(64)) };
    write(&mut drive, &mut random, w, local, least.max(if waves { 8 } else { 4 } * turnover));
    let found = drive.counters().since(&before);
    found.equivalent_throughput(64).expect("blocks were erased")
}

/// Asserts that the throughput is within 1 % of the expected one, and describes the difference.
fn compare(case: Case, logs: u32, w: u32, local: bool, expected: f64) -> String {
    let found = equivalent_throughput(case, logs, w, local);
    let error = found / expected - 1.0;
    let percent = 100.0 * error;
    let text =
        format!("{case:?}, {logs} logs, w {w}: {found:.4}, not {expected:.4}: {percent:+.2} %");
    assert!(error.abs() < 0.01, "{text}");
    text
}

fn geometric(random: &mut fastrand::Rng, mean: u32) -> u64 {
    if mean == 1 {
        return 1;
    }
    let tail = (1.0 - 1.0 / f64::from(mean)).ln();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive and small
    let length = ((1.0 - random.f64()).ln() / tail).ceil() as u64;
    length.max(1)
}

// The throughput is within 1 % of the simulation for every mean length of uniform writes.
#[test]
fn uniform_writes_match_the_simulation() {
    for (w, expected) in UNIFORM {
        for (case, expected) in [BAST, LAZY_BAST, FAST].into_iter().zip(expected) {
            println!("{}", compare(case, 573, w, false, expected));
        }
    }
}

// Covers log blocks of 3 to 30 % of the data blocks.
#[test]
fn more_and_fewer_log_blocks_match_the_simulation() {
    for (logs, w, expected) in FREE_SPACE {
        for (case, expected) in [BAST, LAZY_BAST, FAST].into_iter().zip(expected) {
            println!("{}", compare(case, logs, w, false, expected));
        }
    }
}

// Covers writes of which most go to a part of the drive. Includes eviction of the least recently
// written log block.
#[test]
fn local_writes_match_the_simulation() {
    for (w, expected) in HOT_AND_COLD {
        for (case, expected) in [BAST, LRU_BAST, FAST].into_iter().zip(expected) {
            println!("{}", compare(case, 573, w, true, expected));
        }
    }
}
