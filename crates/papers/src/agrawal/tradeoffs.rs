use std::thread::available_parallelism;

use flashscope_block::Bytes;
use flashscope_document::sweep::{Effect, Interaction, Sweep, SweepStatus};
use flashscope_sim::setup::{Scope, Transfer};
use flashscope_sim::{Profile, setup};
use flashscope_simulate::Resources;
use flashscope_simulate::sweep::{Runner, Space, explore, finish};

use crate::{Axis, Claim, Error, Figure, Input, Item, Outcome, Paper, Run, Series, State};

/// Table 6, in section 4.4.
pub(crate) const TABLE_6: Item = Item {
    id: "agrawal-table6",
    paper: Paper::Agrawal,
    place: "Table 6",
    title: "SSD design tradeoffs in brief",
    expected: State::NotReproduced,
    inputs: &[
        Input {
            name: "drive",
            summary: "the simulated drive without any of the techniques: a small drive with the paper's chips",
            value: "sim:demo?flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=80&background_cleaning=false&active_blocks=package",
            other: "sim:demo?flash.dies_per_package=1&flash.planes_per_die=1&flash.blocks_per_plane=80&background_cleaning=false&active_blocks=package&flash.page_program=400us",
        },
        Input {
            name: "workload",
            summary: "the workload, with an uneven load, because balancing cannot improve an even load",
            value: "hotcold?hot_space=0.002&hot_writes=0.9&size=4KiB:0.5+32KiB:0.5&queue_depth=8",
            other: "uniform?size=4KiB:0.5+32KiB:0.5&queue_depth=8",
        },
    ],
    run,
};

/// The table as a design space, also usable with `flashscope sweep`.
const SPACE: &str = include_str!("../../../../docs/examples/agrawal-table6.toml");

/// Each technique with the paper's statement: the factor and the objective that show it, and the
/// sign of the effect.
const EFFECTS: [(&str, &str, &str, i8); 7] = [
    ("large allocation pool: load balancing", "packages_per_pool", RATE, 1),
    ("large page size: read-modify-writes", "logical_page_size", "flash_reads.host", 1),
    ("overprovisioning: less cleaning", "over_provisioning", "cleaning.count", -1),
    ("overprovisioning: reduced capacity", "over_provisioning", "drive.capacity_bytes", -1),
    ("ganging: reduced parallelism", "gang.packages", RATE, -1),
    ("striping: concurrency", "stripe", RATE, 1),
    ("striping: loss of locality", "stripe", "cleaning.efficiency", -1),
];

const RATE: &str = "ios_per_second";

/// The packages of a large allocation pool.
const POOL: u32 = 8;

/// The multiplier of a technique: flash pages per logical page, packages per gang.
const TIMES: u32 = 4;

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let sweep = run_sweep(&space(run)?, run)?;
    let (mut claims, mut names, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for (what, factor, objective, sign) in EFFECTS {
        let of = |effect: &&Effect| effect.step.factor == factor && effect.objective == objective;
        let Some(effect) = sweep.effects.iter().find(of) else { return Err(Error::Failed) };
        claims.push(Claim::statement(what, describe(effect), effect.sign == sign));
        // An objective that is 0 without the technique has no relative change.
        if let Some(share) = effect.relative {
            names.push(what);
            changes.push(100.0 * share);
        }
    }
    claims.extend(implied_claims(run.inputs.get("drive"))?);
    claims.push(independence(&sweep));
    let figure = Figure {
        title: "Relative change of the objective by each technique".into(),
        x: Axis::named("technique", &names),
        y: Axis::linear("change (%)"),
        series: vec![Series::bars("change", &changes)],
    };
    Ok(Outcome { claims, figures: vec![figure] })
}

/// Returns the documented space with the drive and the workload of the inputs.
fn space(run: &Run<'_>) -> Result<Space, Error> {
    let replace = |line: &str| {
        let input = line.split_once(" = ").map(|(key, _)| key);
        match input.filter(|key| ["drive", "workload"].contains(key)) {
            Some(key) => format!("{key} = {:?}\n", run.inputs.get(key)),
            None => format!("{line}\n"),
        }
    };
    let text: String = SPACE.lines().map(replace).collect();
    Space::parse(&text).map_err(|error| Error::input("drive", &error))
}

