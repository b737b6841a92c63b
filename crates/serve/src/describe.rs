//! Parts of the OpenAPI document: parameters, answers, and the names of schemas.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::endpoint::Parameters;
use crate::problem::ProblemBody;

/// Where definitions of schemas stand in the document.
pub const DEFINITIONS: &str = "/components/schemas";

/// What is added to the name of a type where it is received: it may leave out what has a default.
pub const RECEIVED: &str = "Request";

/// The answers of an operation: `ok` with JSON of an `R`, unless it is empty, and problems.
pub fn responses<R: JsonSchema>(sent: &mut SchemaGenerator, ok: &str, problems: &[&str]) -> Value {
    responses_as::<R>("application/json", sent, ok, problems)
}

/// The same with another kind of content, in which `R`s are.
pub fn responses_as<R: JsonSchema>(
    kind: &str,
    sent: &mut SchemaGenerator,
    ok: &str,
    problems: &[&str],
) -> Value {
    let problem = sent.subschema_for::<ProblemBody>();
    let content = |schema: &Value| json!({ "application/json": { "schema": schema } });
    let mut responses = json!({ ok: { "description": described(ok) } });
    if ok != "204" {
        let schema = sent.subschema_for::<R>();
        responses[ok]["content"] = json!({ kind: { "schema": schema } });
    }
    for status in problems {
        let (description, content) = (described(status), content(problem.as_value()));
        responses[*status] = json!({ "description": description, "content": content });
    }
    responses
}

fn described(status: &str) -> &'static str {
    match status {
        "200" => "What was asked for.",
        "204" => "It was stored.",
        "400" => "The request cannot be understood.",
        "401" => "It takes a token.",
        "403" => "The request came from another site, or this is not for who asks.",
        "404" => "There is no such thing.",
        "409" => "It is there already, or something is missing for it.",
        "413" => "What was sent is too large.",
        "415" => "What was sent is of another type.",
        "422" => "The result, or what was sent, is not what it should be.",
        "429" => "Too much is asked for at once; ask again later.",
        "503" => "It takes too long; ask again.",
        _ => "The server failed.",
    }
}

/// The fields of `T` as parameters.
pub fn parameters_of<T: Parameters>(generator: &mut SchemaGenerator, place: &str) -> Vec<Value> {
    let schema = T::json_schema(generator).to_value();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, mut schema): (String, Value)| {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let required = required.contains(&Value::String(name.clone()));
        without_null(&mut schema);
        json!({
            "name": name,
            "in": place,
            "required": required,
            "description": description.unwrap_or_default(),
            "schema": schema,
        })
    };
    properties.into_iter().map(parameter).collect()
}

/// What may be left out is left out, not `null`.
fn without_null(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(types) = schema.get_mut("type").filter(|types| types.is_array()) {
        let one = types.as_array().and_then(|types| types.iter().find(|one| *one != "null"));
        *types = one.cloned().unwrap_or_default();
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let null = json!({ "type": "null" });
    if let Some(choices) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        choices.retain(|choice| *choice != null);
    }
}

/// Lets references to any of `names` point to what is received.
pub fn rename(value: &mut Value, names: &[String]) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get_mut("$ref") {
                let name = reference.strip_prefix('#').and_then(|r| r.strip_prefix(DEFINITIONS));
                let name = name.and_then(|name| name.strip_prefix('/'));
                if name.is_some_and(|name| names.iter().any(|known| known == name)) {
                    reference.push_str(RECEIVED);
                }
            }
            map.values_mut().for_each(|value| rename(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, names)),
        _ => {}
    }
}
