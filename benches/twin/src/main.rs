//! How well twins of random simulated drives predict what they were not fitted to.

mod hidden;

use std::io::{Write, stderr, stdout};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Parser;
use flashscope_block::{Device, Nanos};
use flashscope_probe_bench::trial::probe;
use flashscope_sim::{Profile, profile};
use flashscope_twin::fit::{Target, search};

/// How well twins of random simulated drives predict what they were not fitted to.
#[derive(Parser)]
struct Args {
    /// How many drives
    #[arg(long, default_value_t = 100)]
    drives: u64,
    /// The first of their seeds
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// How many simulations at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print each step of a fit, and each prediction
    #[arg(long)]
    verbose: bool,
    /// Leave the probe away: structure is found by trying alone
    #[arg(long)]
    blind: bool,
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads clocks")]
fn now() -> Instant {
    Instant::now()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let stop = AtomicBool::new(false);
    for seed in args.first..args.first + args.drives {
        let spec = hidden::spec(seed);
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        let begun = now();
        let fitted = [hidden::measure(&spec, seed, &hidden::FITTED, &at("fit.flashscope"))?];
        let held = hidden::measure(&spec, seed + 1, &hidden::PREDICTED, &at("held.flashscope"))?;
        writeln!(stdout(), "{seed}: {spec}")?;
        let measured = begun.elapsed();
        let mut starts = vec![profile::parse("agrawal-2008?persistence.map=pages&flash.dies_per_package=1&flash.planes_per_die=1&flash.packages=4")?];
        let begun = now();
        if !args.blind {
            let mut drive = flashscope_sim::open(&spec)?;
            let found = probe(&mut drive, seed, &[], &mut |_| {}).map_err(|_| "the probe failed")?;
            let text = flashscope_probe::profile(&found.knowledge, drive.info());
            if let Some(text) = text {
                std::fs::write(at("probe.toml"), &text)?;
                let path = at("probe.toml");
                starts = vec![profile::parse(path.to_str().unwrap_or_default())?];
            }
        }
        let probed = begun.elapsed();
        let target = Target { measured: &fitted, stop: &stop, threads: args.jobs };
        let truth: Profile = profile::parse(&spec)?;
        let begun = now();
        let exact = target.simulate(std::slice::from_ref(&truth));
        let one = begun.elapsed();
        writeln!(stdout(), "  measured {measured:?} probed {probed:?} one {one:?} runs {} truth {:?}", target.runs(), exact[0].as_ref().map(|t| t.misfit))?;
        let begun = now();
        let found = search(&target, &starts, &mut |what, misfit| {
            if args.verbose {
                let _ = writeln!(stderr(), "  {what}: {misfit:.4}");
            }
        });
        let found = match found { Ok(found) => found, Err(error) => { writeln!(stdout(), "  {error}")?; continue; } };
        writeln!(stdout(), "  fit {:?} misfit {:.4}", begun.elapsed(), found.best.misfit)?;
        for ((name, true_value), (_, value)) in truth.fields().iter().zip(found.best.profile.fields()) {
            if *true_value != value { writeln!(stdout(), "    {name}: {true_value} fitted {value}")?; }
        }
        let predicted = held.simulate(&found.best.profile, &stop);
        let Some(predicted) = predicted else { writeln!(stdout(), "  no prediction")?; continue };
        let mut errors: [Vec<f64>; 2] = [vec![], vec![]];
        for (run, numbers) in held.runs.iter().zip(&predicted) {
            for (which, at) in [0, 4].into_iter().enumerate() {
                errors[which].push((numbers[at] / run.numbers[at] - 1.0).abs());
            }
            if args.verbose {
                writeln!(stdout(), "    {}: {:.0} predicted {:.0}; p99 {:.0} {:.0}", run.title, run.numbers[0], numbers[0], run.numbers[4], numbers[4])?;
            }
        }
        for (name, errors) in ["mean", "p99"].iter().zip(&mut errors) {
            errors.sort_by(f64::total_cmp);
            writeln!(stdout(), "  {name}: median {:.4} p90 {:.4}", errors[errors.len() / 2], errors[errors.len() * 9 / 10])?;
        }
        let _ = Nanos(0);
    }
    Ok(())
}
