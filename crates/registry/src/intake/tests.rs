use std::pin::pin;
use std::task::{Context, Waker};

use axum::response::IntoResponse;

use super::*;
use crate::block_on;

async fn intake(folder: &Path) -> Result<Arc<Intake>, Error> {
    let db = Db::open(&Db::embedded(&folder.join("registry.sqlite"))).await?;
    let store = Store::folder(&folder.join("store"))?;
    Intake::new(Arc::new(db), store, folder.join("checking")).map(Arc::new)
}

// Without the lock, a sender could occupy all workers with repeated requests to finish one
// submission.
#[test]
fn a_submission_is_checked_once_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let intake = intake(place.path()).await?;
        let first = intake.lock("0123").unwrap();
        assert!(intake.lock("0123").is_err());
        assert!(intake.lock("4567").is_ok());
        drop(first);
        assert!(intake.lock("0123").is_ok());
        Ok(())
    });
    done.unwrap();
}

// Without a limit per token, one slow sender could occupy all permits of the registry.
#[test]
fn one_token_cannot_occupy_all_permits() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let intake = intake(place.path()).await?;
        for name in ["alice", "bob"] {
            assert!(intake.db.add_token(name, &hash(name)).await?);
        }
        let admit = |name: &str| intake.clone().admit(Bearer(Some(name.into())));
        let mut senders = Vec::new();
        for _ in 0..limits::RECEIVING_OF_ONE {
            senders.push(admit("alice").await.map_err(|_| "no permit").unwrap());
        }
        assert_eq!(intake.permits_of("alice").available_permits(), 0);
        let all = limits::RECEIVING - limits::RECEIVING_OF_ONE;
        assert_eq!(intake.receiving.available_permits(), all);
        // A request of Alice that waits for a permit occupies no permit of the registry.
        let mut cx = Context::from_waker(Waker::noop());
        let own = intake.permits_of("alice");
        assert!(pin!(own.acquire_owned()).poll(&mut cx).is_pending());
        assert!(admit("bob").await.is_ok());
        senders.pop();
        assert!(admit("alice").await.is_ok());
        Ok(())
    });
    done.unwrap();
}

/// Returns the status of the answer to a request with `token`.
async fn status(intake: &Intake, token: &str) -> u16 {
    let sender = intake.sender(Bearer(Some(token.into()))).await;
    sender.map_or_else(|problem| problem.into_response().status().as_u16(), |_| 200)
}

#[test]
fn guessing_tokens_is_rate_limited() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let intake = intake(place.path()).await?;
        assert!(intake.db.add_token("alice", &hash("alice")).await?);
        assert_eq!(status(&intake, "wrong").await, 401);
        // The limiter regains a permit each second. A few more guesses than the limit may therefore
        // pass.
        let guesses = 2 * limits::UNKNOWN_TOKENS_PER_MINUTE.get();
        let mut last = 401;
        for guess in 0..guesses {
            last = status(&intake, &format!("guess {guess}")).await;
        }
        assert_eq!(last, 429);
        assert_eq!(status(&intake, "alice").await, 200, "a valid token works all the time");
        Ok(())
    });
    done.unwrap();
}

#[test]
fn each_token_has_a_request_limit_per_minute() {
    let place = tempfile::tempdir().unwrap();
    let done = block_on(async {
        let intake = intake(place.path()).await?;
        for name in ["alice", "bob"] {
            assert!(intake.db.add_token(name, &hash(name)).await?);
        }
        intake
            .sent
            .check_key_n(&"alice".into(), limits::REQUESTS_PER_TOKEN_MINUTE)
            .unwrap()
            .unwrap();
        // The limiter regains permits while the database works; each request uses one permit.
        let mut attempts = 0;
        while status(&intake, "alice").await == 200 {
            attempts += 1;
            assert!(
                attempts < limits::REQUESTS_PER_TOKEN_MINUTE.get(),
                "no limit in {attempts} requests"
            );
        }
        assert_eq!(status(&intake, "bob").await, 200, "another token has a limit of its own");
        Ok(())
    });
    done.unwrap();
}
