//! The figures of a case: means, percentiles and busy shares, with 95 % intervals by batch means.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use flashscope_sim::sched::Op;

use super::case::Case;
use super::host::{CompletedCommand, Host, Mark};

const BATCHES: usize = 40;
/// Two-sided 95 % quantile of Student's distribution at 39 degrees of freedom.
const STUDENT_T: f64 = 2.023;

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    name: String,
    set: String,
    pub commands: usize,
    figures: Vec<(String, Option<f64>)>,
    tenants: [Vec<f64>; 2],
    pub done_us: Option<Vec<f64>>,
}

#[allow(clippy::cast_precision_loss, reason = "counts and times of a run, far below 2^53")]
const fn float(value: u64) -> f64 {
    value as f64
}

fn half_width(values: &[f64]) -> f64 {
    let count = float(values.len() as u64);
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    STUDENT_T * (variance / count).sqrt()
}

/// Returns the smallest value that at least this share of the values does not exceed.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among the values"
)]
fn quantile(ordered: &[u64], share: f64) -> f64 {
    let rank = (share * float(ordered.len() as u64) - 1e-9).ceil() as usize;
    float(ordered[rank.max(1) - 1])
}

fn mean(values: &[u64]) -> f64 {
    float(values.iter().sum()) / float(values.len() as u64)
}

/// A figure of sorted latencies.
type Figure = fn(&[u64]) -> f64;

const FIGURES: [(&str, Figure); 4] = [
    ("mean", mean),
    ("p50", |v| quantile(v, 0.5)),
    ("p99", |v| quantile(v, 0.99)),
    ("p999", |v| quantile(v, 0.999)),
];

impl Row {
    /// Returns the row of a script.
    pub(crate) fn of_script(case: &Case, done_us: Vec<f64>) -> Row {
        Row {
            name: case.name.clone(),
            set: case.set.clone(),
            commands: done_us.len(),
            figures: Vec::new(),
            tenants: [Vec::new(), Vec::new()],
            done_us: Some(done_us),
        }
    }

    /// Returns the row of the commands measured since `mark`.
    pub(crate) fn of_run(case: &Case, host: &Host<'_>, mark: &Mark) -> Row {
        let (end, measured) = (host.mark(), &host.done[mark.commands..]);
        let elapsed = float(end.at - mark.at);
        let mut row = Row {
            name: case.name.clone(),
            set: case.set.clone(),
            commands: measured.len(),
            figures: vec![("seconds".into(), Some(elapsed / 1e9))],
            tenants: tenants(case, measured, elapsed),
            done_us: None,
        };
        let batches = batches(measured);
        let mut since = mark.at;
        let rates: Vec<f64> = (batches.iter())
            .map(|batch| {
                let until = batch.last().map_or(since, |done| done.at);
                let rate = float(batch.len() as u64) / float(until - since) * 1e9;
                since = until;
                rate
            })
            .collect();
        row.add("iops", Some(float(measured.len() as u64) / elapsed * 1e9));
        row.add("iops_half_width", Some(half_width(&rates)));
        for (name, op) in [("read", Op::Read), ("write", Op::Program), ("erase", Op::Erase)] {
            row.summarize(name, op, &batches);
        }
        let (busy, before) = (end.busy, mark.busy);
        let share = |time: u64, parts: u32| Some(float(time) / elapsed / f64::from(parts));
        row.add("bus_share", share(busy.buses.0 - before.buses.0, case.channels));
        row.add("die_share", share(busy.dies.0 - before.dies.0, case.dies()));
        row.add("cell_share", share(busy.cells.0 - before.cells.0, case.dies()));
        row.add("cleaning_jobs_per_s", Some(float(end.jobs - mark.jobs) / elapsed * 1e9));
        row
    }

    fn add(&mut self, name: &str, figure: Option<f64>) {
        self.figures.push((name.into(), figure));
    }

