//! The conclusions of a simulation.

use flashscope_document::conclusion::{Conclusion, Evidence, EvidenceUnit, PageSection};
use flashscope_document::{LatencyNs, Simulation, SimulationStatus};
use flashscope_stats::Estimate;
use flashscope_workload::state::Fill;

use crate::words::{duration, number, rounded, with_interval};

/// The minimum number of erased blocks for a statement about a long run.
const MIN_ERASES: u64 = 30;

/// The warm-up to suggest after `steady`, which ends after 50 times the capacity.
const LONG_WARM_UP: &str = "200x";

/// The write amplification above which its cause is worth removing.
const CHEAP: f64 = 1.1;

/// The ratio of the 99th percentile to the median above which a few IOs wait much longer than the
/// others.
const LONG_TAIL: f64 = 10.0;

pub(super) fn conclusions<O>(simulation: &Simulation<O>) -> Vec<Conclusion> {
    let all = [interrupted(simulation), latency(simulation), amplification(simulation)];
    all.into_iter().flatten().collect()
}

fn exact(value: f64) -> Estimate {
    Estimate::symmetric(value, None)
}

fn evidence(section: PageSection, what: &str, value: f64, unit: EvidenceUnit) -> Evidence {
    Evidence::shown_in(section, what, exact(value), unit)
}

fn interrupted<O>(simulation: &Simulation<O>) -> Option<Conclusion> {
    let how = match simulation.status {
        SimulationStatus::Complete => return None,
        SimulationStatus::Interrupted => "was interrupted",
        SimulationStatus::Failed => "failed",
    };
    let ios = crate::words::rounded(simulation.ios as f64);
    let text = format!("The simulation {how}: its numbers cover the first {ios} IOs.");
    let ios = evidence(PageSection::Numbers, "IOs", simulation.ios as f64, EvidenceUnit::Number);
    Some(Conclusion::new(text, vec![ios]))
}

#[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns")]
fn latency<O>(simulation: &Simulation<O>) -> Option<Conclusion> {
    let LatencyNs { mean, p50, p99, .. } = simulation.latency_ns.as_ref()?;
    let mut text = match simulation.ios_per_second {
        Some(rate) if !simulation.open_loop => format!(
            "The drive completed {} IOs a second at queue depth {}; an IO took",
            rounded(rate),
            simulation.queue_depth
        ),
        _ => "From the time at which it was due, an IO took".to_string(),
    };
    let (tail, half) = (*p99 as f64, *p50 as f64);
    text += &format!(" {} on average, and 1 % took ", with_interval(mean, duration));
    text += &match tail > LONG_TAIL * half {
        true => format!(
            "more than {}, {} times the median: the charts over time show what they waited for.",
            duration(tail),
            rounded(tail / half.max(1.0))
        ),
        false => format!("more than {}.", duration(tail)),
    };
    let latency = |what, value, unit| Evidence::shown_in(PageSection::Latencies, what, value, unit);
    let mut all = vec![
        latency("mean time of an IO", *mean, EvidenceUnit::Nanoseconds),
        latency("99th percentile", exact(tail), EvidenceUnit::Nanoseconds),
        latency("median", exact(half), EvidenceUnit::Nanoseconds),
    ];
    let rate = simulation.ios_per_second.filter(|_| !simulation.open_loop);
    all.extend(rate.map(|rate| {
        evidence(PageSection::Numbers, "IOs per second", rate, EvidenceUnit::IosPerSecond)
    }));
    Some(Conclusion::new(text, all))
}

