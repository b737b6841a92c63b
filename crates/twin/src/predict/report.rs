//! A prediction, for programs.

use flashscope_block::{Bytes, Nanos};
use flashscope_model::trace::Total;
use flashscope_model::{Nand, Prediction};
use flashscope_sim::ftl::Layout;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::validation::{Factors, Interval};
use super::{Passes, nand};

/// Bytes of a GiB.
#[allow(clippy::cast_precision_loss, reason = "2^30")]
pub(crate) const GIB: f64 = Bytes::GIB.0 as f64;

/// Version of the format of predictions.
pub const PREDICTION_VERSION: u32 = 1;

/// What `flashscope predict --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionReport {
    /// Version of the format, [`PREDICTION_VERSION`].
    pub schema_version: u32,
    /// The drive, as it was asked for.
    pub drive: String,
    /// How its logical pages are mapped; of a drive that was measured, how it is taken to share out free space.
    pub ftl: String,
    /// The workload, as it was asked for.
    pub workload: String,
    /// Seed of everything random.
    pub seed: u64,
    /// What predicted.
    pub model: String,
    /// How often the workload was repeated.
    pub passes: Passes,
    /// Logical pages that the host wrote in the passes that count.
    pub host_pages_written: u64,
    /// The same in bytes.
    pub bytes_written: Bytes,
    /// Blocks erased in the passes that count; absent of a drive that was measured and does not tell.
    pub erases: Option<Predicted>,
    /// Pages programmed for each that the host wrote; likewise.
    pub write_amplification: Option<Predicted>,
    /// The fewest erases that these writes may take over those that they take; absent where none is.
    pub equivalent_throughput: Option<Predicted>,
    /// Nanoseconds that flash is busy for each page that the host wrote; of a drive that was measured, that the
    /// host waits for it.
    pub ns_per_page: Predicted,
    /// Bytes written in a second while all packages are kept busy by writes alone; of a drive that was measured,
    /// one after the other.
    pub bytes_per_second: Predicted,
    /// Where the intervals come from.
    pub validation: Validation,
    /// What of the drive the model does not know, in words.
    pub not_modelled: Vec<String>,
    /// How long the drive lasts, where it was asked for.
    pub lifetime: Option<LifetimeReport>,
    /// What the simulator says, where it was asked.
    pub simulated: Option<SimulatedReport>,
    /// Nanoseconds on the clock of the machine that the prediction took.
    pub wall_ns: u64,
}

impl Predicted {
    /// A number of which nothing says how far it may be off.
    #[must_use]
    pub const fn alone(value: f64) -> Predicted {
        Predicted { value, interval: None }
    }

    /// What follows from erases and write amplification, by a function that rises or falls with both, where these may
    /// be off by factors either way, if those are known.
    #[must_use]
    pub fn of(
        (erases, amplification): (f64, f64),
        factors: Option<Factors>,
        of: impl Fn(f64, f64) -> f64,
    ) -> Predicted {
        let interval = factors.map(|factors| {
            let low =
                of(erases / factors.erases, (amplification / factors.write_amplification).max(1.0));
            let high = of(erases * factors.erases, amplification * factors.write_amplification);
            Interval { low: low.min(high), high: low.max(high) }
        });
        Predicted { value: of(erases, amplification), interval }
    }
}

/// A number that was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicted {
    /// The number.
    pub value: f64,
    /// Where it is expected; absent where too few cases are known to say, or the drive has what the model does
    /// not know.
    pub interval: Option<Interval>,
}

/// Where intervals come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// Share of the cases that an interval is to hold (0 to 1).
    pub level: f64,
    /// How many cases of the model were simulated beside it.
    pub cases: u64,
}

/// How long a drive lasts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifetimeReport {
    /// Erases that a block lasts.
    pub block_lifetime: u32,
    /// Erases that each block has seen.
    pub erases_per_block: f64,
    /// Bytes that the host can still write, of this workload.
    pub endurance_left_bytes: Predicted,
    /// Bytes that the host writes in a day.
    pub bytes_per_day: f64,
    /// Days until blocks give out.
    pub days: Predicted,
}

