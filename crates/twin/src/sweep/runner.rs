use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

use flashscope_result::Error;
use flashscope_result::sweep::{Row, SweepFolder};

use super::{Trial, run_trial};

/// Rows are kept once they are more than such a share of those that are: so a kill costs little of what
/// was done, and there are few files.
const KEPT: usize = 64;

/// Is told how many rows there are.
pub type Told<'a> = dyn FnMut(u64) + Send + 'a;

/// Runs trials on the cores of this machine. Rows do not depend on how many there are.
pub struct Runner<'a> {
    jobs: usize,
    stop: &'a AtomicBool,
    told: &'a mut Told<'a>,
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
        Runner { jobs: jobs.max(1), stop, told, folder: None, rows, kept, failed: None }
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
        let (next, stop) = (AtomicUsize::new(0), self.stop);
        let work = || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let trial = missing.get(index).filter(|_| !stop.load(Ordering::Relaxed))?;
            run_trial(trial, stop)
        };
        std::thread::scope(|scope| {
            let (send, received) = channel();
            for _ in 0..self.jobs.min(missing.len()) {
                let send = send.clone();
                scope.spawn(move || {
                    // Nobody receives once rows cannot be kept.
                    while work().is_some_and(|row| send.send(row).is_ok()) {}
                });
            }
            drop(send);
            self.failed = self.collect(&received).err();
        });
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
