//! Predicts how a workload performs on a twin, with intervals from alternative drives that fit the
//! measurements as well.

use flashscope_block::Bytes;
use flashscope_document::twin::{
    DepthSource, Extrapolation, FillFit, MeasuredDepth, PredictedLatency, Range, Twin,
    TwinPrediction,
};
use flashscope_measure::Progress;
use flashscope_sim::{Drive, Profile};

use super::scale::Size;
use super::{FitError, amplification, depth, drives_of, ends, reach, side_by_side_with_progress};
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
    /// The number of draws to simulate. `None` adds draws until the standard error of each interval
    /// end is at most a tenth of the interval's width, or until all draws are simulated.
    pub draws: Option<usize>,
    /// The bytes of the drive that hold data; by default as many as the profile of the twin has
    /// room for.
    pub filled: Option<Bytes>,
}

/// Simulates a workload on the twin and on some of its draws. Scales the twin of a large drive
/// down. Reports each simulation to `progress`.
///
/// # Errors
/// If the workload is invalid or cannot run on the twin. Draws that cannot run the workload are
/// omitted.
pub fn predict(
    twin: &Twin,
    work: &Work,
    options: PredictionOptions,
    resources: &Resources<'_>,
    progress: &mut dyn Progress,
) -> Result<TwinPrediction, FitError> {
    let measured = depth::of_twin(twin)?;
    let size = Size::of(twin, &work.workload, options.filled)?;
    let (drive, drawn) = drives_of(twin, options.draws.unwrap_or(usize::MAX))?;
    // Omit draws that have too little flash for the data, like draws that cannot run the workload.
    let drawn: Vec<_> = drawn.iter().filter_map(|profile| size.apply(profile).ok()).collect();
    let mut simulate = |profiles: &[Profile], done: usize| {
        let total = options.draws.is_some().then_some(1 + drawn.len() as u64);
        let total = (done as u64, total);
        side_by_side_with_progress(profiles, resources.jobs, total, progress, |profile| {
            run(profile, work, measured, resources)
        })
    };
    let first = options.draws.map_or(ends::FIRST, |_| drawn.len()).min(drawn.len());
    let mut all = vec![size.apply(&drive)?];
    all.extend_from_slice(&drawn[..first]);
    let mut ran = simulate(&all, 0).into_iter();
    let best = ran.next().ok_or(FitError::NoStart)??;
    let others = ran.flatten().collect();
    let mut intervals = Intervals::of(twin, &size, measured, best, others);
    for (nth, profiles) in drawn[first..].chunks(ends::MORE).enumerate() {
        if resources.is_stopped() || intervals.end_error().is_some_and(|error| error <= ends::KNOWN)
        {
            break;
        }
        let ran = simulate(profiles, 1 + first + nth * ends::MORE);
        intervals.others.extend(ran.into_iter().flatten());
    }
    if resources.is_stopped() {
        return Err(FitError::Interrupted);
    }
    Ok(intervals.prediction(work, &size))
}

/// A function that returns a number of a simulation; `None` if the simulation does not have this
/// number.
type Number = fn(&SimulatedDraw) -> Option<f64>;

/// The simulations of a prediction, and the widening of its intervals.
struct Intervals<'t> {
    twin: &'t Twin,
    best: SimulatedDraw,
    others: Vec<SimulatedDraw>,
    extrapolated: Vec<Extrapolation>,
    /// The factors by which the ends of intervals move: for means and medians, for higher
    /// percentiles and
    /// for counts.
    factors: [f64; 3],
    own_writes: OwnWrites,
}

/// The response times and rates of a prediction, with the index of the factor that widens their
/// intervals.
const TIMES: [(Number, usize); 5] = [
    (bytes_per_second, 0),
    (|ran| Some(ran.simulation.latency_ns.as_ref()?.mean.value), 0),
    (|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p50)), 0),
    (|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p99)), 1),
    (|ran| Some(whole(ran.simulation.latency_ns.as_ref()?.p999)), 1),
];

/// The counts of a prediction: write amplification, and lifetime on the simulated drive.
const COUNTS: [Number; 2] = [|ran| ran.simulation.write_amplification, lifetime];

/// The index of the factor of counts.
const OF_COUNTS: usize = 2;

