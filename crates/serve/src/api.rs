//! The endpoints of the API.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;
use flashscope_analysis::conclusions::{Conclude, prediction_with_conclusions, with_conclusions};
use flashscope_document::Simulation;
use flashscope_document::marks::Marks;
use flashscope_document::probe::ProbeReport;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flashscope_report::{Abilities, Measurement, Shelf, served_html};
use quick_cache::sync::Cache;
use serde_json::Value;

use crate::app::{App, Weight};
use crate::commands::{self, Commands, CommandsOfShelf};
use crate::describe::DEFINITIONS;
use crate::endpoint::{Endpoints, JsonOf, Nothing, tagged};
use crate::guard::{Access, guarded};
use crate::library::Library;
use crate::limits;
use crate::page::Page;
use crate::parameters::ResultPath;
use crate::problem::Problem;
use crate::shelf::{Folders, ShelfQuery};
use crate::views;
use crate::what_if::{self, WhatIfService, WhatIfs};
use crate::work::Work;

const DESCRIPTION: &str = "Results of flashscope: measurements, findings and single IOs. An answer \
    has no more data than a screen can show. Positions of IOs count from 0 in the order of \
    completion; windows are half-open. `/api/commands/events` sends the running commands as server-sent events; \
    `/api/commands/{id}/events` sends one of them with its results so far.";

/// Builds the application over `library`, with its API and the guards for `access`.
pub fn app(library: impl Library, access: Access) -> Router {
    guarded(with_page(api(library, access)), access)
}

/// Builds the application of [`app`] with the what-if service `what_ifs`.
pub fn app_answering(library: impl Library, access: Access, what_ifs: impl WhatIfs) -> Router {
    guarded(with_page(api_with_service(library, access, Some(Arc::new(what_ifs)), None)), access)
}

/// Builds the application of [`app_answering`] over folders, and shows the running commands that
/// write to them.
pub fn app_watching(
    folders: Folders,
    access: Access,
    what_ifs: impl WhatIfs,
    commands: Commands,
) -> Router {
    let commands = CommandsOfShelf::new(commands, folders.folders());
    let api = api_with_service(folders, access, Some(Arc::new(what_ifs)), Some(commands));
    guarded(with_page(api), access)
}

/// Builds the API over `library`.
pub fn api(library: impl Library, access: Access) -> Api {
    api_with_service(library, access, None, None)
}

fn api_with_service(
    library: impl Library,
    access: Access,
    what_ifs: Option<Arc<dyn WhatIfs>>,
    commands: Option<CommandsOfShelf>,
) -> Api {
    let answers = Cache::with_weighter(1024, limits::ANSWERS, Weight);
    let what_if_service = WhatIfService::of(what_ifs, access);
    let library = Box::new(library);
    let work = Work::default();
    let app = App { library, access, work, what_if_service, commands, answers };
    let (router, document) = endpoints().finish("flashscope serve", DESCRIPTION);
    let abilities = Abilities {
        what_ifs: app.what_if_service.is_available(),
        commands: app.commands.is_some(),
        ..Abilities::default()
    };
    let router = router.merge(commands::endpoints::events());
    Api { router: router.with_state(Arc::new(app)), document, abilities }
}

/// The routes of an API, and the OpenAPI document that describes them.
pub struct Api {
    /// The routes.
    pub router: Router,
    /// The OpenAPI document.
    pub document: Value,
    /// The optional features that the page offers.
    pub abilities: Abilities,
}

impl Api {
    /// Adds the routes and the documentation of `other`.
    pub fn merge(mut self, other: Api) -> Api {
        let parts = [
            ("/paths", other.document["paths"].clone()),
            (DEFINITIONS, other.document["components"]["schemas"].clone()),
        ];
        for (place, more) in parts {
            let here = self.document.pointer_mut(place).and_then(Value::as_object_mut);
            if let (Some(here), Value::Object(more)) = (here, more) {
                here.extend(more);
            }
        }
        let (ours, theirs) = (self.abilities, other.abilities);
        let abilities = Abilities {
            what_ifs: ours.what_ifs || theirs.what_ifs,
            submissions: ours.submissions || theirs.submissions,
            commands: ours.commands || theirs.commands,
        };
        Api { router: self.router.merge(other.router), abilities, ..self }
    }
}

