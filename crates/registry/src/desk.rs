//! Where submissions arrive: staged, checked, published.

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Bytes;
use flashscope_analysis::{Facts, analyse};
use flashscope_block::Nanos;
use flashscope_report::ShelfItem;
use flashscope_result::{Manifest, ResultFolder};
use flashscope_serve::{Api, Bearer, Endpoints, Gate, JsonOf, Nothing, Problem, Work};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::db::Db;
use crate::results::write_whole;
use crate::store::{Store, file_name};
use crate::submission::{Content, Part, PartName, Published, Staged, Submission};
use crate::{Error, hash, limits};

/// Takes submissions.
pub(crate) struct Desk {
    db: Arc<Db>,
    store: Store,
    /// Where submissions are checked.
    folder: PathBuf,
    work: Work,
    receiving: Arc<Semaphore>,
    sent: DefaultKeyedRateLimiter<String>,
    tried: DefaultDirectRateLimiter,
}

/// A submission.
#[derive(Deserialize, JsonSchema)]
struct SubmissionPath {
    /// Stands for the submission, as its staging said.
    id: String,
}

/// A file of records of a submission.
#[derive(Deserialize, JsonSchema)]
struct PartPath {
    /// Stands for the submission, as its staging said.
    id: String,
    /// The number of the run.
    #[schemars(range(max = u32::MAX))]
    run: u32,
    /// Which file of the run it is, from 0.
    #[schemars(range(max = u32::MAX))]
    part: u32,
}

/// What a simulated drive did inside during a run of a submission.
#[derive(Deserialize, JsonSchema)]
struct ActivitiesPath {
    /// Stands for the submission, as its staging said.
    id: String,
    /// The number of the run.
    #[schemars(range(max = u32::MAX))]
    run: u32,
}

/// Who sends something, and the place in which it is received.
pub(crate) struct Sender {
    name: String,
    _place: OwnedSemaphorePermit,
}

impl Gate for Desk {
    type Caller = Sender;

    async fn admit(self: Arc<Self>, bearer: Bearer) -> Result<Sender, Problem> {
        let name = self.sender(bearer).await?;
        let place = self.receiving.clone().acquire_owned().await;
        let stopping = |_| Problem::busy("the registry is about to stop");
        Ok(Sender { name, _place: place.map_err(stopping)? })
    }
}

impl Desk {
    pub fn new(db: Arc<Db>, store: Store, folder: PathBuf) -> Result<Desk, Error> {
        std::fs::create_dir_all(&folder)?;
        Ok(Desk {
            db,
            store,
            folder,
            work: Work::default(),
            receiving: Arc::new(Semaphore::new(limits::RECEIVING)),
            sent: RateLimiter::keyed(Quota::per_minute(limits::SENT_A_MINUTE)),
            tried: RateLimiter::direct(Quota::per_minute(limits::TRIED_A_MINUTE)),
        })
    }

    pub fn api(self) -> Api {
        let endpoints = Endpoints::default()
            .post(
                "/api/submissions",
                "Begins a submission, or goes on with one",
                limits::SUBMISSION,
                begin,
            )
            .put_bytes(
                "/api/submissions/{id}/records/{run}/{part}",
                "Sends a file of records",
                limits::PART,
                receive_records,
            )
            .put_bytes(
                "/api/submissions/{id}/activities/{run}",
                "Sends a file of what a simulated drive did inside",
                limits::PART,
                receive_activities,
            )
            .post(
                "/api/submissions/{id}/finish",
                "Checks a submission, and publishes it",
                1024,
                finish,
            );
        let (router, document) = endpoints.finish("flashscope registry", "");
        Api { router: router.with_state(Arc::new(self)), document }
    }

    /// Whose token it is that a request carries.
    async fn sender(&self, Bearer(token): Bearer) -> Result<String, Problem> {
        let ask = "send `Authorization: Bearer TOKEN` with a token of this registry";
        let token = token.ok_or_else(|| Problem::unauthorized(ask))?;
        let Some(name) = self.db.token(&hash(&token)).await? else {
            self.tried.check().map_err(|_| Problem::too_many("too many tokens were tried"))?;
            return Err(Problem::unauthorized(format!("this token is not known: {ask}")));
        };
        let slower = |_| Problem::too_many("this token sends too much at once");
        self.sent.check_key(&name).map_err(slower)?;
        Ok(name)
    }