impl<'t> Intervals<'t> {
    fn of(
        twin: &'t Twin,
        size: &Size,
        measured: MeasuredDepth,
        best: SimulatedDraw,
        others: Vec<SimulatedDraw>,
    ) -> Intervals<'t> {
        let of_fill = reach::of_fill(twin, size);
        let of_depth = reach::of_depth(measured, best.in_flight);
        let widened = |one: Option<Extrapolation>| one.map_or(1.0, |one| one.widened);
        let of_counts = widened(of_fill);
        let [of_means, of_tails] = twin.spread.map(|spread| spread * of_counts * widened(of_depth));
        let extrapolated = of_fill.into_iter().chain(of_depth).collect();
        let own_writes = OwnWrites::of(twin);
        let factors = [of_means, of_tails, of_counts];
        Intervals { twin, best, others, extrapolated, factors, own_writes }
    }

    /// Returns the values of a number on the alternative drives.
    fn drawn(&self, number: Number) -> Vec<f64> {
        self.others.iter().filter_map(number).collect()
    }

    /// Returns the interval of a number, for given values on the alternative drives.
    fn interval(
        &self,
        (number, factor): (Number, usize),
        confidence: f64,
        draws: Vec<f64>,
    ) -> Option<Range> {
        let range = Range::around(number(&self.best)?, draws, confidence);
        Some(range.wider(self.factors[factor]))
    }

    /// Returns the largest standard error of an end, as a share of the width of its interval.
    /// Leaves out counts if the measurements do not identify them.
    fn end_error(&self) -> Option<f64> {
        let counts = COUNTS.iter().filter(|_| self.own_writes.is_identified);
        let counts = counts.map(|number| (*number, OF_COUNTS));
        let all = TIMES.into_iter().chain(counts);
        let error = |(number, factor): (Number, usize)| {
            number(&self.best)?;
            ends::end_error(&self.drawn(number), self.twin.seed, |draws| {
                let range = self.interval((number, factor), self.twin.confidence, draws);
                range.unwrap_or_default()
            })
        };
        all.filter_map(error).reduce(f64::max)
    }

    fn prediction(&self, work: &Work, size: &Size) -> TwinPrediction {
        let Intervals { twin, best, others, own_writes, .. } = self;
        let range = |number, factor, confidence| {
            self.interval((number, factor), confidence, self.drawn(number))
        };
        let [rate, mean, p50, p99, p999] = TIMES
            .map(|(number, factor)| range(number, factor, twin.confidence).unwrap_or_default());
        let confidence = if own_writes.is_identified { twin.confidence } else { 1.0 };
        let [amplification, lifetime] = COUNTS.map(|number| range(number, OF_COUNTS, confidence));
        let whole_drive = |Range { value, low, high }| Range {
            value: size.scale * value,
            low: size.scale * low,
            high: size.scale * high,
        };
        TwinPrediction {
            conclusions: Vec::new(),
            drive: twin.drive.clone(),
            workload: work.workload.clone(),
            confidence: twin.confidence,
            draws: u32::try_from(others.len()).unwrap_or(u32::MAX),
            end_error: self.end_error(),
            ios: best.simulation.ios,
            filled: size.filled,
            scale: size.scale,
            queue_depth: best.simulation.queue_depth,
            queue_depth_from: best.depth_from,
            extrapolated: self.extrapolated.clone(),
            bytes_per_second: rate,
            latency_ns: PredictedLatency { mean, p50, p99, p999 },
            write_amplification: amplification.map(|range| own_writes.multiply(range)),
            is_amplification_identified: own_writes.is_identified,
            lifetime_bytes: lifetime.map(|range| whole_drive(own_writes.divide(range))),
        }
    }
}

/// The writes of a drive in addition to data. A simulated drive has no such writes.
struct OwnWrites {
    /// Bytes programmed per byte of data programmed.
    kappa: Range,
    /// False if the measurements do not identify write amplification.
    is_identified: bool,
    /// The minimum and the maximum write amplification that fit, relative to the assumed write
    /// amplification.
    open: (f64, f64),
}

impl OwnWrites {
    fn of(twin: &Twin) -> OwnWrites {
        let fill = twin.fill.as_ref();
        // Response times do not show the writes of a drive in addition to data.
        let unknown = Range { value: 1.0, low: 1.0, high: amplification::MAX_KAPPA };
        let kappa = fill.map_or(unknown, amplification::kappa);
        let is_identified = fill.is_some_and(FillFit::knows_write_amplification);
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

/// Returns the bytes that the host can write until the blocks are worn out, at the simulated bytes
/// per erase.
fn lifetime(ran: &SimulatedDraw) -> Option<f64> {
    let erases: u64 = ran.simulation.erases.values().sum();
    let written = whole(ran.simulation.bytes_written.0);
    (erases > 0).then(|| ran.blocks * ran.lifetime * written / whole(erases))
}

#[allow(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn whole(number: u64) -> f64 {
    number as f64
}
