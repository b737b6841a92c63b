use std::collections::BTreeMap;

use flashscope_block::Nanos;
use flashscope_document::Simulation;
use flashscope_sim::observe::{
    ActivitiesReport, AmplificationReport, CleaningReport, CommandUse, EraseReport, Findings,
    FreeBlocksReport, Observations, UnitUse, UtilizationReport, WearMapReport,
};

use super::{CheckResult, check_ascending, check_close, check_equal, ensure, share, sum};

/// Checks the reports of the observers: each by itself, and against the drive's counters.
pub(super) fn check_observations(simulation: &Simulation<Findings>) -> CheckResult {
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
        check_erases(wear)?;
    }
    if let Some(used) = used {
        check_utilization(used, simulation.simulated_ns)?;
    }
    if let Some(free) = free_blocks {
        check_free_blocks(free)?;
    }
    if let Some(cleaning) = cleaning {
        check_cleaning(cleaning, simulation)?;
    }
    if let Some(amplification) = amplification {
        check_amplification(amplification, simulation)?;
    }
    if let Some(map) = wear_map {
        check_wear_map(map, simulation, wear.as_ref())?;
    }
    activities.as_ref().map_or(Ok(()), check_activities)
}

fn check_erases(wear: &EraseReport) -> CheckResult {
    let EraseReport { blocks, min, p5, p50, p95, max, mean, histogram, block_lifetime, .. } = wear;
    let name = "`observations.erases`";
    check_ascending(&format!("the quantiles of {name}"), [min, p5, p50, p95, max])?;
    check_equal(&format!("{name}.blocks"), *blocks, sum(&histogram.counts), "its histogram")?;
    let classes = &wear.remaining_lifetime;
    let classes = [
        classes.below_40_percent,
        classes.below_80_percent,
        classes.below_100_percent,
        classes.at_least_100_percent,
    ];
    check_equal(&format!("{name}.blocks"), *blocks, sum(&classes), "its remaining lifetimes")?;
    let bins = histogram.counts.len() as u128;
    let end = u128::from(histogram.from) + bins * u128::from(histogram.width);
    let within = histogram.from == *min && u128::from(*max) < end;
    ensure(within, || format!("the histogram of {name} does not span its minimum to its maximum"))?;
    let (least, most) = (f64::from(*min), f64::from(*max));
    ensure((least..=most).contains(mean), || {
        format!("the mean of {name} is outside its minimum and maximum")
    })?;
    let left = f64::from(*block_lifetime) - mean;
    let stated = Some(wear.mean_remaining_lifetime);
    check_close(
        &format!("{name}.mean_remaining_lifetime"),
        stated,
        Some(left),
        "the mean of its erases",
    )
}

fn check_utilization(used: &UtilizationReport, simulated: Nanos) -> CheckResult {
    let UtilizationReport { from_ns, until_ns, units, classes, buses, bucket_ns } = used;
    let name = "`observations.utilization`";
    check_ascending(&format!("`from_ns` and `until_ns` of {name}"), [from_ns, until_ns])?;
    let length = Nanos(until_ns.0 - from_ns.0);
    // The observed time may exceed the measurement, because observers also see requests that were
    // in flight when the measurement began.
    ensure(length >= simulated, || {
        format!("{name} covers {length}, less than the measurement, which takes {simulated}")
    })?;
    let share_of = |busy: Nanos| share(busy.0.into(), length.0.into()).or(Some(0.0));
    for UnitUse { busy_ns, busy_share, busy_by_bucket_ns, commands, .. } in units {
        check_close(
            &format!("a `busy_share` of {name}"),
            Some(*busy_share),
            share_of(*busy_ns),
            "`busy_ns`",
        )?;
        check_equal(
            &format!("a `busy_ns` of {name}"),
            busy_ns.0,
            sum(busy_by_bucket_ns),
            "`busy_by_bucket_ns`",
        )?;
        let most = busy_by_bucket_ns.iter().copied().max().unwrap_or_default();
        ensure(busy_ns.0 <= length.0 && most <= bucket_ns.0, || {
            format!("a unit of {name} is busy for longer than the observed time")
        })?;
        for command in commands {
            let stated = Some(command.busy_share);
            check_close(
                &format!("a `busy_share` of {name}"),
                stated,
                share_of(command.busy_ns),
                "`busy_ns`",
            )?;
        }
    }
    // Documents of earlier versions have no classes.
    let busy =
        |used: &[CommandUse]| used.iter().map(|used| u128::from(used.busy_ns.0)).sum::<u128>();
    let of_units: u128 = units.iter().map(|unit| busy(&unit.commands)).sum();
    let of_classes: u128 = classes.iter().map(|used| u128::from(used.busy_ns.0)).sum();
    ensure(classes.is_empty() || of_classes == of_units, || {
        format!("the busy times of the classes of {name} do not add up to those of its units")
    })?;
    for bus in buses {
        let stated = Some(bus.busy_share);
        check_close(
            &format!("a `busy_share` of {name}"),
            stated,
            share_of(bus.busy_ns),
            "`busy_ns`",
        )?;
    }
    Ok(())
}

fn check_free_blocks(free: &FreeBlocksReport) -> CheckResult {
    let name = "`observations.free_blocks`";
    let buckets = &free.curve.buckets;
    ensure(buckets.iter().all(|bucket| bucket.min <= bucket.max), || {
        format!("in a bucket of {name}, the minimum is above the maximum")
    })?;
    let least = buckets.iter().map(|bucket| bucket.min).min().unwrap_or_default();
    check_equal(&format!("{name}.min"), free.min, least.into(), "its curve")?;
    let lanes: u128 = free.lane_min.iter().map(|lane| u128::from(*lane)).sum();
    ensure(lanes <= u128::from(free.min), || {
        format!("the lanes of {name} have more free blocks than the drive")
    })
}

