//! Reads the parts of a collection on several threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use flashscope_document::collection::{CollectionFile, CollectionPlan};
use flashscope_result::collection::CollectionFolder;
use flashscope_trace::collection::{Part, PartLimits, PartOutcome, read_part};
use flashscope_trace::{Error, Spec};

use super::super::failure;
use crate::{Failure, Progress, Step, Unit, interrupted};

/// The interval between two reports of progress.
const INTERVAL: Duration = Duration::from_millis(100);

/// The parts of a collection, and the settings for reading them.
pub(super) struct Reading<'a> {
    pub folder: &'a CollectionFolder,
    pub spec: &'a Spec,
    pub limits: PartLimits,
    pub parts: &'a [Part],
    pub stop: &'a AtomicBool,
}

/// The reason that a part was not read.
enum PartFailure {
    /// The trace cannot be read.
    Trace(Error),
    /// The segments cannot be written.
    Folder(flashscope_result::Error),
}

impl From<Error> for PartFailure {
    fn from(error: Error) -> Self {
        PartFailure::Trace(error)
    }
}

impl From<flashscope_result::Error> for PartFailure {
    fn from(error: flashscope_result::Error) -> Self {
        PartFailure::Folder(error)
    }
}

/// The number of a part in the list, with its outcome; `None` if the part was interrupted.
type PartEnd = (usize, Result<Option<PartOutcome>, PartFailure>);

impl Reading<'_> {
    /// Reads the parts that have no outcome yet, and returns the outcomes of all parts in their
    /// order.
    pub(super) fn run(
        &self,
        jobs: usize,
        skips_bad_files: bool,
        sink: &mut dyn Progress,
    ) -> Result<Vec<PartOutcome>, Failure> {
        let mut outcomes = BTreeMap::new();
        let (mut done, total) = (0, self.parts.iter().map(|part| part.size.0).sum());
        for (number, part) in self.parts.iter().enumerate() {
            if let Some(outcome) = self.folder.read_outcome::<PartOutcome>(part.file, part.part)? {
                done += part.size.0;
                outcomes.insert(number, outcome);
            }
        }
        let missing: Vec<usize> =
            (0..self.parts.len()).filter(|number| !outcomes.contains_key(number)).collect();
        let (next, read) = (AtomicUsize::new(0), AtomicU64::new(done));
        let failed = AtomicBool::new(false);
        let shared = WorkState { missing: &missing, next: &next, read: &read, failed: &failed };
        std::thread::scope(|scope| {
            let (send, ended) = channel();
            for _ in 0..jobs {
                let send = send.clone();
                scope.spawn(move || self.work(shared, skips_bad_files, &send));
            }
            drop(send);
            let mut first_error = Ok(());
            loop {
                match ended.recv_timeout(INTERVAL) {
                    Ok((number, Ok(Some(outcome)))) => _ = outcomes.insert(number, outcome),
                    Ok((_, Ok(None))) => {}
                    Ok((_, Err(error))) => first_error = first_error.and(Err(error)),
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                }
                let read = read.load(Ordering::Relaxed);
                sink.show(&Step::of("reading", read, Some(total), Unit::Bytes));
            }
            first_error
        })
        .map_err(|error| match error {
            PartFailure::Trace(error) => failure(error),
            PartFailure::Folder(error) => Failure::from(error),
        })?;
        match outcomes.len() == self.parts.len() {
            true => Ok(outcomes.into_values().collect()),
            false => Err(interrupted("parts remain")),
        }
    }

    /// Reads parts until none is left.
    fn work(&self, shared: WorkState<'_>, skips_bad_files: bool, ended: &Sender<PartEnd>) {
        while let Some(number) = shared.next() {
            if self.stop.load(Ordering::Relaxed) || shared.failed.load(Ordering::Relaxed) {
                return;
            }
            let part = &self.parts[number];
            let outcome = match self.read(part, shared) {
                Err(PartFailure::Trace(error)) if skips_bad_files => {
                    Ok(Some(bad_file(part, &error)))
                }
                other => other,
            };
            let outcome = outcome.and_then(|outcome| {
                if let Some(outcome) = &outcome {
                    self.folder.write_outcome(part.file, part.part, outcome)?;
                }
                Ok(outcome)
            });
            shared.failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            // The receiver ends after all senders.
            let _ = ended.send((number, outcome));
        }
    }

    fn read(&self, part: &Part, shared: WorkState<'_>) -> Result<Option<PartOutcome>, PartFailure> {
        let mut before = 0;
        let mut go_on = |progress: &flashscope_trace::Progress| {
            let done = progress.done();
            shared.read.fetch_add(done - before, Ordering::Relaxed);
            before = done;
            !self.stop.load(Ordering::Relaxed) && !shared.failed.load(Ordering::Relaxed)
        };
        let mut keep = |segment: u32, lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
            let path = self.folder.segment(part.file, part.part, segment);
            Ok(self.folder.write_segment(&path, lines)?)
        };
        read_part(part, self.spec, self.limits, &mut go_on, &mut keep)
    }
}

/// The state that all threads share.
#[derive(Clone, Copy)]
struct WorkState<'a> {
    missing: &'a [usize],
    next: &'a AtomicUsize,
    /// The bytes read by all threads.
    read: &'a AtomicU64,
    /// True if a part failed. All threads then stop.
    failed: &'a AtomicBool,
}

impl WorkState<'_> {
    fn next(&self) -> Option<usize> {
        self.missing.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

/// Returns the outcome of a part that cannot be read.
fn bad_file(part: &Part, error: &Error) -> PartOutcome {
    PartOutcome {
        segments: 0,
        file: CollectionFile {
            path: part.path.clone(),
            format: None,
            requests: 0,
            bad_lines_skipped: 0,
            notes: Vec::new(),
            problem: Some(error.to_string()),
        },
    }
}

/// Returns the outcomes of files from those of their parts. A problem of a part excludes the file.
pub(super) fn files(
    plan: &CollectionPlan,
    parts: &[Part],
    outcomes: &[PartOutcome],
) -> Vec<CollectionFile> {
    let mut files: Vec<Option<CollectionFile>> = vec![None; plan.files.len()];
    for (part, outcome) in parts.iter().zip(outcomes) {
        let more = &outcome.file;
        match &mut files[part.file as usize] {
            None => files[part.file as usize] = Some(more.clone()),
            Some(file) => {
                file.requests += more.requests;
                file.bad_lines_skipped += more.bad_lines_skipped;
                file.notes.extend(more.notes.iter().cloned());
                file.problem = file.problem.take().or_else(|| more.problem.clone());
                file.format = file.format.take().or_else(|| more.format.clone());
            }
        }
    }
    files.into_iter().flatten().collect()
}
