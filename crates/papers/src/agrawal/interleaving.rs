//! Figure 6: the effect of interleaving, and the queues of the packages.

use flashscope_block::{Data, Device};
use flashscope_sim::Profile;
use flashscope_sim::nand::Interleaving;
use flashscope_sim::observe::Utilization;
use flashscope_sim::setup::Scope;

use super::gangs::DRIVE;
use super::workloads::{WORKLOADS, Workload, analogue, workload_axis};
use crate::test_bed::TestBed;
use crate::{Axis, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

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
    run,
};

/// The number of requests of each workload.
const REQUESTS: usize = 4000;

/// A queue shorter than this, in requests of a package, is very close to empty.
const EMPTY: f64 = 0.1;

/// The mean response time of a workload in us, and the mean number of requests that wait for a
/// package.
#[derive(Clone, Copy)]
struct Load {
    took: f64,
    queue: f64,
}

#[allow(clippy::cast_precision_loss, reason = "few packages")]
fn load(profile: &Profile, workload: Workload) -> Result<Load, Error> {
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let seen = bed.drive.observe(Utilization::new(&bed.drive));
    let took = workload(&mut bed, REQUESTS)?;
    let report = seen.lock().report(bed.drive.now());
    let waiting: f64 = report.units.iter().map(|unit| unit.mean_queue_length).sum();
    Ok(Load { took, queue: waiting / f64::from(profile.flash.packages) })
}

/// Returns the load without interleaving, with interleaved dies, and with interleaved plane pairs.
fn loads(workload: Workload, run: &Run<'_>) -> Result<[Load; 3], Error> {
    let kinds = [
        (Interleaving::None, Scope::Pool),
        (Interleaving::Die, Scope::Die),
        (Interleaving::PlanePair, Scope::Plane),
    ];
    let mut loads = [Load { took: 0.0, queue: 0.0 }; 3];
    for (found, (interleaving, active_blocks)) in loads.iter_mut().zip(kinds) {
        run.check_interrupt()?;
        let profile = Profile { interleaving, active_blocks, ..run.profile("drive")? };
        *found = load(&profile, workload)?;
    }
    Ok(loads)
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let (mut claims, mut rates, mut queues) = (Vec::new(), Vec::new(), Vec::new());
    for (name, workload) in WORKLOADS {
        let [none, dies, pairs] = loads(workload, run)?;
        let gains = [none.took / dies.took, none.took / pairs.took];
        let rate = format!(
            "{name}: interleaving dies gives {:.2} times the rate, interleaving plane pairs {:.2} times",
            gains[0], gains[1]
        );
        let queue = format!("{name}: {:.3} requests wait for a package", none.queue);
        let (gain, length, gains_hold, queues_hold) = match name {
            "IOzone" | "Postmark" => (
                "I/Ozone and Postmark show an increase in throughput",
                "when a large sequential request is dispatched to multiple packages, queuing occurs",
                gains[0] > 1.2 && gains[1] >= gains[0],
                none.queue > EMPTY,
            ),
            _ => (
                "TPC-C and Exchange do not benefit from interleaving",
                "the average number of queued requests is very close to zero for these two workloads",
                gains.iter().all(|gain| (0.99..1.05).contains(gain)),
                none.queue < EMPTY,
            ),
        };
        claims.push(analogue(gain, rate, gains_hold));
        claims.push(analogue(length, queue, queues_hold));
        rates.push([1.0, gains[0], gains[1]]);
        queues.push([none.queue]);
    }
    let figure = |title: &str, y, series| Figure {
        title: title.into(),
        x: workload_axis(),
        y: Axis::linear(y),
        series,
    };
    let by_part = Series::bars_by_kind(["nothing", "dies", "plane pairs"], &rates);
    let waiting = Series::bars_by_kind(["without interleaving"], &queues);
    let figures = vec![
        figure("I/O rate by interleaved part, normalized", "I/O rate over the baseline", by_part),
        figure("Requests that wait for a package", "mean queue length", waiting),
    ];
    Ok(Outcome { claims, figures })
}
