//! The commands and their options, as they are documented.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use flashscope_instrument::MemoryArgs;
use flashscope_instrument::bench::{BenchArgs, PlanArgs};
use flashscope_instrument::predict::PredictArgs;
use flashscope_instrument::probe::ProbeArgs;
use flashscope_instrument::simulate::SimulateArgs;
use flashscope_instrument::sweep::SweepArgs;
use flashscope_instrument::twin::TwinArgs;
use flashscope_instrument::what_if::WhatIfArgs;

use crate::attach::AttachArgs;
use crate::devices::DevicesArgs;
use crate::registry::{RegistryArgs, SubmitArgs};
use crate::reproduce::ReproduceArgs;
use crate::serve::ServeArgs;
use crate::trace::TraceArgs;

/// One instrument for flash storage: measure a drive, see how it behaves.
#[derive(Parser)]
#[command(version = flashscope_instrument::build::VERSION, propagate_version = true, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Devices(DevicesArgs),
    Plan(PlanArgs),
    Bench(BenchArgs),
    Probe(ProbeArgs),
    Twin(TwinArgs),
    Simulate(SimulateArgs),
    WhatIf(WhatIfArgs),
    Sweep(SweepArgs),
    Predict(PredictArgs),
    Trace(TraceArgs),
    Report(ReportArgs),
    Serve(ServeArgs),
    Attach(AttachArgs),
    Registry(RegistryArgs),
    Submit(SubmitArgs),
    Reproduce(ReproduceArgs),
    Demo(DemoArgs),
}

/// Show results: as a page for the browser, or in the terminal.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  flashscope report demo.flashscope
  flashscope report demo.flashscope --output demo.html
  flashscope report old.flashscope new.flashscope --output compared.html
  flashscope report demo.flashscope --terminal")]
pub struct ReportArgs {
    /// The result folders; of several, any can be put beside each other
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,

    /// Write the page here [default: report.html in the result folder, or here for several]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print a summary instead of writing a page
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub terminal: bool,

    /// Print what the page shows as JSON, a line a result (schema: docs/schemas/report.schema.json)
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

/// Measure a simulated drive and write its report, in seconds.
#[derive(clap::Args)]
#[command(after_help = "Example:
  flashscope demo --output /tmp/demo.flashscope")]
pub struct DemoArgs {
    /// Write the result here [default: demo.flashscope, or demo-2.flashscope, …]
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// How much memory.
    #[command(flatten)]
    pub memory: MemoryArgs,
}