    async fn staged(&self, id: &str, sender: &str) -> Result<Submission, Problem> {
        let staged = self.db.staged(id, sender).await?;
        let message = || format!("there is no submission `{id}` of yours: begin one");
        staged.ok_or_else(|| Problem::not_found(message()))
    }

    async fn missing(&self, id: &str, submission: &Submission) -> Result<Vec<PartName>, Problem> {
        let mut arrived = self.db.arrived(id).await?;
        arrived.sort_unstable();
        let names = submission.parts.iter().map(Part::name);
        Ok(names.filter(|name| arrived.binary_search(name).is_err()).collect())
    }

    /// Forgets submissions that nobody finished.
    async fn clean(&self) -> Result<(), Error> {
        for (id, parts) in self.db.abandoned().await? {
            self.store.remove(&id, parts.into_iter()).await?;
            self.db.unstage(&id).await?;
        }
        Ok(())
    }
}

async fn begin(
    desk: Arc<Desk>,
    sender: Sender,
    _: Nothing,
    mut submission: Submission,
) -> Result<JsonOf<Staged>, Problem> {
    submission.check().map_err(Problem::damaged)?;
    submission.strip();
    desk.clean().await?;
    let id = submission.id();
    if desk.db.result(&id).await?.is_some() {
        return Err(Problem::conflict(format!("this result is published already, as `{id}`")));
    }
    if !desk.db.stage(&id, &sender.name, &submission).await? {
        return Err(Problem::conflict(
            "too many submissions of this token are not finished, or somebody else submits the same: \
             finish them, or wait a day",
        ));
    }
    let missing = desk.missing(&id, &submission).await?;
    JsonOf::of(&Staged { id, missing })
}

async fn receive_records(
    desk: Arc<Desk>,
    sender: Sender,
    PartPath { id, run, part }: PartPath,
    bytes: Bytes,
) -> Result<(), Problem> {
    receive(desk, sender, id, PartName::records(run, part), bytes).await
}

async fn receive_activities(
    desk: Arc<Desk>,
    sender: Sender,
    ActivitiesPath { id, run }: ActivitiesPath,
    bytes: Bytes,
) -> Result<(), Problem> {
    receive(desk, sender, id, PartName::activities(run), bytes).await
}

async fn receive(
    desk: Arc<Desk>,
    sender: Sender,
    id: String,
    name: PartName,
    bytes: Bytes,
) -> Result<(), Problem> {
    let submission = desk.staged(&id, &sender.name).await?;
    let wanted = submission.parts.iter().find(|wanted| wanted.name() == name);
    let wanted =
        wanted.ok_or_else(|| Problem::not_found(format!("{name} was not announced")))?.clone();
    let copy = bytes.clone();
    let same = desk.work.run(move || Ok(wanted.is(&copy))).await?;
    if !same {
        return Err(Problem::damaged(format!(
            "{name} is not what was announced: its length or its SHA-256 differs"
        )));
    }
    desk.store.put(&id, &file_name(name), bytes).await?;
    desk.db.add_arrived(&id, name).await?;
    Ok(())
}

async fn finish(
    desk: Arc<Desk>,
    sender: Sender,
    SubmissionPath { id }: SubmissionPath,
    _: Nothing,
) -> Result<JsonOf<Published>, Problem> {
    // Who does not wait for it finds it published.
    let done = tokio::spawn(check_and_publish(desk, sender, id));
    done.await.unwrap_or_else(|_| Err(Problem::failed("the check broke off: finish it again")))
}

