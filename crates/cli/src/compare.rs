//! The command `flashscope compare`.

use std::sync::Arc;

use flashscope_command::compare::{self, CompareArgs};
use flashscope_report::comparison;

use crate::progress::LateBar;
use crate::{Failure, print};

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let mut bar = LateBar::new();
    let found = compare::compare(args, &Arc::default(), &mut bar);
    bar.finish();
    let found = found?;
    print::document(args.json, &found, || comparison(&found))?;
    compare::outcome(&found)
}
