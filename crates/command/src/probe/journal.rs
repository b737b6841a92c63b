//! Records and reports the progress of a probe.

use std::cell::RefCell;

use flashscope_block::Record;
use flashscope_document::conclusion::EvidenceUnit;
use flashscope_document::probe::RunSummary;
use flashscope_probe::{Diary, Event, Keeper, RunInProgress};
use flashscope_result::{Error, ProbeFolder, Recorder};

use crate::{PartialResult, Progress, Step, Unit};

/// The journal of a probe, which records IOs and findings and reports progress.
pub(crate) struct Journal<'a> {
    pub diary: Diary,
    pub recorder: Recorder,
    /// The error, if records could not be written.
    pub failed: Option<Error>,
    sink: &'a mut dyn Progress,
    /// The current probe.
    probe: &'static str,
    /// The number of findings so far.
    found: u32,
}

/// The number of IOs between progress reports of a run.
const SHOWN_EVERY: u64 = 64;

impl<'a> Journal<'a> {
    pub(crate) fn new(folder: &ProbeFolder, sink: &'a mut dyn Progress) -> Self {
        let (diary, recorder) = (Diary::default(), folder.recorder());
        Journal { diary, recorder, failed: None, sink, probe: "", found: 0 }
    }

    pub(crate) fn tell(&mut self, event: &Event<'_>) {
        self.diary.tell(event);
        match event {
            Event::Begins { probe, .. } => self.probe = probe.name,
            Event::Found(finding) if finding.is_known() => {
                self.found += 1;
                let what =
                    format!("{}: {}, probability", finding.parameter.spec().title, finding.text());
                self.sink.found(&PartialResult {
                    chart: "Probability of each finding",
                    x_axis: "finding",
                    series: "probability",
                    x: self.found.into(),
                    what: &what,
                    value: finding.probability,
                    unit: EvidenceUnit::Share,
                });
            }
            Event::Found(_) | Event::Contradicted { .. } => {}
        }
    }

    /// Writes to the recorder, unless an earlier write failed.
    fn record(&mut self, with: impl FnOnce(&mut Recorder) -> Result<(), Error>) {
        if self.failed.is_none() {
            self.failed = with(&mut self.recorder).err();
        }
    }
}

/// A journal shared by the lab, which reports IOs, and the investigation, which reports findings.
pub(crate) struct SharedJournal<'a>(pub RefCell<Journal<'a>>);

impl Keeper for &SharedJournal<'_> {
    fn io(&mut self, run: &RunInProgress<'_>, record: &Record) {
        let journal = &mut *self.0.borrow_mut();
        journal.record(|recorder| {
            if run.ios == 1 {
                recorder.begin(run.number)?;
            }
            recorder.push(record)
        });
        if run.ios.is_multiple_of(SHOWN_EVERY) {
            let phase = format!("{}: {}", journal.probe, run.purpose);
            let (done, total) = (run.ios, run.of);
            journal.sink.show(&Step { phase: &phase, now: "", done, total, unit: Unit::Count });
        }
    }

    fn end(&mut self, run: RunSummary) {
        let journal = &mut *self.0.borrow_mut();
        journal.diary.keep(run);
        journal.record(|recorder| recorder.end().map(|_| ()));
    }
}
