use flashscope_block::{Bytes, Nanos};
use flashscope_document::sweep::Level;
use toml::Value;

use super::SpaceError;

/// A parameter that varies: a profile field by its dotted name, a workload field as
/// `workload.FIELD`, or `drive` or `workload` as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// The name.
    pub name: String,
    /// The possible values.
    pub values: Values,
}

/// The possible values of a factor.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// A list of levels.
    Levels(Vec<Level>),
    /// Any number in a range, from which a sampling chooses.
    Range {
        /// The smallest value.
        from: f64,
        /// The largest value.
        to: f64,
        /// True if equal ratios count as equal steps.
        log: bool,
        /// True for whole numbers only.
        whole: bool,
    },
}

/// Maximum number of levels of a factor, listed or generated from a range.
const MAX_LEVELS: u32 = 10_000;

impl Factor {
    /// Reads a factor from a value in `[factors]`: a list of levels, or a range.
    pub(super) fn read(name: &str, value: &Value) -> Result<Factor, SpaceError> {
        let wrong = |rule| SpaceError::Factor { factor: name.into(), rule };
        let values = match value {
            // The comparison of all levels with each other, below, would take long.
            Value::Array(list) if list.len() > MAX_LEVELS as usize => {
                return Err(wrong("give at most 10000 levels"));
            }
            Value::Array(list) => {
                let levels: Option<Vec<Level>> = list.iter().map(level).collect();
                let levels =
                    levels.ok_or_else(|| wrong("values must be numbers, texts, true or false"))?;
                if levels.is_empty() {
                    return Err(wrong("it needs at least one value"));
                }
                if levels.iter().enumerate().any(|(nth, level)| levels[..nth].contains(level)) {
                    return Err(wrong("it lists a value twice"));
                }
                Values::Levels(levels)
            }
            Value::Table(range) => self::range(name, range)?,
            _ => return Err(wrong("give a list of values, or a range: { from = 1, to = 8 }")),
        };
        Ok(Factor { name: name.into(), values })
    }

    /// Returns the number of levels; `None` for a range.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        match &self.values {
            Values::Levels(levels) => Some(levels.len()),
            Values::Range { .. } => None,
        }
    }

    /// Returns the level at `share` (0 to below 1) of the way from the first to the last.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "levels are few"
    )]
    pub fn at(&self, share: f64) -> Level {
        match &self.values {
            Values::Levels(levels) => {
                let index = (share * levels.len() as f64) as usize;
                levels[index.min(levels.len() - 1)].clone()
            }
            // Each whole number gets an equal share.
            Values::Range { from, to, log: false, whole: true } => {
                Level::Number((from + share * (to - from + 1.0)).floor().min(*to))
            }
            Values::Range { from, to, log, whole } => {
                let number = between(*from, *to, *log, share);
                Level::Number(if *whole { number.round() } else { number })
            }
        }
    }

    /// Returns the position of a level, from 0 for the first to 1 for the last; a list has evenly
    /// spaced levels. `None` if the factor has no such level.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "levels are few")]
    pub fn share(&self, level: &Level) -> Option<f64> {
        match (&self.values, level) {
            (Values::Levels(levels), level) => {
                let nth = levels.iter().position(|known| known == level)?;
                Some(nth as f64 / (levels.len() - 1).max(1) as f64)
            }
            (Values::Range { from, to, log: true, .. }, Level::Number(number)) => {
                Some((number / from).ln() / (to / from).ln())
            }
            (Values::Range { from, to, .. }, Level::Number(number)) => {
                Some((number - from) / (to - from))
            }
            (Values::Range { .. }, Level::Text(_)) => None,
        }
    }
}

fn between(from: f64, to: f64, log: bool, share: f64) -> f64 {
    if log { from * (to / from).powf(share) } else { from + share * (to - from) }
}

/// Reads a level from TOML.
#[allow(clippy::cast_precision_loss, reason = "a space holds all numbers as f64")]
pub(super) fn level(value: &Value) -> Option<Level> {
    match value {
        Value::Integer(number) => Some(Level::Number(*number as f64)),
        Value::Float(number) if number.is_finite() => Some(Level::Number(*number)),
        Value::String(text) => Some(Level::Text(text.clone())),
        Value::Boolean(yes) => Some(Level::Text(yes.to_string())),
        _ => None,
    }
}

