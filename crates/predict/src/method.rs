//! The ways of making a prediction.

use std::rc::Rc;

use flashscope_model::trace::{
    Decomposition, Dftl, FragmentBast, FragmentFast, GcPolicy, Map, MergePolicy, Performance,
    Predictor, Ranges, Reuse, Stretches, Survivors, Total,
};
use flashscope_model::{self as model, MODELS, OutOfRange, Table};
use flashscope_sim::ftl::Family;
use flashscope_sim::setup::{Layout, Merge};

use super::{PredictError, space};

/// A model that looks at every request of a workload.
#[derive(Clone, Copy)]
pub struct Method {
    /// The name on the command line.
    pub name: &'static str,
    /// The FTLs that it predicts.
    pub ftls: &'static [&'static str],
    /// A summary of one line.
    pub summary: &'static str,
    /// The publication or page that describes it.
    pub source: &'static str,
    /// True if it follows trims as far as the drive does. Drives with log blocks ignore them.
    pub follows_trims: bool,
    new: fn(&Layout) -> Result<Box<dyn Predictor>, OutOfRange>,
}

/// The models that look at every request. For an FTL with several, the first is the best.
pub const METHODS: &[Method] = &[
    Method {
        name: "fragment-bast",
        ftls: &["bast"],
        summary: "how far each log block is filled, whether in order, and whose turn it is",
        source: "docs/models.md, after Boboila and Desnoyers, MSST 2011, section III.A",
        follows_trims: true,
        new: |layout| {
            let merging = match layout.logs.merge {
                Merge::Eager => MergePolicy::Eager,
                Merge::Lazy => MergePolicy::Lazy,
            };
            Ok(Box::new(FragmentBast::new(space(layout), merging)?))
        },
    },
    Method {
        name: "fragment-fast",
        ftls: &["fast"],
        summary: "which pages are still in the log blocks when their turn comes, and of how many data blocks",
        source: "docs/models.md, after Boboila and Desnoyers, MSST 2011, section III.B",
        follows_trims: true,
        new: |layout| Ok(Box::new(FragmentFast::new(space(layout))?)),
    },
    Method {
        name: "survivors",
        ftls: &["page-map"],
        summary: "which pages were valid together when their block was cleaned, and so stay together",
        source: "docs/models.md",
        follows_trims: true,
        new: |layout| Ok(Box::new(Survivors::new(space(layout), cleaning(layout))?)),
    },
    Method {
        name: "reuse",
        ftls: &["page-map"],
        summary: "how long pages are left alone before they are written again: less is kept, more missed",
        source: "docs/models.md, after Desnoyers, SYSTOR 2012, equations 4 and 16",
        follows_trims: false,
        new: |layout| {
            Ok(Box::new(Reuse::new(space(layout), cleaning(layout) == GcPolicy::Greedy)?))
        },
    },
    Method {
        name: "dftl",
        ftls: &["dftl"],
        summary: "as survivors, with the entries of the map that are in memory",
        source: "docs/models.md, after Gupta, Kim and Urgaonkar, ASPLOS 2009",
        follows_trims: true,
        new: |layout| Ok(Box::new(Dftl::new(space(layout), map(layout), cleaning(layout))?)),
    },
];

fn cleaning(layout: &Layout) -> GcPolicy {
    if layout.policy.name == "fifo" { GcPolicy::Fifo } else { GcPolicy::Greedy }
}

/// Returns the cached part of the map of a pool, for a drive whose map is on the flash. Entries move between the memory
/// of the drive and that of the host by last use. Together they act as one cache that is as large as both. Pools share
/// it, and each is assumed to get an equal part.
fn map(layout: &Layout) -> Map {
    let cache = &layout.map_cache;
    Map {
        cached: (cache.entries.saturating_add(cache.host_entries) / layout.pools).max(1),
        per_page: cache.entries_per_page,
        most_blocks: layout.translation_blocks_per_lane() * layout.lanes_per_pool,
    }
}

/// The settings by which a model of uniform writes is applied to a workload (Boboila and Desnoyers, sections III.C and
/// IV).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// The rule for the space of a range.
    pub ranges: Ranges,
    /// The rule by which time is divided.
    pub stretches: Stretches,
}

