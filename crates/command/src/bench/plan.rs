//! `flashscope plan`: plans a benchmark without running it.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a plan, and the removal of the file that it created as a drive: the plan gets a name that nothing has; the guard opened the file first, under a name that was free"
    )
)]

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use flashscope_analysis::{analyse, costs};
use flashscope_block::Device;
use flashscope_document::plan::{Costs, Estimate, PLAN_SCHEMA_VERSION, Plan};
use flashscope_measure::BudgetedPlan;
use flashscope_result::{ResultFolder, write_output};

use super::args::PlanArgs;
use super::request::BenchRequest;
use crate::{Failure, Progress, build, drives, usage};

/// Plans a benchmark and saves the plan.
///
/// # Errors
/// If the request is invalid, or the plan cannot be saved.
pub fn plan(args: &PlanArgs, stop: &AtomicBool, sink: &mut dyn Progress) -> Result<Plan, Failure> {
    let mut request = BenchRequest::new(&args.options, None, 0)?;
    request.purpose.memory = args.memory.budget();
    let like = args.like.as_deref().map(costs_of).transpose()?;
    if let Some(output) = args.output.as_ref().filter(|output| output.exists()) {
        return Err(usage(anyhow!("{} exists already: choose another name", output.display())));
    }
    // An existing drive is only read. A missing file is created, and removed again.
    let new_file = drives::file_to_create(&args.drive);
    request.purpose.write = new_file.is_some();
    let mut device = drives::open(&args.drive, &request.purpose)?;
    let result = plan_drive(&request, device.as_mut(), like, args, (stop, sink));
    drop(device);
    // If the drive cannot be opened, the function returns before it removes the file: another
    // program may have created the file in the meantime.
    if let Some(path) = new_file {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    let plan = result?;
    if let Some(output) = &args.output {
        save(&plan, output)?;
    }
    Ok(plan)
}

fn plan_drive(
    request: &BenchRequest,
    device: &mut dyn Device,
    like: Option<Costs>,
    args: &PlanArgs,
    (stop, sink): (&AtomicBool, &mut dyn Progress),
) -> Result<Plan, Failure> {
    let BudgetedPlan { options, micro_benchmarks, estimate, left_out } =
        request.estimated(device, like, stop, sink)?;
    #[allow(clippy::cast_precision_loss)]
    let share = args
        .endurance
        .map(|endurance| estimate.expected.bytes_written.0 as f64 / endurance.0.max(1) as f64);
    Ok(Plan {
        schema_version: PLAN_SCHEMA_VERSION,
        tool: build::tool(),
        device: device.info().clone(),
        options,
        estimate: Estimate { endurance_share: share, ..estimate },
        left_out,
        micro_benchmarks,
    })
}

/// Returns the cost of IOs in an earlier result.
fn costs_of(path: &Path) -> Result<Costs, Failure> {
    let (folder, manifest) = ResultFolder::open(path).map_err(usage)?;
    let facts = analyse(&folder, &manifest)?;
    costs(&manifest, &facts).ok_or_else(|| {
        usage(anyhow!("{} has no reads from which to estimate the cost of IOs", path.display()))
    })
}

fn save(plan: &Plan, path: &Path) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(plan)? + "\n";
    Ok(write_output(path, &text)?)
}

/// Reads a saved plan.
pub(super) fn read(path: &Path) -> Result<Plan, Failure> {
    let text = fs::read(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(Failure::Usage)?;
    let plan: Plan = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not a plan saved by `flashscope plan`", path.display()))
        .map_err(Failure::Usage)?;
    let (version, known) = (plan.schema_version, PLAN_SCHEMA_VERSION);
    if version > known {
        let path = path.display();
        return Err(usage(anyhow!(
            "{path} has format version {version}; this flashscope reads up to {known}: run `flashscope plan` again"
        )));
    }
    Ok(plan)
}
