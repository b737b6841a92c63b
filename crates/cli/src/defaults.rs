//! Defaults of options from a configuration file and from the environment.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Arg, ArgAction, Command};
use flashscope_block::suggestion;
use toml::{Table, Value};

/// The prefix of options in the environment.
const PREFIX: &str = "FLASHSCOPE_";

/// Options that cannot have a default: `help`, `version`, options that consent to writing, and
/// options that name the input or output of a call. `database` is one of them, although the
/// environment may set it: the registry reads that variable itself, because `serve` without a
/// registry refuses the option.
const PER_CALL: [&str; 9] = [
    "database",
    "destroy-data-on",
    "help",
    "ignore-open-by-others",
    "output",
    "registry",
    "resume",
    "store",
    "version",
];

/// A function that looks up an environment variable by name.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Returns the path of the configuration file: `$FLASHSCOPE_CONFIG`, or `flashscope/config.toml`
/// below `$XDG_CONFIG_HOME` or `~/.config` if it exists.
fn path(environment: Environment) -> Option<PathBuf> {
    let folder = |name: &str| environment(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    folder("FLASHSCOPE_CONFIG").or_else(|| {
        let configuration =
            folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
        Some(configuration.join("flashscope/config.toml")).filter(|path| path.exists())
    })
}

/// Sets the defaults of all options of `command`: from the environment or, with less precedence,
/// the configuration file.
///
/// # Errors
/// If the file cannot be read or parsed, or sets an unknown option, an option that cannot have a
/// default, or a
/// value that no option has, such as a date.
pub(crate) fn apply(command: Command, environment: Environment) -> Result<Command> {
    let (source, table) = match path(environment) {
        Some(path) => {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read the configuration {}", path.display()))?;
            let table = text.parse::<Table>();
            let table =
                table.map_err(|error| anyhow!("{}: {}", path.display(), error.message()))?;
            (path, table)
        }
        None => (PathBuf::new(), Table::new()),
    };
    check(&command, &table, true).with_context(|| source.display().to_string())?;
    Ok(with_defaults(command, &[&table], environment))
}

/// Sets the defaults of a command and its subcommands. Later `tables` take precedence.
fn with_defaults(mut command: Command, tables: &[&Table], environment: Environment) -> Command {
    let options: Vec<(String, String, bool)> = settable(&command)
        .map(|(long, arg)| (long.into(), arg.get_id().to_string(), is_flag(arg)))
        .collect();
    for (long, id, is_flag) in options {
        let variable = format!("{PREFIX}{}", long.replace('-', "_").to_uppercase());
        let of_file = || tables.iter().rev().find_map(|table| values(table.get(&long)?));
        let of_environment = environment(&variable).map(|value| vec![value]);
        let Some(values) = of_environment.or_else(of_file) else { continue };
        let values = match &values[..] {
            // A flag without a default is already `false`.
            [value] if is_flag && ["false", "0"].contains(&value.as_str()) => continue,
            [value] if is_flag && value == "1" => vec!["true".into()],
            _ => values,
        };
        command = command.mut_arg(id, |arg| arg.default_values(values));
    }
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().into()).collect();
    for name in names {
        let own = tables.iter().filter_map(|table| table.get(&name)?.as_table());
        let tables: Vec<&Table> = tables.iter().copied().chain(own).collect();
        command = command.mut_subcommand(name, |one| with_defaults(one, &tables, environment));
    }
    command
}

/// Fails if a table sets anything but options of a command, tables of its subcommands and, if
/// `is_top`, options
/// of its subcommands.
fn check(command: &Command, table: &Table, is_top: bool) -> Result<()> {
    for (key, value) in table {
        if let Some(below) = command.get_subcommands().find(|one| one.get_name() == key) {
            let inner =
                value.as_table().ok_or_else(|| anyhow!("`{key}` must be a table: `[{key}]`"))?;
            check(below, inner, false).with_context(|| format!("[{key}]"))?;
            continue;
        }
        if PER_CALL.contains(&key.as_str()) {
            bail!("`{key}` cannot have a default: give it with each call");
        }
        let known = names(command, is_top);
        if !known.contains(key) {
            let near = suggestion(key, known.iter().map(String::as_str));
            bail!("`{key}` is not an option{near}");
        }
        if values(value).is_none() {
            bail!("`{key}` must be a text, a number, `true`, `false` or a list of these");
        }
    }
    Ok(())
}

