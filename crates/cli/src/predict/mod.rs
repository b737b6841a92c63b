//! `flashscope predict`.

mod text;

use std::io::Write;

use flashscope_instrument::predict::{self, PredictArgs};
use flashscope_twin::predict::PredictionReport;

use crate::progress::LateBar;
use crate::{Failure, stop};

pub fn predict(args: &PredictArgs) -> Result<(), Failure> {
    if args.list {
        return Ok(write!(std::io::stdout().lock(), "{}", text::list())?);
    }
    let mut bar = LateBar::new();
    let predicted = predict::predict(args, stop::flag()?, &mut bar);
    bar.finish();
    print(args, &predicted?)
}

fn print(args: &PredictArgs, report: &PredictionReport) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", text::text(report))?;
    }
    Ok(())
}
