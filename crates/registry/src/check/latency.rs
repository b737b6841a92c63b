use flashscope_document::{LatencyHeatMap, LatencyNs, Simulation};
use flashscope_sim::observe::Findings;

use super::{Checked, ascending, holds, same, sum};
use crate::limits;

/// The latencies of a simulation: each distribution by itself, and those of each kind of IO beside that of
/// all.
pub(super) fn latencies(simulation: &Simulation<Findings>) -> Checked {
    let kinds = [
        ("read", &simulation.read_latency_ns, simulation.bytes_read),
        ("write", &simulation.write_latency_ns, simulation.bytes_written),
        ("trim", &simulation.trim_latency_ns, simulation.bytes_trimmed),
    ];
    let all = simulation.latency_ns.as_ref();
    same("`latency_ns.count`", counted(all), simulation.ios.into(), "`ios`")?;
    if let Some(all) = all {
        distribution("latency_ns", all)?;
    }
    let (mut of_kinds, mut mean) = (0, 0.0);
    for (kind, latency, bytes) in kinds {
        let count = counted(latency.as_ref());
        // An IO of a kind has a byte at least.
        holds((count > 0) == (bytes.0 > 0) && count <= bytes.0, || {
            format!("{count} IOs of the kind `{kind}` are of {} bytes", bytes.0)
        })?;
        if let (Some(latency), Some(all)) = (latency, all) {
            let name = format!("{kind}_latency_ns");
            distribution(&name, latency)?;
            holds(all.min <= latency.min && latency.max <= all.max, || {
                format!("`{name}` reaches beyond `latency_ns`")
            })?;
            mean += latency.mean.value * share_of(latency, all);
        }
        of_kinds += u128::from(count);
    }
    let ios = u128::from(simulation.ios);
    holds(of_kinds <= ios, || {
        format!("there are {of_kinds} IOs by their kinds, and {ios} in all")
    })?;
    match all {
        // What is left are flushes.
        Some(all) if of_kinds == ios => of_all(&kinds.map(|(_, latency, _)| latency), all, mean),
        _ => Ok(()),
    }
}

/// That the latencies of all are those of the kinds together.
fn of_all(kinds: &[&Option<LatencyNs>], all: &LatencyNs, mean: f64) -> Checked {
    let each = || kinds.iter().filter_map(|latency| latency.as_ref());
    super::close("`latency_ns.mean`", Some(all.mean.value), Some(mean), "that of each kind")?;
    let least = each().map(|latency| latency.min).min().unwrap_or_default();
    same("`latency_ns.min`", all.min, least.into(), "that of each kind")?;
    let most = each().map(|latency| latency.max).max().unwrap_or_default();
    same("`latency_ns.max`", all.max, most.into(), "that of each kind")
}

fn counted(latency: Option<&LatencyNs>) -> u64 {
    latency.map_or(0, |latency| latency.count)
}

#[allow(clippy::cast_precision_loss, reason = "it is compared up to rounding")]
fn share_of(part: &LatencyNs, all: &LatencyNs) -> f64 {
    part.count as f64 / all.count.max(1) as f64
}

fn distribution(name: &str, latency: &LatencyNs) -> Checked {
    let LatencyNs { count, mean, min, max, p50, p99, p999 } = latency;
    holds(*count > 0, || format!("`{name}` is of no IO: leave it out"))?;
    ascending(&format!("the quantiles of `{name}`"), [min, p50, p99, p999, max])?;
    let interval = [mean.low, Some(mean.value), mean.high].into_iter().flatten();
    ascending(&format!("the ends of the interval of `{name}`"), interval)?;
    #[allow(clippy::cast_precision_loss, reason = "it is compared up to rounding")]
    let (least, most) = (*min as f64, *max as f64);
    let near = least * (1.0 - limits::ROUNDING)..=most * (1.0 + limits::ROUNDING);
    holds(near.contains(&mean.value), || format!("the mean of `{name}` is beyond its ends"))
}