fn check_cleaning(cleaning: &CleaningReport, simulation: &Simulation<Findings>) -> CheckResult {
    let CleaningReport { count, pages_moved, efficiency, victims_by_valid_pages, .. } = cleaning;
    let name = "`observations.cleaning`";
    check_equal(&format!("{name}.count"), *count, simulation.cleaning.count.into(), "`cleaning`")?;
    let moved = simulation.cleaning.pages_moved;
    check_equal(&format!("{name}.pages_moved"), *pages_moved, moved.into(), "`cleaning`")?;
    check_close(
        &format!("{name}.efficiency"),
        *efficiency,
        simulation.cleaning.efficiency,
        "`cleaning`",
    )?;
    let victims = sum(victims_by_valid_pages);
    let valid =
        (0u128..).zip(victims_by_valid_pages).map(|(pages, n)| pages * u128::from(*n)).sum();
    let mean = share(valid, victims);
    check_close(
        &format!("{name}.mean_valid_pages"),
        cleaning.mean_valid_pages,
        mean,
        "its victims",
    )?;
    ensure(victims <= u128::from(*count), || format!("{name} has more victims than cleanings"))?;
    let Some(time) = &cleaning.time_per_block_ns else { return Ok(()) };
    #[allow(clippy::cast_precision_loss, reason = "the comparison allows for rounding")]
    let times = [time.min.0 as f64 * (1.0 - 1e-9), time.mean, time.max.0 as f64 * (1.0 + 1e-9)];
    check_ascending(&format!("the minimum, mean and maximum of {name}.time_per_block_ns"), times)
}

/// Checks that the flash operations of all time buckets add up to the counters of the drive.
fn check_amplification(
    report: &AmplificationReport,
    simulation: &Simulation<Findings>,
) -> CheckResult {
    let Simulation { flash_programs, flash_reads, erases, .. } = simulation;
    for (name, lists, counters) in [
        ("programs", &report.programs, flash_programs),
        ("reads", &report.reads, flash_reads),
        ("erases", &report.erases, erases),
    ] {
        check_sums(name, lists, counters)?;
    }
    Ok(())
}

fn check_sums(
    name: &str,
    lists: &BTreeMap<String, Vec<u64>>,
    counters: &BTreeMap<String, u64>,
) -> CheckResult {
    if let Some(cause) = lists.keys().find(|cause| !counters.contains_key(*cause)) {
        return Err(format!("`observations.amplification.{name}` has an unknown cause `{cause}`"));
    }
    for (cause, count) in counters {
        let counted = lists.get(cause).map_or(0, sum);
        let what = format!("the number of {name} for `{cause}`");
        check_equal(&what, *count, counted, &format!("`observations.amplification.{name}`"))?;
    }
    Ok(())
}

fn check_wear_map(
    map: &WearMapReport,
    simulation: &Simulation<Findings>,
    wear: Option<&EraseReport>,
) -> CheckResult {
    let name = "`observations.wear_map`";
    let per_cell = map.blocks_per_cell;
    ensure(per_cell > 0, || format!("{name}.blocks_per_cell must be at least 1"))?;
    let mut next = 0_u32;
    for unit in &map.units {
        let cells = usize::try_from(unit.blocks.div_ceil(per_cell)).unwrap_or(usize::MAX);
        let lists =
            [Some(&unit.erases), Some(&unit.erases_since_new), unit.most_since_new.as_ref()];
        ensure(lists.into_iter().flatten().all(|list| list.len() == cells), || {
            format!(
                "unit {} of {name} must have one number for each of its {cells} cells",
                unit.unit
            )
        })?;
        let later = unit.erases.iter().zip(&unit.erases_since_new).all(|(now, all)| now <= all);
        ensure(later && unit.first_block == next, || {
            format!("unit {} of {name} contradicts its own totals or the unit before", unit.unit)
        })?;
        next = next.saturating_add(unit.blocks);
    }
    // Packages in lockstep erase their blocks together. The map counts one erase for all of them,
    // but `erases` counts each package. The ratio is then a whole number.
    let erased = sum(map.units.iter().flat_map(|unit| &unit.erases));
    let counted = sum(simulation.erases.values());
    let fits = erased == counted || erased > 0 && counted > erased && counted % erased == 0;
    ensure(fits, || format!("{name} counts {erased} erases, but `erases` counts {counted}"))?;
    let most = map
        .units
        .iter()
        .flat_map(|unit| unit.most_since_new.as_ref().unwrap_or(&unit.erases_since_new));
    match (most.max(), wear) {
        (Some(most), Some(wear)) => {
            check_equal("`observations.erases`.max", wear.max.into(), (*most).into(), name)
        }
        _ => Ok(()),
    }
}

fn check_activities(activities: &ActivitiesReport) -> CheckResult {
    let ActivitiesReport { total, left_out, count_by_bucket, longest, .. } = activities;
    let name = "`observations.activities`";
    let kept = longest.len() as u128 + u128::from(*left_out);
    check_equal(&format!("{name}.total"), *total, kept, "the activities kept or left out")?;
    // `total` includes unfinished activities, but `count_by_bucket` only those that have ended.
    let done = sum(count_by_bucket.values().flatten());
    ensure(done <= u128::from(*total), || {
        format!("{name}.total is {total}, but `count_by_bucket` counts {done}")
    })?;
    check_ascending(&format!("the start times of {name}"), longest.iter().map(|one| one.start_ns))?;
    let ended = longest.iter().all(|one| one.start_ns <= one.end_ns);
    ensure(ended, || format!("an activity in {name} ends before it begins"))
}