/// What the simulator says of the same passes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedReport {
    /// Blocks erased.
    pub erases: f64,
    /// Pages programmed for each that the host wrote.
    pub write_amplification: f64,
    /// Nanoseconds on the clock of the simulated drive for each page that the host wrote, one request at a
    /// time, reads among them.
    pub simulated_ns_per_page: f64,
    /// Predicted over simulated erases, less one; absent where none is simulated.
    pub erases_error: Option<f64>,
    /// The same of the write amplification.
    pub write_amplification_error: Option<f64>,
    /// Nanoseconds on the clock of the machine that the simulation took, the fill of the drive included.
    pub wall_ns: u64,
}

impl SimulatedReport {
    /// What the passes of a report came to on the simulator, in so long on its clock, beside what was predicted;
    /// `wall` is the time on the clock of the machine.
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

/// A total, and how far it may be off, as numbers with intervals.
pub struct Numbers {
    total: Total,
    factors: Option<Factors>,
    nand: Nand,
    page_size: f64,
    pages_per_block: f64,
    /// Packages that work side by side.
    packages: f64,
    /// Blocks that wear.
    blocks: f64,
    block_lifetime: u32,
}

#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
impl Numbers {
    /// What `total` comes to on a drive, within `factors`.
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
            blocks: f64::from(blocks),
            block_lifetime: layout.reliability.block_lifetime,
        }
    }

    fn predicted(&self, of: impl Fn(f64, f64) -> f64) -> Predicted {
        let counts = (self.total.erasures, self.total.write_amplification());
        Predicted::of(counts, self.factors, of)
    }

    /// Blocks erased.
    #[must_use]
    pub fn erases(&self) -> Predicted {
        self.predicted(|erases, _| erases)
    }

    /// Pages programmed for each that the host wrote.
    #[must_use]
    pub fn write_amplification(&self) -> Predicted {
        self.predicted(|_, amplification| amplification)
    }

    /// See [`PredictionReport::equivalent_throughput`].
    #[must_use]
    pub fn equivalent_throughput(&self) -> Option<Predicted> {
        let fewest = self.total.pages as f64 / self.pages_per_block;
        (self.total.erasures > 0.0).then(|| self.predicted(|erases, _| fewest / erases))
    }

    /// See [`PredictionReport::ns_per_page`]: without an interval, as times were not compared.
    #[must_use]
    pub fn ns_per_page(&self) -> Predicted {
        let erasures = self.total.erasures / self.total.pages as f64;
        let copies = self.total.write_amplification() - 1.0;
        let prediction = Prediction { erasures, copies, merges: None };
        Predicted::alone(prediction.nanos_per_page(&self.nand))
    }

    /// See [`PredictionReport::bytes_per_second`]; likewise.
    #[must_use]
    pub fn bytes_per_second(&self) -> Predicted {
        Predicted::alone(1e9 * self.packages * self.page_size / self.ns_per_page().value)
    }

    /// Bytes that the host can write to a drive whose blocks have seen no erase; absent where nothing is
    /// erased.
    #[must_use]
    pub fn endurance(&self) -> Option<Predicted> {
        let finite = self.total.erasures > 0.0;
        finite.then(|| self.predicted(|erases, _| self.endurance_left(0.0, erases)))
    }

    /// Blocks erased for each GiB that the host writes.
    #[must_use]
    pub fn erases_per_gib(&self) -> Predicted {
        self.predicted(|erases, _| erases / self.written() * GIB)
    }

    /// Bytes that the host wrote.
    fn written(&self) -> f64 {
        self.total.pages as f64 * self.page_size
    }

    /// Bytes that the host can still write where each block has seen `worn` erases and it takes so many to
    /// write what was written.
    fn endurance_left(&self, worn: f64, erases: f64) -> f64 {
        let left = self.blocks * (f64::from(self.block_lifetime) - worn).max(0.0);
        if erases > 0.0 { left / erases * self.written() } else { f64::MAX }
    }

    /// How long the drive lasts where each block has seen `worn` erases and the host writes
    /// `bytes_per_day`. Blocks are taken to wear evenly.
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
