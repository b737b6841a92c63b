//! The models of `flashscope predict`, and the choice of a model for a drive.

use std::rc::Rc;

use flashscope_model::trace::{
    Decomposition, Dftl, FragmentBast, FragmentFast, GcPolicy, Map, MergePolicy, Performance,
    Predictor, Ranges, Reuse, Stretches, Survivors, Total,
};
use flashscope_model::{self as model, MODELS, OutOfRange, Table};
use flashscope_sim::Design;
use flashscope_sim::ftl::{self, Family, LogSharing, LogUse};
use flashscope_sim::setup::Merge;

use super::long_run::LONG_RUN_MODELS;
use super::{PredictError, space};

/// A model that processes every request of a workload.
#[derive(Clone, Copy)]
pub struct Method {
    /// The name on the command line.
    pub name: &'static str,
    /// Returns true for the families of FTLs that the method predicts.
    predicts: fn(Family) -> bool,
    /// A summary of one line.
    pub summary: &'static str,
    /// The publication or page that describes the method.
    pub source: &'static str,
    /// True if the method processes trims like the drive. Drives with log blocks ignore trims.
    pub follows_trims: bool,
    new: fn(&Design) -> Result<Box<dyn Predictor>, OutOfRange>,
}

/// The models that process every request. For an FTL with several methods, the first is the most
/// accurate.
pub const METHODS: &[Method] = &[
    Method {
        name: "fragment-bast",
        predicts: is_bast,
        summary: "tracks how far and in which order log blocks fill up, and which one is reclaimed next",
        source: "docs/models.md, after Boboila and Desnoyers, MSST 2011, section III.A",
        follows_trims: true,
        new: |design| {
            let merging = match design.logs.options.merge {
                Merge::Eager => MergePolicy::Eager,
                Merge::Lazy => MergePolicy::Lazy,
            };
            Ok(Box::new(FragmentBast::new(space(design), merging)?))
        },
    },
    Method {
        name: "fragment-fast",
        predicts: is_fast,
        summary: "tracks which pages are still valid when their log block is reclaimed, and of how many data blocks",
        source: "docs/models.md, after Boboila and Desnoyers, MSST 2011, section III.B",
        follows_trims: true,
        new: |design| Ok(Box::new(FragmentFast::new(space(design))?)),
    },
    Method {
        name: "survivors",
        predicts: is_page_map,
        summary: "tracks groups of pages that were valid together when their block was cleaned, and stay together",
        source: "docs/models.md",
        follows_trims: true,
        new: |design| Ok(Box::new(Survivors::new(space(design), cleaning(design))?)),
    },
    Method {
        name: "reuse",
        predicts: is_page_map,
        summary: "keeps a histogram of the times between two writes to a page: needs less memory than survivors, and is less accurate",
        source: "docs/models.md, after Desnoyers, SYSTOR 2012, equations 4 and 16",
        follows_trims: false,
        new: |design| {
            Ok(Box::new(Reuse::new(space(design), cleaning(design) == GcPolicy::Greedy)?))
        },
    },
    Method {
        name: "dftl",
        predicts: |family| family == Family::PageMapped { map_on_flash: true },
        summary: "like survivors, and tracks which entries of the map are in memory",
        source: "docs/models.md, after Gupta, Kim and Urgaonkar, ASPLOS 2009",
        follows_trims: true,
        new: |design| Ok(Box::new(Dftl::new(space(design), map(design), cleaning(design))?)),
    },
];

impl Method {
    /// Returns the names of the FTLs that the method predicts.
    pub fn ftls(&self) -> impl Iterator<Item = &'static str> {
        ftl::KINDS.iter().filter(|kind| (self.predicts)(kind.family)).map(|kind| kind.name)
    }
}

fn is_page_map(family: Family) -> bool {
    family == Family::PageMapped { map_on_flash: false }
}

/// Returns true for FTLs whose log blocks belong to one data block and take its pages in any order.
fn is_bast(family: Family) -> bool {
    matches!(family, Family::LogBlock(LogUse { sharing: LogSharing::One, any_order: true, .. }))
}

/// Returns true for FTLs whose log blocks are shared by all data blocks.
fn is_fast(family: Family) -> bool {
    matches!(family, Family::LogBlock(LogUse { sharing: LogSharing::All, .. }))
}

/// Returns true if the models of a family predict FTLs like this one.
fn is_modelled(ftl: &ftl::Kind, family: model::Family) -> bool {
    match family {
        model::Family::Bast => is_bast(ftl.family),
        model::Family::Fast => is_fast(ftl.family),
        model::Family::PageMap => is_page_map(ftl.family),
    }
}

/// Returns the family whose models predict an FTL, or `None` if there is none.
#[must_use]
pub fn model_family(ftl: &ftl::Kind) -> Option<model::Family> {
    let families = [model::Family::Bast, model::Family::Fast, model::Family::PageMap];
    families.into_iter().find(|family| is_modelled(ftl, *family))
}

/// Returns the FTL that the models of a family predict.
///
/// # Panics
/// If the registry has no such FTL, which a test excludes.
#[must_use]
pub fn modelled_ftl(family: model::Family) -> &'static ftl::Kind {
    let kind = ftl::KINDS.iter().find(|kind| is_modelled(kind, family));
    kind.expect("each family of models has an FTL")
}

