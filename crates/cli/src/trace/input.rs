//! The trace that a command reads.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use flashscope_command::trace::{collection, failure};
use flashscope_trace::{FieldError, Spec, Trace};
use flashscope_workload::Field;
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

/// The options for reading each file of a collection: those fields of a trace that apply to a file by itself.
pub(super) struct FileFields(pub BTreeMap<String, String>);

impl FromArgMatches for FileFields {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &&str| Some(((*name).into(), matches.get_one::<String>(name)?.clone()));
        Ok(FileFields(collection::FIELDS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = FileFields::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for FileFields {
    fn augment_args(command: Command) -> Command {
        let is_one = |field: &&Field| collection::FIELDS.contains(&field.name);
        command
            .args(FIELDS.iter().filter(is_one).map(|field| option(field).conflicts_with("resume")))
    }

    fn augment_args_for_update(command: Command) -> Command {
        FileFields::augment_args(command)
    }
}

/// Returns the option that sets a field.
fn option(field: &Field) -> Arg {
    let default = field.default.map(|value| format!(" [default: {value}]"));
    let option = Arg::new(field.name)
        .long(field.name.replace('_', "-"))
        .value_name("VALUE")
        .help(format!("{}{}", capitalized(field.summary), default.unwrap_or_default()))
        .help_heading("Reading and transforming the trace")
        .allow_hyphen_values(true)
        .action(ArgAction::Set);
    match field.alone {
        // The value must follow `=`. Otherwise the parser would take the next argument for the value, which may be a file.
        Some(alone) => option.num_args(0..=1).require_equals(true).default_missing_value(alone),
        None => option,
    }
}

impl clap::Args for Fields {
    fn augment_args(command: Command) -> Command {
        command.args(FIELDS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Fields::augment_args(command)
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
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
