//! Checks numbers of one object that bound each other: quantiles rise, a mean lies between minimum
//! and maximum, no end comes before its start. The checks recognize such numbers by the names of
//! their fields. They therefore apply to every type of the documents, including future types.

use serde_json::{Map, Value};

use super::CheckResult;
use crate::limits;

/// Names of fields whose numbers must be in ascending order; equal numbers are allowed.
const RISING: [&[&str]; 5] = [
    &["min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"],
    &["low", "value", "high"],
    &["from_ns", "until_ns"],
    &["start_ns", "end_ns"],
    &["fewest_erases", "most_erases"],
];

/// Names of fields whose numbers must lie between `min` and `max`.
const WITHIN: [&str; 2] = ["mean", "median"];

/// Names of fields with a deviation from a mean, which must be at most `max` − `min`.
const SPREADS: [&str; 2] = ["standard_deviation", "deviation"];

/// Fails at the first object whose numbers contradict each other, with its path.
pub(crate) fn check_relations(submission: &Value) -> CheckResult {
    check_value("", submission)
}

fn check_value(place: &str, value: &Value) -> CheckResult {
    match value {
        Value::Object(fields) => {
            check_object(place, fields)?;
            fields.iter().try_for_each(|(name, field)| match place {
                "" => check_value(name, field),
                place => check_value(&format!("{place}.{name}"), field),
            })
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(nth, item)| check_value(&format!("{place}[{nth}]"), item))
        }
        _ => Ok(()),
    }
}

fn check_object(place: &str, fields: &Map<String, Value>) -> CheckResult {
    // An estimate is an object; its `value` field is the number to compare.
    let number = |name: &str| {
        let field = fields.get(name)?;
        field.as_f64().or_else(|| field.get("value")?.as_f64())
    };
    let named = |name: &str| match place {
        "" => name.to_string(),
        place => format!("{place}.{name}"),
    };
    for names in RISING {
        let mut last: Option<(&str, f64)> = None;
        for (name, value) in names.iter().filter_map(|name| Some((*name, number(name)?))) {
            if let Some((before, least)) = last.filter(|(_, least)| above(*least, value)) {
                let (name, before) = (named(name), named(before));
                return Err(format!(
                    "`{name}` is {value}; it must be at least {least}, the value of `{before}`"
                ));
            }
            last = Some((name, value));
        }
    }
    let (Some(min), Some(max)) = (number("min"), number("max")) else { return Ok(()) };
    for (name, mean) in WITHIN.iter().filter_map(|name| Some((*name, number(name)?))) {
        if above(min, mean) || above(mean, max) {
            let name = named(name);
            return Err(format!(
                "`{name}` is {mean}; it must be {min} to {max}, the range from `min` to `max`"
            ));
        }
    }
    for (name, spread) in SPREADS.iter().filter_map(|name| Some((*name, number(name)?))) {
        if above(spread, max - min) {
            let (name, most) = (named(name), max - min);
            return Err(format!(
                "`{name}` is {spread}; it must be at most {most}, the distance from `min` to `max`"
            ));
        }
    }
    Ok(())
}

/// Returns true if `one` exceeds `other` by more than the resolution of the quantiles' histogram.
fn above(one: f64, other: f64) -> bool {
    one - other > limits::QUANTILE * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contradictory_numbers_are_named_with_their_bounds() {
        let sound = json!({
            "a": { "min": 1, "p50": 3, "max": 9, "mean": 4.5, "standard_deviation": 2.0 },
            "b": [{ "low": null, "value": 3.0, "high": 4.0 }, { "start_ns": 7, "end_ns": 7 }],
            "c": { "min": 5, "max": 5.001, "mean": { "value": 5.002, "low": 4.0, "high": 6.0 } },
        });
        assert_eq!(check_relations(&sound), Ok(()));
        for (pointer, value, words) in [
            ("/a/min", json!(4), "`a.p50` is 3; it must be at least 4, the value of `a.min`"),
            ("/a/max", json!(0), "`a.max` is 0; it must be at least 3, the value of `a.p50`"),
            ("/a/mean", json!(0.5), "`a.mean` is 0.5; it must be 1 to 9"),
            ("/a/mean", json!(9.5), "`a.mean` is 9.5; it must be 1 to 9"),
            (
                "/a/standard_deviation",
                json!(8.5),
                "`a.standard_deviation` is 8.5; it must be at most 8",
            ),
            (
                "/b/0/high",
                json!(2.0),
                "`b[0].high` is 2; it must be at least 3, the value of `b[0].value`",
            ),
            ("/b/0/low", json!(3.5), "`b[0].value` is 3; it must be at least 3.5"),
            ("/b/1/end_ns", json!(6), "`b[1].end_ns` is 6; it must be at least 7"),
            ("/c/mean/value", json!(5.5), "`c.mean` is 5.5; it must be 5 to 5.001"),
        ] {
            let mut broken = sound.clone();
            *broken.pointer_mut(pointer).unwrap() = value;
            let complaint = check_relations(&broken).expect_err(pointer);
            assert!(complaint.starts_with(words), "{pointer}: {complaint}");
        }
    }
}
