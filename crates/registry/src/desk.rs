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
use flashscope_document::manifest::Status;
use flashscope_probe::ProbeStatus;
use flashscope_report::{ResultKind, ShelfItem};
use flashscope_result::ResultFolder;
use flashscope_serve::{Api, Bearer, Endpoints, Gate, JsonOf, Nothing, Problem, Work};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::db::{Db, Stored};
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
    /// The places of the submissions that are being checked.
    finishing: Mutex<BTreeSet<String>>,
}

/// Where in the store the files lie that `token` sends of what will be the result `id`: each token has a place of its
/// own, so that it sees, changes and removes nothing of what another sends of the same.
fn place_of(token: &str, id: &str) -> String {
    hash(&format!("{id}/{token}"))
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
        let staged = self.db.staged(&place_of(sender, id), sender).await?;
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

    /// Publishes what was staged at `place` and checked. Where another token was faster with the same result, that is
    /// the one that is published, and what lies at `place` goes.
    async fn publish(
        &self,
        place: &str,
        sender: &Sender,
        item: &ShelfItem,
        parts: &[Part],
    ) -> Result<(), Problem> {
        let published = self.db.publish(place, &sender.name, item, parts).await?;
        let gone = || Problem::conflict("this submission was given up meanwhile: begin again");
        match published.ok_or_else(gone)? == place {
            true => Ok(()),
            // It was not staged, and is a file alone.
            false if item.kind == ResultKind::Simulation => {
                Ok(self.store.remove(place, std::iter::empty()).await?)
            }
            false => Ok(self.withdraw(place, sender, parts).await?),
        }
    }

    /// Removes what lies at `place`, of a result that is published from another.
    async fn withdraw(&self, place: &str, sender: &Sender, parts: &[Part]) -> Result<(), Error> {
        if self.db.withdraw(place, &sender.name).await? {
            self.store.remove(place, parts.iter().map(Part::name)).await?;
            self.db.forget(place).await?;
        }
        Ok(())
    }

    /// The result `id`, if it is published, as who finished it was told of it: who did not wait for that asks
    /// again.
    async fn published(&self, id: &str) -> Result<Option<Published>, Problem> {
        let Some(Stored { item, parts, .. }) = self.db.result(id).await? else { return Ok(None) };
        let unchecked: Vec<String> = match item.kind {
            ResultKind::Simulation => check::OF_SIMULATIONS.map(String::from).into(),
            ResultKind::Probe => check::OF_PROBES.map(String::from).into(),
            ResultKind::Measurement | ResultKind::Sweep | ResultKind::WhatIf => unchecked(&parts),
        };
        Ok(Some(Published { id: id.into(), unchecked }))
    }

    /// Lets nothing else finish the submission at `place` until this is dropped: to check one takes minutes.
    fn finishing(self: &Arc<Self>, place: &str) -> Result<Finishing, Problem> {
        let mut finishing = self.finishing.lock().unwrap_or_else(PoisonError::into_inner);
        match finishing.insert(place.into()) {
            true => Ok(Finishing { desk: Arc::clone(self), place: place.into() }),
            false => Err(Problem::conflict(
                "this submission is being checked: ask again in a while whether it is published",
            )),
        }
    }

    /// Keeps JSON of a result at `place`.
    async fn put_json(
        &self,
        place: &str,
        file: &str,
        json: &impl Serialize,
    ) -> Result<(), Problem> {
        let json = serde_json::to_vec(json).map_err(Error::from)?;
        Ok(self.store.put(place, file, json.into()).await?)
    }

    /// Lets the files of the submission at `place` lie in a folder.
    async fn fetch(&self, place: &str, parts: &[Part], folder: &Path) -> Result<(), Problem> {
        for part in parts {
            let bytes = self.store.get(place, &file_name(part.name())).await?;
            if !part.is(&bytes) {
                return Err(Problem::damaged("a file is not what was sent: begin again"));
            }
            write_whole(&part.name().path(folder), &bytes).map_err(Error::from)?;
        }
        Ok(())
    }

    /// What has not arrived yet of the submission at `place`.
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

    /// Forgets submissions that nobody finished. Each is looked at again just before: it may be finished now.
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

/// A submission that is being finished.
struct Finishing {
    desk: Arc<Desk>,
    place: String,
}

impl Drop for Finishing {
    fn drop(&mut self) {
        self.desk.finishing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.place);
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
    let place = place_of(&sender.name, &id);
    if !desk.db.stage([&place, &id], &sender.name, &submission).await? {
        desk.unpublished(&id).await?;
        return Err(Problem::conflict(
            "too many submissions of this token are not finished, or this one was given up and its files are being \
             removed: finish the others, or wait a day",
        ));
    }
    let missing = desk.missing(&place, &submission).await?;
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
    let place = place_of(&sender.name, &id);
    desk.store.put(&place, &file_name(name), bytes).await?;
    desk.db.add_arrived(&place, name).await?;
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
    let place = place_of(&sender.name, &id);
    let _alone = desk.finishing(&place)?;
    desk.db.renew(&place, &sender.name).await?;
    let staged = desk.staged(&id, &sender.name).await;
    if let Some(published) = desk.published(&id).await? {
        // By this token before, or by another that submitted the same.
        if let Ok(submission) = staged {
            desk.withdraw(&place, &sender, submission.parts()).await?;
        }
        return JsonOf::of(&published);
    }
    let submission = staged?;
    let missing = desk.missing(&place, &submission).await?.len();
    if missing > 0 {
        return Err(Problem::conflict(format!("{missing} files have not arrived: send them")));
    }
    let folder = tempfile::tempdir_in(&desk.folder).map_err(Error::from)?;
    let path = folder.path().join("result");
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
    let place = place_of(&sender.name, &id);
    let folder = ResultFolder::create(&path, &manifest)?;
    desk.fetch(&place, &parts, &path).await?;
    let checks = move || {
        check::can_be_read(&folder, &inside)?;
        check::facts(&folder, manifest, &facts)
    };
    let (manifest, facts) = desk.work.run(checks).await?;
    desk.put_json(&place, "manifest.json", &manifest).await?;
    desk.put_json(&place, "facts.json", &facts).await?;
    let item = ShelfItem::measurement(id.clone(), name, manifest, Some(facts));
    desk.publish(&place, sender, &item, &parts).await?;
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
    let place = place_of(&sender.name, &id);
    desk.fetch(&place, &parts, &path).await?;
    let checks = move || check::of_probe(&path, &probe).map(|()| probe);
    let probe = desk.work.run(checks).await?;
    desk.put_json(&place, PROBE, &probe).await?;
    let status = match probe.status {
        ProbeStatus::Complete => Status::Complete,
        ProbeStatus::Interrupted => Status::Interrupted,
        ProbeStatus::Failed => Status::Failed,
    };
    let runs = probe.steps.iter().flat_map(|step| &step.runs).map(|run| run.ios);
    let item = ShelfItem::probe(id.clone(), name, probe.drive, probe.began, status, runs);
    desk.publish(&place, sender, &item, &parts).await?;
    JsonOf::of(&Published { id, unchecked: check::OF_PROBES.map(String::from).into() })
}

async fn publish_simulation(
    desk: Arc<Desk>,
    sender: Sender,
    _: Nothing,
    submission: SimulationSubmission,
) -> Result<JsonOf<Published>, Problem> {
    let (id, SimulationSubmission { name, simulation }) = desk.examined(submission).await?;
    let place = place_of(&sender.name, &id);
    desk.put_json(&place, SIMULATION, &simulation).await?;
    let (drive, workload) = (simulation.drive, simulation.workload);
    let item = ShelfItem::simulation(id.clone(), name, drive, workload, simulation.ios);
    desk.publish(&place, &sender, &item, &[]).await?;
    JsonOf::of(&Published { id, unchecked: check::OF_SIMULATIONS.map(String::from).into() })
}

#[cfg(test)]
mod tests;
