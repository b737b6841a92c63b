//! Sends a state to a client whenever it changes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::lines::Sender;

/// The interval between two reads of the state.
const EVERY: Duration = Duration::from_millis(250);

/// The number of intervals without a change after which a comment keeps the connection open: 10 s.
const QUIET: u32 = 40;

/// A state that a client follows.
pub(crate) struct FollowedState<T> {
    /// A number that changes with the state.
    pub version: u64,
    pub state: T,
    pub is_last: bool,
}

/// Sends the state that `next` returns whenever it changes, until the last state or the end of the
/// connection. `next` may block.
pub(crate) async fn follow<T: Serialize + Send + 'static>(
    next: impl Fn() -> FollowedState<T> + Send + Sync + 'static,
    sender: Sender<T>,
) {
    let (next, gone) = (Arc::new(next), sender.gone());
    let (mut sent, mut quiet) = (None, 0);
    while !gone.load(Ordering::Relaxed) {
        let next = Arc::clone(&next);
        let Ok(FollowedState { version, state, is_last }) = spawn_blocking(move || next()).await
        else {
            return;
        };
        let outcome = if sent != Some(version) {
            (sent, quiet) = (Some(version), 0);
            sender.send(&state)
        } else if quiet >= QUIET {
            quiet = 0;
            sender.keep_alive()
        } else {
            quiet += 1;
            Ok(())
        };
        if outcome.is_err() || is_last {
            return;
        }
        sleep(EVERY).await;
    }
}
