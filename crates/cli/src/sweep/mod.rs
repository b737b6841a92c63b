//! `flashscope sweep`.

use flashscope_instrument::sweep::{Begun, SweepArgs, Swept, outcome};

use crate::progress::LateBar;
use crate::{Failure, print, stop};

pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let begun = Begun::new(args, None)?;
    let mut bar = LateBar::new();
    let swept = begun.explore(args.jobs.count(), None, stop::flag()?, &mut bar);
    bar.finish();
    let swept = swept?;
    print(args.json, &swept)?;
    outcome(&swept)
}

fn print(json: bool, Swept { sweep, path }: &Swept) -> anyhow::Result<()> {
    print::document(json, sweep, || flashscope_report::sweep(sweep) + &print::result(path))
}
