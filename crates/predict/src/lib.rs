//! Predicts how a workload performs on a drive, without simulating it.

pub mod drawn;
mod grid_law;
mod interpolated;
pub mod long_run;
mod method;
mod pools;
mod report;
mod requests;
mod run;
mod simulated;
pub mod validation;

use flashscope_model::{Nand, OutOfRange};
use flashscope_sim::Design;
use flashscope_sim::ftl::Family;
use flashscope_sim::gc::Ties;
use flashscope_sim::setup::{Eviction, Frontiers, Transfer};

pub use grid_law::LawCost;
pub use interpolated::{Cost, InterpolatedModel, Point};
pub use method::{METHODS, Method, Pieces, SelectedModel, model_family, modelled_ftl};
pub use pools::{Pools, free_pages, space};

pub use report::{Numbers, equivalent_throughput, predicted_value, simulated_beside};
pub use requests::{Access, Request, Requests, WrittenShare};
pub use run::{
    Countable, CountedPasses, LONG_RUN_TURNS, repeat_passes, simulate_passes, steady_passes,
};
pub use simulated::SimulatedDrive;

/// The reason why a prediction failed.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The FTL of the drive has no model.
    #[error("no model predicts ftl = \"{ftl}\": `flashscope simulate` runs the workload on it")]
    NoModel {
        /// The FTL.
        ftl: &'static str,
    },
    /// There is no model of that name.
    #[error("there is no model `{name}`; choose one of: {}", .known.join(", "))]
    UnknownModel {
        /// The name that was given.
        name: String,
        /// The names of all models.
        known: Vec<&'static str>,
    },
    /// The model is for another FTL.
    #[error(
        "the model `{name}` is not for ftl = \"{ftl}\": omit the model to use the best one, or see `flashscope predict --list`"
    )]
    OtherFtl {
        /// The model.
        name: String,
        /// The FTL of the drive.
        ftl: &'static str,
    },
    /// The long run of the workload cannot be computed by that model.
    #[error(
        "the model `{name}` computes the long run of uniform, hot/cold and Zipf writes of one size, on a page-mapped drive with its \
         cleaning policy and one active block: omit the model to predict this workload from a sample"
    )]
    NotComputed {
        /// The model.
        name: String,
    },
    /// The workload only reads.
    #[error("the workload writes nothing, so nothing is erased: there is nothing to predict")]
    NothingWritten,
    /// The caller stopped the prediction.
    #[error("interrupted before anything was predicted")]
    Interrupted,
    /// The drive is outside the range of the model.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// Returns the times of a drive's flash.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "times are far below 2^53 ns")]
pub fn nand(design: &Design) -> Nand {
    let timing = &design.timing;
    Nand {
        read: timing.page_read.0 as f64,
        program: timing.page_program.0 as f64,
        erase: timing.block_erase.0 as f64,
        transfer: timing.page_transfer.0 as f64,
        copy_back: design.transfer == Transfer::CopyBack,
    }
}

/// Lists, in words, the features of a drive that all models ignore.
#[must_use]
pub fn never_modelled(design: &Design) -> Vec<String> {
    let left_out = [
        (design.cache.pages > 0, "the write buffer, which absorbs repeated writes of a page"),
        (design.has_slc(), "the blocks used as SLC"),
        (design.timing.page_types.is_some(), "the times of page types"),
        (design.policies.wear.name != "none", "wear levelling"),
        (
            design.geometry.slots_per_page > 1,
            "logical_page_size: a write of less than a flash page occupies a whole page",
        ),
        (design.reliability.factory_bad_blocks > 0.0, "the variation of bad blocks among lanes"),
        (
            design.reliability.program_failures > 0.0 || design.reliability.erase_failures > 0.0,
            "failures of programs and erases, which use up the spare blocks",
        ),
        (
            !matches!(design.family, Family::LogBlock(_)) && design.lanes_per_pool > 1,
            "active_blocks: the models assume that cleaning chooses among all blocks of a pool",
        ),
    ];
    left_out.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what.to_owned()).collect()
}

/// Lists, in words, the features of a drive that the models of requests ignore.
#[must_use]
pub fn not_modelled(design: &Design) -> Vec<String> {
    let logs = matches!(design.family, Family::LogBlock(_));
    let mut left_out = never_modelled(design);
    let mut add = |is_so: bool, what: &str| {
        if is_so {
            left_out.push(what.to_owned());
        }
    };
    add(
        design.background_below > 0,
        "background cleaning, which cleans blocks before it has to, and so moves more",
    );
    add(
        design.map_cache.entries_per_page > 0 && !design.map_cache.batch,
        "map_cache.batch = false: the models assume that entries of a translation page are written back together",
    );
    add(
        logs && design.logs.options.eviction != Eviction::Fifo,
        "log.eviction: the models assume that the oldest log block is reclaimed first",
    );
    add(
        logs && !design.logs.options.switch,
        "log.switch = false: the models assume that log blocks written in order become data blocks",
    );
    let policy = design.policies.victim.name;
    add(
        !logs && policy != "greedy" && policy != "fifo",
        &format!("cleaning.policy = \"{policy}\": the models assume greedy cleaning"),
    );
    add(
        !logs && policy == "greedy" && design.cleaning.ties != Ties::Oldest,
        "cleaning.ties = \"youngest\": the models assume that ties go to the block that reached its number of valid pages first",
    );
    add(
        !logs && design.frontiers != Frontiers::One,
        "cleaning.frontiers: the models assume that moved pages share blocks with host writes",
    );
    add(
        !logs && design.placement.is_on(),
        "placement: the models assume that all data shares blocks",
    );
    left_out
}
