use flashscope_document::{LatencyHeatMap, LatencyNs, Simulation};
use flashscope_sim::observe::Findings;

use super::{CheckResult, check_ascending, check_equal, ensure, sum};
use crate::limits;

/// Checks the latencies of a simulation: each distribution by itself, and the distributions of
/// reads, writes and trims against the distribution of all IOs.
pub(super) fn check_latencies(simulation: &Simulation<Findings>) -> CheckResult {
    let kinds = [
        ("read", &simulation.read_latency_ns, simulation.bytes_read),
        ("write", &simulation.write_latency_ns, simulation.bytes_written),
        ("trim", &simulation.trim_latency_ns, simulation.bytes_trimmed),
    ];
    let all = simulation.latency_ns.as_ref();
    check_equal("`latency_ns.count`", count_of(all), simulation.ios.into(), "`ios`")?;
    if let Some(all) = all {
        check_distribution("latency_ns", all)?;
    }
    let (mut of_kinds, mut mean) = (0, 0.0);
    for (kind, latency, bytes) in kinds {
        let count = count_of(latency.as_ref());
        // A read, write or trim covers at least one byte.
        ensure((count > 0) == (bytes.0 > 0) && count <= bytes.0, || {
            format!("{count} IOs of the kind `{kind}` cannot transfer {} bytes", bytes.0)
        })?;
        if let (Some(latency), Some(all)) = (latency, all) {
            let name = format!("{kind}_latency_ns");
            check_distribution(&name, latency)?;
            ensure(all.min <= latency.min && latency.max <= all.max, || {
                format!("the range of `{name}` exceeds that of `latency_ns`")
            })?;
            mean += latency.mean.value * share_of(latency, all);
        }
        of_kinds += u128::from(count);
    }
    let ios = u128::from(simulation.ios);
    ensure(of_kinds <= ios, || {
        format!("the kinds of IO add up to {of_kinds} IOs, but `ios` is {ios}")
    })?;
    match all {
        // If reads, writes and trims are fewer than `ios`, the other IOs are flushes, whose
        // latencies are unknown.
        Some(all) if of_kinds == ios => {
            check_total(&kinds.map(|(_, latency, _)| latency), all, mean)
        }
        _ => Ok(()),
    }
}

/// Checks that mean, minimum and maximum of all IOs agree with those of reads, writes and trims.
fn check_total(kinds: &[&Option<LatencyNs>], all: &LatencyNs, mean: f64) -> CheckResult {
    let each = || kinds.iter().filter_map(|latency| latency.as_ref());
    super::check_close("`latency_ns.mean`", Some(all.mean.value), Some(mean), "the kinds of IO")?;
    let least = each().map(|latency| latency.min).min().unwrap_or_default();
    check_equal("`latency_ns.min`", all.min, least.into(), "the kinds of IO")?;
    let most = each().map(|latency| latency.max).max().unwrap_or_default();
    check_equal("`latency_ns.max`", all.max, most.into(), "the kinds of IO")
}

fn count_of(latency: Option<&LatencyNs>) -> u64 {
    latency.map_or(0, |latency| latency.count)
}

#[allow(clippy::cast_precision_loss, reason = "the comparison allows for rounding")]
fn share_of(part: &LatencyNs, all: &LatencyNs) -> f64 {
    part.count as f64 / all.count.max(1) as f64
}

fn check_distribution(name: &str, latency: &LatencyNs) -> CheckResult {
    let LatencyNs { count, mean, min, max, p50, p99, p999 } = latency;
    ensure(*count > 0, || format!("`{name}` counts no IO: leave it out"))?;
    check_ascending(&format!("the quantiles of `{name}`"), [min, p50, p99, p999, max])?;
    let interval = [mean.low, Some(mean.value), mean.high].into_iter().flatten();
    check_ascending(&format!("the value and the interval of `{name}`"), interval)?;
    #[allow(clippy::cast_precision_loss, reason = "the comparison allows for rounding")]
    let (least, most) = (*min as f64, *max as f64);
    let near = least * (1.0 - limits::ROUNDING)..=most * (1.0 + limits::ROUNDING);
    ensure(near.contains(&mean.value), || {
        format!("the mean of `{name}` is outside its minimum and maximum")
    })
}

