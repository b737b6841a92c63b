//! Benchmark: uniform random 4 KiB writes that the simulator executes per second, on a drive in the
//! steady state at queue depth 1. The benchmark fetches every completion.

use divan::Bencher;
use divan::counter::ItemsCount;
use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::{Drive, gc};

const PAGE: u64 = 4096;
const WRITES: u32 = 1_000_000;

/// Profiles as on the command line after `sim:`: the small drive, and 16 GiB of the paper's flash
/// without and with the bookkeeping of background garbage collection.
const DRIVES: [&str; 3] = [
    "demo",
    "agrawal-2008?flash.packages=4",
    "agrawal-2008?flash.packages=4&background_cleaning=true",
];

fn main() {
    divan::main();
}

struct Writer {
    drive: Drive,
    random: fastrand::Rng,
    pages: u64,
}

impl Writer {
    fn write(&mut self, page: u64) {
        let at = self.drive.now();
        let (offset, len) = (Bytes(page * PAGE), Bytes(PAGE));
        self.drive.submit(&Io { op: Op::Write, stream: 0, offset, len, at, data: Data::Random });
        let done = self.drive.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()));
    }

    fn write_anywhere(&mut self, count: u64) {
        for _ in 0..count {
            let page = self.random.u64(..self.pages);
            self.write(page);
        }
    }

    /// Creates a drive that was filled and then overwritten at random twice.
    fn steady(spec: &str) -> Self {
        let drive = flashscope_sim::open(spec).expect("a valid spec");
        let pages = drive.info().capacity.0 / PAGE;
        let mut writer = Writer { drive, random: fastrand::Rng::with_seed(1), pages };
        (0..pages).for_each(|page| writer.write(page));
        writer.write_anywhere(2 * pages);
        writer
    }
}

#[divan::bench(args = DRIVES, sample_count = 5, sample_size = 1)]
fn random_writes(bencher: Bencher, spec: &str) {
    let mut writer = Writer::steady(spec);
    bencher
        .counter(ItemsCount::new(WRITES))
        .bench_local(|| writer.write_anywhere(u64::from(WRITES)));
}

/// The 16 GiB drive with each cleaning policy. The cost of victim selection is the difference to
/// `fifo`, which needs almost no time to select a victim.
#[divan::bench(args = gc::KINDS.iter().map(|kind| kind.name), sample_count = 5, sample_size = 1)]
fn policies(bencher: Bencher, policy: &str) {
    let spec = format!("agrawal-2008?flash.packages=4&cleaning.policy={policy}");
    let mut writer = Writer::steady(&spec);
    bencher
        .counter(ItemsCount::new(WRITES))
        .bench_local(|| writer.write_anywhere(u64::from(WRITES)));
}
