//! Endpoints and their description. The types of a handler define its input and output; the route
//! and the OpenAPI 3.1 document are both derived from these types.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use crate::describe::{DEFINITIONS, RECEIVED, parameters_of, rename, responses, responses_as};
use crate::lines::{LINES, Lines};
use crate::problem::Problem;
use crate::strict_json::array_for_object;

/// A response: the JSON of a `T`. Cloning is cheap.
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
    /// Serializes `value`.
    pub fn of(value: &T) -> Result<JsonOf<T>, Problem> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| Problem::failed(format!("the answer cannot be written: {error}")))?;
        Ok(JsonOf::from_bytes(bytes.into()))
    }
}

impl<T> JsonOf<T> {
    /// Wraps bytes that are already the JSON of a `T`.
    pub fn from_bytes(bytes: Bytes) -> JsonOf<T> {
        JsonOf { bytes, of: PhantomData }
    }

    /// Returns the JSON.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// The bearer token of a request, if any.
pub struct Bearer(pub Option<String>);

impl Bearer {
    fn of(headers: &HeaderMap) -> Bearer {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, token) = value.and_then(|value| value.split_once(' ')).unwrap_or_default();
        Bearer(scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_string()))
    }
}

/// A state that admits requests by their token.
pub trait Gate: Send + Sync + 'static {
    /// The identity of an admitted caller. The request counts against the limits of the gate as
    /// long as this value lives.
    type Caller: Send;

    /// Admits or rejects a request by its token, before its body is read.
    fn admit(
        self: Arc<Self>,
        bearer: Bearer,
    ) -> impl Future<Output = Result<Self::Caller, Problem>> + Send;
}

/// The status codes of the problems that a write with a token may cause.
const WRITING: [&str; 10] = ["400", "401", "403", "404", "409", "413", "415", "422", "429", "503"];

/// A type that a handler takes from the path or the query of a request.
pub trait Parameters: DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameters for T {}

/// A type that a handler takes from the JSON body of a request.
pub trait Body: Serialize + DeserializeOwned + JsonSchema + Send + 'static {}
impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Body for T {}

/// The parameters of an endpoint without parameters.
#[derive(Debug, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A builder that collects the endpoints over a state `S`.
pub struct Endpoints<S> {
    router: Router<Arc<S>>,
    paths: Map<String, Value>,
    /// The schemas of types in responses, as serialization writes them.
    sent: SchemaGenerator,
    /// The schemas of types in requests, as deserialization accepts them.
    received: SchemaGenerator,
}

impl<S: Send + Sync + 'static> Default for Endpoints<S> {
    /// Returns a builder without endpoints.
    fn default() -> Endpoints<S> {
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
}

