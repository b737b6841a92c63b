//! The database of results, submissions and tokens: SQLite or PostgreSQL, with the same statements.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the database of a registry: in the file that the operator names, unless the file is the database of another program"
    )
)]

use std::path::Path;
use std::time::Duration;

use flashscope_report::{ResultKind, Shelf, ShelfItem};
use flashscope_serve::{MAX_INTEGER, Problem, ShelfQuery, Sort};
use sqlx::any::{AnyPoolOptions, AnyRow};
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, Connection, Row};

use crate::submission::{Content, Part, PartName, Submission};
use crate::{Error, limits};

/// Statements that create the tables. They run whenever the database is opened, and the columns in
/// [`ADDED`] are added afterwards.
///
/// The `id` of a submission is the prefix of its files in the store. Each token that submits the
/// same result has its own prefix, and cannot see the files of other tokens.
const TABLES: [&str; 4] = [
    "CREATE TABLE IF NOT EXISTS tokens (
        name TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, created BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS submissions (
        id TEXT PRIMARY KEY, token TEXT NOT NULL, created BIGINT NOT NULL, body TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS arrived (
        submission TEXT NOT NULL, run BIGINT NOT NULL, part BIGINT NOT NULL,
        PRIMARY KEY (submission, run, part))",
    "CREATE TABLE IF NOT EXISTS results (
        id TEXT PRIMARY KEY, token TEXT NOT NULL, published BIGINT NOT NULL, item TEXT NOT NULL,
        parts TEXT NOT NULL, name TEXT NOT NULL, model TEXT, firmware TEXT, words TEXT NOT NULL,
        capacity BIGINT NOT NULL, started TEXT, random_write DOUBLE PRECISION)",
];

/// Columns that later versions added: table, column, and the value for existing rows. All earlier
/// results were measurements. They had no `place`, which is the prefix of their files in the store.
const ADDED: [(&str, &str, &str); 3] = [
    ("submissions", "kind", name_of(ResultKind::Measurement)),
    ("results", "kind", name_of(ResultKind::Measurement)),
    ("results", "place", ""),
];

/// Statements that migrate a database of an earlier version. The prefix of a result used to be its
/// id. If an earlier version was killed between publishing and unstaging, the submission of the
/// published result is still there. Its expiry would delete the published files.
const PRESENT: [&str; 4] = [
    "CREATE INDEX IF NOT EXISTS results_by_place ON results (place)",
    "UPDATE results SET place = id WHERE place = ''",
    "DELETE FROM arrived WHERE submission IN (SELECT place FROM results)",
    "DELETE FROM submissions WHERE id IN (SELECT place FROM results)",
];

/// The token name of an abandoned submission while its files are being deleted. No token has this
/// name. A sender can therefore not add files or submit again during the deletion.
const GIVEN_UP: &str = "";

/// The part number that stands for the activity file of a run.
const ACTIVITIES: i64 = -1;

/// Statements that create an index for each sort order (see [`order`]). With the index, SQLite
/// reads a page of results without sorting all of them. PostgreSQL has no such indices, because it
/// limits the size of an indexed value, and a model name may be longer.
const ORDERS: [&str; 10] = [
    "CREATE INDEX IF NOT EXISTS results_by_name ON results (name, id)",
    "CREATE INDEX IF NOT EXISTS results_by_name_down ON results (name DESC, id)",
    "CREATE INDEX IF NOT EXISTS results_by_started ON results ((started IS NULL), started, id)",
    "CREATE INDEX IF NOT EXISTS results_by_started_down
        ON results ((started IS NULL), started DESC, id)",
    "CREATE INDEX IF NOT EXISTS results_by_capacity ON results (capacity, id)",
    "CREATE INDEX IF NOT EXISTS results_by_capacity_down ON results (capacity DESC, id)",
    "CREATE INDEX IF NOT EXISTS results_by_model ON results ((model IS NULL), model, id)",
    "CREATE INDEX IF NOT EXISTS results_by_model_down
        ON results ((model IS NULL), model DESC, id)",
    "CREATE INDEX IF NOT EXISTS results_by_random_write
        ON results ((random_write IS NULL), random_write, id)",
    "CREATE INDEX IF NOT EXISTS results_by_random_write_down
        ON results ((random_write IS NULL), random_write DESC, id)",
];

