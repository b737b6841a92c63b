//! The lines that observers add to the text of a simulation.

use flashscope_block::Nanos;
use flashscope_sim::observe::{ClassUse, UtilizationReport};
use flashscope_simulate::Simulation;

/// Formats a table of the waiting times of flash commands, by class. Returns an empty text if the
/// utilization was not observed.
pub fn queues(simulation: &Simulation) -> String {
    let used = simulation.observations.observed.utilization.as_ref();
    used.map(table).unwrap_or_default()
}

fn table(used: &UtilizationReport) -> String {
    let mut text = format!(
        "\n{:<12}{:>12}  {:>7}  {:>10}  {:>10}  {:>12}  {:>10}\n",
        "flash", "commands", "busy", "mean queue", "mean wait", "longest wait", "suspended"
    );
    used.classes.iter().for_each(|class| text += &row(class));
    text
}

fn row(used: &ClassUse) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown rounded")]
    let mean = used.mean_wait_ns.map_or_else(|| "-".into(), |wait| Nanos(wait as u64).to_string());
    format!(
        "{:<12}{:>12}  {:>5.1} %  {:>10.2}  {:>10}  {:>12}  {:>10}\n",
        used.class.name(),
        used.count,
        100.0 * used.busy_share,
        used.mean_queue_length,
        mean,
        used.max_wait_ns.to_string(),
        used.suspended_ns.to_string()
    )
}

#[cfg(test)]
mod tests {
    use flashscope_sim::sched::Class;

    use super::*;

    #[test]
    fn a_class_is_a_row() {
        let used = ClassUse {
            class: Class::HostRead,
            count: 1200,
            busy_ns: Nanos(10),
            busy_share: 0.256,
            mean_queue_length: 1.5,
            mean_wait_ns: Some(131_000.0),
            max_wait_ns: Nanos(2_000_000),
            suspended_ns: Nanos(0),
        };
        let (row, wait) = (row(&used), Nanos(131_000).to_string());
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words[..6], ["host", "reads", "1200", "25.6", "%", "1.50"]);
        assert!(row.contains(&wait), "{row}");
    }
}
