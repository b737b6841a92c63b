use flashscope_block::{Bytes, Data, Op};
use flashscope_sim::Profile;

use super::PAGE;
use crate::test_bed::TestBed;
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Table 2, in section 3.5.
pub(crate) const TABLE_2: Item = Item {
    id: "agrawal-table2",
    paper: Paper::Agrawal,
    place: "Table 2",
    title: "performance of sample flash devices, and the paper's guesses about their internals",
    expected: State::AsPrinted,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive: a small version of the baseline",
            value: "agrawal-2008?flash.blocks_per_plane=64&interface.queue_depth=64&persistence.map=nv-ram",
            other: "agrawal-2008?flash.blocks_per_plane=64&interface.queue_depth=64&persistence.map=nv-ram&flash.page_read=125us",
        },
        Input {
            name: "usb",
            summary: "a simulated USB drive of 2008",
            value: "kingston-dti",
            other: "kingston-dti?interface.request_overhead=5ms",
        },
    ],
    run,
};

/// Printed rates of random 4 KB reads and writes, per second.
const USB_READS: f64 = 150.0;
const USB_WRITES: f64 = 20.0;
const MTRON_READS: f64 = 11_000.0;
const MTRON_WRITES: f64 = 130.0;
const ZEUS_READS: f64 = 52_000.0;
const ZEUS_WRITES: f64 = 11_000.0;

/// Requests in flight on a drive that works on several at once.
const MANY: u64 = 64;

/// The number of timed requests.
const REQUESTS: u64 = 2000;

/// Sizes of logical pages, in flash pages, up to a block.
const LOGICAL: [u32; 5] = [1, 4, 16, 32, 64];

/// The spare shares of pages.
const SPARE: [f64; 5] = [0.07, 0.15, 0.28, 0.4, 0.5];

const SEED: u64 = 2;

/// Returns the rate of random requests on a full drive, per second, with `depth` in flight.
fn rate(bed: &mut TestBed, op: Op, depth: u64, count: u64, run: &Run<'_>) -> Result<f64, Error> {
    run.check_interrupt()?;
    let (pages, mut random) = (bed.capacity() / PAGE, fastrand::Rng::with_seed(SEED));
    bed.rate(op, depth, count, |_| random.u64(..pages) * PAGE)
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let drive = run.profile("drive")?;
    let mut bed = TestBed::filled(&drive, Data::Random)?;
    let one = rate(&mut bed, Op::Read, 1, REQUESTS, run)?;
    let many = rate(&mut bed, Op::Read, MANY, 4 * REQUESTS, run)?;
    let mut claims = usb(run)?;
    claims.extend([
        Claim::statement(
            "The MTron device gives random read I/O performance better than can be expected with a single flash request stream \
             (11K/sec)",
            format!("{one:.0} reads per second one at a time, {many:.0} with {MANY} in flight"),
            one < MTRON_READS && MTRON_READS < many,
        ),
        Claim::statement(
            "multiple parallel activities are clearly needed to reach the stated random I/O performance (Zeus: 52K/sec)",
            format!("52K/sec is {:.1} times the rate of one read at a time; {MANY} in flight reach {many:.0}", ZEUS_READS / one),
            ZEUS_READS > one && ZEUS_READS < many,
        ),
    ]);
    let by_page = by_logical_page(&drive, run)?;
    let page = by_page[0][1];
    let large = by_page.iter().find(|point| point[1] < MTRON_WRITES).map(|point| point[0]);
    claims.push(Claim::statement(
        "the poor random write I/O performance suggests that a large logical page size is being used (MTron: 130/sec)",
        format!(
            "{page:.0} writes per second with logical pages of 4 KB; {}",
            large.map_or("never fewer than 130".into(), |size| format!("fewer than 130 from {size} KB on")),
        ),
        page > 10.0 * MTRON_WRITES && large.is_some(),
    ));
    let by_spare = by_spare(&drive, run)?;
    let enough = by_spare.iter().find(|point| point[1] > ZEUS_WRITES).map(|point| point[0]);
    claims.push(Claim::statement(
        "The Zeus system appears to lower pressure on its cleaning algorithm by substantial overprovisioning (11K/sec)",
        format!(
            "{:.0} writes per second with 15 % spare pages; {}",
            by_spare[1][1],
            enough.map_or("no share reaches 11K".into(), |share| format!("a share of {share} reaches 11K")),
        ),
        by_spare[1][1] < ZEUS_WRITES && enough.is_some(),
    ));
    Ok(Outcome { claims, figures: figures(by_page, by_spare) })
}