/// The statement that creates a covering index for searches. It keeps SQLite from reading the much
/// larger `item` column. PostgreSQL needs no such index, because it stores large values out of
/// line.
const SEARCHED: &str = "CREATE INDEX IF NOT EXISTS results_searched_of_kind ON results
    (kind, capacity, id, name, model, firmware, words, started, random_write)";

/// The statement that removes the search index of earlier versions, which had no result kinds.
const SEARCHED_BEFORE: &str = "DROP INDEX IF EXISTS results_searched";

/// A published result.
pub(crate) struct StoredResult {
    /// The entry in the list of results.
    pub item: ShelfItem,
    /// The descriptions of the files of its runs.
    pub parts: Vec<Part>,
    /// The prefix of the files in the store.
    pub place: String,
}

/// The database.
pub(crate) struct Db {
    pool: AnyPool,
    /// The SQL expression for the current time in seconds since 1970. It uses the clock of the
    /// database, which all servers share.
    now: &'static str,
    /// The table that a search reads, as an SQL clause. SQLite needs a hint to use the covering
    /// index: without the hint, a search reads the table in display order and takes ten times as
    /// long.
    searched: &'static str,
}

/// Checks that an SQLite database belongs to a registry, or is empty. Does not change the database,
/// which may belong to another program.
async fn check_own(url: &str) -> Result<(), Error> {
    let mut connection = AnyConnection::connect(url).await?;
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table'";
    let tables = sqlx::query(tables).fetch_all(&mut connection).await?;
    let tables: Vec<String> = tables.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    connection.close().await?;
    let own = ["tokens", "submissions", "arrived", "results"];
    if tables.is_empty() || own.iter().all(|own| tables.iter().any(|table| table == own)) {
        return Ok(());
    }
    Err(Error::ForeignDatabase(url.into()))
}

