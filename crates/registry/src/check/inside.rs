use std::collections::BTreeMap;

use flashscope_block::Nanos;
use flashscope_document::Simulation;
use flashscope_sim::observe::{
    ActivitiesReport, AmplificationReport, CleaningReport, EraseReport, Findings, FreeBlocksReport,
    Observations, UnitUse, UtilizationReport, WearMapReport,
};

use super::{Checked, ascending, close, holds, same, share, sum};

/// What observers saw: each report by itself, and beside the counters of the drive.
pub(super) fn observations(simulation: &Simulation<Findings>) -> Checked {
    let Findings { erases: wear, observed } = &simulation.observations;
    let Observations {
        utilization: used,
        free_blocks,
        cleaning,
        amplification,
        wear_map,
        activities,
    } = observed;
    if let Some(wear) = wear {
        erases(wear)?;
    }
    if let Some(used) = used {
        utilization(used, simulation.simulated_ns)?;
    }
    if let Some(free) = free_blocks {
        curve(free)?;
    }
    if let Some(cleaning) = cleaning {
        cleanings(cleaning, simulation)?;
    }
    if let Some(amplification) = amplification {
        over_time(amplification, simulation)?;
    }
    if let Some(map) = wear_map {
        worn(map, simulation, wear.as_ref())?;
    }
    activities.as_ref().map_or(Ok(()), pieces)
}

fn erases(wear: &EraseReport) -> Checked {
    let EraseReport { blocks, min, p5, p50, p95, max, mean, histogram, block_lifetime, .. } = wear;
    let name = "`observations.erases`";
    ascending(&format!("the quantiles of {name}"), [min, p5, p50, p95, max])?;
    same(&format!("{name}.blocks"), *blocks, sum(&histogram.counts), "its histogram")?;
    let classes = &wear.remaining_lifetime;
    let classes = [
        classes.below_40_percent,
        classes.below_80_percent,
        classes.below_100_percent,
        classes.at_least_100_percent,
    ];
    same(&format!("{name}.blocks"), *blocks, sum(&classes), "its remaining lifetimes")?;
    let bins = histogram.counts.len() as u128;
    let end = u128::from(histogram.from) + bins * u128::from(histogram.width);
    let within = histogram.from == *min && u128::from(*max) < end;
    holds(within, || format!("the histogram of {name} is not from its least to its most"))?;
    let (least, most) = (f64::from(*min), f64::from(*max));
    holds((least..=most).contains(mean), || format!("the mean of {name} is beyond its ends"))?;
    let left = f64::from(*block_lifetime) - mean;
    let said = Some(wear.mean_remaining_lifetime);
    close(&format!("{name}.mean_remaining_lifetime"), said, Some(left), "the mean of its erases")
}

fn utilization(used: &UtilizationReport, simulated: Nanos) -> Checked {
    let UtilizationReport { from_ns, until_ns, units, buses, bucket_ns } = used;
    let name = "`observations.utilization`";
    ascending(&format!("the ends of {name}"), [from_ns, until_ns])?;
    let length = Nanos(until_ns.0 - from_ns.0);
    // Requests that were in flight before are looked at as well.
    holds(length >= simulated, || {
        format!("the length of {name} is {length}, and that of the measurement {simulated}")
    })?;
    let share_of = |busy: Nanos| share(busy.0.into(), length.0.into()).or(Some(0.0));
    for UnitUse { busy_ns, busy_share, busy_by_bucket_ns, commands, .. } in units {
        close(
            &format!("a `busy_share` of {name}"),
            Some(*busy_share),
            share_of(*busy_ns),
            "`busy_ns`",
        )?;
        same(
            &format!("a `busy_ns` of {name}"),
            busy_ns.0,
            sum(busy_by_bucket_ns),
            "`busy_by_bucket_ns`",
        )?;
        let most = busy_by_bucket_ns.iter().copied().max().unwrap_or_default();
        holds(busy_ns.0 <= length.0 && most <= bucket_ns.0, || {
            format!("a unit of {name} is busy for longer than there is time")
        })?;
        for command in commands {
            let said = Some(command.busy_share);
            close(
                &format!("a `busy_share` of {name}"),
                said,
                share_of(command.busy_ns),
                "`busy_ns`",
            )?;
        }
    }
    for bus in buses {
        let said = Some(bus.busy_share);
        close(&format!("a `busy_share` of {name}"), said, share_of(bus.busy_ns), "`busy_ns`")?;
    }
    Ok(())
}

fn curve(free: &FreeBlocksReport) -> Checked {
    let name = "`observations.free_blocks`";
    let buckets = &free.curve.buckets;
    holds(buckets.iter().all(|bucket| bucket.min <= bucket.max), || {
        format!("the least of a stretch of {name} is above its most")
    })?;
    let least = buckets.iter().map(|bucket| bucket.min).min().unwrap_or_default();
    same(&format!("{name}.min"), free.min, least.into(), "its curve")?;
    let lanes: u128 = free.lane_min.iter().map(|lane| u128::from(*lane)).sum();
    holds(lanes <= u128::from(free.min), || format!("{name} has fewer blocks than its lanes"))
}

