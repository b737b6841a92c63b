use std::path::Path;

use flashscope_report::ShelfItem;

use super::*;
use crate::{block_on, prepare};

const ID: &str = "0123";
/// Where the files of Alice and Bob lie.
const ALICES: &str = "a-0123";
const BOBS: &str = "b-0123";

/// A database with a submission that nobody has finished for a day.
async fn staged(url: &str) -> Result<(Db, ShelfItem), Error> {
    let db = Db::open(url).await?;
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/results");
    let prepared = prepare(&samples.join("v1.flashscope"), false).unwrap();
    assert!(db.stage([ALICES, ID], "alice", &prepared.submission).await?);
    sqlx::query("UPDATE submissions SET created = 0").execute(&db.pool).await?;
    assert_eq!(db.abandoned().await?.len(), 1);
    let Submission::Measurement(one) = prepared.submission else { panic!("it is a measurement") };
    let item = ShelfItem::measurement(ID.into(), one.name, one.manifest, None);
    Ok((db, item))
}

// Is a result published and its submission forgotten in one step? Where only the first was done, as when the registry
// was killed in between, the files of the result were removed a day later, as those of a submission that nobody
// finished.
#[test]
fn a_published_result_was_cleaned_away() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let cut = "CREATE TRIGGER cut BEFORE DELETE ON submissions
                   BEGIN SELECT RAISE(ABORT, 'here it is killed'); END";
        sqlx::query(cut).execute(&db.pool).await?;
        assert!(db.publish(ALICES, "alice", &item, &[]).await.is_err());
        assert!(db.result(ID).await?.is_none() && db.staged(ALICES, "alice").await?.is_some());

        sqlx::query("DROP TRIGGER cut").execute(&db.pool).await?;
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_some());
        assert!(db.result(ID).await?.is_some() && db.staged(ALICES, "alice").await?.is_none());
        assert!(db.abandoned().await?.is_empty());
        Ok(())
    });
    done.unwrap();
}

// Is a submission forgotten that an earlier version left beside its result?
#[test]
fn what_is_published_and_staged_is_published() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let keep = "CREATE TABLE kept AS SELECT * FROM submissions";
        sqlx::query(keep).execute(&db.pool).await?;
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_some());
        let left = "INSERT INTO submissions SELECT * FROM kept";
        sqlx::query(left).execute(&db.pool).await?;
        assert!(db.staged(ALICES, "alice").await?.is_some(), "as it was left");
        assert!(db.abandoned().await?.is_empty() && !db.give_up(ALICES).await?);
        let db = Db::open(&url).await?;
        assert!(db.staged(ALICES, "alice").await?.is_none() && db.result(ID).await?.is_some());
        Ok(())
    });
    done.unwrap();
}

// Is a submission that is nearly a day old not given up while it is checked? It was: its files were removed, and then
// its result was published without them.
#[test]
fn a_submission_was_given_up_while_it_was_checked() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, _) = staged(&url).await?;
        db.renew(ALICES, "bob").await?;
        assert_eq!(db.abandoned().await?.len(), 1, "it is not Bob's");
        db.renew(ALICES, "alice").await?;
        assert!(db.abandoned().await?.is_empty() && !db.give_up(ALICES).await?);
        assert!(db.staged(ALICES, "alice").await?.is_some());
        Ok(())
    });
    done.unwrap();
}

// Is a submission that was given up not published, as its files are gone, nor begun again before they are?
#[test]
fn what_was_given_up_was_published() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let Some(submission) = db.staged(ALICES, "alice").await? else { panic!("it is staged") };
        assert!(db.give_up(ALICES).await? && !db.give_up(ALICES).await?);
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_none());
        assert!(db.result(ID).await?.is_none());
        assert!(
            !db.stage([ALICES, ID], "alice", &submission).await?,
            "its files are being removed"
        );
        db.forget(ALICES).await?;
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_none());
        assert!(db.stage([ALICES, ID], "alice", &submission).await?);
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_some());
        assert!(
            db.publish(ALICES, "alice", &item, &[]).await?.is_some(),
            "it is published already"
        );
        Ok(())
    });
    done.unwrap();
}

// Is nothing staged of which the result was published in the meantime? It was, and a day later the files of the result
// were removed as those of a submission that nobody finished.
#[test]
fn a_published_result_was_staged() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let Some(submission) = db.staged(ALICES, "alice").await? else { panic!("it is staged") };
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_some());
        assert!(!db.stage([ALICES, ID], "alice", &submission).await?);
        assert!(db.staged(ALICES, "alice").await?.is_none());
        Ok(())
    });
    done.unwrap();
}

