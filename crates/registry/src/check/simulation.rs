use std::collections::BTreeMap;

use flashscope_block::{Bytes, DeviceKind};
use flashscope_document::{Cleaning, Simulation, SimulationStatus};
use flashscope_sim::nand::{ByCause, Events};
use flashscope_sim::observe::Findings;

use super::latency::{check_heat_map, check_latencies};
use super::{CheckResult, check_close, check_equal, ensure, share, sum};

/// Checks that a simulation is consistent with itself.
pub(crate) fn check_simulation(simulation: &Simulation<Findings>) -> CheckResult {
    check_head(simulation)?;
    check_flash(simulation)?;
    let seconds = simulation.simulated_ns.as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "the comparison allows for rounding")]
    let rate = Some(simulation.ios as f64 / seconds).filter(|rate| rate.is_finite());
    check_close("`ios_per_second`", simulation.ios_per_second, rate, "`ios` and `simulated_ns`")?;
    check_latencies(simulation)?;
    if let Some(map) = &simulation.latency_heat_map {
        check_heat_map(simulation, map)?;
    }
    super::observations::check_observations(simulation)
}

fn check_head(simulation: &Simulation<Findings>) -> CheckResult {
    let Simulation { drive, status, error, queue_depth, warm_up, .. } = simulation;
    ensure(drive.kind == DeviceKind::Sim, || "`drive` must be a simulated drive".into())?;
    let most = drive.queue_depth;
    ensure((1..=most).contains(queue_depth), || {
        format!("`queue_depth` is {queue_depth}; the drive takes 1 to {most} IOs at once")
    })?;
    ensure((*status == SimulationStatus::Failed) == error.is_some(), || {
        "`error` must be present if `status` is `failed`, and absent otherwise".into()
    })?;
    ensure(warm_up.steady.is_some() == warm_up.criterion.is_some(), || {
        "`warm_up` must have both `steady` and `criterion`, or neither".into()
    })?;
    ensure(warm_up.ios > 0 || warm_up.bytes == Bytes(0), || {
        "`warm_up` has bytes but no IOs".into()
    })?;
    let least = warm_up.window_write_amplification.iter().copied().fold(f64::INFINITY, f64::min);
    ensure(least >= 1.0, || "`warm_up.window_write_amplification` must be at least 1".into())
}

/// Checks the flash operations by cause, and the ratios that follow from them.
fn check_flash(simulation: &Simulation<Findings>) -> CheckResult {
    let Simulation { flash_reads, flash_programs, erases, events, .. } = simulation;
    let causes = ByCause::default().entries().map(|(name, _)| name);
    let known = Events::default().entries().map(|(name, _)| name);
    check_names("flash_reads", flash_reads, &causes)?;
    check_names("flash_programs", flash_programs, &causes)?;
    check_names("erases", erases, &causes)?;
    check_names("events", events, &known)?;
    let programs = sum(flash_programs.values());
    let for_host = u128::from(flash_programs["host"]);
    let amplification = share(programs, for_host);
    let stated = simulation.write_amplification;
    check_close("`write_amplification`", stated, amplification, "`flash_programs`")?;
    let Cleaning { count, pages_moved, efficiency } = &simulation.cleaning;
    check_equal("`cleaning.count`", *count, erases["cleaning"].into(), "`erases`")?;
    let moved = u128::from(flash_programs["cleaning"]);
    check_equal("`cleaning.pages_moved`", *pages_moved, moved, "`flash_programs`")?;
    let erased = sum(erases.values());
    match pages_of_a_block(simulation) {
        Some(pages) => {
            let fewest = share(for_host, erased * pages);
            let stated = simulation.equivalent_throughput;
            check_close(
                "`equivalent_throughput`",
                stated,
                fewest,
                "`flash_programs` and `erases`",
            )?;
            let superseded = share(moved, u128::from(*count) * pages).map(|moved| 1.0 - moved);
            check_close(
                "`cleaning.efficiency`",
                *efficiency,
                superseded,
                "the pages that cleaning moved",
            )
        }
        None => {
            let present = |what: &str, present: bool, of: u128| {
                ensure(present == (of > 0), || {
                    format!("{what} must be present if blocks were erased, and absent otherwise")
                })
            };
            present("`equivalent_throughput`", simulation.equivalent_throughput.is_some(), erased)?;
            present("`cleaning.efficiency`", efficiency.is_some(), u128::from(*count))
        }
    }
}

/// Returns the number of data pages in a block, which is the length of the histogram of cleaning
/// victims by valid pages, minus one. Returns `None` without the histogram.
fn pages_of_a_block(simulation: &Simulation<Findings>) -> Option<u128> {
    let cleaning = simulation.observations.observed.cleaning.as_ref()?;
    let pages = cleaning.victims_by_valid_pages.len().checked_sub(1)?;
    u128::try_from(pages).ok().filter(|pages| *pages > 0)
}

/// Checks that `counts` has exactly the keys `names`.
fn check_names(what: &str, counts: &BTreeMap<String, u64>, names: &[&str]) -> CheckResult {
    let all = counts.len() == names.len() && names.iter().all(|name| counts.contains_key(*name));
    ensure(all, || format!("`{what}` must have exactly these fields: {}", names.join(", ")))
}
