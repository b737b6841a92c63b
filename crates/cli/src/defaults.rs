//! Defaults for options that users set once: in a configuration file, and in the environment.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Arg, ArgAction, Command};
use flashscope_block::nearest;
use toml::{Table, Value};

/// The prefix of options in the environment.
const PREFIX: &str = "FLASHSCOPE_";

/// Options that hold for one call alone: those that consent to writing, and those that name what a call is about. A
/// registry reads the variable of its database itself: `serve` without a registry refuses the option.
const FOR_ONE_CALL: [&str; 9] = [
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

/// The variables of the environment, by name.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where the configuration file is: `$FLASHSCOPE_CONFIG`, else below `$XDG_CONFIG_HOME` or `~/.config`.
fn place(environment: Environment) -> Option<PathBuf> {
    let folder = |name: &str| environment(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    folder("FLASHSCOPE_CONFIG").or_else(|| {
        let configuration =
            folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
        Some(configuration.join("flashscope/config.toml")).filter(|path| path.exists())
    })
}

/// Gives the options of `command` the defaults of the configuration file and, before these, of the environment.
///
/// # Errors
/// Where the file cannot be read, or sets what is no option or may not be set.
pub fn apply(command: Command, environment: Environment) -> Result<Command> {
    let (place, file) = match place(environment) {
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
    check(&command, &file, true).with_context(|| place.display().to_string())?;
    Ok(given(command, &[&file], environment))
}

/// Gives a command and those below it their defaults: of `tables`, the later ones count more.
fn given(mut command: Command, tables: &[&Table], environment: Environment) -> Command {
    let options: Vec<(String, String, bool)> = settable(&command)
        .map(|(long, arg)| (long.into(), arg.get_id().to_string(), is_flag(arg)))
        .collect();
    for (long, id, is_flag) in options {
        let variable = format!("{PREFIX}{}", long.replace('-', "_").to_uppercase());
        let of_file = || tables.iter().rev().find_map(|table| values(table.get(&long)?));
        let of_environment = environment(&variable).map(|value| vec![value]);
        let Some(values) = of_environment.or_else(of_file) else { continue };
        // `false` is what a flag is without a default.
        if !is_flag || values == ["true"] {
            command = command.mut_arg(id, |arg| arg.default_values(values));
        }
    }
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().into()).collect();
    for name in names {
        let own = tables.iter().filter_map(|table| table.get(&name)?.as_table());
        let tables: Vec<&Table> = tables.iter().copied().chain(own).collect();
        command = command.mut_subcommand(name, |one| given(one, &tables, environment));
    }
    command
}

/// Refuses a table that sets what is no option of a command or of one below it.
fn check(command: &Command, table: &Table, is_top: bool) -> Result<()> {
    for (key, value) in table {
        if let Some(below) = command.get_subcommands().find(|one| one.get_name() == key) {
            let inner = value.as_table().ok_or_else(|| anyhow!("`{key}` is a table: `[{key}]`"))?;
            check(below, inner, false).with_context(|| format!("[{key}]"))?;
            continue;
        }
        if FOR_ONE_CALL.contains(&key.as_str()) {
            bail!("`{key}` is given with each call, not in a configuration");
        }
        let known = names(command, is_top);
        if !known.contains(key) {
            let meant = nearest(key, known.iter().map(String::as_str));
            let meant = meant.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
            bail!("`{key}` is no option{meant}");
        }
        if values(value).is_none() {
            bail!("`{key}` is a text, a number, `true`, `false` or a list of these");
        }
    }
    Ok(())
}

/// The options of a command; at the top those of all commands.
fn names(command: &Command, with_below: bool) -> Vec<String> {
    let mut names: Vec<String> = settable(command).map(|(long, _)| long.into()).collect();
    if with_below {
        names.extend(command.get_subcommands().flat_map(|below| self::names(below, true)));
    }
    names
}

fn settable(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let options = command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
    options.filter(|(long, _)| !FOR_ONE_CALL.contains(long))
}

fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// A value as it would be typed.
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

/// The configuration file, if it sets anything.
pub fn file(environment: Environment) -> Option<PathBuf> {
    place(environment).filter(|path| fs::metadata(path).is_ok_and(|file| file.len() > 0))
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

    /// The options of a call with this configuration and these variables.
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
    fn a_call_counts_more_than_the_environment_and_that_more_than_the_file() {
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
    fn consent_to_write_comes_with_the_call_alone() {
        let refused = parsed("[bench]\ndestroy-data-on = \"/dev/sdz\"", &[], "bench");
        assert!(format!("{:#}", refused.err().unwrap()).contains("with each call"));
        let variables = [("FLASHSCOPE_DESTROY_DATA_ON", "/dev/sdz")];
        assert_eq!(parsed("", &variables, "bench").unwrap().destroy_data_on, None);
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_file_and_the_nearest() {
        for file in ["[bench]\nsede = 1", "sede = 1"] {
            let refused = format!("{:#}", parsed(file, &[], "bench").err().unwrap());
            assert!(refused.contains("config.toml") && refused.contains("`seed`"), "{refused}");
        }
    }
}
