//! The command `flashscope query`.

use std::io::Write;
use std::sync::Arc;

use flashscope_command::query::{self, QueryArgs};
use flashscope_report::{matches, query_fields};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn query(args: &QueryArgs) -> Result<(), Failure> {
    if args.list.is_given {
        return Ok(write!(print::text_lines(), "{}", query_fields())?);
    }
    let mut bar = LateBar::new();
    let found = query::query(args, &Arc::default(), &mut bar);
    bar.finish();
    let found = found?;
    Ok(print::document(args.json, &found, || matches(&found))?)
}