impl Db {
    /// Opens the database at `url`, `postgres://…` or `sqlite://…`, and migrates it.
    pub(crate) async fn open(url: &str) -> Result<Db, Error> {
        sqlx::any::install_default_drivers();
        let sqlite = url.starts_with("sqlite:");
        if sqlite {
            check_own(url).await?;
        }
        let options = AnyPoolOptions::new()
            .max_connections(16)
            // A connection to a file cannot be lost. A test query before each use would only cost
            // time.
            .test_before_acquire(!sqlite)
            .acquire_timeout(Duration::from_secs(10))
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if sqlite {
                        // The cache and mmap sizes keep a registry of 10,000 results in memory.
                        // With `synchronous = FULL`, committed writes survive a loss of power, as
                        // the files in the store do.
                        let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                                       PRAGMA busy_timeout = 10000; \
                                       PRAGMA cache_size = -65536; PRAGMA mmap_size = 1073741824";
                        sqlx::raw_sql(pragmas).execute(connection).await?;
                    }
                    Ok(())
                })
            });
        let pool = options.connect(url).await?;
        let mut transaction = pool.begin().await?;
        if !sqlite {
            // The lock makes servers that start at the same time take turns, because creating a
            // table concurrently fails.
            sqlx::query("SELECT CAST(pg_advisory_xact_lock(7470) AS TEXT)")
                .execute(&mut *transaction)
                .await?;
        }
        for table in TABLES {
            sqlx::query(table).execute(&mut *transaction).await?;
        }
        for (table, column, before) in ADDED {
            add_column(&mut transaction, sqlite, [table, column, before]).await?;
        }
        for change in PRESENT {
            sqlx::query(change).execute(&mut *transaction).await?;
        }
        if sqlite {
            for index in ORDERS.into_iter().chain([SEARCHED_BEFORE, SEARCHED]) {
                sqlx::query(index).execute(&mut *transaction).await?;
            }
        }
        transaction.commit().await?;
        let (now, searched) = match sqlite {
            true => (
                "CAST(strftime('%s', 'now') AS BIGINT)",
                "results INDEXED BY results_searched_of_kind",
            ),
            false => ("CAST(EXTRACT(EPOCH FROM now()) AS BIGINT)", "results"),
        };
        Ok(Db { pool, now, searched })
    }

    /// Returns the URL of the embedded database in the file at `path`.
    pub(crate) fn embedded(path: &Path) -> String {
        let path = path.display().to_string();
        let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        format!("sqlite://{path}?mode=rwc")
    }

    pub(crate) async fn add_token(&self, name: &str, hash: &str) -> Result<bool, Error> {
        let now = self.now;
        let sql = format!(
            "INSERT INTO tokens (name, hash, created) VALUES ($1, $2, {now}) ON CONFLICT DO NOTHING"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(name).bind(hash);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    pub(crate) async fn remove_token(&self, name: &str) -> Result<bool, Error> {
        let query = sqlx::query("DELETE FROM tokens WHERE name = $1").bind(name);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    pub(crate) async fn tokens(&self) -> Result<Vec<String>, Error> {
        let rows =
            sqlx::query("SELECT name FROM tokens ORDER BY name").fetch_all(&self.pool).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Returns the name of the token with this hash.
    pub(crate) async fn token(&self, hash: &str) -> Result<Option<String>, Error> {
        let query = sqlx::query("SELECT name FROM tokens WHERE hash = $1").bind(hash);
        let row = query.fetch_optional(&self.pool).await?;
        row.map(|row| Ok(row.try_get(0)?)).transpose()
    }

    /// Stages a submission under the prefix `place`, unless result `id` is already published or the
    /// token has too many submissions. Returns true if the submission is staged afterwards, which
    /// includes a submission that was staged before.
    pub(crate) async fn stage(
        &self,
        [place, id]: [&str; 2],
        token: &str,
        submission: &Submission,
    ) -> Result<bool, Error> {
        let now = self.now;
        let sql = format!(
            "INSERT INTO submissions (id, token, created, body, kind) SELECT $1, $2, {now}, $3, $5
             WHERE (SELECT COUNT(*) FROM submissions WHERE token = $2) < $4
                 AND NOT EXISTS (SELECT 1 FROM results WHERE id = $6)
             ON CONFLICT DO NOTHING"
        );
        let body = serde_json::to_string(submission)?;
        let query = sqlx::query(AssertSqlSafe(sql)).bind(place).bind(token).bind(body);
        let query = query.bind(limits::STAGED).bind(name_of(submission.kind())).bind(id);
        query.execute(&self.pool).await?;
        Ok(self.staged(place, token).await?.is_some())
    }

    /// Restarts the time until a submission expires, because a submission must not expire during
    /// its check.
    pub(crate) async fn renew(&self, place: &str, token: &str) -> Result<(), Error> {
        let now = self.now;
        let sql = format!("UPDATE submissions SET created = {now} WHERE id = $1 AND token = $2");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(place).bind(token);
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// Returns the submission of `token` at `place`.
    pub(crate) async fn staged(
        &self,
        place: &str,
        token: &str,
    ) -> Result<Option<Submission>, Error> {
        let query = sqlx::query("SELECT body, kind FROM submissions WHERE id = $1 AND token = $2");
        let row = query.bind(place).bind(token).fetch_optional(&self.pool).await?;
        row.map(|row| submission(row.try_get(0)?, row.try_get(1)?)).transpose()
    }

    /// Returns the files of the submission at `place` that have arrived.
    pub(crate) async fn arrived(&self, place: &str) -> Result<Vec<PartName>, Error> {
        let query = sqlx::query("SELECT run, part FROM arrived WHERE submission = $1").bind(place);
        let rows = query.fetch_all(&self.pool).await?;
        let name = |row: &AnyRow| {
            let [run, part] = [row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?];
            let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
            let run = number(run);
            Ok(match part {
                ACTIVITIES => PartName::activities(run),
                _ => PartName::records(run, number(part)),
            })
        };
        rows.iter().map(name).collect()
    }

    pub(crate) async fn add_arrived(&self, place: &str, name: PartName) -> Result<(), Error> {
        let sql = "INSERT INTO arrived (submission, run, part) VALUES ($1, $2, $3)
                   ON CONFLICT DO NOTHING";
        let part = match name.content {
            Content::Records => i64::from(name.part),
            Content::Activities => ACTIVITIES,
        };
        let query = sqlx::query(sql).bind(place).bind(i64::from(name.run)).bind(part);
        query.execute(&self.pool).await?;
        Ok(())
    }

    /// Returns the prefixes and files of expired submissions. If a submission from an earlier
    /// version cannot be parsed, returns the files that have arrived instead of the announced
    /// files.
    pub(crate) async fn abandoned(&self) -> Result<Vec<(String, Vec<PartName>)>, Error> {
        let now = self.now;
        let sql = format!(
            "SELECT id, body, kind FROM submissions
             WHERE created < {now} - $1 AND id NOT IN (SELECT place FROM results)"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(limits::ABANDONED_S);
        let rows = query.fetch_all(&self.pool).await?;
        let rows = rows.iter().map(|row| Ok((row.try_get(0)?, announced(row).ok())));
        let rows = rows.collect::<Result<Vec<(String, Option<Vec<PartName>>)>, Error>>()?;
        let mut abandoned = Vec::new();
        for (id, parts) in rows {
            let parts = match parts {
                Some(parts) => parts,
                None => self.arrived(&id).await?,
            };
            abandoned.push((id, parts));
        }
        Ok(abandoned)
    }

    /// Takes an expired submission away from its token before its files are deleted. Returns false
    /// if the submission was renewed or published in the meantime. If the deletion of the files
    /// fails, the submission expires again a day later.
    pub(crate) async fn give_up(&self, place: &str) -> Result<bool, Error> {
        let now = self.now;
        let sql = format!(
            "UPDATE submissions SET token = $1, created = {now}
             WHERE id = $2 AND created < {now} - $3 AND id NOT IN (SELECT place FROM results)"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(GIVEN_UP).bind(place);
        let query = query.bind(limits::ABANDONED_S);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Does the same as [`Db::give_up`] for a submission of `token` whose result is published from
    /// another prefix, whatever its age.
    pub(crate) async fn withdraw(&self, place: &str, token: &str) -> Result<bool, Error> {
        let now = self.now;
        let sql = format!(
            "UPDATE submissions SET token = $1, created = {now}
             WHERE id = $2 AND token = $3 AND id NOT IN (SELECT place FROM results)"
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(GIVEN_UP).bind(place).bind(token);
        Ok(query.execute(&self.pool).await?.rows_affected() == 1)
    }

    /// Deletes a submission that was given up.
    pub(crate) async fn forget(&self, place: &str) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await?;
        unstage(&mut transaction, place, GIVEN_UP).await?;
        Ok(transaction.commit().await?)
    }

    /// Publishes the submission of `token` at `place` and unstages it. Both happen in one
    /// transaction: [`Db::abandoned`] must never return files of a published result. A submission
    /// that is not staged is not published, because its files may be deleted. Simulations have no
    /// record files and need no staging.
    ///
    /// Returns the prefix of the published files. The prefix differs from `place` if another token
    /// published the result before; the submission then stays staged. Returns `None` if the result
    /// is not published.
    pub(crate) async fn publish(
        &self,
        place: &str,
        token: &str,
        item: &ShelfItem,
        parts: &[Part],
    ) -> Result<Option<String>, Error> {
        let sql = format!(
            "INSERT INTO results (id, token, published, item, parts, name, model, firmware, words,
                 capacity, started, random_write, kind, place)
             VALUES ($1, $2, {}, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT DO NOTHING",
            self.now
        );
        let device = item.device.as_ref();
        let model =
            device.map(|device| device.model.as_ref().unwrap_or(&device.name).to_lowercase());
        let firmware = device.and_then(|device| device.firmware.as_ref()).map(|f| f.to_lowercase());
        let random_write = item.characteristics.as_ref().and_then(|c| c.random_write_ns);
        let capacity = device.map_or(0, |device| device.capacity.0.min(MAX_INTEGER));
        let query = sqlx::query(AssertSqlSafe(sql))
            .bind(&item.id)
            .bind(token)
            .bind(serde_json::to_string(item)?)
            .bind(serde_json::to_string(parts)?)
            .bind(searched(&item.name))
            .bind(model)
            .bind(firmware)
            .bind(words_of(item))
            .bind(capacity.cast_signed())
            .bind(item.started.as_deref().map(searched))
            .bind(random_write.map(|estimate| estimate.value))
            .bind(name_of(item.kind))
            .bind(place);
        let mut transaction = self.pool.begin().await?;
        let staged = unstage(&mut transaction, place, token).await?;
        let may_publish = staged || item.kind == ResultKind::Simulation;
        if may_publish && query.execute(&mut *transaction).await?.rows_affected() == 1 {
            transaction.commit().await?;
            return Ok(Some(place.into()));
        }
        transaction.rollback().await?;
        Ok(self.result(&item.id).await?.map(|stored| stored.place))
    }

    /// Returns the published result `id`.
    pub(crate) async fn result(&self, id: &str) -> Result<Option<StoredResult>, Error> {
        if id.contains('\0') {
            return Ok(None);
        }
        let query = sqlx::query("SELECT item, parts, place FROM results WHERE id = $1").bind(id);
        let row = query.fetch_optional(&self.pool).await?;
        let read = |row: AnyRow| {
            let item = serde_json::from_str(row.try_get(0)?)?;
            let parts = serde_json::from_str(row.try_get(1)?)?;
            Ok(StoredResult { item, parts, place: row.try_get(2)? })
        };
        row.map(read).transpose()
    }

    /// Returns one page of the results that match `query`, and the number of matches.
    pub(crate) async fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem> {
        let (offset, limit) = query.page().map_err(Problem::bad_request)?;
        let Condition { texts, numbers, sql: condition } = Condition::of(query);
        let all = texts.is_empty() && numbers.is_empty() && query.kind.is_none();
        let from = if all { "results" } else { self.searched };
        let count = format!("SELECT COUNT(*) FROM {from} WHERE {condition}");
        let order = order(query.sort.unwrap_or_default());
        let bound = texts.len() + numbers.len();
        let page = format!(
            "SELECT item FROM results WHERE id IN
                 (SELECT id FROM {from} WHERE {condition} ORDER BY {order} LIMIT ${} OFFSET ${})
             ORDER BY {order}",
            bound + 1,
            bound + 2
        );
        let bind = |sql: String| {
            let bound = sqlx::query(AssertSqlSafe(sql));
            let bound = texts.iter().fold(bound, |bound, text| bound.bind(text.clone()));
            numbers.iter().fold(bound, |bound, number| bound.bind(*number))
        };
        let [offset, limit] = [offset, limit].map(|number| number.min(MAX_INTEGER).cast_signed());
        let results = async {
            let rows = bind(page).bind(limit).bind(offset).fetch_all(&self.pool).await?;
            let item = |row: &AnyRow| Ok(serde_json::from_str(row.try_get(0)?)?);
            let items = rows.iter().map(item).collect::<Result<Vec<_>, Error>>()?;
            let shown = items.len() as i64;
            // The last page determines the total without a count, which would repeat the search.
            let is_last = shown < limit && (shown > 0 || offset == 0);
            let total = match is_last {
                true => offset + shown,
                false => bind(count).fetch_one(&self.pool).await?.try_get(0)?,
            };
            Ok::<_, Error>(Shelf { total: total.cast_unsigned(), items })
        };
        results.await.map_err(Problem::from)
    }
}

/// Deletes the submission of `token` at `place`. Returns true if it existed.
async fn unstage(connection: &mut AnyConnection, place: &str, token: &str) -> Result<bool, Error> {
    let sql = "DELETE FROM submissions WHERE id = $1 AND token = $2";
    let query = sqlx::query(sql).bind(place).bind(token);
    let staged = query.execute(&mut *connection).await?.rows_affected() == 1;
    if staged {
        let arrived = "DELETE FROM arrived WHERE submission = $1";
        sqlx::query(arrived).bind(place).execute(connection).await?;
    }
    Ok(staged)
}

/// Adds a text column to a table, with the value `before` in existing rows, if the table lacks the
/// column.
async fn add_column(
    connection: &mut AnyConnection,
    sqlite: bool,
    [table, column, before]: [&str; 3],
) -> Result<(), Error> {
    let has = match sqlite {
        true => {
            format!("SELECT COUNT(*) FROM pragma_table_info('{table}') WHERE name = '{column}'")
        }
        false => format!(
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = current_schema()
                 AND table_name = '{table}' AND column_name = '{column}'"
        ),
    };
    let has: i64 = sqlx::query(AssertSqlSafe(has)).fetch_one(&mut *connection).await?.try_get(0)?;
    if has == 0 {
        let add =
            format!("ALTER TABLE {table} ADD COLUMN {column} TEXT NOT NULL DEFAULT '{before}'");
        sqlx::query(AssertSqlSafe(add)).execute(connection).await?;
    }
    Ok(())
}

/// Returns the name of a kind in the database.
const fn name_of(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Measurement => "measurement",
        ResultKind::Simulation => "simulation",
        ResultKind::Probe => "probe",
        ResultKind::Sweep => "sweep",
        ResultKind::WhatIf => "what_if",
        ResultKind::Twin => "twin",
        ResultKind::Prediction => "prediction",
    }
}

/// Parses a staged submission. Simulations are never staged, because they are published
/// immediately.
fn submission(body: &str, kind: &str) -> Result<Submission, Error> {
    Ok(match kind == name_of(ResultKind::Probe) {
        true => Submission::Probe(serde_json::from_str(body)?),
        false => Submission::Measurement(serde_json::from_str(body)?),
    })
}

/// Returns the announced files of a submission, from a row with the columns id, body and kind.
fn announced(row: &AnyRow) -> Result<Vec<PartName>, Error> {
    let submission = submission(row.try_get(1)?, row.try_get(2)?)?;
    Ok(submission.parts().iter().map(Part::name).collect())
}

/// The SQL condition of a [`ShelfQuery`], and the values bound to it, texts first.
struct Condition {
    sql: String,
    texts: Vec<String>,
    numbers: Vec<i64>,
}

impl Condition {
    fn of(query: &ShelfQuery) -> Condition {
        let part = |part: &Option<String>| part.as_deref().unwrap_or_default().to_lowercase();
        let search = part(&query.search);
        let fields = [("model", part(&query.model)), ("firmware", part(&query.firmware))];
        let fields = fields.iter().filter(|(_, text)| !text.is_empty());
        let texts: Vec<(&str, &str)> = fields
            .map(|(column, text)| (*column, text.as_str()))
            .chain(search.split_whitespace().map(|word| ("words", word)))
            .collect();
        let bounds = [("capacity >=", query.capacity_min), ("capacity <=", query.capacity_max)];
        let numbers = bounds.iter().filter_map(|(least, bound)| Some((*least, (*bound)?)));
        let numbers: Vec<(&str, u64)> = numbers.collect();
        let likes = texts.iter().zip(1..);
        let likes = likes.map(|((column, _), n)| format!("{column} LIKE ${n} ESCAPE '!'"));
        let least = numbers.iter().zip(texts.len() + 1..);
        let kind = query.kind.map(|kind| format!("kind = '{}'", name_of(kind)));
        let bounded = likes.chain(least.map(|((bound, _), n)| format!("{bound} ${n}")));
        let conditions: Vec<String> = kind.into_iter().chain(bounded).collect();
        Condition {
            sql: if conditions.is_empty() { "TRUE".into() } else { conditions.join(" AND ") },
            texts: texts.iter().map(|(_, text)| containing(text)).collect(),
            numbers: numbers.iter().map(|(_, n)| n.min(&MAX_INTEGER).cast_signed()).collect(),
        }
    }
}

/// Returns the `LIKE` pattern for texts that contain `text`.
fn containing(text: impl AsRef<str>) -> String {
    let mut pattern = String::from("%");
    for c in text.as_ref().chars().filter(|c| *c != '\0') {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern + "%"
}

/// Returns the `ORDER BY` clause. Rows without the sorted value come last in both directions.
fn order(sort: Sort) -> &'static str {
    match sort {
        Sort::Name => "name, id",
        Sort::NameDown => "name DESC, id",
        Sort::Started => "started IS NULL, started, id",
        Sort::StartedDown => "started IS NULL, started DESC, id",
        Sort::Capacity => "capacity, id",
        Sort::CapacityDown => "capacity DESC, id",
        Sort::Model => "model IS NULL, model, id",
        Sort::ModelDown => "model IS NULL, model DESC, id",
        Sort::RandomWrite => "random_write IS NULL, random_write, id",
        Sort::RandomWriteDown => "random_write IS NULL, random_write DESC, id",
    }
}

/// Returns a text in its form for searching and sorting. PostgreSQL stores no NUL characters.
fn searched(text: &str) -> String {
    text.to_lowercase().replace('\0', "")
}

/// Returns the text that a search for words looks through.
fn words_of(item: &ShelfItem) -> String {
    let device = item.device.as_ref();
    let texts = [
        Some(&item.name),
        item.workload.as_ref(),
        device.map(|device| &device.name),
        device.and_then(|device| device.model.as_ref()),
        device.and_then(|device| device.firmware.as_ref()),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().map(|text| searched(text)).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
