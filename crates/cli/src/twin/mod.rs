//! `flashscope twin`.

mod text;

use std::path::Path;

use flashscope_instrument::twin::{self, FitArgs, TwinArgs, TwinCommand};

use crate::progress::LateBar;
use crate::{Failure, print, stop};

pub fn twin(args: &TwinArgs) -> Result<(), Failure> {
    match &args.command {
        TwinCommand::Fit(args) => fit(args),
        TwinCommand::Check(args) => {
            let checked = twin::check(args, stop::flag()?)?;
            Ok(print::document(args.json, &checked, || text::check(&checked))?)
        }
        TwinCommand::Predict(args) => {
            let predicted = twin::predict(args, stop::flag()?)?;
            Ok(print::document(args.json, &predicted, || text::prediction(&predicted))?)
        }
    }
}

fn fit(args: &FitArgs) -> Result<(), Failure> {
    let mut bar = LateBar::new();
    let twin = twin::fit(args, stop::flag()?, &mut bar);
    bar.finish();
    let twin = twin?;
    Ok(print::document(args.json, &twin, || {
        let (text, path, spec) = (text::twin(&twin), args.output.display(), spec(&args.output));
        format!("{text}\nprofile: {path}\nrun it: flashscope simulate --drive {spec}\n")
    })?)
}

/// What `--drive` takes for the profile at `path`.
fn spec(path: &Path) -> String {
    let place = if path.is_absolute() { "" } else { "./" };
    format!("sim:{place}{}", path.display())
}
