//! Checks JSON against its schema more strictly than deserialization does.

use std::fmt::{self, Formatter};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Finds the first array in `sent` at a place where `meant` has an object, and returns its path.
/// Deserializers accept an array of the fields of an object in place of the object, which no schema
/// allows. Skips unknown fields without parsing them into values, which could take 100 times the
/// memory of the JSON.
pub(crate) fn array_for_object(
    sent: &[u8],
    meant: &Value,
) -> Result<Option<String>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(sent);
    let place = ExpectedShape(meant).deserialize(&mut json)?;
    Ok(place.map(|place| format!("`{place}`")))
}

/// The value into which a part of the input was deserialized. As a visitor of this part, it returns
/// the path of the first array that stands for an object.
#[derive(Clone, Copy)]
struct ExpectedShape<'a>(&'a Value);

impl<'de> DeserializeSeed<'de> for ExpectedShape<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, sent: D) -> Result<Option<String>, D::Error> {
        match self.0 {
            Value::Array(_) | Value::Object(_) => sent.deserialize_any(self),
            _ => sent.deserialize_ignored_any(IgnoredAny).map(|_| None),
        }
    }
}

impl<'de> Visitor<'de> for ExpectedShape<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sent: A) -> Result<Option<String>, A::Error> {
        let mut place = self.0.is_object().then(String::new);
        let meant = self.0.as_array().map(Vec::as_slice).unwrap_or_default();
        for (n, meant) in meant.iter().enumerate() {
            if place.is_some() {
                break;
            }
            let Some(below) = sent.next_element_seed(ExpectedShape(meant))? else {
                return Ok(None);
            };
            place = below.map(|below| format!("/{n}{below}"));
        }
        while sent.next_element::<IgnoredAny>()?.is_some() {}
        Ok(place)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut sent: A) -> Result<Option<String>, A::Error> {
        let mut place = None;
        while let Some(name) = sent.next_key::<String>()? {
            match self.0.get(&name).filter(|_| place.is_none()) {
                Some(meant) => {
                    let below = sent.next_value_seed(ExpectedShape(meant))?;
                    place = below.map(|below| format!("/{name}{below}"));
                }
                None => {
                    sent.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(place)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<String>, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_arrays_for_objects_at_any_depth() {
        let meant = json!({ "a": [{ "b": 1 }, { "b": { "c": [2, 3] } }], "d": null, "e": "x" });
        for (sent, place) in [
            (r#"[1]"#, Some("``")),
            (r#"{"a": [[1]]}"#, Some("`/a/0`")),
            (r#"{"a": [{}, {"b": [[2], 3]}, 4], "e": 1}"#, Some("`/a/1/b`")),
            (r#"{"e": "x", "a": [[], []], "unknown": [[]]}"#, Some("`/a/0`")),
            (r#"{"a": [{"b": 1}, {"b": {"c": [2, 3, []]}}, [[]]], "d": [], "e": []}"#, None),
            (r#"{"unknown": [[{}], {"a": []}], "a": 1.5, "b": [true]}"#, None),
            (r#"null"#, None),
            (r#"-1"#, None),
        ] {
            assert_eq!(
                array_for_object(sent.as_bytes(), &meant).unwrap().as_deref(),
                place,
                "{sent}"
            );
        }
    }
}
