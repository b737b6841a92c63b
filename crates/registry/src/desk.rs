//! Where submissions arrive: staged, checked, published.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "submissions that are checked: temporary folders in that of the registry"
    )
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use flashscope_probe::ProbeStatus;
use flashscope_report::{ResultKind, ShelfItem};
use flashscope_result::ResultFolder;
use flashscope_result::manifest::Status;
use flashscope_serve::{Api, Bearer, Endpoints, Gate, JsonOf, Nothing, Problem, Work};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::db::Db;
use crate::results::write_whole;
use crate::store::{PROBE, SIMULATION, Store, file_name};
use crate::submission::{
    Content, MeasurementSubmission, Part, PartName, ProbeSubmission, Published,
    SimulationSubmission, Staged, Submission, Submitted,
};
use crate::{Error, check, hash, limits};

/// Takes submissions.
pub(crate) struct Desk {
    db: Arc<Db>,
    store: Store,
    /// Where submissions are checked.
    folder: PathBuf,
    work: Work,
    receiving: Arc<Semaphore>,
    /// The places of each token that has sent something.
    receiving_of: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    sent: DefaultKeyedRateLimiter<String>,
    tried: DefaultDirectRateLimiter,
    /// The submissions that are being checked.
    finishing: Mutex<BTreeSet<String>>,
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

/// Who sends something, and its places: one of those of its token, and one of those of all.
pub(crate) struct Sender {
    name: String,
    _places: [OwnedSemaphorePermit; 2],
}

impl Gate for Desk {
    type Caller = Sender;

