//! The commands `flashscope bench` and `flashscope plan`.

use flashscope_command::bench::{self, BenchArgs, BenchResult, PlanArgs, outcome};
use flashscope_command::options::JsonArgs;
use flashscope_document::plan::Plan;
use flashscope_measure::order;
use flashscope_report::{Summary, terminal};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let result = LateBar::at_once().watch(|stop, bar| bench::bench(args, stop, bar))?;
    print(args.json, &result)?;
    outcome(&result.folder, &result.manifest)
}

fn print(
    json: JsonArgs,
    BenchResult { folder, manifest, facts }: &BenchResult,
) -> anyhow::Result<()> {
    let result = folder.path().display().to_string();
    let summary = Summary { result, manifest: manifest.clone(), facts: facts.clone() };
    print::document(json, &summary, || terminal(manifest, facts) + &print::result(folder.path()))
}

/// Prints the plan of a benchmark.
pub(crate) fn plan(args: &PlanArgs) -> Result<(), Failure> {
    let plan = LateBar::new().watch(|stop, bar| bench::plan(args, stop, bar))?;
    Ok(print_plan(&plan, args)?)
}

fn print_plan(plan: &Plan, args: &PlanArgs) -> anyhow::Result<()> {
    print::document(args.json, plan, || {
        let written = args.output.as_deref().map(|output| {
            let output = output.display();
            format!("\nplan: {output}\nrun it: flashscope bench --plan {output}\n")
        });
        let text = flashscope_report::plan(plan, &order(&plan.micro_benchmarks));
        text + &written.unwrap_or_default()
    })
}
