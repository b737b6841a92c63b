//! The definition of a correct drive, applied to each sector directly. This judge is slow. It
//! shares only the plan and the stamps with the judge of the crate.

use flashscope_block::{Io, Op};
use flashscope_document::verification::Atomicity;
use flashscope_verify::{Plan, Reading, Stamp};

const SECTOR: u64 = 512;

/// The IOs that a drive received, with the order of its answers.
#[derive(Default)]
pub(crate) struct HostView {
    clock: u64,
    ios: Vec<ObservedIo>,
}

struct ObservedIo {
    io: Io,
    submitted: u64,
    answered: Option<u64>,
}

/// The damage that this judge finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Sectors that are older than a flushed write.
    pub old: u64,
    /// Sectors with neither old nor new data.
    pub corrupt: u64,
    /// Sectors with the data of another sector.
    pub misplaced: u64,
    /// Writes of which the drive contains only a part.
    pub torn_writes: u64,
}

impl HostView {
    /// Records the arrival of an IO, and returns its number.
    pub(crate) fn submit(&mut self, io: &Io) -> usize {
        self.clock += 1;
        self.ios.push(ObservedIo { io: *io, submitted: self.clock, answered: None });
        self.ios.len() - 1
    }

    /// Records the answer of an IO.
    pub(crate) fn answer(&mut self, number: usize) {
        self.clock += 1;
        self.ios[number].answered = Some(self.clock);
    }

    /// Returns true if the answer of one IO came before the arrival of another one.
    pub(crate) fn precedes(&self, one: usize, other: usize) -> bool {
        self.ios[one].precedes(&self.ios[other])
    }

    /// Returns the writes in order: the number of a write is its index.
    fn writes(&self) -> Vec<&ObservedIo> {
        self.ios.iter().filter(|one| one.io.op == Op::Write).collect()
    }

    fn is_flushed(&self, write: &ObservedIo) -> bool {
        let flushes =
            self.ios.iter().filter(|one| one.io.op == Op::Flush && one.answered.is_some());
        let answered = write.answered;
        flushes.into_iter().any(|flush| answered.is_some_and(|time| time < flush.submitted))
    }
}

impl ObservedIo {
    fn covers(&self, sector: u64) -> bool {
        (self.io.offset.0..self.io.end().0).contains(&(sector * SECTOR))
    }

    fn precedes(&self, other: &ObservedIo) -> bool {
        self.answered.is_some_and(|time| time < other.submitted)
    }
}

/// The promises of a drive.
pub(crate) struct Promise<'a> {
    pub plan: &'a Plan,
    pub atomicity: Atomicity,
}

impl Promise<'_> {
    /// Checks the contents of a drive.
    pub(crate) fn check(&self, observed: &HostView, contents: &[u8]) -> Broken {
        let writes = observed.writes();
        let flushed: Vec<_> = writes.iter().filter(|write| observed.is_flushed(write)).collect();
        let mut broken = Broken::default();
        for sector in self.sectors() {
            let must: Vec<_> = flushed.iter().filter(|write| write.covers(sector)).collect();
            match read(contents, sector) {
                Reading::Damaged(_) => broken.corrupt += 1,
                Reading::Foreign => broken.corrupt += u64::from(!must.is_empty()),
                Reading::Whole(stamp) if stamp.sector != sector => broken.misplaced += 1,
                Reading::Whole(stamp) => {
                    let holds = writes[usize::try_from(stamp.write).unwrap()];
                    broken.old += u64::from(must.iter().any(|write| holds.precedes(write)));
                }
            }
        }
        let unflushed = writes.iter().filter(|write| !observed.is_flushed(write));
        let is_torn = |write: &&&ObservedIo| self.is_torn(write, &writes, &flushed, contents);
        broken.torn_writes = unflushed.filter(is_torn).count() as u64;
        broken
    }

    fn sectors(&self) -> std::ops::Range<u64> {
        let workload = self.plan.workload();
        let start = workload.target_offset.0 / SECTOR;
        start..start + workload.target_size.0 / SECTOR
    }

    /// Returns true if the drive contains only a part of a write that it promises to write
    /// atomically.
    fn is_torn(
        &self,
        write: &ObservedIo,
        writes: &[&ObservedIo],
        flushed: &[&&ObservedIo],
        contents: &[u8],
    ) -> bool {
        let (start, end) = (write.io.offset.0, write.io.end().0);
        let same_side = |boundary: u64| start / boundary == (end - 1) / boundary;
        let is_atomic = write.io.len <= self.atomicity.unit
            && self.atomicity.boundary.is_none_or(|boundary| same_side(boundary.0));
        let (mut new, mut old) = (false, false);
        for sector in start / SECTOR..end / SECTOR {
            match read(contents, sector) {
                Reading::Whole(stamp) if stamp.sector == sector => {
                    let holds = writes[usize::try_from(stamp.write).unwrap()];
                    new |= std::ptr::eq(holds, write);
                    old |= holds.precedes(write);
                }
                Reading::Foreign => old |= !flushed.iter().any(|write| write.covers(sector)),
                Reading::Whole(_) | Reading::Damaged(_) => {}
            }
        }
        // Without a larger unit, a logical block is a sector, and no part of it can be old.
        is_atomic && new && old
    }
}

fn read(contents: &[u8], sector: u64) -> Reading {
    let start = usize::try_from(sector * SECTOR).unwrap();
    Stamp::read(&contents[start..][..512])
}