/// The heat map counts every IO once, within the time of the measurement, and its columns are those of which
/// the quantiles are.
pub(super) fn heat_map(simulation: &Simulation<Findings>, map: &LatencyHeatMap) -> Checked {
    let LatencyHeatMap { bucket_ns, limits_ns, reads, writes, others } = map;
    let strictly = limits_ns.windows(2).all(|two| two[0] < two[1]);
    holds(strictly, || "`latency_heat_map.limits_ns` do not rise".into())?;
    let bins = limits_ns.len().saturating_sub(1);
    let (of_reads, of_writes) = (&simulation.read_latency_ns, &simulation.write_latency_ns);
    let (all, read, written) =
        (simulation.ios, counted(of_reads.as_ref()), counted(of_writes.as_ref()));
    let left = all.saturating_sub(read).saturating_sub(written);
    for (name, rows, count) in
        [("reads", reads, read), ("writes", writes, written), ("others", others, left)]
    {
        let name = format!("`latency_heat_map.{name}`");
        holds(rows.iter().all(|row| row.len() == bins), || {
            format!("{name} has not a number for each of the {bins} bins")
        })?;
        let stretches = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let begun = stretches.saturating_sub(1).saturating_mul(bucket_ns.0);
        holds(stretches == 0 || bucket_ns.0 > 0 && begun <= simulation.simulated_ns.0, || {
            format!("{name} goes on after the end of the measurement")
        })?;
        same(
            &format!("the number of IOs of {name}"),
            count,
            sum(rows.iter().flatten()),
            "its bins",
        )?;
    }
    let counts: Vec<u128> = (0..bins)
        .map(|bin| sum([reads, writes, others].into_iter().flatten().map(|row| &row[bin])))
        .collect();
    simulation.latency_ns.as_ref().map_or(Ok(()), |latency| quantiles(latency, limits_ns, &counts))
}

/// That each quantile lies in the bin in which it is by the counts of all bins.
fn quantiles(latency: &LatencyNs, limits_ns: &[u64], counts: &[u128]) -> Checked {
    let LatencyNs { count, min, max, p50, p99, p999, .. } = latency;
    let inside = |value: u64, bin: usize, grace: f64| {
        #[allow(clippy::cast_precision_loss, reason = "it is compared up to the width of a bin")]
        let [value, from, to] = [value, limits_ns[bin], limits_ns[bin + 1]].map(|ns| ns as f64);
        // The values of 0 are with those of 1.
        (value < 1.0 || value >= from * (1.0 - grace)) && value <= to * (1.0 + grace)
    };
    let used = |bin: &usize| counts[*bin] > 0;
    let (first, last) = ((0..counts.len()).find(used), (0..counts.len()).rfind(used));
    let (Some(first), Some(last)) = (first, last) else {
        return Err("`latency_heat_map` counts nothing".into());
    };
    let ends = [("min", *min, first), ("max", *max, last)];
    for (name, value, bin) in ends {
        holds(inside(value, bin, 0.0), || {
            format!("`latency_ns.{name}` is {value}, which is not what `latency_heat_map` counts")
        })?;
    }
    for (name, value, permille) in [("p50", *p50, 500), ("p99", *p99, 990), ("p999", *p999, 999)] {
        let rank = (u128::from(*count) * permille).div_ceil(1000).max(1);
        let mut up_to = 0;
        let bin = counts.iter().position(|count| {
            up_to += count;
            up_to >= rank
        });
        // Where a bin ends with the rank, rounding may take the first value of the next that is used.
        let next = bin.filter(|_| up_to == rank).and_then(|bin| (bin + 1..counts.len()).find(used));
        let fits = bin.into_iter().chain(next).any(|bin| inside(value, bin, limits::QUANTILE));
        holds(fits, || {
            format!("`latency_ns.{name}` is {value}, which is not what `latency_heat_map` counts")
        })?;
    }
    Ok(())
}
