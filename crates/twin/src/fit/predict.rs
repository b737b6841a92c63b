//! What a workload comes to on a twin, and on drives that may as well have been measured.

use std::sync::atomic::AtomicBool;

use flashscope_sim::{Drive, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FitError, Range, Tell, Twin, side_by_side_telling};
use crate::simulate::{Simulation, Simulator, Work};

/// What a workload comes to on a drive, by its twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwinPrediction {
    /// The drive.
    pub drive: String,
    /// The workload.
    pub workload: String,
    /// How often intervals are to hold the truth (0 to 1).
    pub confidence: f64,
    /// How many drives that may as well have been measured were simulated beside the twin.
    pub draws: u32,
    /// IOs that were counted.
    pub ios: u64,
    /// Bytes that were read and written in a second.
    pub bytes_per_second: Range,
    /// Response times, ns.
    pub latency_ns: PredictedLatency,
    /// Pages programmed for each that the host wrote; absent where it wrote none.
    pub write_amplification: Option<Range>,
    /// Bytes that the host can write before blocks are worn out, from new; absent where nothing was erased.
    pub lifetime_bytes: Option<Range>,
}

/// Response times, ns.
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

/// A drive with what came of it.
struct Ran {
    blocks: f64,
    lifetime: f64,
    simulation: Simulation,
}

impl Twin {
    /// What a workload comes to: simulated on the twin and at most `draws` drives that may as well have been measured,
    /// `threads` at once. `tell` is told of each.
    ///
    /// # Errors
    /// What is wrong with the workload, or with it on this drive; draws that cannot do it are left out.
    pub fn predict(
        &self,
        work: &Work,
        draws: usize,
        stop: &AtomicBool,
        threads: usize,
        tell: &mut Tell<'_>,
    ) -> Result<TwinPrediction, FitError> {
        let (drive, drawn) = self.drives(draws)?;
        let all: Vec<Profile> = std::iter::once(drive).chain(drawn).collect();
        let ran = side_by_side_telling(&all, threads, tell, |profile| run(profile, work, stop));
        let mut ran = ran.into_iter();
        let best = ran.next().ok_or(FitError::NoStart)??;
        let others: Vec<Ran> = ran.flatten().collect();
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(FitError::Interrupted);
        }
        let range = |spread: f64, of: &dyn Fn(&Ran) -> Option<f64>| {
            let draws = others.iter().filter_map(of).collect();
            Some(Range::around(of(&best)?, draws, self.confidence).wider(spread))
        };
        let always =
            |spread, of: &dyn Fn(&Ran) -> Option<f64>| range(spread, of).unwrap_or_default();
        let [of_means, of_tails] = self.spread;
        let mean = |ran: &Ran| Some(ran.simulation.latency_ns.as_ref()?.mean.value);
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

fn run(profile: &Profile, work: &Work, stop: &AtomicBool) -> Result<Ran, FitError> {
    let drive = Drive::new("sim:twin", profile)?;
    let geometry = *drive.members()[0].nand().geometry();
    let blocks = f64::from(geometry.blocks()) * f64::from(profile.raid.drives);
    let simulated = Simulator::on(drive, work, stop, &mut ())?.run(stop, &mut ())?;
    let lifetime = f64::from(profile.reliability.block_lifetime);
    Ok(Ran { blocks, lifetime, simulation: simulated.simulation })
}

fn bytes_per_second(ran: &Ran) -> Option<f64> {
    let Simulation { bytes_read, bytes_written, simulated_ns, .. } = &ran.simulation;
    Some(whole(bytes_read.0 + bytes_written.0) / simulated_ns.as_secs_f64())
}

/// Bytes that the host can write: as many for each erase as it did.
fn lifetime(ran: &Ran) -> Option<f64> {
    let erases: u64 = ran.simulation.erases.values().sum();
    let written = whole(ran.simulation.bytes_written.0);
    (erases > 0).then(|| ran.blocks * ran.lifetime * written / whole(erases))
}

#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn whole(number: u64) -> f64 {
    number as f64
}
