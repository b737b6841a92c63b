//! `flashscope reproduce`.

mod args;
mod text;

use std::io::Write;

use anyhow::anyhow;
use flashscope_papers::{Error, ITEMS, Inputs, Item, Reproductions, Run, State, item};

pub use self::args::ReproduceArgs;
use crate::progress::LateBar;
use crate::{Failure, print, stop, usage};

pub fn reproduce(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.items.is_empty() {
        return Ok(write!(std::io::stdout().lock(), "{}", text::list())?);
    }
    let asked = args.items.iter().map(|name| named(name)).collect::<Result<Vec<_>, _>>()?.concat();
    if !args.set.is_empty() && asked.len() != 1 {
        return Err(usage(anyhow!("--set changes what one item rests on: name one item")));
    }
    let stop = stop::flag()?;
    let (mut bar, mut found) = (LateBar::new(), Vec::new());
    for (done, item) in (0..).zip(&asked) {
        bar.show("reproducing", done, Some(asked.len() as u64));
        let mut inputs = Inputs::of(item.inputs);
        for (name, value) in &args.set {
            inputs.set(name, value).map_err(usage)?;
        }
        let run = Run { inputs, full: args.full, stop };
        found.push(item.reproduce(&run).map_err(failure)?);
    }
    bar.finish();
    let found = Reproductions::new(found);
    print::document(args.json, &found, || text::text(&found))?;
    match found.state {
        State::Fail => Err(Failure::Failed(anyhow!("not all is found as it is printed"))),
        State::Pass | State::Explained => Ok(()),
    }
}

/// The items of a name.
fn named(name: &str) -> Result<Vec<&'static Item>, Failure> {
    if name == "all" {
        return Ok(ITEMS.to_vec());
    }
    item(name).map(|item| vec![item]).ok_or_else(|| {
        let meant = flashscope_block::nearest(name, ITEMS.iter().map(|item| item.id));
        let meant = meant.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
        usage(anyhow!("`{name}` is no item{meant}; `flashscope reproduce` lists them all"))
    })
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Input { .. } => usage(error),
        Error::Failed | Error::Interrupted => Failure::Failed(error.into()),
    }
}
