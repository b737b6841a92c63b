//! The endpoints.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use flashscope_report::{Measurement, Shelf, served_html};
use flashscope_result::marks::Marks;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::endpoint::{Endpoints, JsonOf, Nothing, tagged};
use crate::guard::{Access, guarded};
use crate::limits;
use crate::page::Page;
use crate::parameters::ResultPath;
use crate::problem::Problem;
use crate::shelf::{Folders, ShelfQuery};
use crate::views;
use crate::work::Work;

const DESCRIPTION: &str = "Results of flashscope: what was measured, what was found, and every IO \
    of it, never more than a screen can show. Positions of IOs count from 0 in the order of \
    completion; windows are half-open.";

/// What the endpoints work on.
pub struct App {
    pub folders: Folders,
    pub work: Work,
    access: Access,
    /// Answers that were made of records.
    pub answers: Cache<String, Bytes, Weight>,
}

#[derive(Clone)]
pub struct Weight;

impl Weighter<String, Bytes> for Weight {
    fn weight(&self, key: &String, answer: &Bytes) -> u64 {
        (key.len() + answer.len()) as u64
    }
}

/// The application over `folders`, and its API, for `access`.
pub fn app(folders: Folders, access: Access) -> Router {
    let answers = Cache::with_weighter(1024, limits::ANSWERS, Weight);
    let app = Arc::new(App { folders, access, work: Work::new(), answers });
    let (router, document) = endpoints().finish("flashscope serve", DESCRIPTION);
    let document = Bytes::from(document.to_string());
    let openapi = move |headers: HeaderMap| async move { tagged(document, &headers) };
    let page = Arc::new(Page::new(served_html()));
    let router = router
        .route("/api/openapi.json", get(openapi))
        .with_state(app)
        .merge(Router::new().route("/", get(application)).with_state(page))
        .fallback(async || {
            Problem::not_found("there is nothing at this address: see /api/openapi.json")
        })
        .method_not_allowed_fallback(async || {
            Problem::wrong_method("this address is used otherwise: see /api/openapi.json")
        });
    guarded(router, access)
}

/// The description of the API.
pub fn openapi() -> serde_json::Value {
    endpoints().finish("flashscope serve", DESCRIPTION).1
}

fn endpoints() -> Endpoints<App> {
    let endpoints = Endpoints::new()
        .get("/api/shelf", "The results on the shelf", shelf)
        .get("/api/results/{id}", "A measurement without its records", measurement)
        .put("/api/results/{id}/marks", "Corrects the summary grid", limits::MARKS, set_marks)
        .get("/api/simulations/{id}", "A simulated workload", simulation);
    views::add(endpoints)
}

async fn application(State(page): State<Arc<Page>>) -> Response {
    let policy = HeaderValue::from_str(&page.policy);
    let Ok(policy) = policy else {
        return Problem::failed("the page has a policy that cannot be sent").into_response();
    };
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page.html.clone())).into_response()
}

async fn shelf(app: Arc<App>, _: Nothing, query: ShelfQuery) -> Result<JsonOf<Shelf>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&app.folders.shelf(&query)?)).await
}

async fn measurement(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<Measurement>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&app.folders.measurement(&id)?)).await
}

async fn simulation(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<serde_json::Value>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&app.folders.simulation(&id)?)).await
}

async fn set_marks(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    marks: Marks,
) -> Result<(), Problem> {
    if app.access == Access::Network {
        return Err(Problem::forbidden(
            "corrections are kept only by a server of this machine alone: start one without --listen",
        ));
    }
    let work = app.work.clone();
    work.run(move || app.folders.set_marks(&id, &marks)).await
}
