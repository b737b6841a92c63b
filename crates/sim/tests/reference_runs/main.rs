//! Repeats the published runs of the paper's own simulator (the SSD extension of DiskSim by Agrawal
//! et al.) from their parameters. `docs/simulator-exactness.md` describes the runs.
//!
//! The tests need the files of `devices/disksim_ssd_reference`, and are skipped with a message if
//! these are missing: see [`disksim`].

mod disksim;
mod synthetic;

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::setup::{Scope, Transfer};
use flashscope_sim::{Counters, Profile, SimDevice};

use crate::disksim::{Run, milliseconds};

const PAGE: u64 = 4096;

/// Returns the profile of the drive that a run's parameters describe.
///
/// The statistics show two facts that the parameters leave open. All data of a write crosses the
/// link before its first page is programmed. A block has one page of summary, of which 528 bytes
/// cross the serial bus.
fn profile(run: &Run) -> Profile {
    let mut profile = Profile::default();
    let share = |name| run.parameter(name) / 100.0;
    assert_eq!(run.parameter("Allocation pool logic"), 1.0, "a pool for each package");
    assert_eq!(run.parameter("Element stride pages"), 1.0, "stripes of a page");
    assert_eq!(run.parameter("Elements per gang"), 1.0, "no gangs");
    assert_eq!(run.parameter("Number of parallel units"), 1.0, "no interleaving");
    assert_eq!(run.parameter("Cleaning policy"), 2.0, "greedy");
    assert_eq!(run.parameter("Cleaning in background"), 0.0);
    assert_eq!(run.parameter("Copy back"), 1.0);
    assert_eq!(run.parameter("Page size"), 8.0, "sectors");
    profile.over_provisioning = share("Reserve pages percentage");
    profile.active_blocks = Scope::Plane;
    profile.cleaning.transfer = Transfer::CopyBack;
    profile.cleaning.free_threshold = share("Minimum free blocks percentage");
    let flash = &mut profile.flash;
    flash.packages = run.count("Flash chip elements");
    flash.dies_per_package = 1;
    flash.planes_per_die = run.count("Planes per package");
    flash.blocks_per_plane = run.count("Blocks per plane");
    flash.pages_per_block = run.count("Pages per block");
    flash.page_read = milliseconds(run.parameter("Page read latency"));
    flash.page_program = milliseconds(run.parameter("Page write latency"));
    flash.block_erase = milliseconds(run.parameter("Block erase latency"));
    flash.serial_access_per_kib = milliseconds(1024.0 * run.parameter("Chip xfer latency"));
    let sector = run.parameter_of("disksim_bus BUSHBA", "Write block transfer time");
    profile.interface.transfer_per_kib = milliseconds(2.0 * sector);
    profile.interface.cut_through = false;
    profile.interface.queue_depth = 64;
    profile
}

/// The statistics of a simulated run.
struct RunStatistics {
    requests: u64,
    /// The sum of all response times, in nanoseconds.
    responses: u64,
    /// The longest response time, in nanoseconds.
    longest: u64,
    counters: Counters,
}

/// Writes every page of the drive once, in order: the state in which the runs begin.
fn fill(drive: &mut SimDevice) {
    let (capacity, chunk) = (drive.info().capacity.0, 1024 * PAGE);
    for start in (0..capacity / chunk).map(|index| index * chunk) {
        let len = Bytes(if start + 2 * chunk > capacity { capacity - start } else { chunk });
        drive.submit(&Io {
            op: Op::Write,
            stream: 0,
            offset: Bytes(start),
            len,
            at: drive.now(),
            data: Data::Random,
        });
        let done = drive.complete(Nanos::MAX).expect("an IO in flight completes");
        assert_eq!(done.result, Ok(()), "{done:?}");
    }
}

/// Sends every request to a full drive when the request is due, even if other requests are in
/// flight.
fn simulate(run: &Run, requests: impl Iterator<Item = Io>) -> RunStatistics {
    let mut drive = SimDevice::new("sim:disksim", &profile(run)).expect("the profile works");
    fill(&mut drive);
    let (start, before) = (drive.now(), drive.counters());
    let (mut answered, mut responses, mut longest) = (0, 0, 0);
    let mut take = |drive: &mut SimDevice, until| {
        while let Some(done) = drive.complete(until) {
            assert_eq!(done.result, Ok(()), "{done:?}");
            let response = (done.completed - done.io.at).0;
            answered += 1;
            responses += response;
            longest = longest.max(response);
        }
    };
    for io in requests {
        let io = Io { at: Nanos(start.0 + io.at.0), ..io };
        take(&mut drive, io.at);
        drive.submit(&io);
    }
    take(&mut drive, Nanos::MAX);
    let counters = drive.counters().since(&before);
    RunStatistics { requests: answered, responses, longest, counters }
}

