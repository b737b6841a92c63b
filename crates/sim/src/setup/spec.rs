use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use toml::{Table, Value};

use flashscope_block::{nearest, parse_share};

use super::{KINDS, Profile, ProfileError};

/// Parses the text after `sim:` on the command line. It consists of the name of a profile of
/// [`KINDS`] or a TOML file, and after `?` any fields by their dotted names, as in
/// `demo?over_provisioning=0.28&flash.packages=4`. If a field is given twice, the last value
/// counts.
///
/// # Errors
/// Returns an error in the spec or the file, with the nearest valid name if a name is unknown.
/// Rules that combine several fields are only checked when a drive is created from the profile.
pub fn parse(spec: &str) -> Result<Profile, ProfileError> {
    // Most specs are valid, and sweeps have thousands of specs. Only an invalid spec is checked
    // part by part, to name the wrong part.
    let (name, overrides) = spec.split_once('?').unwrap_or((spec, ""));
    over(&base(name)?, name, overrides)
}

/// Returns a profile in TOML with overrides, in the form that they have after the `?` of a spec.
///
/// # Errors
/// Returns an error in the text or in an override, as [`parse`] does.
pub fn from_toml_with(text: &str, overrides: &str) -> Result<Profile, ProfileError> {
    over(&read(text, "the profile")?, "the profile", overrides)
}

fn over(base: &Table, name: &str, overrides: &str) -> Result<Profile, ProfileError> {
    let each = |check: &dyn Fn(&Table, &str) -> Result<(), ProfileError>| {
        overridden(base.clone(), name, overrides, check)
    };
    each(&|_, _| Ok(())).or_else(|_| each(&|table, part| checked(table, part).map(drop)))
}

/// Returns the profile `table` with overrides. Calls `check` after each override, with the fields
/// set so far and the text of the override.
fn overridden(
    mut table: Table,
    name: &str,
    overrides: &str,
    check: &dyn Fn(&Table, &str) -> Result<(), ProfileError>,
) -> Result<Profile, ProfileError> {
    for part in overrides.split('&').filter(|part| !part.is_empty()) {
        let (field, value) =
            part.split_once('=').ok_or_else(|| ProfileError::Override(part.into()))?;
        set(&mut table, field, value)?;
        check(&table, part)?;
    }
    checked(&table, name)
}

/// Reads a profile in TOML.
///
/// # Errors
/// Returns an error in the text, with the nearest valid name if a name is unknown.
pub fn from_toml(text: &str) -> Result<Profile, ProfileError> {
    checked(&read(text, "the profile")?, "the profile")
}

/// Returns the dotted names of all fields of a profile.
pub fn field_names() -> &'static [String] {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut names = Vec::new();
        collect_names(defaults(), "", &mut names);
        names
    });
    &NAMES
}

/// Returns every field with its default. Computed once, because a sweep looks up thousands of
/// fields here.
pub(super) fn defaults() -> &'static Table {
    static DEFAULTS: LazyLock<Table> =
        LazyLock::new(|| Table::try_from(Profile::default()).expect("a profile is a TOML table"));
    &DEFAULTS
}

fn collect_names(table: &Table, prefix: &str, names: &mut Vec<String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => collect_names(inner, &format!("{prefix}{key}."), names),
            _ => names.push(format!("{prefix}{key}")),
        }
    }
}

/// Returns the profile that a spec names, before any override.
fn base(name: &str) -> Result<Table, ProfileError> {
    if let Some(nth) = KINDS.iter().position(|kind| kind.name == name) {
        static READ: [OnceLock<Table>; KINDS.len()] = [const { OnceLock::new() }; KINDS.len()];
        if let Some(table) = READ[nth].get() {
            return Ok(table.clone());
        }
        let table = read(KINDS[nth].toml, name)?;
        return Ok(READ[nth].get_or_init(|| table).clone());
    }
    let is_toml = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    let other = || ProfileError::NotAProfile { path: name.into() };
    if !is_toml && !name.contains(std::path::MAIN_SEPARATOR) {
        if Path::new(name).exists() {
            return Err(other());
        }
        let valid: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        let nearest = nearest(name, valid.iter().copied());
        return Err(ProfileError::UnknownProfile { name: name.into(), nearest, valid });
    }
    let text = std::fs::read_to_string(name)
        .map_err(|source| ProfileError::Read { path: name.into(), source })?;
    read(&text, name).map_err(|fault| if is_toml { fault } else { other() })
}

