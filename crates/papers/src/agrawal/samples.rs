use flashscope_block::{Bytes, Data, Op};
use flashscope_sim::Profile;

use super::PAGE;
use crate::bed::Bed;
use crate::{Axis, Claim, Error, Figure, Found, Input, Item, Paper, Run, Series, State};

/// See the paper's section 3.5.
pub const TABLE_2: Item = Item {
    id: "agrawal-table2",
    paper: Paper::Agrawal,
    place: "Table 2",
    title: "sample flash device performance, and what is speculated of the devices",
    stands: State::Pass,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive: a small one of the baseline's kind",
            value: "agrawal-2008?flash.blocks_per_plane=64&interface.queue_depth=64&persistence.map=nv-ram",
            other: "agrawal-2008?flash.blocks_per_plane=64&interface.queue_depth=64&persistence.map=nv-ram&flash.page_read=125us",
        },
        Input {
            name: "usb",
            summary: "a simulated USB drive of the time",
            value: "kingston-dti",
            other: "kingston-dti?interface.request_overhead=5ms",
        },
    ],
    run,
};

/// Random reads and writes of 4 KB that are printed, a second.
const USB_READS: f64 = 150.0;
const USB_WRITES: f64 = 20.0;
const MTRON_READS: f64 = 11_000.0;
const MTRON_WRITES: f64 = 130.0;
const ZEUS_READS: f64 = 52_000.0;
const ZEUS_WRITES: f64 = 11_000.0;

/// Requests in flight of a drive that works at several at once.
const MANY: u64 = 64;

/// Requests that are timed.
const REQUESTS: u64 = 2000;

/// Logical pages, in pages of the flash: up to a block.
const LOGICAL: [u32; 5] = [1, 4, 16, 32, 64];

/// Spare shares.
const SPARE: [f64; 5] = [0.07, 0.15, 0.28, 0.4, 0.5];

const SEED: u64 = 2;

/// Random requests a second on a full drive, so many at once.
fn rate(bed: &mut Bed, op: Op, depth: u64, count: u64, run: &Run<'_>) -> Result<f64, Error> {
    run.go_on()?;
    let (pages, mut random) = (bed.capacity() / PAGE, fastrand::Rng::with_seed(SEED));
    bed.rate(op, depth, count, |_| random.u64(..pages) * PAGE)
}

fn run(run: &Run<'_>) -> Result<Found, Error> {
    let drive = run.profile("drive")?;
    let mut bed = Bed::filled(&drive, Data::Random)?;
    let one = rate(&mut bed, Op::Read, 1, REQUESTS, run)?;
    let many = rate(&mut bed, Op::Read, MANY, 4 * REQUESTS, run)?;
    let mut claims = usb(run)?;
    claims.extend([
        Claim::statement(
            "The MTron device gives random read I/O performance better than can be expected with a single flash request stream \
             (11K/sec)",
            format!("{one:.0} reads a second one after the other, {many:.0} with {MANY} in flight"),
            one < MTRON_READS && MTRON_READS < many,
        ),
        Claim::statement(
            "multiple parallel activities are clearly needed to reach the stated random I/O performance (Zeus: 52K/sec)",
            format!("{:.1} times what one read after the other comes to; {many:.0} a second are reached", ZEUS_READS / one),
            ZEUS_READS > one && ZEUS_READS < many,
        ),
    ]);
    let by_page = by_logical_page(&drive, run)?;
    let page = by_page[0][1];
    let large = by_page.iter().find(|point| point[1] < MTRON_WRITES).map(|point| point[0]);
    claims.push(Claim::statement(
        "the poor random write I/O performance suggests that a large logical page size is being used (MTron: 130/sec)",
        format!(
            "{page:.0} writes a second with logical pages of 4 KB; {}",
            large.map_or("never as few".into(), |size| format!("fewer than 130 from {size} KB on")),
        ),
        page > 10.0 * MTRON_WRITES && large.is_some(),
    ));
    let by_spare = by_spare(&drive, run)?;
    let enough = by_spare.iter().find(|point| point[1] > ZEUS_WRITES).map(|point| point[0]);
    claims.push(Claim::statement(
        "The Zeus system appears to lower pressure on its cleaning algorithm by substantial overprovisioning (11K/sec)",
        format!(
            "{:.0} writes a second with 15 % to spare, where all are cleaned for; {}",
            by_spare[1][1],
            enough.map_or("no share is enough".into(), |share| format!("{share} is enough")),
        ),
        by_spare[1][1] < ZEUS_WRITES && enough.is_some(),
    ));
    Ok(Found { claims, figures: figures(by_page, by_spare) })
}

/// What is said of the USB drive.
fn usb(run: &Run<'_>) -> Result<Vec<Claim>, Error> {
    let mut bed = Bed::filled(&run.profile("usb")?, Data::Random)?;
    let reads = rate(&mut bed, Op::Read, 1, 200, run)?;
    let writes = rate(&mut bed, Op::Write, 1, 100, run)?;
    Ok(vec![
        Claim::statement(
            "Limited random read performance suggests that only a single I/O request is in flight at a time (USB: 150/sec)",
            format!(
                "{reads:.0} reads a second one after the other, which is all that such a drive takes"
            ),
            (USB_READS / 5.0..5.0 * USB_READS).contains(&reads),
        ),
        Claim::statement(
            "consumer USB flash devices almost certainly use a logical page granularity close to the size of a flash block \
             (random writes: <20/sec)",
            format!("{writes:.1} writes a second where blocks are mapped as a whole"),
            writes < USB_WRITES,
        ),
    ])
}

/// Random writes a second by the size of logical pages, KB, on one package: parts of a page are read and written again.
fn by_logical_page(drive: &Profile, run: &Run<'_>) -> Result<Vec<[f64; 2]>, Error> {
    let one = |pages: u32| {
        let mut profile = drive.clone();
        profile.logical_page_size = Bytes(PAGE * u64::from(pages));
        profile.stripe = profile.logical_page_size;
        let mut bed = Bed::filled(&profile, Data::Random)?;
        Ok([4.0 * f64::from(pages), rate(&mut bed, Op::Write, 1, REQUESTS / 4, run)?])
    };
    LOGICAL.into_iter().map(one).collect()
}

/// Random writes a second by the share that is spare, once all of the drive has been written twice.
fn by_spare(drive: &Profile, run: &Run<'_>) -> Result<Vec<[f64; 2]>, Error> {
    let one = |over_provisioning: f64| {
        let profile = Profile { over_provisioning, ..drive.clone() };
        let mut bed = Bed::filled(&profile, Data::Random)?;
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
            title: "Random writes of 4 KB by the size of logical pages, one after the other".into(),
            x: Axis::log("logical page (KB)"),
            y: Axis::log("writes a second"),
            series: vec![
                Series::line("simulated", by_page),
                Series::printed_level("MTron", MTRON_WRITES, pages),
                Series::printed_level("USB, at most", USB_WRITES, pages),
            ],
        },
        Figure {
            title: "Random writes of 4 KB by what is spare, with cleaning".into(),
            x: Axis::linear("spare share of pages"),
            y: Axis::linear("writes a second"),
            series: vec![
                Series::line("simulated", by_spare),
                Series::printed_level("Zeus", ZEUS_WRITES, spare),
            ],
        },
    ]
}
