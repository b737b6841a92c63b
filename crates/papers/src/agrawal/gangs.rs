use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_sim::nand::{GangSharing, Interleaving};
use flashscope_sim::setup::Scope;

use super::PAGE;
use super::workloads::{NOT_PUBLIC, WORKLOADS, Workload, exchange};
use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// The baseline with sixteen packages for gangs of 8 and 16, each a thirty-second of the original
/// size.
const DRIVE: Input = Input {
    name: "drive",
    summary: "the simulated drive: the baseline with sixteen packages",
    value: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024",
    other: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024&flash.page_read=50us",
};

/// Figure 6, in section 4.3.
pub(crate) const FIGURE_6: Item = Item {
    id: "agrawal-figure6",
    paper: Paper::Agrawal,
    place: "Figure 6",
    title: "impact of interleaving, with other workloads than the traces, on a drive of small packages",
    expected: State::NotReproduced,
    inputs: &[Input {
        other: "agrawal-2008?flash.packages=16&flash.blocks_per_plane=64&interface.queue_depth=1024&flash.page_program=400us",
        ..DRIVE
    }],
    run: interleaving,
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
    title: "shared-control gangs, synchronous and asynchronous, with other workloads than the traces, on a drive of small packages",
    expected: State::NotReproduced,
    inputs: &[DRIVE],
    run: shared_control,
};

/// A claim about a workload that replaces a trace.
fn analogue(published: &str, measured: String, holds: bool) -> Claim {
    Claim::statement(published, measured, holds).on_substitute(NOT_PUBLIC)
}

fn interleaving(run: &Run<'_>) -> Result<Outcome, Error> {
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
        let measured = format!(
            "{name}: interleaving dies gives {:.2} times the rate, interleaving plane pairs {:.2} times",
            gains[0], gains[1]
        );
        claims.push(match name {
            "IOzone" => analogue(
                "I/Ozone and Postmark show an increase in throughput",
                measured,
                gains[0] > 1.5 && gains[1] > gains[0],
            ),
            _ => analogue(
                "TPC-C and Exchange do not benefit from interleaving",
                measured,
                gains.iter().all(|gain| (0.99..1.03).contains(gain)),
            ),
        });
        rates.push([1.0, gains[0], gains[1]]);
    }
    let figure = Figure {
        title: "I/O rate by interleaved part, normalized".into(),
        x: workload_axis(),
        y: Axis::linear("I/O rate over the baseline"),
        series: Series::bars_by_kind(["nothing", "dies", "plane pairs"], &rates),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// The axis of the workloads.
fn workload_axis() -> Axis {
    Axis::named("workload", &WORKLOADS.map(|(name, _)| name))
}

/// Returns the mean response times of a workload with gangs of 1, 8 and 16 packages, in us.
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

/// The printed response time in us and IOPS of a gang: without gangs, and with gangs of 8 and of 16
/// packages.
const TABLE: [[f64; 2]; 3] = [[237.0, 4425.0], [553.0, 1807.0], [746.0, 1340.0]];

fn shared_bus(run: &Run<'_>) -> Result<Outcome, Error> {
    let took = by_gang(run, exchange, bus)?;
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

fn shared_control(run: &Run<'_>) -> Result<Outcome, Error> {
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
        x: workload_axis(),
        y: Axis::log("response time over the baseline"),
        series: Series::bars_by_kind(
            ["asynchronous, 8", "asynchronous, 16", "synchronous, 8", "synchronous, 16"],
            &times,
        ),
    };
    Ok(Outcome { claims, figures: vec![figure] })
}
