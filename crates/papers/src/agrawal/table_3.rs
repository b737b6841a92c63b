use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_sim::SimDevice;

use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State, Tolerance};

/// Table 3, in section 4.4.
pub(crate) const TABLE_3: Item = Item {
    id: "agrawal-table3",
    paper: Paper::Agrawal,
    place: "Table 3",
    title: "SSD performance under micro-benchmarks",
    expected: State::AsPrinted,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive",
            value: "agrawal-2008",
            other: "agrawal-2008?flash.page_program=250us&flash.page_read=40us",
        },
        Input {
            name: "writes",
            summary: "the number of writes in the runs with cleaning, which the paper does not give",
            value: "5000000",
            other: "2500000",
        },
    ],
    run,
};

const PACKAGES: u64 = 8;
const PAGE: u64 = 4096;

/// The number of pages of each package that the workload accesses. The authors entered a number of
/// pages where their tool expects sectors: 877,363 pages in all, an eighth of the drive.
const PAGES: u64 = 109_670;

/// Writes to a package without cleaning: 630 blocks of the 1632 that are free at first.
const BEFORE_CLEANING: u64 = 630 * 63;

/// The number of reads from each package, which is small because all reads take the same time.
const READS: u64 = 1000;

const SEED: u64 = 2008;

/// Returns the page within its package for the `index`th request.
type Pattern = fn(&mut fastrand::Rng, u64) -> u64;

const PATTERNS: [(&str, Pattern); 2] =
    [("sequential", |_, index| index % PAGES), ("random", |random, _| random.u64(..PAGES))];

/// Printed mean response time in us, and requests per second.
const READ: [f64; 2] = [130.0, 61_255.0];
const WRITE: [f64; 2] = [309.0, 25_898.0];
const WRITE_AND_CLEAN: [[f64; 2]; 2] = [[327.0, 24_457.0], [433.0, 18_480.0]];

/// Response times in us that follow from Table 1: a read takes 25 + 4224 × 0.025. A write takes
/// 105.6 + 200, plus 1/63 of the 213.2 for the summary of the block. The times with cleaning add
/// the erases and moved pages of 5 million writes.
const READ_DERIVED: f64 = 130.6;
const WRITE_DERIVED: f64 = 308.984;
const CLEAN_DERIVED: [f64; 2] = [328.9, 434.8];

/// The tolerance of the derived times, which assume a theoretical number of cleanings under random
/// writes.
const DERIVED_TOLERANCE: f64 = 0.001;

const LENGTH: &str = "the cost of cleaning depends on the share of a run before the first cleaning, and the paper does \
                     not give the length of its runs: 327 us implies 3.4 million writes, 433 us 4.5 million";

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let name = run.inputs.get("drive");
    let profile = run.profile("drive")?;
    let open = || -> Result<SimDevice, Error> {
        let mut drive =
            SimDevice::new(name, &profile).map_err(|error| Error::input("drive", &error))?;
        let needed = Bytes(PACKAGES * PAGES * PAGE);
        if drive.info().capacity < needed {
            return Err(Error::input("drive", &format_args!("its capacity is below {needed}")));
        }
        fill(&mut drive);
        Ok(drive)
    };
    let writes: u64 = run.number("writes")?;
    let mut claims = Vec::new();
    let mut drive = open()?;
    for (pattern_name, pattern) in PATTERNS {
        let reads = saturate(&mut drive, Op::Read, pattern, READS, run)?;
        claims.extend(row(&format!("{pattern_name} read"), READ, READ_DERIVED, reads));
        let written = saturate(&mut drive, Op::Write, pattern, BEFORE_CLEANING, run)?;
        claims.extend(row(&format!("{pattern_name} write"), WRITE, WRITE_DERIVED, written));
    }
    let rows = WRITE_AND_CLEAN.into_iter().zip(CLEAN_DERIVED);
    for ((pattern_name, pattern), (printed, derived)) in PATTERNS.into_iter().zip(rows) {
        let what = format!("{pattern_name} write, with cleaning");
        let measured = saturate(&mut open()?, Op::Write, pattern, writes / PACKAGES, run)?;
        let row = row(&what, printed, derived, measured);
        claims.extend(row.map(|claim| claim.with_note(LENGTH)));
    }
    Ok(claims.into())
}

/// Returns the claims of a row: response time, rate, and the response time derived from Table 1.
fn row(what: &str, [us, per_second]: [f64; 2], derived: f64, measured: [f64; 2]) -> [Claim; 3] {
    let tolerance = Tolerance::Share(0.01);
    [
        Claim::number((what, "us"), us, measured[0], tolerance),
        Claim::number((what, "1/s"), per_second, measured[1], tolerance),
        Claim::within((format!("{what}, derived"), "us"), derived, measured[0], DERIVED_TOLERANCE),
    ]
}

/// Writes every page of the drive once, in order.
fn fill(drive: &mut SimDevice) {
    let capacity = drive.info().capacity;
    let step = Bytes::mib(4);
    for offset in (0..capacity.0).step_by(4 << 20).map(Bytes) {
        let (at, len) = (drive.now(), step.min(capacity - offset));
        drive.submit(&Io { op: Op::Write, stream: 0, offset, len, at, data: Data::Random });
        drive.complete(Nanos::MAX);
    }
}

/// Keeps one single-page request in flight on every package until each package has served `count`
/// requests. Returns the mean response time in us, and the requests per second.
#[allow(clippy::cast_precision_loss, reason = "counts and times are far below 2^53")]
fn saturate(
    drive: &mut SimDevice,
    op: Op,
    pattern: Pattern,
    count: u64,
    run: &Run<'_>,
) -> Result<[f64; 2], Error> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut submit = |drive: &mut SimDevice, package: u16, index| {
        let page = pattern(&mut random, index) * PACKAGES + u64::from(package);
        let (offset, at) = (Bytes(page * PAGE), drive.now());
        drive.submit(&Io { op, stream: package, offset, len: Bytes(PAGE), at, data: Data::Random });
    };
    let (start, mut sent, mut done, mut took) = (drive.now(), [1; 8], 0_u64, 0);
    for package in 0..8 {
        submit(drive, package, 0);
    }
    while let Some(completion) = drive.complete(Nanos::MAX) {
        done += 1;
        took += completion.latency().0;
        if done.is_multiple_of(1 << 16) {
            run.check_interrupt()?;
        }
        let of_package = &mut sent[usize::from(completion.io.stream)];
        if *of_package < count {
            submit(drive, completion.io.stream, *of_package);
            *of_package += 1;
        }
    }
    let seconds = (drive.now() - start).0 as f64 / 1e9;
    Ok([took as f64 / done as f64 / 1e3, done as f64 / seconds])
}
