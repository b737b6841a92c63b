//! Formats simulations as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use flashscope_block::Nanos;
use flashscope_document::{
    Cleaning, Correction, EnergyStatistics, HandleStatistics, LatencyNs, Simulation,
    SimulationSpeed, SimulationWarmUp, ZoneStatistics,
};
use flashscope_stats::Estimate;
use flashscope_workload::state::Fill;

use crate::conclusions::conclusions;
use crate::count::grouped;
use crate::table::{Align, Table};

/// Formats a simulation as text.
pub fn simulation<O>(simulation: &Simulation<O>) -> String {
    let mut out = String::new();
    head(&mut out, simulation);
    warm_up(&mut out, simulation);
    out += &conclusions(&simulation.conclusions);
    line!(out);
    flash(&mut out, simulation);
    placement(&mut out, simulation);
    zones(&mut out, simulation);
    correction(&mut out, simulation);
    energy(&mut out, simulation);
    line!(out);
    latencies(&mut out, simulation);
    tenants(&mut out, simulation);
    out
}

fn head<O>(out: &mut String, simulation: &Simulation<O>) {
    let Simulation { drive, .. } = simulation;
    let model = drive.model.as_deref().map(|model| format!("{model}; ")).unwrap_or_default();
    line!(out, "{}: {model}capacity {}", drive.name, drive.capacity);
    let depth = simulation.queue_depth;
    let in_flight = if depth == 1 { "1 IO".into() } else { format!("{depth} IOs") };
    let how = match simulation.open_loop {
        _ if !simulation.tenants.is_empty() => {
            let count = simulation.tenants.len();
            format!("tenants, each with a namespace and a submission queue: {count}")
        }
        true => format!("open loop, up to {in_flight} in flight; latency counts from the due time"),
        false => format!("closed loop, {in_flight} of each stream in flight"),
    };
    line!(out, "{}, seed {}: {how}", simulation.workload, simulation.seed);
}

/// The minimum number of erases for extrapolating the write amplification to more writes.
const MIN_ERASES: u64 = 30;

fn warm_up<O>(out: &mut String, simulation: &Simulation<O>) {
    let fill = match simulation.fill {
        Fill::None => "not filled",
        Fill::Sequential => "filled in order",
        Fill::Random => "filled at random",
        Fill::Steady => "filled to the steady state",
    };
    let SimulationWarmUp { ios, bytes, steady, criterion, window_write_amplification } =
        &simulation.warm_up;
    if *ios == 0 {
        line!(out, "{fill}, not warmed up");
        return;
    }
    line!(out, "{fill}, warmed up by {} IOs of {bytes} in all", grouped(*ios));
    let criterion = criterion.as_deref().unwrap_or_default();
    let windows = window_write_amplification.len();
    match steady {
        Some(_) if windows == 0 => line!(out, "the warm-up wrote nothing: no write amplification"),
        Some(true) => {
            line!(out, "write amplification was steady at the end of the warm-up: {criterion}");
        }
        Some(false) => line!(
            out,
            "WRITE AMPLIFICATION IS NOT STEADY after {windows} windows of the warm-up; steady \
             means: {criterion}"
        ),
        None => {}
    }
}

fn flash<O>(out: &mut String, simulation: &Simulation<O>) {
    let Simulation { host_pages_read: read, host_pages_written: written, .. } = simulation;
    let trimmed = simulation.host_pages_trimmed;
    line!(
        out,
        "host pages           {} written, {} read, {} trimmed",
        grouped(*written),
        grouped(*read),
        grouped(trimmed)
    );
    line!(out, "flash reads          {}", by_cause(&simulation.flash_reads));
    line!(out, "flash programs       {}", by_cause(&simulation.flash_programs));
    line!(out, "erases               {}", by_cause(&simulation.erases));
    let events = simulation.events.iter().filter(|(_, count)| **count > 0);
    let events: Vec<_> = events.map(|(name, n)| format!("{} {name}", grouped(*n))).collect();
    if !events.is_empty() {
        line!(out, "FTL events           {}", events.join(", "));
    }
    write_amplification(out, simulation);
    if let Some(throughput) = simulation.equivalent_throughput {
        let meaning = "the minimum number of erases for these writes, over the actual number";
        line!(out, "equiv. throughput    {throughput:.4}: {meaning}");
    }
    let Cleaning { count, pages_moved, efficiency } = &simulation.cleaning;
    if let Some(efficiency) = efficiency {
        line!(
            out,
            "cleaning             {} blocks, {} valid pages moved; {:.1} % of their pages were \
             superseded (cleaning efficiency)",
            grouped(*count),
            grouped(*pages_moved),
            100.0 * efficiency
        );
    }
}

