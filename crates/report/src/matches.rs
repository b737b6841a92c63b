//! The IOs that match an expression, for the terminal.

use std::fmt::Write;

use flashscope_analysis::view::Matches;
use flashscope_block::column::{COLUMNS, ColumnUnit};
use flashscope_block::{Bytes, Errno, Nanos, Op};
use flashscope_query::FIELDS;

use crate::table::{Align, Table};

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
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Left, Align::Right]);
    table.row(["run", "micro-benchmark", "experiment", "IOs", "matching", "slowest"]);
    for run in runs {
        table.row([
            run.run.to_string(),
            run.micro_benchmark.clone(),
            run.experiment.clone(),
            run.ios.to_string(),
            run.matched.to_string(),
            Nanos(run.slowest_ns).to_string(),
        ]);
    }
    let _ = write!(out, "{table}");
    if slowest.run.is_empty() {
        return out;
    }
    line!(out);
    line!(out, "the slowest of these IOs");
    let mut table = Table::new(&[Align::Right]);
    table.row(["run", "position"].into_iter().chain(COLUMNS.iter().map(|column| column.title)));
    for (nth, (run, position)) in slowest.run.iter().zip(&slowest.position).enumerate() {
        let cells = COLUMNS.iter().enumerate();
        let cells = cells.map(|(index, column)| value(column.unit, slowest.columns[index][nth]));
        table.row([run.to_string(), position.to_string()].into_iter().chain(cells));
    }
    let _ = write!(out, "{table}");
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
