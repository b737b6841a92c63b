//! Numbers that stand beside each other in a submission and bound each other, known by their names: quantiles rise,
//! means lie within the least and the most, ends come after beginnings. It holds for every type of the documents, also
//! for those to come.

use serde_json::{Map, Value};

use super::Checked;
use crate::limits;

/// Names of numbers that do not fall in this order.
const RISING: [&[&str]; 5] = [
    &["min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"],
    &["low", "value", "high"],
    &["from_ns", "until_ns"],
    &["start_ns", "end_ns"],
    &["fewest_erases", "most_erases"],
];

/// Names of numbers that lie within `min` and `max`.
const WITHIN: [&str; 2] = ["mean", "median"];

/// Names of how far values are from their mean: no further than the least is from the most.
const SPREADS: [&str; 2] = ["standard_deviation", "deviation"];

/// Fails at the first object whose numbers contradict each other, with its path.
pub(crate) fn check(submission: &Value) -> Checked {
    of("", submission)
}

fn of(place: &str, value: &Value) -> Checked {
    match value {
        Value::Object(fields) => {
            of_object(place, fields)?;
            fields.iter().try_for_each(|(name, field)| match place {
                "" => of(name, field),
                place => of(&format!("{place}.{name}"), field),
            })
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(nth, item)| of(&format!("{place}[{nth}]"), item))
        }
        _ => Ok(()),
    }
}

fn of_object(place: &str, fields: &Map<String, Value>) -> Checked {
    // The value of an estimate is what its object stands for.
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
                    "`{name}` is {value}, and may be at least {least}, as `{before}` is"
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
                "`{name}` is {mean}, and may be {min} to {max}, by `min` and `max` beside it"
            ));
        }
    }
    for (name, spread) in SPREADS.iter().filter_map(|name| Some((*name, number(name)?))) {
        if above(spread, max - min) {
            let (name, most) = (named(name), max - min);
            return Err(format!(
                "`{name}` is {spread}, and may be at most {most}, by `min` and `max` beside it"
            ));
        }
    }
    Ok(())
}

/// Whether one number is above another by more than rounding, which for quantiles is that of their histogram.
fn above(one: f64, other: f64) -> bool {
    one - other > limits::QUANTILE * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_bound_each_other_are_compared() {
        let sound = json!({
            "a": { "min": 1, "p50": 3, "max": 9, "mean": 4.5, "standard_deviation": 2.0 },
            "b": [{ "low": null, "value": 3.0, "high": 4.0 }, { "start_ns": 7, "end_ns": 7 }],
            "c": { "min": 5, "max": 5.001, "mean": { "value": 5.002, "low": 4.0, "high": 6.0 } },
        });
        assert_eq!(check(&sound), Ok(()));
        for (pointer, value, words) in [
            ("/a/min", json!(4), "`a.p50` is 3, and may be at least 4, as `a.min` is"),
            ("/a/max", json!(0), "`a.max` is 0, and may be at least 3, as `a.p50` is"),
            ("/a/mean", json!(0.5), "`a.mean` is 0.5, and may be 1 to 9"),
            ("/a/mean", json!(9.5), "`a.mean` is 9.5, and may be 1 to 9"),
            (
                "/a/standard_deviation",
                json!(8.5),
                "`a.standard_deviation` is 8.5, and may be at most 8",
            ),
            (
                "/b/0/high",
                json!(2.0),
                "`b[0].high` is 2, and may be at least 3, as `b[0].value` is",
            ),
            ("/b/0/low", json!(3.5), "`b[0].value` is 3, and may be at least 3.5"),
            ("/b/1/end_ns", json!(6), "`b[1].end_ns` is 6, and may be at least 7"),
            ("/c/mean/value", json!(5.5), "`c.mean` is 5.5, and may be 5 to 5.001"),
        ] {
            let mut broken = sound.clone();
            *broken.pointer_mut(pointer).unwrap() = value;
            let found = check(&broken).expect_err(pointer);
            assert!(found.starts_with(words), "{pointer}: {found}");
        }
    }
}