    fn summarize(&mut self, name: &str, op: Op, batches: &[&[CompletedCommand]]) {
        let sorted = |batch: &&[CompletedCommand]| {
            let of_op = batch.iter().filter(|done| done.op == op);
            let mut latencies: Vec<u64> = of_op.map(|done| done.latency).collect();
            latencies.sort_unstable();
            latencies
        };
        let parts: Vec<Vec<u64>> = batches.iter().map(sorted).collect();
        let mut all = parts.concat();
        all.sort_unstable();
        let full = parts.iter().all(|part| !part.is_empty());
        for (figure, of) in FIGURES {
            let key = format!("{name}_{figure}_us");
            self.add(&key, (!all.is_empty()).then(|| of(&all) / 1e3));
            let values = || parts.iter().map(|part| of(part) / 1e3).collect::<Vec<_>>();
            self.add(&format!("{key}_half_width"), full.then(|| half_width(&values())));
        }
    }

    /// Returns a figure by its column.
    #[cfg(test)]
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(column, _)| column == name)?.1
    }

    fn cells(&self, columns: &[String]) -> Vec<String> {
        let list = |values: &[f64]| values.iter().map(|v| digits(*v)).collect::<Vec<_>>().join(";");
        let mut cells = vec![self.name.clone(), self.set.clone(), self.commands.to_string()];
        cells.extend(columns.iter().map(|column| {
            let figure = self.figures.iter().find(|(name, _)| name == column);
            figure.and_then(|(_, value)| *value).map(digits).unwrap_or_default()
        }));
        cells.extend(self.tenants.iter().map(|values| list(values)));
        let exact = |us: &f64| format!("{us:.3}");
        let done = self.done_us.iter().flatten().map(exact).collect::<Vec<_>>().join(";");
        cells.push(done);
        cells
    }
}

/// Divides the measured commands into batches of equal size; the last batch also has the remaining
/// commands.
fn batches(measured: &[CompletedCommand]) -> Vec<&[CompletedCommand]> {
    let size = measured.len() / BATCHES;
    let end = |nth: usize| if nth + 1 == BATCHES { measured.len() } else { size * (nth + 1) };
    (0..BATCHES).map(|nth| &measured[size * nth..end(nth)]).collect()
}

/// Returns the IOPS and the mean latency of each tenant.
fn tenants(case: &Case, measured: &[CompletedCommand], elapsed: f64) -> [Vec<f64>; 2] {
    let count = case.tenants.as_ref().map_or(1, Vec::len);
    let (mut commands, mut total) = (vec![0u64; count], vec![0u64; count]);
    for done in measured {
        commands[done.tenant as usize] += 1;
        total[done.tenant as usize] += done.latency;
    }
    let iops = commands.iter().map(|count| float(*count) / elapsed * 1e9).collect();
    let mean = |(total, count): (u64, u64)| float(total) / float(count.max(1)) / 1e3;
    [iops, total.into_iter().zip(commands).map(mean).collect()]
}

/// Formats a number with seven significant digits.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let scientific = format!("{value:.6e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..7).contains(&exponent) {
        let places = usize::try_from(6 - exponent).unwrap_or_default();
        let plain = format!("{value:.places$}");
        return match plain.contains('.') {
            true => plain.trim_end_matches('0').trim_end_matches('.').into(),
            false => plain,
        };
    }
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    format!("{mantissa}e{exponent:+03}")
}

/// Writes a table of rows.
pub(super) fn write(path: &Path, rows: &[Row]) -> Result<()> {
    let columns: Vec<String> = rows
        .iter()
        .map(|row| &row.figures)
        .max_by_key(|figures| figures.len())
        .map(|figures| figures.iter().map(|(name, _)| name.clone()).collect())
        .unwrap_or_default();
    let figures = columns.iter().map(String::as_str);
    let names = ["name", "set", "commands"].into_iter().chain(figures);
    let names: Vec<_> = names.chain(["tenant_iops", "tenant_mean_us", "done_us"]).collect();
    let mut text = names.join(",");
    text.push('\n');
    for row in rows {
        let cells = row.cells(&columns).join(",");
        writeln!(text, "{cells}").context("a string takes any text")?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
