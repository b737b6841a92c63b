//! The command `flashscope sweep`.

mod ray;

use flashscope_command::options::JsonArgs;
use flashscope_command::sweep::{Engine, PreparedSweep, SweepArgs, SweepResult, outcome};
use flashscope_simulate::Resources;

use crate::progress::LateBar;
use crate::{Failure, print, stop};

pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let swept = match args.engine {
        Engine::Local => here(args)?,
        Engine::Ray => ray::sweep(args, stop::flag()?)?,
    };
    print(args.json, &swept)?;
    outcome(&swept)
}

fn here(args: &SweepArgs) -> Result<SweepResult, Failure> {
    let begun = PreparedSweep::new(args, None)?;
    LateBar::new().watch(|stop, bar| {
        let resources = Resources { jobs: args.jobs.count(), memory: args.memory.budget(), stop };
        begun.explore(resources, None, bar)
    })
}

fn print(json: JsonArgs, SweepResult { sweep, path }: &SweepResult) -> anyhow::Result<()> {
    print::document(json, sweep, || flashscope_report::sweep(sweep) + &print::result(path))
}