fn write_amplification<O>(out: &mut String, simulation: &Simulation<O>) {
    if let Some(amplification) = simulation.write_amplification {
        line!(
            out,
            "write amplification  {amplification:.3}{}",
            parts(amplification, &simulation.flash_programs)
        );
        let meaning = "flash pages programmed per page that the host wrote";
        line!(out, "                     {meaning}");
        if simulation.host_pages_absorbed > 0 {
            let absorbed = grouped(simulation.host_pages_absorbed);
            let meaning = "pages replaced an older copy in the write buffer (absorbed)";
            line!(out, "                     {absorbed} {meaning}");
        }
        let erases: u64 = simulation.erases.values().sum();
        if (1..MIN_ERASES).contains(&erases) {
            let blocks = if erases == 1 { "block" } else { "blocks" };
            line!(
                out,
                "                     from {erases} erased {blocks}: too few to extrapolate to more writes"
            );
        }
    }
    if let (Some(total), Some(moved)) =
        (simulation.total_write_amplification, simulation.host_pages_moved)
    {
        let meaning = "for workload and drive together; pages that the workload moved:";
        line!(out, "                     {total:.3} {meaning} {}", grouped(moved));
    }
}

/// Writes a table of the tenants.
fn tenants<O>(out: &mut String, simulation: &Simulation<O>) {
    if simulation.tenants.is_empty() {
        return;
    }
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right]);
    let measured = ["IOs", "IOs/s", "mean latency", "p99", "mean alone", "slowdown"];
    table.row(["tenant", "class"].into_iter().chain(measured));
    for tenant in &simulation.tenants {
        let alone = tenant.alone.as_ref().map(|alone| &alone.latency_ns);
        let rate = tenant.ios_per_second.map(|rate| format!("{rate:.1}"));
        let p99 = tenant.latency_ns.as_ref().map(|latency| Nanos(latency.p99).to_string());
        let slowdown = tenant.slowdown.map(|slowdown| format!("{slowdown:.3}"));
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        table.row([
            tenant.name.clone(),
            tenant.class.to_string(),
            grouped(tenant.ios),
            or_none(rate),
            or_none(tenant.latency_ns.as_ref().map(mean)),
            or_none(p99),
            or_none(alone.map(mean)),
            or_none(slowdown),
        ]);
    }
    let _ = write!(out, "\n{table}");
    if let Some(fairness) = simulation.fairness {
        line!(out, "fairness {fairness:.3}: the smallest slowdown over the largest");
    }
}

fn mean(latency: &LatencyNs) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown rounded")]
    Nanos(latency.mean.value.round() as u64).to_string()
}

/// Writes the energy that the drive consumed.
fn energy<O>(out: &mut String, simulation: &Simulation<O>) {
    let Some(EnergyStatistics { joules, joules_per_io, mean_watts, parts }) = &simulation.energy
    else {
        return;
    };
    let each =
        joules_per_io.map(|each| format!(", {:.1} µJ an IO", 1e6 * each)).unwrap_or_default();
    let mean = mean_watts.map(|mean| format!(", {mean:.3} W on average")).unwrap_or_default();
    line!(out, "energy               {joules:.3} J{each}{mean}");
    let share = |(name, part): (&String, &f64)| format!("{:.1} % {name}", 100.0 * part / joules);
    let shares: Vec<_> = parts.iter().filter(|(_, part)| **part > 0.0).map(share).collect();
    if *joules > 0.0 {
        line!(out, "                     {}", shares.join(", "));
    }
}

/// Writes the correction of bit errors.
fn correction<O>(out: &mut String, simulation: &Simulation<O>) {
    let Some(Correction { retries, uncorrectable_reads, pages_refreshed }) = simulation.correction
    else {
        return;
    };
    let reads: u64 = simulation.flash_reads.values().sum();
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 reads
    let each = retries as f64 / reads.max(1) as f64;
    line!(
        out,
        "read retries         {} ({each:.4} a page read), {} reads uncorrectable, {} pages refreshed",
        grouped(retries),
        grouped(uncorrectable_reads),
        grouped(pages_refreshed)
    );
}

/// Writes the zones that the drive has lost, if any.
fn zones<O>(out: &mut String, simulation: &Simulation<O>) {
    let Some(ZoneStatistics { zones, read_only, offline }) = simulation.zones else { return };
    if read_only + offline > 0 {
        line!(out, "lost zones           {read_only} read-only, {offline} offline, of {zones}");
    }
}

/// Writes the statistics of data placement.
fn placement<O>(out: &mut String, simulation: &Simulation<O>) {
    let Some(placed) = &simulation.placement else { return };
    line!(
        out,
        "placement            {} from the host, {} to the flash, {} erased",
        placed.host_bytes_written,
        placed.media_bytes_written,
        placed.media_bytes_erased
    );
    let mut row = |name: &str, counts: &HandleStatistics| {
        let HandleStatistics { pages_written, units_opened, units_reclaimed, pages_moved } =
            *counts;
        if units_opened > 0 || units_reclaimed > 0 {
            line!(
                out,
                "                     {name}: {} pages written, {} reclaim units opened, {} reclaimed, \
                 {} pages moved out",
                grouped(pages_written),
                grouped(units_opened),
                grouped(units_reclaimed),
                grouped(pages_moved)
            );
        }
    };
    for (nth, counts) in placed.handles.iter().enumerate() {
        row(&format!("handle {nth}"), counts);
    }
    row("moved data", &placed.moved);
    for (count, meaning) in [
        (
            placed.invalid_identifiers,
            "pages with an invalid placement identifier, written to handle 0",
        ),
        (placed.streams_replaced, "streams took the handle of another stream"),
        (
            placed.groups_overflowed,
            "pages written to another reclaim group, because their own was full",
        ),
    ] {
        if count > 0 {
            line!(out, "                     {} {meaning}", grouped(count));
        }
    }
}

