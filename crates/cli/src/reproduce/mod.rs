//! `flashscope reproduce`.

mod args;
mod book;
mod text;

use std::io::Write;

use anyhow::anyhow;
use flashscope_command::{Progress, Step, Unit};
use flashscope_drive::Clock;
use flashscope_papers::{
    Error, ITEMS, Inputs, Item, Reproduction, Reproductions, Run, State, item,
};

pub use self::args::ReproduceArgs;
use crate::progress::LateBar;
use crate::{Failure, print, stop, usage};

/// Stands for every item.
const ALL: &str = "all";

pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.items.is_empty() {
        return Ok(write!(print::text_lines(), "{}", text::list())?);
    }
    let asked = args.items.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?.concat();
    if !args.set.is_empty() && asked.len() != 1 {
        return Err(usage(anyhow!("--set changes what one item rests on: name one item")));
    }
    let all = args.items.iter().any(|name| name == ALL);
    let page = args.output.is_some() || all && !args.json.is_given;
    let page = page.then(|| book::file(args.output.as_deref())).transpose()?;
    let (found, failure) = run(args, &asked, all && !args.json.is_given)?;
    if found.is_empty() {
        return failure.map_or(Ok(()), Err);
    }
    let found = Reproductions::new(found, &asked);
    if let Some(page) = &page {
        book::write(&found, page)?;
    }
    let page = page.map(|page| format!("{}\n", page.display())).unwrap_or_default();
    let words = || if all { text::sum(&found) } else { text::text(&found) };
    print::document(args.json, &found, || words() + &page)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    match found.state {
        State::Fail => Err(Failure::Failed(anyhow!("not all is found as it is printed"))),
        State::Pass | State::Explained => Ok(()),
    }
}

/// What comes of some items up to one that nothing comes of, and why that is; with a line printed for each, where that
/// is asked for.
fn run(
    args: &ReproduceArgs,
    asked: &[&Item],
    lines: bool,
) -> Result<(Vec<Reproduction>, Option<Failure>), Failure> {
    let (stop, clock) = (stop::flag()?, Clock::new());
    let (mut bar, mut found) = (LateBar::new(), Vec::new());
    let mut failure = None;
    for (done, item) in (0..).zip(asked) {
        let (total, unit) = (Some(asked.len() as u64), Unit::Count);
        let now = format!("{}, {}", item.paper, item.place);
        Progress::show(&mut bar, &Step { phase: "reproducing", now: &now, done, total, unit });
        let mut inputs = Inputs::of(item.inputs);
        for (name, value) in &args.set {
            inputs.set(name, value).map_err(usage)?;
        }
        let began = clock.now();
        match item.reproduce(&Run { inputs, full: args.full, stop }) {
            Ok(item) => found.push(item),
            Err(error) => {
                failure = Some(failed(error));
                break;
            }
        }
        if let Some(item) = found.last().filter(|_| lines) {
            let line = text::line(item, clock.now() - began);
            bar.aside(|| write!(print::text_lines(), "{line}"))?;
        }
    }
    bar.finish();
    Ok((found, failure))
}

/// The items of a name.
fn named(name: &str) -> Result<Vec<&'static Item>, Failure> {
    if name == ALL {
        return Ok(ITEMS.to_vec());
    }
    item(name).map(|item| vec![item]).ok_or_else(|| {
        let meant = flashscope_block::nearest(name, ITEMS.iter().map(|item| item.id));
        let meant = meant.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
        usage(anyhow!("`{name}` is no item{meant}; `flashscope reproduce` lists them all"))
    })
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Input { .. } => usage(error),
        Error::Failed => Failure::Failed(error.into()),
        Error::Interrupted => Failure::Interrupted(error.into()),
    }
}
