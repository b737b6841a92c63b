//! Receives submissions: stages, checks and publishes them.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "submissions under check: temporary folders inside the registry's folder"
    )
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use flashscope_document::manifest::Status;
use flashscope_document::probe::ProbeStatus;
use flashscope_report::Abilities;
use flashscope_report::{ResultKind, ShelfItem};
use flashscope_result::ResultFolder;
use flashscope_serve::{Api, Bearer, Endpoints, Gate, JsonOf, Nothing, Problem, Work};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::db::{Db, StoredResult};
use crate::results::write_whole;
use crate::store::{PROBE, SIMULATION, Store, file_name};
use crate::submission::{
    Content, MeasurementSubmission, Part, PartName, ProbeSubmission, Publication,
    SimulationSubmission, StagedSubmission, Submission, SubmissionContent,
};
use crate::{Error, check, hash, limits};

/// The service that receives submissions.
pub(crate) struct Intake {
    db: Arc<Db>,
    store: Store,
    /// The folder for files under check.
    folder: PathBuf,
    work: Work,
    receiving: Arc<Semaphore>,
    /// The permits for concurrent requests of each token, by the name of the token.
    receiving_of: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    sent: DefaultKeyedRateLimiter<String>,
    tried: DefaultDirectRateLimiter,
    /// The store prefixes of the submissions under check.
    finishing: Mutex<BTreeSet<String>>,
}

/// Returns the store prefix of the files that `token` sends for the future result `id`. The prefix
/// depends on the token, so that two clients with the same result cannot see or change each other's
/// files.
fn place_of(token: &str, id: &str) -> String {
    hash(&format!("{id}/{token}"))
}

/// The path of a submission.
#[derive(Deserialize, JsonSchema)]
struct SubmissionPath {
    /// The id of the submission, from the answer that staged it.
    id: String,
}

/// The path of a record file of a submission.
#[derive(Deserialize, JsonSchema)]
struct PartPath {
    /// The id of the submission, from the answer that staged it.
    id: String,
    /// The number of the run.
    #[schemars(range(max = u32::MAX))]
    run: u32,
    /// The number of the file within the run, from 0.
    #[schemars(range(max = u32::MAX))]
    part: u32,
}

/// The path of an activity file: the background operations of a simulated drive during a run.
#[derive(Deserialize, JsonSchema)]
struct ActivitiesPath {
    /// The id of the submission, from the answer that staged it.
    id: String,
    /// The number of the run.
    #[schemars(range(max = u32::MAX))]
    run: u32,
}

/// The sender of a request, with two permits: one from the limit of its token, and one from the
/// limit of the registry.
pub(crate) struct Sender {
    name: String,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Gate for Intake {
    type Caller = Sender;

    async fn admit(self: Arc<Self>, bearer: Bearer) -> Result<Sender, Problem> {
        let name = self.sender(bearer).await?;
        let stopping = |_| Problem::busy("the registry is shutting down");
        // The token's permit comes first: a request that waits for it occupies no permit of the
        // registry.
        let own = self.permits_of(&name).acquire_owned().await.map_err(stopping)?;
        let shared = self.receiving.clone().acquire_owned().await.map_err(stopping)?;
        Ok(Sender { name, _permits: [own, shared] })
    }
}

impl Intake {
    pub(crate) fn new(db: Arc<Db>, store: Store, folder: PathBuf) -> Result<Intake, Error> {
        std::fs::create_dir_all(&folder)?;
        Ok(Intake {
            db,
            store,
            folder,
            work: Work::default(),
            receiving: Arc::new(Semaphore::new(limits::RECEIVING)),
            receiving_of: Mutex::default(),
            sent: RateLimiter::keyed(Quota::per_minute(limits::REQUESTS_PER_TOKEN_MINUTE)),
            tried: RateLimiter::direct(Quota::per_minute(limits::UNKNOWN_TOKENS_PER_MINUTE)),
            finishing: Mutex::default(),
        })
    }

