//! The command `flashscope import`.

use std::sync::atomic::AtomicBool;

use flashscope_command::import::{self, ImportArgs, ImportResult};
use flashscope_report::{Summary, terminal};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn import(args: &ImportArgs) -> Result<(), Failure> {
    let mut bar = LateBar::new();
    let imported = import::import(args, &AtomicBool::new(false), &mut bar);
    bar.finish();
    let ImportResult { path, manifest, facts } = imported?;
    let text = terminal(&manifest, &facts) + &print::result(&path);
    let summary = Summary { result: path.display().to_string(), manifest, facts };
    Ok(print::document(args.json, &summary, || text)?)
}
