use flashscope_block::{Bytes, Data};
use flashscope_sim::Profile;
use flashscope_sim::nand::GangSharing;

use super::PAGE;
use super::workloads::{NOT_PUBLIC, WORKLOADS, analogue, exchange, workload_axis};
use crate::test_bed::TestBed;
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// The baseline with sixteen packages for gangs of 8 and 16, each a thirty-second of the original
/// size.
pub(super) const DRIVE: Input = Input {
    name: "drive",
    summary: "the simulated drive: the baseline with sixteen packages",
    value: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024",
    other: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024&flash.page_read=50us",
};

/// Table 4, in section 4.3.
pub(crate) const TABLE_4: Item = Item {
    id: "agrawal-table4",
    paper: Paper::Agrawal,
    place: "Table 4",
    title: "shared-bus gangs under a workload in place of Exchange, on a drive of small packages",
    expected: State::NotReproduced,
    inputs: &[DRIVE],
    run: shared_bus,
};

/// Figure 7, in section 4.3.
pub(crate) const FIGURE_7: Item = Item {
    id: "agrawal-figure7",
    paper: Paper::Agrawal,
    place: "Figure 7",
    title: "shared-control gangs, synchronous and asynchronous, with other workloads than the traces; without --full, on small packages",
    expected: State::NotReproduced,
    inputs: &[UNSHRUNK],
    run: shared_control,
};

/// Returns the drive without gangs, and with gangs of 8 and 16 packages.
fn by_gang(base: &Profile, change: fn(&mut Profile, u32)) -> [Profile; 3] {
    [1, 8, 16].map(|packages| {
        let mut profile = base.clone();
        if packages > 1 {
            profile.gang.packages = packages;
            change(&mut profile, packages);
        }
        profile
    })
}

fn bus(profile: &mut Profile, _: u32) {
    profile.gang.sharing = GangSharing::Bus;
    profile.gang.queue_per_package = false;
}

fn asynchronous(profile: &mut Profile, _: u32) {
    profile.gang.sharing = GangSharing::Control;
}

fn synchronous(profile: &mut Profile, packages: u32) {
    profile.gang.sharing = GangSharing::Control;
    profile.page_span = packages;
    profile.logical_page_size = Bytes(PAGE * u64::from(packages));
    profile.stripe = profile.logical_page_size;
}

/// The printed response time in us and IOPS of a gang: without gangs, and with gangs of 8 and of 16
/// packages.
const TABLE: [[f64; 2]; 3] = [[237.0, 4425.0], [553.0, 1807.0], [746.0, 1340.0]];

fn shared_bus(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut took = [0.0; 3];
    for (took, profile) in took.iter_mut().zip(by_gang(&run.profile("drive")?, bus)) {
        run.check_interrupt()?;
        *took = exchange(&mut TestBed::filled(&profile, Data::Random)?, 20_000)?;
    }
    let [alone, eight, sixteen] = took;
    let ratio = |what: &str, printed: f64, measured: f64| {
        Claim::within((what, ""), printed, measured, 0.25).on_substitute(NOT_PUBLIC)
    };
    let mut claims = vec![
        analogue(
            "the average latency of Exchange I/O requests (variable size) under 8-wide and 16-wide shared-bus gangs",
            format!("{alone:.0}, {eight:.0}, {sixteen:.0} us"),
            alone < eight && eight < sixteen,
        ),
        ratio("8-gang over none", 553.0 / 237.0, eight / alone),
        ratio("16-gang over 8-gang", 746.0 / 553.0, sixteen / eight),
        analogue(
            "this workload requires only about 900 IOPS, so the 16-gang is fast enough",
            format!("{:.0} requests per second, one at a time", 1e6 / sixteen),
            1e6 / sixteen > 900.0,
        ),
    ];
    // The table computes the rates from the latencies, with one request at a time.
    for ([latency, rate], gang) in TABLE.into_iter().zip(["none", "8-gang", "16-gang"]) {
        let claim = Claim::within(
            (format!("IOPS per gang, {gang}: 1 / latency"), "1/s"),
            rate,
            1e6 / latency,
            0.002,
        );
        claims.push(claim.print_wrong_by(
            1e6 / latency,
            crate::Tolerance::Share(1e-9),
            "1 / 237 us is 4219; the printed 4425 is 1 / 226 us, although the other two columns are 1 / latency",
        ));
    }
    Ok(claims.into())
}

