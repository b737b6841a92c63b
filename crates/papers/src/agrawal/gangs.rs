use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_sim::nand::{GangSharing, Interleaving};
use flashscope_sim::setup::Scope;

use super::PAGE;
use super::workloads::{NOT_PUBLIC, WORKLOADS, Workload, exchange};
use crate::{Axis, Claim, Error, Figure, Found, Input, Item, Paper, Run, Series, State};

/// The baseline with sixteen packages of a thirty-second of the size: gangs are of 8 and 16.
const DRIVE: Input = Input {
    name: "drive",
    summary: "the simulated drive: the baseline with sixteen packages",
    value: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024",
    other: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024&flash.page_read=50us",
};

/// Section 4.3.
pub const FIGURE_6: Item = Item {
    id: "agrawal-figure6",
    paper: Paper::Agrawal,
    place: "Figure 6",
    title: "impact of interleaving",
    stands: State::Pass,
    inputs: &[Input {
        other: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024&flash.page_program=400us",
        ..DRIVE
    }],
    run: interleaving,
};

/// Section 4.3.
pub const TABLE_4: Item = Item {
    id: "agrawal-table4",
    paper: Paper::Agrawal,
    place: "Table 4",
    title: "shared-bus gangs under Exchange",
    stands: State::Explained,
    inputs: &[DRIVE],
    run: shared_bus,
};

/// Section 4.3.
pub const FIGURE_7: Item = Item {
    id: "agrawal-figure7",
    paper: Paper::Agrawal,
    place: "Figure 7",
    title: "shared-control gangs, synchronous and asynchronous",
    stands: State::Pass,
    inputs: &[DRIVE],
    run: shared_control,
};

/// A claim about a workload that stands for a trace.
fn analogue(published: &str, found: String, holds: bool) -> Claim {
    Claim::statement(published, found, holds).since(false, NOT_PUBLIC)
}

fn interleaving(run: &Run<'_>) -> Result<Found, Error> {
    let (mut claims, mut rates) = (Vec::new(), Vec::new());
    for (name, workload) in WORKLOADS {
        let kinds = [
            (Interleaving::None, Scope::Pool),
            (Interleaving::Die, Scope::Die),
            (Interleaving::PlanePair, Scope::Plane),
        ];
        let mut took = Vec::new();
        for (interleaving, active_blocks) in kinds {
            let profile = Profile { interleaving, active_blocks, ..run.profile("drive")? };
            took.push(workload(run, &profile)?);
        }
        let gains = [took[0] / took[1], took[0] / took[2]];
        let found = format!(
            "{name}: {:.2} times the rate between dies, {:.2} between plane pairs",
            gains[0], gains[1]
        );
        claims.push(match name {
            "IOzone" => analogue(
                "I/Ozone and Postmark show an increase in throughput",
                found,
                gains[0] > 1.5 && gains[1] > gains[0],
            ),
            _ => analogue(
                "TPC-C and Exchange do not benefit from interleaving",
                found,
                gains.iter().all(|gain| (0.99..1.03).contains(gain)),
            ),
        });
        rates.push([1.0, gains[0], gains[1]]);
    }
    let figure = Figure {
        title: "I/O rate by what is interleaved, normalized".into(),
        x: workloads(),
        y: Axis::linear("I/O rate over the baseline"),
        series: Series::bars_by_kind(["nothing", "dies", "plane pairs"], &rates),
    };
    Ok(Found { claims, figures: vec![figure] })
}

/// The workloads as an axis.
fn workloads() -> Axis {
    Axis::named("workload", &WORKLOADS.map(|(name, _)| name))
}

/// The response times of a workload with gangs of 1, 8 and 16 packages, us.
fn by_gang(
    run: &Run<'_>,
    workload: Workload,
    change: fn(&mut Profile, u32),
) -> Result<[f64; 3], Error> {
    let mut took = [0.0; 3];
    for (took, packages) in took.iter_mut().zip([1, 8, 16]) {
        let mut profile = run.profile("drive")?;
        if packages > 1 {
            profile.gang.packages = packages;
            change(&mut profile, packages);
        }
        *took = workload(run, &profile)?;
    }
    Ok(took)
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

/// Printed response times, us: without a gang, of 8 and of 16; and IOs a second of a gang.
const TABLE: [[f64; 2]; 3] = [[237.0, 4425.0], [553.0, 1807.0], [746.0, 1340.0]];

fn shared_bus(run: &Run<'_>) -> Result<Found, Error> {
    let took = by_gang(run, exchange, bus)?;
    let [alone, eight, sixteen] = took;
    let ratio = |what: &str, printed: f64, found: f64| {
        let claim = Claim::close((what, ""), printed, found, 0.25);
        Claim { explanation: Some(NOT_PUBLIC.into()), ..claim }
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
            format!("one request at a time comes to {:.0} a second", 1e6 / sixteen),
            1e6 / sixteen > 900.0,
        ),
    ];
    // The rates of the table are what one request after the other comes to.
    for ([latency, rate], gang) in TABLE.into_iter().zip(["none", "8-gang", "16-gang"]) {
        let claim = Claim::close(
            (format!("IOPS per gang, {gang}: 1 / latency"), "1/s"),
            rate,
            1e6 / latency,
            0.002,
        );
        claims.push(claim.unless(
            1e6 / latency,
            crate::Tolerance::Share(1e-9),
            "1 / 237 us is 4219; the printed 4425 is 1 / 226 us, while the other two columns are 1 / latency",
        ));
    }
    Ok(claims.into())
}

fn shared_control(run: &Run<'_>) -> Result<Found, Error> {
    let (mut claims, mut times) = (Vec::new(), Vec::new());
    for (name, workload) in WORKLOADS {
        let [alone, async_8, async_16] = by_gang(run, workload, asynchronous)?;
        let [_, sync_8, sync_16] = by_gang(run, workload, synchronous)?;
        let [async_8, async_16, sync_8, sync_16] =
            [async_8, async_16, sync_8, sync_16].map(|took| took / alone);
        claims.push(analogue(
            "synchronous ganging uniformly underperforms when compared to asynchronous ganging",
            format!("{name}: asynchronous {async_8:.2} and {async_16:.2}, synchronous {sync_8:.2} and {sync_16:.2}"),
            async_8 <= sync_8 && async_16 <= sync_16,
        ));
        claims.push(analogue(
            "normalized response time (with respect to the base line configuration)",
            format!("{name}: {async_8:.2} with gangs of 8, {async_16:.2} of 16"),
            1.0 <= async_8 && async_8 <= async_16,
        ));
        times.push([async_8, async_16, sync_8, sync_16]);
    }
    let figure = Figure {
        title: "Response time of shared-control gangs, normalized".into(),
        x: workloads(),
        y: Axis::log("response time over the baseline"),
        series: Series::bars_by_kind(
            ["asynchronous, 8", "asynchronous, 16", "synchronous, 8", "synchronous, 16"],
            &times,
        ),
    };
    Ok(Found { claims, figures: vec![figure] })
}
