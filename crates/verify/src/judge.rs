use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use flashscope_document::verification::{
    Atomicity, Damage, JudgedBytes, MAX_FINDINGS, UnflushedWrites, Verdict, VerificationFinding,
};

use crate::history::History;
use crate::plan::Plan;
use crate::read_back::{ReadBack, SectorContent};
use crate::stamp::SECTOR;

const SECTOR_BYTES: u64 = SECTOR as u64;

/// The judgement of a drive after a power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The numbers of bytes with each judgement.
    pub bytes: JudgedBytes,
    /// The judgement of acknowledged writes that no flush covered.
    pub unflushed: UnflushedWrites,
    /// Writes torn within the atomic unit.
    pub torn_writes: u64,
    /// Writes torn beyond the atomic unit.
    pub torn_beyond_unit_writes: u64,
    /// The damaged ranges, at most [`MAX_FINDINGS`].
    pub findings: Vec<VerificationFinding>,
    /// True if there are more damaged ranges than [`MAX_FINDINGS`].
    pub more_findings: bool,
}

impl Judgement {
    /// Returns the verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.bytes.damaged() + self.torn_writes {
            0 => Verdict::AsAcknowledged,
            _ => Verdict::Damaged,
        }
    }
}

/// Compares the contents of a drive with the history of its writes: see [the rule](crate).
#[must_use]
pub fn judge(
    plan: &Plan,
    history: &History,
    atomicity: Atomicity,
    contents: &ReadBack,
) -> Judgement {
    let judge =
        Judge { plan, history, atomicity, contents, flushed: newest_flushed(plan, history) };
    let torn = judge.torn();
    let (bytes, findings, more_findings) = judge.sectors(&torn.sectors);
    Judgement {
        bytes,
        unflushed: torn.unflushed,
        torn_writes: torn.within,
        torn_beyond_unit_writes: torn.beyond,
        findings,
        more_findings,
    }
}

/// Returns the newest flushed write of each sector: its number plus 1, or 0 if there is none.
fn newest_flushed(plan: &Plan, history: &History) -> Vec<u64> {
    let mut newest = vec![0; plan.sectors()];
    // Numbers rise in the order of submission.
    for write in (0..history.writes()).filter(|write| history.is_flushed(*write)) {
        newest[plan.sectors_of(write)].fill(write + 1);
    }
    newest
}

struct Judge<'a> {
    plan: &'a Plan,
    history: &'a History,
    atomicity: Atomicity,
    contents: &'a ReadBack,
    /// The newest flushed write of each sector, as [`newest_flushed`] returns it.
    flushed: Vec<u64>,
}

/// The judgement of the writes that no flush covers.
#[derive(Default)]
struct Torn {
    within: u64,
    beyond: u64,
    /// The sectors of torn atomic units, each with one of the writes that were torn there.
    sectors: BTreeMap<usize, u64>,
    unflushed: UnflushedWrites,
}

/// The traces of a write in a range.
#[derive(Default, Clone, Copy)]
struct Traces {
    /// A sector holds the write.
    is_present: bool,
    /// A sector holds data that preceded the write.
    is_absent: bool,
}

impl Traces {
    const fn are_torn(self) -> bool {
        self.is_present && self.is_absent
    }

    fn add(&mut self, other: Traces) {
        self.is_present |= other.is_present;
        self.is_absent |= other.is_absent;
    }
}

