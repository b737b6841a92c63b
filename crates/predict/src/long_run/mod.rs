//! The write amplification of a distribution in the long run, computed instead of sampled.
//!
//! A sample of an endless workload says little about its steady state if it is shorter than the
//! time for which cold data stays in place. For independent writes, the models of
//! `flashscope_model` give that state directly: a mean field for uniform writes, and the equivalent
//! FIFO drive for skewed writes. `long_run.csv` lists their errors relative to the simulator.

mod idle;
mod pools;
mod validation;

use flashscope_model::trace::Total;
use flashscope_model::{
    Mix, OutOfRange, cost_benefit, d_choices, equivalent, fifo, greedy, random, windowed,
};
use flashscope_sim::Design;
use flashscope_sim::ftl::Family;
use flashscope_sim::gc::Ties;
use flashscope_sim::setup::{Frontiers, HostInterface};
use flashscope_workload::synthetic::{Law, Shares};

use crate::pools::summary_pages;

use idle::Bounds;
pub(crate) use pools::{PageDivision, PoolLaw};
pub use validation::{ERRORS, factors, required_coverage};

/// A model of the long run, for a policy of GC.
pub struct LongRunModel {
    /// The name on the command line.
    pub name: &'static str,
    /// The policy, a name of [`flashscope_sim::gc::KINDS`].
    pub policy: &'static str,
    /// A summary of one line.
    pub summary: &'static str,
    /// The publication or page that describes the model.
    pub source: &'static str,
    /// True if the model includes the effect of blocks that the host never writes to. These blocks
    /// have only valid pages. No policy collects them, but they may take part in its choice.
    knows_full_blocks: bool,
    /// Computes the write amplification.
    predict: fn(&PoolShape<'_>, &Mix) -> Result<f64, OutOfRange>,
}

/// The blocks of a pool among which GC chooses.
struct PoolShape<'l> {
    design: &'l Design,
    /// Physical pages in the candidates, divided by their live pages.
    alpha: f64,
    /// The pages of a block that become invalid independently.
    units: f64,
    /// The number of candidates in a lane.
    candidates: f64,
}

impl PoolShape<'_> {
    /// Returns the write amplification of the equivalent FIFO drive for classes of pages.
    fn equivalent(&self, mix: &Mix, uniform: f64) -> Result<f64, OutOfRange> {
        equivalent::write_amplification(mix, self.alpha, uniform.max(1.0))
    }
}

/// The models of the long run.
pub const LONG_RUN_MODELS: &[LongRunModel] = &[
    LongRunModel {
        name: "long-run-greedy",
        policy: "greedy",
        summary: "uniform, hot/cold and Zipf writes: mean field, and the equivalent FIFO drive",
        source: "Van Houdt, SIGMETRICS 2013; Desnoyers, SYSTOR 2012, equation 16; docs/models.md",
        knows_full_blocks: true,
        predict: |pool, mix| {
            pool.equivalent(mix, greedy::write_amplification(pool.alpha, pool.units))
        },
    },
    LongRunModel {
        name: "long-run-fifo",
        policy: "fifo",
        summary: "uniform, hot/cold and Zipf writes; victim: the oldest block with an invalid page",
        source: "Desnoyers, SYSTOR 2012, equation 4",
        knows_full_blocks: true,
        // The drive skips blocks that have no invalid page.
        predict: |pool, mix| {
            pool.equivalent(mix, fifo::passing_full_blocks(pool.alpha, pool.units))
        },
    },
    LongRunModel {
        name: "long-run-windowed-greedy",
        policy: "windowed-greedy",
        summary: "uniform, hot/cold and Zipf writes; victim: the best of the oldest blocks",
        source: "derived here, for the policy of Hu et al., SYSTOR 2009; docs/models.md",
        knows_full_blocks: false,
        predict: |pool, mix| {
            let share = (f64::from(pool.design.cleaning.window) / pool.candidates).min(1.0);
            let uniform = windowed::write_amplification(pool.alpha, pool.units, share)?;
            pool.equivalent(mix, uniform.min(fifo::passing_full_blocks(pool.alpha, pool.units)))
        },
    },
    LongRunModel {
        name: "long-run-d-choices",
        policy: "d-choices",
        summary: "uniform, hot/cold and Zipf writes; victim: the best of some random blocks",
        source: "Van Houdt, SIGMETRICS 2013; docs/models.md",
        knows_full_blocks: false,
        // With one choice, skew costs nothing. With many choices, it costs as much as with greedy
        // GC.
        predict: |pool, mix| {
            let choices = f64::from(pool.design.cleaning.choices);
            let uniform = d_choices::redrawing(pool.alpha, pool.units, choices)?;
            let skewed = pool.equivalent(mix, uniform)?;
            Ok(uniform + (1.0 - 1.0 / choices) * (skewed - uniform))
        },
    },
    LongRunModel {
        name: "long-run-random",
        policy: "random",
        summary: "uniform, hot/cold and Zipf writes; victim: a random block with an invalid page",
        source: "Van Houdt, SIGMETRICS 2013, with one choice; docs/models.md",
        knows_full_blocks: true,
        predict: |pool, mix| Ok(random::redrawing(mix, pool.alpha, pool.units)),
    },
    LongRunModel {
        name: "long-run-cost-benefit",
        policy: "cost-benefit",
        summary: "uniform, hot/cold and Zipf writes; victim: the block with the largest benefit over \
                  cost",
        source: "derived here, for the policy of Rosenblum and Ousterhout, TOCS 1992; docs/models.md",
        knows_full_blocks: true,
        predict: |pool, mix| {
            pool.equivalent(mix, cost_benefit::write_amplification(pool.alpha, pool.units))
        },
    },
];