/// Asserts that `found` is within the relative `tolerance` of the value of the paper's simulator,
/// and prints both values.
#[track_caller]
#[allow(clippy::print_stdout)] // for whoever runs the tests with --nocapture
fn assert_near(what: &str, found: f64, theirs: f64, tolerance: f64) {
    if theirs == 0.0 {
        assert_eq!(found, theirs, "{what}");
        return;
    }
    let error = found / theirs - 1.0;
    println!("{what}: {found:.3}, theirs {theirs:.3}, {:+.3} %", 100.0 * error);
    assert!(error.abs() <= tolerance, "{what}: {found} is {:+.3} % off {theirs}", 100.0 * error);
}

/// Asserts that the pages, collected blocks, moved pages and mean response time of a run agree with
/// the paper's simulator.
#[track_caller]
#[allow(clippy::cast_precision_loss)] // far below 2^53
fn assert_same(name: &str, run: &Run, requests: impl Iterator<Item = Io>) -> RunStatistics {
    let found = simulate(run, requests);
    let counters = &found.counters;
    let of_packages = |statistic| run.by_package(statistic).iter().sum::<f64>();
    let pages = (counters.host_pages_read + counters.host_pages_written) as f64;
    // The standard deviation of the pages of 250,000 random requests is 0.12 %.
    assert_near(&format!("{name}, pages"), pages, of_packages("Total reqs issued"), 0.005);
    let [cleaned, moved] = [counters.cleanings(), counters.pages_moved()].map(|count| count as f64);
    assert_near(&format!("{name}, cleaned"), cleaned, of_packages("Number of cleans"), 0.01);
    assert_near(&format!("{name}, moved"), moved, of_packages("Pages moved"), 0.01);
    let mean = found.responses as f64 / found.requests as f64;
    assert_near(&format!("{name}, mean response, ns"), mean, run.mean_response(), 0.02);
    found
}

#[track_caller]
fn assert_same_synthetic(name: &str) {
    if let Some(run) = Run::load(name) {
        let found = assert_same(name, &run, synthetic::requests(&run));
        let count = run.count("Number of I/O requests to generate");
        assert_eq!(found.requests, u64::from(count));
    }
}

// 250,000 sequential reads of a page take as long as in the paper's simulator.
#[test]
fn sequential_reads_take_as_long_as_in_the_papers_simulator() {
    assert_same_synthetic("sr250k");
}

// 250,000 random reads of 1.58 pages on average take as long as in the paper's simulator.
#[test]
fn random_reads_take_as_long_as_in_the_papers_simulator() {
    assert_same_synthetic("rr250k");
}

// 250,000 sequential writes of a page, before any GC, take as long as in the paper's simulator.
#[test]
fn sequential_writes_before_cleaning() {
    assert_same_synthetic("sw250k");
}

// 250,000 random writes, before any GC, take as long as in the paper's simulator.
#[test]
fn random_writes_before_cleaning() {
    assert_same_synthetic("rw250k");
}

// 5,000,000 sequential writes take as long as in the paper's simulator, and GC collects as many
// blocks, all without valid pages.
#[test]
fn sequential_writes_with_cleaning() {
    assert_same_synthetic("sw5m");
}

// 5,000,000 random writes take as long as in the paper's simulator. GC collects as many blocks and
// moves as many pages.
#[test]
fn random_writes_with_cleaning() {
    assert_same_synthetic("rw5m");
}

// The IOzone trace, which holds every request of the paper's run, takes as long, and GC collects as
// many blocks. The longest response agrees to one part in a million.
#[test]
fn the_iozone_trace_takes_as_long_as_in_the_papers_simulator() {
    let trace = disksim::trace("traces/ssd-iozone-aligned2-100K.trace.zst");
    let (Some(run), Some(requests)) = (Run::load("iozone"), trace) else { return };
    let found = assert_same("iozone", &run, requests.into_iter());
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    let longest = found.longest as f64;
    assert_near("iozone, longest response, ns", longest, run.longest_response(), 1e-6);
}

// The identity of Table 7 holds in the outputs of the paper's simulator: the average lifetime is 50
// erases minus the mean number of erases of a block.
#[test]
fn lifetimes_are_what_erases_leave() {
    for name in ["sw5m", "rw5m", "iozone"] {
        let Some(run) = Run::load(name) else { return };
        let blocks = run.parameter("Blocks per element");
        let lifetimes = run.by_package("Average lifetime");
        for (lifetime, cleans) in lifetimes.iter().zip(run.by_package("Number of cleans")) {
            assert!((lifetime - (50.0 - cleans / blocks)).abs() < 1e-6, "{name}: {lifetime}");
        }
    }
}
