//! Gives a type the same limits in all schemas.
//!
//! Documents that a registry accepts have limits for every number and text. Other documents
//! contain the same types, so that the limits hold there, too.

use std::collections::{BTreeMap, BTreeSet};

use flashscope_document::ranges::limit_definition;
use serde_json::Value;

use super::shared::definitions;

/// Replaces definitions without limits by the ones with limits that other schemas have, except in
/// the schemas `except`. A definition of another type with the same name stays as it is.
pub(super) fn adopt(schemas: &mut [(&str, Value)], except: &[&str]) {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, schema) in schemas.iter() {
        for (name, definition) in definitions(schema) {
            known.entry(name.clone()).or_default().insert(definition.to_string());
        }
    }
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| !except.contains(name)) {
        let all = schema.get_mut("$defs").and_then(Value::as_object_mut);
        for (name, definition) in all.into_iter().flatten() {
            let mut limited = definition.clone();
            limit_definition(name, &mut limited);
            if known[name].contains(&limited.to_string()) {
                *definition = limited;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(text: Value) -> Value {
        json!({ "$defs": { "Name": text } })
    }

    #[test]
    fn a_type_has_the_limits_that_another_schema_gives_it() {
        let (bare, limited) =
            (json!({ "type": "string" }), json!({ "maxLength": 4096, "type": "string" }));
        let other = json!({ "type": "string", "title": "another type" });
        let mut schemas = [
            ("limited", schema(limited.clone())),
            ("bare", schema(bare.clone())),
            ("other", schema(other.clone())),
            ("alone", schema(bare.clone())),
        ];
        adopt(&mut schemas, &["alone"]);
        let found = schemas.map(|(_, schema)| schema["$defs"]["Name"].clone());
        assert_eq!(found, [limited.clone(), limited, other, bare]);
    }
}
