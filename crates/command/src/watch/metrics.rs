//! The metrics of watched drives for Prometheus, in the text format of OpenMetrics 1.0.
//!
//! Each metric is defined once, with its name, its help and its values. The alert rules and the
//! dashboard name metrics by these definitions.

use std::fmt::Error;

use flashscope_document::environment::{CriticalWarning, Health, OcpHealth};
use flashscope_document::watch::{DriveWatch, EnduranceForecast, KnownEndurance};
use flashscope_measure::seconds_of;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text as openmetrics};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

use super::WatchState;

/// The media type of the result of [`text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The prefix of all names.
pub(super) const PREFIX: &str = "flashscope_watch";

const DAY_S: f64 = 86_400.0;
const HOUR_S: u64 = 3600;
const MINUTE_S: u32 = 60;

/// A value, with the labels that it has besides the drive.
type Sample = (Vec<(&'static str, String)>, f64);

/// A metric of each drive.
pub(super) struct Metric {
    /// The name without prefix, unit and suffix.
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    kind: Kind,
    /// Returns the samples of a drive; none if the drive does not report them.
    samples: fn(&DriveWatch) -> Vec<Sample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Info,
}

impl Metric {
    /// Returns the name of its samples.
    pub(super) fn full_name(&self) -> String {
        let unit = self.unit.as_ref().map_or("", |unit| match unit {
            Unit::Bytes => "_bytes",
            Unit::Celsius => "_celsius",
            Unit::Seconds => "_seconds",
            _ => unreachable!("the metrics have no other unit"),
        });
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge => "",
            Kind::Info => "_info",
        };
        format!("{PREFIX}_{}{unit}{suffix}", self.name)
    }

    fn encode(&self, encoder: &mut DescriptorEncoder, drives: &[DriveWatch]) -> Result<(), Error> {
        let samples: Vec<(&str, Vec<Sample>)> =
            drives.iter().map(|drive| (drive.drive.id(), (self.samples)(drive))).collect();
        if samples.iter().all(|(_, samples)| samples.is_empty()) {
            return Ok(());
        }
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Info => MetricType::Info,
        };
        let mut metric =
            encoder.encode_descriptor(self.name, self.help, self.unit.as_ref(), kind)?;
        for (drive, samples) in samples {
            for (labels, value) in samples {
                let labels: Vec<(&str, String)> =
                    [("drive", drive.to_owned())].into_iter().chain(labels).collect();
                match self.kind {
                    Kind::Info => metric.encode_info(&labels)?,
                    Kind::Counter => {
                        ConstCounter::new(value).encode(metric.encode_family(&labels)?)?;
                    }
                    Kind::Gauge => ConstGauge::new(value).encode(metric.encode_family(&labels)?)?,
                }
            }
        }
        Ok(())
    }
}

/// The metric of the folder, which belongs to no drive.
pub(super) const FOLDER_UP: Metric = Metric {
    name: "folder_up",
    help: "1 if the readings that were due could be stored in the folder, else 0",
    unit: None,
    kind: Kind::Gauge,
    samples: |_| Vec::new(),
};

/// Returns all metrics of a watch.
pub fn text(state: &WatchState) -> String {
    let mut registry = Registry::with_prefix(PREFIX);
    let folder_up = state.has_folder.then_some(state.failures.folder.is_none());
    let drives = state.report.drives.clone();
    registry.register_collector(Box::new(Metrics { drives, folder_up }));
    let mut text = String::new();
    openmetrics::encode(&mut text, &registry).expect("writing to a string cannot fail");
    text
}

#[derive(Debug)]
struct Metrics {
    drives: Vec<DriveWatch>,
    /// False if readings could not be stored; `None` without a folder.
    folder_up: Option<bool>,
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        ALL.iter().try_for_each(|metric| metric.encode(&mut encoder, &self.drives))?;
        let Some(up) = self.folder_up else { return Ok(()) };
        let Metric { name, help, .. } = FOLDER_UP;
        let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(f64::from(u8::from(up))).encode(metric)
    }
}

