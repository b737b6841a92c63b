//! The command `flashscope probe`.

mod text;

use std::io::Write;
use std::path::Path;

use flashscope_command::probe::{self, ProbeArgs, outcome};
use flashscope_document::probe::ProbeReport;

pub(crate) use text::text;

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn probe(args: &ProbeArgs) -> Result<(), Failure> {
    if args.list.is_given {
        return Ok(write!(print::text_lines(), "{}", text::list())?);
    }
    let result = LateBar::new().watch(|stop, bar| probe::probe(args, stop, bar))?;
    print(args, &result.report, result.folder.path())?;
    outcome(&result.report)
}

fn print(args: &ProbeArgs, report: &ProbeReport, folder: &Path) -> anyhow::Result<()> {
    print::document(args.json, report, || {
        let profile = args.profile.as_deref().filter(|_| report.profile.is_some()).map(|profile| {
            let path = profile.display();
            format!("profile: {path}\nrun it: flashscope simulate --drive sim:./{path}\n")
        });
        text(report) + &print::result(folder) + &profile.unwrap_or_default()
    })
}
