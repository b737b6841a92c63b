//! A plain model of a drive with a volatile cache, and its seeded defects.

use std::sync::Arc;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, Io, Nanos, Op, WriteData};
use flashscope_document::verification::Verdict;
use proptest::prelude::*;

use crate::plain::{HostView, Promise};
use crate::{Coverage, CutDrive, Trial, info};

const SECTOR: usize = 512;

/// A defect of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// A flush does nothing.
    LyingFlush,
    /// The cut writes the first half of an atomic unit.
    TornUnit,
    /// The cut writes the first half of a sector.
    TornSector,
    /// The cache writes in any order: an older write can replace a newer write.
    Reordering,
    /// A write goes to the unit after the addressed unit.
    Misplacing,
}

const DEFECTS: [Defect; 5] = [
    Defect::LyingFlush,
    Defect::TornUnit,
    Defect::TornSector,
    Defect::Reordering,
    Defect::Misplacing,
];

/// A unit that the drive writes to its medium atomically.
struct Unit {
    /// The number of the write among the IOs that the drive received.
    write: usize,
    /// The order in which the drive accepted the write.
    order: u64,
    offset: usize,
    data: Vec<u8>,
}

struct InFlight {
    io: Io,
    data: Vec<u8>,
    /// True once the cache has the data. The answer may follow later.
    is_cached: bool,
    /// The number among the IOs that the drive received.
    observed: usize,
}

/// A drive that does anything that a correct drive may do: it accepts writes in flight in any
/// order, writes its cache in any order, and answers in any order. An older write never replaces a
/// newer write to the same sector, and units are atomic.
struct Model {
    info: DeviceInfo,
    data: Arc<dyn WriteData>,
    now: u64,
    random: fastrand::Rng,
    defect: Option<Defect>,
    unit: usize,
    boundary: usize,
    in_flight: Vec<InFlight>,
    cache: Vec<Unit>,
    accepted: u64,
    medium: Vec<u8>,
    /// The order of the write on the medium, by sector.
    newest: Vec<u64>,
    answers_left: u64,
    /// The host's view, for the plain judge.
    observed: HostView,
}

impl Model {
    fn new(trial: &Trial, data: Arc<dyn WriteData>, defect: Option<Defect>) -> Model {
        let info = info();
        let len = usize::try_from(info.capacity.0).unwrap();
        let mut random = fastrand::Rng::with_seed(trial.seed);
        Model {
            info,
            data,
            now: 0,
            defect,
            unit: trial.atomicity.unit.0 as usize,
            boundary: trial.atomicity.boundary.map_or(usize::MAX, |bytes| bytes.0 as usize),
            in_flight: Vec::new(),
            cache: Vec::new(),
            accepted: 0,
            medium: vec![0; len],
            newest: vec![0; len / SECTOR],
            answers_left: random.u64(1..300),
            observed: HostView::default(),
            random,
        }
    }

    /// Moves a write in flight into the cache, unit by unit.
    fn accept(&mut self, index: usize) {
        let InFlight { io, data, is_cached, observed } = &mut self.in_flight[index];
        if io.op != Op::Write || std::mem::replace(is_cached, true) {
            return;
        }
        let offset = io.offset.0 as usize;
        let end = offset + data.len();
        let is_atomic =
            data.len() <= self.unit && offset / self.boundary == (end - 1) / self.boundary;
        let step = if is_atomic { data.len() } else { SECTOR };
        self.accepted += 1;
        for (number, data) in data.chunks(step).enumerate() {
            let (write, order, offset) = (*observed, self.accepted, offset + number * step);
            self.cache.push(Unit { write, order, offset, data: data.to_vec() });
        }
    }

    /// Writes a unit of the cache to the medium.
    fn write_out(&mut self, index: usize) {
        let Unit { order, mut offset, data, .. } = self.cache.swap_remove(index);
        let is_last = offset + 2 * data.len() > self.medium.len();
        if self.defect == Some(Defect::Misplacing) && !is_last && self.random.u8(..8) == 0 {
            offset += data.len();
        }
        for (sector, bytes) in (offset / SECTOR..).zip(data.chunks(SECTOR)) {
            if order > self.newest[sector] || self.defect == Some(Defect::Reordering) {
                self.newest[sector] = order;
                self.medium[sector * SECTOR..][..SECTOR].copy_from_slice(bytes);
            }
        }
    }

