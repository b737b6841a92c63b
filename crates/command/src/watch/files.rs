//! Files for the watch of a fleet: alert rules, a dashboard and a service. They name metrics by the
//! definitions of [`super::metrics`].

use std::fmt::Write;

use serde_json::{Value, json};

use super::args::{PORT, PrintedFile};
use super::metrics::{
    AMPLIFICATION, CRITICAL_TEMPERATURE, DRIVE, FOLDER_UP, HEAVY_THROTTLING, HOST_READ,
    HOST_WRITTEN, INCOMPLETE_SHUTDOWNS, LIFE_LEFT, LIFE_LEFT_HIGH, LIFE_LEFT_LOW, LIFE_USED,
    MEDIA_ERRORS, MEDIA_WRITTEN, Metric, READ_AT, SLOW_COMMANDS, SPARE, SPARE_THRESHOLD,
    TEMPERATURE, UNCORRECTABLE, UNSAFE_SHUTDOWNS, UP, WARNING,
};

/// Returns the text of a file.
pub fn printed(file: PrintedFile) -> String {
    match file {
        PrintedFile::Alerts => alerts(),
        PrintedFile::Dashboard => format!("{:#}\n", dashboard()),
        PrintedFile::Systemd => service(),
    }
}

/// An alert rule.
struct Alert {
    name: &'static str,
    /// The expression of Prometheus, with `{0}`, `{1}` for the metrics.
    expression: &'static str,
    metrics: &'static [Metric],
    /// The time for which the expression must hold.
    holds_for: &'static str,
    severity: &'static str,
    summary: &'static str,
}

const CRITICAL: &str = "critical";
const WARNS: &str = "warning";

const ALERTS: &[Alert] = &[
    Alert {
        name: "DriveUnreadable",
        expression: "{0} == 0",
        metrics: &[UP],
        holds_for: "15m",
        severity: WARNS,
        summary: "The health of the drive cannot be read",
    },
    Alert {
        name: "DriveWatchStale",
        expression: "time() - {0} > 3600",
        metrics: &[READ_AT],
        holds_for: "5m",
        severity: WARNS,
        summary: "The last reading of the drive is more than an hour old",
    },
    Alert {
        name: "DriveWarns",
        expression: "{0} == 1",
        metrics: &[WARNING],
        holds_for: "0m",
        severity: CRITICAL,
        summary: "The drive reports a critical warning: {{ $labels.warning }}",
    },
    Alert {
        name: "DriveDataErrors",
        expression: "increase({0}[1d]) > 0 or increase({1}[1d]) > 0",
        metrics: &[MEDIA_ERRORS, UNCORRECTABLE],
        holds_for: "0m",
        severity: CRITICAL,
        summary: "The drive could not return data as written",
    },
    Alert {
        name: "DriveSpareLow",
        // A tenth of the way from the threshold to full.
        expression: "{0} <= {1} + 0.1 * (1 - {1})",
        metrics: &[SPARE, SPARE_THRESHOLD],
        holds_for: "1h",
        severity: WARNS,
        summary: "The spare blocks of the drive are near its threshold",
    },
    Alert {
        name: "DriveWornOut",
        expression: "{0} >= 1",
        metrics: &[LIFE_USED],
        holds_for: "1h",
        severity: CRITICAL,
        summary: "The rated life of the drive is used up",
    },
    Alert {
        name: "DriveWearsOutSoon",
        expression: "{0} < 90 * 86400 and {1} < 1",
        metrics: &[LIFE_LEFT_LOW, LIFE_USED],
        holds_for: "6h",
        severity: WARNS,
        summary: "The drive may reach its rated wear within 90 days at the present load",
    },
    Alert {
        name: "DriveHot",
        expression: "increase({0}[1h]) > 0 or increase({1}[1h]) > 0",
        metrics: &[CRITICAL_TEMPERATURE, HEAVY_THROTTLING],
        holds_for: "0m",
        severity: WARNS,
        summary: "The drive was too hot or throttled heavily in the last hour",
    },
    Alert {
        name: "DrivePowerLoss",
        expression: "increase({0}[1d]) > 0 or increase({1}[1d]) > 0",
        metrics: &[UNSAFE_SHUTDOWNS, INCOMPLETE_SHUTDOWNS],
        holds_for: "0m",
        severity: WARNS,
        summary: "The drive lost power without notice",
    },
];