// Is a submission that cannot be read any more given up as others are, with the files that have arrived? No submission
// of anybody was taken where there was one.
#[test]
fn a_submission_that_cannot_be_read_stopped_all() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, _) = staged(&url).await?;
        let name = PartName::records(3, 0);
        db.add_arrived(ALICES, name).await?;
        sqlx::query("UPDATE submissions SET body = '{'").execute(&db.pool).await?;
        assert_eq!(db.abandoned().await?, [(ALICES.to_string(), vec![name])]);
        assert!(db.give_up(ALICES).await?);
        db.forget(ALICES).await?;
        assert!(db.arrived(ALICES).await?.is_empty());
        Ok(())
    });
    done.unwrap();
}

// Is a registry from before there were kinds opened, with its results as measurements, and again?
#[test]
fn results_from_before_are_measurements() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let of = |kind| ShelfQuery { kind: Some(kind), ..ShelfQuery::default() };
    block_on(async {
        sqlx::any::install_default_drivers();
        let pool = AnyPoolOptions::new().max_connections(1).connect(&url).await?;
        for table in TABLES {
            sqlx::query(table).execute(&pool).await?;
        }
        let item = ShelfItem::unread("i".into(), "n".into(), ResultKind::Measurement);
        let sql = "INSERT INTO results (id, token, published, item, parts, name, words, capacity)
                   VALUES ('i', 't', 1, $1, '[]', 'n', 'n', 0)";
        sqlx::query(sql).bind(serde_json::to_string(&item)?).execute(&pool).await?;
        // What an earlier version left of it, and one that is staged.
        for id in ["i", "staged"] {
            let sql = "INSERT INTO submissions (id, token, created, body) VALUES ($1, 't', 0, '{')";
            sqlx::query(sql).bind(id).execute(&pool).await?;
        }
        pool.close().await;
        for _ in 0..2 {
            let db = Db::open(&url).await?;
            assert_eq!(db.result("i").await?.map(|stored| stored.place), Some("i".into()));
            let total = async |kind| db.shelf(&of(kind)).await.map(|shelf| shelf.total).ok();
            assert_eq!(total(ResultKind::Measurement).await, Some(1));
            assert_eq!(total(ResultKind::Simulation).await, Some(0));
            assert_eq!(db.abandoned().await?, [("staged".to_string(), vec![])]);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn two_tokens_stage_the_same_and_the_first_to_finish_publishes() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let Some(submission) = db.staged(ALICES, "alice").await? else { panic!("it is staged") };
        assert!(db.stage([BOBS, ID], "bob", &submission).await?);
        db.add_arrived(ALICES, PartName::records(1, 0)).await?;
        assert!(db.arrived(BOBS).await?.is_empty(), "Bob sees nothing of Alice's files");
        // Alice's is a day old: what is done about it is nothing to Bob.
        assert_eq!(db.abandoned().await?.len(), 1);
        assert!(!db.give_up(BOBS).await? && db.staged(BOBS, "alice").await?.is_none());

        assert_eq!(db.publish(BOBS, "bob", &item, &[]).await?.as_deref(), Some(BOBS));
        assert!(db.staged(ALICES, "alice").await?.is_some(), "until her files are removed");
        assert_eq!(db.publish(ALICES, "alice", &item, &[]).await?.as_deref(), Some(BOBS));
        assert!(db.staged(ALICES, "alice").await?.is_some(), "until her files are removed");
        assert!(!db.withdraw(BOBS, "bob").await?, "it is what is published");
        assert!(!db.withdraw(ALICES, "bob").await?, "it is not Bob's");
        assert!(db.withdraw(ALICES, "alice").await? && !db.withdraw(ALICES, "alice").await?);
        db.forget(ALICES).await?;
        assert!(db.abandoned().await?.is_empty() && db.arrived(ALICES).await?.is_empty());
        assert_eq!(db.result(ID).await?.map(|stored| stored.place).as_deref(), Some(BOBS));
        Ok(())
    });
    done.unwrap();
}

#[test]
fn a_submission_that_is_being_removed_keeps_no_other_token_from_the_same() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, _) = staged(&url).await?;
        let Some(submission) = db.staged(ALICES, "alice").await? else { panic!("it is staged") };
        assert!(db.give_up(ALICES).await?);
        assert!(!db.stage([ALICES, ID], "alice", &submission).await?);
        assert!(db.stage([BOBS, ID], "bob", &submission).await?);
        db.forget(ALICES).await?;
        assert!(db.staged(BOBS, "bob").await?.is_some());
        Ok(())
    });
    done.unwrap();
}
