//! The eight workloads of section III.C on drives, simulated and predicted.

use flashscope_document::prediction::Passes;
use flashscope_model::Family;
use flashscope_model::trace::{Ranges, Stretches, Total};
use flashscope_predict::drawn::{EIGHT, Traits};
use flashscope_predict::{
    Access, Cost, CountedPasses, InterpolatedModel, Pieces, Point, Pools, PredictError, Request,
    Requests, SelectedModel, SimulatedDrive, model_family, repeat_passes, simulate_passes, space,
};
use flashscope_sim::Design;
use flashscope_sim::Profile;

use super::SEED;
use super::writes::Writes;
use crate::{Axis, Error, Run};

/// The explanation for comparing shape and order only.
pub(crate) const NOT_PUBLIC: &str = "the traces are not public: requests generated from their published properties replace them \
                             (docs/models.md). The figure prints no numbers: only shape and order are compared";

/// The pages of the paper's 30 GB drive, to which the space of a workload refers.
const PAPERS_PAGES: f64 = 15_728_640.0;

/// The division of a workload in section III.C: into intervals as long as the log list, and into
/// single blocks.
const STRETCHES: Pieces = Pieces { ranges: Ranges::Whole, stretches: Stretches::LogList };

/// Returns the name of the trace that the requests imitate.
pub(super) fn name_of(traits: &Traits) -> &'static str {
    traits.name.trim_start_matches("like-")
}

/// The axis of the workloads.
pub(crate) fn by_workload() -> Axis {
    Axis::named("workload, generated from its properties", &EIGHT.map(|traits| name_of(&traits)))
}

/// A drive and its layout.
pub(super) struct Drive {
    /// The profile of the drive.
    pub profile: Profile,
    design: Design,
}

/// The result of a simulated workload.
pub(super) struct Simulation {
    requests: Requests,
    passes: Passes,
    total: Total,
    nanos: f64,
    block: f64,
}

impl Drive {
    /// Combines a profile with another FTL.
    ///
    /// # Errors
    /// Fails if the profile does not allow this FTL.
    pub(super) fn of(profile: &Profile, ftl: &str) -> Result<Drive, Error> {
        let profile = Profile { ftl: ftl.into(), ..profile.clone() };
        let design = profile.design().map_err(|error| Error::input("drive", &error))?;
        Ok(Drive { profile, design })
    }

    /// Returns the family of the FTL, which decides how costs are predicted.
    pub(super) fn family(&self) -> Family {
        model_family(&self.design.ftl).unwrap_or(Family::PageMap)
    }

