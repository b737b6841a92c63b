//! The command `flashscope reproduce`.

mod args;
mod book;
mod text;

use std::io::Write;

use anyhow::anyhow;
use flashscope_block::suggestion;
use flashscope_command::{PartialResult, Progress, Step, Unit};
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_drive::Clock;
use flashscope_papers::{Error, ITEMS, Inputs, Item, Reproduction, Reproductions, Run, item};

pub(crate) use self::args::ReproduceArgs;
use crate::progress::LateBar;
use crate::{Failure, print, stop, usage};

/// The name that stands for all items.
const ALL: &str = "all";

pub(crate) fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.items.is_empty() {
        return Ok(write!(print::text_lines(), "{}", text::list())?);
    }
    let items = args.items.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?.concat();
    if !args.set.is_empty() && items.len() != 1 {
        return Err(usage(anyhow!("--set changes the inputs of one item: name a single item")));
    }
    let all = args.items.iter().any(|name| name == ALL);
    let page = args.output.is_some() || all && !args.json.is_given;
    let page = page.then(|| book::file(args.output.as_deref())).transpose()?;
    let (done, failure) = run(args, &items, all && !args.json.is_given)?;
    if done.is_empty() {
        return failure.map_or(Ok(()), Err);
    }
    let reproductions = Reproductions::new(done, &items);
    if let Some(page) = &page {
        book::write(&reproductions, page)?;
    }
    let page = page.map(|page| format!("{}\n", page.display())).unwrap_or_default();
    let text = || if all { text::sum(&reproductions) } else { text::text(&reproductions) };
    print::document(args.json, &reproductions, || text() + &page)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let unexplained = reproductions.items.iter().flat_map(|item| &item.claims);
    match unexplained.filter(|claim| claim.is_unexplained()).count() {
        0 => Ok(()),
        1 => Err(Failure::Failed(anyhow!("1 claim is not reproduced for an unknown reason"))),
        count => {
            let text = format!("{count} claims are not reproduced for unknown reasons");
            Err(Failure::Failed(anyhow!(text)))
        }
    }
}

/// Reproduces items until one fails or is interrupted. Returns the finished items, and that
/// failure. With `lines`, prints
/// a line for each item.
fn run(
    args: &ReproduceArgs,
    items: &[&Item],
    lines: bool,
) -> Result<(Vec<Reproduction>, Option<Failure>), Failure> {
    let (stop, clock) = (stop::flag()?, Clock::new());
    let (mut bar, mut reproduced) = (LateBar::new(), Vec::new());
    let mut failure = None;
    for (done, item) in (0..).zip(items) {
        let (total, unit) = (Some(items.len() as u64), Unit::Count);
        let now = format!("{}, {}", item.paper, item.place);
        Progress::show(&mut bar, &Step { phase: "reproducing", now: &now, done, total, unit });
        let mut inputs = Inputs::of(item.inputs);
        for (name, value) in &args.set {
            inputs.set(name, value).map_err(usage)?;
        }
        let began = clock.now();
        match item.reproduce(&Run { inputs, full: args.full, stop }) {
            Ok(item) => reproduced.push(item),
            Err(error) => {
                failure = Some(failed(error));
                break;
            }
        }
        if let Some(item) = reproduced.last() {
            found(&mut bar, done, item);
        }
        if let Some(item) = reproduced.last().filter(|_| lines) {
            let line = text::line(item, clock.now() - began);
            bar.aside(|| write!(print::text_lines(), "{line}"))?;
        }
    }
    bar.finish();
    Ok((reproduced, failure))
}

/// Reports the share of an item's claims that are reproduced or explained.
#[allow(clippy::cast_precision_loss, reason = "an item has far fewer than 2^53 claims")]
fn found(bar: &mut LateBar, done: u64, item: &Reproduction) {
    let all = item.claims.len().max(1) as f64;
    let unexplained = item.claims.iter().filter(|claim| claim.is_unexplained()).count() as f64;
    Progress::found(
        bar,
        &PartialResult {
            chart: "Claims reproduced or explained",
            x_axis: "item",
            series: "share",
            x: done as f64 + 1.0,
            what: &format!("{}: claims reproduced or explained", item.id),
            value: 1.0 - unexplained / all,
            unit: EvidenceUnit::Share,
        },
    );
}

/// Returns the items of a name.
fn named(name: &str) -> Result<Vec<&'static Item>, Failure> {
    if name == ALL {
        return Ok(ITEMS.to_vec());
    }
    item(name).map(|item| vec![item]).ok_or_else(|| {
        let near = suggestion(name, ITEMS.iter().map(|item| item.id));
        usage(anyhow!("`{name}` is not an item{near}; `flashscope reproduce` lists them all"))
    })
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Input { .. } => usage(error),
        Error::Failed | Error::Bench(_) => Failure::Failed(error.into()),
        Error::Interrupted => Failure::Interrupted(error.into()),
    }
}
