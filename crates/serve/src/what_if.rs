//! What-ifs: questions whose rows are sent as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_report::{WhatIfAsked, WhatIfChoices};
use flashscope_result::what_if::WhatIf;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::endpoint::{Endpoints, JsonOf, Nothing};
use crate::guard::Access;
use crate::limits;
use crate::lines::{Lines, Sender};
use crate::problem::Problem;

/// How many are answered at once.
pub const AT_ONCE: u64 = limits::WHAT_IFS as u64;

/// What answers what-ifs. It may block.
pub trait WhatIfs: Send + Sync + 'static {
    /// What can be asked about.
    fn choices(&self) -> WhatIfChoices;

    /// What is wrong with a question, if anything is, or what answers it: that tells how far it came, until
    /// it is done or its flag is set.
    ///
    /// # Errors
    /// What is wrong.
    fn ask(&self, asked: &WhatIfAsked) -> Result<Box<Answering>, String>;
}

/// Answers a question: see [`WhatIfs::ask`].
pub type Answering = dyn FnOnce(&AtomicBool, &mut Tell<'_>) + Send;

/// Is told how far a question is answered.
pub type Tell<'a> = dyn FnMut(&WhatIf) + Send + 'a;

/// What-ifs that are answered, a few at once.
#[derive(Clone)]
pub struct Asking {
    what_ifs: Option<Arc<dyn WhatIfs>>,
    places: Arc<Semaphore>,
}

impl Asking {
    /// By what answers them, if anything does, for `access`.
    pub fn of(what_ifs: Option<Arc<dyn WhatIfs>>, access: Access) -> Asking {
        // They are work that takes minutes of all processors: for who is at this machine.
        let what_ifs = what_ifs.filter(|_| access == Access::Loopback);
        Asking { what_ifs, places: Arc::new(Semaphore::new(limits::WHAT_IFS)) }
    }

    fn answerer(&self) -> Result<&Arc<dyn WhatIfs>, Problem> {
        self.what_ifs.as_ref().ok_or_else(|| {
            Problem::forbidden(
                "what-ifs are answered only by a server of this machine alone, over folders: start \
                 `flashscope serve` without --listen and --registry",
            )
        })
    }
}

/// Whose state has what-ifs.
pub trait HasAsking: Send + Sync + 'static {
    /// Those.
    fn asking(&self) -> &Asking;
}

/// Adds the endpoints.
pub fn add<S: HasAsking>(endpoints: Endpoints<S>) -> Endpoints<S> {
    let summary = "Simulates what would be if: a line of JSON for each step, with all that is known \
                   by then; the last one is the answer. Who goes away ends it";
    endpoints.get("/api/what-if", "What can be asked what would be if", choices).post_lines(
        "/api/what-if",
        summary,
        limits::WHAT_IF,
        |state| state.asking().answerer().map(|_| ()),
        ask,
    )
}

async fn choices<S: HasAsking>(
    app: Arc<S>,
    _: Nothing,
    _: Nothing,
) -> Result<JsonOf<WhatIfChoices>, Problem> {
    JsonOf::of(&app.asking().answerer()?.choices())
}

async fn ask<S: HasAsking>(app: Arc<S>, asked: WhatIfAsked) -> Result<Lines<WhatIf>, Problem> {
    let asking = app.asking().clone();
    within_limits(&asked)?;
    let answering = asking.answerer()?.ask(&asked).map_err(Problem::damaged)?;
    let place = asking.places.try_acquire_owned().map_err(|_| {
        Problem::too_many("other what-ifs are under way: ask again when they are done")
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

/// Who is gone needs nothing more.
fn send(sender: &Sender<WhatIf>, so_far: &WhatIf) {
    if sender.send(so_far).is_err() {
        sender.gone().store(true, Ordering::Relaxed);
    }
}

/// Ends what takes too long.
async fn late(stop: Arc<AtomicBool>) {
    sleep(limits::WHAT_IF_TIME).await;
    stop.store(true, Ordering::Relaxed);
}

fn within_limits(asked: &WhatIfAsked) -> Result<(), Problem> {
    let (variants, repeats) = (asked.variants.len(), asked.repeats.unwrap_or(1));
    let ios = asked.ios.unwrap_or(1);
    for (what, number, most) in [
        ("`variants`: how many there are", variants as u64, limits::VARIANTS),
        ("`repeats`", repeats.into(), limits::REPEATS),
        ("`ios`", ios, limits::WHAT_IF_IOS),
    ] {
        if !(1..=most).contains(&number) {
            return Err(Problem::damaged(format!("{what} is from 1 to {most}")));
        }
    }
    Ok(())
}