    pub(crate) fn api(self) -> Api {
        let endpoints = Endpoints::default()
            .post(
                "/api/submissions",
                "Begins or resumes the submission of a measurement",
                limits::SUBMISSION,
                begin_measurement,
            )
            .post(
                "/api/probes",
                "Begins or resumes the submission of a probe",
                limits::PROBE,
                begin_probe,
            )
            .post(
                "/api/simulations",
                "Checks and publishes a simulation",
                limits::SIMULATION,
                publish_simulation,
            )
            .put_bytes(
                "/api/submissions/{id}/records/{run}/{part}",
                "Sends a record file",
                limits::PART,
                receive_records,
            )
            .put_bytes(
                "/api/submissions/{id}/activities/{run}",
                "Sends an activity file: the background operations of a simulated drive in a run",
                limits::PART,
                receive_activities,
            )
            .post(
                "/api/submissions/{id}/finish",
                "Checks and publishes a submission",
                1024,
                finish,
            );
        let (router, document) = endpoints.finish("flashscope registry", "");
        let abilities = Abilities { submissions: true, ..Abilities::default() };
        Api { router: router.with_state(Arc::new(self)), document, abilities }
    }

    /// Returns the semaphore for concurrent requests of the token `name`.
    fn permits_of(&self, name: &str) -> Arc<Semaphore> {
        let mut all = self.receiving_of.lock().unwrap_or_else(PoisonError::into_inner);
        let permits = || Arc::new(Semaphore::new(limits::RECEIVING_OF_ONE));
        all.entry(name.into()).or_insert_with(permits).clone()
    }

    /// Returns the name of the token in a request, or fails if it is unknown or over its rate
    /// limit.
    async fn sender(&self, Bearer(token): Bearer) -> Result<String, Problem> {
        let hint = "send `Authorization: Bearer TOKEN` with a token of this registry";
        let token = token.ok_or_else(|| Problem::unauthorized(hint))?;
        let Some(name) = self.db.token(&hash(&token)).await? else {
            self.tried
                .check()
                .map_err(|_| Problem::too_many("too many unknown tokens: try again later"))?;
            return Err(Problem::unauthorized(format!("this token is not known: {hint}")));
        };
        let slower =
            |_| Problem::too_many("too many requests with this token: try again in a minute");
        self.sent.check_key(&name).map_err(slower)?;
        Ok(name)
    }

    async fn staged(&self, id: &str, sender: &str) -> Result<Submission, Problem> {
        let staged = self.db.staged(&place_of(sender, id), sender).await?;
        let message = || format!("this token has no submission `{id}`: begin one");
        staged.ok_or_else(|| Problem::not_found(message()))
    }

    /// Checks a submission as far as possible without its files, and fails if it is already
    /// published. Returns its id and the submission without identifying data.
    async fn examine<S>(&self, mut submission: S) -> Result<(String, S), Problem>
    where
        S: SubmissionContent + Send + 'static,
    {
        let examine = move || {
            submission.check().map_err(Problem::damaged)?;
            submission.strip();
            Ok((submission.id(), submission))
        };
        let (id, submission) = self.work.run(examine).await?;
        // A failed cleanup of old submissions must not fail this one; the next request repeats it.
        let _ = self.clean().await;
        self.ensure_unpublished(&id).await?;
        Ok((id, submission))
    }

    /// Fails if result `id` is published.
    async fn ensure_unpublished(&self, id: &str) -> Result<(), Problem> {
        match self.db.result(id).await? {
            Some(_) => {
                Err(Problem::conflict(format!("this result is already published, as `{id}`")))
            }
            None => Ok(()),
        }
    }

    /// Publishes the checked submission whose files have the prefix `place`. If another token
    /// published the same result first, deletes these files instead.
    async fn publish(
        &self,
        place: &str,
        sender: &Sender,
        item: &ShelfItem,
        parts: &[Part],
    ) -> Result<(), Problem> {
        let published = self.db.publish(place, &sender.name, item, parts).await?;
        let gone = || Problem::conflict("this submission has expired: begin again");
        match published.ok_or_else(gone)? == place {
            true => Ok(()),
            // A simulation is not staged, and has only its document.
            false if item.kind == ResultKind::Simulation => {
                Ok(self.store.remove(place, std::iter::empty()).await?)
            }
            false => Ok(self.withdraw(place, sender, parts).await?),
        }
    }

