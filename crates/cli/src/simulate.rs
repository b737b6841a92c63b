//! The command `flashscope simulate`.

use std::io::Write;

use flashscope_block::Nanos;
use flashscope_command::simulate::{self, SimulateArgs};
use flashscope_report::table::Table;
use flashscope_sim::observe::{self, ClassUse, UtilizationReport};
use flashscope_sim::setup;
use flashscope_simulate::Simulation;
use flashscope_workload::Field;
use flashscope_workload::synthetic;

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn simulate(args: &SimulateArgs) -> Result<(), Failure> {
    if args.list.is_given {
        return Ok(write!(print::text_lines(), "{}", list())?);
    }
    let done = LateBar::new().watch(|stop, bar| simulate::simulate(args, stop, bar, None))?;
    print(args, &done.simulation)?;
    done.outcome()
}

/// Formats a table of the waiting times of flash commands, by class. Returns an empty text if the
/// utilization was not observed.
fn queues(simulation: &Simulation) -> String {
    let used = simulation.observations.observed.utilization.as_ref();
    used.map(|used| format!("\n{}", table(used))).unwrap_or_default()
}

fn table(used: &UtilizationReport) -> Table {
    let mut table = Table::of_numbers();
    let heads = ["commands", "busy", "mean queue", "mean wait", "longest wait", "suspended"];
    table.row(["flash"].into_iter().chain(heads));
    used.classes.iter().for_each(|class| table.row(row(class)));
    table
}

fn row(used: &ClassUse) -> [String; 7] {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and shown rounded"
    )]
    let mean = used.mean_wait_ns.map_or_else(|| "-".into(), |wait| Nanos(wait as u64).to_string());
    [
        used.class.name().into(),
        used.count.to_string(),
        format!("{:.1} %", 100.0 * used.busy_share),
        format!("{:.2}", used.mean_queue_length),
        mean,
        used.max_wait_ns.to_string(),
        used.suspended_ns.to_string(),
    ]
}

fn print(args: &SimulateArgs, simulation: &Simulation) -> anyhow::Result<()> {
    print::document(args.json, simulation, || {
        let text = flashscope_report::simulation(simulation) + &queues(simulation);
        text + &args.output.folder.as_deref().map(print::result).unwrap_or_default()
    })
}

/// Lists the simulated drives, the workloads and their fields, and the observers.
fn list() -> String {
    let mut text = String::from("drives (--drive), with any field of a profile after `?`:\n");
    for kind in setup::KINDS {
        text += &format!("  {:<14} {}\n", kind.name, kind.summary);
    }
    text += "\nworkloads (--workload), with any of their fields after `?`:\n";
    for kind in synthetic::KINDS {
        let argument = kind.argument.map(|argument| format!(":{argument}")).unwrap_or_default();
        text += &format!("  {}{argument}\n      {}\n", kind.name, kind.summary);
        if let Some(leaves_out) = kind.leaves_out {
            text += &format!("      leaves out: {leaves_out}\n");
        }
        for field in kind.fields {
            text += &describe(field);
        }
        let common: Vec<_> = kind.common.iter().map(|field| field.name).collect();
        text += &format!("      and {}: see below\n", common.join(", "));
    }
    text += "\nobservers (--observe, and events by --trace-events):\n";
    for kind in observe::KINDS {
        text += &format!("  {}\n      {}: {}\n", kind.name, kind.summary, kind.yields);
    }
    text += "\nfields that workloads share:\n";
    let mut shared: Vec<&Field> = Vec::new();
    for field in synthetic::KINDS.iter().flat_map(|kind| kind.common) {
        if !shared.iter().any(|known| known.name == field.name) {
            shared.push(field);
            text += &describe(field);
        }
    }
    text
}

fn describe(field: &Field) -> String {
    let default = field.default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
    format!("      {:<12} {}{default}\n", field.name, field.summary)
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
        let wait = Nanos(131_000).to_string();
        assert_eq!(row(&used)[..5], ["host reads", "1200", "25.6 %", "1.50", &wait]);
    }
}