/// Returns the options of a command; if `with_below`, also the options of its subcommands.
fn names(command: &Command, with_below: bool) -> Vec<String> {
    let mut names: Vec<String> = settable(command).map(|(long, _)| long.into()).collect();
    if with_below {
        names.extend(command.get_subcommands().flat_map(|below| self::names(below, true)));
    }
    names
}

fn settable(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let options = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    options.filter(|(long, _)| !PER_CALL.contains(long))
}

fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Returns a value as it would be typed; `None` for a table or a date.
fn values(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        Value::Boolean(flag) => Some(vec![flag.to_string()]),
        Value::Array(list) => {
            list.iter().map(values).collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        Value::Table(_) | Value::Datetime(_) => None,
    }
}

/// Returns the path of the configuration file, if it sets anything.
pub(crate) fn file(environment: Environment) -> Option<PathBuf> {
    path(environment).filter(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    #[derive(clap::Parser)]
    struct Program {
        #[command(subcommand)]
        command: Both,
    }

    #[derive(clap::Subcommand)]
    enum Both {
        Bench(Options),
        Probe(Options),
    }

    #[derive(clap::Args)]
    struct Options {
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long)]
        json: bool,
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
        #[arg(long)]
        destroy_data_on: Option<String>,
    }

    /// Returns the options of a call with this configuration and these variables.
    fn parsed(file: &str, variables: &[(&str, &str)], call: &str) -> Result<Options> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("config.toml");
        fs::write(&path, file)?;
        let environment = |name: &str| match name {
            "FLASHSCOPE_CONFIG" => Some(path.display().to_string()),
            _ => {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
            }
        };
        let matches = apply(Program::command(), &environment)?
            .try_get_matches_from(format!("flashscope {call}").split(' '))?;
        match Program::from_arg_matches(&matches)?.command {
            Both::Bench(options) | Both::Probe(options) => Ok(options),
        }
    }

    #[test]
    fn calls_override_the_environment_which_overrides_the_file() {
        let file = "seed = 2\njson = true\n[bench]\nseed = 3\nonly = [\"a\", \"b\"]\n";
        let bench = parsed(file, &[], "bench").unwrap();
        assert_eq!((bench.seed, bench.json, bench.only.len()), (3, true, 2));
        assert_eq!(parsed(file, &[], "probe").unwrap().seed, 2);
        let variables = [("FLASHSCOPE_SEED", "4"), ("FLASHSCOPE_JSON", "false")];
        let bench = parsed(file, &variables, "bench").unwrap();
        assert_eq!((bench.seed, bench.json), (4, false));
        assert_eq!(parsed(file, &variables, "bench --seed 5").unwrap().seed, 5);
    }

    #[test]
    fn flags_in_the_environment_are_true_or_1_and_refuse_other_words() {
        let json = |value| parsed("", &[("FLASHSCOPE_JSON", value)], "bench");
        assert!(json("1").unwrap().json && json("true").unwrap().json);
        assert!(!json("0").unwrap().json && !json("false").unwrap().json);
        let error = json("maybe").err().unwrap().to_string();
        assert!(error.contains("'maybe'") && error.contains("--json"), "{error}");
    }

    #[test]
    fn consent_to_writing_has_no_default() {
        let error = parsed("[bench]\ndestroy-data-on = \"/dev/sdz\"", &[], "bench");
        assert!(format!("{:#}", error.err().unwrap()).contains("with each call"));
        let variables = [("FLASHSCOPE_DESTROY_DATA_ON", "/dev/sdz")];
        assert_eq!(parsed("", &variables, "bench").unwrap().destroy_data_on, None);
    }

    #[test]
    fn unknown_option_error_names_the_file_and_the_nearest_option() {
        for file in ["[bench]\nsede = 1", "sede = 1"] {
            let error = format!("{:#}", parsed(file, &[], "bench").err().unwrap());
            assert!(error.contains("config.toml") && error.contains("`seed`"), "{error}");
        }
    }
}
