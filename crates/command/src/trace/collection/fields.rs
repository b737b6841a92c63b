//! The options for reading each file of a collection.

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use flashscope_workload::Field;
use flashscope_workload::playback::FIELDS;

/// The fields of a trace that a collection accepts, because they apply to each file separately.
const FILE_FIELDS: [&str; 8] =
    ["format", "on_bad_line", "sector", "time", "offset", "size", "op", "ops"];

/// The options for reading each file of a collection: fields of a trace that apply to each file
/// separately, by name.
#[derive(Debug, Clone, Default)]
pub struct FileFields(pub BTreeMap<String, String>);

impl FromArgMatches for FileFields {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &&str| Some(((*name).into(), matches.get_one::<String>(name)?.clone()));
        Ok(FileFields(FILE_FIELDS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = FileFields::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for FileFields {
    fn augment_args(command: Command) -> Command {
        let is_one = |field: &&Field| FILE_FIELDS.contains(&field.name);
        let options = FIELDS.iter().filter(is_one).map(field_option);
        command.args(options.map(|option| option.conflicts_with("resume")))
    }

    fn augment_args_for_update(command: Command) -> Command {
        FileFields::augment_args(command)
    }
}

/// Returns the option that sets a field of a trace.
#[must_use]
pub fn field_option(field: &Field) -> Arg {
    let default = field.default.map(|value| format!(" [default: {value}]"));
    let option = Arg::new(field.name)
        .long(field.name.replace('_', "-"))
        .value_name("VALUE")
        .help(format!("{}{}", capitalized(field.summary), default.unwrap_or_default()))
        .help_heading("Reading and transforming the trace")
        .allow_hyphen_values(true)
        .action(ArgAction::Set);
    match field.alone {
        // The value must follow `=`. Otherwise, the parser would use the next argument, perhaps a
        // file, as the value.
        Some(alone) => option.num_args(0..=1).require_equals(true).default_missing_value(alone),
        None => option,
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
