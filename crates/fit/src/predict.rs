//! Predicts how a workload performs on a twin, with intervals from alternative drives that fit the measurements as well.

use flashscope_measure::Progress;
use flashscope_sim::{Drive, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FitError, Range, Twin, side_by_side_with_progress};
use flashscope_simulate::{Resources, Simulation, Simulator, Work};

/// The performance of a workload on a drive, as its twin predicts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwinPrediction {
    /// The name of the drive.
    pub drive: String,
    /// The workload, as the user wrote it.
    pub workload: String,
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The number of alternative drives that were simulated beside the twin.
    pub draws: u32,
    /// The number of IOs measured.
    pub ios: u64,
    /// Bytes read and written per second.
    pub bytes_per_second: Range,
    /// Response times, in ns.
    pub latency_ns: PredictedLatency,
    /// Pages programmed per page that the host wrote; absent if the host wrote none.
    pub write_amplification: Option<Range>,
    /// Bytes that the host can write to a new drive before its blocks wear out; absent if nothing was erased.
    pub lifetime_bytes: Option<Range>,
}

/// Predicted response times, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedLatency {
    /// Mean.
    pub mean: Range,
    /// Median.
    pub p50: Range,
    /// 99th percentile.
    pub p99: Range,
    /// 99.9th percentile.
    pub p999: Range,
}

/// A drive and the result of a simulation on it.
struct SimulatedDraw {
    blocks: f64,
    lifetime: f64,
    simulation: Simulation,
}

impl Twin {
    /// Simulates a workload on the twin and on at most `draws` of its draws. Reports each simulation to `progress`.
    ///
    /// # Errors
    /// If the workload is invalid or cannot run on the twin. Draws that cannot run it are left out.
    pub fn predict(
        &self,
        work: &Work,
        draws: usize,
        resources: &Resources<'_>,
        progress: &mut dyn Progress,
    ) -> Result<TwinPrediction, FitError> {
        let (drive, drawn) = self.drives(draws)?;
        let all: Vec<Profile> = std::iter::once(drive).chain(drawn).collect();
        let ran = side_by_side_with_progress(&all, resources.jobs, progress, |profile| {
            run(profile, work, resources)
        });
        let mut ran = ran.into_iter();
        let best = ran.next().ok_or(FitError::NoStart)??;
        let others: Vec<SimulatedDraw> = ran.flatten().collect();
        if resources.is_stopped() {
            return Err(FitError::Interrupted);
        }
        let range = |spread: f64, of: &dyn Fn(&SimulatedDraw) -> Option<f64>| {
            let draws = others.iter().filter_map(of).collect();
            Some(Range::around(of(&best)?, draws, self.confidence).wider(spread))
        };
        let always = |spread, of: &dyn Fn(&SimulatedDraw) -> Option<f64>| {
            range(spread, of).unwrap_or_default()
        };
        let [of_means, of_tails] = self.spread;
        let mean = |ran: &SimulatedDraw| Some(ran.simulation.latency_ns.as_ref()?.mean.value);
        Ok(TwinPrediction {
            drive: self.drive.clone(),
            workload: work.workload.clone(),
            confidence: self.confidence,
            draws: u32::try_from(others.len()).unwrap_or(u32::MAX),
            ios: best.simulation.ios,
            bytes_per_second: always(of_means, &bytes_per_second),
            latency_ns: PredictedLatency {
                mean: always(of_means, &mean),
                p50: always(of_means, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p50))),
                p99: always(of_tails, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p99))),
                p999: always(of_tails, &|ran| {
                    Some(whole(ran.simulation.latency_ns.as_ref()?.p999))
                }),
            },
            write_amplification: range(1.0, &|ran| ran.simulation.write_amplification),
            lifetime_bytes: range(1.0, &lifetime),
        })
    }
}

fn run(
    profile: &Profile,
    work: &Work,
    resources: &Resources<'_>,
) -> Result<SimulatedDraw, FitError> {
    let Resources { memory, stop, .. } = resources.of_thread();
    let drive = Drive::within("sim:twin", profile, &memory)?;
    let geometry = *drive.members()[0].nand().geometry();
    let blocks = f64::from(geometry.blocks()) * f64::from(profile.raid.drives);
    let simulated = Simulator::on(drive, work, stop, &mut ())?.run(stop, &mut ())?;
    let lifetime = f64::from(profile.reliability.block_lifetime);
    Ok(SimulatedDraw { blocks, lifetime, simulation: simulated.simulation })
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