fn run_sweep(space: &Space, run: &Run<'_>) -> Result<Sweep, Error> {
    let jobs = available_parallelism().map_or(1, usize::from);
    let mut progress = ();
    let mut runner = Runner::new(Resources::new(jobs, run.stop), &mut progress);
    let rows = explore(space, &mut |trials| runner.run(trials)).ok_or(Error::Interrupted)?;
    let sweep = finish(space, &rows, SweepStatus::Complete);
    let why = sweep.skipped.first().map(|skipped| skipped.reason.clone());
    why.map_or(Ok(sweep), |why| Err(Error::input("drive", &why)))
}

/// Returns a sentence about the change of a factor and its effect on the objective.
fn describe(effect: &Effect) -> String {
    let (from, to) = (&effect.step.from, &effect.step.to);
    let change = match effect.relative {
        Some(share) => format!("{:+.1} %", 100.0 * share),
        None => format!("{:+.0}, from 0", effect.difference.value),
    };
    let sure = if effect.sign == 0 { ", not significant" } else { "" };
    format!("{} {from} to {to}: {} {change}{sure}", effect.step.factor, effect.objective)
}

/// Checks the statements that follow from the design without a simulation.
fn implied_claims(drive: &str) -> Result<[Claim; 3], Error> {
    let error = |error: &dyn std::fmt::Display| Error::input("drive", error);
    let drive = setup::parse(drive.trim_start_matches("sim:")).map_err(|e| error(&e))?;
    let entries = |profile: &Profile| {
        profile.layout().map(|layout| layout.logical_pages()).map_err(|e| error(&e))
    };
    let large = Bytes(drive.flash.page_size.0 * u64::from(TIMES));
    let tables =
        [entries(&drive)?, entries(&Profile { logical_page_size: large, ..drive.clone() })?];
    let copies_back = |active_blocks| {
        let mut profile = Profile { active_blocks, packages_per_pool: POOL, ..drive.clone() };
        profile.cleaning.transfer = Transfer::CopyBack;
        profile.layout().is_ok()
    };
    let (whole, parts) = (copies_back(Scope::Pool), copies_back(Scope::Plane));
    let buses = drive.flash.packages.div_ceil(TIMES);
    Ok([
        Claim::statement(
            "large allocation pool: few intra-chip ops",
            format!(
                "with one active block per pool, pages {} copied back within a plane; with one per plane they {}",
                if whole { "can be" } else { "cannot be" },
                if parts { "can" } else { "cannot" },
            ),
            !whole && parts,
        ),
        Claim::statement(
            "large page size: small page table",
            format!("{} entries, and {} with pages of {large}", tables[0], tables[1]),
            tables[1] < tables[0],
        ),
        Claim::statement(
            "ganging: sparser wiring",
            format!("{} serial buses, and {buses} with gangs of {TIMES}", drive.flash.packages),
            buses < drive.flash.packages,
        ),
    ])
}

/// Checks that no interaction of two techniques changes the rate as much as half the smallest
/// effect.
fn independence(sweep: &Sweep) -> Claim {
    let on_rate = |objective: &str| objective == RATE;
    let least =
        sweep.effects.iter().filter(|effect| on_rate(&effect.objective) && effect.sign != 0);
    let least = least.map(|effect| effect.difference.value.abs()).fold(f64::MAX, f64::min);
    let significant = |one: &&Interaction| on_rate(&one.objective) && one.sign != 0;
    let size = |one: &&Interaction| one.difference.value.abs();
    let most =
        sweep.interactions.iter().filter(significant).max_by(|a, b| size(a).total_cmp(&size(b)));
    let max_size = most.as_ref().map_or(0.0, size);
    let measured = most.map_or("no interaction is significant".into(), |interaction| {
        let [one, other] = &interaction.steps;
        format!(
            "{} and {} together change the rate by {:+.0} IO/s more than their separate effects; the smallest effect is {least:.0}",
            one.factor, other.factor, interaction.difference.value
        )
    });
    let published = "We believe that these tradeoffs are largely independent of each other";
    Claim::statement(published, measured, max_size < least / 2.0).not_reproduced_if(
        most.is_some_and(|one| {
            one.sign < 0 && one.steps.iter().all(|step| SHARED.contains(&&*step.factor))
        }),
        "pools, gangs and stripes all determine which packages and buses a request waits for: waiting time that one technique \
                removes cannot be removed again by another. The paper leaves the independence to be examined",
    )
}

/// Factors that determine the packages and buses that a request waits for.
const SHARED: [&str; 3] = ["packages_per_pool", "gang.packages", "stripe"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_inputs_are_those_of_the_documented_space() {
        for input in TABLE_6.inputs {
            let line = format!("{} = {:?}", input.name, input.value);
            assert!(SPACE.lines().any(|of| of == line), "{line}");
        }
    }
}