/// The exponent of Zipf's law from which on the models have larger errors.
pub(crate) const STEEP: f64 = 0.8;

/// The number of writes in a block below which the models have larger errors.
pub(crate) const FEW_WRITES: f64 = 16.0;

/// The exponent of Zipf's law up to which the models were compared with the simulator.
pub const STEEPEST: f64 = 1.3;

/// The share of the space that is hot, and the share of the writes that it gets: the extremes of
/// the comparison.
pub const HOTTEST: (f64, f64) = (0.04, 0.94);

/// The number of iterations after which write amplification and the writes that blocks separate
/// agree within 0.1 %.
const ROUNDS: u32 = 12;

/// The kinds of writes, which differ in the error of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skew {
    /// All pages that are written at all have the same write rate.
    Uniform,
    /// Write rates differ.
    Skewed,
    /// Write rates follow Zipf's law with an exponent of at least 0.8, for which the
    /// equivalent FIFO drive is pessimistic.
    Steep,
    /// Write rates differ, and the policy is greedy with ties to the youngest block, which the
    /// models do not cover.
    SkewedYoungest,
    /// A block holds fewer than 16 writes, or a number of writes that is not an
    /// integer.
    Coarse,
}

impl Skew {
    /// All kinds.
    pub const ALL: [Skew; 5] =
        [Skew::Uniform, Skew::Skewed, Skew::Steep, Skew::SkewedYoungest, Skew::Coarse];

    /// Returns the name in `long_run.csv`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Skew::Uniform => "uniform",
            Skew::Skewed => "skewed",
            Skew::Steep => "steep",
            Skew::SkewedYoungest => "skewed-youngest",
            Skew::Coarse => "coarse",
        }
    }
}

impl Skew {
    /// Returns the kind of the writes of a workload to these pools.
    fn of(law: &Law, design: &Design, pools: &[PoolLaw]) -> Skew {
        let slots = design.slots_per_block().into();
        let youngest = design.cleaning.ties == Ties::Youngest
            && matches!(design.policies.victim.name, "greedy" | "windowed-greedy");
        if pools.iter().any(|pool| pool.is_coarse(slots)) {
            return Skew::Coarse;
        }
        match (pools.iter().any(PoolLaw::is_skewed), youngest) {
            (false, _) => Skew::Uniform,
            (true, false) => match law.shares {
                Shares::Zipf { exponent, .. } if exponent >= STEEP => Skew::Steep,
                _ => Skew::Skewed,
            },
            (true, true) => Skew::SkewedYoungest,
        }
    }
}

