//! Measures the flash operations (reads, programs and erases) per second that the simulator does
//! for FTLs with log blocks, with full timing. The workload is uniform writes of one page, nearly
//! all of which cost a merge.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::disallowed_methods, reason = "a benchmark reads its arguments")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use flashscope_benches::{cpu_time, verdict};
use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::{SimDevice, ftl};

const PAGE: u64 = 4096;
const PAGES: u64 = 64;
/// The number of data blocks, and the number of log blocks: 7 % of the data blocks, as in the
/// reference runs.
const DATA_BLOCKS: u64 = 8192;
const LOG_BLOCKS: u64 = 573;
/// The least number of million flash operations per second for the FTLs of `LIMITED`.
const LIMIT: f64 = 25.0;
const LIMITED: [&str; 2] = ["bast", "fast"];

fn main() {
    let selected: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    println!(
        "uniform writes of one page, {DATA_BLOCKS} data blocks of {PAGES} pages, {LOG_BLOCKS} log \
         blocks, full timing"
    );
    println!("ftl          million flash ops/s   limit       thousand writes/s       r");
    let kinds = ftl::KINDS.iter().filter(|kind| !kind.trims()).map(|kind| kind.name);
    kinds
        .filter(|name| selected.is_empty() || selected.iter().any(|part| part == name))
        .for_each(case);
    println!();
}

/// Returns the processor time of this program in seconds.
fn seconds() -> f64 {
    let (user, system) = cpu_time(libc::RUSAGE_SELF);
    (user + system) / 1e6
}

fn write(drive: &mut SimDevice, page: u64, pages: u64) {
    let (offset, len, at) = (Bytes(page * PAGE), Bytes(pages * PAGE), drive.now());
    let (op, data) = (Op::Write, Data::Random);
    drive.submit(&Io { op, stream: 0, offset, len, data, at });
    let done = drive.complete(Nanos::MAX).expect("an IO in flight completes");
    assert_eq!(done.result, Ok(()));
}

fn case(name: &str) {
    let blocks = DATA_BLOCKS + LOG_BLOCKS + 1;
    let spare = (LOG_BLOCKS + 1) as f64 / blocks as f64;
    let spec = format!(
        "agrawal-2008?flash.packages=1&flash.dies_per_package=1&flash.planes_per_die=1\
         &flash.blocks_per_plane={blocks}&over_provisioning={spare}&persistence.map=nv-ram\
         &ftl={name}&log.blocks={LOG_BLOCKS}"
    );
    let profile = flashscope_sim::setup::parse(&spec).expect("a valid spec");
    let mut drive = SimDevice::new("sim:bench", &profile).expect("a valid profile");
    for block in 0..DATA_BLOCKS {
        write(&mut drive, block * PAGES, PAGES);
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut writes = |drive: &mut SimDevice, count: u64| {
        (0..count).for_each(|_| write(drive, random.u64(..DATA_BLOCKS * PAGES), 1));
    };
    writes(&mut drive, 2 * LOG_BLOCKS * PAGES);
    let (mut best, mut per_second, before, count) = (0.0, 0.0, drive.counters(), 100_000);
    for _ in 0..8 {
        let (start, earlier) = (seconds(), drive.counters());
        writes(&mut drive, count);
        let took = seconds() - start;
        let flash = drive.counters().since(&earlier).flash;
        let operations = flash.reads.total() + flash.programs.total() + flash.erases.total();
        if operations as f64 / took / 1e6 > best {
            (best, per_second) = (operations as f64 / took / 1e6, count as f64 / took / 1e3);
        }
    }
    let throughput = drive.counters().since(&before).equivalent_throughput(64);
    let (limit, met) = match LIMITED.contains(&name) {
        true => (LIMIT.to_string(), verdict(best >= LIMIT)),
        false => (String::new(), ""),
    };
    println!(
        "{name:<12} {best:>19.1} {limit:>7} {met:<6} {per_second:>22.0} {:>7.4}",
        throughput.unwrap_or_default()
    );
}