/// Reads a range: `from`, `to`, and `step`, `count` or neither; `scale` is `linear` or `log`.
fn range(name: &str, range: &toml::Table) -> Result<Values, SpaceError> {
    let wrong = |rule| SpaceError::Factor { factor: name.into(), rule };
    let known = ["from", "to", "step", "count", "scale"];
    if let Some(key) = range.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(SpaceError::unknown("a range", key, known));
    }
    let number = |key| {
        match range.get(key) {
        None => Ok(None),
        Some(value) => number(value).map(Some).ok_or_else(|| {
            wrong("`from`, `to` and `step` must be numbers, sizes such as \"4KiB\" or times such as \"25us\"")
        }),
    }
    };
    let log = match range.get("scale").map(Value::as_str) {
        None | Some(Some("linear")) => false,
        Some(Some("log")) => true,
        _ => return Err(wrong("`scale` must be \"linear\" or \"log\"")),
    };
    let ends = number("from")?.zip(number("to")?);
    let ((from, from_whole), (to, to_whole)) =
        ends.ok_or_else(|| wrong("a range needs `from` and `to`"))?;
    if from >= to {
        return Err(wrong("`from` must be below `to`"));
    }
    if log && from <= 0.0 {
        return Err(wrong("with scale = \"log\", `from` must be above 0"));
    }
    let whole = from_whole && to_whole;
    let count = range.get("count").map(|count| count.as_integer().filter(|count| *count > 1));
    match (number("step")?, count) {
        (None, None) => Ok(Values::Range { from, to, log, whole }),
        (None, Some(Some(count))) => {
            levels(from, to, log, whole, count).ok_or_else(|| wrong("give at most 10000 levels"))
        }
        (None, Some(None)) => Err(wrong("`count` must be a whole number, at least 2")),
        (Some((step, _)), None)
            if step > 0.0 && !log && (to - from) / step <= f64::from(MAX_LEVELS) =>
        {
            Ok(stepped(from, to, step))
        }
        (Some(_), None) => Err(wrong(
            "`step` must be above 0 and give at most 10000 levels, and needs scale = \"linear\"",
        )),
        (Some(_), Some(_)) => Err(wrong("give `step` or `count`, not both")),
    }
}

/// Reads a number. The flag is true if the number is whole. Sizes and times are whole, in bytes and
/// nanoseconds.
#[allow(clippy::cast_precision_loss, reason = "a space holds all numbers as f64")]
fn number(value: &Value) -> Option<(f64, bool)> {
    match value {
        Value::Integer(number) => Some((*number as f64, true)),
        Value::Float(number) => number.is_finite().then_some((*number, false)),
        Value::String(text) => {
            let bytes = text.parse::<Bytes>().map(|bytes| bytes.0);
            let number = bytes.or_else(|_| text.parse::<Nanos>().map(|time| time.0));
            number.ok().map(|number| (number as f64, true))
        }
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss, reason = "levels are few")]
fn levels(from: f64, to: f64, log: bool, whole: bool, count: i64) -> Option<Values> {
    if count > i64::from(MAX_LEVELS) {
        return None;
    }
    let mut levels: Vec<f64> = (0..count)
        .map(|nth| match nth {
            0 => from,
            nth if nth == count - 1 => to,
            nth => between(from, to, log, nth as f64 / (count - 1) as f64),
        })
        .map(|number| if whole { number.round() } else { number })
        .collect();
    levels.dedup();
    Some(Values::Levels(levels.into_iter().map(Level::Number).collect()))
}

/// Returns levels from `from` in steps up to `to`. `to` is included if a step ends there, within
/// rounding.
#[allow(clippy::cast_precision_loss, reason = "levels are few")]
fn stepped(from: f64, to: f64, step: f64) -> Values {
    let levels = (0..).map(|nth: u32| f64::from(nth).mul_add(step, from));
    let levels = levels.take_while(|level| *level <= to + step * 1e-9);
    // Removes the surplus digits of binary fractions.
    let rounded = |level: f64| (level * 1e12).round() / 1e12;
    Values::Levels(levels.map(|level| Level::Number(rounded(level).min(to))).collect())
}
