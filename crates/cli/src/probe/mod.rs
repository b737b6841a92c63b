//! `flashscope probe`.

mod text;

use std::io::Write;
use std::path::{Path, PathBuf};

use flashscope_instrument::probe::{self, ProbeArgs, outcome};
use flashscope_probe::ProbeReport;

pub use text::text;

use crate::progress::LateBar;
use crate::{Failure, stop};

pub fn probe(args: &ProbeArgs) -> Result<(), Failure> {
    if args.list {
        return Ok(write!(std::io::stdout().lock(), "{}", text::list())?);
    }
    let mut bar = LateBar::new();
    let probed = probe::probe(args, stop::flag()?, &mut bar);
    bar.finish();
    let probed = probed?;
    print(args, &probed.report, probed.folder.path())?;
    outcome(&probed.report)
}

fn print(args: &ProbeArgs, report: &ProbeReport, folder: &Path) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)?;
        return Ok(());
    }
    write!(out, "{}", text(report))?;
    let path = folder.display();
    writeln!(out, "\nresult: {path}\nsee it: flashscope report {path}")?;
    let profile: Option<&PathBuf> = args.profile.as_ref().filter(|_| report.profile.is_some());
    if let Some(profile) = profile {
        let path = profile.display();
        writeln!(out, "profile: {path}\nrun it: flashscope simulate --drive sim:./{path}")?;
    }
    Ok(())
}
