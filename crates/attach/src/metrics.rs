//! The metrics of an attached drive for Prometheus, in the text format of OpenMetrics 1.0.

use std::fmt::Error;

use flashscope_block::{Flash, Nanos, Op};
use hdrhistogram::Histogram;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text as openmetrics};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use crate::health::health;
use crate::statistics::{OpStatistics, Snapshot};

/// The media type of the result of [`text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram buckets of latencies and lateness: 1, 2 and 5 times the powers of
/// ten from 1 µs to 10 s.
const BOUNDS_NS: [u64; 22] = bounds();

const fn bounds() -> [u64; 22] {
    let mut bounds = [0; 22];
    let (mut at, mut decade) = (0, 1_000);
    while at < bounds.len() {
        bounds[at] = [1, 2, 5][at % 3] * decade;
        at += 1;
        if at.is_multiple_of(3) {
            decade *= 10;
        }
    }
    bounds
}

/// Returns all metrics of a drive.
pub fn text(snapshot: Snapshot) -> String {
    let mut registry = Registry::with_prefix("flashscope");
    registry.register_collector(Box::new(Metrics(snapshot)));
    let mut text = String::new();
    openmetrics::encode(&mut text, &registry).expect("writing to a string cannot fail");
    text
}

#[derive(Debug)]
struct Metrics(Snapshot);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let Metrics(snapshot) = self;
        let mut page = Page(&mut encoder);
        page.info(snapshot)?;
        page.requests(snapshot)?;
        page.times(snapshot)?;
        if !snapshot.faults.is_empty() {
            page.faults(&snapshot.faults)?;
        }
        if let Some(flash) = &snapshot.flash {
            page.flash(flash, snapshot)?;
        }
        Ok(())
    }
}

/// A page of metrics to be encoded.
struct Page<'a, 'b>(&'a mut DescriptorEncoder<'b>);

/// A metric's name, without unit and suffix, and its description.
type MetricName<'a> = (&'a str, &'a str);

impl Page<'_, '_> {
    fn counter(
        &mut self,
        (name, help): MetricName,
        unit: Option<&Unit>,
        value: u64,
    ) -> Result<(), Error> {
        let metric = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        ConstCounter::new(value).encode(metric)
    }

    fn gauge(&mut self, (name, help): MetricName, value: f64) -> Result<(), Error> {
        let metric = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(value).encode(metric)
    }

    /// Writes a counter for each operation.
    fn by_op(
        &mut self,
        (name, help): MetricName,
        unit: Option<&Unit>,
        ops: &[OpStatistics],
        of: fn(&OpStatistics) -> u64,
    ) -> Result<(), Error> {
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for op in ops {
            let label = label(op.op);
            ConstCounter::new(of(op)).encode(metric.encode_family(&label)?)?;
        }
        Ok(())
    }

    /// Writes a counter for each rule of a fault plan.
    fn faults(&mut self, faults: &[(String, u64)]) -> Result<(), Error> {
        let (name, help) = ("injected_faults", "Requests affected by an injected fault");
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (rule, affected) in faults {
            let label = [("rule", rule.as_str())];
            ConstCounter::new(*affected).encode(metric.encode_family(&label)?)?;
        }
        Ok(())
    }

    fn info(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let (name, help) = ("drive", "The attached drive");
        let info = &snapshot.info;
        let model = info.model.as_deref().unwrap_or_default();
        let labels = [("name", info.name.as_str()), ("model", model)];
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Info)?;
        metric.encode_info(&labels)
    }

    fn requests(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let ops = &snapshot.ops;
        let requests = ("requests", "Completed requests, including failed ones");
        self.by_op(requests, None, ops, |op| op.requests)?;
        let errors = ("errors", "Failed requests");
        self.by_op(errors, None, ops, |op| op.errors)?;
        let bytes = ("transferred", "Bytes read, written or trimmed by successful requests");
        self.by_op(bytes, Some(&Unit::Bytes), ops, |op| op.bytes)?;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let in_flight = snapshot.in_flight as f64;
        self.gauge(("in_flight", "Requests that wait for a reply"), in_flight)
    }

    fn times(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let latency =
            "Time from the arrival of a request until its reply is due, on the drive's clock";
        let unit = Unit::Seconds;
        let kind = MetricType::Histogram;
        let mut metric = self.0.encode_descriptor("latency", latency, Some(&unit), kind)?;
        for op in &snapshot.ops {
            let (sum, count, classes) = classes(&op.latency_ns);
            let label = label(op.op);
            let mut metric = metric.encode_family(&label)?;
            metric.encode_histogram::<[(&str, &str); 0]>(sum, count, &classes, None)?;
        }
        let lateness = "Delay of replies past their due time, on the clock of the machine";
        let mut metric = self.0.encode_descriptor("lateness", lateness, Some(&unit), kind)?;
        let (sum, count, classes) = classes(&snapshot.lateness_ns);
        metric.encode_histogram::<[(&str, &str); 0]>(sum, count, &classes, None)?;
        let busy = "Time during which requests were in flight, on the clock of the drive";
        let metric = self.0.encode_descriptor("busy", busy, Some(&unit), MetricType::Counter)?;
        ConstCounter::new(snapshot.busy.as_secs_f64()).encode(metric)
    }

    #[allow(clippy::cast_precision_loss, reason = "fewer than 2^53 blocks")]
    fn flash(&mut self, flash: &Flash, snapshot: &Snapshot) -> Result<(), Error> {
        let bytes = Some(&Unit::Bytes);
        let since = "since the drive was created";
        for (name, purpose, value) in [
            ("host_written", "Bytes written by the host", flash.host_written),
            ("flash_programmed", "Bytes programmed for any purpose", flash.programmed),
            ("flash_read", "Bytes read from the flash for any purpose", flash.read),
        ] {
            self.counter((name, &format!("{purpose} {since}")), bytes, value.0)?;
        }
        let erases = ("flash_erases", "Block erases");
        self.counter(erases, None, flash.erasures)?;
        if let Some(amplification) = snapshot.write_amplification() {
            let help = "Bytes programmed per byte written by the host, over the life of the drive";
            self.gauge(("write_amplification", help), amplification)?;
        }
        for (name, help, value) in [
            ("blocks", "Blocks of the flash, including bad ones", flash.blocks()),
            ("free_blocks", "Blocks without data", flash.free_blocks),
            (
                "spare_blocks",
                "Blocks in excess of those that the capacity needs",
                flash.spare_blocks,
            ),
            ("retired_blocks", "Blocks that became bad", flash.retired_blocks),
            ("fewest_block_erases", "Erases of the least erased block", flash.fewest_erases.into()),
            ("most_block_erases", "Erases of the most erased block", flash.most_erases.into()),
            ("rated_block_erases", "Rated erases of a block", flash.rated_erases.into()),
        ] {
            self.gauge((name, help), value as f64)?;
        }
        self.gauge(("mean_block_erases", "Mean erases per block"), flash.mean_erases())?;
        let used = health(snapshot).map_or(0, |health| health.percentage_used);
        let help = "Used fraction of the rated life, at most 2.55";
        self.gauge(("life_used_ratio", help), f64::from(used) / 100.0)
    }
}