fn amplification<O>(simulation: &Simulation<O>) -> Option<Conclusion> {
    let value = simulation.write_amplification?;
    let erases: u64 = simulation.erases.values().sum();
    let operations = PageSection::Operations;
    let mut all = vec![evidence(operations, "write amplification", value, EvidenceUnit::Number)];
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 erases")]
    let erased = evidence(operations, "erased blocks", erases as f64, EvidenceUnit::Number);
    let value_text = number(value);
    let open = unfinished(simulation, erases, &value_text);
    if let Some(text) = open {
        all.push(erased);
        return Some(Conclusion::new(text, all));
    }
    if let Some(total) = simulation.total_write_amplification {
        let of_workload = total / value;
        let what = "pages that the workload wrote per page of new data";
        all.push(evidence(operations, what, of_workload, EvidenceUnit::Number));
        return Some(Conclusion::new(together(total, of_workload, value), all));
    }
    let cause = largest_cause(simulation, value);
    let text = match cause {
        Some((cause, part)) if value > CHEAP => {
            let (words, remedy) = cause_words(&cause);
            let what = format!("flash pages for {words} per page that the host wrote");
            all.push(evidence(operations, &what, part, EvidenceUnit::Number));
            format!(
                "The drive programmed {value_text} flash pages per page that the host wrote, {} of them for {words}: {remedy}.",
                number(part)
            )
        }
        _ => format!(
            "The drive programmed {value_text} flash pages per page that the host wrote: there is little to gain in write \
             amplification."
        ),
    };
    Some(Conclusion::new(text, all))
}

/// Returns the reason why write amplification is not that of a long run, and the remedy.
fn unfinished<O>(simulation: &Simulation<O>, erases: u64, value_text: &str) -> Option<String> {
    let warm_up = &simulation.warm_up;
    match (erases, warm_up.steady) {
        (0, Some(true)) => Some(format!(
            "The drive erased no block while it was measured, so its write amplification of {value_text} is not that of a long \
             run: simulate more IOs."
        )),
        (0, Some(false)) => Some(format!(
            "The drive erased no block, so its write amplification of {value_text} is not that of a long run: warm up longer, \
             as with `--warmup {LONG_WARM_UP}`."
        )),
        (0, None) => Some(format!(
            "The drive erased no block, so its write amplification of {value_text} is not that of a long run: add \
             `--warmup steady`."
        )),
        (1..MIN_ERASES, _) => Some(format!(
            "Write amplification was {value_text} over only {erases} erased blocks, too few for a long run: simulate more IOs."
        )),
        (_, Some(false)) => Some(format!(
            "Write amplification was {value_text} and not yet steady at the end of the warm-up: warm up longer, as with \
             `--warmup {LONG_WARM_UP}`."
        )),
        (_, None) if warm_up.ios == 0 || simulation.fill == Fill::None => Some(format!(
            "Write amplification was {value_text} before the steady state was examined: `--warmup steady` shows the long run."
        )),
        _ => None,
    }
}

/// Returns a sentence on the write amplification of a workload that moves data itself, and of the
/// drive.
fn together(total: f64, of_workload: f64, of_drive: f64) -> String {
    let remedy = match of_workload >= of_drive {
        true => "a smaller share of live data lowers the larger factor, that of the workload",
        false => "placement, or a drive with zones, lowers the larger factor, that of the drive",
    };
    format!(
        "Workload and drive together programmed {} flash pages per page of new data, {} by the workload times {} by the drive: \
         {remedy}.",
        number(total),
        number(of_workload),
        number(of_drive)
    )
}

/// Returns the largest cause of programs besides the host, and its part of the write amplification.
fn largest_cause<O>(simulation: &Simulation<O>, amplification: f64) -> Option<(String, f64)> {
    let total: u64 = simulation.flash_programs.values().sum();
    let others = simulation.flash_programs.iter().filter(|(cause, _)| *cause != "host");
    let (cause, count) = others.max_by_key(|(_, count)| **count).filter(|(_, n)| **n > 0)?;
    #[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 pages")]
    let part = amplification * *count as f64 / total as f64;
    Some((cause.clone(), part))
}

/// Returns the words for a cause of flash programs, and what reduces them.
fn cause_words(cause: &str) -> (String, &'static str) {
    match cause {
        "cleaning" => (
            "garbage collection".into(),
            "more over-provisioning, TRIM or less valid data reduces them, and `flashscope what-if` shows by how much",
        ),
        "merge" => (
            "merges of log blocks".into(),
            "sequential writes or a page-mapped FTL avoids them, and `flashscope what-if` shows by how much",
        ),
        "mapping" => (
            "the map".into(),
            "a larger map cache reduces them, and `flashscope what-if` shows by how much",
        ),
        other => (
            other.replace('_', " "),
            "`flashscope what-if` shows which change of the drive reduces them",
        ),
    }
}
