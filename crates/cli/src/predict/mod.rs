//! `flashscope predict`.

mod text;

use std::io::Write;

use flashscope_instrument::predict::{self, PredictArgs};

use crate::progress::LateBar;
use crate::{Failure, print, stop};

pub fn predict(args: &PredictArgs) -> Result<(), Failure> {
    if args.list {
        return Ok(write!(std::io::stdout().lock(), "{}", text::list())?);
    }
    let mut bar = LateBar::new();
    let predicted = predict::predict(args, stop::flag()?, &mut bar);
    bar.finish();
    let predicted = predicted?;
    Ok(print::document(args.json, &predicted, || text::text(&predicted))?)
}