impl Judge<'_> {
    /// Returns the newest flushed write of a sector.
    fn flushed(&self, sector: usize) -> Option<u64> {
        self.flushed[sector].checked_sub(1)
    }

    /// Judges a sector by itself.
    fn damage(&self, sector: usize) -> Option<Damage> {
        match (self.contents.get(sector), self.flushed(sector)) {
            (SectorContent::Unreadable, _) => Some(Damage::Unreadable),
            (SectorContent::Corrupt, _) => Some(Damage::Corrupt),
            (SectorContent::Misplaced, _) => Some(Damage::Misplaced),
            (SectorContent::Write(write), _) if !self.plan.sectors_of(write).contains(&sector) => {
                Some(Damage::Misplaced)
            }
            (_, None) => None,
            (SectorContent::Foreign, Some(_)) => Some(Damage::Corrupt),
            (SectorContent::Write(write), Some(newest)) if self.history.precedes(write, newest) => {
                let was_flushed = self.history.is_flushed_before(write, newest);
                Some(if was_flushed { Damage::Lost } else { Damage::Reordered })
            }
            (SectorContent::Write(_), Some(_)) => None,
        }
    }

    /// Judges all sectors, and lists the damaged ranges.
    fn sectors(
        &self,
        torn: &BTreeMap<usize, u64>,
    ) -> (JudgedBytes, Vec<VerificationFinding>, bool) {
        let mut bytes = JudgedBytes::default();
        let mut findings = Findings::default();
        for sector in 0..self.plan.sectors() {
            let torn_write = torn.get(&sector).copied();
            let damage = self.damage(sector).or(torn_write.map(|_| Damage::Torn));
            let count = match damage {
                None if self.flushed(sector).is_some() => &mut bytes.as_acknowledged,
                None => &mut bytes.unflushed,
                Some(damage) => {
                    let expected =
                        if damage == Damage::Torn { torn_write } else { self.flushed(sector) };
                    findings.add(self.finding(sector, damage, expected));
                    counter(&mut bytes, damage)
                }
            };
            *count += SECTOR_BYTES;
        }
        (bytes, findings.list, findings.more)
    }

    fn finding(&self, sector: usize, damage: Damage, expected: Option<u64>) -> VerificationFinding {
        let found_write = match self.contents.get(sector) {
            SectorContent::Write(write) => Some(write),
            _ => None,
        };
        VerificationFinding {
            damage,
            offset: self.plan.offset_of(sector),
            len: flashscope_block::Bytes(SECTOR_BYTES),
            expected_write: expected,
            found_write,
        }
    }

    /// Judges the writes that no flush covers.
    fn torn(&self) -> Torn {
        let mut torn = Torn::default();
        let (mut kept, mut first_lost) = (Vec::new(), u64::MAX);
        let journaled = (0..self.history.writes()).filter(|write| !self.history.is_flushed(*write));
        for write in journaled.chain(self.beyond_journal()) {
            let traces = self.judge_write(write, &mut torn);
            if !self.history.is_acknowledged(write) {
                continue;
            }
            if traces.is_present {
                kept.push(self.history.submitted(write));
            } else if traces.is_absent {
                torn.unflushed.lost += 1;
                first_lost = first_lost.min(self.history.acknowledged(write));
            } else {
                torn.unflushed.replaced += 1;
            }
        }
        torn.unflushed.kept = kept.len() as u64;
        torn.unflushed.kept_after_lost =
            kept.iter().filter(|submitted| **submitted > first_lost).count() as u64;
        torn
    }

    /// Returns the writes on the drive that the journal does not contain, because it lost its end.
    fn beyond_journal(&self) -> BTreeSet<u64> {
        let writes =
            (0..self.plan.sectors()).filter_map(|sector| match self.contents.get(sector) {
                SectorContent::Write(write) if write >= self.history.writes() => Some(write),
                _ => None,
            });
        writes.collect()
    }

    /// Determines whether the drive tore a write. Returns the traces of the write.
    fn judge_write(&self, write: u64, torn: &mut Torn) -> Traces {
        let (mut whole, mut is_within) = (Traces::default(), false);
        for unit in self.units(write) {
            let traces = self.traces(write, unit.clone());
            whole.add(traces);
            if traces.are_torn() {
                is_within = true;
                torn.sectors.extend(unit.map(|sector| (sector, write)));
            }
        }
        torn.within += u64::from(is_within);
        torn.beyond += u64::from(!is_within && whole.are_torn());
        whole
    }

    /// Returns the atomic ranges of a write: the write itself if the drive's atomic unit covers it,
    /// otherwise its logical blocks.
    fn units(&self, write: u64) -> impl Iterator<Item = Range<usize>> {
        let sectors = self.plan.sectors_of(write);
        let (offset, len) = self.plan.write(write);
        let boundary = self.atomicity.boundary.filter(|boundary| boundary.0 > 0);
        let crosses = boundary
            .is_some_and(|boundary| offset.0 / boundary.0 != (offset.0 + len.0 - 1) / boundary.0);
        let block = self.plan.workload().block.0;
        let unit = if len <= self.atomicity.unit && !crosses { len.0 } else { block };
        let step = usize::try_from(unit / SECTOR_BYTES).expect("a write fits in memory");
        let end = sectors.end;
        sectors.step_by(step).map(move |start| start..(start + step).min(end))
    }

    fn traces(&self, write: u64, sectors: Range<usize>) -> Traces {
        let mut traces = Traces::default();
        for sector in sectors {
            match self.contents.get(sector) {
                SectorContent::Write(found) if found == write => traces.is_present = true,
                SectorContent::Write(found) => {
                    let is_here = self.plan.sectors_of(found).contains(&sector);
                    traces.is_absent |= is_here && self.history.precedes(found, write);
                }
                // Data from before the verification, unless this sector should contain a flushed
                // write.
                SectorContent::Foreign => traces.is_absent |= self.flushed(sector).is_none(),
                SectorContent::Corrupt | SectorContent::Misplaced | SectorContent::Unreadable => {}
            }
        }
        traces
    }
}

fn counter(bytes: &mut JudgedBytes, damage: Damage) -> &mut u64 {
    match damage {
        Damage::Torn => &mut bytes.torn,
        Damage::Reordered => &mut bytes.reordered,
        Damage::Lost => &mut bytes.lost,
        Damage::Corrupt => &mut bytes.corrupt,
        Damage::Misplaced => &mut bytes.misplaced,
        Damage::Unreadable => &mut bytes.unreadable,
    }
}

/// Joins the findings of neighbouring sectors.
#[derive(Default)]
struct Findings {
    list: Vec<VerificationFinding>,
    more: bool,
}

impl Findings {
    fn add(&mut self, finding: VerificationFinding) {
        let joins = |last: &&mut VerificationFinding| {
            last.offset + last.len == finding.offset
                && (last.damage, last.expected_write, last.found_write)
                    == (finding.damage, finding.expected_write, finding.found_write)
        };
        if let Some(last) = self.list.last_mut().filter(joins) {
            last.len += finding.len;
        } else if self.list.len() < MAX_FINDINGS {
            self.list.push(finding);
        } else {
            self.more = true;
        }
    }
}
