//! The page and API of a command that runs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flashscope_document::running::{RunningCommand, RunningStatus};
use flashscope_report::running_html;
use tokio::net::TcpListener;

use crate::api::{Api, with_html};
use crate::endpoint::{Endpoints, JsonOf, Nothing};
use crate::follow::{FollowedState, follow};
use crate::guard::{Access, guarded};
use crate::lines::Lines;
use crate::problem::Problem;
use crate::server;

/// Access to the state of a command: returns a number that changes with the state, and the state.
pub type StateSource = dyn Fn() -> (u64, RunningCommand) + Send + Sync;

struct App {
    watched: Arc<StateSource>,
}

const DESCRIPTION: &str = "The state of a command that runs. `/api/running/events` sends it again, as a server-sent event, \
    whenever it changes. The last event is the end of the command.";

/// Builds the application over a command that runs: its page and its API.
pub fn running(watched: Arc<StateSource>, access: Access) -> Router {
    let app = Arc::new(App { watched });
    let endpoints = Endpoints::default().get("/api/running", "The command", state);
    let (router, document) = endpoints.finish("flashscope --live", DESCRIPTION);
    let router = router.route("/api/running/events", get(events)).with_state(app);
    let api = Api { router, document, abilities: Default::default() };
    guarded(with_html(api, running_html()), access)
}

async fn state(app: Arc<App>, _: Nothing, _: Nothing) -> Result<JsonOf<RunningCommand>, Problem> {
    JsonOf::of(&(app.watched)().1)
}

async fn events(State(app): State<Arc<App>>) -> Response {
    let (lines, sender) = Lines::events();
    let watched = Arc::clone(&app.watched);
    let next = move || {
        let (version, state) = watched();
        let is_last = state.status != RunningStatus::Running;
        FollowedState { version, state, is_last }
    };
    tokio::spawn(follow(next, sender));
    lines.into_response()
}

/// Serves a router on its own thread until the process ends. Returns the address.
///
/// # Errors
/// If the address cannot be bound.
pub fn serve_beside(
    make: impl FnOnce(Access) -> Router + Send + 'static,
    address: SocketAddr,
) -> io::Result<SocketAddr> {
    let (sender, bound) = channel();
    let served = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind(address).await?;
            let router = make(Access::of(&address));
            // The receiver waits for the address.
            let _ = sender.send(listener.local_addr());
            server::run(listener, router, std::future::pending()).await;
            Ok(())
        })
    };
    let (failed, failure) = channel();
    thread::Builder::new().name("live".into()).spawn(move || {
        let ended: io::Result<()> = served();
        ended.map_err(|error| failed.send(error))
    })?;
    match bound.recv() {
        Ok(address) => address,
        Err(_) => Err(failure.recv().unwrap_or_else(|_| io::Error::other("the server ended"))),
    }
}