fn label(op: Op) -> [(&'static str, String); 1] {
    [("op", op.to_string())]
}

/// Returns the sum of `times` in seconds, the number of times, and the number of times in each
/// bucket with the bucket's upper bound in seconds.
#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn classes(times: &Histogram<u64>) -> (f64, u64, Vec<(f64, u64)>) {
    let mut counts = [0; BOUNDS_NS.len() + 1];
    let mut sum_ns = 0.0;
    for step in times.iter_recorded() {
        let (value, count) = (step.value_iterated_to(), step.count_since_last_iteration());
        let least = times.lowest_equivalent(value);
        counts[BOUNDS_NS.partition_point(|bound| *bound < least)] += count;
        sum_ns += times.median_equivalent(value) as f64 * count as f64;
    }
    let bounds = BOUNDS_NS.iter().map(|bound| Nanos(*bound).as_secs_f64());
    let bounds = bounds.chain([f64::INFINITY]);
    (sum_ns / 1e9, times.len(), bounds.zip(counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::snapshot;

    // The page contains each metric with its type, in the text format of Prometheus.
    #[test]
    fn the_page_contains_every_metric() {
        let text = text(snapshot());
        let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        insta::assert_snapshot!(families.collect::<Vec<_>>().join("\n"), @r"
        flashscope_drive info
        flashscope_requests counter
        flashscope_errors counter
        flashscope_transferred_bytes counter
        flashscope_in_flight gauge
        flashscope_latency_seconds histogram
        flashscope_lateness_seconds histogram
        flashscope_busy_seconds counter
        flashscope_injected_faults counter
        flashscope_host_written_bytes counter
        flashscope_flash_programmed_bytes counter
        flashscope_flash_read_bytes counter
        flashscope_flash_erases counter
        flashscope_write_amplification gauge
        flashscope_blocks gauge
        flashscope_free_blocks gauge
        flashscope_spare_blocks gauge
        flashscope_retired_blocks gauge
        flashscope_fewest_block_erases gauge
        flashscope_most_block_erases gauge
        flashscope_rated_block_erases gauge
        flashscope_mean_block_erases gauge
        flashscope_life_used_ratio gauge
        ");
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
            line.unwrap_or_else(|| panic!("{name} in {text}")).rsplit(' ').next().unwrap()
        };
        assert_eq!(value("flashscope_requests_total{op=\"read\"}"), "3");
        assert_eq!(value("flashscope_errors_total{op=\"read\"}"), "1");
        assert_eq!(value("flashscope_transferred_bytes_total{op=\"write\"}"), "8192");
        assert_eq!(value("flashscope_write_amplification"), "4.0");
        assert_eq!(value("flashscope_life_used_ratio"), "0.4");
        assert_eq!(value("flashscope_busy_seconds_total"), "3661.0");
        assert!(
            text.contains(
                "flashscope_drive_info{name=\"sim:test\",model=\"a \\\"test\\\" drive\"} 1"
            )
        );
        assert!(text.ends_with("# EOF\n"));
    }

    // Times are counted in their cumulative buckets, with their sum.
    #[test]
    fn buckets_are_cumulative() {
        let text = text(snapshot());
        let of_writes = |line: &&str| {
            line.starts_with("flashscope_latency_seconds_bucket{") && line.contains("op=\"write\"")
        };
        let of_writes: Vec<&str> = text.lines().filter(of_writes).collect();
        let count = |le: &str| {
            let le = format!("le=\"{le}\"");
            let line = of_writes.iter().find(|line| line.contains(&le));
            let line = line.unwrap_or_else(|| panic!("{le} in {of_writes:#?}"));
            line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(of_writes.len(), BOUNDS_NS.len() + 1);
        assert_eq!((count("0.00005"), count("0.0001")), (0, 1), "a bound belongs to its bucket");
        assert_eq!((count("0.0005"), count("0.001"), count("+Inf")), (1, 2, 2));
        let sum = "flashscope_latency_seconds_sum{op=\"write\"}";
        let sum = text.lines().find(|line| line.starts_with(sum));
        let sum: f64 = sum.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        assert!((sum / 0.0011 - 1.0).abs() < 0.001, "{sum}");
    }
}