fn cleaning(design: &Design) -> GcPolicy {
    if design.policies.victim.name == "fifo" { GcPolicy::Fifo } else { GcPolicy::Greedy }
}

/// Returns the map of a pool and the size of its cache, for a drive whose map is on the flash.
/// Entries move between the memory of the drive and the memory of the host by last use. The two
/// memories act as one cache of their total size. The pools share this cache, and each pool is
/// assumed to get an equal part.
fn map(design: &Design) -> Map {
    let cache = &design.map_cache;
    Map {
        cached: (cache.entries.saturating_add(cache.host_entries) / design.pools).max(1),
        per_page: cache.entries_per_page,
        max_blocks: design.translation_blocks_per_lane() * design.lanes_per_pool,
    }
}

/// The settings that control how a model of uniform writes is applied to a workload (Boboila and
/// Desnoyers, sections III.C and IV).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// The rule for the space of a range.
    pub ranges: Ranges,
    /// The rule by which time is divided into stretches.
    pub stretches: Stretches,
}

/// The settings of section III.C.
impl Default for Pieces {
    fn default() -> Self {
        Pieces { ranges: Ranges::Whole, stretches: Stretches::LogList }
    }
}

/// The model that makes a prediction: a [`Method`], or equations for uniform writes that are
/// applied to stretches of time and ranges of space.
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
    pub fn for_drive(design: &Design) -> Result<SelectedModel, PredictError> {
        let method = METHODS.iter().find(|method| (method.predicts)(design.family));
        let selected = method.map(SelectedModel::Method);
        selected.ok_or(PredictError::NoModel { ftl: design.ftl.name })
    }

    /// Returns the model with a name.
    ///
    /// # Errors
    /// If no model has this name, or the model is not for the drive's FTL.
    pub fn named(name: &str, design: &Design) -> Result<SelectedModel, PredictError> {
        let method = METHODS.iter().find(|method| method.name == name).map(SelectedModel::Method);
        let selected = method.or_else(|| model::Model::named(name).map(SelectedModel::Equations));
        let selected = selected.ok_or_else(|| PredictError::UnknownModel {
            name: name.into(),
            known: METHODS
                .iter()
                .map(|one| one.name)
                .chain(MODELS.iter().map(|one| one.name))
                .chain(LONG_RUN_MODELS.iter().map(|one| one.name))
                .collect(),
        })?;
        let ftl = design.ftl.name;
        if selected.predicts(design) {
            Ok(selected)
        } else {
            Err(PredictError::OtherFtl { name: name.into(), ftl })
        }
    }

    fn predicts(self, design: &Design) -> bool {
        match self {
            SelectedModel::Method(method) => (method.predicts)(design.family),
            SelectedModel::Equations(model) => is_modelled(&design.ftl, model.family),
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

    /// Returns true if the prediction includes the effect of trims on the drive.
    #[must_use]
    pub const fn follows_trims(self) -> bool {
        matches!(self, SelectedModel::Method(Method { follows_trims: true, .. }))
    }

    /// Creates a predictor for each pool of the drive. `pieces` only affects equations.
    ///
    /// # Errors
    /// If the drive is outside the range of the model.
    pub(crate) fn predictors(
        self,
        design: &Design,
        pieces: Pieces,
    ) -> Result<Vec<Box<dyn Predictor>>, OutOfRange> {
        match self {
            SelectedModel::Method(method) => {
                (0..design.pools).map(|_| (method.new)(design)).collect()
            }
            SelectedModel::Equations(model) => {
                let block = f64::from(design.slots_per_block());
                match model.solves.then(|| Table::of(model, block)).flatten().map(Rc::new) {
                    Some(table) => decomposed(design, pieces, &table),
                    None => decomposed(design, pieces, &model),
                }
            }
        }
    }
}

/// Creates the predictors of a drive's pools from a model of uniform writes.
fn decomposed<P: Performance<Sum = Total> + Clone + 'static>(
    design: &Design,
    pieces: Pieces,
    performance: &P,
) -> Result<Vec<Box<dyn Predictor>>, OutOfRange> {
    let Pieces { ranges, stretches } = pieces;
    let pool = |_| -> Result<Box<dyn Predictor>, OutOfRange> {
        let of = performance.clone();
        Ok(Box::new(Decomposition::new(of, space(design), ranges, stretches)?))
    };
    (0..design.pools).map(pool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_of_models_has_one_ftl() {
        for (family, name) in [
            (model::Family::Bast, "bast"),
            (model::Family::Fast, "fast"),
            (model::Family::PageMap, "page-map"),
        ] {
            assert_eq!(modelled_ftl(family).name, name);
            let ftls = ftl::KINDS.iter().filter(|kind| model_family(kind) == Some(family));
            assert_eq!(ftls.count(), 1, "{name}");
        }
    }

    #[test]
    fn every_method_predicts_a_registered_ftl() {
        for method in METHODS {
            assert_eq!(method.ftls().count(), 1, "{}", method.name);
        }
    }
}
