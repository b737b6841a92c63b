//! `flashscope predict`.

pub(crate) mod text;

use std::io::Write;

use flashscope_command::predict::{self, PredictArgs};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn predict(args: &PredictArgs) -> Result<(), Failure> {
    if args.list.is_given {
        return Ok(write!(print::text_lines(), "{}", text::list())?);
    }
    let report = LateBar::new().watch(|stop, bar| predict::predict(args, stop, bar))?;
    Ok(print::document(args.json, &report, || text::text(&report))?)
}
