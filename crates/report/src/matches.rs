//! The IOs that match an expression, for the terminal.

use std::fmt::Write;

use flashscope_analysis::view::Matches;
use flashscope_block::column::{COLUMNS, ColumnUnit};
use flashscope_block::{Bytes, Errno, Nanos, Op};
use flashscope_query::FIELDS;

/// Renders the matches of an expression.
#[must_use]
pub fn matches(found: &Matches) -> String {
    let mut out = String::new();
    let Matches { query, ios, matched, unread, runs, slowest, .. } = found;
    let (which, of_runs) = (if *matched == 1 { "IO matches" } else { "IOs match" }, runs.len());
    line!(out, "{matched} of {ios} {which} {query}, in {of_runs} run{}", plural(of_runs));
    if *unread > 0 {
        line!(out, "{unread} IOs were not read");
    }
    if runs.is_empty() {
        return out;
    }
    line!(out);
    line!(
        out,
        "{:>6}  {:<18}{:<14}{:>12}{:>12}{:>12}",
        "run",
        "micro-benchmark",
        "experiment",
        "IOs",
        "matching",
        "slowest"
    );
    for run in runs {
        let slowest = Nanos(run.slowest_ns).to_string();
        let (benchmark, experiment) = (&run.micro_benchmark, &run.experiment);
        line!(
            out,
            "{:>6}  {benchmark:<18}{experiment:<14}{:>12}{:>12}{slowest:>12}",
            run.run,
            run.ios,
            run.matched
        );
    }
    if slowest.run.is_empty() {
        return out;
    }
    let heads = COLUMNS.iter().fold(String::new(), |mut heads, column| {
        let _ = write!(heads, "{:>15}", column.title);
        heads
    });
    line!(out);
    line!(out, "the slowest of these IOs");
    line!(out, "{:>6}{:>12}{heads}", "run", "position");
    for (nth, (run, position)) in slowest.run.iter().zip(&slowest.position).enumerate() {
        let _ = write!(out, "{run:>6}{position:>12}");
        for (index, column) in COLUMNS.iter().enumerate() {
            let _ = write!(out, "{:>15}", value(column.unit, slowest.columns[index][nth]));
        }
        line!(out);
    }
    out
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Formats a value of a column.
fn value(unit: ColumnUnit, value: i64) -> String {
    match unit {
        ColumnUnit::Nanoseconds => Nanos(value.cast_unsigned()).to_string(),
        ColumnUnit::Bytes => Bytes(value.cast_unsigned()).to_string(),
        ColumnUnit::Offset | ColumnUnit::Count => value.to_string(),
        ColumnUnit::Operation => {
            let op = u8::try_from(value).ok().and_then(Op::from_code);
            op.map_or_else(|| value.to_string(), |op| op.to_string())
        }
        ColumnUnit::Error if value == 0 => "done".into(),
        ColumnUnit::Error => {
            i32::try_from(value).map_or_else(|_| value.to_string(), |code| Errno(code).to_string())
        }
    }
}

/// Renders the fields that expressions can name.
#[must_use]
pub fn query_fields() -> String {
    let mut out = String::new();
    for field in FIELDS {
        line!(out, "{:<18}{}", field.name(), field.summary());
    }
    out
}
