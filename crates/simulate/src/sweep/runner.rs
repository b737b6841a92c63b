use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use flashscope_document::conclusion::EvidenceUnit;
use flashscope_document::sweep::Row;
use flashscope_measure::{PartialResult, Progress, Step, Unit};
use flashscope_result::Error;
use flashscope_result::sweep::SweepFolder;

use super::{Trial, run_trial};
use crate::Resources;

/// Rows are saved once their number exceeds 1/64 of the number of saved rows. An abrupt end then
/// loses little work, and there are few files.
const KEPT: usize = 64;

/// A callback that receives each row as it arrives, in any order.
pub type Each<'a> = dyn FnMut(&Row) + Send + 'a;

/// Runs trials elsewhere, such as on a cluster.
pub trait Workers: Send {
    /// Runs these trials and passes their rows to `give` as they arrive, in any order, until it
    /// returns `false`. A row may arrive twice, for example after a worker was presumed lost; the
    /// first row counts.
    fn run(&mut self, trials: &[&Trial], give: &mut dyn FnMut(Row) -> bool);
}

/// Runs trials, by default on the cores of this machine. The rows do not depend on where trials
/// run.
pub struct Runner<'a> {
    resources: Resources<'a>,
    progress: &'a mut (dyn Progress + 'a),
    /// The total number of rows, if known.
    total: Option<u64>,
    each: Option<&'a mut Each<'a>>,
    workers: Option<&'a mut (dyn Workers + 'a)>,
    /// The folder in which rows are saved, with the names of the factors.
    folder: Option<(&'a mut SweepFolder, Vec<String>)>,
    rows: BTreeMap<(u32, u32), Row>,
    kept: usize,
    failed: Option<Error>,
    /// The name of the number in each row that is reported as a partial result.
    watched: Option<String>,
}

impl<'a> Runner<'a> {
    /// Creates a runner that reports the number of rows to `progress`.
    pub fn new(resources: Resources<'a>, progress: &'a mut (dyn Progress + 'a)) -> Runner<'a> {
        let (rows, kept) = (BTreeMap::new(), 0);
        Runner {
            resources,
            progress,
            total: None,
            each: None,
            workers: None,
            folder: None,
            rows,
            kept,
            failed: None,
            watched: None,
        }
    }

    /// Sets the total number of rows, from which the progress derives the remaining time.
    #[must_use]
    pub fn expecting(mut self, total: u64) -> Runner<'a> {
        self.total = Some(total);
        self
    }

    /// Passes each row to `each` as it arrives.
    #[must_use]
    pub fn passing(mut self, each: &'a mut Each<'a>) -> Runner<'a> {
        self.each = Some(each);
        self
    }