    /// Deletes the files with the prefix `place`, whose result is published from another prefix.
    async fn withdraw(&self, place: &str, sender: &Sender, parts: &[Part]) -> Result<(), Error> {
        if self.db.withdraw(place, &sender.name).await? {
            self.store.remove(place, parts.iter().map(Part::name)).await?;
            self.db.forget(place).await?;
        }
        Ok(())
    }

    /// Returns the answer to the request that finished result `id`; `None` if the result is not
    /// published. A sender that lost the answer gets it again.
    async fn published(&self, id: &str) -> Result<Option<Publication>, Problem> {
        let Some(StoredResult { item, parts, .. }) = self.db.result(id).await? else {
            return Ok(None);
        };
        let unchecked: Vec<String> = match item.kind {
            ResultKind::Simulation => check::UNCHECKED_IN_SIMULATIONS.map(String::from).into(),
            ResultKind::Probe => check::UNCHECKED_IN_PROBES.map(String::from).into(),
            _ => unchecked(&parts),
        };
        Ok(Some(Publication { id: id.into(), unchecked }))
    }

    /// Locks the submission at `place` until the guard is dropped. A check lasts minutes, and must
    /// not run twice at the same time.
    fn lock(self: &Arc<Self>, place: &str) -> Result<FinishGuard, Problem> {
        let mut finishing = self.finishing.lock().unwrap_or_else(PoisonError::into_inner);
        match finishing.insert(place.into()) {
            true => Ok(FinishGuard { intake: Arc::clone(self), place: place.into() }),
            false => Err(Problem::conflict(
                "this submission is being checked: send the request again in a minute",
            )),
        }
    }

    /// Stores a JSON document of a result at `place`.
    async fn put_json(
        &self,
        place: &str,
        file: &str,
        json: &impl Serialize,
    ) -> Result<(), Problem> {
        let json = serde_json::to_vec(json).map_err(Error::from)?;
        Ok(self.store.put(place, file, json.into()).await?)
    }

    /// Copies the files of the submission at `place` into `folder`.
    async fn fetch(&self, place: &str, parts: &[Part], folder: &Path) -> Result<(), Problem> {
        for part in parts {
            let bytes = self.store.get(place, &file_name(part.name())).await?;
            if !part.matches(&bytes) {
                return Err(Problem::damaged(
                    "a stored file has changed since it was sent: begin again",
                ));
            }
            write_whole(&part.name().path(folder), &bytes).map_err(Error::from)?;
        }
        Ok(())
    }

    /// Returns the files of the submission at `place` that have not arrived.
    async fn missing(
        &self,
        place: &str,
        submission: &Submission,
    ) -> Result<Vec<PartName>, Problem> {
        let mut arrived = self.db.arrived(place).await?;
        arrived.sort_unstable();
        let names = submission.parts().iter().map(Part::name);
        Ok(names.filter(|name| arrived.binary_search(name).is_err()).collect())
    }

    /// Deletes expired submissions. Takes each submission away from its token first, which fails if
    /// the submission was finished or renewed in the meantime.
    async fn clean(&self) -> Result<(), Error> {
        for (place, parts) in self.db.abandoned().await? {
            if self.db.give_up(&place).await? {
                self.store.remove(&place, parts.into_iter()).await?;
                self.db.forget(&place).await?;
            }
        }
        Ok(())
    }
}

/// Holds the lock on a submission while it is being finished.
struct FinishGuard {
    intake: Arc<Intake>,
    place: String,
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        self.intake.finishing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.place);
    }
}

