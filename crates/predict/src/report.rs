//! Computes the numbers of a prediction report.

use flashscope_block::{Bytes, Nanos};
use flashscope_document::prediction::{
    Interval, LifetimeReport, PredictedValue, PredictionReport, SimulatedReport,
};
use flashscope_model::trace::Total;
use flashscope_model::{Nand, Prediction};
use flashscope_sim::Design;

use super::long_run::LongRun;
use super::nand;
use super::validation::Factors;

/// Bytes per GiB.
#[allow(clippy::cast_precision_loss, reason = "2^30")]
const GIB: f64 = Bytes::GIB.0 as f64;

/// Computes a number from erases and write amplification with `of`, which must be monotone in both.
/// The interval follows from `factors`, by which the predicted erases and write amplification may
/// be off; `None` if they are unknown. It includes `grain`, the erases and the write amplification
/// of a block that GC may collect just inside or outside the counted passes.
#[must_use]
pub fn predicted_value(
    (erases, amplification): (f64, f64),
    factors: Option<Factors>,
    grain: (f64, f64),
    of: impl Fn(f64, f64) -> f64,
) -> PredictedValue {
    let interval = factors.map(|factors| {
        let least =
            (amplification / factors.write_amplification / factors.lower - grain.1).max(1.0);
        let most = amplification * factors.write_amplification * factors.upper + grain.1;
        let low = of((erases / factors.erases / factors.lower - grain.0).max(0.0), least);
        let high = of(erases * factors.erases * factors.upper + grain.0, most);
        Interval { low: low.min(high), high: low.max(high) }
    });
    PredictedValue { value: of(erases, amplification), interval }
}

