//! The page and API of an attached drive. Each request gets a new snapshot of the drive.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flashscope_report::attached_html;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Api, with_html};
use crate::endpoint::{Endpoints, JsonOf, Nothing};
use crate::guard::{Access, guarded};
use crate::problem::Problem;
use crate::work::Work;

/// Access to the state of an attached drive. The functions may block.
pub struct Attachment<L> {
    /// Returns a snapshot with all samples after the first N, or with only the last sample if N is
    /// `None`.
    pub live: Box<dyn Fn(Option<u64>) -> L + Send + Sync>,
    /// Returns the metrics in the Prometheus text format.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// The content type of `metrics`.
    pub metrics_type: &'static str,
}

/// The query for samples.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Samples {
    /// The number of samples to skip; by default all except the last one.
    after: Option<u64>,
}

struct App<L> {
    attachment: Attachment<L>,
    work: Work,
}

const DESCRIPTION: &str = "The state of a drive that flashscope has attached, with a sample per \
    second. `/metrics` is for Prometheus.";

/// Builds the application over an attached drive: its page, its API, and its metrics at `/metrics`.
pub fn attached<L>(attachment: Attachment<L>, access: Access) -> Router
where
    L: Serialize + JsonSchema + 'static,
{
    let app = Arc::new(App { attachment, work: Work::default() });
    let endpoints = Endpoints::default().get("/api/attached", "The drive", live::<L>);
    let (router, document) = endpoints.finish("flashscope attach", DESCRIPTION);
    let router = router.route("/metrics", get(metrics::<L>)).with_state(app);
    guarded(
        with_html(Api { router, document, abilities: Default::default() }, attached_html()),
        access,
    )
}

/// Builds an application that serves only metrics, at `/metrics`. `text` returns them in the
/// Prometheus text format `kind`, and may block.
pub fn metrics_page(
    text: Box<dyn Fn() -> String + Send + Sync>,
    kind: &'static str,
    access: Access,
) -> Router {
    let attachment = Attachment { live: Box::new(|_| ()), metrics: text, metrics_type: kind };
    let app = Arc::new(App { attachment, work: Work::default() });
    guarded(Router::new().route("/metrics", get(metrics::<()>)).with_state(app), access)
}

async fn live<L: Serialize + 'static>(
    app: Arc<App<L>>,
    _: Nothing,
    Samples { after }: Samples,
) -> Result<JsonOf<L>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&(app.attachment.live)(after))).await
}

async fn metrics<L: 'static>(State(app): State<Arc<App<L>>>) -> Result<Response, Problem> {
    let (work, kind) = (app.work.clone(), app.attachment.metrics_type);
    let text = work.run(move || Ok((app.attachment.metrics)())).await?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
