//! What depends on what a factor is set to.

use flashscope_result::sweep::Level;
use toml::{Table, Value};

use super::SpaceError;
use super::factor::level;

/// When all of some factors are set so, others are set, do not apply, or the point is left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Condition {
    /// Each of these factors has one of these levels.
    when: Vec<(String, Vec<Level>)>,
    /// Fields that are then set so, whether they are factors or not.
    set: Vec<(String, Level)>,
    /// Factors that are then left at what the drive or workload has.
    without: Vec<String>,
    /// Whether the point is left out.
    exclude: bool,
}

/// The fields of a point: what is set to what.
pub type Settings = Vec<(String, Level)>;

impl Condition {
    pub fn read(table: &Table) -> Result<Condition, SpaceError> {
        let wrong = |rule: &str| SpaceError::invalid("[[conditions]]", rule);
        let known = ["when", "set", "without", "exclude"];
        if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(SpaceError::unknown("a condition", key, known));
        }
        let mut condition = Condition::default();
        let when = table.get("when").and_then(Value::as_table);
        for (name, value) in
            flat(when.ok_or_else(|| wrong("`when` says of which factor what value"))?)
        {
            let values: Option<Vec<Level>> = match value {
                Value::Array(values) => values.iter().map(level).collect(),
                value => level(value).map(|level| vec![level]),
            };
            let values = values
                .ok_or_else(|| wrong("`when` has a value, or a list of them, for each factor"))?;
            condition.when.push((name, values));
        }
        for (name, value) in
            table.get("set").and_then(Value::as_table).map(flat).unwrap_or_default()
        {
            let value = level(value).ok_or_else(|| wrong("`set` has a value for each field"))?;
            condition.set.push((name, value));
        }
        for name in table.get("without").and_then(Value::as_array).into_iter().flatten() {
            let name =
                name.as_str().ok_or_else(|| wrong("`without` is a list of names of factors"))?;
            condition.without.push(name.into());
        }
        condition.exclude = table.get("exclude").and_then(Value::as_bool).unwrap_or(false);
        let does = !condition.set.is_empty() || !condition.without.is_empty() || condition.exclude;
        if condition.when.is_empty() || !does {
            return Err(wrong("it needs `when`, and `set`, `without` or `exclude = true`"));
        }
        Ok(condition)
    }

    /// The names of factors that it speaks of, and of fields that it sets.
    pub fn names(&self) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
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

/// Applies conditions in their order: factors that do not apply lose their levels. What is set beside
/// the factors is returned; `None` where the point is left out.
pub fn apply(
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

/// The entries of a table with the dotted names of those within it: `cleaning.policy` may be written as
/// a table in a table, or in quotes. A range is an entry.
pub fn flat(table: &Table) -> Vec<(String, &Value)> {
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
