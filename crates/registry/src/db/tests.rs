use std::path::Path;

use flashscope_report::ShelfItem;

use super::*;
use crate::{block_on, prepare};

const ID: &str = "0123";
/// The store prefixes of Alice's and Bob's files.
const ALICES: &str = "a-0123";
const BOBS: &str = "b-0123";

/// Creates a database with a submission that has been unfinished for more than a day.
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

// If a submission stayed staged after publishing, the cleanup would delete the published files a
// day later.
#[test]
fn publishing_and_unstaging_are_one_transaction() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let cut = "CREATE TRIGGER cut BEFORE DELETE ON submissions
                   BEGIN SELECT RAISE(ABORT, 'killed here'); END";
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

// Earlier versions could leave the submission of a published result in the database.
#[test]
fn opening_removes_submissions_of_published_results() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let keep = "CREATE TABLE kept AS SELECT * FROM submissions";
        sqlx::query(keep).execute(&db.pool).await?;
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_some());
        let left = "INSERT INTO submissions SELECT * FROM kept";
        sqlx::query(left).execute(&db.pool).await?;
        assert!(db.staged(ALICES, "alice").await?.is_some(), "the submission is back");
        assert!(db.abandoned().await?.is_empty() && !db.give_up(ALICES).await?);
        let db = Db::open(&url).await?;
        assert!(db.staged(ALICES, "alice").await?.is_none() && db.result(ID).await?.is_some());
        Ok(())
    });
    done.unwrap();
}

// Without the renewal, the cleanup could delete the files of a submission during its check.
#[test]
fn a_submission_does_not_expire_during_its_check() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, _) = staged(&url).await?;
        db.renew(ALICES, "bob").await?;
        assert_eq!(db.abandoned().await?.len(), 1, "Bob cannot renew Alice's submission");
        db.renew(ALICES, "alice").await?;
        assert!(db.abandoned().await?.is_empty() && !db.give_up(ALICES).await?);
        assert!(db.staged(ALICES, "alice").await?.is_some());
        Ok(())
    });
    done.unwrap();
}

// An abandoned submission's files are being deleted.
#[test]
fn an_abandoned_submission_cannot_be_published_or_staged_again() {
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
            "its files are being deleted"
        );
        db.forget(ALICES).await?;
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_none());
        assert!(db.stage([ALICES, ID], "alice", &submission).await?);
        assert!(db.publish(ALICES, "alice", &item, &[]).await?.is_some());
        assert!(
            db.publish(ALICES, "alice", &item, &[]).await?.is_some(),
            "publishing again succeeds"
        );
        Ok(())
    });
    done.unwrap();
}

// A staged submission would expire, and its cleanup would delete the published files.
#[test]
fn a_published_result_is_not_staged_again() {
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

// An unreadable submission must not keep the cleanup from deleting other submissions.
#[test]
fn an_unreadable_submission_is_abandoned_with_its_arrived_files() {
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

// A database of a version without result kinds can be opened, and the migration can run twice.
#[test]
fn results_without_a_kind_are_measurements() {
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
        // One submission is left over from the published result, and one is unfinished.
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
fn the_first_of_two_tokens_to_finish_the_same_result_publishes_it() {
    let place = tempfile::tempdir().unwrap();
    let url = Db::embedded(&place.path().join("registry.sqlite"));
    let done = block_on(async {
        let (db, item) = staged(&url).await?;
        let Some(submission) = db.staged(ALICES, "alice").await? else { panic!("it is staged") };
        assert!(db.stage([BOBS, ID], "bob", &submission).await?);
        db.add_arrived(ALICES, PartName::records(1, 0)).await?;
        assert!(db.arrived(BOBS).await?.is_empty(), "Bob cannot see Alice's files");
        // Alice's submission is a day old; its expiry does not affect Bob's.
        assert_eq!(db.abandoned().await?.len(), 1);
        assert!(!db.give_up(BOBS).await? && db.staged(BOBS, "alice").await?.is_none());

        assert_eq!(db.publish(BOBS, "bob", &item, &[]).await?.as_deref(), Some(BOBS));
        assert!(db.staged(ALICES, "alice").await?.is_some(), "stays until her files are deleted");
        assert_eq!(db.publish(ALICES, "alice", &item, &[]).await?.as_deref(), Some(BOBS));
        assert!(db.staged(ALICES, "alice").await?.is_some(), "stays until her files are deleted");
        assert!(!db.withdraw(BOBS, "bob").await?, "this submission is the published one");
        assert!(!db.withdraw(ALICES, "bob").await?, "Bob cannot withdraw Alice's submission");
        assert!(db.withdraw(ALICES, "alice").await? && !db.withdraw(ALICES, "alice").await?);
        db.forget(ALICES).await?;
        assert!(db.abandoned().await?.is_empty() && db.arrived(ALICES).await?.is_empty());
        assert_eq!(db.result(ID).await?.map(|stored| stored.place).as_deref(), Some(BOBS));
        Ok(())
    });
    done.unwrap();
}

#[test]
fn deleting_a_submission_does_not_block_other_tokens() {
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

// Opening must not migrate the database of another program: it would add tables, and change the
// journal mode.
#[test]
fn the_database_of_another_program_is_refused_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("registry.sqlite");
    let url = Db::embedded(&path);
    let done = block_on(async {
        for table in ["places (url TEXT)", "tokens (secret TEXT)"] {
            sqlx::any::install_default_drivers();
            let mut other = AnyConnection::connect(&url).await?;
            let create = AssertSqlSafe(format!("CREATE TABLE {table}"));
            sqlx::query(create).execute(&mut other).await?;
            other.close().await?;
            let before = std::fs::read(&path).unwrap();
            let refused = Db::open(&url).await.err();
            assert!(matches!(refused, Some(Error::ForeignDatabase(_))), "{refused:?}");
            assert!(std::fs::read(&path).unwrap() == before);
            assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "a file was created");
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::write(&path, "").unwrap();
        Db::open(&url).await?;
        Db::open(&url).await?;
        Ok(())
    });
    done.unwrap();
}
