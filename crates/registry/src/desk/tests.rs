use std::pin::pin;
use std::task::{Context, Waker};

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
