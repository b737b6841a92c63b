//! The models that predict uniform writes, by name.

use crate::log_block::{bast, bast_refined, fast, fast_refined};
use crate::page_map::{cost_benefit, d_choices, desnoyers, fifo, greedy, random, windowed};
use crate::{Prediction, Uniform};

/// What a model is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A log block for a data block.
    Bast,
    /// Log blocks that all data blocks share.
    Fast,
    /// Pages are mapped, and blocks are cleaned.
    PageMap,
}

/// A model of uniform writes.
pub struct Model {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is of.
    pub family: Family,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Its prediction.
    pub predict: fn(&Uniform) -> Prediction,
    /// Whether that solves equations over a distribution, which takes ten times as long as others do: a
    /// [`Table`](crate::Table) of it pays soon.
    pub solves: bool,
}

impl Model {
    /// The model of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Model> {
        MODELS.iter().find(|model| model.name == name)
    }
}

/// All of them, the best of each family first.
pub const MODELS: &[Model] = &[
    Model {
        name: "bast-eager",
        family: Family::Bast,
        summary: "log blocks that serve a data block each, merged once full: how they fill, by renewal",
        source: "derived here from Boboila and Desnoyers, section III.A",
        predict: bast_refined::eager,
        solves: false,
    },
    Model {
        name: "bast-lazy",
        family: Family::Bast,
        summary: "the same, merged when written again or given up",
        source: "derived here from Boboila and Desnoyers, section III.A",
        predict: bast_refined::lazy,
        solves: false,
    },
    Model {
        name: "bast",
        family: Family::Bast,
        summary: "log blocks that serve a data block each, as it was published",
        source: "Boboila and Desnoyers, MSST 2011, equations 4 to 7",
        predict: bast::predict,
        solves: false,
    },
    Model {
        name: "fast",
        family: Family::Fast,
        summary: "log blocks that all data blocks share: heads that survive in the ring, by renewal",
        source: "derived here from Boboila and Desnoyers, section III.B",
        predict: fast_refined::predict,
        solves: false,
    },
    Model {
        name: "fast-2011",
        family: Family::Fast,
        summary: "the same as it was published, with equation 12 corrected",
        source: "Boboila and Desnoyers, MSST 2011, equations 8 to 15",
        predict: fast::predict,
        solves: false,
    },
    Model {
        name: "greedy",
        family: Family::PageMap,
        summary: "the block with the fewest valid pages is cleaned: the mean field",
        source: "Van Houdt, SIGMETRICS 2013, without limit to the choices",
        predict: greedy::predict,
        solves: false,
    },
    Model {
        name: "greedy-2012",
        family: Family::PageMap,
        summary: "the same in closed form, approximately",
        source: "Desnoyers, SYSTOR 2012, equation 12",
        predict: desnoyers::predict,
        solves: false,
    },
    Model {
        name: "fifo",
        family: Family::PageMap,
        summary: "the oldest block is cleaned",
        source: "Desnoyers, SYSTOR 2012, equation 4",
        predict: fifo::predict,
        solves: false,
    },
    Model {
        name: "best-of-ten",
        family: Family::PageMap,
        summary: "the best of ten blocks drawn at random is cleaned",
        source: "Van Houdt, SIGMETRICS 2013",
        predict: d_choices::predict,
        solves: true,
    },
    Model {
        name: "windowed",
        family: Family::PageMap,
        summary: "the best of the oldest tenth of all blocks is cleaned",
        source: "derived here; the policy is of Hu et al., SYSTOR 2009",
        predict: windowed::predict,
        solves: true,
    },
    Model {
        name: "cost-benefit",
        family: Family::PageMap,
        summary: "the block with the most benefit for its cost is cleaned: the mean field",
        source: "derived here; the policy is of Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
        predict: cost_benefit::predict,
        solves: true,
    },
    Model {
        name: "random",
        family: Family::PageMap,
        summary: "any block is cleaned",
        source: "Van Houdt, SIGMETRICS 2013, of one choice",
        predict: random::predict,
        solves: false,
    },
];