fn cleanings(cleaning: &CleaningReport, simulation: &Simulation<Findings>) -> Checked {
    let CleaningReport { count, pages_moved, efficiency, victims_by_valid_pages, .. } = cleaning;
    let name = "`observations.cleaning`";
    same(&format!("{name}.count"), *count, simulation.cleaning.count.into(), "`cleaning`")?;
    let moved = simulation.cleaning.pages_moved;
    same(&format!("{name}.pages_moved"), *pages_moved, moved.into(), "`cleaning`")?;
    close(
        &format!("{name}.efficiency"),
        *efficiency,
        simulation.cleaning.efficiency,
        "`cleaning`",
    )?;
    let victims = sum(victims_by_valid_pages);
    let valid =
        (0u128..).zip(victims_by_valid_pages).map(|(pages, n)| pages * u128::from(*n)).sum();
    let mean = share(valid, victims);
    close(&format!("{name}.mean_valid_pages"), cleaning.mean_valid_pages, mean, "its victims")?;
    holds(victims <= u128::from(*count), || format!("{name} has more victims than it cleaned"))?;
    let Some(time) = &cleaning.time_per_block_ns else { return Ok(()) };
    #[allow(clippy::cast_precision_loss, reason = "it is compared up to rounding")]
    let times = [time.min.0 as f64 * (1.0 - 1e-9), time.mean, time.max.0 as f64 * (1.0 + 1e-9)];
    ascending(&format!("the times of {name}"), times)
}

/// What the flash did in each stretch of time adds up to what it did.
fn over_time(report: &AmplificationReport, simulation: &Simulation<Findings>) -> Checked {
    let Simulation { flash_programs, flash_reads, erases, .. } = simulation;
    for (name, lists, counters) in [
        ("programs", &report.programs, flash_programs),
        ("reads", &report.reads, flash_reads),
        ("erases", &report.erases, erases),
    ] {
        adds_up(name, lists, counters)?;
    }
    Ok(())
}

fn adds_up(
    name: &str,
    lists: &BTreeMap<String, Vec<u64>>,
    counters: &BTreeMap<String, u64>,
) -> Checked {
    if let Some(cause) = lists.keys().find(|cause| !counters.contains_key(*cause)) {
        return Err(format!("`observations.amplification.{name}` knows no cause `{cause}`"));
    }
    for (cause, count) in counters {
        let counted = lists.get(cause).map_or(0, sum);
        let what = format!("what the flash did for `{cause}`");
        same(&what, *count, counted, &format!("`observations.amplification.{name}`"))?;
    }
    Ok(())
}

fn worn(
    map: &WearMapReport,
    simulation: &Simulation<Findings>,
    wear: Option<&EraseReport>,
) -> Checked {
    let name = "`observations.wear_map`";
    let per_cell = map.blocks_per_cell;
    holds(per_cell > 0, || format!("{name}.blocks_per_cell is at least 1"))?;
    let mut next = 0_u32;
    for unit in &map.units {
        let cells = usize::try_from(unit.blocks.div_ceil(per_cell)).unwrap_or(usize::MAX);
        let lists =
            [Some(&unit.erases), Some(&unit.erases_since_new), unit.most_since_new.as_ref()];
        holds(lists.into_iter().flatten().all(|list| list.len() == cells), || {
            format!("unit {} of {name} has not a number for each of its {cells} cells", unit.unit)
        })?;
        let later = unit.erases.iter().zip(&unit.erases_since_new).all(|(now, all)| now <= all);
        holds(later && unit.first_block == next, || {
            format!("unit {} of {name} does not follow from what was before", unit.unit)
        })?;
        next = next.saturating_add(unit.blocks);
    }
    // Blocks of packages that work in step are erased as one, and count once.
    let erased = sum(map.units.iter().flat_map(|unit| &unit.erases));
    let counted = sum(simulation.erases.values());
    let fits = erased == counted || erased > 0 && counted > erased && counted % erased == 0;
    holds(fits, || format!("{name} has {erased} erases, and `erases` {counted}"))?;
    let most = map
        .units
        .iter()
        .flat_map(|unit| unit.most_since_new.as_ref().unwrap_or(&unit.erases_since_new));
    match (most.max(), wear) {
        (Some(most), Some(wear)) => {
            same("`observations.erases`.max", wear.max.into(), (*most).into(), name)
        }
        _ => Ok(()),
    }
}

fn pieces(activities: &ActivitiesReport) -> Checked {
    let ActivitiesReport { total, left_out, count_by_bucket, longest, .. } = activities;
    let name = "`observations.activities`";
    let kept = longest.len() as u128 + u128::from(*left_out);
    same(&format!("{name}.total"), *total, kept, "those that are kept or left out")?;
    // What is not done yet is counted, but not yet for the stretch in which it began.
    let done = sum(count_by_bucket.values().flatten());
    holds(done <= u128::from(*total), || {
        format!("{name}.total is {total}, and `count_by_bucket` counts {done}")
    })?;
    ascending(&format!("the begins of {name}"), longest.iter().map(|piece| piece.start_ns))?;
    let ended = longest.iter().all(|piece| piece.start_ns <= piece.end_ns);
    holds(ended, || format!("a piece of {name} ends before it begins"))
}
