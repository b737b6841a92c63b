//! What goes on now: an attached drive, which tells anew whenever it is asked.

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

/// What tells of an attached drive. It may block.
pub struct Attachment<L> {
    /// What there is to tell now, with the samples that were taken after the first so many; by
    /// default with the last.
    pub live: Box<dyn Fn(Option<u64>) -> L + Send + Sync>,
    /// The same as Prometheus reads it.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// The kind of content that `metrics` makes.
    pub metrics_type: &'static str,
}

/// Which samples are asked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Samples {
    /// Those that were taken after the first so many; by default, the last one.
    after: Option<u64>,
}

struct App<L> {
    attachment: Attachment<L>,
    work: Work,
}

const DESCRIPTION: &str = "A drive that flashscope has attached: what it did and does. There is a \
    sample a second. `/metrics` is for Prometheus.";

/// The application over an attached drive, its API, and its metrics at `/metrics`, for `access`.
pub fn attached<L>(attachment: Attachment<L>, access: Access) -> Router
where
    L: Serialize + JsonSchema + 'static,
{
    let app = Arc::new(App { attachment, work: Work::default() });
    let endpoints = Endpoints::default().get("/api/attached", "The drive", live::<L>);
    let (router, document) = endpoints.finish("flashscope attach", DESCRIPTION);
    let router = router.route("/metrics", get(metrics::<L>)).with_state(app);
    guarded(with_html(Api { router, document }, attached_html()), access)
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
