//! The command `flashscope trace collection`.

use flashscope_command::trace::collection::{CollectionArgs, CollectionResult, PreparedCollection};

use crate::progress::LateBar;
use crate::{Failure, print};

pub(super) fn collection(args: &CollectionArgs) -> Result<(), Failure> {
    let CollectionResult { collection, path } = LateBar::new().watch(|stop, bar| {
        PreparedCollection::new(args, (stop, &mut *bar))?.read(args, (stop, bar))
    })?;
    let shown = || {
        flashscope_report::collection(&collection)
            + &format!("\nall volumes: {}\n", path.join("collection.json").display())
    };
    Ok(print::document(args.json, &collection, shown)?)
}
