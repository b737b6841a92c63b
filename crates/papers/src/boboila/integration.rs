use std::collections::BTreeMap;

use flashscope_model::trace::{Decomposition, Predictor, Ranges, Space, Stretches};
use flashscope_model::{Model, Uniform};
use flashscope_predict::Request;
use flashscope_predict::drawn::{RSRCH0, Traits};

use super::SEED;
use crate::{Claim, Error, Input, Item, Outcome, Paper, Run, State};

/// Section III.C.
pub(crate) const EQUATION_16: Item = Item {
    id: "boboila-equation16",
    paper: Paper::Boboila,
    place: "Equations 16 to 18",
    title: "performance of a workload as a sum over time and space",
    expected: State::AsPrinted,
    inputs: &[
        Input { name: "logs", summary: "log blocks, Logs", value: "142", other: "284" },
        Input { name: "block", summary: "pages of an erase block, B", value: "64", other: "128" },
    ],
    run,
};

/// The tolerance for rounding.
const EXACT: f64 = 1e-9;

/// The number of writes, and the approximate number of logical pages.
const WRITES: u32 = 50_000;
const PAGES: u64 = 100_000;

/// The writes to the range of one logical block in one interval of time.
#[derive(Default)]
struct Interval {
    /// Pages written, n(i, j) in the paper.
    pages: f64,
    writes: f64,
    /// The sum of the lengths of these writes, in pages.
    lengths: f64,
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    run.check_interrupt()?;
    let (logs, block): (u32, u32) = (run.number("logs")?, run.number("block")?);
    let blocks = u32::try_from(PAGES).unwrap_or(u32::MAX) / block.max(1) + 1;
    let space = Space { pages_per_block: block, logical_blocks: blocks, free_blocks: logs };
    let traits = Traits { requests: WRITES, reads: 0.0, space: PAGES / 2, ..RSRCH0 };
    let range = |error: &dyn std::fmt::Display| Error::input("block", error);
    let mut claims = Vec::new();
    for (name, model, fills) in [("Hybrid Log Block", "bast", false), ("FAST", "fast-2011", true)] {
        let Some(model) = Model::named(model) else { return Err(Error::Failed) };
        let decomposed = Decomposition::new(model, space, Ranges::Whole, Stretches::LogList);
        let mut decomposed = decomposed.map_err(|error| range(&error))?;
        traits.requests(space, SEED).for_each(|write| {
            decomposed.write(write.page.into(), write.pages().into());
        });
        let printed = equation_16(traits.requests(space, SEED), space, model, fills)?;
        let what = format!("{name}: erasures by equations 16 to 18");
        claims.push(Claim::within((what, ""), printed, decomposed.total().erasures, EXACT));
    }
    Ok(claims.into())
}

/// Sums the erasures by equation 16. Time is divided into intervals as long as the log list in
/// pages, and space into logical blocks.
fn equation_16(
    writes: impl Iterator<Item = Request>,
    space: Space,
    model: &Model,
    fills: bool,
) -> Result<f64, Error> {
    let block = u64::from(space.pages_per_block);
    let log_list = u64::from(space.free_blocks) * block;
    let (mut sum, mut stretch, mut pages) = (0.0, BTreeMap::<u64, Interval>::new(), 0);
    for write in writes {
        let (from, to) = (u64::from(write.page), u64::from(write.page + write.pages()));
        for page in from..to {
            let interval = stretch.entry(page / block).or_default();
            interval.pages += 1.0;
            if page == from || page % block == 0 {
                interval.writes += 1.0;
                interval.lengths += f64::from(write.pages());
            }
        }
        pages += to - from;
        if pages >= log_list {
            sum += sum_interval(&stretch, space, model, fills)?;
            (stretch, pages) = (BTreeMap::new(), 0);
        }
    }
    Ok(sum + sum_interval(&stretch, space, model, fills)?)
}

/// Sums over the blocks j of an interval, with f(i, j) by equation 17 and Z(i) by equation 18. Z is
/// 1 for FTLs that fill log blocks one after the other.
fn sum_interval(
    stretch: &BTreeMap<u64, Interval>,
    space: Space,
    model: &Model,
    fills: bool,
) -> Result<f64, Error> {
    let (block, logs) = (f64::from(space.pages_per_block), f64::from(space.free_blocks));
    let written: f64 = stretch.values().map(|interval| interval.pages).sum();
    let used: f64 = stretch.values().map(|interval| (interval.pages / block).ceil()).sum();
    let z = if fills { 1.0 } else { written / (used * block) };
    let one = |interval: &Interval| {
        let free = interval.pages / written * z * logs;
        let uniform = Uniform::new(block, logs / free, free, interval.lengths / interval.writes);
        let uniform = uniform.map_err(|error| Error::input("logs", &error))?;
        Ok(interval.pages * (model.predict)(&uniform).erasures)
    };
    stretch.values().map(one).sum()
}
