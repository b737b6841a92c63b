//! Runs blocking work on its own threads, with a limit on how much runs at once.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::limits;
use crate::problem::Problem;

/// A pool of threads for blocking work, with a limit on the number of concurrent tasks.
#[derive(Debug, Clone)]
pub struct Work {
    places: Arc<Semaphore>,
}

impl Default for Work {
    /// Allows as many concurrent tasks as the machine has processors, but at least two, so that a
    /// short task need not wait for a long one.
    fn default() -> Work {
        Work { places: Arc::new(Semaphore::new(limits::processors().max(2))) }
    }
}

impl Work {
    /// Runs `work` on a blocking thread, to its end even if the client disconnects.
    ///
    /// # Errors
    /// The errors of `work`. A panic is reported as damaged data, because damaged records cause
    /// panics in libraries.
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