/// The steady state of a workload.
pub struct LongRun {
    /// The model.
    pub model: &'static LongRunModel,
    /// The kind of writes.
    pub skew: Skew,
    /// Data pages programmed for each page that the host writes, if it issues one request at a
    /// time.
    pub amplification: f64,
    /// The value of `amplification` if no package is ever idle; equal unless the drive cleans in
    /// the background.
    pub without_idle_time: f64,
    /// The value of `amplification` if idle packages clean in the background for any amount of
    /// time.
    pub with_idle_time: f64,
    /// True if all pages of the drive have the same write rate, so that all blocks wear evenly.
    pub wears_evenly: bool,
    /// The property of the workload for which the model was not compared with the simulator.
    pub beyond: Option<&'static str>,
    /// True if `amplification` follows from the idle time of packages. If false, it is equal to
    /// `with_idle_time`.
    pub balances_idle_time: bool,
    /// Pages per request.
    pages: u64,
    /// The share of writes in the requests.
    writes: f64,
}

impl LongRun {
    /// Computes the long run of a workload on a drive; `None` if no model covers the two.
    #[must_use]
    pub fn of(law: &Law, design: &Design, interface: &HostInterface) -> Option<LongRun> {
        let model =
            LONG_RUN_MODELS.iter().find(|model| model.policy == design.policies.victim.name)?;
        let page_mapped = design.family == (Family::PageMapped { map_on_flash: false });
        if !page_mapped || design.placement.is_on() {
            return None;
        }
        let writes = 1.0 - law.reads - law.trims;
        if writes <= 0.0 {
            return None;
        }
        let pools = PoolLaw::all(law, PageDivision::of(design))?;
        if !model.covers(&pools, design) {
            return None;
        }
        let bounds: Vec<Bounds> =
            pools.iter().map(|pool| model.bounds(pool, design)).collect::<Option<_>>()?;
        let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
            (0..).zip(&pools).map(|(nth, pool)| pool.writes * of(nth)).sum()
        };
        let with_idle_time = mean(&|nth| bounds[nth].with);
        let balance = idle::balance(law, &pools, &bounds, design, interface);
        let skew = Skew::of(law, design, &pools);
        let page = u64::from(design.logical_page_size());
        Some(LongRun {
            model,
            skew,
            amplification: balance.as_ref().map_or(with_idle_time, |found| mean(&|nth| found[nth])),
            without_idle_time: mean(&|nth| bounds[nth].without),
            with_idle_time,
            wears_evenly: !is_skewed(&pools) && !has_static_pages(&pools),
            beyond: beyond(law, model, skew),
            balances_idle_time: balance.is_some(),
            pages: law.size.0.div_ceil(page),
            writes,
        })
    }

    /// Returns the expected totals over `ios` requests.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "requests are below 2^53"
    )]
    pub fn total(&self, ios: u64, design: &Design) -> Total {
        let pages = (ios as f64 * self.writes * self.pages as f64).round().max(1.0);
        let erasures = pages * self.amplification / f64::from(design.slots_per_block());
        let summaries = erasures * summary_pages(design);
        Total {
            pages: pages as u64,
            erasures,
            copies: pages * (self.amplification - 1.0) + summaries,
        }
    }
}

fn is_skewed(pools: &[PoolLaw]) -> bool {
    pools.iter().any(PoolLaw::is_skewed)
}

fn has_static_pages(pools: &[PoolLaw]) -> bool {
    pools.iter().any(|pool| pool.static_pages > 0.0)
}

/// Returns the property of a workload that lies beyond all workloads that were simulated.
#[allow(clippy::cast_precision_loss, reason = "places are below 2^53")]
fn beyond(law: &Law, model: &LongRunModel, skew: Skew) -> Option<&'static str> {
    match law.shares {
        Shares::Zipf { exponent, .. } if exponent > STEEPEST => {
            Some("Zipf exponents above 1.3, whose long run begins after hundreds of capacities")
        }
        Shares::HotCold { hot, writes }
            if writes > HOTTEST.1 || (hot as f64) < HOTTEST.0 * law.places as f64 =>
        {
            Some("hot data of less than 4 % of the space, or with more than 94 % of the writes")
        }
        // Cold data gather in blocks that stay full, which the model of independent pages ignores.
        Shares::HotCold { .. } | Shares::Zipf { .. }
            if skew == Skew::Coarse && model.policy == "random" =>
        {
            Some("the cold blocks of random cleaning, which matter in blocks of few writes")
        }
        _ => None,
    }
}

