//! Probes random simulated drives and says how often it was right.

#![allow(clippy::disallowed_methods, reason = "prints figures of its own, no untrusted text")]

use std::io::{Write, stderr, stdout};
use std::path::PathBuf;

use clap::Parser;
use flashscope_probe::{Event, Parameter};
use flashscope_probe_bench::sweep::{Plan, Sweep, sweep};
use flashscope_probe_bench::{figure, page, speed};

/// Probes random simulated drives and says how often it was right.
#[derive(Parser)]
struct Args {
    /// How many drives
    #[arg(long, default_value_t = 300)]
    drives: u64,
    /// The first of their seeds
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// The deviation of response times, as a share of them; several are probed one after the other
    #[arg(long, value_delimiter = ',', default_value = "0.02")]
    noise: Vec<f64>,
    /// Parameters to look for, separated by commas; all if none is given
    #[arg(long, value_delimiter = ',', value_parser = parameter)]
    only: Vec<Parameter>,
    /// How many drives at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print every drive with an answer that is not right, and those answers
    #[arg(long)]
    verbose: bool,
    /// Print what was found of each drive
    #[arg(long)]
    findings: bool,
    /// Print how long the probe of drives of 1 GB takes
    #[arg(long)]
    speed: bool,
    /// Write probe-accuracy.md and probe-accuracy.svg to this folder
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Takes what `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn parameter(name: &str) -> Result<Parameter, String> {
    let unknown = || String::from("no such parameter; `flashscope probe --list` names all");
    Parameter::named(name).ok_or_else(unknown)
}

fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let Args { first, drives, jobs, .. } = args;
    let plan = Plan { first, drives, wanted: args.only.clone(), jobs };
    let mut out = stdout();
    let mut sweeps: Vec<Sweep> = Vec::new();
    for noise in &args.noise {
        let swept = sweep(&plan, *noise, &|seed, event| tell(&args, seed, event));
        if args.verbose {
            write!(out, "{}", swept.not_right())?;
        }
        writeln!(out, "{drives} drives, noise of {} %\n{}", 100.0 * noise, swept.table())?;
        sweeps.push(swept);
    }
    if args.speed {
        writeln!(out, "{}", speed::table())?;
    }
    if let Some(folder) = &args.write {
        std::fs::write(folder.join(page::NAME), page::page(&plan, &sweeps))?;
        std::fs::write(folder.join(figure::NAME), figure::figure(&sweeps))?;
    }
    Ok(())
}

fn tell(args: &Args, seed: u64, event: &Event<'_>) {
    if !args.findings {
        return;
    }
    let mut out = stderr().lock();
    // Who closed standard error does not want to know.
    let _ = match event {
        Event::Begins { probe, attempt } => writeln!(out, "{seed}: {} ({attempt})", probe.name),
        Event::Found(finding) => writeln!(
            out,
            "{seed}:   {} {:?} {:.2}: {}",
            finding.parameter.name(),
            finding.answer,
            finding.probability,
            finding.because
        ),
        Event::Contradicted { probe, contradiction } => {
            writeln!(out, "{seed}: {} contradicts {contradiction:?}", probe.name)
        }
    };
}