    /// Reports the number `field` of each row as a partial result.
    #[must_use]
    pub fn watching(mut self, field: Option<&str>) -> Runner<'a> {
        self.watched = field.map(String::from);
        self
    }

    /// Runs trials on these workers, if given.
    #[must_use]
    pub fn by(mut self, workers: Option<&'a mut dyn Workers>) -> Runner<'a> {
        self.workers = workers;
        self
    }

    /// Saves rows in a folder as they arrive. Trials whose rows are in the folder already do not
    /// run again.
    #[must_use]
    pub fn keeping(
        mut self,
        folder: &'a mut SweepFolder,
        factors: Vec<String>,
        rows: Vec<Row>,
    ) -> Runner<'a> {
        self.kept = rows.len();
        self.rows = rows.into_iter().map(|row| ((row.point, row.repeat), row)).collect();
        self.folder = Some((folder, factors));
        self
    }

    /// Runs trials, see [`Batch`](super::Batch).
    pub fn run(&mut self, trials: &[Trial]) -> Option<Vec<Row>> {
        for trial in trials {
            if let Some(row) = self.rows.get_mut(&(trial.point, trial.repeat)) {
                // A row from the folder may have a number as text, because a Parquet column is text
                // if any level of its factor is. The levels of the trial have the right types.
                row.levels.clone_from(&trial.levels);
            }
        }
        let known = |trial: &&Trial| !self.rows.contains_key(&(trial.point, trial.repeat));
        let missing: Vec<&Trial> = trials.iter().filter(known).collect();
        let (resources, mut workers) = (self.resources.clone(), self.workers.take());
        std::thread::scope(|scope| {
            let (send, received) = channel();
            match &mut workers {
                Some(workers) if !missing.is_empty() => {
                    let missing = &missing;
                    scope.spawn(move || elsewhere(*workers, missing, &send));
                }
                _ => on_cores(scope, &missing, resources, send),
            }
            self.failed = self.collect(&received).err();
        });
        self.workers = workers;
        if self.failed.is_some() {
            return None;
        }
        let row = |trial: &Trial| self.rows.get(&(trial.point, trial.repeat)).cloned();
        trials.iter().map(row).collect()
    }

    /// Returns all rows so far, in the order of points and repeats.
    ///
    /// # Errors
    /// If a row could not be saved.
    pub fn finish(self) -> Result<Vec<Row>, Error> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.rows.into_values().collect()),
        }
    }

    fn collect(&mut self, received: &Receiver<Row>) -> Result<(), Error> {
        let mut new = Vec::new();
        while let Ok(first) = received.recv() {
            // All rows that arrived during the last save are saved together.
            for row in std::iter::once(first).chain(received.try_iter()) {
                if let Some(each) = &mut self.each {
                    each(&row);
                }
                if let Some(field) = &self.watched {
                    report(self.progress, field, &row);
                }
                self.rows.insert((row.point, row.repeat), row.clone());
                new.push(row);
                let done = self.rows.len() as u64;
                let step = Step::of("simulating points", done, self.total, Unit::Count);
                self.progress.show(&step);
            }
            if new.len() * KEPT > self.kept {
                self.keep(&mut new)?;
            }
        }
        self.keep(&mut new)
    }

    fn keep(&mut self, new: &mut Vec<Row>) -> Result<(), Error> {
        if let Some((folder, factors)) = &mut self.folder
            && !new.is_empty()
        {
            folder.keep(factors, new)?;
        }
        self.kept += new.len();
        new.clear();
        Ok(())
    }
}

/// Reports a number of a row as a partial result, if the row has it.
fn report(progress: &mut dyn Progress, field: &str, row: &Row) {
    let Some(&value) = row.numbers.get(field) else { return };
    let unit = match field {
        "ios_per_second" => EvidenceUnit::IosPerSecond,
        _ if field.contains("_ns") => EvidenceUnit::Nanoseconds,
        _ => EvidenceUnit::Number,
    };
    let what = format!("{field} at point {}, repeat {}", row.point, row.repeat);
    progress.found(&PartialResult {
        chart: &format!("{field} of each simulation"),
        x_axis: "point",
        series: field,
        x: row.point.into(),
        what: &what,
        value,
        unit,
    });
}

/// Runs trials on the cores of this machine, until they are stopped or the receiver is gone because
/// rows could not be saved.
fn on_cores<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    trials: &'scope [&Trial],
    resources: Resources<'scope>,
    send: Sender<Row>,
) {
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..resources.jobs.max(1).min(trials.len()) {
        let (next, send, resources) = (Arc::clone(&next), send.clone(), resources.of_thread());
        let row = move || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let trial = trials.get(index).filter(|_| !resources.is_stopped())?;
            run_trial(trial, &resources.memory, resources.stop)
        };
        scope.spawn(move || while row().is_some_and(|row| send.send(row).is_ok()) {});
    }
}

/// Lets workers run trials. Ignores rows that were not requested, and repeated rows.
fn elsewhere(workers: &mut dyn Workers, trials: &[&Trial], send: &Sender<Row>) {
    let mut expected: BTreeSet<_> =
        trials.iter().map(|trial| (trial.point, trial.repeat)).collect();
    let mut give = |row: Row| !expected.remove(&(row.point, row.repeat)) || send.send(row).is_ok();
    workers.run(trials, &mut give);
}