/// Adds the page, the OpenAPI document and fallbacks for other addresses to the routes of an API.
pub fn with_page(api: Api) -> Router {
    let html = served_html(api.abilities);
    with_html(api, html)
}

/// Adds the same as [`with_page`], with `html` as the page.
pub(crate) fn with_html(Api { router, document, .. }: Api, html: String) -> Router {
    let document = Bytes::from(document.to_string());
    let openapi = move |headers: HeaderMap| async move { tagged(document, &headers) };
    let page = Arc::new(Page::new(html));
    router
        .route("/api/openapi.json", get(openapi))
        .merge(Router::new().route("/", get(application)).with_state(page))
        .fallback(async || Problem::not_found("there is no such address: see /api/openapi.json"))
        .method_not_allowed_fallback(async || {
            Problem::wrong_method("this address does not support the method: see /api/openapi.json")
        })
}

/// Returns the OpenAPI document of the server.
pub fn openapi() -> Value {
    endpoints().finish("flashscope serve", DESCRIPTION).1
}

fn endpoints() -> Endpoints<App> {
    let endpoints = Endpoints::default()
        .get("/api/shelf", "The results on the shelf", shelf)
        .get("/api/results/{id}", "A measurement without its records", measurement)
        .put(
            "/api/results/{id}/marks",
            "Corrects the summary grid",
            limits::MARKS,
            may_mark,
            set_marks,
        )
        .get("/api/simulations/{id}", "A simulated workload", simulation)
        .get("/api/probes/{id}", "The internals of a drive, as a probe inferred them", probe)
        .get("/api/sweeps/{id}", "A design space with its points", sweep)
        .get("/api/what-ifs/{id}", "A saved what-if", kept_what_if)
        .get("/api/twins/{id}", "A simulated drive that was fitted to measurements", twin)
        .get("/api/predictions/{id}", "A prediction of a model or of a twin", prediction);
    commands::endpoints::add(what_if::add(views::add(endpoints)))
}

async fn application(State(page): State<Arc<Page>>, headers: HeaderMap) -> Response {
    page.answer(&headers)
}

async fn shelf(app: Arc<App>, _: Nothing, query: ShelfQuery) -> Result<JsonOf<Shelf>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&app.library.shelf(&query)?)).await
}

async fn measurement(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<Measurement>, Problem> {
    let work = app.work.clone();
    work.run(move || {
        let opened = app.library.open(&id)?;
        JsonOf::of(&Measurement {
            id: opened.id.clone(),
            name: opened.name.clone(),
            manifest: opened.manifest.clone(),
            facts: opened.facts.as_ref().clone(),
            marks: app.library.marks(&opened)?,
        })
    })
    .await
}

async fn simulation(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<Value>, Problem> {
    let work = app.work.clone();
    work.run(move || {
        JsonOf::of(&with_conclusions::<Simulation<Value>>(app.library.simulation(&id)?))
    })
    .await
}

async fn probe(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<Value>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&with_conclusions::<ProbeReport>(app.library.probe(&id)?))).await
}

async fn sweep(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<ExploredSweep>, Problem> {
    let work = app.work.clone();
    work.run(move || {
        let ExploredSweep { sweep, simulated, points } = app.library.sweep(&id)?;
        JsonOf::of(&ExploredSweep { sweep: sweep.with_conclusions(), simulated, points })
    })
    .await
}

async fn kept_what_if(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<WhatIf>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&app.library.what_if(&id)?.with_conclusions())).await
}

async fn twin(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<Twin>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&app.library.twin(&id)?.with_conclusions())).await
}

async fn prediction(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    _: Nothing,
) -> Result<JsonOf<Value>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&prediction_with_conclusions(app.library.prediction(&id)?))).await
}

/// Allows corrections only on a server that listens on this machine alone.
fn may_mark(app: &App) -> Result<(), Problem> {
    match app.access {
        Access::Loopback => Ok(()),
        Access::Network => Err(Problem::forbidden(
            "corrections are only possible on a server that listens on this machine alone: start a server without --listen",
        )),
    }
}

async fn set_marks(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    marks: Marks,
) -> Result<(), Problem> {
    let work = app.work.clone();
    work.run(move || app.library.set_marks(&id, &marks)).await
}
