//! The endpoints for the running commands that write to the shelf.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flashscope_block::Nanos;
use flashscope_document::running::{RunningCommand, RunningStatus, ShelfCommands};
use serde::Serialize;

use super::CommandsOfShelf;
use crate::app::App;
use crate::endpoint::{Endpoints, JsonOf, Nothing};
use crate::follow::{FollowedState, follow};
use crate::lines::Lines;
use crate::problem::Problem;

/// Adds the endpoint with the list of commands.
pub(crate) fn add(endpoints: Endpoints<App>) -> Endpoints<App> {
    endpoints.get("/api/commands", "The commands that run and write to the shelf", list)
}

/// Returns the routes of the server-sent events.
pub(crate) fn events() -> Router<Arc<App>> {
    Router::new()
        .route("/api/commands/events", get(list_events))
        .route("/api/commands/{id}/events", get(command_events))
}

async fn list(app: Arc<App>, _: Nothing, _: Nothing) -> Result<JsonOf<ShelfCommands>, Problem> {
    let work = app.work.clone();
    work.run(move || JsonOf::of(&list_of(&app))).await
}

fn list_of(app: &App) -> ShelfCommands {
    app.commands.as_ref().map_or(ShelfCommands { commands: vec![] }, CommandsOfShelf::list)
}

async fn list_events(State(app): State<Arc<App>>) -> Response {
    let (lines, sender) = Lines::events();
    let next = move || {
        let state = list_of(&app);
        FollowedState { version: version(&state), state, is_last: app.commands.is_none() }
    };
    tokio::spawn(follow(next, sender));
    lines.into_response()
}

async fn command_events(
    State(app): State<Arc<App>>,
    id: Result<axum::extract::Path<u32>, PathRejection>,
) -> Result<Response, Problem> {
    let axum::extract::Path(id) = id.map_err(|error| Problem::bad_request(error.body_text()))?;
    let find = move |app: &App| app.commands.as_ref()?.one(id);
    let (work, first) = (app.work.clone(), Arc::clone(&app));
    let mut last = work
        .run(move || {
            find(&first).ok_or_else(|| Problem::not_found(format!("no command {id} runs")))
        })
        .await?;
    (last.status, last.left_ns) = (RunningStatus::Ended, None);
    let (lines, sender) = Lines::events();
    let last = std::sync::Mutex::new(last);
    let next = move || {
        let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = find(&app);
        let state = found.unwrap_or_else(|| last.clone());
        let is_last = state.status != RunningStatus::Running;
        *last = RunningCommand { status: RunningStatus::Ended, left_ns: None, ..state.clone() };
        FollowedState { version: version(&state), state, is_last }
    };
    tokio::spawn(follow(next, sender));
    Ok(lines.into_response())
}

/// Returns a hash of a state with its times in whole seconds: elapsed time changes it once a
/// second.
fn version(state: &impl Version) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&state.in_seconds()).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// A state that contains elapsed time.
trait Version {
    /// Returns the state with its elapsed time in whole seconds.
    fn in_seconds(&self) -> impl Serialize;
}

impl Version for RunningCommand {
    fn in_seconds(&self) -> impl Serialize {
        let second = Nanos::secs(1).0;
        RunningCommand { elapsed_ns: Nanos(self.elapsed_ns.0 / second), ..self.clone() }
    }
}

impl Version for ShelfCommands {
    fn in_seconds(&self) -> impl Serialize {
        let commands = self.commands.iter();
        commands.map(|command| (command.id, command.state.in_seconds())).collect::<Vec<_>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_new_each_second_and_with_each_change() {
        let state = RunningCommand::new("flashscope".into());
        let at = |ms| RunningCommand { elapsed_ns: Nanos::millis(ms), ..state.clone() };
        assert_eq!(version(&at(100)), version(&at(900)));
        assert_ne!(version(&at(900)), version(&at(1100)));
        assert_ne!(version(&at(100)), version(&RunningCommand { done: 1, ..at(100) }));
    }
}