/// Checks that the heat map counts every IO once, within the measured time, and that its bins agree
/// with the quantiles.
pub(super) fn check_heat_map(
    simulation: &Simulation<Findings>,
    map: &LatencyHeatMap,
) -> CheckResult {
    let LatencyHeatMap { bucket_ns, limits_ns, reads, writes, others } = map;
    let strictly = limits_ns.windows(2).all(|two| two[0] < two[1]);
    ensure(strictly, || "`latency_heat_map.limits_ns` must rise strictly".into())?;
    let bins = limits_ns.len().saturating_sub(1);
    let (of_reads, of_writes) = (&simulation.read_latency_ns, &simulation.write_latency_ns);
    let (all, read, written) =
        (simulation.ios, count_of(of_reads.as_ref()), count_of(of_writes.as_ref()));
    let left = all.saturating_sub(read).saturating_sub(written);
    for (name, rows, count) in
        [("reads", reads, read), ("writes", writes, written), ("others", others, left)]
    {
        let name = format!("`latency_heat_map.{name}`");
        ensure(rows.iter().all(|row| row.len() == bins), || {
            format!("each row of {name} must have {bins} bins")
        })?;
        let stretches = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        let begun = stretches.saturating_sub(1).saturating_mul(bucket_ns.0);
        ensure(stretches == 0 || bucket_ns.0 > 0 && begun <= simulation.simulated_ns.0, || {
            format!("{name} extends past the end of the measurement")
        })?;
        check_equal(
            &format!("the number of IOs of {name}"),
            count,
            sum(rows.iter().flatten()),
            "its bins",
        )?;
    }
    let counts: Vec<u128> = (0..bins)
        .map(|bin| sum([reads, writes, others].into_iter().flatten().map(|row| &row[bin])))
        .collect();
    simulation
        .latency_ns
        .as_ref()
        .map_or(Ok(()), |latency| check_quantiles(latency, limits_ns, &counts))
}

/// Checks that each quantile lies in the bin of the heat map that contains its rank.
fn check_quantiles(latency: &LatencyNs, limits_ns: &[u64], counts: &[u128]) -> CheckResult {
    let LatencyNs { count, min, max, p50, p99, p999, .. } = latency;
    let inside = |value: u64, bin: usize, grace: f64| {
        #[allow(
            clippy::cast_precision_loss,
            reason = "the comparison allows for the width of a bin"
        )]
        let [value, from, to] = [value, limits_ns[bin], limits_ns[bin + 1]].map(|ns| ns as f64);
        // The lowest bin begins at 1, but also counts latencies of 0.
        (value < 1.0 || value >= from * (1.0 - grace)) && value <= to * (1.0 + grace)
    };
    let used = |bin: &usize| counts[*bin] > 0;
    let (first, last) = ((0..counts.len()).find(used), (0..counts.len()).rfind(used));
    let (Some(first), Some(last)) = (first, last) else {
        return Err("`latency_heat_map` counts no IO".into());
    };
    let ends = [("min", *min, first), ("max", *max, last)];
    for (name, value, bin) in ends {
        ensure(inside(value, bin, 0.0), || {
            format!("`latency_ns.{name}` is {value}, which contradicts `latency_heat_map`")
        })?;
    }
    for (name, value, permille) in [("p50", *p50, 500), ("p99", *p99, 990), ("p999", *p999, 999)] {
        let rank = (u128::from(*count) * permille).div_ceil(1000).max(1);
        let mut up_to = 0;
        let bin = counts.iter().position(|count| {
            up_to += count;
            up_to >= rank
        });
        // If the rank is the last one in its bin, rounding may have moved the quantile to the first
        // value of the next occupied bin.
        let next = bin.filter(|_| up_to == rank).and_then(|bin| (bin + 1..counts.len()).find(used));
        let fits = bin.into_iter().chain(next).any(|bin| inside(value, bin, limits::QUANTILE));
        ensure(fits, || {
            format!("`latency_ns.{name}` is {value}, which contradicts `latency_heat_map`")
        })?;
    }
    Ok(())
}
