//! `flashscope simulate`.

use std::io::Write;

use flashscope_command::simulate::{self, SimulateArgs};
use flashscope_sim::observe;
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

fn print(args: &SimulateArgs, simulation: &Simulation) -> anyhow::Result<()> {
    print::document(args.json, simulation, || {
        let text = flashscope_report::simulation(simulation) + &simulate::queues(simulation);
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
