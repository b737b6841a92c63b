//! The table of `flashscope watch --once`.

use flashscope_block::Bytes;
use flashscope_document::watch::{DriveWatch, EnduranceForecast, WatchReport};
use flashscope_report::table::Table;

use crate::print::escape_untrusted;

const HEAD: [&str; 8] =
    ["DRIVE", "USED", "SPARE", "TEMP", "WRITTEN", "AMPLIFIED", "ERRORS", "DAYS LEFT (90 %)"];

/// The indentation of the lines below the table.
const INDENT: &str = "    ";

/// Formats the drives as a table, with errors, warnings and forecasts below it.
pub(super) fn table(report: &WatchReport) -> String {
    if report.drives.is_empty() {
        return String::new();
    }
    let mut table = Table::of_numbers();
    table.row(HEAD);
    report.drives.iter().for_each(|drive| table.row(row(drive)));
    report.drives.iter().fold(table.to_string(), |text, drive| text + &notes(drive))
}

fn row(watch: &DriveWatch) -> [String; HEAD.len()] {
    let name = escape_untrusted(&watch.drive.name).to_string();
    let Some(health) = &watch.health else {
        let unknown = || "–".to_owned();
        let mut row: [String; HEAD.len()] = std::array::from_fn(|_| unknown());
        row[0] = name;
        return row;
    };
    let temperature = health.temperature_celsius.map(|celsius| format!("{celsius:.0} °C"));
    let amplified = watch.write_amplification.as_ref().map(|it| format!("{:.2}×", it.value.ratio));
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    [
        name,
        format!("{} %", health.percentage_used),
        format!("{} %", health.available_spare_percent),
        or_unknown(temperature),
        health.host_bytes_written.to_string(),
        or_unknown(amplified),
        health.media_errors.to_string(),
        left(&watch.endurance),
    ]
}

/// Returns the days left with their interval.
fn left(endurance: &EnduranceForecast) -> String {
    match endurance {
        EnduranceForecast::Known { forecast: known } => format!(
            "{} ({} to {})",
            days(known.days_left),
            days(known.days_left_low),
            days(known.days_left_high)
        ),
        EnduranceForecast::Unknown { .. } => "not known yet".into(),
        EnduranceForecast::Reached => "0".into(),
    }
}

/// Formats days with two decimals below 1, one decimal below 10, and none above.
fn days(days: f64) -> String {
    match days {
        0.0..0.995 => format!("{days:.2}"),
        0.995..9.95 => format!("{days:.1}"),
        _ => format!("{days:.0}"),
    }
}

/// Returns the lines about a drive below the table.
fn notes(watch: &DriveWatch) -> String {
    let mut notes: Vec<String> = Vec::new();
    notes.extend(watch.error.iter().map(|error| format!("cannot be read: {error}")));
    let warnings = watch.health.iter().flat_map(|health| &health.critical_warnings);
    notes.extend(warnings.map(|warning| format!("drive warning: {}", warning.text())));
    match &watch.endurance {
        EnduranceForecast::Known { forecast: known } => notes.push(format!(
            "{} a day at present; {} use a percent of the rated life, from {} steps",
            rounded(known.bytes_per_day),
            rounded(known.bytes_per_percent),
            known.steps
        )),
        EnduranceForecast::Unknown { reason } if watch.health.is_some() => {
            notes.push(format!("days left not known yet: {reason}"));
        }
        EnduranceForecast::Unknown { .. } => {}
        EnduranceForecast::Reached => notes.push("its rated life is used up".into()),
    }
    let name = escape_untrusted(&watch.drive.name);
    let lines = notes.iter().map(|note| format!("{INDENT}{}\n", escape_untrusted(note)));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("{name}\n{lines}") }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn rounded(bytes: f64) -> Bytes {
    Bytes(bytes as u64)
}

#[cfg(test)]
mod tests {
    use flashscope_document::environment::Health;
    use flashscope_document::manifest::Tool;
    use flashscope_document::watch::{
        KnownEndurance, WATCH_VERSION, WatchSource, WatchedDrive, WearCounter,
    };

    use super::*;

    fn drive(name: &str, health: Option<Health>, endurance: EnduranceForecast) -> DriveWatch {
        let name = name.into();
        DriveWatch {
            drive: WatchedDrive { name, source: WatchSource::Nvme, model: None, serial: None },
            error: None,
            read_at: None,
            health,
            latency_monitor: None,
            write_amplification: None,
            endurance,
        }
    }

    fn report(drives: Vec<DriveWatch>) -> WatchReport {
        let tool = Tool { version: "1".into(), commit: None };
        let at = "2026-01-01T00:00:00Z".into();
        WatchReport { schema_version: WATCH_VERSION, tool, at, drives }
    }

    #[test]
    fn the_table_shows_intervals_and_the_notes_their_reasons() {
        let mut smart = [0; 512];
        (smart[0], smart[1], smart[2], smart[3], smart[5], smart[49]) = (1, 0x2C, 1, 90, 7, 8);
        let health = Health::decode(&smart, None);
        let known = KnownEndurance {
            days_left: 512.4,
            days_left_low: 400.0,
            days_left_high: 656.0,
            steps: 5,
            counter: WearCounter::Host,
            bytes_per_day: 1e9,
            bytes_per_percent: 1e10,
        };
        let reason = "percentage used has not moved since 2026-01-01T00:00:00Z".into();
        let mut failed =
            drive("/dev/nvme2n1", None, EnduranceForecast::Unknown { reason: String::new() });
        failed.error = Some("no\u{1b}permission".into());
        let drives = vec![
            drive("/dev/nvme0n1", health.clone(), EnduranceForecast::Known { forecast: known }),
            drive("/dev/nvme1n1", health, EnduranceForecast::Unknown { reason }),
            failed,
        ];
        insta::assert_snapshot!(table(&report(drives)), @r"
        DRIVE         USED  SPARE   TEMP   WRITTEN  AMPLIFIED  ERRORS  DAYS LEFT (90 %)
        /dev/nvme0n1   7 %   90 %  27 °C  1000 MiB          –       0  512 (400 to 656)
        /dev/nvme1n1   7 %   90 %  27 °C  1000 MiB          –       0     not known yet
        /dev/nvme2n1     –      –      –         –          –       –                 –
        /dev/nvme0n1
            drive warning: few spare blocks are left
            954 MiB a day at present; 9.31 GiB use a percent of the rated life, from 5 steps
        /dev/nvme1n1
            drive warning: few spare blocks are left
            days left not known yet: percentage used has not moved since 2026-01-01T00:00:00Z
        /dev/nvme2n1
            cannot be read: no\u{1b}permission
        ");
        assert_eq!(table(&report(vec![])), "");
    }
}
