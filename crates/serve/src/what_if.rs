//! The what-if endpoints, which stream results as they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_document::what_if::WhatIf;
use flashscope_report::{WhatIfChoices, WhatIfQuestion};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::endpoint::{Endpoints, JsonOf, Nothing};
use crate::guard::Access;
use crate::limits;
use crate::lines::{Lines, Sender};
use crate::problem::Problem;

/// The maximum number of concurrent what-ifs.
pub const AT_ONCE: u64 = limits::WHAT_IFS as u64;

/// A service that answers what-ifs. Its methods may block.
pub trait WhatIfs: Send + Sync + 'static {
    /// Returns the choices for a request.
    fn choices(&self) -> WhatIfChoices;

    /// Checks a request and returns the function that answers it. The function passes intermediate
    /// answers to its callback. It ends when all simulations are done or the flag is set.
    ///
    /// # Errors
    /// The problem with the request.
    fn ask(&self, question: &WhatIfQuestion) -> Result<Box<AnswerFn>, String>;
}

/// A function that answers a request (see [`WhatIfs::ask`]). Its arguments are the flag that
/// cancels it and the callback.
pub type AnswerFn = dyn FnOnce(&AtomicBool, &mut Tell<'_>) + Send;

/// A callback that receives the answer so far.
pub type Tell<'a> = dyn FnMut(&WhatIf) + Send + 'a;

/// The what-if service with a limit on concurrent requests.
#[derive(Clone)]
pub struct WhatIfService {
    what_ifs: Option<Arc<dyn WhatIfs>>,
    places: Arc<Semaphore>,
}

impl WhatIfService {
    /// Returns true if there is a service.
    pub fn is_available(&self) -> bool {
        self.what_ifs.is_some()
    }

    /// Wraps the service, or no service if `access` does not permit what-ifs.
    pub fn of(what_ifs: Option<Arc<dyn WhatIfs>>, access: Access) -> WhatIfService {
        // A what-if occupies all processors for minutes, and is therefore only available on this
        // machine.
        let what_ifs = what_ifs.filter(|_| access == Access::Loopback);
        WhatIfService { what_ifs, places: Arc::new(Semaphore::new(limits::WHAT_IFS)) }
    }

    fn answerer(&self) -> Result<&Arc<dyn WhatIfs>, Problem> {
        self.what_ifs.as_ref().ok_or_else(|| {
            Problem::forbidden(
                "what-ifs are only possible on a server that listens on this machine alone and serves \
                 folders: start `flashscope serve` without --listen and --registry",
            )
        })
    }
}

/// A state that may have a what-if service.
pub trait HasWhatIfs: Send + Sync + 'static {
    /// Returns the service.
    fn what_if_service(&self) -> &WhatIfService;
}

/// Adds the endpoints for what-ifs.
pub fn add<S: HasWhatIfs>(endpoints: Endpoints<S>) -> Endpoints<S> {
    let summary = "Simulates changes. Answers with a line of JSON for each step, with all results \
                   so far; the last line is the final answer. Closing the connection cancels the \
                   simulations";
    endpoints.get("/api/what-if", "The choices for a what-if request", choices).post_lines(
        "/api/what-if",
        summary,
        limits::WHAT_IF,
        |state| state.what_if_service().answerer().map(|_| ()),
        ask,
    )
}

async fn choices<S: HasWhatIfs>(
    app: Arc<S>,
    _: Nothing,
    _: Nothing,
) -> Result<JsonOf<WhatIfChoices>, Problem> {
    JsonOf::of(&app.what_if_service().answerer()?.choices())
}

async fn ask<S: HasWhatIfs>(
    app: Arc<S>,
    question: WhatIfQuestion,
) -> Result<Lines<WhatIf>, Problem> {
    let service = app.what_if_service().clone();
    within_limits(&question)?;
    let answering = service.answerer()?.ask(&question).map_err(Problem::damaged)?;
    let place = service.places.try_acquire_owned().map_err(|_| {
        Problem::too_many("too many what-ifs are running: try again when they are done")
    })?;
    let (lines, sender) = Lines::new();
    let gone = sender.gone();
    let timer = tokio::spawn(late(Arc::clone(&gone)));
    spawn_blocking(move || {
        answering(&gone, &mut |so_far| send(&sender, so_far));
        timer.abort();
        drop(place);
    });
    Ok(lines)
}

/// Sends an intermediate answer. Cancels the simulations if the client has disconnected.
fn send(sender: &Sender<WhatIf>, so_far: &WhatIf) {
    if sender.send(so_far).is_err() {
        sender.gone().store(true, Ordering::Relaxed);
    }
}

/// Cancels a what-if after its time limit.
async fn late(stop: Arc<AtomicBool>) {
    sleep(limits::WHAT_IF_TIME).await;
    stop.store(true, Ordering::Relaxed);
}

fn within_limits(question: &WhatIfQuestion) -> Result<(), Problem> {
    let (variants, repeats) = (question.variants.len(), question.repeats.unwrap_or(1));
    let ios = question.ios.unwrap_or(1);
    for (what, number, most) in [
        ("the number of `variants`", variants as u64, limits::VARIANTS),
        ("`repeats`", repeats.into(), limits::REPEATS),
        ("`ios`", ios, limits::WHAT_IF_IOS),
    ] {
        if !(1..=most).contains(&number) {
            return Err(Problem::damaged(format!("{what} must be from 1 to {most}")));
        }
    }
    Ok(())
}
