//! The command `flashscope twin`.

pub(crate) mod text;

use std::path::Path;

use flashscope_command::twin::{self, FitArgs, TwinArgs, TwinCommand};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn twin(args: &TwinArgs) -> Result<(), Failure> {
    match &args.command {
        TwinCommand::Fit(args) => fit(args),
        TwinCommand::Check(args) => {
            let check = LateBar::new().watch(|stop, bar| twin::check(args, stop, bar))?;
            Ok(print::document(args.json, &check, || text::check(&check))?)
        }
        TwinCommand::Predict(args) => {
            let prediction = LateBar::new().watch(|stop, bar| twin::predict(args, stop, bar))?;
            Ok(print::document(args.json, &prediction, || text::prediction(&prediction))?)
        }
    }
}

fn fit(args: &FitArgs) -> Result<(), Failure> {
    let twin = LateBar::new().watch(|stop, bar| twin::fit(args, stop, bar))?;
    let scaled = twin::scaled(&twin)?;
    Ok(print::document(args.json, &twin, || {
        let (text, path, spec) = (text::twin(&twin), args.output.display(), spec(&args.output));
        let run = match &scaled {
            None => format!("run it: flashscope simulate --drive {spec}\n"),
            Some((fields, scale)) => format!(
                "run it, scaled down {scale:.1} times: flashscope simulate --drive '{spec}?{fields}'\n\
                 run it at full size: flashscope simulate --drive {spec}\n"
            ),
        };
        format!("{text}\nprofile: {path}\n{run}")
    })?)
}

/// Returns the value of `--drive` for the profile at `path`.
fn spec(path: &Path) -> String {
    let place = if path.is_absolute() { "" } else { "./" };
    format!("sim:{place}{}", path.display())
}
