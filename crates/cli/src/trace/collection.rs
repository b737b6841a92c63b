//! `flashscope trace collection`.

use flashscope_command::trace::collection::{CollectionArgs, CollectionResult, PreparedCollection};
use flashscope_document::collection::{Collection, CollectionFile};

use super::input::FileFields;
use crate::progress::LateBar;
use crate::{Failure, print};

// Without a documentation comment, the help begins with that of `CollectionArgs`.
#[derive(clap::Args)]
pub(super) struct CollectionCommand {
    #[command(flatten)]
    args: CollectionArgs,

    #[command(flatten)]
    fields: FileFields,
}

pub(super) fn collection(command: &CollectionCommand) -> Result<(), Failure> {
    let CollectionCommand { args, fields } = command;
    let CollectionResult { collection, path } = LateBar::new().watch(|stop, bar| {
        PreparedCollection::new(args, &fields.0, (stop, &mut *bar))?.read(args, (stop, bar))
    })?;
    notes(&collection);
    let shown = || {
        flashscope_report::collection(&collection)
            + &format!("\nall volumes: {}\n", path.join("collection.json").display())
    };
    Ok(print::document(args.json, &collection, shown)?)
}

/// Prints a note for each file with skipped lines or a problem.
fn notes(collection: &Collection) {
    for CollectionFile { path, bad_lines_skipped, notes, problem, .. } in &collection.files {
        if let Some(problem) = problem {
            print::note(format_args!("note: left out: {problem}"));
        } else if *bad_lines_skipped > 0 {
            let (count, first) = (bad_lines_skipped, notes.join("; "));
            print::note(format_args!("note: {path}: {count} bad lines were left out ({first})"));
        }
    }
}
