//! Predicts how a workload performs on a twin, with intervals from alternative drives that fit the measurements as well.

use flashscope_block::Bytes;
use flashscope_document::twin::{
    DepthSource, Extrapolation, FillFit, MeasuredDepth, PredictedLatency, Range, Twin,
    TwinPrediction,
};
use flashscope_measure::Progress;
use flashscope_sim::{Drive, Profile};

use super::scale::Size;
use super::{FitError, amplification, depth, drives_of, reach, side_by_side_with_progress};
use flashscope_simulate::{Resources, Simulation, Simulator, Work};

/// A drive and the result of a simulation on it.
struct SimulatedDraw {
    blocks: f64,
    lifetime: f64,
    depth_from: DepthSource,
    in_flight: f64,
    simulation: Simulation,
}

/// The options of a prediction.
#[derive(Debug, Clone, Copy, Default)]
pub struct PredictionOptions {
    /// The number of draws to simulate.
    pub draws: usize,
    /// The bytes of the drive that hold data; by default as many as the profile of the twin has room for.
    pub filled: Option<Bytes>,
}

/// Simulates a workload on the twin and on some of its draws. Scales the twin of a large drive down. Reports each simulation to
/// `progress`.
///
/// # Errors
/// If the workload is invalid or cannot run on the twin. Draws that cannot run it are left out.
pub fn predict(
    twin: &Twin,
    work: &Work,
    options: PredictionOptions,
    resources: &Resources<'_>,
    progress: &mut dyn Progress,
) -> Result<TwinPrediction, FitError> {
    let measured = depth::of_twin(twin)?;
    let size = Size::of(twin, &work.workload, options.filled)?;
    let (drive, drawn) = drives_of(twin, options.draws)?;
    // A draw may have too little flash for the data. It is left out, as a draw that cannot run the workload.
    let drawn = drawn.iter().filter_map(|profile| size.apply(profile).ok());
    let all: Vec<Profile> = std::iter::once(size.apply(&drive)?).chain(drawn).collect();
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
    let (of_fill, of_depth) =
        (reach::of_fill(twin, &size), reach::of_depth(measured, best.in_flight));
    let widened = |one: Option<Extrapolation>| one.map_or(1.0, |one| one.widened);
    let of_counts = widened(of_fill);
    let [of_means, of_tails] = twin.spread.map(|spread| spread * of_counts * widened(of_depth));
    let own_writes = OwnWrites::of(twin);
    let confidence = if own_writes.is_identified { twin.confidence } else { 1.0 };
    let counted = |of: &dyn Fn(&SimulatedDraw) -> Option<f64>| {
        let draws = others.iter().filter_map(of).collect();
        Some(Range::around(of(&best)?, draws, confidence).wider(of_counts))
    };
    let mean = |ran: &SimulatedDraw| Some(ran.simulation.latency_ns.as_ref()?.mean.value);
    Ok(TwinPrediction {
        drive: twin.drive.clone(),
        workload: work.workload.clone(),
        confidence: twin.confidence,
        draws: u32::try_from(others.len()).unwrap_or(u32::MAX),
        ios: best.simulation.ios,
        filled: size.filled,
        scale: size.scale,
        queue_depth: best.simulation.queue_depth,
        queue_depth_from: best.depth_from,
        extrapolated: of_fill.into_iter().chain(of_depth).collect(),
        bytes_per_second: always(of_means, &bytes_per_second),
        latency_ns: PredictedLatency {
            mean: always(of_means, &mean),
            p50: always(of_means, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p50))),
            p99: always(of_tails, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p99))),
            p999: always(of_tails, &|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p999))),
        },
        write_amplification: counted(&|ran| ran.simulation.write_amplification)
            .map(|range| own_writes.multiply(range)),
        is_amplification_identified: own_writes.is_identified,
        lifetime_bytes: counted(&|ran| Some(size.scale * lifetime(ran)?))
            .map(|range| own_writes.divide(range)),
    })
}

/// The writes of a drive besides data, which a simulated drive does not make.
struct OwnWrites {
    /// Bytes programmed per byte of data programmed.
    kappa: Range,
    /// False if the measurements do not identify write amplification.
    is_identified: bool,
    /// The least and the largest write amplification that fit, relative to the assumed one.
    open: (f64, f64),
}

impl OwnWrites {
    fn of(twin: &Twin) -> OwnWrites {
        let fill = twin.fill.as_ref();
        let kappa = fill.map_or(Range { value: 1.0, low: 1.0, high: 1.0 }, amplification::kappa);
        let is_identified = fill.is_none_or(FillFit::knows_write_amplification);
        let ranges = fill.and_then(|fill| fill.unidentified.as_ref());
        let open = ranges.and_then(|ranges| ranges.last()).map_or((1.0, 1.0), |range| {
            let Range { value, low, high } = range.write_amplification;
            (low / value, high / value)
        });
        OwnWrites { kappa, is_identified, open }
    }

    fn multiply(&self, Range { value, low, high }: Range) -> Range {
        let (kappa, open) = (self.kappa, self.open);
        let (low, high) = (low * kappa.low, high * kappa.high);
        Range {
            value: value * kappa.value,
            low: low.min(value * open.0),
            high: high.max(value * open.1),
        }
    }

    fn divide(&self, Range { value, low, high }: Range) -> Range {
        let (kappa, open) = (self.kappa, self.open);
        let (low, high) = (low / kappa.high, high / kappa.low);
        Range {
            value: value / kappa.value,
            low: low.min(value / open.1),
            high: high.max(value / open.0),
        }
    }
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
    let simulation = simulated.simulation;
    let in_flight = reach::in_flight(&workload, &simulation);
    Ok(SimulatedDraw { blocks, lifetime, depth_from, in_flight, simulation })
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
