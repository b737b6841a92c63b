//! Predicts how a workload performs on a twin, with intervals from alternative drives that fit the measurements as well.

use flashscope_document::twin::{
    DepthSource, MeasuredDepth, PredictedLatency, Range, Twin, TwinPrediction,
};
use flashscope_measure::Progress;
use flashscope_sim::{Drive, Profile};

use super::{FitError, depth, drives_of, side_by_side_with_progress};
use flashscope_simulate::{Resources, Simulation, Simulator, Work};

/// A drive and the result of a simulation on it.
struct SimulatedDraw {
    blocks: f64,
    lifetime: f64,
    depth_from: DepthSource,
    simulation: Simulation,
}

/// Simulates a workload on the twin and on at most `draws` of its draws. Reports each simulation to `progress`.
///
/// # Errors
/// If the workload is invalid or cannot run on the twin. Draws that cannot run it are left out.
pub fn predict(
    twin: &Twin,
    work: &Work,
    draws: usize,
    resources: &Resources<'_>,
    progress: &mut dyn Progress,
) -> Result<TwinPrediction, FitError> {
    let measured = depth::of_twin(twin)?;
    let (drive, drawn) = drives_of(twin, draws)?;
    let all: Vec<Profile> = std::iter::once(drive).chain(drawn).collect();
    let ran = side_by_side_with_progress(&all, resources.jobs, progress, |profile| {
        run(profile, work, measured, resources)
    });
    let mut ran = ran.into_iter();
    let best = ran.next().ok_or(FitError::NoStart)??;
    let others: Vec<SimulatedDraw> = ran.flatten().collect();
    if resources.is_stopped() {
        return Err(FitError::Interrupted);
    }
    let range = |spread: f64, of: &dyn Fn(&SimulatedDraw) -> Option<f64>| {
        let draws = others.iter().filter_map(of).collect();
        Some(Range::around(of(&best)?, draws, twin.confidence).wider(spread))
    };
    let always =
        |spread, of: &dyn Fn(&SimulatedDraw) -> Option<f64>| range(spread, of).unwrap_or_default();
    let [of_means, of_tails] = twin.spread;
    let mean = |ran: &SimulatedDraw| Some(ran.simulation.latency_ns.as_ref()?.mean.value);
    Ok(TwinPrediction {
        drive: twin.drive.clone(),
        workload: work.workload.clone(),
        confidence: twin.confidence,
        draws: u32::try_from(others.len()).unwrap_or(u32::MAX),
        ios: best.simulation.ios,
        queue_depth: best.simulation.queue_depth,
        queue_depth_from: best.depth_from,
        bytes_per_second: always(of_means, &bytes_per_second),
        latency_ns: PredictedLatency {
            mean: always(of_means, &mean),
            p50: always(of_means, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p50))),
            p99: always(of_tails, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p99))),
            p999: always(of_tails, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p999))),
        },
        write_amplification: range(1.0, &|ran| ran.simulation.write_amplification),
        lifetime_bytes: range(1.0, &lifetime),
    })
}

fn run(
    profile: &Profile,
    work: &Work,
    measured: MeasuredDepth,
    resources: &Resources<'_>,
) -> Result<SimulatedDraw, FitError> {
    let Resources { memory, stop, .. } = resources.of_thread();
    let drive = Drive::within("sim:twin", profile, &memory)?;
    let geometry = *drive.members()[0].nand().geometry();
    let blocks = f64::from(geometry.blocks()) * f64::from(profile.raid.drives);
    let workload = depth::opened(work, &drive)?;
    let (work, depth_from) = depth::at_measured(work, &workload, measured, &drive);
    let simulated = Simulator::on(drive, &work, stop, &mut ())?.run(stop, &mut ())?;
    let lifetime = f64::from(profile.reliability.block_lifetime);
    Ok(SimulatedDraw { blocks, lifetime, depth_from, simulation: simulated.simulation })
}

fn bytes_per_second(ran: &SimulatedDraw) -> Option<f64> {
    let Simulation { bytes_read, bytes_written, simulated_ns, .. } = &ran.simulation;
    Some(whole(bytes_read.0 + bytes_written.0) / simulated_ns.as_secs_f64())
}

/// Returns the bytes that the host can write until the blocks are worn out, at the simulated bytes per erase.
fn lifetime(ran: &SimulatedDraw) -> Option<f64> {
    let erases: u64 = ran.simulation.erases.values().sum();
    let written = whole(ran.simulation.bytes_written.0);
    (erases > 0).then(|| ran.blocks * ran.lifetime * written / whole(erases))
}

#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn whole(number: u64) -> f64 {
    number as f64
}
