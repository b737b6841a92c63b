//! Builds parts of the OpenAPI document: parameters, responses, and the names of schemas.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::problem::ProblemBody;

/// The path of schema definitions in the document.
pub(crate) const DEFINITIONS: &str = "/components/schemas";

/// The suffix of the schema names of types in requests. Their schemas differ from those in
/// responses: fields with defaults are optional.
pub(crate) const RECEIVED: &str = "Request";

/// Describes the responses of an operation: the status `ok`, with an `R` as JSON unless it is 204,
/// and the problems.
pub(crate) fn responses<R: JsonSchema>(
    sent: &mut SchemaGenerator,
    ok: &str,
    problems: &[&str],
) -> Value {
    responses_as::<R>("application/json", sent, ok, problems)
}

/// Does the same as [`responses`] for the content type `kind`, which holds one or more `R`.
pub(crate) fn responses_as<R: JsonSchema>(
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
        "200" => "The requested data.",
        "204" => "The data were stored.",
        "400" => "The request is malformed.",
        "401" => "A token is required.",
        "403" => "The request came from another site, or the caller is not allowed to make it.",
        "404" => "There is no such resource.",
        "409" => "The resource exists already, or something that it needs is missing.",
        "413" => "The request body is too large.",
        "415" => "The request body has the wrong type.",
        "422" => "The result or the request body is invalid.",
        "429" => "Too many requests; try again later.",
        "503" => "The server is busy, or the request takes too long; try again.",
        _ => "The server failed.",
    }
}

/// Describes the fields of `T` as parameters.
pub(crate) fn parameters_of<T: JsonSchema>(
    generator: &mut SchemaGenerator,
    place: &str,
) -> Vec<Value> {
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

/// Removes `null` from a schema: an optional parameter is omitted, never `null`.
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

/// Redirects references to any of `names` to the request variant of the type.
pub(crate) fn rename(value: &mut Value, names: &[String]) {
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
