//! Moves definitions that several schemas repeat to a schema of their own, to which the others
//! refer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The name of the schema with the shared definitions.
pub(super) const NAME: &str = "common";

const LOCAL: &str = "#/$defs/";

/// A definition with everything to which it refers, as text.
type Text = String;

/// Moves the definitions that occur in at least two schemas, with all that they refer to, to a
/// schema of their own, and returns it. If definitions of one name differ, the most frequent one
/// moves.
pub(super) fn extract(schemas: &mut [&mut Value]) -> Value {
    let mut counts: BTreeMap<String, BTreeMap<Text, usize>> = BTreeMap::new();
    for schema in schemas.iter() {
        for name in definitions(schema).keys() {
            *counts.entry(name.clone()).or_default().entry(text(schema, name)).or_default() += 1;
        }
    }
    let mut shared: BTreeMap<String, Text> = BTreeMap::new();
    for (name, variants) in counts {
        let most = variants.into_iter().max_by_key(|(_, count)| *count);
        shared.extend(most.filter(|(_, count)| *count > 1).map(|(text, _)| (name, text)));
    }
    let mut common = Map::new();
    for schema in schemas {
        let is_shared = |name: &String| shared.get(name) == Some(&text(schema, name));
        let moves = |name: &&String| reached(schema, name).iter().all(is_shared);
        let moved: BTreeSet<String> = definitions(schema).keys().filter(moves).cloned().collect();
        for name in &moved {
            let definition = schema["$defs"].as_object_mut().and_then(|all| all.remove(name));
            common.entry(name.clone()).or_insert(definition.expect("a definition of the schema"));
        }
        let refer = |name: &str| match moved.contains(name) {
            true => format!("{NAME}.schema.json{LOCAL}{name}"),
            false => format!("{LOCAL}{name}"),
        };
        map_references(schema, &refer);
        if definitions(schema).is_empty() {
            schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Common",
        "description": "Definitions that several schemas share.",
        "$defs": common,
    })
}

/// Returns the definitions of a schema.
pub(super) fn definitions(schema: &Value) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema.get("$defs").and_then(Value::as_object).unwrap_or(&NONE)
}

/// Returns a definition and all definitions to which it refers, in the order of their names.
fn text(schema: &Value, name: &str) -> Text {
    let names = reached(schema, name);
    names.iter().map(|name| format!("{name} {}\n", definitions(schema)[name])).collect()
}

/// Returns the names of a definition and of all definitions to which it refers.
fn reached(schema: &Value, name: &str) -> BTreeSet<String> {
    let (mut reached, mut open) = (BTreeSet::from([name.to_owned()]), vec![name.to_owned()]);
    while let Some(next) = open.pop() {
        let found = references(&definitions(schema)[&next]);
        open.extend(found.into_iter().filter(|name| reached.insert(name.clone())));
    }
    reached
}

/// Returns the names of the definitions to which a value refers.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(fields) => {
            let name = value.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|text| text.strip_prefix(LOCAL)).map(str::to_owned);
            name.into_iter().chain(fields.values().flat_map(references)).collect()
        }
        _ => Vec::new(),
    }
}

/// Replaces each reference to a definition of the same schema by the result of `to`, which receives
/// the definition's name.
fn map_references(value: &mut Value, to: &impl Fn(&str) -> String) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| map_references(item, to)),
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(text) if key == "$ref" => {
                        if let Some(name) = text.strip_prefix(LOCAL) {
                            *text = to(name);
                        }
                    }
                    field => map_references(field, to),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(inner: &str) -> Value {
        json!({
            "properties": { "a": { "$ref": "#/$defs/A" }, "c": { "$ref": "#/$defs/C" } },
            "$defs": {
                "A": { "items": { "$ref": "#/$defs/B" } },
                "B": { "type": inner },
                "C": { "const": 1 },
            },
        })
    }

    #[test]
    fn equal_definitions_move_and_definitions_over_different_ones_stay() {
        let mut schemas =
            [("x", schema("string")), ("y", schema("string")), ("z", schema("number"))];
        let common = extract(&mut schemas.each_mut().map(|(_, schema)| schema));
        let names: Vec<&String> = definitions(&common).keys().collect();
        assert_eq!(names, ["A", "B", "C"]);
        let [(_, x), (_, y), (_, z)] = schemas;
        assert_eq!(x, y);
        assert_eq!(x["properties"]["a"]["$ref"], "common.schema.json#/$defs/A");
        assert_eq!(x.get("$defs"), None);
        assert_eq!(common["$defs"]["A"]["items"]["$ref"], "#/$defs/B");
        assert_eq!(z["properties"]["a"]["$ref"], "#/$defs/A");
        assert_eq!(z["properties"]["c"]["$ref"], "common.schema.json#/$defs/C");
        assert_eq!(definitions(&z).keys().collect::<Vec<_>>(), ["A", "B"]);
    }

    // B of strings is the most frequent variant. A over numbers occurs twice, but must not refer to
    // B of strings.
    #[test]
    fn a_definition_stays_where_it_refers_to_a_variant_that_stays() {
        let alone = json!({ "$defs": { "B": { "type": "string" } } });
        let mut schemas = [
            ("v", alone.clone()),
            ("w", alone.clone()),
            ("x", alone),
            ("y", schema("number")),
            ("z", schema("number")),
        ];
        let common = extract(&mut schemas.each_mut().map(|(_, schema)| schema));
        assert_eq!(definitions(&common).keys().collect::<Vec<_>>(), ["B", "C"]);
        assert_eq!(definitions(&schemas[4].1).keys().collect::<Vec<_>>(), ["A", "B"]);
    }
}