    /// Generates the writes of a workload, scaled from the paper's drive to this one.
    fn requests(&self, traits: &Traits) -> Requests {
        let here = space(&self.design);
        #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 pages")]
        let part = here.pages() as f64 / PAPERS_PAGES;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "fractions of integers far below 2^53 are at least 0"
        )]
        let traits = Traits {
            requests: (f64::from(traits.requests) * (1.0 - traits.reads) * part) as u32,
            // Reads do not change the writes.
            reads: 0.0,
            space: ((traits.space as f64 * part) as u64).max(2 * traits.extent),
            ..*traits
        };
        Requests::Repeated(traits.requests(here, SEED).collect())
    }

    /// Repeats a workload until its cost has converged, as the paper does, then measures it.
    ///
    /// # Errors
    /// Fails if no model fits the drive, because the number of repeats comes from a model. Also
    /// fails if the run is interrupted.
    pub(super) fn simulate(&self, traits: &Traits, run: &Run<'_>) -> Result<Simulation, Error> {
        let mut requests = self.requests(traits);
        let model = SelectedModel::for_drive(&self.design).map_err(failed)?;
        let mut pools = self.pools(model)?;
        let CountedPasses { passes, .. } =
            CountedPasses::find(&mut pools, &mut requests, (run.stop, &mut ())).map_err(failed)?;
        let mut drive =
            SimulatedDrive::new(&self.profile).map_err(|error| Error::input("drive", &error))?;
        let (total, took) =
            simulate_passes(&passes, &mut drive, &mut requests, (run.stop, &mut ()))
                .map_err(failed)?;
        #[allow(clippy::cast_precision_loss, reason = "below 2^53 ns")]
        let nanos = took.0 as f64;
        let block = f64::from(self.design.slots_per_block());
        Ok(Simulation { requests, passes, total, nanos, block })
    }

    fn pools(&self, model: SelectedModel) -> Result<Pools, Error> {
        Pools::new(&self.design, model, STRETCHES).map_err(|error| Error::input("drive", &error))
    }

    fn free_pages(&self) -> u64 {
        let space = space(&self.design);
        u64::from(space.free_blocks) * u64::from(space.pages_per_block)
    }

    /// Returns the equivalent throughput that a model predicts.
    ///
    /// # Errors
    /// Fails if no model of that name fits the drive.
    pub(super) fn predict(&self, model: &str, of: &mut Simulation) -> Result<f64, Error> {
        let model = SelectedModel::named(model, &self.design).map_err(failed)?;
        let total =
            repeat_passes(&of.passes, &mut self.pools(model)?, &mut of.requests).map_err(failed)?;
        Ok(throughput(&total, of.block))
    }

    /// Predicts the cost by interpolation between measured points.
    ///
    /// # Errors
    /// Fails if the workload writes nothing.
    pub(super) fn interpolate(
        &self,
        points: &InterpolatedModel,
        of: &mut Simulation,
    ) -> Result<Cost, Error> {
        let prediction = points.predict(space(&self.design), STRETCHES, &mut of.requests);
        prediction.map(|(_, cost)| cost).map_err(failed)
    }

    /// Measures uniform writes with the mean lengths `lens`, over parts of the drive with the
    /// free-space ratios `frees` (section IV).
    ///
    /// # Errors
    /// Fails if the profile is invalid, or on an interruption.
    pub(super) fn measure(
        &self,
        lens: &[f64],
        frees: &[f64],
        run: &Run<'_>,
    ) -> Result<InterpolatedModel, Error> {
        let mut points = Vec::new();
        for mean_len in lens {
            let mut drive = SimulatedDrive::new(&self.profile)
                .map_err(|error| Error::input("drive", &error))?;
            // Go from the smallest part of the drive to the largest, which lets one drive serve all
            // points.
            for free_space in frees.iter().rev() {
                run.check_interrupt()?;
                points.push(self.point(&mut drive, *mean_len, *free_space));
            }
        }
        InterpolatedModel::new(&points, self.family())
            .map_err(|error| Error::input("drive", &error))
    }

    /// Measures a point: overwrites the part of the drive three times before counting, and once
    /// while counting.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small drive has far fewer than 2^53 pages"
    )]
    fn point(&self, drive: &mut SimulatedDrive, mean_len: f64, free_space: f64) -> Point {
        let free = self.free_pages();
        let target = ((free as f64 / free_space) as u64).min(space(&self.design).pages());
        let mut writes = Writes::new(target, mean_len);
        let mut write = |pages: u64| {
            let mut written = 0;
            while written < pages {
                let Some((page, len)) = writes.next() else { break };
                Request::new(Access::Write, page, len)
                    .into_iter()
                    .for_each(|write| drive.request(write));
                written += len;
            }
            drive.total()
        };
        let before = write(3 * (target + free));
        let after = write(target + free);
        let total = after.0.since(&before.0);
        let pages = total.pages as f64;
        let nanos = ((after.1 - before.1).0 as f64 / pages).max(1.0);
        let counts = Some((total.erasures / pages, total.write_amplification()));
        Point { mean_len, free_space, nanos, counts }
    }
}

impl Simulation {
    /// Returns the equivalent throughput, which the paper calls write throughput.
    pub(super) fn throughput(&self) -> f64 {
        throughput(&self.total, self.block)
    }

    /// Returns the equivalent throughput that a predicted cost implies.
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    pub(crate) fn throughput_of(&self, cost: &Cost) -> f64 {
        cost.pages as f64 / self.block / cost.counts.0
    }

    /// Returns the pages written per second of simulated time.
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    pub(crate) fn pages_per_second(&self) -> f64 {
        self.total.pages as f64 / self.nanos * 1e9
    }
}

#[allow(clippy::cast_precision_loss, reason = "below 2^53")]
fn throughput(total: &Total, block: f64) -> f64 {
    total.pages as f64 / block / total.erasures
}

fn failed(error: PredictError) -> Error {
    match error {
        PredictError::Interrupted => Error::Interrupted,
        other => Error::input("drive", &other),
    }
}