/// Returns the statements of a measurement that the registry cannot recompute from the records.
fn unchecked(parts: &[Part]) -> Vec<String> {
    match parts.iter().any(|part| part.content == Content::Activities) {
        true => vec![
            "the background operations of the drive during the runs: records do not show them; the activity files can be read"
                .into(),
        ],
        false => vec![],
    }
}

async fn begin_measurement(
    intake: Arc<Intake>,
    sender: Sender,
    _: Nothing,
    submission: MeasurementSubmission,
) -> Result<JsonOf<StagedSubmission>, Problem> {
    let (id, submission) = intake.examine(submission).await?;
    stage(intake, sender, id, Submission::Measurement(Box::new(submission))).await
}

async fn begin_probe(
    intake: Arc<Intake>,
    sender: Sender,
    _: Nothing,
    submission: ProbeSubmission,
) -> Result<JsonOf<StagedSubmission>, Problem> {
    let (id, submission) = intake.examine(submission).await?;
    stage(intake, sender, id, Submission::Probe(Box::new(submission))).await
}

/// Stages a submission until its files have arrived.
async fn stage(
    intake: Arc<Intake>,
    sender: Sender,
    id: String,
    submission: Submission,
) -> Result<JsonOf<StagedSubmission>, Problem> {
    let place = place_of(&sender.name, &id);
    if !intake.db.stage([&place, &id], &sender.name, &submission).await? {
        intake.ensure_unpublished(&id).await?;
        return Err(Problem::conflict(
            "this token has too many unfinished submissions, or this one has expired and its files are being \
             deleted: finish the others, or wait a day",
        ));
    }
    let missing = intake.missing(&place, &submission).await?;
    JsonOf::of(&StagedSubmission { id, missing })
}

async fn receive_records(
    intake: Arc<Intake>,
    sender: Sender,
    PartPath { id, run, part }: PartPath,
    bytes: Bytes,
) -> Result<(), Problem> {
    receive(intake, sender, id, PartName::records(run, part), bytes).await
}

async fn receive_activities(
    intake: Arc<Intake>,
    sender: Sender,
    ActivitiesPath { id, run }: ActivitiesPath,
    bytes: Bytes,
) -> Result<(), Problem> {
    receive(intake, sender, id, PartName::activities(run), bytes).await
}

async fn receive(
    intake: Arc<Intake>,
    sender: Sender,
    id: String,
    name: PartName,
    bytes: Bytes,
) -> Result<(), Problem> {
    let submission = intake.staged(&id, &sender.name).await?;
    let part = submission.parts().iter().find(|part| part.name() == name);
    let part = part.ok_or_else(|| Problem::not_found(format!("{name} was not announced")))?.clone();
    let copy = bytes.clone();
    let same = intake.work.run(move || Ok(part.matches(&copy))).await?;
    if !same {
        return Err(Problem::damaged(format!(
            "{name} is not the announced file: its length or its SHA-256 differs"
        )));
    }
    let place = place_of(&sender.name, &id);
    intake.store.put(&place, &file_name(name), bytes).await?;
    intake.db.add_arrived(&place, name).await?;
    Ok(())
}

async fn finish(
    intake: Arc<Intake>,
    sender: Sender,
    SubmissionPath { id }: SubmissionPath,
    _: Nothing,
) -> Result<JsonOf<Publication>, Problem> {
    // A separate task continues the check if the client disconnects. When the client repeats the
    // request, the result is published.
    let done = tokio::spawn(check_and_publish(intake, sender, id));
    done.await
        .unwrap_or_else(|_| Err(Problem::failed("the check failed: finish the submission again")))
}

