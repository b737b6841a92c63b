//! `flashscope bench` and `flashscope plan`.

use std::io::Write;

use flashscope_instrument::bench::{self, BenchArgs, Benched, PlanArgs, outcome};
use flashscope_measure::order;
use flashscope_report::{Summary, terminal};
use flashscope_result::plan::Plan;

use crate::progress::LateBar;
use crate::{Failure, stop};

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let mut bar = LateBar::at_once();
    let benched = bench::bench(args, stop::flag()?, &mut bar);
    bar.finish();
    let benched = benched?;
    print(args.json, &benched)?;
    outcome(&benched.manifest)
}

fn print(json: bool, Benched { folder, manifest, facts }: &Benched) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        let result = folder.path().display().to_string();
        let summary = Summary { result, manifest: manifest.clone(), facts: facts.clone() };
        serde_json::to_writer_pretty(&mut out, &summary)?;
        writeln!(out)?;
    } else {
        let path = folder.path().display();
        write!(out, "{}", terminal(manifest, facts))?;
        writeln!(out, "\nresult: {path}\nsee it: flashscope report {path}")?;
    }
    Ok(())
}

/// Prints the plan of a benchmark.
pub fn plan(args: &PlanArgs) -> Result<(), Failure> {
    let mut bar = LateBar::new();
    let plan = bench::plan(args, stop::flag()?, &mut bar);
    bar.finish();
    Ok(print_plan(&plan?, args)?)
}

fn print_plan(plan: &Plan, args: &PlanArgs) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, plan)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", flashscope_report::plan(plan, &order(&plan.micro_benchmarks)))?;
    if let Some(output) = &args.output {
        let output = output.display();
        writeln!(out, "\nplan: {output}\nrun it: flashscope bench --plan {output}")?;
    }
    Ok(())
}
