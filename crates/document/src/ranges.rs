//! The limits of numbers and texts in published documents. They are part of the schemas, by which a
//! registry refuses invalid documents.
//!
//! A field with a narrower meaning, such as a share, declares its own limits
//! (`#[schemars(range(…))]`). All other fields get the limits in this module.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// The largest count. JavaScript represents all integers up to this limit exactly.
pub(crate) const MAX_COUNT: u64 = (1 << 53) - 1;

/// The largest quantity in any unit. It corresponds to 1 EB, more than any drive holds, or to 31
/// years in nanoseconds.
pub(crate) const LARGEST_MEASURE: f64 = 1e18;

/// The longest text, in characters.
pub(crate) const LONGEST_TEXT: u64 = 4096;

/// The names of types whose values are limited by kernel types (`loff_t`, `ktime_t`).
const KERNEL_LIMITED_TYPES: [&str; 2] = ["Bytes", "Nanos"];

/// Returns the published schema of a document, with limits for every number and text.
pub fn schema_of<T: JsonSchema>() -> Schema {
    bounded::<T>(SchemaSettings::default())
}

/// Returns the schema of documents that flashscope writes, which contain every field.
pub fn schema_of_written<T: JsonSchema>() -> Schema {
    bounded::<T>(SchemaSettings::default().for_serialize())
}

fn bounded<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut);
    for (name, definition) in definitions.into_iter().flatten() {
        limit_definition(name, definition);
    }
    RecursiveTransform(limit).transform(&mut schema);
    schema
}

/// Adds limits to the definition of a type, as [`schema_of`] does for documents that contain it.
/// Values that are no schema stay as they are.
pub fn limit_definition(name: &str, definition: &mut Value) {
    let Ok(schema) = <&mut Schema>::try_from(definition) else { return };
    if KERNEL_LIMITED_TYPES.contains(&name) {
        schema.insert("maximum".to_owned(), json!(i64::MAX));
    }
    RecursiveTransform(limit).transform(schema);
}

/// Adds the limits that a field lacks.
fn limit(schema: &mut Schema) {
    let has_type = |name: &str| match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    };
    let format = schema.get("format").and_then(Value::as_str);
    let limits = if has_type("integer") {
        let (least, most) = match format {
            Some("uint8") => (json!(0), json!(u8::MAX)),
            Some("uint16") => (json!(0), json!(u16::MAX)),
            Some("uint32") => (json!(0), json!(u32::MAX)),
            Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
            Some("uint64" | "uint") => (json!(0), json!(MAX_COUNT)),
            _ => (json!(-MAX_COUNT.cast_signed()), json!(MAX_COUNT)),
        };
        vec![("minimum", least), ("maximum", most)]
    } else if has_type("number") {
        vec![("minimum", json!(-LARGEST_MEASURE)), ("maximum", json!(LARGEST_MEASURE))]
    } else if has_type("string") && schema.get("enum").is_none() && schema.get("const").is_none() {
        vec![("maxLength", json!(LONGEST_TEXT))]
    } else {
        vec![]
    };
    for (name, value) in limits {
        schema.ensure_object().entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flashscope_block::Nanos;

    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "the tests use only its schema")]
    struct Document {
        time: Nanos,
        count: Option<u64>,
        #[schemars(inner(range(min = 0.0, max = 1.0)))]
        share: Vec<f64>,
        by_cause: BTreeMap<String, u32>,
        step: i64,
        text: String,
    }

    /// Adds the schemas of all numbers and texts to `found`, by path.
    fn leaves(schema: &Value, place: &str, found: &mut BTreeMap<String, Value>) {
        match schema {
            Value::Object(fields) => {
                let kind = fields.get("type").map(Value::to_string).unwrap_or_default();
                if ["integer", "number", "string"].iter().any(|name| kind.contains(name)) {
                    found.insert(place.into(), schema.clone());
                }
                for (name, field) in fields {
                    leaves(field, &format!("{place}/{name}"), found);
                }
            }
            Value::Array(several) => {
                for (nth, one) in several.iter().enumerate() {
                    leaves(one, &format!("{place}/{nth}"), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_number_and_text_has_limits() {
        let mut found = BTreeMap::new();
        leaves(schema_of::<Document>().as_value(), "", &mut found);
        let limits = |place: &str| {
            let leaf = &found[place];
            [leaf["minimum"].clone(), leaf["maximum"].clone()]
        };
        assert_eq!(limits("/$defs/Nanos"), [json!(0), json!(i64::MAX)]);
        assert_eq!(limits("/properties/count"), [json!(0), json!(MAX_COUNT)]);
        assert_eq!(limits("/properties/share/items"), [json!(0.0), json!(1.0)]);
        assert_eq!(limits("/properties/by_cause/additionalProperties"), [0, u64::from(u32::MAX)]);
        assert_eq!(limits("/properties/step")[0], json!(-9_007_199_254_740_991_i64));
        assert_eq!(found["/properties/text"]["maxLength"], LONGEST_TEXT);
    }

    #[test]
    fn every_field_of_a_manifest_has_limits() {
        let mut found = BTreeMap::new();
        leaves(schema_of::<crate::Manifest>().as_value(), "", &mut found);
        assert!(found.len() > 100);
        for (place, leaf) in found {
            let named = leaf.get("enum").is_some() || leaf.get("const").is_some();
            let both = leaf.get("minimum").is_some() && leaf.get("maximum").is_some();
            assert!(named || both || leaf.get("maxLength").is_some(), "{place}: {leaf}");
        }
    }
}
