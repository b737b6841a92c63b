//! The models of uniform writes, by name.

use crate::log_block::{bast, bast_refined, fast, fast_refined};
use crate::page_map::{cost_benefit, d_choices, desnoyers, fifo, greedy, random, windowed};
use crate::{Prediction, Uniform};

/// The kind of FTL that a model describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// BAST: each log block serves one data block.
    Bast,
    /// FAST: all data blocks share the log blocks.
    Fast,
    /// A page-mapped FTL with GC.
    PageMap,
}

/// A model of uniform writes.
pub struct Model {
    /// Name on the command line.
    pub name: &'static str,
    /// The kind of FTL.
    pub family: Family,
    /// A one-line description.
    pub summary: &'static str,
    /// The publication that the model comes from.
    pub source: &'static str,
    /// Computes the prediction.
    pub predict: fn(&Uniform) -> Prediction,
    /// True if the model solves equations over a distribution, which takes ten times as long as the
    /// other models. For many predictions, a [`Table`](crate::Table) of the model is faster.
    pub solves: bool,
}

impl Model {
    /// Returns the model with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Model> {
        MODELS.iter().find(|model| model.name == name)
    }
}

/// All models, the most accurate of each family first.
pub const MODELS: &[Model] = &[
    Model {
        name: "bast-eager",
        family: Family::Bast,
        summary: "a log block for each data block, merged once full: fill levels by renewal theory",
        source: "derived here from Boboila and Desnoyers, section III.A",
        predict: bast_refined::eager,
        solves: false,
    },
    Model {
        name: "bast-lazy",
        family: Family::Bast,
        summary: "a log block for each data block, merged when written again or reclaimed",
        source: "derived here from Boboila and Desnoyers, section III.A",
        predict: bast_refined::lazy,
        solves: false,
    },
    Model {
        name: "bast",
        family: Family::Bast,
        summary: "a log block for each data block, as published",
        source: "Boboila and Desnoyers, MSST 2011, equations 4 to 7",
        predict: bast::predict,
        solves: false,
    },
    Model {
        name: "fast",
        family: Family::Fast,
        summary: "log blocks shared by all data blocks: renewal theory of the pages that stay valid in them",
        source: "derived here from Boboila and Desnoyers, section III.B",
        predict: fast_refined::predict,
        solves: false,
    },
    Model {
        name: "fast-2011",
        family: Family::Fast,
        summary: "log blocks shared by all data blocks, as published, with equation 12 corrected",
        source: "Boboila and Desnoyers, MSST 2011, equations 8 to 15",
        predict: fast::predict,
        solves: false,
    },
    Model {
        name: "greedy",
        family: Family::PageMap,
        summary: "collects the block with the fewest valid pages: mean field",
        source: "Van Houdt, SIGMETRICS 2013, in the limit of many choices",
        predict: greedy::predict,
        solves: false,
    },
    Model {
        name: "greedy-2012",
        family: Family::PageMap,
        summary: "collects the block with the fewest valid pages: closed form, approximate",
        source: "Desnoyers, SYSTOR 2012, equation 12",
        predict: desnoyers::predict,
        solves: false,
    },
    Model {
        name: "fifo",
        family: Family::PageMap,
        summary: "collects the oldest block",
        source: "Desnoyers, SYSTOR 2012, equation 4",
        predict: fifo::predict,
        solves: false,
    },
    Model {
        name: "best-of-ten",
        family: Family::PageMap,
        summary: "collects the best of ten random blocks",
        source: "Van Houdt, SIGMETRICS 2013",
        predict: d_choices::predict,
        solves: true,
    },
    Model {
        name: "windowed",
        family: Family::PageMap,
        summary: "collects the best block among the oldest tenth",
        source: "derived here, for the policy of Hu et al., SYSTOR 2009",
        predict: windowed::predict,
        solves: true,
    },
    Model {
        name: "cost-benefit",
        family: Family::PageMap,
        summary: "collects the block with the largest benefit over cost: mean field",
        source: "derived here, for the policy of Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
        predict: cost_benefit::predict,
        solves: true,
    },
    Model {
        name: "random",
        family: Family::PageMap,
        summary: "collects a random block",
        source: "Van Houdt, SIGMETRICS 2013, with one choice",
        predict: random::predict,
        solves: false,
    },
];
