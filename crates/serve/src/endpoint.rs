//! Endpoints, and their description: what a handler takes and gives is said once, by its types, and
//! both the route and the OpenAPI 3.1 document follow from them.

use std::fmt::Write as _;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::problem::{Problem, ProblemBody};

/// An answer: the JSON of a `T`. It is cheap to clone.
#[derive(Debug)]
pub struct JsonOf<T> {
    bytes: Bytes,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for JsonOf<T> {
    fn clone(&self) -> Self {
        JsonOf { bytes: self.bytes.clone(), of: PhantomData }
    }
}

impl<T: Serialize> JsonOf<T> {
    /// The JSON of `value`.
    pub fn of(value: &T) -> Result<JsonOf<T>, Problem> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| Problem::failed(format!("the answer cannot be written: {error}")))?;
        Ok(JsonOf::from_bytes(bytes.into()))
    }
}

impl<T> JsonOf<T> {
    /// What was JSON of a `T` before.
    pub fn from_bytes(bytes: Bytes) -> JsonOf<T> {
        JsonOf { bytes, of: PhantomData }
    }

    /// The JSON.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// What a handler takes from the path or the query of a request.
pub trait Parameters: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameters for T {}

/// No parameter.
#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Endpoints over a state `S`, as they are gathered.
pub struct Endpoints<S> {
    router: Router<Arc<S>>,
    paths: Map<String, Value>,
    /// Of what is sent, by how it is written.
    sent: SchemaGenerator,
    /// Of what is received, by how it is read.
    received: SchemaGenerator,
}

/// Where definitions of schemas stand in the document.
const DEFINITIONS: &str = "/components/schemas";

/// What is added to the name of a type where it is received: it may leave out what has a default.
const RECEIVED: &str = "Request";

impl<S: Send + Sync + 'static> Endpoints<S> {
    /// None yet.
    pub fn new() -> Endpoints<S> {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = DEFINITIONS.into();
                settings.meta_schema = None;
            })
        };
        Endpoints {
            router: Router::new(),
            paths: Map::new(),
            sent: settings().for_serialize().into_generator(),
            received: settings().for_deserialize().into_generator(),
        }
    }

    /// Adds what answers `GET` at `path`.
    pub fn get<P, Q, R, F, H>(mut self, path: &str, summary: &str, handler: H) -> Self
    where
        P: Parameters,
        Q: Parameters,
        R: JsonSchema + 'static,
        F: Future<Output = Result<JsonOf<R>, Problem>> + Send,
        H: Fn(Arc<S>, P, Q) -> F + Clone + Send + Sync + 'static,
    {
        let operation = self.operation::<P, Q, R>(summary, &["400", "404", "422", "503"]);
        self.document(path, "get", operation);
        let route = move |State(state): State<Arc<S>>,
                          path: Result<Path<P>, PathRejection>,
                          uri: Uri,
                          headers: HeaderMap| async move {
            let path = path_of(path)?;
            let query = query_of(&uri)?;
            handler(state, path, query).await.map(|answer| tagged(answer.bytes, &headers))
        };
        self.router = self.router.route(path, get(route));
        self
    }

    /// Adds what answers `PUT` at `path` with a JSON body of at most `limit` bytes.
    pub fn put<P, B, F, H>(mut self, path: &str, summary: &str, limit: u64, handler: H) -> Self
    where
        P: Parameters,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        F: Future<Output = Result<(), Problem>> + Send,
        H: Fn(Arc<S>, P, B) -> F + Clone + Send + Sync + 'static,
    {
        let statuses = ["400", "403", "404", "413", "415", "422"];
        let mut operation = self.operation::<P, Nothing, ()>(summary, &statuses);
        let body = self.received.subschema_for::<B>();
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": body } } });
        operation["responses"]["204"] = json!({ "description": "It was stored." });
        operation["responses"].as_object_mut().map(|responses| responses.remove("200"));
        self.document(path, "put", operation);
        let route = move |State(state): State<Arc<S>>,
                          path: Result<Path<P>, PathRejection>,
                          headers: HeaderMap,
                          body: Result<Bytes, BytesRejection>| async move {
            let path = path_of(path)?;
            let body = body_of(&headers, body)?;
            handler(state, path, body).await.map(|()| StatusCode::NO_CONTENT)
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.router = self.router.route(path, put(route).layer(DefaultBodyLimit::max(limit)));
        self
    }

    /// The routes, and the OpenAPI document that describes them.
    pub fn finish(mut self, title: &str, description: &str) -> (Router<Arc<S>>, Value) {
        let mut schemas = self.sent.take_definitions(true);
        let received = self.received.take_definitions(true);
        let names: Vec<String> = received.keys().cloned().collect();
        let mut paths = Value::Object(self.paths);
        for (name, mut schema) in received {
            rename(&mut schema, &names);
            schemas.insert(name + RECEIVED, schema);
        }
        for path in paths.as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
            for operation in path.as_object_mut().into_iter().flat_map(|path| path.values_mut()) {
                for part in ["requestBody", "parameters"] {
                    operation.get_mut(part).into_iter().for_each(|part| rename(part, &names));
                }
            }
        }
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": title,
                "description": description,
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            },
            "paths": paths,
            "components": { "schemas": schemas },
        });
        (self.router, document)
    }

    fn operation<P: Parameters, Q: Parameters, R: JsonSchema>(
        &mut self,
        summary: &str,
        problems: &[&str],
    ) -> Value {
        let mut parameters = parameters_of::<P>(&mut self.received, "path");
        parameters.extend(parameters_of::<Q>(&mut self.received, "query"));
        let ok = self.sent.subschema_for::<R>();
        let problem = self.sent.subschema_for::<ProblemBody>();
        let content = |schema| json!({ "application/json": { "schema": schema } });
        let mut responses =
            json!({ "200": { "description": "What was asked for.", "content": content(&ok) } });
        for status in problems {
            let description = match *status {
                "400" => "The request cannot be understood.",
                "403" => "The request came from another site, or nothing may be changed here.",
                "404" => "There is no such thing.",
                "413" => "What was sent is too large.",
                "415" => "What was sent is no JSON.",
                "422" => "The result, or what was sent, is not what it should be.",
                _ => "It takes too long; ask again.",
            };
            responses[*status] =
                json!({ "description": description, "content": content(&problem) });
        }
        json!({ "summary": summary, "parameters": parameters, "responses": responses })
    }

    fn document(&mut self, path: &str, method: &str, operation: Value) {
        let paths = self.paths.entry(path).or_insert_with(|| json!({}));
        paths[method] = operation;
    }
}