/// The drive of Figure 7: the baseline with sixteen packages of their original size.
const UNSHRUNK: Input = Input {
    name: "drive",
    summary: "the simulated drive: the baseline with sixteen packages; without --full, each has an eighth of its blocks",
    value: "agrawal-2008?flash.packages=16&interface.queue_depth=1024",
    other: "agrawal-2008?flash.packages=16&interface.queue_depth=1024&flash.page_read=50us",
};

/// The divisor of the blocks of a plane without `--full`.
const SHRUNK: u32 = 8;

/// The number of requests of each workload: few enough that no block is cleaned.
const REQUESTS: usize = 1000;

/// The response times of all workloads on a drive, in us, and the blocks that were cleaned.
struct Times {
    took: Vec<f64>,
    cleaned: u64,
}

/// Runs all workloads on a drive, one after the other.
fn times(profile: &Profile, run: &Run<'_>) -> Result<Times, Error> {
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let (before, mut took) = (bed.drive.counters(), Vec::new());
    for (_, workload) in WORKLOADS {
        run.check_interrupt()?;
        took.push(workload(&mut bed, REQUESTS)?);
    }
    Ok(Times { took, cleaned: bed.drive.counters().since(&before).cleanings() })
}

fn shared_control(run: &Run<'_>) -> Result<Outcome, Error> {
    let mut base = run.profile("drive")?;
    if !run.full {
        base.flash.blocks_per_plane /= SHRUNK;
    }
    let ([alone, async_8, async_16], [_, sync_8, sync_16]) =
        (by_gang(&base, asynchronous), by_gang(&base, synchronous));
    let [alone, async_8, async_16, sync_8, sync_16] =
        [alone, async_8, async_16, sync_8, sync_16].map(|profile| times(&profile, run));
    let alone = alone?;
    let gangs = [async_8?, async_16?, sync_8?, sync_16?];
    let cleaned = alone.cleaned + gangs.iter().map(|gang| gang.cleaned).sum::<u64>();
    let (mut claims, mut bars) = (Vec::new(), Vec::new());
    for (nth, (name, _)) in WORKLOADS.into_iter().enumerate() {
        let [async_8, async_16, sync_8, sync_16] =
            [0, 1, 2, 3].map(|gang: usize| gangs[gang].took[nth] / alone.took[nth]);
        claims.push(analogue(
            "synchronous ganging uniformly underperforms when compared to asynchronous ganging",
            format!("{name}: asynchronous {async_8:.2} and {async_16:.2}, synchronous {sync_8:.2} and {sync_16:.2}"),
            async_8 <= sync_8 && async_16 <= sync_16,
        ));
        claims.push(analogue(
            "normalized response time (with respect to the base line configuration)",
            format!("{name}: {async_8:.2} with gangs of 8, {async_16:.2} of 16; {cleaned} blocks cleaned"),
            0.995 <= async_8 && async_8 <= 1.005 * async_16 && cleaned == 0,
        ));
        bars.push([async_8, async_16, sync_8, sync_16]);
    }
    let figure = Figure {
        title: "Response time of shared-control gangs, normalized".into(),
        x: workload_axis(),
        y: Axis::log("response time over the baseline"),
        series: Series::bars_by_kind(
            ["asynchronous, 8", "asynchronous, 16", "synchronous, 8", "synchronous, 16"],
            &bars,
        ),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}
