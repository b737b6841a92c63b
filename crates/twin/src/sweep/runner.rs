use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use flashscope_result::Error;
use flashscope_result::sweep::{Row, SweepFolder};
use flashscope_sim::budget::queued;

use super::{Trial, run_trial};

/// Rows are kept once they are more than such a share of those that are: so a kill costs little of what
/// was done, and there are few files.
const KEPT: usize = 64;

/// Is told how many rows there are.
pub type Told<'a> = dyn FnMut(u64) + Send + 'a;

/// Is given each row as it comes, in no order.
pub type Each<'a> = dyn FnMut(&Row) + Send + 'a;

/// Who runs trials elsewhere, such as on a cluster.
pub trait Workers: Send {
    /// Runs these trials, and gives their rows away as they come, in any order, until they are wanted no more: then
    /// `give` says `false`. A row may come twice, as where a worker was taken for lost; the first counts.
    fn run(&mut self, trials: &[&Trial], give: &mut dyn FnMut(Row) -> bool);
}

/// Runs trials, on the cores of this machine unless it is told of other workers. Rows do not depend on it.
pub struct Runner<'a> {
    jobs: usize,
    stop: &'a AtomicBool,
    told: &'a mut Told<'a>,
    each: Option<&'a mut Each<'a>>,
    workers: Option<&'a mut (dyn Workers + 'a)>,
    /// Where rows are kept, with the names of the factors.
    folder: Option<(&'a mut SweepFolder, Vec<String>)>,
    rows: BTreeMap<(u32, u32), Row>,
    kept: usize,
    failed: Option<Error>,
}

impl<'a> Runner<'a> {
    /// With so many trials at once, until `stop` is set.
    pub fn new(jobs: usize, stop: &'a AtomicBool, told: &'a mut Told<'a>) -> Runner<'a> {
        let (rows, kept) = (BTreeMap::new(), 0);
        Runner {
            jobs: jobs.max(1),
            stop,
            told,
            each: None,
            workers: None,
            folder: None,
            rows,
            kept,
            failed: None,
        }
    }

    /// Gives each row away as it comes.
    #[must_use]
    pub fn telling(mut self, each: &'a mut Each<'a>) -> Runner<'a> {
        self.each = Some(each);
        self
    }

    /// Lets these workers run the trials, if there are any.
    #[must_use]
    pub fn by(mut self, workers: Option<&'a mut dyn Workers>) -> Runner<'a> {
        self.workers = workers;
        self
    }

    /// Keeps rows in a folder as they come, and takes those that are there for done.
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

    /// Runs these trials: see [`Batch`](super::Batch).
    pub fn run(&mut self, trials: &[Trial]) -> Option<Vec<Row>> {
        for trial in trials {
            if let Some(row) = self.rows.get_mut(&(trial.point, trial.repeat)) {
                // In a file a number is a text where another level of its factor is one.
                row.levels.clone_from(&trial.levels);
            }
        }
        let known = |trial: &&Trial| !self.rows.contains_key(&(trial.point, trial.repeat));
        let missing: Vec<&Trial> = trials.iter().filter(known).collect();
        let (jobs, stop, mut workers) = (self.jobs, self.stop, self.workers.take());
        std::thread::scope(|scope| {
            let (send, received) = channel();
            match &mut workers {
                Some(workers) if !missing.is_empty() => {
                    let missing = &missing;
                    scope.spawn(move || elsewhere(*workers, missing, &send));
                }
                _ => on_cores(scope, &missing, (jobs, stop), send),
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

    /// All rows so far, in the order of points and repeats.
    ///
    /// # Errors
    /// Where one could not be kept.
    pub fn finish(self) -> Result<Vec<Row>, Error> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.rows.into_values().collect()),
        }
    }

    fn collect(&mut self, received: &Receiver<Row>) -> Result<(), Error> {
        let mut new = Vec::new();
        while let Ok(first) = received.recv() {
            // All that came while the last were kept is kept at once.
            for row in std::iter::once(first).chain(received.try_iter()) {
                if let Some(each) = &mut self.each {
                    each(&row);
                }
                self.rows.insert((row.point, row.repeat), row.clone());
                new.push(row);
                (self.told)(self.rows.len() as u64);
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

/// Runs trials on so many cores, until it is stopped or nobody receives: once rows cannot be kept.
fn on_cores<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    trials: &'scope [&Trial],
    (jobs, stop): (usize, &'scope AtomicBool),
    send: Sender<Row>,
) {
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..jobs.min(trials.len()) {
        let (next, send) = (Arc::clone(&next), send.clone());
        let row = move || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let trial = trials.get(index).filter(|_| !stop.load(Ordering::Relaxed))?;
            queued(|| run_trial(trial, stop))
        };
        scope.spawn(move || while row().is_some_and(|row| send.send(row).is_ok()) {});
    }
}

/// Lets others run trials. What was not asked for, or came before, is passed over.
fn elsewhere(workers: &mut dyn Workers, trials: &[&Trial], send: &Sender<Row>) {
    let mut wanted: BTreeSet<_> = trials.iter().map(|trial| (trial.point, trial.repeat)).collect();
    let mut give = |row: Row| !wanted.remove(&(row.point, row.repeat)) || send.send(row).is_ok();
    workers.run(trials, &mut give);
}
