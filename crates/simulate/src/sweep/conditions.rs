//! Conditions: rules that depend on the levels of factors.

use flashscope_document::sweep::Level;
use toml::{Table, Value};

use super::SpaceError;
use super::factor::level;

/// A rule of a space. If each factor in `when` has one of its allowed levels, the rule sets fields,
/// drops factors or excludes the point.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Condition {
    /// The factors that must match, each with its allowed levels.
    when: Vec<(String, Vec<Level>)>,
    /// The fields to set, factors or not.
    set: Vec<(String, Level)>,
    /// The factors to drop; they keep the value of the drive or workload.
    without: Vec<String>,
    /// True to exclude the point.
    exclude: bool,
}

/// Fields of a point and their values.
pub(super) type Settings = Vec<(String, Level)>;

impl Condition {
    pub(super) fn read(table: &Table) -> Result<Condition, SpaceError> {
        let wrong = |rule: &str| SpaceError::invalid("[[conditions]]", rule);
        let known = ["when", "set", "without", "exclude"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(SpaceError::unknown("a condition", key, known));
        }
        let mut condition = Condition::default();
        let when = table.get("when").and_then(Value::as_table);
        for (name, value) in
            flat(when.ok_or_else(|| wrong("it needs `when`, with a value for each factor"))?)
        {
            let values: Option<Vec<Level>> = match value {
                Value::Array(values) => values.iter().map(level).collect(),
                value => level(value).map(|level| vec![level]),
            };
            let values = values
                .ok_or_else(|| wrong("`when` needs a value or a list of values for each factor"))?;
            condition.when.push((name, values));
        }
        for (name, value) in
            table.get("set").and_then(Value::as_table).map(flat).unwrap_or_default()
        {
            let value = level(value).ok_or_else(|| wrong("`set` needs a value for each field"))?;
            condition.set.push((name, value));
        }
        for name in table.get("without").and_then(Value::as_array).into_iter().flatten() {
            let name =
                name.as_str().ok_or_else(|| wrong("`without` must be a list of factor names"))?;
            condition.without.push(name.into());
        }
        condition.exclude = table.get("exclude").and_then(Value::as_bool).unwrap_or(false);
        let does = !condition.set.is_empty() || !condition.without.is_empty() || condition.exclude;
        if condition.when.is_empty() || !does {
            return Err(wrong("it needs `when`, and `set`, `without` or `exclude = true`"));
        }
        Ok(condition)
    }

    /// Returns the names of the factors that the condition refers to, and of the fields that it
    /// sets.
    pub(super) fn names(&self) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
        let factors = self.when.iter().map(|(name, _)| name.as_str());
        let without = self.without.iter().map(String::as_str);
        (factors.chain(without), self.set.iter().map(|(name, _)| name.as_str()))
    }

    fn holds(&self, factors: &[&str], levels: &[Option<Level>]) -> bool {
        self.when.iter().all(|(name, allowed)| {
            let index = factors.iter().position(|factor| factor == name);
            let level = index.and_then(|index| levels[index].as_ref());
            level.is_some_and(|level| allowed.contains(level))
        })
    }
}

/// Applies conditions in order. Dropped factors lose their levels. Returns the settings of fields
/// that are not factors; `None` if the point is excluded.
pub(super) fn apply(
    conditions: &[Condition],
    factors: &[&str],
    levels: &mut [Option<Level>],
) -> Option<Settings> {
    let mut set = Settings::new();
    for condition in conditions {
        if !condition.holds(factors, levels) {
            continue;
        }
        if condition.exclude {
            return None;
        }
        let place = |name: &String| factors.iter().position(|factor| factor == name);
        for index in condition.without.iter().filter_map(place) {
            levels[index] = None;
        }
        for (name, level) in &condition.set {
            match place(name) {
                Some(index) => levels[index] = Some(level.clone()),
                None => set.push((name.clone(), level.clone())),
            }
        }
    }
    Some(set)
}

/// Flattens a table to dotted names: `cleaning.policy` may be written as nested tables or in
/// quotes. A range stays a single entry.
pub(super) fn flat(table: &Table) -> Vec<(String, &Value)> {
    let mut entries = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.contains_key("from") && !inner.contains_key("to") => {
                let inner = flat(inner).into_iter();
                entries.extend(inner.map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            value => entries.push((key.clone(), value)),
        }
    }
    entries
}
