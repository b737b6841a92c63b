use std::collections::VecDeque;

use flashscope_block::{Bytes, Op};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, MOST_REQUEST, REQUEST, Space};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// A log-structured merge tree with leveled compaction, as `LevelDB` and `RocksDB` have it, of a fixed
/// number of keys that are updated, all as likely.
///
/// Changes gather in memory; a full memtable is written as tables, each with its share of the
/// keys. Below are levels, each `ratio` times as large as the one above, the last as much larger as
/// the target range allows. A table that is full is merged into the tables of the next level that
/// hold the same keys: it is read, and each of those is read and written anew; then the old ones are
/// deleted. At any time the tables below one that is merged are filled to different degrees, as
/// choosing tables in turn brings about: one, two, ... in `ratio`. Of them the one that becomes full is
/// merged on. In the last level, where each key is once, tables stay as large as they are.
///
/// So for each byte that is changed are written: one in the log; one of the memtable; (ratio + 1) / 2
/// for each level between; and in the last its own ratio. That is the formula of Callaghan, after
/// Dayan and Idreos's equation 12; RocksDB's first level, which gathers tables with all keys, and
/// compaction that runs beside changes, are left out. So are indexes and filters, a few percent of each
/// table, and caches: each lookup reads a block of the table that holds its key.
pub(super) const KIND: Kind = Kind {
    name: "lsm",
    argument: None,
    summary: "a log-structured merge tree with leveled compaction: large writes of whole tables, and \
              reads of those they replace",
    source: "O'Neil et al., Acta Informatica 1996; Dayan and Idreos, Dostoevsky, SIGMOD 2018, equation \
             12; Callaghan, LSM math, 2018; sizes: LevelDB's",
    fields: &[
        field("memtable", Some("4MiB"), "bytes that gather in memory, a multiple of the table"),
        field("table", Some("2MiB"), "bytes in a full table, up to 1GiB"),
        field("ratio", Some("10"), "how much larger a level is than the one above, 2 to 100"),
        field("lookups", Some("0"), "share of IOs that look up a key, below 1"),
        field("lookup", Some("4KiB"), "bytes that a lookup reads"),
        field("log", Some("true"), "`false` leaves out the log of what is in memory"),
        field("trims", Some("false"), "`true` trims tables that are deleted"),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// The tables that there can be: their places take little memory.
const MOST_TABLES: u32 = 1 << 24;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let block = space.logical_block;
    let table = values.bytes("table", block, Bytes::kib(64).0..=Bytes::gib(1).0)?;
    let table = table.unwrap_or_default();
    let memtable = values.bytes("memtable", Bytes(table), table..=1000 * table)?;
    let memtable = memtable.unwrap_or_default();
    let rule = "it must be a whole number from 2 to 100";
    let ratio = values.number("ratio", rule, |ratio| (2..=100).contains(ratio))?;
    let rule = "it must be a number from 0 and below 1";
    let lookups = values.number("lookups", rule, |share: &f64| (0.0..1.0).contains(share))?;
    let log = if values.flag("log")? { memtable } else { 0 };
    let parts = memtable / table;
    space.holds(values, log + least_tables(parts) * table)?;
    let Some(room) = u32::try_from((space.length - log) / table).ok().filter(|r| *r <= MOST_TABLES)
    else {
        let rule = format!("the target range has more than {MOST_TABLES} of them");
        return Err(values.invalid("table", rule));
    };
    let ratios = ratios(room.into(), parts, ratio.unwrap_or_default());
    let mut free: VecDeque<u32> = (0..room).collect();
    Ok(Models::Lsm(Lsm {
        table,
        parts,
        log,
        block: block.0,
        request: values.bytes(REQUEST.name, block, block.0..=MOST_REQUEST.0)?.unwrap_or_default(),
        levels: Level::all(&ratios, parts, &mut free),
        free,
        lookup: values.bytes("lookup", block, block.0..=table)?.unwrap_or_default(),
        lookups: threshold(lookups.unwrap_or_default()),
        trims: values.flag("trims")?,
        part: 0,
        full: None,
        due: VecDeque::new(),
    }))
}

/// How many tables must have room: one of the memtable, a level of twice as many as the memtable has,
/// and a second copy of those two that are merged with one.
fn least_tables(parts: u64) -> u64 {
    1 + 2 * parts + 2
}

/// How much larger each level is than the one above, where `room` tables have room and the memtable has
/// `parts`: `ratio`, but for the last what is left.
fn ratios(room: u64, parts: u64, ratio: u64) -> Vec<u64> {
    let mut ratios = Vec::new();
    let (mut used, mut tables) = (1, parts);
    while used + tables * ratio + ratio <= room {
        tables *= ratio;
        used += tables;
        ratios.push(ratio);
    }
    // Any merge may be the one that is under way, with a second copy of `ratio` tables.
    let last = match ratios.is_empty() {
        true => (room - used) / (tables + 1),
        false => (room - used - ratio) / tables,
    };
    // A level as large as the one above would only copy it.
    if last > 1 {
        ratios.push(last.min(ratio));
    }
    ratios
}

/// A level: its tables in the order of their keys.
struct Level {
    /// How many of them have the keys of a table of the level above.
    ratio: u64,
    /// The place of each, and how full it is in parts of `ratio`, 0 for one that is not there.
    tables: Vec<Table>,
}

#[derive(Clone, Copy)]
struct Table {
    place: u32,
    filled: u64,
}

impl Level {
    /// The levels as they are in the long run, with places for their tables.
    fn all(ratios: &[u64], parts: u64, free: &mut VecDeque<u32>) -> Vec<Level> {
        let mut count = parts;
        let level = |(index, ratio): (usize, &u64)| {
            count *= ratio;
            let last = index + 1 == ratios.len();
            let mut table = |index: u64| {
                let filled = if last { *ratio } else { index % ratio };
                let place = if filled > 0 { free.pop_front() } else { None };
                Table { place: place.unwrap_or_default(), filled }
            };
            Level { ratio: *ratio, tables: (0..count).map(&mut table).collect() }
        };
        ratios.iter().enumerate().map(level).collect()
    }
}

pub(super) struct Lsm {
    /// Bytes in a full table.
    table: u64,
    /// Tables of a memtable.
    parts: u64,
    /// Bytes in the log, which lies at the start.
    log: u64,
    block: u64,
    request: u64,
    levels: Vec<Level>,
    /// The places of no table, the one that is free longest first.
    free: VecDeque<u32>,
    /// Bytes that a lookup reads.
    lookup: u64,
    /// A random number below this is a lookup.
    lookups: u64,
    trims: bool,
    /// The part of the memtable that is written next.
    part: u64,
    /// A full table: the index of the level below it, its own index in its level, and its place.
    full: Option<(usize, u64, u32)>,
    /// What is to be read, written and trimmed.
    due: VecDeque<Access>,
}

impl Lsm {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        if self.lookups > 0 && rng.next_u64() < self.lookups {
            return self.look_up(rng);
        }
        loop {
            match self.due.front_mut().map(|first| first.cut(self.request)) {
                Some(Some(access)) => return access,
                Some(None) => drop(self.due.pop_front()),
                None => match self.full.take() {
                    Some((below, index, place)) => self.merge(below, index, place),
                    None => self.flush(),
                },
            }
        }
    }

    /// Reads a block of a table, all as likely.
    fn look_up(&self, rng: &mut impl Rng) -> Access {
        let count = self.levels.iter().map(|level| level.tables.len()).sum();
        loop {
            let mut index = rng.random_range(0..count);
            let lookup = rng.random_range(0..self.table / self.lookup);
            for level in &self.levels {
                let Some(table) = level.tables.get(index) else {
                    index -= level.tables.len();
                    continue;
                };
                let offset = lookup * self.lookup;
                if offset + self.lookup <= self.bytes(table.filled, level.ratio) {
                    let offset = self.offset(table.place) + offset;
                    return Access { op: Op::Read, offset, len: self.lookup };
                }
                break;
            }
        }
    }

    /// Writes a part of the memtable, and before the first its log.
    fn flush(&mut self) {
        if self.part == 0 && self.log > 0 {
            self.due.push_back(Access { op: Op::Write, offset: 0, len: self.log });
        }
        let place = self.write(self.table);
        self.full = Some((0, self.part, place));
        self.part = (self.part + 1) % self.parts;
    }

    /// Merges the full table `index` into the level below it.
    fn merge(&mut self, below: usize, index: u64, place: u32) {
        let Level { ratio, .. } = self.levels[below];
        let last = below + 1 == self.levels.len();
        let mut deleted = vec![(place, self.table)];
        for part in 0..ratio {
            let [from, to] = [part, part + 1].map(|parts| self.bytes(parts, ratio));
            self.request(Op::Read, self.offset(place) + from, to - from);
            let child = to_usize(index * ratio + part);
            let old = self.levels[below].tables[child];
            let old_bytes = self.bytes(old.filled, ratio);
            self.request(Op::Read, self.offset(old.place), old_bytes);
            if old.filled > 0 {
                deleted.push((old.place, old_bytes));
            }
            let filled = if last { ratio } else { old.filled + 1 };
            let place = self.write(self.bytes(filled, ratio));
            let full = filled == ratio && !last;
            if full {
                self.full = Some((below + 1, index * ratio + part, place));
            }
            self.levels[below].tables[child] =
                Table { place, filled: if full { 0 } else { filled } };
        }
        for (place, bytes) in deleted {
            if self.trims {
                self.request(Op::Trim, self.offset(place), bytes);
            }
            self.free.push_back(place);
        }
    }

    /// Writes a new table.
    fn write(&mut self, bytes: u64) -> u32 {
        let place = self.free.pop_front().expect("levels leave room for a merge");
        self.request(Op::Write, self.offset(place), bytes);
        place
    }

    fn request(&mut self, op: Op, offset: u64, len: u64) {
        self.due.push_back(Access { op, offset, len });
    }

    /// Bytes of a table that is so many parts of `ratio` full.
    fn bytes(&self, filled: u64, ratio: u64) -> u64 {
        (self.table * filled / ratio).next_multiple_of(self.block)
    }

    fn offset(&self, place: u32) -> u64 {
        self.log + u64::from(place) * self.table
    }
}

#[allow(clippy::cast_possible_truncation)] // tables are fewer than 2^24
fn to_usize(index: u64) -> usize {
    index as usize
}