    async fn admit(self: Arc<Self>, bearer: Bearer) -> Result<Sender, Problem> {
        let name = self.sender(bearer).await?;
        let stopping = |_| Problem::busy("the registry is about to stop");
        // Who waits for a place of its token takes none of those of the others.
        let own = self.places_of(&name).acquire_owned().await.map_err(stopping)?;
        let place = self.receiving.clone().acquire_owned().await.map_err(stopping)?;
        Ok(Sender { name, _places: [own, place] })
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
            receiving_of: Mutex::default(),
            sent: RateLimiter::keyed(Quota::per_minute(limits::SENT_A_MINUTE)),
            tried: RateLimiter::direct(Quota::per_minute(limits::TRIED_A_MINUTE)),
            finishing: Mutex::default(),
        })
    }

    pub fn api(self) -> Api {
        let endpoints = Endpoints::default()
            .post(
                "/api/submissions",
                "Begins to submit a measurement, or goes on",
                limits::SUBMISSION,
                begin_measurement,
            )
            .post("/api/probes", "Begins to submit a probe, or goes on", limits::PROBE, begin_probe)
            .post(
                "/api/simulations",
                "Checks a simulation, and publishes it",
                limits::SIMULATION,
                publish_simulation,
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

    /// The places of the token `name`.
    fn places_of(&self, name: &str) -> Arc<Semaphore> {
        let mut all = self.receiving_of.lock().unwrap_or_else(PoisonError::into_inner);
        let places = || Arc::new(Semaphore::new(limits::RECEIVING_OF_ONE));
        all.entry(name.into()).or_insert_with(places).clone()
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

    /// A submission that is sound as far as that can be told without its files, and not published yet, with
    /// its id.
    async fn examined<S>(&self, mut submission: S) -> Result<(String, S), Problem>
    where
        S: Submitted + Send + 'static,
    {
        let examine = move || {
            submission.check().map_err(Problem::damaged)?;
            submission.strip();
            Ok((submission.id(), submission))
        };
        let (id, submission) = self.work.run(examine).await?;
        // Who submits does not suffer from what others left: it is tried again.
        let _ = self.clean().await;
        self.unpublished(&id).await?;
        Ok((id, submission))
    }

    /// That there is no result `id` yet.
    async fn unpublished(&self, id: &str) -> Result<(), Problem> {
        match self.db.result(id).await? {
            Some(_) => {
                Err(Problem::conflict(format!("this result is published already, as `{id}`")))
            }
            None => Ok(()),
        }
    }

    /// Publishes what was staged and checked.
    async fn publish(
        &self,
        sender: &Sender,
        item: &ShelfItem,
        parts: &[Part],
    ) -> Result<(), Problem> {
        match self.db.publish(&sender.name, item, parts).await? {
            true => Ok(()),
            false => Err(Problem::conflict("this submission was given up meanwhile: begin again")),
        }
    }

    /// The result `id`, if it is published, as who finished it was told of it: who did not wait for that asks
    /// again.
    async fn published(&self, id: &str) -> Result<Option<Published>, Problem> {
        let Some((item, parts)) = self.db.result(id).await? else { return Ok(None) };
        let unchecked: Vec<String> = match item.kind {
            ResultKind::Simulation => check::OF_SIMULATIONS.map(String::from).into(),
            ResultKind::Probe => check::OF_PROBES.map(String::from).into(),
            ResultKind::Measurement | ResultKind::Sweep => unchecked(&parts),
        };
        Ok(Some(Published { id: id.into(), unchecked }))
    }

    /// Lets nobody else finish the submission `id` until this is dropped: to check one takes minutes.
    fn finishing(self: &Arc<Self>, id: &str) -> Result<Finishing, Problem> {
        let mut finishing = self.finishing.lock().unwrap_or_else(PoisonError::into_inner);
        match finishing.insert(id.into()) {
            true => Ok(Finishing { desk: Arc::clone(self), id: id.into() }),
            false => Err(Problem::conflict(
                "this submission is being checked: ask again in a while whether it is published",
            )),
        }
    }

    /// Keeps JSON of the result `id`.
    async fn put_json(&self, id: &str, file: &str, json: &impl Serialize) -> Result<(), Problem> {
        let json = serde_json::to_vec(json).map_err(Error::from)?;
        Ok(self.store.put(id, file, json.into()).await?)
    }

    /// Lets the files of a submission lie in a folder.
    async fn fetch(&self, id: &str, parts: &[Part], folder: &Path) -> Result<(), Problem> {
        for part in parts {
            let bytes = self.store.get(id, &file_name(part.name())).await?;
            if !part.is(&bytes) {
                return Err(Problem::damaged("a file is not what was sent: begin again"));
            }
            write_whole(&part.name().path(folder), &bytes).map_err(Error::from)?;
        }
        Ok(())
    }

    async fn missing(&self, id: &str, submission: &Submission) -> Result<Vec<PartName>, Problem> {
        let mut arrived = self.db.arrived(id).await?;
        arrived.sort_unstable();
        let names = submission.parts().iter().map(Part::name);
        Ok(names.filter(|name| arrived.binary_search(name).is_err()).collect())
    }

    /// Forgets submissions that nobody finished. Each is looked at again just before: it may be finished now.
    async fn clean(&self) -> Result<(), Error> {
        for (id, parts) in self.db.abandoned().await? {
            if self.db.give_up(&id).await? {
                self.store.remove(&id, parts.into_iter()).await?;
                self.db.forget(&id).await?;
            }
        }
        Ok(())
    }
}

/// A submission that is being finished.
struct Finishing {
    desk: Arc<Desk>,
    id: String,
}

impl Drop for Finishing {
    fn drop(&mut self) {
        self.desk.finishing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// What of a measurement with these files the registry cannot find anew.
fn unchecked(parts: &[Part]) -> Vec<String> {
    match parts.iter().any(|part| part.content == Content::Activities) {
        true => vec![
            "what the drive did inside during the runs: no record tells of it; its files can be read"
                .into(),
        ],
        false => vec![],
    }
}

async fn begin_measurement(
    desk: Arc<Desk>,
    sender: Sender,
    _: Nothing,
    submission: MeasurementSubmission,
) -> Result<JsonOf<Staged>, Problem> {
    let (id, submission) = desk.examined(submission).await?;
    stage(desk, sender, id, Submission::Measurement(Box::new(submission))).await
}

async fn begin_probe(
    desk: Arc<Desk>,
    sender: Sender,
    _: Nothing,
    submission: ProbeSubmission,
) -> Result<JsonOf<Staged>, Problem> {
    let (id, submission) = desk.examined(submission).await?;
    stage(desk, sender, id, Submission::Probe(Box::new(submission))).await
}

/// Keeps a submission until its files are there.
async fn stage(
    desk: Arc<Desk>,
    sender: Sender,
    id: String,
    submission: Submission,
) -> Result<JsonOf<Staged>, Problem> {
    if !desk.db.stage(&id, &sender.name, &submission).await? {
        desk.unpublished(&id).await?;
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
    let wanted = submission.parts().iter().find(|wanted| wanted.name() == name);
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
    let _alone = desk.finishing(&id)?;
    desk.db.renew(&id, &sender.name).await?;
    let submission = match desk.staged(&id, &sender.name).await {
        Ok(submission) => submission,
        Err(none) => {
            let published = desk.published(&id).await?.ok_or(none)?;
            return JsonOf::of(&published);
        }
    };
    let missing = desk.missing(&id, &submission).await?.len();
    if missing > 0 {
        return Err(Problem::conflict(format!("{missing} files have not arrived: send them")));
    }
    let place = tempfile::tempdir_in(&desk.folder).map_err(Error::from)?;
    let path = place.path().join("result");
    match submission {
        Submission::Measurement(one) => publish_measurement(&desk, &sender, id, path, *one).await,
        Submission::Probe(one) => publish_probe(&desk, &sender, id, path, *one).await,
        Submission::Simulation(_) => {
            Err(Problem::conflict("a simulation has no files to wait for"))
        }
    }
}

/// Publishes the measurement whose files lie at `path`, if its facts follow from them.
async fn publish_measurement(
    desk: &Desk,
    sender: &Sender,
    id: String,
    path: PathBuf,
    submission: MeasurementSubmission,
) -> Result<JsonOf<Published>, Problem> {
    let MeasurementSubmission { name, manifest, facts, parts, .. } = submission;
    let inside = parts.iter().filter(|part| part.content == Content::Activities);
    let inside: Vec<u32> = inside.map(|part| part.run).collect();
    let folder = ResultFolder::create(&path, &manifest)?;
    desk.fetch(&id, &parts, &path).await?;
    let checks = move || {
        check::can_be_read(&folder, &inside)?;
        check::facts(&folder, manifest, &facts)
    };
    let (manifest, facts) = desk.work.run(checks).await?;
    desk.put_json(&id, "manifest.json", &manifest).await?;
    desk.put_json(&id, "facts.json", &facts).await?;
    let item = ShelfItem::measurement(id.clone(), name, manifest, Some(facts));
    desk.publish(sender, &item, &parts).await?;
    JsonOf::of(&Published { id, unchecked: unchecked(&parts) })
}

/// Publishes the probe whose files lie at `path`, if its runs are those of its records.
async fn publish_probe(
    desk: &Desk,
    sender: &Sender,
    id: String,
    path: PathBuf,
    submission: ProbeSubmission,
) -> Result<JsonOf<Published>, Problem> {
    let ProbeSubmission { name, probe, parts, .. } = submission;
    desk.fetch(&id, &parts, &path).await?;
    let checks = move || check::of_probe(&path, &probe).map(|()| probe);
    let probe = desk.work.run(checks).await?;
    desk.put_json(&id, PROBE, &probe).await?;
    let status = match probe.status {
        ProbeStatus::Complete => Status::Complete,
        ProbeStatus::Interrupted => Status::Interrupted,
        ProbeStatus::Failed => Status::Failed,
    };
    let runs = probe.steps.iter().flat_map(|step| &step.runs).map(|run| run.ios);
    let item = ShelfItem::probe(id.clone(), name, probe.drive, probe.began, status, runs);
    desk.publish(sender, &item, &parts).await?;
    JsonOf::of(&Published { id, unchecked: check::OF_PROBES.map(String::from).into() })
}

async fn publish_simulation(
    desk: Arc<Desk>,
    sender: Sender,
    _: Nothing,
    submission: SimulationSubmission,
) -> Result<JsonOf<Published>, Problem> {
    let (id, SimulationSubmission { name, simulation }) = desk.examined(submission).await?;
    desk.put_json(&id, SIMULATION, &simulation).await?;
    let (drive, workload) = (simulation.drive, simulation.workload);
    let item = ShelfItem::simulation(id.clone(), name, drive, workload, simulation.ios);
    desk.publish(&sender, &item, &[]).await?;
    JsonOf::of(&Published { id, unchecked: check::OF_SIMULATIONS.map(String::from).into() })
}

#[cfg(test)]
mod tests;