/// The old names of renamed fields, with their current names.
const RENAMED: [(&str, &str); 4] = [
    ("slc.bits_per_cell", "cells.bits_per_cell"),
    ("scheduling.most_suspensions", "scheduling.max_suspensions"),
    ("scheduling.least_progress", "scheduling.min_progress"),
    ("scheduling.least_remaining", "scheduling.min_remaining"),
];

/// Replaces the old names of fields by their current names. Returns true if the table had an old
/// name.
fn rename(table: &mut Table) -> bool {
    let mut any = false;
    for (old, new) in RENAMED {
        let take = |table: &mut Table| {
            let (section, key) = old.split_once('.')?;
            table.get_mut(section)?.as_table_mut()?.remove(key)
        };
        let Some(value) = take(table) else { continue };
        let (section, key) = new.split_once('.').expect("renamed fields are in sections");
        let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(section) = section {
            section.entry(key).or_insert(value);
            any = true;
        }
    }
    any
}

/// Reads TOML; errors of syntax and type show the line.
fn read(text: &str, origin: &str) -> Result<Table, ProfileError> {
    let invalid = |error: toml::de::Error| ProfileError::Invalid {
        origin: origin.into(),
        message: plain(&error),
    };
    let mut table: Table = toml::from_str(text).map_err(invalid)?;
    let has_old_names = rename(&mut table);
    let mut names = Vec::new();
    collect_names(&table, "", &mut names);
    for name in names {
        known(&name)?;
    }
    if !has_old_names {
        toml::from_str::<Profile>(text).map_err(invalid)?;
    }
    Ok(table)
}

/// Returns the message of an error, with words instead of Rust's type names.
fn plain(error: &toml::de::Error) -> String {
    let types = [("f64", "a number"), ("u32", "a whole number"), ("u64", "a whole number")];
    types.iter().fold(error.to_string(), |message, (name, words)| {
        message.replace(&format!("expected {name}"), &format!("expected {words}"))
    })
}

fn known(name: &str) -> Result<(), ProfileError> {
    let valid = field_names();
    // A section that is given as a plain value is of the wrong type, not unknown.
    let is_it_or_within = |rest: &str| rest.is_empty() || rest.starts_with('.');
    if valid.iter().any(|field| field.strip_prefix(name).is_some_and(is_it_or_within)) {
        return Ok(());
    }
    let nearest = nearest(name, valid.iter().map(String::as_str)).map(String::from);
    Err(ProfileError::UnknownField { name: name.into(), nearest, valid: valid.to_vec() })
}

/// Puts the text `value` into the field with dotted name `field`.
pub(super) fn set(table: &mut Table, field: &str, value: &str) -> Result<(), ProfileError> {
    let field = RENAMED.iter().find(|(old, _)| *old == field).map_or(field, |(_, new)| new);
    known(field)?;
    let (path, key) = field.rsplit_once('.').unwrap_or(("", field));
    let (mut target, mut default) = (table, defaults());
    for section in path.split('.').filter(|section| !section.is_empty()) {
        let inner = target.entry(section).or_insert_with(|| Value::Table(Table::new()));
        let (Value::Table(inner), Value::Table(default_inner)) = (inner, &default[section]) else {
            let message =
                format!("`{section}` is a section: set its fields, as in `{section}.FIELD=VALUE`");
            return Err(ProfileError::Invalid { origin: field.into(), message });
        };
        (target, default) = (inner, default_inner);
    }
    target.insert(key.into(), typed(value, &default[key]));
    Ok(())
}

/// Returns the text as a value of the type of the field's default, or as a string if that is not
/// possible.
fn typed(text: &str, like: &Value) -> Value {
    let value = match like {
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Integer(_) => text.parse().ok().map(Value::Integer),
        Value::Float(_) => parse_share(text).map(Value::Float),
        _ => None,
    };
    value.unwrap_or_else(|| Value::String(text.into()))
}

pub(super) fn checked(table: &Table, origin: &str) -> Result<Profile, ProfileError> {
    Profile::deserialize(table.clone())
        .map_err(|error| ProfileError::Invalid { origin: origin.into(), message: plain(&error) })
}