    /// Lets the drive work in the background: it accepts writes in flight and writes parts of its
    /// cache.
    fn work(&mut self) {
        for _ in 0..self.random.usize(..4) {
            if !self.in_flight.is_empty() && self.random.bool() {
                let index = self.random.usize(..self.in_flight.len());
                self.accept(index);
            } else if !self.cache.is_empty() {
                let index = self.random.usize(..self.cache.len());
                self.write_out(index);
            }
        }
    }

    /// Writes out the parts of the cache whose writes were answered before the flush arrived.
    fn flush(&mut self, flush: usize) {
        if self.defect == Some(Defect::LyingFlush) {
            return;
        }
        self.random.shuffle(&mut self.cache);
        for index in (0..self.cache.len()).rev() {
            if self.observed.precedes(self.cache[index].write, flush) {
                self.write_out(index);
            }
        }
    }

    /// Writes the first half of a unit of at least two sectors, or of a sector.
    fn tear(&mut self) {
        let least = if self.defect == Some(Defect::TornUnit) { 2 * SECTOR } else { SECTOR };
        let tears: Vec<usize> =
            (0..self.cache.len()).filter(|unit| self.cache[*unit].data.len() >= least).collect();
        let Some(index) = self.random.choice(&tears) else { return };
        let Unit { order, offset, data, .. } = &self.cache[*index];
        let len = if least == SECTOR { SECTOR / 2 } else { data.len() / SECTOR / 2 * SECTOR };
        // A newer write to the same sectors would hide the defect.
        let mut sectors = *offset / SECTOR..(offset + data.len()) / SECTOR;
        if sectors.all(|sector| self.newest[sector] < *order) {
            self.medium[*offset..offset + len].copy_from_slice(&data[..len]);
        }
    }
}

impl Device for Model {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    fn submit(&mut self, io: &Io) {
        let mut data = vec![0; io.len.0 as usize];
        if io.op == Op::Write {
            self.data.fill(io, &mut data);
        }
        let observed = self.observed.submit(io);
        self.in_flight.push(InFlight { io: *io, data, is_cached: false, observed });
    }

    fn complete(&mut self, _until: Nanos) -> Option<Completion> {
        self.work();
        if self.answers_left == 0 || self.in_flight.is_empty() {
            return None;
        }
        self.answers_left -= 1;
        self.now += 1;
        let index = self.random.usize(..self.in_flight.len());
        match self.in_flight[index].io.op {
            Op::Flush => self.flush(self.in_flight[index].observed),
            _ => self.accept(index),
        }
        let InFlight { io, observed, .. } = self.in_flight.swap_remove(index);
        self.observed.answer(observed);
        let now = Nanos(self.now);
        Some(Completion { io, submitted: io.at, completed: now, result: Ok(()) })
    }
}

impl CutDrive for Model {
    fn cut(&mut self) -> Vec<u8> {
        for _ in 0..self.random.usize(..32) {
            self.work();
        }
        if matches!(self.defect, Some(Defect::TornUnit | Defect::TornSector)) {
            self.tear();
        }
        self.medium.clone()
    }
}

