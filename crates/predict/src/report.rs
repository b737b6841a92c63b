//! The document of a prediction, for programs.

use flashscope_block::{Bytes, Nanos};
use flashscope_model::trace::Total;
use flashscope_model::{Nand, Prediction};
use flashscope_sim::setup::Layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::validation::{Factors, Interval};
use super::{Passes, nand};

/// Bytes per GiB.
#[allow(clippy::cast_precision_loss, reason = "2^30")]
const GIB: f64 = Bytes::GIB.0 as f64;

/// The version of the format of predictions.
pub const PREDICTION_VERSION: u32 = 1;

/// The document that `flashscope predict --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionReport {
    /// The version of the format, [`PREDICTION_VERSION`].
    pub schema_version: u32,
    /// The drive, as the user wrote it.
    pub drive: String,
    /// The FTL of the drive; for a measured drive, the one that is assumed when free space is divided.
    pub ftl: String,
    /// The workload, as the user wrote it.
    pub workload: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The name of the model.
    pub model: String,
    /// The number of repetitions of the workload.
    pub passes: Passes,
    /// Logical pages that the host wrote in the counted passes.
    pub host_pages_written: u64,
    /// Bytes that the host wrote in the counted passes.
    pub bytes_written: Bytes,
    /// Blocks erased in the counted passes; absent for a measured drive that does not report them.
    pub erases: Option<PredictedValue>,
    /// Pages programmed per page that the host wrote; absent for a measured drive that does not report them.
    pub write_amplification: Option<PredictedValue>,
    /// The smallest possible number of erases for these writes, relative to the predicted one; absent if nothing is erased.
    pub equivalent_throughput: Option<PredictedValue>,
    /// Nanoseconds of flash time per page that the host wrote; for a measured drive, response time per page.
    pub ns_per_page: PredictedValue,
    /// Bytes written per second while writes keep all packages busy; for a measured drive, with one write at a time.
    pub bytes_per_second: PredictedValue,
    /// The cases that the intervals are based on.
    pub validation: Validation,
    /// The features of the drive that the model ignores, in words.
    pub not_modelled: Vec<String>,
    /// The lifetime of the drive, if requested.
    pub lifetime: Option<LifetimeReport>,
    /// The result of the simulator, if requested.
    pub simulated: Option<SimulatedReport>,
    /// Nanoseconds that the prediction took, by the machine's clock.
    pub wall_ns: u64,
}

impl PredictedValue {
    /// Returns a number without an interval.
    #[must_use]
    pub const fn alone(value: f64) -> PredictedValue {
        PredictedValue { value, interval: None }
    }

    /// Computes a number from erases and write amplification with `of`, which rises or falls with both. The interval follows
    /// from the factors by which the two may be off, if these are known, and from `grain`: the erases and the write
    /// amplification of a block that is collected before or after the ends of the counted passes.
    #[must_use]
    pub fn of(
        (erases, amplification): (f64, f64),
        factors: Option<Factors>,
        grain: (f64, f64),
        of: impl Fn(f64, f64) -> f64,
    ) -> PredictedValue {
        let interval = factors.map(|factors| {
            let least = (amplification / factors.write_amplification - grain.1).max(1.0);
            let most = amplification * factors.write_amplification + grain.1;
            let low = of((erases / factors.erases - grain.0).max(0.0), least);
            let high = of(erases * factors.erases + grain.0, most);
            Interval { low: low.min(high), high: low.max(high) }
        });
        PredictedValue { value: of(erases, amplification), interval }
    }
}

/// A predicted number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedValue {
    /// The value.
    pub value: f64,
    /// The interval of the value; absent if too few cases are known, if the prediction has not converged, or if the drive
    /// has features that the model ignores.
    pub interval: Option<Interval>,
}

/// The cases that intervals are based on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// The share of cases that an interval is meant to contain (0 to 1).
    pub level: f64,
    /// The number of cases of the same kind in which the model was compared with the simulator.
    pub cases: u64,
}

/// The lifetime of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifetimeReport {
    /// The erases that a block endures.
    pub block_lifetime: u32,
    /// The erases of each block so far.
    pub erases_per_block: f64,
    /// Bytes of this workload that the host can still write.
    pub endurance_left_bytes: PredictedValue,
    /// Bytes that the host writes per day.
    pub bytes_per_day: f64,
    /// Days until the blocks wear out.
    pub days: PredictedValue,
}

/// The result of simulating the same passes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedReport {
    /// Blocks erased.
    pub erases: f64,
    /// Pages programmed per page that the host wrote.
    pub write_amplification: f64,
    /// Simulated nanoseconds per page that the host wrote, with one request at a time, reads included.
    pub simulated_ns_per_page: f64,
    /// Predicted over simulated erases, minus one; absent if nothing was erased in the simulation.
    pub erases_error: Option<f64>,
    /// Predicted over simulated write amplification, minus one.
    pub write_amplification_error: Option<f64>,
    /// Nanoseconds that the simulation took by the machine's clock, including the fill of the drive.
    pub wall_ns: u64,
}

