//! Probes random simulated drives, and reports the accuracy.

#![allow(clippy::disallowed_methods, reason = "prints its own figures, not untrusted text")]

use std::io::{Write, stderr, stdout};
use std::path::PathBuf;

use clap::Parser;
use flashscope_document::probe::Parameter;
use flashscope_probe::Event;
use flashscope_probe_bench::held_out::{self, by_disturbance, by_stratum, held_out, overall};
use flashscope_probe_bench::sweep::{Plan, Sweep, faults, sweep};
use flashscope_probe_bench::{figure, page, speed};

/// Probes random simulated drives, and reports the accuracy
#[derive(Parser)]
struct Args {
    /// Number of drives
    #[arg(long, default_value_t = 300)]
    drives: u64,
    /// Seed of the first drive
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Relative standard deviation of response times; each value of a list is a separate sweep
    #[arg(long, value_delimiter = ',', default_value = "0.02")]
    noise: Vec<f64>,
    /// Number of held-out drives of each stratum, of kinds that no probe was developed on
    #[arg(long, default_value_t = 0)]
    held_out: u64,
    /// Probe only the strata whose name contains this text
    #[arg(long, default_value = "")]
    stratum: String,
    /// Parameters to determine, separated by commas; by default all
    #[arg(long, value_delimiter = ',', value_parser = parameter)]
    only: Vec<Parameter>,
    /// Number of drives to probe in parallel
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print the wrong and missing answers, with their drives
    #[arg(long)]
    verbose: bool,
    /// Print the findings about each drive
    #[arg(long)]
    findings: bool,
    /// Print the duration of probing drives of 1 GB
    #[arg(long)]
    speed: bool,
    /// Write probe-accuracy.md and probe-accuracy.svg to this folder
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Accept the option that `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn parameter(name: &str) -> Result<Parameter, String> {
    let unknown = || String::from("no such parameter: see `flashscope probe --list`");
    Parameter::named(name).ok_or_else(unknown)
}

fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let Args { first, drives, jobs, .. } = args;
    let plan = Plan { first, drives, parameters: args.only.clone(), jobs };
    let mut out = stdout();
    let mut sweeps: Vec<Sweep> = Vec::new();
    let strangers = held_out(args.held_out, &args.stratum, &args.only, jobs, &|seed, event| {
        print_event(&args, seed, event);
    });
    if args.verbose {
        write!(out, "{}", faults(strangers.iter().map(|stranger| &stranger.trial)))?;
    }
    if !strangers.is_empty() {
        let all = [overall(&strangers)];
        for scores in [&by_stratum(&strangers), &by_disturbance(&strangers), &all[..]] {
            writeln!(out, "{}", held_out::table(scores))?;
        }
    }
    for noise in &args.noise {
        let swept = sweep(&plan, *noise, &|seed, event| print_event(&args, seed, event));
        if args.verbose {
            write!(out, "{}", swept.faults())?;
        }
        writeln!(out, "{drives} drives, noise of {} %\n{}", 100.0 * noise, swept.table())?;
        sweeps.push(swept);
    }
    if args.speed {
        writeln!(out, "{}", speed::table())?;
    }
    if let Some(folder) = &args.write {
        std::fs::write(folder.join(page::NAME), page::page(&plan, &sweeps, &strangers))?;
        std::fs::write(folder.join(figure::NAME), figure::figure(&sweeps))?;
    }
    Ok(())
}

fn print_event(args: &Args, seed: u64, event: &Event<'_>) {
    if !args.findings {
        return;
    }
    let mut out = stderr().lock();
    // Standard error may be closed; the figures on standard output still matter.
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