async fn check_and_publish(
    intake: Arc<Intake>,
    sender: Sender,
    id: String,
) -> Result<JsonOf<Publication>, Problem> {
    let place = place_of(&sender.name, &id);
    let _alone = intake.lock(&place)?;
    intake.db.renew(&place, &sender.name).await?;
    let staged = intake.staged(&id, &sender.name).await;
    if let Some(published) = intake.published(&id).await? {
        // This token published the result before, or another token published the same result.
        if let Ok(submission) = staged {
            intake.withdraw(&place, &sender, submission.parts()).await?;
        }
        return JsonOf::of(&published);
    }
    let submission = staged?;
    let missing = intake.missing(&place, &submission).await?.len();
    if missing > 0 {
        return Err(Problem::conflict(format!("{missing} files have not arrived: send them")));
    }
    let folder = tempfile::tempdir_in(&intake.folder).map_err(Error::from)?;
    let path = folder.path().join("result");
    match submission {
        Submission::Measurement(one) => publish_measurement(&intake, &sender, id, path, *one).await,
        Submission::Probe(one) => publish_probe(&intake, &sender, id, path, *one).await,
        Submission::Simulation(_) => {
            Err(Problem::conflict("a simulation has no files: submit it to /api/simulations"))
        }
    }
}

/// Publishes a measurement if its facts follow from its files, which are fetched to `path`.
async fn publish_measurement(
    intake: &Intake,
    sender: &Sender,
    id: String,
    path: PathBuf,
    submission: MeasurementSubmission,
) -> Result<JsonOf<Publication>, Problem> {
    let MeasurementSubmission { name, manifest, facts, parts, .. } = submission;
    let inside = parts.iter().filter(|part| part.content == Content::Activities);
    let inside: Vec<u32> = inside.map(|part| part.run).collect();
    let place = place_of(&sender.name, &id);
    let folder = ResultFolder::create(&path, &manifest)?;
    intake.fetch(&place, &parts, &path).await?;
    let checks = move || {
        check::check_activities(&folder, &inside)?;
        check::recompute_facts(&folder, manifest, &facts)
    };
    let (manifest, facts) = intake.work.run(checks).await?;
    intake.put_json(&place, "manifest.json", &manifest).await?;
    intake.put_json(&place, "facts.json", &facts).await?;
    let item = ShelfItem::measurement(id.clone(), name, manifest, Some(facts));
    intake.publish(&place, sender, &item, &parts).await?;
    JsonOf::of(&Publication { id, unchecked: unchecked(&parts) })
}

/// Publishes a probe if its runs agree with its records, which are fetched to `path`.
async fn publish_probe(
    intake: &Intake,
    sender: &Sender,
    id: String,
    path: PathBuf,
    submission: ProbeSubmission,
) -> Result<JsonOf<Publication>, Problem> {
    let ProbeSubmission { name, probe, parts, .. } = submission;
    let place = place_of(&sender.name, &id);
    intake.fetch(&place, &parts, &path).await?;
    let checks = move || check::check_records(&path, &probe).map(|()| probe);
    let probe = intake.work.run(checks).await?;
    intake.put_json(&place, PROBE, &probe).await?;
    let status = match probe.status {
        ProbeStatus::Complete => Status::Complete,
        ProbeStatus::Interrupted => Status::Interrupted,
        ProbeStatus::Failed => Status::Failed,
    };
    let runs = probe.steps.iter().flat_map(|step| &step.runs).map(|run| run.ios);
    let item = ShelfItem::probe(id.clone(), name, probe.drive, probe.began, status, runs);
    intake.publish(&place, sender, &item, &parts).await?;
    JsonOf::of(&Publication { id, unchecked: check::UNCHECKED_IN_PROBES.map(String::from).into() })
}

async fn publish_simulation(
    intake: Arc<Intake>,
    sender: Sender,
    _: Nothing,
    submission: SimulationSubmission,
) -> Result<JsonOf<Publication>, Problem> {
    let (id, SimulationSubmission { name, simulation }) = intake.examine(submission).await?;
    let place = place_of(&sender.name, &id);
    intake.put_json(&place, SIMULATION, &simulation).await?;
    let (drive, workload) = (simulation.drive, simulation.workload);
    let item = ShelfItem::simulation(id.clone(), name, drive, workload, simulation.ios);
    intake.publish(&place, &sender, &item, &[]).await?;
    JsonOf::of(&Publication {
        id,
        unchecked: check::UNCHECKED_IN_SIMULATIONS.map(String::from).into(),
    })
}

#[cfg(test)]
mod tests;