async fn check_and_publish(
    desk: Arc<Desk>,
    sender: Sender,
    id: String,
) -> Result<JsonOf<Published>, Problem> {
    let submission = desk.staged(&id, &sender.name).await?;
    let missing = desk.missing(&id, &submission).await?.len();
    if missing > 0 {
        return Err(Problem::conflict(format!("{missing} files have not arrived: send them")));
    }
    let place = tempfile::tempdir_in(&desk.folder).map_err(Error::from)?;
    let path = place.path().join("result");
    let folder = ResultFolder::create(&path, &submission.manifest)?;
    for part in &submission.parts {
        let bytes = desk.store.get(&id, &file_name(part.name())).await?;
        if !part.is(&bytes) {
            return Err(Problem::damaged("a file is not what was sent: begin again"));
        }
        write_whole(&part.name().path(&folder), &bytes).map_err(Error::from)?;
    }
    let Submission { name, manifest, facts, parts, .. } = submission;
    let inside = parts.iter().filter(|part| part.content == Content::Activities);
    let inside: Vec<u32> = inside.map(|part| part.run).collect();
    let unchecked = inside.first().map(|_| {
        "what the drive did inside during the runs: no record tells of it; its files can be read".into()
    });
    let checks = move || {
        can_be_read(&folder, &inside)?;
        checked(&folder, manifest, &facts)
    };
    let (manifest, facts) = desk.work.run(checks).await?;
    for (file, json) in [
        ("manifest.json", serde_json::to_vec(&manifest)),
        ("facts.json", serde_json::to_vec(&facts)),
    ] {
        desk.store.put(&id, file, json.map_err(Error::from)?.into()).await?;
    }
    let item = ShelfItem::measurement(id.clone(), name, manifest, Some(facts));
    desk.db.publish(&sender.name, &item, &parts).await?;
    JsonOf::of(&Published { id, unchecked: unchecked.into_iter().collect() })
}

/// Whether the files of activities of `runs` are such.
fn can_be_read(folder: &ResultFolder, runs: &[u32]) -> Result<(), Problem> {
    for run in runs {
        // Of an empty window every row is read, and none is kept.
        let read = folder.activities(*run, Nanos(0)..Nanos(0));
        read.map_err(|error| without_path(folder, &error))?;
    }
    Ok(())
}

/// What is wrong with a result, without where it is checked.
fn without_path(folder: &ResultFolder, error: &flashscope_result::Error) -> Problem {
    let path = folder.path().display().to_string();
    Problem::damaged(error.to_string().replace(&path, "the result"))
}

/// The facts as they follow from the records, if those that were sent do, too.
fn checked(
    folder: &ResultFolder,
    manifest: Manifest,
    sent: &Facts,
) -> Result<(Manifest, Facts), Problem> {
    let found = analyse(folder, &manifest).map_err(|error| without_path(folder, &error))?;
    let json = |facts: &Facts| serde_json::to_value(facts).map_err(Error::from);
    match difference(&json(sent)?, &json(&found)?, "facts") {
        None => Ok((manifest, found)),
        Some(place) => Err(Problem::damaged(format!(
            "the facts do not follow from the records: {place} differs; let `flashscope report` find \
             them anew, and submit again"
        ))),
    }
}

/// Where two values differ by more than rounding.
fn difference(a: &Value, b: &Value, place: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let null = Value::Null;
            let of = |map: &serde_json::Map<String, Value>, name: &String| {
                map.get(name).unwrap_or(&null).clone()
            };
            names
                .filter_map(|name| {
                    difference(&of(a, name), &of(b, name), &format!("{place}.{name}"))
                })
                .next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.filter_map(|(i, (a, b))| difference(a, b, &format!("{place}[{i}]"))).next()
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            let same = (a - b).abs() <= limits::ROUNDING * a.abs().max(b.abs());
            (!same).then(|| place.into())
        }
        // Sentences hold numbers, which may be rounded otherwise.
        (Value::String(_), Value::String(_))
            if SENTENCES.iter().any(|end| place.ends_with(end)) =>
        {
            None
        }
        (a, b) => (a != b).then(|| place.into()),
    }
}

/// What of the facts is a sentence with numbers in it.
const SENTENCES: [&str; 2] = [".reason", ".finding"];
