//! Benchmark: host IOs simulated per second if flash commands wait in queues, compared with the
//! same drive if they do not. Also compares open loops that differ only in the queue depth of the
//! drive: their cost must depend on the IOs in flight, not on the queue depth. Last, compares the
//! memory of both drives.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::Drive;

const PAGE: u64 = 4096;
const IOS: u64 = 1_000_000;
/// The number of intervals. The best interval counts, because other processes use the caches, too.
const INTERVALS: u32 = 3;

/// Eight packages of four dies.
const DRIVE: &str = "agrawal-2008?flash.packages=8&flash.dies_per_package=4&flash.planes_per_die=1\
                     &interleaving=die&active_blocks=die&flash.blocks_per_plane=512\
                     &over_provisioning=0.28&persistence.map=nv-ram";

struct Host {
    drive: Drive,
    random: fastrand::Rng,
    pages: u64,
}

impl Host {
    fn new(fields: &str) -> Host {
        let drive = flashscope_sim::open(&format!("{DRIVE}&{fields}")).expect("a valid spec");
        let pages = drive.info().capacity.0 / PAGE;
        let mut host = Host { drive, random: fastrand::Rng::with_seed(1), pages };
        for page in 0..pages {
            host.submit(Op::Write, page);
            host.complete();
        }
        host
    }

    fn submit(&mut self, op: Op, page: u64) {
        let (offset, len, at) = (Bytes(page * PAGE), Bytes(PAGE), self.drive.now());
        self.drive.submit(&Io { op, stream: 0, offset, len, at, data: Data::Random });
    }

    fn complete(&mut self) {
        let done = self.drive.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()));
    }

    fn submit_any(&mut self, reads: f64) {
        let op = if self.random.f64() < reads { Op::Read } else { Op::Write };
        let page = self.random.u64(..self.pages);
        self.submit(op, page);
    }

    /// Returns millions of IOs a second in a closed loop.
    fn closed(fields: &str, depth: u32, reads: f64) -> f64 {
        let mut host = Host::new(fields);
        (0..depth).for_each(|_| host.submit_any(reads));
        let turn = |host: &mut Host, ios: u64| {
            let start = seconds();
            for _ in 0..ios {
                host.complete();
                host.submit_any(reads);
            }
            ios as f64 / (seconds() - start) / 1e6
        };
        let pages = host.pages;
        turn(&mut host, pages);
        (0..INTERVALS).map(|_| turn(&mut host, IOS)).fold(0.0, f64::max)
    }

    /// Returns millions of IOs a second in an open loop of half reads.
    fn open(depth: u32) -> f64 {
        let fields = format!("interface.queue_depth={depth}&scheduling.policy=suspend");
        let mut host = Host::new(&fields);
        let (start, mut due) = (seconds(), host.drive.now());
        for _ in 0..IOS {
            due.0 += host.random.u64(..160_000);
            while host.drive.complete(due).is_some() {}
            host.submit_any(0.5);
        }
        IOS as f64 / (seconds() - start) / 1e6
    }
}

/// Returns the processor time of this thread in seconds, which excludes other processes.
fn seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = times.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok());
    nanos.expect("the time on a processor comes first") / 1e9
}

fn main() {
    println!("8 x 4 dies, uniform 4 KiB, million host IOs per second of processor time");
    let queued = "interface.queue_depth=64&scheduling.policy=suspend";
    let suspending = Host::closed(queued, 32, 0.5);
    println!(
        "suspend, half reads, QD 32     {suspending:>5.2}   limit 2   {}",
        met(suspending >= 2.0)
    );
    // The two bus orders differ only in whether commands wait in queues; with `data-first` they do.
    let writes = ["asking", "data-first"].map(|order| {
        let fields = format!("interleaving=none&active_blocks=pool&scheduling.bus_order={order}");
        Host::closed(&fields, 1, 0.0)
    });
    println!("writes, at once and in queues   {:.2} and {:.2}", writes[0], writes[1]);
    let [few, many] = [4096, 65_536].map(Host::open);
    let ratio = few / many;
    println!(
        "open loop, 4096 and 65,536 slots {few:.2} and {many:.2}: {ratio:.2}   limit 1.2   {}",
        met(ratio <= 1.2)
    );
    let [plain, queues] = ["asking", "data-first"].map(bytes_per_page);
    println!(
        "bytes a page, at once and in queues {plain:.1} and {queues:.1}   limit 16   {}",
        met(plain <= 16.0 && queues <= 16.0)
    );
}

/// Returns the bytes of a drive per page of flash, by its own estimate.
fn bytes_per_page(order: &str) -> f64 {
    let fields = "interleaving=none&active_blocks=pool";
    let spec = format!("{DRIVE}&{fields}&scheduling.bus_order={order}");
    let profile = flashscope_sim::setup::parse(&spec).expect("a valid spec");
    let flash = &profile.flash;
    let blocks = flash.packages * flash.dies_per_package * flash.planes_per_die;
    let pages = u64::from(blocks) * u64::from(flash.blocks_per_plane * flash.pages_per_block);
    profile.footprint().expect("a valid profile").drive.0 as f64 / pages as f64
}

/// Returns the verdict on a limit.
const fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}
