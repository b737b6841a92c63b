//! Cuts the power of correct drives and of drives with seeded defects, thousands of times, and
//! judges each cut.
//!
//! [`model`] is a plain model of a drive that does anything that a correct drive may do. [`sim`] is
//! the simulator. [`plain`] is a second judge, which applies the definition to each sector. It
//! shares only the plan and the stamps with the first judge.

#![allow(clippy::cast_possible_truncation, reason = "the drives have 64 KiB")]

mod model;
mod plain;
mod sim;
mod writer;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, DeviceInfo, DeviceKind, WriteData};
use flashscope_document::manifest::Tool;
use flashscope_document::verification::{
    Atomicity, AtomicitySource, JournalTotals, VerificationWorkload, WritingEnd,
};
use flashscope_verify::journal::{Encoder, Journal, Opening};
use flashscope_verify::{
    History, Judgement, Limits, Moment, Plan, Stamper, Writer, judge, read_back,
};

/// A drive whose power a test cuts.
trait CutDrive: Device {
    /// Cuts the power, and returns the contents of the drive afterwards.
    fn cut(&mut self) -> Vec<u8>;
}

/// The conditions of a verification.
struct Trial {
    plan: Plan,
    atomicity: Atomicity,
    seed: u64,
}

/// A judged power cut.
struct JudgedCut {
    judgement: Judgement,
    totals: JournalTotals,
    contents: Vec<u8>,
}

impl Trial {
    /// Creates conditions for a drive of 64 KiB.
    fn new(seed: u64, unit: Bytes, boundary: Option<Bytes>) -> Trial {
        let workload = VerificationWorkload {
            run: seed ^ 0xabcd,
            seed,
            target_offset: Bytes::kib(4),
            target_size: Bytes::kib(52),
            block: Bytes(512),
            io_size: Bytes::kib(6),
            fill_io: Bytes::kib(8),
            queue_depth: 8,
            flush_every: 1 + seed % 24,
        };
        let atomicity = Atomicity { unit, boundary, source: AtomicitySource::Option };
        Trial { plan: Plan::new(workload).unwrap(), atomicity, seed }
    }

    /// Writes to the drive that `make` creates, with the source of its data, until it stops
    /// answering. Then cuts its power and judges its contents with the journal, which lacks its end
    /// if `loses_journal`.
    fn run<D: CutDrive>(
        &self,
        make: impl FnOnce(Arc<dyn WriteData>) -> D,
        loses_journal: bool,
    ) -> (D, JudgedCut) {
        let workload = self.plan.workload();
        let stamper = Arc::new(Stamper::new(workload.run, workload.queue_depth));
        let mut drive = make(Arc::clone(&stamper) as Arc<dyn WriteData>);
        let (encoder, mut journal) = Encoder::new(&self.opening());
        let begin = journal.len();
        let clock = || Moment { wall_ns: 0, steady_ns: 0 };
        let end = (&mut drive as &mut dyn Device, &*stamper);
        let writer = Writer::new(&self.plan, end, (encoder, &mut journal), &clock);
        let limits = Limits { writes: u64::MAX, duration: None };
        let written = writer.run(limits, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(written.end, WritingEnd::DriveFailed);
        if loses_journal {
            let mut random = fastrand::Rng::with_seed(self.seed);
            journal.truncate(random.usize(begin..=journal.len()));
        }
        let contents = drive.cut();
        let judged = self.judge(contents, journal);
        (drive, judged)
    }

    fn judge(&self, contents: Vec<u8>, journal: Vec<u8>) -> JudgedCut {
        let journal = Journal::parse(journal).unwrap();
        let history = History::new(&self.plan, journal.events()).unwrap();
        let mut read = |offset: Bytes, buffer: &mut [u8]| {
            let start = usize::try_from(offset.0).unwrap();
            buffer.copy_from_slice(&contents[start..start + buffer.len()]);
            Ok(())
        };
        let stop = AtomicBool::new(false);
        let back = read_back(&self.plan, &mut read, &stop, &mut |_| ()).unwrap();
        let judgement = judge(&self.plan, &history, self.atomicity, &back);
        JudgedCut { judgement, totals: *history.totals(), contents }
    }

    fn opening(&self) -> Opening {
        Opening {
            tool: Tool { version: String::new(), commit: None },
            device: info(),
            workload: *self.plan.workload(),
            atomicity: self.atomicity,
            began: String::new(),
        }
    }
}

/// Returns the properties of a drive of 64 KiB.
fn info() -> DeviceInfo {
    DeviceInfo::new(("model:", DeviceKind::Sim), (Bytes::kib(64), Bytes(512)), 8)
}

/// The counts of cases that the cuts of a test exercised. A test that exercises nothing fails.
#[derive(Debug, Default)]
struct Coverage {
    flushed: u64,
    overlapping: u64,
    out_of_order: u64,
    unflushed_kept: u64,
    unflushed_lost: u64,
    kept_after_lost: u64,
    torn_beyond_unit: u64,
}

impl Coverage {
    fn add(&mut self, judged: &JudgedCut) {
        let JudgedCut { judgement, totals, .. } = judged;
        self.flushed += totals.flushed;
        self.overlapping += totals.overlapping;
        self.out_of_order += totals.out_of_order;
        self.unflushed_kept += judgement.unflushed.kept;
        self.unflushed_lost += judgement.unflushed.lost;
        self.kept_after_lost += judgement.unflushed.kept_after_lost;
        self.torn_beyond_unit += judgement.torn_beyond_unit_writes;
    }
}