/// The settings of section III.C.
impl Default for Pieces {
    fn default() -> Self {
        Pieces { ranges: Ranges::Whole, stretches: Stretches::LogList }
    }
}

/// The model that makes a prediction: a [`Method`], or equations for uniform writes that are applied to stretches of time
/// and ranges of space.
#[derive(Clone, Copy)]
pub enum SelectedModel {
    /// One of [`METHODS`].
    Method(&'static Method),
    /// One of [`MODELS`].
    Equations(&'static model::Model),
}

impl SelectedModel {
    /// Returns the model that predicts a drive best.
    ///
    /// # Errors
    /// If no model predicts the drive's FTL.
    pub fn for_drive(layout: &Layout) -> Result<SelectedModel, PredictError> {
        let ftl = layout.ftl.name;
        let method = METHODS.iter().find(|method| method.ftls.contains(&ftl));
        method.map(SelectedModel::Method).ok_or(PredictError::NoModel { ftl })
    }

    /// Returns the model with a name.
    ///
    /// # Errors
    /// If there is none, or it is not for the drive's FTL.
    pub fn named(name: &str, layout: &Layout) -> Result<SelectedModel, PredictError> {
        let method = METHODS.iter().find(|method| method.name == name).map(SelectedModel::Method);
        let selected = method.or_else(|| model::Model::named(name).map(SelectedModel::Equations));
        let selected = selected.ok_or_else(|| PredictError::UnknownModel {
            name: name.into(),
            known: METHODS
                .iter()
                .map(|one| one.name)
                .chain(MODELS.iter().map(|one| one.name))
                .collect(),
        })?;
        let ftl = layout.ftl.name;
        if selected.predicts(layout) {
            Ok(selected)
        } else {
            Err(PredictError::OtherFtl { name: name.into(), ftl })
        }
    }

    fn predicts(self, layout: &Layout) -> bool {
        let ftl = layout.ftl.name;
        match self {
            SelectedModel::Method(method) => method.ftls.contains(&ftl),
            SelectedModel::Equations(model) => match model.family {
                model::Family::Bast => ftl == "bast",
                model::Family::Fast => ftl == "fast",
                model::Family::PageMap => {
                    matches!(layout.ftl.family, Family::PageMapped { map_on_flash: false })
                }
            },
        }
    }

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SelectedModel::Method(method) => method.name,
            SelectedModel::Equations(model) => model.name,
        }
    }

    /// True if trims change the prediction as they change the drive.
    #[must_use]
    pub const fn follows_trims(self) -> bool {
        matches!(self, SelectedModel::Method(Method { follows_trims: true, .. }))
    }

    /// Creates a predictor for each pool of the drive. `pieces` only affects equations.
    ///
    /// # Errors
    /// If the drive is outside the range of the model.
    pub fn predictors(
        self,
        layout: &Layout,
        pieces: Pieces,
    ) -> Result<Vec<Box<dyn Predictor>>, OutOfRange> {
        match self {
            SelectedModel::Method(method) => {
                (0..layout.pools).map(|_| (method.new)(layout)).collect()
            }
            SelectedModel::Equations(model) => {
                let block = f64::from(layout.slots_per_block());
                match model.solves.then(|| Table::of(model, block)).flatten().map(Rc::new) {
                    Some(table) => decomposed(layout, pieces, &table),
                    None => decomposed(layout, pieces, &model),
                }
            }
        }
    }
}

/// Creates the predictors of a drive's pools from a model of uniform writes.
fn decomposed<P: Performance<Sum = Total> + Clone + 'static>(
    layout: &Layout,
    pieces: Pieces,
    performance: &P,
) -> Result<Vec<Box<dyn Predictor>>, OutOfRange> {
    let Pieces { ranges, stretches } = pieces;
    let pool = |_| -> Result<Box<dyn Predictor>, OutOfRange> {
        let of = performance.clone();
        Ok(Box::new(Decomposition::new(of, space(layout), ranges, stretches)?))
    };
    (0..layout.pools).map(pool).collect()
}
