//! The eight workloads of section III.C on drives, simulated and predicted.

use flashscope_model::Family;
use flashscope_model::trace::{Ranges, Stretches, Total};
use flashscope_predict::drawn::{EIGHT, Traits};
use flashscope_predict::{
    Cost, CountedPasses, InterpolatedModel, Passes, Pieces, Point, Pools, PredictError, Request,
    Requests, SelectedModel, SimulatedDrive, space,
};
use flashscope_sim::Profile;
use flashscope_sim::setup::Layout;

use super::SEED;
use super::writes::Writes;
use crate::{Axis, Error, Run};

/// Why values are not compared.
pub const NOT_PUBLIC: &str = "the traces are not public: in their place stand requests that are drawn with what is known of them \
                              (docs/models.md), and the figure prints no numbers: shape and order are compared";

/// Pages of the paper's drive of 30 GB, as which a workload's space is given.
const PAPERS_PAGES: f64 = 15_728_640.0;

/// Stretches as long as the log list, blocks as ranges: section III.C.
const STRETCHES: Pieces = Pieces { ranges: Ranges::Whole, stretches: Stretches::LogList };

/// The name of the trace that requests are drawn like.
pub fn name_of(traits: &Traits) -> &'static str {
    traits.name.trim_start_matches("like-")
}

/// The workloads as an axis.
pub fn by_workload() -> Axis {
    Axis::named("workload, drawn with what is known of it", &EIGHT.map(|traits| name_of(&traits)))
}

/// A drive, and its layout.
pub struct Drive {
    /// The drive.
    pub profile: Profile,
    layout: Layout,
}

/// What a workload comes to on a drive.
pub struct Simulation {
    requests: Requests,
    passes: Passes,
    total: Total,
    nanos: f64,
    block: f64,
}

impl Drive {
    /// A drive with another FTL.
    ///
    /// # Errors
    /// Where it cannot be.
    pub fn of(profile: &Profile, ftl: &str) -> Result<Drive, Error> {
        let profile = Profile { ftl: ftl.into(), ..profile.clone() };
        let layout = profile.layout().map_err(|error| Error::input("drive", &error))?;
        Ok(Drive { profile, layout })
    }

    /// The FTL's family.
    pub fn family(&self) -> Family {
        match self.layout.ftl.name {
            "bast" => Family::Bast,
            "fast" => Family::Fast,
            _ => Family::PageMap,
        }
    }

    /// A workload as large for this drive as it is for the paper's.
    fn requests(&self, traits: &Traits) -> Requests {
        let here = space(&self.layout);
        #[allow(clippy::cast_precision_loss, reason = "pages of a drive")]
        let part = here.pages() as f64 / PAPERS_PAGES;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "parts of what is so"
        )]
        let traits = Traits {
            requests: (f64::from(traits.requests) * (1.0 - traits.reads) * part) as u32,
            // Reads change nothing of what is written.
            reads: 0.0,
            space: ((traits.space as f64 * part) as u64).max(2 * traits.extent),
            ..*traits
        };
        Requests::Repeated(traits.requests(here, SEED).collect())
    }

    /// Repeats a workload until what it comes to has converged, as the paper does, and counts then.
    ///
    /// # Errors
    /// Where nothing predicts the drive, by which it is known how often, or it is to stop.
    pub fn simulate(&self, traits: &Traits, run: &Run<'_>) -> Result<Simulation, Error> {
        let mut requests = self.requests(traits);
        let chosen = SelectedModel::for_drive(&self.layout).map_err(failed)?;
        let mut pools = self.pools(chosen)?;
        let CountedPasses { passes, .. } =
            Passes::find(&mut pools, self.free_pages(), &mut requests, (run.stop, &mut ()))
                .map_err(failed)?;
        let mut drive =
            SimulatedDrive::new(&self.profile).map_err(|error| Error::input("drive", &error))?;
        let (total, took) =
            passes.simulate(&mut drive, &mut requests, (run.stop, &mut ())).map_err(failed)?;
        #[allow(clippy::cast_precision_loss, reason = "below 2^53 ns")]
        let nanos = took.0 as f64;
        let block = f64::from(self.layout.slots_per_block());
        Ok(Simulation { requests, passes, total, nanos, block })
    }

    fn pools(&self, chosen: SelectedModel) -> Result<Pools, Error> {
        Pools::new(&self.layout, chosen, STRETCHES).map_err(|error| Error::input("drive", &error))
    }

    fn free_pages(&self) -> u64 {
        let space = space(&self.layout);
        u64::from(space.free_blocks) * u64::from(space.pages_per_block)
    }

    /// The equivalent throughput that a model predicts.
    ///
    /// # Errors
    /// There is no such model of the drive.
    pub fn predict(&self, model: &str, of: &mut Simulation) -> Result<f64, Error> {
        let chosen = SelectedModel::named(model, &self.layout).map_err(failed)?;
        let total = of.passes.repeat(&mut self.pools(chosen)?, &mut of.requests).map_err(failed)?;
        Ok(throughput(&total, of.block))
    }

    /// What points that were measured predict.
    ///
    /// # Errors
    /// Nothing is written.
    pub fn interpolate(
        &self,
        points: &InterpolatedModel,
        of: &mut Simulation,
    ) -> Result<Cost, Error> {
        let found = points.predict(space(&self.layout), STRETCHES, &mut of.requests);
        found.map(|(_, cost)| cost).map_err(failed)
    }

    /// Measures uniform writes of these mean lengths, over as much of the drive as has these shares of free space: section IV.
    ///
    /// # Errors
    /// The drive cannot be, or it is to stop.
    pub fn measure(
        &self,
        lens: &[f64],
        frees: &[f64],
        run: &Run<'_>,
    ) -> Result<InterpolatedModel, Error> {
        let mut points = Vec::new();
        for mean_len in lens {
            let mut drive = SimulatedDrive::new(&self.profile)
                .map_err(|error| Error::input("drive", &error))?;
            // Each part after a smaller one, so that one drive does for all.
            for free_space in frees.iter().rev() {
                run.go_on()?;
                points.push(self.point(&mut drive, *mean_len, *free_space));
            }
        }
        InterpolatedModel::new(&points, self.family())
            .map_err(|error| Error::input("drive", &error))
    }

    /// What is written comes round three times before anything is counted, and once while it is.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "pages of a drive"
    )]
    fn point(&self, drive: &mut SimulatedDrive, mean_len: f64, free_space: f64) -> Point {
        let free = self.free_pages();
        let target = ((free as f64 / free_space) as u64).min(space(&self.layout).pages());
        let mut writes = Writes::new(target, mean_len);
        let mut write = |pages: u64| {
            let mut written = 0;
            while written < pages {
                let Some((page, len)) = writes.next() else { break };
                Request::new(true, page, len).into_iter().for_each(|write| drive.request(write));
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
    /// The equivalent throughput, which the paper calls write throughput.
    pub fn throughput(&self) -> f64 {
        throughput(&self.total, self.block)
    }

    /// That which costs come to.
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    pub fn throughput_of(&self, cost: &Cost) -> f64 {
        cost.pages as f64 / self.block / cost.counts.0
    }

    /// Pages written in a second of the drive's time.
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    pub fn pages_per_second(&self) -> f64 {
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