impl SimulatedReport {
    /// Compares the simulated totals, and their simulated time, with a prediction. `wall` is the time by the machine's clock.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "times and pages are below 2^53")]
    pub fn beside(report: &PredictionReport, (total, took): (Total, Nanos), wall: Nanos) -> Self {
        let (erases, amplification) = (total.erasures, total.write_amplification());
        SimulatedReport {
            erases,
            write_amplification: amplification,
            simulated_ns_per_page: took.0 as f64 / total.pages as f64,
            erases_error: report
                .erases
                .filter(|_| erases > 0.0)
                .map(|predicted| predicted.value / erases - 1.0),
            write_amplification_error: report
                .write_amplification
                .map(|predicted| predicted.value / amplification - 1.0),
            wall_ns: wall.0,
        }
    }
}

/// Computes the predicted numbers and their intervals from the totals of a prediction.
pub struct Numbers {
    total: Total,
    factors: Option<Factors>,
    nand: Nand,
    page_size: f64,
    pages_per_block: f64,
    /// The number of packages that work in parallel.
    packages: f64,
    /// The number of pools, in each of which a block may be collected earlier or later than predicted.
    pools: f64,
    /// The number of blocks that wear.
    blocks: f64,
    block_lifetime: u32,
}

#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
impl Numbers {
    /// Converts `total` for a drive. Intervals follow from `factors`.
    #[must_use]
    pub fn new(layout: &Layout, total: Total, factors: Option<Factors>) -> Numbers {
        let blocks = layout.geometry.blocks();
        Numbers {
            total,
            factors,
            nand: nand(layout),
            page_size: f64::from(layout.logical_page_size()),
            pages_per_block: f64::from(layout.slots_per_block()),
            packages: f64::from(layout.geometry.elements()),
            pools: f64::from(layout.pools),
            blocks: f64::from(blocks),
            block_lifetime: layout.reliability.block_lifetime,
        }
    }

    fn predicted(&self, of: impl Fn(f64, f64) -> f64) -> PredictedValue {
        let counts = (self.total.erasures, self.total.write_amplification());
        let grain = (self.pools, self.pools * self.pages_per_block / self.total.pages as f64);
        PredictedValue::of(counts, self.factors, grain, of)
    }

    /// Returns the blocks erased.
    #[must_use]
    pub fn erases(&self) -> PredictedValue {
        self.predicted(|erases, _| erases)
    }

    /// Returns the pages programmed per page that the host wrote.
    #[must_use]
    pub fn write_amplification(&self) -> PredictedValue {
        self.predicted(|_, amplification| amplification)
    }

    /// Returns [`PredictionReport::equivalent_throughput`].
    #[must_use]
    pub fn equivalent_throughput(&self) -> Option<PredictedValue> {
        let fewest = self.total.pages as f64 / self.pages_per_block;
        let throughput = |erases: f64| if erases > fewest { fewest / erases } else { 1.0 };
        (self.total.erasures > 0.0).then(|| self.predicted(|erases, _| throughput(erases)))
    }

    /// Returns [`PredictionReport::ns_per_page`], without an interval: times were not validated.
    #[must_use]
    pub fn ns_per_page(&self) -> PredictedValue {
        let erasures = self.total.erasures / self.total.pages as f64;
        let copies = self.total.write_amplification() - 1.0;
        let prediction = Prediction { erasures, copies, merges: None };
        PredictedValue::alone(prediction.nanos_per_page(&self.nand))
    }

    /// Returns [`PredictionReport::bytes_per_second`], without an interval: times were not validated.
    #[must_use]
    pub fn bytes_per_second(&self) -> PredictedValue {
        PredictedValue::alone(1e9 * self.packages * self.page_size / self.ns_per_page().value)
    }

    /// Returns the bytes that the host can write to a drive without any wear; `None` if nothing is erased.
    #[must_use]
    pub fn endurance(&self) -> Option<PredictedValue> {
        let finite = self.total.erasures > 0.0;
        finite.then(|| self.predicted(|erases, _| self.endurance_left(0.0, erases)))
    }

    /// Returns the blocks erased per GiB that the host writes.
    #[must_use]
    pub fn erases_per_gib(&self) -> PredictedValue {
        self.predicted(|erases, _| erases / self.written() * GIB)
    }

    /// Returns the bytes that the host wrote.
    fn written(&self) -> f64 {
        self.total.pages as f64 * self.page_size
    }

    /// Returns the bytes that the host can still write if each block has `worn` erases and the workload takes `erases`.
    fn endurance_left(&self, worn: f64, erases: f64) -> f64 {
        let left = self.blocks * (f64::from(self.block_lifetime) - worn).max(0.0);
        if erases > 0.0 { left / erases * self.written() } else { f64::MAX }
    }

    /// Predicts the lifetime of a drive whose blocks have `worn` erases each, if the host writes `bytes_per_day`. Assumes
    /// that blocks wear evenly.
    #[must_use]
    pub fn lifetime(&self, worn: f64, bytes_per_day: f64) -> LifetimeReport {
        LifetimeReport {
            block_lifetime: self.block_lifetime,
            erases_per_block: worn,
            endurance_left_bytes: self.predicted(|erases, _| self.endurance_left(worn, erases)),
            bytes_per_day,
            days: self.predicted(|erases, _| self.endurance_left(worn, erases) / bytes_per_day),
        }
    }
}