/// Checks the claims about the USB drive.
fn usb(run: &Run<'_>) -> Result<Vec<Claim>, Error> {
    let mut bed = TestBed::filled(&run.profile("usb")?, Data::Random)?;
    let reads = rate(&mut bed, Op::Read, 1, 200, run)?;
    let writes = rate(&mut bed, Op::Write, 1, 100, run)?;
    Ok(vec![
        Claim::statement(
            "Limited random read performance suggests that only a single I/O request is in flight at a time (USB: 150/sec)",
            format!(
                "{reads:.0} reads per second one at a time, the most that such a drive accepts"
            ),
            (USB_READS / 5.0..5.0 * USB_READS).contains(&reads),
        ),
        Claim::statement(
            "consumer USB flash devices almost certainly use a logical page granularity close to the size of a flash block \
             (random writes: <20/sec)",
            format!("{writes:.1} writes per second with a block map"),
            writes < USB_WRITES,
        ),
    ])
}

/// Returns random writes per second by the size of logical pages in KB, on one package. A partial
/// write reads and rewrites its whole logical page.
fn by_logical_page(drive: &Profile, run: &Run<'_>) -> Result<Vec<[f64; 2]>, Error> {
    let one = |pages: u32| {
        let mut profile = drive.clone();
        profile.logical_page_size = Bytes(PAGE * u64::from(pages));
        profile.stripe = profile.logical_page_size;
        let mut bed = TestBed::filled(&profile, Data::Random)?;
        Ok([4.0 * f64::from(pages), rate(&mut bed, Op::Write, 1, REQUESTS / 4, run)?])
    };
    LOGICAL.into_iter().map(one).collect()
}

/// Returns random writes per second by the spare share, after the drive has been overwritten twice.
fn by_spare(drive: &Profile, run: &Run<'_>) -> Result<Vec<[f64; 2]>, Error> {
    let one = |over_provisioning: f64| {
        let profile = Profile { over_provisioning, ..drive.clone() };
        let mut bed = TestBed::filled(&profile, Data::Random)?;
        let pages = bed.capacity() / PAGE;
        rate(&mut bed, Op::Write, MANY, 2 * pages, run)?;
        Ok([over_provisioning, rate(&mut bed, Op::Write, MANY, pages, run)?])
    };
    SPARE.into_iter().map(one).collect()
}

fn figures(by_page: Vec<[f64; 2]>, by_spare: Vec<[f64; 2]>) -> Vec<Figure> {
    let pages = [4.0, 4.0 * f64::from(LOGICAL[LOGICAL.len() - 1])];
    let spare = [SPARE[0], SPARE[SPARE.len() - 1]];
    vec![
        Figure {
            title: "Random writes of 4 KB by the size of logical pages, one at a time".into(),
            x: Axis::log("logical page (KB)"),
            y: Axis::log("writes per second"),
            series: vec![
                Series::line("simulated", by_page),
                Series::printed_level("MTron", MTRON_WRITES, pages),
                Series::printed_level("USB, at most", USB_WRITES, pages),
            ],
        },
        Figure {
            title: "Random writes of 4 KB by the spare share, with cleaning".into(),
            x: Axis::linear("spare share of pages"),
            y: Axis::linear("writes per second"),
            series: vec![
                Series::line("simulated", by_spare),
                Series::printed_level("Zeus", ZEUS_WRITES, spare),
            ],
        },
    ]
}