/// The alerts about the watch itself, which have no label of a drive.
const WATCH_ALERTS: &[Alert] = &[
    Alert {
        name: "DriveWatchAbsent",
        expression: "absent({0})",
        metrics: &[UP],
        holds_for: "15m",
        severity: WARNS,
        summary: "No drive is watched, or the watch has ended",
    },
    Alert {
        name: "DriveWatchFolder",
        expression: "{0} == 0",
        metrics: &[FOLDER_UP],
        holds_for: "15m",
        severity: WARNS,
        summary: "The watch cannot store its readings in its folder",
    },
];

/// Fills the placeholders `{0}`, `{1}` … of an expression.
fn filled(expression: &str, metrics: &[Metric]) -> String {
    let fill = |text: String, (nth, metric): (usize, &Metric)| {
        text.replace(&format!("{{{nth}}}"), &metric.full_name())
    };
    metrics.iter().enumerate().fold(expression.to_owned(), fill)
}

/// Returns alert rules for Prometheus.
fn alerts() -> String {
    let mut text = String::from(
        "# Alert rules for Prometheus, from `flashscope watch --print alerts`.\n\
         groups:\n  - name: flashscope_watch\n    rules:\n",
    );
    let of_drives = ALERTS.iter().map(|alert| ("{{ $labels.drive }}: ", alert));
    let all = of_drives.chain(WATCH_ALERTS.iter().map(|alert| ("", alert)));
    for (subject, Alert { name, expression, metrics, holds_for, severity, summary }) in all {
        let expression = filled(expression, metrics);
        let _ = write!(
            text,
            "      - alert: {name}\n        expr: '{expression}'\n        for: {holds_for}\n        labels:\n          \
             severity: {severity}\n        annotations:\n          summary: '{subject}{summary}'\n"
        );
    }
    text
}

/// A panel of the dashboard.
struct Panel {
    title: &'static str,
    /// The unit of Grafana.
    unit: &'static str,
    /// Each curve: its expression as in [`Alert`], its metric and its legend.
    curves: &'static [(&'static str, Metric, &'static str)],
}

const PANELS: &[Panel] = &[
    Panel {
        title: "Used share of the rated life",
        unit: "percentunit",
        curves: &[("{0}", LIFE_USED, "{{drive}}")],
    },
    Panel {
        title: "Time until the rated wear, with 90 % interval",
        unit: "s",
        curves: &[
            ("{0}", LIFE_LEFT, "{{drive}}"),
            ("{0}", LIFE_LEFT_LOW, "{{drive}}, low"),
            ("{0}", LIFE_LEFT_HIGH, "{{drive}}, high"),
        ],
    },
    Panel {
        title: "Write amplification",
        unit: "none",
        curves: &[("{0}", AMPLIFICATION, "{{drive}}")],
    },
    Panel {
        title: "Writes to the drive and to its flash",
        unit: "Bps",
        curves: &[
            ("rate({0}[1h])", HOST_WRITTEN, "{{drive}}, host"),
            ("rate({0}[1h])", MEDIA_WRITTEN, "{{drive}}, flash"),
        ],
    },
    Panel { title: "Reads", unit: "Bps", curves: &[("rate({0}[1h])", HOST_READ, "{{drive}}")] },
    Panel { title: "Temperature", unit: "celsius", curves: &[("{0}", TEMPERATURE, "{{drive}}")] },
    Panel {
        title: "Remaining spare blocks",
        unit: "percentunit",
        curves: &[("{0}", SPARE, "{{drive}}"), ("{0}", SPARE_THRESHOLD, "{{drive}}, threshold")],
    },
    Panel {
        title: "Active warnings",
        unit: "none",
        curves: &[("{0}", WARNING, "{{drive}}, {{warning}}")],
    },
    Panel {
        title: "Media errors in a day",
        unit: "none",
        curves: &[("increase({0}[1d])", MEDIA_ERRORS, "{{drive}}")],
    },
    Panel {
        title: "Slow commands of the latency monitor",
        unit: "none",
        curves: &[("{0}", SLOW_COMMANDS, "{{drive}}, {{op}} from {{at_least_seconds}} s")],
    },
];

/// The size of a panel in the grid of Grafana, which is 24 wide.
const PANEL_SIZE: (usize, usize) = (12, 8);