impl<S: Send + Sync + 'static> Endpoints<S> {
    /// Adds an endpoint for `GET` at `path`.
    pub fn get<P, Q, R, F, H>(mut self, path: &str, summary: &str, handler: H) -> Self
    where
        P: Parameters,
        Q: Parameters,
        R: JsonSchema + 'static,
        F: Future<Output = Result<JsonOf<R>, Problem>> + Send,
        H: Fn(Arc<S>, P, Q) -> F + Clone + Send + Sync + 'static,
    {
        let problems = ["400", "403", "404", "422", "429", "503"];
        let responses = responses::<R>(&mut self.sent, "200", &problems);
        let operation = self.operation::<P, Q>(summary, responses);
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

    /// Adds an endpoint for `PUT` at `path` with a JSON body of at most `limit` bytes. The server
    /// calls `may` before it reads the body, and rejects the request if `may` fails.
    pub fn put<P, B, F, H>(
        mut self,
        path: &str,
        summary: &str,
        limit: u64,
        may: fn(&S) -> Result<(), Problem>,
        handler: H,
    ) -> Self
    where
        P: Parameters,
        B: Body,
        F: Future<Output = Result<(), Problem>> + Send,
        H: Fn(Arc<S>, P, B) -> F + Clone + Send + Sync + 'static,
    {
        let problems = ["400", "403", "404", "413", "415", "422", "503"];
        let responses = responses::<()>(&mut self.sent, "204", &problems);
        let mut operation = self.operation::<P, Nothing>(summary, responses);
        operation["requestBody"] = self.json_body::<B>();
        self.document(path, "put", operation);
        let route = move |State(state): State<Arc<S>>,
                          path: Result<Path<P>, PathRejection>,
                          request: Request| async move {
            let path = path_of(path)?;
            may(&state).map_err(unread)?;
            let body = body_of(request).await?;
            handler(state, path, body).await.map(|()| StatusCode::NO_CONTENT)
        };
        self.route_limited(path, put(route), limit)
    }

    /// Adds an endpoint for `POST` at `path` that answers with a stream of JSON lines. It accepts a
    /// JSON body of at most `limit` bytes. The server calls `may` before it reads the body, and
    /// rejects the request if `may` fails.
    pub(crate) fn post_lines<B, R, F, H>(
        mut self,
        path: &str,
        summary: &str,
        limit: u64,
        may: fn(&S) -> Result<(), Problem>,
        handler: H,
    ) -> Self
    where
        B: Body,
        R: JsonSchema + 'static,
        F: Future<Output = Result<Lines<R>, Problem>> + Send,
        H: Fn(Arc<S>, B) -> F + Clone + Send + Sync + 'static,
    {
        let problems = ["400", "403", "413", "415", "422", "429", "503"];
        let responses = responses_as::<R>(LINES, &mut self.sent, "200", &problems);
        let mut operation = self.operation::<Nothing, Nothing>(summary, responses);
        operation["requestBody"] = self.json_body::<B>();
        self.document(path, "post", operation);
        let route = move |State(state): State<Arc<S>>, request: Request| async move {
            may(&state).map_err(unread)?;
            let body = body_of(request).await?;
            handler(state, body).await
        };
        self.route_limited(path, post(route), limit)
    }

    /// Returns the routes, and the OpenAPI document that describes them.
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
            "components": {
                "schemas": schemas,
                "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            },
        });
        (self.router, document)
    }

    fn operation<P: Parameters, Q: Parameters>(
        &mut self,
        summary: &str,
        responses: Value,
    ) -> Value {
        let mut parameters = parameters_of::<P>(&mut self.received, "path");
        parameters.extend(parameters_of::<Q>(&mut self.received, "query"));
        json!({ "summary": summary, "parameters": parameters, "responses": responses })
    }

    fn json_body<B: JsonSchema>(&mut self) -> Value {
        let schema = self.received.subschema_for::<B>();
        json!({ "required": true, "content": { "application/json": { "schema": schema } } })
    }

    fn route_limited(mut self, path: &str, route: MethodRouter<Arc<S>>, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.router = self.router.route(path, route.layer(DefaultBodyLimit::max(limit)));
        self
    }

    fn document(&mut self, path: &str, method: &str, operation: Value) {
        let paths = self.paths.entry(path).or_insert_with(|| json!({}));
        paths[method] = operation;
    }
}

impl<S: Gate> Endpoints<S> {
    /// Adds an endpoint for `PUT` at `path` with a raw body of at most `limit` bytes. The endpoint
    /// requires a token.
    pub fn put_bytes<P, F, H>(mut self, path: &str, summary: &str, limit: u64, handler: H) -> Self
    where
        P: Parameters,
        F: Future<Output = Result<(), Problem>> + Send,
        H: Fn(Arc<S>, S::Caller, P, Bytes) -> F + Clone + Send + Sync + 'static,
    {
        let responses = responses::<()>(&mut self.sent, "204", &WRITING);
        let mut operation = self.operation::<P, Nothing>(summary, responses);
        let bytes = json!({ "schema": { "type": "string", "format": "binary" } });
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/octet-stream": bytes } });
        operation["security"] = json!([{ "token": [] }]);
        self.document(path, "put", operation);
        let route = move |State(state): State<Arc<S>>,
                          path: Result<Path<P>, PathRejection>,
                          request: Request| async move {
            let path = path_of(path)?;
            let caller = admitted(&state, Bearer::of(request.headers())).await?;
            require_type(request.headers(), "application/octet-stream")?;
            let body = arrived(Bytes::from_request(request, &()).await)?;
            handler(state, caller, path, body).await.map(|()| StatusCode::NO_CONTENT)
        };
        self.route_limited(path, put(route), limit)
    }

