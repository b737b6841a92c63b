//! The closed form for a drive and its workload.

use flashscope_model::{Mix, Model, Uniform, trim, zipf};
use flashscope_sim::Design;
use flashscope_sim::ftl::{Family, LogSharing};
use flashscope_sim::setup::{Eviction, Frontiers, Merge};

use crate::workload::{HOT_SPACE, Pattern, Workload};

/// Returns the write amplification in the steady state, or `None` if no closed form covers the
/// drive and its workload.
pub(crate) fn write_amplification(design: &Design, workload: &Workload) -> Option<f64> {
    if workload.reads >= 1.0 {
        return None;
    }
    match design.family {
        Family::PageMapped { map_on_flash: false } => page_map(design, workload),
        Family::PageMapped { map_on_flash: true } => None,
        Family::LogBlock(uses) => {
            let logs = &design.logs.options;
            let modelled = uses.any_order && logs.eviction == Eviction::Fifo && logs.switch;
            let name = match uses.sharing {
                LogSharing::One if modelled && logs.merge == Merge::Eager => "bast-eager",
                LogSharing::One if modelled => "bast-lazy",
                LogSharing::All => "fast",
                _ => return None,
            };
            let free = f64::from(design.logs.options.blocks) / logical_blocks(design);
            match workload.pattern {
                Pattern::Uniform => uniform(design, name, free),
                _ => None,
            }
        }
    }
}

/// Returns the logical blocks of a pool.
fn logical_blocks(design: &Design) -> f64 {
    f64::from(design.logical_pages_per_pool) / f64::from(design.slots_per_block())
}

fn page_map(design: &Design, workload: &Workload) -> Option<f64> {
    let one_stream =
        design.frontiers == Frontiers::One && !design.placement.is_on() && !design.has_slc();
    if !one_stream || design.background_below > 0 || design.cache.pages > 0 {
        return None;
    }
    let alpha = f64::from(design.data_blocks_per_pool()) / logical_blocks(design);
    let trims = workload.trims_of_changes();
    let alpha = trim::effective_alpha(alpha, trims).ok()?;
    let block = f64::from(design.slots_per_block());
    let policy = design.policies.victim.name;
    let mix = match workload.pattern {
        Pattern::Uniform => return uniform(design, model_of(policy)?, alpha - 1.0),
        // Every block holds only superseded pages when its turn comes.
        Pattern::Sequential => {
            return (trims == 0.0 && matches!(policy, "greedy" | "fifo")).then_some(1.0);
        }
        _ if trims > 0.0 => return None,
        Pattern::HotCold(writes) => Mix::hot_cold(writes, HOT_SPACE).ok()?,
        Pattern::Zipf(exponent) => zipf::classes(design.logical_pages().into(), exponent).ok()?,
    };
    match policy {
        "greedy" => Some(mix.greedy(alpha, block)),
        "fifo" => Some(mix.fifo(alpha)),
        _ => None,
    }
}

/// Returns the model of uniform writes under a policy. Random cleaning has no model here: its
/// model also cleans blocks without superseded pages, which the drive does not.
fn model_of(policy: &str) -> Option<&'static str> {
    let models = [
        ("greedy", "greedy"),
        ("fifo", "fifo"),
        ("d-choices", "best-of-ten"),
        ("cost-benefit", "cost-benefit"),
    ];
    models.into_iter().find(|(name, _)| *name == policy).map(|(_, model)| model)
}

fn uniform(design: &Design, model: &str, free: f64) -> Option<f64> {
    let block = f64::from(design.slots_per_block());
    let uniform = Uniform::new(block, logical_blocks(design), free, 1.0).ok()?;
    Some((Model::named(model)?.predict)(&uniform).write_amplification())
}