/// Returns a dashboard for Grafana, which asks for the data source when it is imported.
fn dashboard() -> Value {
    let source = json!({ "type": "prometheus", "uid": "${datasource}" });
    let panel = |(nth, panel): (usize, &Panel)| {
        let curve = |(letter, (expression, metric, legend)): (char, &(&str, Metric, &str))| {
            let of_drives = format!("{}{{drive=~\"$drive\"}}", metric.full_name());
            json!({
                "refId": letter.to_string(),
                "expr": expression.replace("{0}", &of_drives),
                "legendFormat": legend,
                "datasource": source,
            })
        };
        let (width, height) = PANEL_SIZE;
        let curves: Vec<Value> = ('A'..).zip(panel.curves).map(curve).collect();
        json!({
            "id": nth + 1,
            "type": "timeseries",
            "title": panel.title,
            "datasource": source,
            "gridPos": { "x": nth % 2 * width, "y": nth / 2 * height, "w": width, "h": height },
            "fieldConfig": { "defaults": { "unit": panel.unit, "min": 0 }, "overrides": [] },
            "targets": curves,
        })
    };
    let panels: Vec<Value> = PANELS.iter().enumerate().map(panel).collect();
    let drives = format!("label_values({}, drive)", DRIVE.full_name());
    json!({
        "title": "Flash drives: health and wear",
        "uid": "flashscope-watch",
        "schemaVersion": 39,
        "tags": ["flashscope"],
        "time": { "from": "now-30d", "to": "now" },
        "refresh": "1m",
        "templating": { "list": [
            { "name": "datasource", "type": "datasource", "query": "prometheus" },
            {
                "name": "drive",
                "type": "query",
                "datasource": source,
                "query": { "query": drives, "refId": "drives" },
                "includeAll": true,
                "multi": true,
                "current": { "text": ["All"], "value": ["$__all"] },
                "refresh": 2,
            },
        ] },
        "panels": panels,
    })
}

/// Returns a service for systemd. Get Log Page needs `CAP_SYS_ADMIN`; the service drops all other
/// capabilities.
fn service() -> String {
    format!(
        "# A service for systemd, from `flashscope watch --print systemd`.
# /etc/systemd/system/flashscope-watch.service
[Unit]
Description=Health and wear of flash drives, for Prometheus
Documentation=man:flashscope-watch(1)

[Service]
ExecStart=/usr/local/bin/flashscope watch --listen 127.0.0.1:{PORT} --output /var/lib/flashscope/watch.flashscope
StateDirectory=flashscope
Restart=on-failure
RestartSec=30
CapabilityBoundingSet=CAP_SYS_ADMIN
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateMounts=yes
DevicePolicy=closed
DeviceAllow=block-nvme r
DeviceAllow=block-blkext r
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
MemoryDenyWriteExecute=yes
LockPersonality=yes
RestrictRealtime=yes

[Install]
WantedBy=multi-user.target
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::metrics::tests::{sample_names, state};
    use crate::watch::metrics::{PREFIX, text};

    /// Returns the names of metrics in a text.
    fn names(text: &str) -> Vec<&str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = text.split(|c| !is_name(c));
        let prefix = format!("{PREFIX}_");
        words.filter(|word| word.starts_with(&prefix)).collect()
    }

    #[test]
    fn every_metric_of_the_rules_and_the_dashboard_is_published() {
        let published = sample_names(&text(&state()));
        for file in [PrintedFile::Alerts, PrintedFile::Dashboard] {
            let text = printed(file);
            let names = names(&text);
            assert!(names.len() > 10, "{text}");
            for name in names {
                assert!(published.iter().any(|one| one == name), "{name} of {file:?}");
            }
        }
    }

    #[test]
    fn no_rule_or_panel_has_an_empty_place() {
        let texts = [alerts(), dashboard().to_string()];
        for nth in 0..3 {
            assert!(texts.iter().all(|text| !text.contains(&format!("{{{nth}}}"))), "{texts:?}");
        }
        let [spare, threshold] = [SPARE, SPARE_THRESHOLD].map(|metric| metric.full_name());
        let low = format!("'{spare} <= {threshold} + 0.1 * (1 - {threshold})'");
        assert!(texts[0].contains(&low), "{low}");
        for alert in ALERTS.iter().chain(WATCH_ALERTS) {
            // A quote would end the scalar of YAML.
            assert!(!alert.expression.contains('\'') && !alert.summary.contains('\''));
        }
    }

    #[test]
    fn panels_do_not_overlap() {
        let dashboard = dashboard();
        let places: Vec<&Value> =
            dashboard["panels"].as_array().unwrap().iter().map(|panel| &panel["gridPos"]).collect();
        for (nth, place) in places.iter().enumerate() {
            assert!(!places[..nth].contains(place), "{place}");
        }
    }
}
