use std::pin::pin;
use std::task::{Context, Waker};

use axum::response::IntoResponse;

use super::*;
use crate::block_on;

async fn desk(folder: &Path) -> Result<Arc<Desk>, Error> {
    let db = Db::open(&Db::embedded(&folder.join("registry.sqlite"))).await?;
    let store = Store::folder(&folder.join("store"))?;
    Desk::new(Arc::new(db), store, folder.join("checking")).map(Arc::new)
}

// Is a submission checked once at a time, and again when that is done? Whoever sent it could take all that checks by
// finishing it many times at once.
#[test]
fn a_submission_was_checked_many_times_at_once() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let desk = desk(place.path()).await?;
        let first = desk.finishing("0123").unwrap();
        assert!(desk.finishing("0123").is_err());
        assert!(desk.finishing("4567").is_ok());
        drop(first);
        assert!(desk.finishing("0123").is_ok());
        Ok(())
    });
    done.unwrap();
}

// Has another token a place while one sends as much at once as it can? One that sent slowly took all.
#[test]
fn one_token_took_all_places() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let desk = desk(place.path()).await?;
        for name in ["alice", "bob"] {
            assert!(desk.db.add_token(name, &hash(name)).await?);
        }
        let admit = |name: &str| desk.clone().admit(Bearer(Some(name.into())));
        let mut senders = Vec::new();
        for _ in 0..limits::RECEIVING_OF_ONE {
            senders.push(admit("alice").await.map_err(|_| "a place").unwrap());
        }
        assert_eq!(desk.places_of("alice").available_permits(), 0);
        let all = limits::RECEIVING - limits::RECEIVING_OF_ONE;
        assert_eq!(desk.receiving.available_permits(), all);
        // It waits for a place of Alice's, and takes none meanwhile.
        let mut cx = Context::from_waker(Waker::noop());
        let own = desk.places_of("alice");
        assert!(pin!(own.acquire_owned()).poll(&mut cx).is_pending());
        assert!(admit("bob").await.is_ok());
        senders.pop();
        assert!(admit("alice").await.is_ok());
        Ok(())
    });
    done.unwrap();
}

/// The status of the answer to a request that carries `token`.
async fn status(desk: &Desk, token: &str) -> u16 {
    let sender = desk.sender(Bearer(Some(token.into()))).await;
    sender.map_or_else(|problem| problem.into_response().status().as_u16(), |_| 200)
}

#[test]
fn tokens_cannot_be_guessed_without_end() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let desk = desk(place.path()).await?;
        assert!(desk.db.add_token("alice", &hash("alice")).await?);
        assert_eq!(status(&desk, "wrong").await, 401);
        // The limiter gains a permit each second, so a few guesses may pass beyond the limit.
        let guesses = 2 * limits::TRIED_A_MINUTE.get();
        let mut last = 401;
        for guess in 0..guesses {
            last = status(&desk, &format!("guess {guess}")).await;
        }
        assert_eq!(last, 429);
        assert_eq!(status(&desk, "alice").await, 200, "a valid token works all the time");
        Ok(())
    });
    done.unwrap();
}

#[test]
fn a_token_sends_only_so_much_a_minute() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let desk = desk(place.path()).await?;
        for name in ["alice", "bob"] {
            assert!(desk.db.add_token(name, &hash(name)).await?);
        }
        desk.sent.check_key_n(&"alice".into(), limits::SENT_A_MINUTE).unwrap().unwrap();
        // Permits come back while the database answers; each answer costs one.
        let mut attempts = 0;
        while status(&desk, "alice").await == 200 {
            attempts += 1;
            assert!(attempts < limits::SENT_A_MINUTE.get(), "no limit in {attempts} requests");
        }
        assert_eq!(status(&desk, "bob").await, 200, "another token has a limit of its own");
        Ok(())
    });
    done.unwrap();
}
