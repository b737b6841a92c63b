//! Logical pages and stripes: section 3.1, and the measurements of section 4.3.

use flashscope_block::{Bytes, Data, Device, Op};
use flashscope_sim::Profile;

use super::PAGE;
use super::workloads::{NOT_PUBLIC, tpc_c, two_reads_per_write};
use crate::test_bed::TestBed;
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Sections 3.1 and 4.3.
pub(crate) const SECTION_3_1: Item = Item {
    id: "agrawal-section3.1",
    paper: Paper::Agrawal,
    place: "Section 3.1, and Page Size and Striping in section 4.3",
    title: "large logical pages, page spans and stripes, with another workload than the trace, on a drive of small packages",
    expected: State::NotReproduced,
    inputs: &[Input {
        name: "drive",
        summary: "the simulated drive: the baseline with small packages",
        value: "agrawal-2008?flash.blocks_per_plane=64&interface.queue_depth=1024&persistence.map=nv-ram",
        other: "agrawal-2008?flash.blocks_per_plane=64&interface.queue_depth=1024&persistence.map=nv-ram&flash.page_read=50us",
    }],
    run,
};

/// The pages of a block, and therefore of the largest logical page.
const BLOCK: u32 = 64;

/// The packages of the drive.
const PACKAGES: u32 = 8;

/// The requests of the replacement for TPC-C.
const REQUESTS: usize = 3000;

/// The rate of the trace on each drive, per second.
const RATE: f64 = 300.0;

/// Sizes of logical pages, in flash pages.
const LOGICAL: [u32; 5] = [1, 4, 16, 32, BLOCK];

/// Returns a drive with logical pages of this many flash pages, each on one package.
fn with_pages(drive: &Profile, pages: u32) -> Profile {
    let size = Bytes(PAGE * u64::from(pages));
    Profile { logical_page_size: size, stripe: size, ..drive.clone() }
}

/// Returns the mean response time of TPC-C in us.
fn latency(profile: &Profile, run: &Run<'_>) -> Result<f64, Error> {
    run.check_interrupt()?;
    tpc_c(&mut TestBed::filled(profile, Data::Random)?, REQUESTS)
}

/// Returns the rate at which random requests of 8 KiB, two reads per write, are served with many in
/// flight.
fn rate(profile: &Profile) -> Result<f64, Error> {
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let (pages, mut random) = (bed.capacity() / PAGE, fastrand::Rng::with_seed(3));
    let start = bed.drive.now();
    bed.closed_loop(64, REQUESTS, |at| Some(two_reads_per_write(&mut random, pages, at)))?;
    #[allow(clippy::cast_precision_loss, reason = "few requests")]
    let requests = REQUESTS as f64;
    Ok(requests / (bed.drive.now() - start).as_secs_f64())
}

/// Returns the response time of a request of 32 KiB in us: the mean of requests all over the drive.
#[allow(clippy::cast_precision_loss, reason = "few requests")]
fn of_32_kib(profile: &Profile, op: Op) -> Result<f64, Error> {
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let size = PAGE * u64::from(PACKAGES);
    let (places, mut random) = (bed.capacity() / size, fastrand::Rng::with_seed(4));
    let (count, mut sum) = (200, 0.0);
    for _ in 0..count {
        sum += 1e3 * bed.time(op, Data::Random, random.u64(..places) * size, size)?;
    }
    Ok(sum / f64::from(count))
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let drive = run.profile("drive")?;
    let points = LOGICAL.map(|pages| latency(&with_pages(&drive, pages), run));
    let mut by_size = Vec::new();
    for (pages, point) in LOGICAL.iter().zip(points) {
        by_size.push([4.0 * f64::from(*pages), point?]);
    }
    let (small, large) = (by_size[0][1], by_size[LOGICAL.len() - 1][1]);
    let served = rate(&with_pages(&drive, BLOCK))?;
    let substitute = |claim: Claim| claim.on_substitute(NOT_PUBLIC);
    let mut claims = vec![
        substitute(Claim::statement(
            "with a full-block page size (256KB) at unit depth, TPC-C produces an average I/O latency of over 20 ms",
            format!("{:.1} ms", large / 1e3),
            large > 20_000.0,
        ))
        .not_reproduced_if((15_000.0..20_000.0).contains(&large), BURSTS),
        substitute(Claim::statement(
            "more than two orders of magnitude greater than what can be expected with a 4KB page size",
            format!("{:.0} times", large / small),
            large > 100.0 * small,
        ))
        .not_reproduced_if((80.0..100.0).contains(&(large / small)), BURSTS),
        substitute(Claim::statement(
            "the eight package configuration with a 256KB page size can (barely) keep up with 300 IOPS",
            format!("{served:.0} requests per second with 64 in flight"),
            (RATE..3.0 * RATE).contains(&served),
        )),
        substitute(Claim::within(
            ("the average latency for TPC-C with a page size of 4KB", "us"),
            200.0,
            small,
            0.2,
        )),
        Claim::within(
            ("the IOPS that a latency of 200 us implies on eight packages", "1/s"),
            40_000.0,
            f64::from(PACKAGES) / 200e-6,
            1e-9,
        ),
    ];
    claims.extend(striping(&drive, small, run)?);
    let figure = Figure {
        title: "Response time of TPC-C by the size of logical pages".into(),
        x: Axis::log("logical page (KB)"),
        y: Axis::log("mean response time (us)"),
        series: vec![Series::line("simulated", by_size)],
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Checks the statements about stripes and page spans. `small` is the response time of TPC-C with
/// stripes of a page.
fn striping(drive: &Profile, small: f64, run: &Run<'_>) -> Result<Vec<Claim>, Error> {
    let wide = |pages: u32| Profile { stripe: Bytes(PAGE * u64::from(pages)), ..drive.clone() };
    let doubled = latency(&wide(2), run)?;
    let (striped, serial) = (of_32_kib(drive, Op::Read)?, of_32_kib(&wide(PACKAGES), Op::Read)?);
    let large = with_pages(drive, PACKAGES);
    let spanning = Profile { page_span: PACKAGES, ..large.clone() };
    let (within, spanned) = (of_32_kib(&large, Op::Write)?, of_32_kib(&spanning, Op::Write)?);
    let times = |one: f64, other: f64| format!("{one:.0} us, and {other:.0} us");
    Ok(vec![
        Claim::statement(
            "splitting up each request into parallel 4KB requests is superior to striping 8KB requests at 8KB increments",
            times(small, doubled),
            small < doubled,
        )
        .on_substitute(NOT_PUBLIC),
        Claim::statement(
            "pages that are always accessed at the same time should not be stored on a component that requires each to be accessed in series",
            format!("32 KB over eight packages and on one: {}", times(striped, serial)),
            striped < serial / 4.0,
        )
        .on_substitute(SMALL),
        Claim::statement(
            "a logical page might span related pages on different flash packages, thus creating the potential for accessing sections of the page in parallel",
            format!("a page of 32 KB over eight packages and on one: {}", times(spanned, within)),
            spanned < within / 4.0,
        )
        .on_substitute(SMALL),
    ])
}

const BURSTS: &str = "a write takes 28 ms here, too: 62 pages read and 64 programmed. Two of three requests are reads, which take .25 ms and wait for \
                     writes; the trace is not public, and its requests may come in bursts, where Poisson arrivals replace them";

const SMALL: &str = "the paper gives no numbers, and the packages are smaller than the paper's";
