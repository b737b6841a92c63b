//! The endpoints for views of records, which `flashscope_analysis` computes.

use std::sync::Arc;

use axum::body::Bytes;
use flashscope_analysis::Outline;
use flashscope_analysis::view::{
    Colours, Ios, Matches, RunView, RunViewVisitor, Viewer, matches, runs_to_search,
    visit_run_views,
};
use flashscope_block::Nanos;
use flashscope_document::Manifest;
use flashscope_document::comparison::Comparison;
use flashscope_document::manifest::find_experiment;
use flashscope_result::Error;
use flashscope_result::activity::Activity;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::compared;
use crate::endpoint::{Endpoints, JsonOf, Nothing};
use crate::library::OpenMeasurement;
use crate::parameters::{
    ActivitiesQuery, ColoursQuery, ComparisonQuery, IosQuery, MatchesQuery, OutlineQuery,
    ResultPath, RunPath, Window, WindowQuery,
};
use crate::problem::Problem;

/// Adds the endpoints for views and comparisons.
pub(crate) fn add(endpoints: Endpoints<App>) -> Endpoints<App> {
    let mut of_runs = OfRuns(endpoints);
    visit_run_views(&mut of_runs);
    of_runs
        .0
        .get("/api/results/{id}/runs/{run}/outline", "A run, reduced for a chart", outline)
        .get("/api/results/{id}/runs/{run}/ios", "Single IOs of a run", ios)
        .get(
            "/api/results/{id}/runs/{run}/activities",
            "The internal activity of a simulated drive during a run",
            activities,
        )
        .get("/api/results/{id}/colours", "The response times of an experiment as colours", colours)
        .get("/api/results/{id}/matches", "The IOs that match an expression", matching)
        .get("/api/comparison", "A comparison of results", comparison)
}

/// A visitor that adds an endpoint for each kind of run view.
struct OfRuns(Endpoints<App>);

impl RunViewVisitor for OfRuns {
    fn visit<T: RunView>(&mut self) {
        let path = format!("/api/results/{{id}}/runs/{{run}}/{}", T::NAME);
        self.0 = std::mem::take(&mut self.0).get(&path, T::SUMMARY, run_view::<T>);
    }
}

async fn comparison(
    app: Arc<App>,
    _: Nothing,
    query: ComparisonQuery,
) -> Result<JsonOf<Comparison>, Problem> {
    let ids = query.ids()?;
    let work = app.work.clone();
    work.run(move || JsonOf::of(&compared::comparison(&*app.library, &ids)?)).await
}

async fn outline(
    app: Arc<App>,
    RunPath { id, run }: RunPath,
    query: OutlineQuery,
) -> Result<JsonOf<Outline>, Problem> {
    let (window, buckets) = query.window()?;
    let key = format!("outline {run} {window:?} {buckets}");
    app.view(id, key, move |_| vec![run], move |viewer| viewer.outline(run, window, buckets)).await
}

async fn run_view<T: RunView>(
    app: Arc<App>,
    RunPath { id, run }: RunPath,
    query: WindowQuery,
) -> Result<JsonOf<T>, Problem> {
    let window = query.window();
    let key = format!("{} {run} {window:?}", T::NAME);
    app.view(id, key, move |_| vec![run], move |viewer| viewer.run_view(run, window)).await
}

async fn ios(
    app: Arc<App>,
    RunPath { id, run }: RunPath,
    query: IosQuery,
) -> Result<JsonOf<Ios>, Problem> {
    let window = query.window()?;
    let key = format!("ios {run} {window:?}");
    app.view(id, key, move |_| vec![run], move |viewer| viewer.ios(run, window)).await
}

async fn activities(
    app: Arc<App>,
    RunPath { id, run }: RunPath,
    query: ActivitiesQuery,
) -> Result<JsonOf<Vec<Activity>>, Problem> {
    let Window { start, end } = query.window();
    let key = format!("activities {run} {start}..{end}");
    let window = Nanos(start)..Nanos(end);
    app.view(id, key, move |_| vec![run], move |viewer| viewer.activities(run, window)).await
}

async fn matching(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    query: MatchesQuery,
) -> Result<JsonOf<Matches>, Problem> {
    let (expression, limits) = query.search()?;
    let key = format!("matches {limits:?} {expression}");
    let searched = expression.clone();
    let runs = move |manifest: &Manifest| {
        runs_to_search(manifest, &searched).map(|(_, _, run)| run.id).collect()
    };
    let view = move |viewer: Viewer| {
        matches(viewer.folder, viewer.manifest, &expression, limits, |_, _| ()).map(Some)
    };
    app.view(id, key, runs, view).await
}

async fn colours(
    app: Arc<App>,
    ResultPath { id }: ResultPath,
    query: ColoursQuery,
) -> Result<JsonOf<Colours>, Problem> {
    let (window, columns) = query.window()?;
    let ColoursQuery { micro_benchmark, experiment, .. } = query;
    let key = format!("colours {micro_benchmark:?} {experiment:?} {window:?} {columns}");
    let name = (micro_benchmark.clone(), experiment.clone());
    let runs = move |manifest: &Manifest| {
        let experiment = find_experiment(&manifest.micro_benchmarks, &name.0, &name.1);
        experiment.iter().flat_map(|experiment| &experiment.runs).map(|run| run.id).collect()
    };
    let view = move |viewer: Viewer| viewer.colours(&micro_benchmark, &experiment, window, columns);
    app.view(id, key, runs, view).await
}

impl App {
    /// Computes `view` from the records of `runs` of the measurement `id`. `key` identifies the
    /// view in the cache.
    async fn view<T: Serialize + JsonSchema + 'static>(
        self: Arc<App>,
        id: String,
        key: String,
        runs: impl FnOnce(&Manifest) -> Vec<u32> + Send + 'static,
        view: impl FnOnce(Viewer) -> Result<Option<T>, Error> + Send + 'static,
    ) -> Result<JsonOf<T>, Problem> {
        let work = self.work.clone();
        work.run(move || {
            let opened = self.library.open(&id)?;
            let key = format!("{id} {} {key}", opened.version);
            let bytes = self.answers.get_or_insert_with(&key, || {
                self.library.fetch(&opened, &runs(&opened.manifest))?;
                made(&opened, view)
            })?;
            Ok(JsonOf::from_bytes(bytes))
        })
        .await
    }
}

fn made<T: Serialize>(
    opened: &OpenMeasurement,
    view: impl FnOnce(Viewer) -> Result<Option<T>, Error>,
) -> Result<Bytes, Problem> {
    let made = view(opened.viewer()).map_err(|error| opened.problem(&error))?;
    let made = made.ok_or_else(|| {
        Problem::not_found(format!("`{}` has no such records: see its manifest", opened.id))
    })?;
    JsonOf::of(&made).map(|json| json.bytes().clone())
}
