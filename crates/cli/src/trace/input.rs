//! The trace that a command reads.

use clap::{ArgMatches, Command, FromArgMatches};
use flashscope_command::trace::collection::field_option;
use flashscope_command::trace::failure;
use flashscope_trace::{FieldError, Spec, Trace};
use flashscope_workload::playback::FIELDS;

use crate::print;
use crate::{Failure, usage};

/// Options for reading a trace: one for each field of a trace.
pub(super) struct Fields(Vec<(&'static str, String)>);

impl FromArgMatches for Fields {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| Some((name, matches.get_one::<String>(name)?.clone()));
        Ok(Fields(FIELDS.iter().filter_map(|field| given(field.name)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Fields::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Fields {
    fn augment_args(command: Command) -> Command {
        command.args(FIELDS.iter().map(field_option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Fields::augment_args(command)
    }
}

impl Fields {
    /// Returns the fields that the options set.
    pub(super) fn spec(&self) -> Result<Spec, Failure> {
        let mut spec = Spec::default();
        for (name, value) in &self.0 {
            spec.set(name, value).map_err(|error| usage(as_option(error)))?;
        }
        Ok(spec)
    }
}

/// Returns the error about a field, with the name of its option.
fn as_option(error: FieldError) -> anyhow::Error {
    match error {
        FieldError::Invalid { name, value, rule } => {
            anyhow::anyhow!("--{} is `{value}`: {rule}", name.replace('_', "-"))
        }
        unknown @ FieldError::Unknown { .. } => unknown.into(),
    }
}

/// Opens the trace in these files.
pub(super) fn open(files: &[String], fields: &Fields) -> Result<Trace, Failure> {
    fields.spec()?.open(files).map_err(failure)
}

/// Prints the notes about a trace.
pub(crate) fn show_notes(notes: &[String]) {
    for note in notes {
        print::note(format_args!("note: {note}"));
    }
}