/// Returns the contribution of each cause to the write amplification as a sum, if there is a cause
/// besides the host. The host contributes 1, unless a buffer absorbs pages or pages are written in
/// parts.
fn parts(amplification: f64, programs: &BTreeMap<String, u64>) -> String {
    let total: u64 = programs.values().sum();
    #[allow(clippy::cast_precision_loss)] // exact up to 2^53 pages
    let part = |count: u64| amplification * count as f64 / total as f64;
    let others = programs.iter().filter(|(cause, count)| *cause != "host" && **count > 0);
    let parts: Vec<_> = others.map(|(cause, n)| format!("{:.3} for {cause}", part(*n))).collect();
    let host = format!("{:.3}", part(programs.get("host").copied().unwrap_or_default()));
    let host = if host == "1.000" { "1" } else { &host };
    if parts.is_empty() { String::new() } else { format!(" = {host} + {}", parts.join(" + ")) }
}

fn by_cause(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter().filter(|(_, count)| **count > 0);
    let parts: Vec<_> = counts.map(|(cause, n)| format!("{} for {cause}", grouped(*n))).collect();
    if parts.is_empty() { "none".into() } else { parts.join(", ") }
}

fn latencies<O>(out: &mut String, simulation: &Simulation<O>) {
    let single = |latency: &Option<LatencyNs>| {
        latency.as_ref().is_some_and(|latency| latency.count == simulation.ios)
    };
    let rows = [
        ("all", &simulation.latency_ns),
        ("reads", &simulation.read_latency_ns),
        ("writes", &simulation.write_latency_ns),
        ("trims", &simulation.trim_latency_ns),
    ];
    let mut table = latency_table();
    let one_kind = rows[1..].iter().any(|(_, latency)| single(latency));
    for (name, latency) in rows.into_iter().skip(usize::from(one_kind)) {
        if let Some(LatencyNs { count, mean, min, p50, p99, p999, max }) = *latency {
            latency_row(&mut table, (name, count), mean, [min, p50, p99, p999, max]);
        }
    }
    let _ = write!(out, "{table}");
    let rate = simulation.ios_per_second.unwrap_or(0.0);
    line!(
        out,
        "{} IOs in {} of simulated time, {rate:.0} a second; computed in {}{}",
        grouped(simulation.ios),
        simulation.simulated_ns,
        simulation.wall_ns,
        simulation.speed.as_ref().map(computed).unwrap_or_default()
    );
}

/// Describes the processor time of each phase, and the rate of the measurement.
fn computed(speed: &SimulationSpeed) -> String {
    let SimulationSpeed { fill, warm_up, measurement } = speed;
    let times = [("fill", fill), ("warm-up", warm_up), ("measurement", measurement)];
    let times = times.map(|(name, phase)| format!("{name} {}", phase.cpu_ns)).join(", ");
    let rate = measurement.ios_per_cpu_second.map_or_else(String::new, |rate| {
        format!(", {:.2} million IOs a second of measurement", rate / 1e6)
    });
    format!(" (processor time: {times}{rate})")
}

/// Creates a table of latencies with a header.
pub(crate) fn latency_table() -> Table {
    let mut table = Table::of_numbers();
    table.row(["latency", "IOs", "mean (95 % interval)", "min", "p50", "p99", "p99.9", "max"]);
    table
}

/// Adds the latency of IOs of a kind, in ns, to a table of latencies. The header lists
/// the percentiles, from the minimum to the maximum.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
pub(crate) fn latency_row(
    table: &mut Table,
    (name, ios): (&str, u64),
    mean: Estimate,
    percentiles: [u64; 5],
) {
    let time = |ns: f64| Nanos(ns.round() as u64);
    let mean = match mean.high {
        Some(high) => format!("{} ± {}", time(mean.value), time(high - mean.value)),
        None => time(mean.value).to_string(),
    };
    let times = percentiles.map(|ns| Nanos(ns).to_string());
    table.row([format!("  {name}"), grouped(ios), mean].into_iter().chain(times));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_write_amplification_add_up_to_it() {
        let programs = |host, cleaning| {
            BTreeMap::from([("host".to_string(), host), ("cleaning".to_string(), cleaning)])
        };
        assert_eq!(parts(2.0, &programs(5, 5)), " = 1 + 1.000 for cleaning");
        // A buffer absorbed three of four pages.
        assert_eq!(parts(0.4, &programs(25, 15)), " = 0.250 + 0.150 for cleaning");
        assert_eq!(parts(1.0, &programs(5, 0)), "");
    }
}