/// Defines metrics as constants, and [`ALL`] of them in order.
macro_rules! metrics {
    ($($id:ident: $kind:ident $name:literal $unit:expr, $help:literal, $samples:expr;)*) => {
        $(
            #[doc = $help]
            pub(super) const $id: Metric = Metric {
                name: $name,
                help: $help,
                unit: $unit,
                kind: Kind::$kind,
                samples: $samples,
            };
        )*

        /// All metrics, in the order of the page.
        pub(super) const ALL: &[Metric] = &[$($id),*];
    };
}

metrics! {
    DRIVE: Info "drive" None, "The watched drive", |drive| {
        let of = &drive.drive;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let labels = vec![
            ("name", of.name.clone()),
            ("source", of.source.name().to_owned()),
            ("model", text(&of.model)),
            ("serial", text(&of.serial)),
        ];
        vec![(labels, 1.0)]
    };
    UP: Gauge "up" None, "1 if the last reading succeeded, else 0",
        |drive| one(f64::from(u8::from(drive.error.is_none())));
    READ_AT: Gauge "read_timestamp" Some(Unit::Seconds),
        "Time of the last successful reading, since 1970",
        |drive| option(drive.read_at.as_deref().and_then(seconds_of).map(number));
    WARNING: Gauge "critical_warning" None, "1 for each critical warning that is active, else 0",
        |drive| warnings(drive);
    TEMPERATURE: Gauge "temperature" Some(Unit::Celsius), "Composite temperature",
        |drive| option(health(drive).and_then(|health| health.temperature_celsius));
    SPARE: Gauge "available_spare_ratio" None, "Remaining spare blocks",
        |drive| of_health(drive, |health| percent(health.available_spare_percent));
    SPARE_THRESHOLD: Gauge "available_spare_threshold_ratio" None,
        "Remaining spare blocks below which the drive warns",
        |drive| of_health(drive, |health| percent(health.available_spare_threshold_percent));
    LIFE_USED: Gauge "life_used_ratio" None, "Used share of the rated life, in steps of 0.01",
        |drive| of_health(drive, |health| percent(health.percentage_used));
    LIFE_LEFT: Gauge "rated_life_left" Some(Unit::Seconds),
        "Time until the rated life is used up at the present load, once it is known",
        |drive| endurance(drive, |known| known.days_left);
    LIFE_LEFT_LOW: Gauge "rated_life_left_low" Some(Unit::Seconds),
        "Lower end of the 90 % interval of the time until the rated life is used up",
        |drive| endurance(drive, |known| known.days_left_low);
    LIFE_LEFT_HIGH: Gauge "rated_life_left_high" Some(Unit::Seconds),
        "Upper end of the 90 % interval of the time until the rated life is used up",
        |drive| endurance(drive, |known| known.days_left_high);
    AMPLIFICATION: Gauge "write_amplification" None,
        "Bytes written to the flash per byte that hosts wrote, over four weeks or over the life",
        |drive| option(drive.write_amplification.as_ref().map(|it| it.value.ratio));
    HOST_READ: Counter "host_read" Some(Unit::Bytes), "Bytes that hosts read",
        |drive| of_health(drive, |health| number(health.host_bytes_read.0));
    HOST_WRITTEN: Counter "host_written" Some(Unit::Bytes), "Bytes that hosts wrote",
        |drive| of_health(drive, |health| number(health.host_bytes_written.0));
    MEDIA_READ: Counter "media_read" Some(Unit::Bytes), "Bytes read from the flash",
        |drive| of_ocp(drive, |ocp| number(ocp.media_bytes_read.0));
    MEDIA_WRITTEN: Counter "media_written" Some(Unit::Bytes), "Bytes written to the flash",
        |drive| of_ocp(drive, |ocp| number(ocp.media_bytes_written.0));
    READS: Counter "host_read_commands" None, "Read commands from hosts",
        |drive| of_health(drive, |health| number(health.host_read_commands));
    WRITES: Counter "host_write_commands" None, "Write commands from hosts",
        |drive| of_health(drive, |health| number(health.host_write_commands));
    MEDIA_ERRORS: Counter "media_errors" None, "Errors of media and data integrity",
        |drive| of_health(drive, |health| number(health.media_errors));
    UNSAFE_SHUTDOWNS: Counter "unsafe_shutdowns" None, "Power losses without prior notice",
        |drive| of_health(drive, |health| number(health.unsafe_shutdowns));
    POWER_CYCLES: Counter "power_cycles" None, "Power cycles",
        |drive| of_health(drive, |health| number(health.power_cycles));
    POWER_ON: Counter "power_on" Some(Unit::Seconds), "Time powered on, counted in hours",
        |drive| of_health(drive, |health| number(health.power_on_hours.saturating_mul(HOUR_S)));
    LIGHT_THROTTLING: Counter "light_throttling" Some(Unit::Seconds), "Time in light throttling",
        |drive| of_health(drive, |health| health.light_throttling_s.into());
    HEAVY_THROTTLING: Counter "heavy_throttling" Some(Unit::Seconds), "Time in heavy throttling",
        |drive| of_health(drive, |health| health.heavy_throttling_s.into());
    CRITICAL_TEMPERATURE: Counter "critical_temperature" Some(Unit::Seconds),
        "Time above the critical temperature, counted in minutes",
        |drive| of_health(drive, |health| {
            f64::from(MINUTE_S) * f64::from(health.critical_temperature_minutes)
        });
    RETIRED: Gauge "retired_blocks" None, "Retired blocks of user data and of the system area",
        |drive| of_ocp(drive, |ocp| number(ocp.bad_user_blocks) + number(ocp.bad_system_blocks));
    UNCORRECTABLE: Counter "uncorrectable_reads" None, "Uncorrectable reads of the flash",
        |drive| of_ocp(drive, |ocp| number(ocp.uncorrectable_reads));
    INCOMPLETE_SHUTDOWNS: Counter "incomplete_shutdowns" None,
        "Power losses at which the drive could not save its full state",
        |drive| of_ocp(drive, |ocp| ocp.incomplete_shutdowns.into());
    SLOW_COMMANDS: Gauge "slow_commands" None,
        "Commands that the latency monitor counts in its present window, by minimum latency in seconds",
        |drive| slow_commands(drive);
}

