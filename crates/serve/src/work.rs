//! Reading and computing, away from the threads that answer, and only so much of it at once.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::limits;
use crate::problem::Problem;

/// Where blocking work is done.
#[derive(Debug, Clone)]
pub struct Work {
    places: Arc<Semaphore>,
}

impl Default for Work {
    /// As many pieces of work at once as the machine has processors, but at least two, so that
    /// long ones let short ones pass.
    fn default() -> Work {
        Work { places: Arc::new(Semaphore::new(limits::processors().max(2))) }
    }
}

impl Work {
    /// Does `work` where it may block. It goes on to its end even if who asked for it is gone.
    ///
    /// # Errors
    /// Those of `work`. That a library panics on damaged data is one of the data.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(|_| Problem::busy("the server is about to stop"))?;
        let done = spawn_blocking(move || {
            let outcome = work();
            drop(place);
            outcome
        });
        done.await.unwrap_or_else(|_| {
            Err(Problem::damaged("the result cannot be read: its records are damaged"))
        })
    }
}