/// The fields of `T` as parameters.
fn parameters_of<T: Parameters>(generator: &mut SchemaGenerator, place: &str) -> Vec<Value> {
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
    let null = json!({ "type": "null" });
    if let Some(choices) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        choices.retain(|choice| *choice != null);
    }
}

/// Lets references to any of `names` point to what is received.
fn rename(value: &mut Value, names: &[String]) {
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

fn path_of<P>(path: Result<Path<P>, PathRejection>) -> Result<P, Problem> {
    let Path(path) = path
        .map_err(|error| Problem::bad_request(format!("the address is not understood: {error}")))?;
    Ok(path)
}

fn query_of<Q: DeserializeOwned>(uri: &Uri) -> Result<Q, Problem> {
    let Query(query) = Query::try_from_uri(uri).map_err(|error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Problem::bad_request(format!("the query is not understood: {cause}"))
    })?;
    Ok(query)
}

fn body_of<B: DeserializeOwned>(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<B, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(Problem::wrong_type("send JSON, with `Content-Type: application/json`"));
    }
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large("what was sent is too large"),
        _ => Problem::bad_request(format!("what was sent did not arrive: {error}")),
    })?;
    serde_json::from_slice(&body).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            Problem::damaged(format!("what was sent is not what is expected here: {error}"))
        }
        _ => Problem::bad_request(format!("what was sent is no JSON: {error}")),
    })
}

/// JSON with a tag by which a browser asks whether it has changed.
pub fn tagged(bytes: Bytes, headers: &HeaderMap) -> Response {
    let mut tag = String::from("W/\"");
    for byte in &Sha256::digest(&bytes)[..12] {
        // Writing to a string cannot fail.
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let same = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let fixed = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".into())];
    if same {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}