    /// Adds an endpoint for `POST` at `path` with a JSON body of at most `limit` bytes. The
    /// endpoint requires a token.
    pub fn post<P, B, R, F, H>(mut self, path: &str, summary: &str, limit: u64, handler: H) -> Self
    where
        P: Parameters,
        B: Body,
        R: JsonSchema + 'static,
        F: Future<Output = Result<JsonOf<R>, Problem>> + Send,
        H: Fn(Arc<S>, S::Caller, P, B) -> F + Clone + Send + Sync + 'static,
    {
        let responses = responses::<R>(&mut self.sent, "200", &WRITING);
        let mut operation = self.operation::<P, Nothing>(summary, responses);
        operation["requestBody"] = self.json_body::<B>();
        operation["security"] = json!([{ "token": [] }]);
        self.document(path, "post", operation);
        let route = move |State(state): State<Arc<S>>,
                          path: Result<Path<P>, PathRejection>,
                          request: Request| async move {
            let path = path_of(path)?;
            let caller = admitted(&state, Bearer::of(request.headers())).await?;
            let body = body_of(request).await?;
            handler(state, caller, path, body).await.map(|answer| untagged(answer.bytes))
        };
        self.route_limited(path, post(route), limit)
    }
}

async fn admitted<S: Gate>(state: &Arc<S>, bearer: Bearer) -> Result<S::Caller, Problem> {
    state.clone().admit(bearer).await.map_err(unread)
}

/// Makes a rejection close the connection, because the server has not read the body of the request.
fn unread(problem: Problem) -> Problem {
    problem.with(header::CONNECTION, "close")
}

fn path_of<P>(path: Result<Path<P>, PathRejection>) -> Result<P, Problem> {
    let Path(path) =
        path.map_err(|error| Problem::bad_request(format!("the address is invalid: {error}")))?;
    Ok(path)
}

fn query_of<Q: DeserializeOwned>(uri: &Uri) -> Result<Q, Problem> {
    let Query(query) = Query::try_from_uri(uri).map_err(|error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Problem::bad_request(format!("the query is invalid: {cause}"))
    })?;
    Ok(query)
}

/// Reads the JSON body of a request. Parses it on a blocking thread, because parsing a large body
/// is slow.
async fn body_of<B: Body>(request: Request) -> Result<B, Problem> {
    require_type(request.headers(), "application/json")?;
    let body = arrived(Bytes::from_request(request, &()).await)?;
    let read = spawn_blocking(move || read(&body)).await;
    read.unwrap_or_else(|_| Err(Problem::failed("the request body cannot be read")))
}

fn read<B: Body>(body: &[u8]) -> Result<B, Problem> {
    let wrong = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => {
            Problem::damaged(format!("the request body does not match the schema: {error}"))
        }
        _ => Problem::bad_request(format!("the request body is not JSON: {error}")),
    };
    let read: B = serde_json::from_slice(body).map_err(wrong)?;
    let meant = serde_json::to_value(&read).map_err(wrong)?;
    match array_for_object(body, &meant).map_err(wrong)? {
        None => Ok(read),
        Some(place) => Err(Problem::damaged(format!(
            "the request body does not match the schema: {place} is an array instead of an object"
        ))),
    }
}

fn require_type(headers: &HeaderMap, required: &str) -> Result<(), Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case(required)) {
        return Ok(());
    }
    Err(Problem::wrong_type(format!(
        "the request body has the wrong type: send it with `Content-Type: {required}`"
    )))
}

fn arrived(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Problem> {
    body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large("the request body is too large"),
        _ => Problem::bad_request(format!("the request body did not arrive: {error}")),
    })
}

fn untagged(bytes: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

/// Builds a JSON response with an entity tag, with which a browser can revalidate its copy.
pub(crate) fn tagged(bytes: Bytes, headers: &HeaderMap) -> Response {
    tagged_as("application/json", bytes, headers)
}

/// Does the same as [`tagged`] for the content type `kind`.
pub(crate) fn tagged_as(kind: &'static str, bytes: Bytes, headers: &HeaderMap) -> Response {
    tagged_with(tag_of(&bytes), kind, bytes, headers)
}

/// Returns the entity tag of `bytes`.
pub(crate) fn tag_of(bytes: &[u8]) -> String {
    format!("W/\"{}\"", hex::encode(&Sha256::digest(bytes)[..12]))
}

/// Builds a response with the entity tag `tag`, or status 304 without a body if the client has that
/// version.
pub(crate) fn tagged_with(
    tag: String,
    kind: &'static str,
    bytes: Bytes,
    headers: &HeaderMap,
) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let same = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let fixed = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".into())];
    if same {
        return (StatusCode::NOT_MODIFIED, fixed).into_response();
    }
    (fixed, [(header::CONTENT_TYPE, kind)], bytes).into_response()
}
