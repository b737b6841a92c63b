//! The conclusions of a sweep.

use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::sweep::{Effect, FrontPoint, Goal, Objective, Sweep, SweepStatus};
use flashscope_stats::Estimate;

use crate::words::{change, duration, list, number, relative, rounded, with_interval};

/// The share of the variance below which a regression misses much of a response.
const WELL_EXPLAINED: f64 = 0.8;

/// Maximum number of settings of a point to name.
const MAX_SETTINGS: usize = 4;

pub(super) fn conclusions(sweep: &Sweep) -> Vec<Conclusion> {
    let Some(objective) = sweep.objectives.first() else { return vec![] };
    let all = [unfinished(sweep), best(sweep, objective), effect(sweep, objective)];
    all.into_iter().flatten().chain(trade_off(sweep)).take(3).collect()
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count(section: PageSection, what: &str, count: u64) -> Evidence {
    let value = Estimate::symmetric(count as f64, None);
    Evidence::shown_in(section, what, value, EvidenceUnit::Number)
}

fn unfinished(sweep: &Sweep) -> Option<Conclusion> {
    let counts = sweep.counts;
    let done = counts.done + counts.impossible + counts.failed;
    (sweep.status == SweepStatus::Unfinished).then(|| {
        let text = format!(
            "Only {done} of {} simulations are done, so the conclusions may change: continue with `flashscope sweep --resume`.",
            counts.requested
        );
        Conclusion::new(text, vec![count(PageSection::Numbers, "simulations done", done)])
    })
}

/// Returns the point of the front with the best mean of an objective, and its value.
fn best_of<'a>(sweep: &'a Sweep, objective: &Objective) -> Option<(&'a FrontPoint, &'a Estimate)> {
    let nth = sweep.objectives.iter().position(|one| one == objective)?;
    let values = sweep.front.iter().filter_map(|point| Some((point, point.values.get(nth)?)));
    let order = |a: &Estimate, b: &Estimate| a.value.total_cmp(&b.value);
    match objective.goal {
        Goal::Minimize => values.min_by(|a, b| order(a.1, b.1)),
        Goal::Maximize => values.max_by(|a, b| order(a.1, b.1)),
    }
}

fn best(sweep: &Sweep, objective: &Objective) -> Option<Conclusion> {
    let (point, value) = best_of(sweep, objective)?;
    let field = field_words(&objective.field);
    let settings = point.settings.iter().take(MAX_SETTINGS);
    let mut with: Vec<String> =
        settings.map(|one| format!("{} = {}", one.factor, one.level)).collect();
    if let more @ 1.. = point.settings.len().saturating_sub(MAX_SETTINGS) {
        with.push(format!("{more} more settings"));
    }
    let which = match objective.goal {
        Goal::Minimize => "lowest",
        Goal::Maximize => "highest",
    };
    let (text, unit) = writer(&objective.field);
    let caution = match (sweep.repeats, value.low) {
        (1, _) | (_, None) => {
            " (one simulation, no interval: repeat it before relying on a small difference)"
        }
        _ => "",
    };
    let text = format!(
        "The {which} {field} of {} simulated points is {} with {}{caution}.",
        sweep.counts.points,
        with_interval(value, text),
        list(&with)
    );
    let what = format!("{field} at point {}", point.point);
    Some(Conclusion::new(text, vec![Evidence::shown_in(PageSection::Front, what, *value, unit)]))
}

/// Returns the size of an effect, by which effects are compared.
fn size(effect: &Effect) -> f64 {
    effect.relative.unwrap_or(effect.difference.value).abs()
}

fn effect(sweep: &Sweep, objective: &Objective) -> Option<Conclusion> {
    let field = field_words(&objective.field);
    let of_objective = || sweep.effects.iter().filter(|one| one.objective == objective.field);
    of_objective().next()?;
    let significant = of_objective().filter(|one| one.sign != 0);
    let Some(largest) = significant.max_by(|a, b| size(a).total_cmp(&size(b))) else {
        let text = format!(
            "No factor changes {field} beyond the uncertainty: more repeats would narrow the intervals."
        );
        let effects = of_objective().count() as u64;
        return Some(Conclusion::new(text, vec![count(PageSection::Effects, "effects", effects)]));
    };
    let step = &largest.step;
    let (verb, by, value, unit) = match relative(&largest.difference, largest.relative) {
        Some(relative) => {
            let (verb, by) = change(&relative);
            (verb, by, relative, EvidenceUnit::Share)
        }
        None => {
            let (write, unit) = writer(&objective.field);
            let verb = if largest.sign < 0 { "lowers" } else { "raises" };
            (verb, with_interval(&largest.difference, write), largest.difference, unit)
        }
    };
    let fit = sweep.regressions.iter().find(|fit| fit.objective == objective.field);
    let fit = fit.filter(|fit| fit.explained < WELL_EXPLAINED);
    let caution = fit.map_or_else(String::new, |fit| {
        format!(
            " The regression explains only {:.0} % of the differences, so sample more points.",
            100.0 * fit.explained
        )
    });
    let text = format!(
        "Start with {}: from {} to {} it {verb} {field} by {by}, the largest effect on average.{caution}",
        step.factor, step.from, step.to
    );
    let what = format!("{} from {} to {}: change of {field}", step.factor, step.from, step.to);
    Some(Conclusion::new(text, vec![Evidence::shown_in(PageSection::Effects, what, value, unit)]))
}

fn trade_off(sweep: &Sweep) -> Option<Conclusion> {
    let [_, _, ..] = &sweep.objectives[..] else { return None };
    let fields: Vec<String> = sweep
        .objectives
        .iter()
        .map(|objective| field_words(&objective.field).to_string())
        .collect();
    let points = sweep.front.len();
    let text = match points {
        0 => return None,
        1 => format!("One point is best in {}: there is no trade-off.", list(&fields)),
        _ => format!(
            "No point is best in {}: choose among the {points} points of the Pareto front.",
            list(&fields)
        ),
    };
    let evidence = count(PageSection::Front, "points of the Pareto front", points as u64);
    Some(Conclusion::new(text, vec![evidence]))
}

/// Returns the words for a field of a simulation.
fn field_words(field: &str) -> &str {
    match field {
        "latency_ns.mean" => "mean latency",
        "latency_ns.p50" => "median latency",
        "latency_ns.p99" => "99th percentile of latency",
        "latency_ns.p999" => "99.9th percentile of latency",
        "write_amplification" => "write amplification",
        "ios_per_second" => "IO rate",
        other => other,
    }
}

/// Returns the format of the values of a field, and its unit.
fn writer(field: &str) -> (fn(f64) -> String, EvidenceUnit) {
    let is_time = field.split('.').any(|part| part.ends_with("_ns")) && !field.ends_with("count");
    match field {
        "ios_per_second" => (ios_per_second, EvidenceUnit::IosPerSecond),
        _ if is_time => (duration, EvidenceUnit::Nanoseconds),
        _ => (number, EvidenceUnit::Number),
    }
}

fn ios_per_second(rate: f64) -> String {
    format!("{} a second", rounded(rate))
}