fn health(drive: &DriveWatch) -> Option<&Health> {
    drive.health.as_ref()
}

fn one(value: f64) -> Vec<Sample> {
    vec![(Vec::new(), value)]
}

fn option(value: Option<f64>) -> Vec<Sample> {
    value.map(one).unwrap_or_default()
}

fn of_health(drive: &DriveWatch, value: fn(&Health) -> f64) -> Vec<Sample> {
    option(health(drive).map(value))
}

fn of_ocp(drive: &DriveWatch, value: fn(&OcpHealth) -> f64) -> Vec<Sample> {
    option(health(drive).and_then(|health| health.ocp.as_ref()).map(value))
}

/// Returns a time of the forecast in seconds; 0 once the rated life is used up.
fn endurance(drive: &DriveWatch, days: fn(&KnownEndurance) -> f64) -> Vec<Sample> {
    match &drive.endurance {
        EnduranceForecast::Known { forecast } => one(DAY_S * days(forecast)),
        EnduranceForecast::Reached => one(0.0),
        EnduranceForecast::Unknown { .. } => Vec::new(),
    }
}

fn warnings(drive: &DriveWatch) -> Vec<Sample> {
    let Some(health) = health(drive) else { return Vec::new() };
    let sample = |warning: CriticalWarning| {
        let is_active = health.critical_warnings.contains(&warning);
        (vec![("warning", warning.name().to_owned())], f64::from(u8::from(is_active)))
    };
    CriticalWarning::ALL.into_iter().map(sample).collect()
}

fn slow_commands(drive: &DriveWatch) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for bucket in drive.latency_monitor.iter().flat_map(|monitor| &monitor.buckets) {
        for (op, count) in bucket.counts() {
            let from = f64::from(bucket.at_least_ms) / 1000.0;
            let labels = vec![("op", op.to_string()), ("at_least_seconds", from.to_string())];
            // Thresholds may be equal, but each set of labels must occur only once.
            match samples.iter_mut().find(|(known, _)| *known == labels) {
                Some((_, sum)) => *sum += number(count),
                None => samples.push((labels, number(count))),
            }
        }
    }
    samples
}

fn percent(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}

#[allow(clippy::cast_precision_loss, reason = "counters are exact to within a part in 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
pub(super) mod tests;
