use std::collections::BTreeMap;

use flashscope_block::{Bytes, DeviceKind};
use flashscope_document::{Cleaning, Simulation, SimulationStatus};
use flashscope_sim::nand::{ByCause, Events};
use flashscope_sim::observe::Findings;

use super::latency::{heat_map, latencies};
use super::{Checked, close, holds, inside, same, share, sum};

/// Whether all of a simulation that follows from something in it does.
pub(crate) fn simulation(simulation: &Simulation<Findings>) -> Checked {
    head(simulation)?;
    flash(simulation)?;
    let seconds = simulation.simulated_ns.as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "it is compared up to rounding")]
    let rate = Some(simulation.ios as f64 / seconds).filter(|rate| rate.is_finite());
    close("`ios_per_second`", simulation.ios_per_second, rate, "`ios` and `simulated_ns`")?;
    latencies(simulation)?;
    if let Some(map) = &simulation.latency_heat_map {
        heat_map(simulation, map)?;
    }
    inside::observations(simulation)
}

fn head(simulation: &Simulation<Findings>) -> Checked {
    let Simulation { drive, status, error, queue_depth, warm_up, .. } = simulation;
    holds(drive.kind == DeviceKind::Sim, || "`drive` is not a simulated one".into())?;
    let most = drive.queue_depth;
    holds((1..=most).contains(queue_depth), || {
        format!("`queue_depth` is {queue_depth}, and the drive takes 1 to {most} IOs at once")
    })?;
    holds((*status == SimulationStatus::Failed) == error.is_some(), || {
        "`error` is there if, and only if, `status` is `failed`".into()
    })?;
    holds(warm_up.steady.is_some() == warm_up.criterion.is_some(), || {
        "`warm_up` says whether it was steady, or by which criterion, but not both".into()
    })?;
    holds(warm_up.ios > 0 || warm_up.bytes == Bytes(0), || "`warm_up.bytes` are of no IO".into())?;
    let least = warm_up.window_write_amplification.iter().copied().fold(f64::INFINITY, f64::min);
    holds(least >= 1.0, || "`warm_up.window_write_amplification` is at least 1".into())
}

/// What the flash did, by cause, and what follows from it.
fn flash(simulation: &Simulation<Findings>) -> Checked {
    let Simulation { flash_reads, flash_programs, erases, events, .. } = simulation;
    let causes = ByCause::default().entries().map(|(name, _)| name);
    let known = Events::default().entries().map(|(name, _)| name);
    named("flash_reads", flash_reads, &causes)?;
    named("flash_programs", flash_programs, &causes)?;
    named("erases", erases, &causes)?;
    named("events", events, &known)?;
    let programs = sum(flash_programs.values());
    let for_host = u128::from(flash_programs["host"]);
    let amplification = share(programs, for_host);
    let said = simulation.write_amplification;
    close("`write_amplification`", said, amplification, "`flash_programs`")?;
    let Cleaning { count, pages_moved, efficiency } = &simulation.cleaning;
    same("`cleaning.count`", *count, erases["cleaning"].into(), "`erases`")?;
    let moved = u128::from(flash_programs["cleaning"]);
    same("`cleaning.pages_moved`", *pages_moved, moved, "`flash_programs`")?;
    let erased = sum(erases.values());
    match pages_of_a_block(simulation) {
        Some(pages) => {
            let fewest = share(for_host, erased * pages);
            let said = simulation.equivalent_throughput;
            close("`equivalent_throughput`", said, fewest, "`flash_programs` and `erases`")?;
            let superseded = share(moved, u128::from(*count) * pages).map(|moved| 1.0 - moved);
            close("`cleaning.efficiency`", *efficiency, superseded, "what cleaning moved")
        }
        None => {
            let there = |what: &str, there: bool, of: u128| {
                holds(there == (of > 0), || format!("{what} is there where blocks were erased"))
            };
            there("`equivalent_throughput`", simulation.equivalent_throughput.is_some(), erased)?;
            there("`cleaning.efficiency`", efficiency.is_some(), u128::from(*count))
        }
    }
}

/// The pages of a block that hold data, as the victims of cleaning are counted by them.
fn pages_of_a_block(simulation: &Simulation<Findings>) -> Option<u128> {
    let cleaning = simulation.observations.observed.cleaning.as_ref()?;
    let pages = cleaning.victims_by_valid_pages.len().checked_sub(1)?;
    u128::try_from(pages).ok().filter(|pages| *pages > 0)
}

/// That counts are those of `names`.
fn named(what: &str, counts: &BTreeMap<String, u64>, names: &[&str]) -> Checked {
    let all = counts.len() == names.len() && names.iter().all(|name| counts.contains_key(*name));
    holds(all, || format!("`{what}` has a number each for {}, and no other", names.join(", ")))
}