/// Compares the simulated totals, and their simulated time, with a prediction. `wall` is the
/// wall-clock time that the simulation took.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "times and pages are below 2^53")]
pub fn simulated_beside(
    report: &PredictionReport,
    (total, took): (Total, Nanos),
    wall: Nanos,
) -> SimulatedReport {
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

/// Computes the predicted numbers and their intervals from the totals of a prediction.
pub struct Numbers {
    total: Total,
    factors: Option<Factors>,
    nand: Nand,
    page_size: f64,
    pages_per_block: f64,
    /// The number of serial buses.
    buses: f64,
    /// The number of units, which carry out commands in parallel.
    units: f64,
    /// The number of pools, in each of which a block may be collected earlier or later than
    /// predicted.
    pools: f64,
    /// The number of physical blocks, which all wear.
    blocks: f64,
    block_lifetime: u32,
    /// True if all blocks wear evenly. Lifetimes assume this, and have an interval only if it is
    /// true.
    wears_evenly: bool,
    /// The write amplification while all packages are busy, relative to the predicted one.
    busy: f64,
}

#[allow(clippy::cast_precision_loss, reason = "pages are below 2^53")]
impl Numbers {
    /// Creates the numbers for the totals of a prediction of a drive. Intervals follow from
    /// `factors`; endurance has none.
    #[must_use]
    pub fn new(design: &Design, total: Total, factors: Option<Factors>) -> Numbers {
        let blocks = design.geometry.blocks();
        Numbers {
            total,
            factors,
            nand: nand(design),
            page_size: f64::from(design.logical_page_size()),
            pages_per_block: f64::from(design.slots_per_block()),
            buses: f64::from(design.geometry.elements().div_ceil(design.wiring.gang)),
            units: f64::from(units(design)),
            pools: f64::from(design.pools),
            blocks: f64::from(blocks),
            block_lifetime: design.reliability.block_lifetime,
            wears_evenly: false,
            busy: 1.0,
        }
    }

    /// Adds two results of a computed long run: whether blocks wear evenly, which gives endurance
    /// an interval, and the write amplification while all packages are busy.
    #[must_use]
    pub fn in_the_long_run(self, run: &LongRun) -> Numbers {
        let busy = run.without_idle_time / run.amplification;
        Numbers { wears_evenly: run.wears_evenly, busy, ..self }
    }

    /// Scales bytes for a host that writes this share of the logical pages that its writes touch:
    /// see [`WrittenShare`](super::WrittenShare).
    #[must_use]
    pub fn of_partial_pages(self, share: f64) -> Numbers {
        Numbers { page_size: self.page_size * share, ..self }
    }

    fn predicted(&self, of: impl Fn(f64, f64) -> f64) -> PredictedValue {
        let counts = (self.total.erasures, self.total.write_amplification());
        let grain = (self.pools, self.pools * self.pages_per_block / self.total.pages as f64);
        predicted_value(counts, self.factors, grain, of)
    }

    /// Returns the number of blocks erased.
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
        let throughput = |erases, _| equivalent_throughput(fewest, erases);
        (self.total.erasures > 0.0).then(|| self.predicted(throughput))
    }

    /// Returns [`PredictionReport::ns_per_page`], without an interval: times were not validated.
    #[must_use]
    pub fn ns_per_page(&self) -> PredictedValue {
        PredictedValue::alone(self.cost(1.0).nanos_per_page(&self.nand))
    }

    /// Returns the cost of a page, with `moves` times the predicted write amplification.
    fn cost(&self, moves: f64) -> Prediction {
        let erasures = self.total.erasures / self.total.pages as f64 * moves;
        let copies = self.total.write_amplification() * moves - 1.0;
        Prediction { erasures, copies, merges: None }
    }

    /// Returns [`PredictionReport::bytes_per_second`], without an interval: times were not
    /// validated.
    ///
    /// The units of a package share its bus, and the packages of a gang share one bus.
    #[must_use]
    pub fn bytes_per_second(&self) -> PredictedValue {
        let cost = self.cost(self.busy);
        let flash = cost.nanos_per_page(&self.nand);
        let transfers = if self.nand.copy_back { 1.0 } else { 1.0 + 2.0 * cost.copies };
        let pages_per_ns = (self.units / flash).min(self.buses / (transfers * self.nand.transfer));
        PredictedValue::alone(1e9 * self.page_size * pages_per_ns)
    }

    /// Returns the bytes that the host can write to a new drive until it is worn out; `None` if
    /// nothing is erased.
    #[must_use]
    pub fn endurance(&self) -> Option<PredictedValue> {
        let finite = self.total.erasures > 0.0;
        finite.then(|| self.assuming_even_wear(|erases| self.endurance_left(0.0, erases)))
    }

    /// Returns a number that assumes that blocks wear evenly, with an interval only if they do.
    fn assuming_even_wear(&self, of: impl Fn(f64) -> f64) -> PredictedValue {
        match self.wears_evenly {
            true => self.predicted(|erases, _| of(erases)),
            false => PredictedValue::alone(of(self.total.erasures)),
        }
    }

    /// Returns the blocks erased per GiB that the host writes.
    #[must_use]
    pub fn erases_per_gib(&self) -> PredictedValue {
        self.predicted(|erases, _| erases / self.written() * GIB)
    }

    /// Returns the bytes that the host wrote.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes are below 2^53"
    )]
    pub fn bytes_written(&self) -> Bytes {
        Bytes(self.written().round() as u64)
    }

    fn written(&self) -> f64 {
        self.total.pages as f64 * self.page_size
    }

    /// Returns the bytes that the host can still write if each block has been erased `worn` times
    /// and the counted passes cause `erases` erases.
    fn endurance_left(&self, worn: f64, erases: f64) -> f64 {
        let left = self.blocks * (f64::from(self.block_lifetime) - worn).max(0.0);
        if erases > 0.0 { left / erases * self.written() } else { f64::MAX }
    }

    /// Predicts the lifetime of a drive whose blocks have `worn` erases each, if the host writes
    /// `bytes_per_day`. Assumes that blocks wear evenly; without an interval if they do not.
    #[must_use]
    pub fn lifetime(&self, worn: f64, bytes_per_day: f64) -> LifetimeReport {
        LifetimeReport {
            block_lifetime: self.block_lifetime,
            erases_per_block: worn,
            endurance_left_bytes: self
                .assuming_even_wear(|erases| self.endurance_left(worn, erases)),
            bytes_per_day,
            days: self
                .assuming_even_wear(|erases| self.endurance_left(worn, erases) / bytes_per_day),
        }
    }
}

/// Returns the number of parts of a drive that carry out commands in parallel.
fn units(design: &Design) -> u32 {
    let elements = design.geometry.elements();
    match design.wiring.queue_per_package {
        true => elements * design.wiring.units_per_package(&design.geometry),
        false => elements.div_ceil(design.wiring.gang),
    }
}

/// Returns the equivalent throughput of a workload that needs at least `fewest` erases: at most 1,
/// also where a model predicts fewer erases than that.
#[must_use]
pub fn equivalent_throughput(fewest: f64, erases: f64) -> f64 {
    if erases > fewest { fewest / erases } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_throughput_is_never_above_1() {
        let found =
            [(10.0, 40.0), (10.0, 10.0), (10.0, 8.0)].map(|(a, b)| equivalent_throughput(a, b));
        assert_eq!(found, [0.25, 1.0, 1.0]);
    }
}
