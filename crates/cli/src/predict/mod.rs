//! The command `flashscope predict`.

pub(crate) mod text;

use std::io::Write;

use flashscope_command::predict::{self, PredictArgs};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn predict(args: &PredictArgs) -> Result<(), Failure> {
    if args.list.is_given {
        return Ok(write!(print::text_lines(), "{}", text::list())?);
    }
    if let Some(folder) = &args.collection {
        let predicted = LateBar::new()
            .watch(|stop, bar| predict::predict_collection(args, folder, (stop, bar)))?;
        let shown = || flashscope_report::collection_prediction(&predicted);
        return Ok(print::document(args.json, &predicted, shown)?);
    }
    let report = LateBar::new().watch(|stop, bar| predict::predict(args, stop, bar))?;
    Ok(print::document(args.json, &report, || text::text(&report))?)
}