/// Returns the conditions of a seed: units of one sector, of several, and with a boundary.
fn trial(seed: u64) -> Trial {
    let (unit, boundary) = [(512, None), (2048, None), (4096, Some(4096)), (6144, None)]
        [usize::try_from(seed % 4).unwrap()];
    Trial::new(seed, Bytes(unit), boundary.map(Bytes))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_correct_drive_is_never_accused(seed: u64, loses_journal: bool) {
        let trial = trial(seed);
        let (_, judged) = trial.run(|data| Model::new(&trial, data, None), loses_journal);
        prop_assert_eq!(judged.judgement.verdict(), Verdict::AsAcknowledged, "{:?}", judged.judgement);
        prop_assert_eq!(judged.judgement.findings, []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, failure_persistence: None, ..ProptestConfig::default()
    })]

    // The journal is a second record of the order that the drive observed. Both judges find the
    // same damage, whatever the drive did.
    #[test]
    fn the_judge_agrees_with_the_definition(seed: u64, defect in prop::sample::select(&DEFECTS)) {
        let trial = trial(seed);
        let (drive, judged) = trial.run(|data| Model::new(&trial, data, Some(defect)), false);
        let promise = Promise { plan: &trial.plan, atomicity: trial.atomicity };
        let expected = promise.check(&drive.observed, &judged.contents);
        let bytes = judged.judgement.bytes;
        prop_assert_eq!(bytes.lost + bytes.reordered, expected.old * 512);
        prop_assert_eq!(bytes.corrupt, expected.corrupt * 512);
        prop_assert_eq!(bytes.misplaced, expected.misplaced * 512);
        prop_assert_eq!(judged.judgement.torn_writes, expected.torn_writes);
    }

    // A journal without its end may hide damage, but never adds damage.
    #[test]
    fn a_journal_without_its_end_accuses_no_more(seed: u64, defect in prop::sample::select(&DEFECTS)) {
        let trial = trial(seed);
        let make = |data| Model::new(&trial, data, Some(defect));
        let (whole, part) = (trial.run(make, false).1, trial.run(make, true).1);
        let (whole, part) = (whole.judgement.bytes, part.judgement.bytes);
        prop_assert!(part.lost + part.reordered <= whole.lost + whole.reordered);
        prop_assert!(part.misplaced <= whole.misplaced && part.corrupt <= whole.corrupt);
    }
}

#[test]
fn correct_drives_exercise_every_case() {
    let mut exercised = Coverage::default();
    for seed in 0..1000 {
        let trial = trial(seed);
        let (_, judged) = trial.run(|data| Model::new(&trial, data, None), false);
        assert_eq!(judged.judgement.verdict(), Verdict::AsAcknowledged, "seed {seed}");
        exercised.add(&judged);
    }
    let Coverage { flushed, overlapping, out_of_order, .. } = exercised;
    assert!(flushed > 50_000 && overlapping > 10_000 && out_of_order > 50_000, "{exercised:?}");
    let Coverage { unflushed_kept, unflushed_lost, kept_after_lost, torn_beyond_unit, .. } =
        exercised;
    assert!(unflushed_kept > 1000 && unflushed_lost > 500, "{exercised:?}");
    assert!(kept_after_lost > 200 && torn_beyond_unit > 200, "{exercised:?}");
}

/// Returns the number of cuts, of a thousand drives with a defect, for which `shows` returns true.
fn found(defect: Defect, shows: impl Fn(&flashscope_verify::Judgement) -> bool) -> usize {
    let judged = (0..1000).map(|seed| {
        let trial = trial(seed);
        trial.run(|data| Model::new(&trial, data, Some(defect)), false).1
    });
    judged.filter(|judged| shows(&judged.judgement)).count()
}

// A single cut may hide a defect: the damaged data was not yet flushed, or newer writes replaced
// it.
#[test]
fn each_defect_is_found_within_a_few_cuts() {
    let lying = found(Defect::LyingFlush, |judgement| judgement.bytes.lost > 0);
    let torn = found(Defect::TornUnit, |judgement| {
        judgement.torn_writes > 0 && judgement.bytes.damaged() == judgement.bytes.torn
    });
    let sector = found(Defect::TornSector, |judgement| judgement.bytes.corrupt > 0);
    let reordering = found(Defect::Reordering, |judgement| judgement.bytes.reordered > 0);
    let misplacing = found(Defect::Misplacing, |judgement| judgement.bytes.misplaced > 0);
    assert!(lying > 500 && torn > 200 && sector > 500, "{lying} {torn} {sector}");
    assert!(reordering > 500 && misplacing > 500, "{reordering} {misplacing}");
}