impl LongRunModel {
    /// Returns the model with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static LongRunModel> {
        LONG_RUN_MODELS.iter().find(|model| model.name == name)
    }

    /// Returns true if the model covers the writes to the pools of a drive.
    fn covers(&self, pools: &[PoolLaw], design: &Design) -> bool {
        // A write of a whole block leaves no valid page in its victims.
        let slots = f64::from(design.slots_per_block());
        let is_whole = pools.iter().any(|pool| pool.run >= slots);
        let static_pages = has_static_pages(pools);
        let fits = match design.frontiers {
            Frontiers::One => true,
            // With equal write rates, moved pages are like all other pages.
            Frontiers::HostAndCleaning => !is_skewed(pools) && !static_pages,
            Frontiers::HotAndCold => false,
        };
        fits && !is_whole && (!static_pages || self.knows_full_blocks)
    }

    /// Returns the write amplification of a pool with and without idle time; `None` if it has no
    /// spare pages.
    fn bounds(&self, pool: &PoolLaw, design: &Design) -> Option<Bounds> {
        let without = self.of_pool(pool, design, design.clean_below)?;
        let with = match design.background_below > design.clean_below {
            true => self.of_pool(pool, design, design.background_below)?,
            false => without,
        };
        Some(Bounds { without, with })
    }

    /// Returns the write amplification of a pool whose lanes keep `reserve` blocks free; `None` if
    /// it has no spare pages.
    ///
    /// When GC chooses a block, the newest pages are not as old as a whole block of writes. The
    /// pages that the host wrote, 1/A of a block, are half as old on average. The mean field of
    /// infinitely many blocks therefore holds for 1/(2A) of a block less.
    fn of_pool(&self, pool: &PoolLaw, design: &Design, reserve: u32) -> Option<f64> {
        let slots = f64::from(design.slots_per_block());
        let infinite = self.of_candidates(pool, design, reserve, (0.0, pool.units(slots, 1.0)))?;
        let mut amplification = infinite;
        for _ in 0..ROUNDS {
            let shape = (0.5 / infinite, pool.units(slots, amplification));
            // With almost no spare pages, the correction leaves no spare pages.
            amplification = self.of_candidates(pool, design, reserve, shape).unwrap_or(infinite);
        }
        Some(amplification)
    }

    /// Returns the write amplification of a pool, reduced by `fewer` blocks in each lane. `units`
    /// is the number of pages of a block that become invalid independently. Returns `None` if the
    /// remaining blocks have no spare pages.
    fn of_candidates(
        &self,
        pool: &PoolLaw,
        design: &Design,
        reserve: u32,
        (fewer, units): (f64, f64),
    ) -> Option<f64> {
        let block = f64::from(design.slots_per_block());
        let taken = design.slc_blocks_per_lane + design.bad_blocks_per_lane + reserve;
        let blocks = design.blocks_per_lane().checked_sub(taken)?;
        let (lanes, mut candidates) = (f64::from(design.lanes_per_pool), f64::from(blocks) - fewer);
        let mut live = pool.live();
        if design.frontiers == Frontiers::HostAndCleaning {
            // The block that receives moved pages is half full on average.
            candidates -= 1.0;
            live -= lanes * block / 2.0;
        }
        let physical = lanes * candidates * block - pool.static_pages;
        let alpha = physical / live;
        if alpha <= 1.0 || candidates < 1.0 {
            return None;
        }
        let shape = PoolShape { design, alpha, units, candidates };
        let amplification = (self.predict)(&shape, &pool.mix()?).ok()?;
        Some(amplification.max(1.0))
    }
}
