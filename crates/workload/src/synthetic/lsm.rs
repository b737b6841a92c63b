use std::collections::VecDeque;

use flashscope_block::{Bytes, Op, StreamId};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, Due, MAX_REQUEST, REQUEST, Space};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// A log-structured merge tree with leveled compaction, as in `LevelDB` and `RocksDB`, with uniform
/// updates of a fixed number of keys.
///
/// Changes gather in memory, and a full memtable is written as tables, each with its share of the
/// keys. Each level is `ratio` times as large as the level above it; the last level fills the
/// remaining target range. A full table is merged into the tables of the next level that hold the
/// same keys. The merge reads the full table and these tables, rewrites these tables, and deletes
/// all old tables. Compaction chooses tables in turn. The tables below a merged table are therefore
/// filled to different degrees: 1, 2, ... parts in `ratio`. The table that becomes full is merged
/// next. The last level has each key once, and its tables keep their size.
///
/// For each changed byte, the tree writes one byte to the log and one byte from the memtable. It
/// also writes (ratio + 1) / 2 bytes for each level in between, and as many bytes as the ratio for
/// the last level. This is the formula of Callaghan, after Dayan and Idreos's equation 12. The
/// model leaves out RocksDB's first level, whose tables hold all keys; compaction concurrent with
/// changes; and indexes and filters, a few percent of each table. It also leaves out caches: each
/// lookup reads a block of the table that holds its key.
///
/// `hints` marks writes by their expected lifetime. `rocksdb` has the policy of `RocksDB`, as
/// stated in its pull request
/// 13994. Lifetimes are short for the log, medium for levels 0 and 1, long for level 2, and extreme
/// for all others. The tables of a memtable
/// are level 0.
pub(super) const KIND: Kind = Kind {
    name: "lsm",
    argument: None,
    summary: "a log-structured merge tree with leveled compaction: large writes of whole tables, and \
              reads of the tables that they replace",
    source: "O'Neil et al., Acta Informatica 1996; Dayan and Idreos, Dostoevsky, SIGMOD 2018, equation \
             12; Callaghan, LSM math, 2018; sizes: LevelDB's; hints: RocksDB's pull request 13994",
    leaves_out: Some(
        "the first level of RocksDB with all keys in each table, compaction concurrent with \
         changes, indexes and filters, and caches",
    ),
    fields: &[
        field("memtable", Some("4MiB"), "bytes that gather in memory, a multiple of `table`"),
        field("table", Some("2MiB"), "bytes in a full table, up to 1GiB"),
        field("ratio", Some("10"), "size of a level divided by that of the level above, 2 to 100"),
        field("lookups", Some("0"), "share of IOs that look up a key, below 1"),
        field("lookup", Some("4KiB"), "bytes that a lookup reads"),
        field("log", Some("true"), "`false` leaves out the log of the memtable"),
        field("trims", Some("false"), "`true` trims tables that are deleted"),
        field(
            "hints",
            Some("none"),
            "streams of the writes: `rocksdb` for its lifetime hints (log 1; levels 0 and 1: 2; level 2: 3; below: 4), \
             `levels` for one of the log and one of each level, or `none`",
        ),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// The maximum number of tables, which limits the memory for their positions.
const MAX_TABLES: u32 = 1 << 24;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let block = space.logical_block;
    let table = values.bytes("table", block, Bytes::kib(64).0..=Bytes::gib(1).0)?;
    let table = table.unwrap_or_default();
    let memtable = values.bytes("memtable", Bytes(table), table..=1000 * table)?;
    let memtable = memtable.unwrap_or_default();
    let ratio = values.whole("ratio", 2..=100)?;
    let rule = "it must be a number from 0 and below 1";
    let lookups = values.number("lookups", rule, |share: &f64| (0.0..1.0).contains(share))?;
    let log = if values.flag("log")? { memtable } else { 0 };
    let parts = memtable / table;
    space.holds(values, log + min_tables(parts) * table)?;
    let Some(room) = u32::try_from((space.length - log) / table).ok().filter(|r| *r <= MAX_TABLES)
    else {
        let rule = format!("the target range holds more than {MAX_TABLES} tables");
        return Err(values.invalid("table", rule));
    };
    let ratios = ratios(room.into(), parts, ratio.unwrap_or_default());
    let mut free: VecDeque<u32> = (0..room).collect();
    Ok(Models::Lsm(Lsm {
        table,
        parts,
        log,
        block: block.0,
        request: values.bytes(REQUEST.name, block, block.0..=MAX_REQUEST.0)?.unwrap_or_default(),
        levels: Level::all(&ratios, parts, &mut free),
        free,
        lookup: values.bytes("lookup", block, block.0..=table)?.unwrap_or_default(),
        lookups: threshold(lookups.unwrap_or_default()),
        trims: values.flag("trims")?,
        hints: Hints::read(values)?,
        part: 0,
        full: None,
        due: Due::default(),
    }))
}

/// Returns the minimum number of tables for which there must be space. They are a table of the
/// memtable, a level of twice the tables of a memtable, and a second copy of the two tables into
/// which a table is merged.
fn min_tables(parts: u64) -> u64 {
    1 + 2 * parts + 2
}

/// Returns the size of each level relative to the level above it: `ratio`, or less for the last
/// level, which takes the remaining space. There is space for `room` tables, and the memtable has
/// `parts` tables.
fn ratios(room: u64, parts: u64, ratio: u64) -> Vec<u64> {
    let mut ratios = Vec::new();
    let (mut used, mut tables) = (1, parts);
    while used + tables * ratio + ratio <= room {
        tables *= ratio;
        used += tables;
        ratios.push(ratio);
    }
    // A merge needs space for a second copy of `ratio` tables, at any level.
    let last = match ratios.is_empty() {
        true => (room - used) / (tables + 1),
        false => (room - used - ratio) / tables,
    };
    // A level as large as the level above would only copy that level.
    if last > 1 {
        ratios.push(last.min(ratio));
    }
    ratios
}

/// A level: its tables in the order of their keys.
struct Level {
    /// The number of tables that share the keys of one table of the level above.
    ratio: u64,
    /// The place of each table, and its fill in parts of `ratio`; 0 for a table that does not
    /// exist.
    tables: Vec<Table>,
}

#[derive(Clone, Copy)]
struct Table {
    place: u32,
    filled: u64,
}

impl Level {
    /// Creates the levels in their steady state, with places for their tables.
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
    /// The number of tables in a memtable.
    parts: u64,
    /// Bytes of the log, which is at the start of the target range.
    log: u64,
    block: u64,
    request: u64,
    levels: Vec<Level>,
    /// The free places, the place that has been free for longest first.
    free: VecDeque<u32>,
    /// Bytes that a lookup reads.
    lookup: u64,
    /// An IO is a lookup if its random number is below this.
    lookups: u64,
    trims: bool,
    hints: Hints,
    /// The part of the memtable that is written next.
    part: u64,
    /// A full table: the index of the level below it, its own index in its level, and its place.
    full: Option<(usize, u64, u32)>,
    /// The reads, writes and trims that are due.
    due: Due,
}

/// The streams by which a tree marks the lifetime of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hints {
    None,
    Rocksdb,
    Levels,
}

impl Hints {
    fn read(values: &Values) -> Result<Hints, WorkloadError> {
        match values.text("hints") {
            None | Some("none") => Ok(Hints::None),
            Some("rocksdb") => Ok(Hints::Rocksdb),
            Some("levels") => Ok(Hints::Levels),
            Some(_) => Err(values.invalid("hints", "it must be `none`, `rocksdb` or `levels`")),
        }
    }

    fn of_log(self) -> StreamId {
        StreamId::from(self != Hints::None)
    }

    fn of_level(self, level: usize) -> StreamId {
        match self {
            Hints::None => 0,
            Hints::Rocksdb => [2, 2, 3].get(level).copied().unwrap_or(4),
            Hints::Levels => StreamId::try_from(level + 2).expect("a tree has few levels"),
        }
    }
}

impl Lsm {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        if self.lookups > 0 && rng.next_u64() < self.lookups {
            return self.look_up(rng);
        }
        loop {
            match self.due.next(self.request) {
                Some(access) => return access,
                None => match self.full.take() {
                    Some((below, index, place)) => self.merge(below, index, place),
                    None => self.flush(),
                },
            }
        }
    }

    /// Reads a uniformly random block of a table.
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
                    return Access::new(Op::Read, offset, self.lookup);
                }
                break;
            }
        }
    }

    /// Writes a part of the memtable. Before the first part, writes the log.
    fn flush(&mut self) {
        if self.part == 0 && self.log > 0 {
            let stream = self.hints.of_log();
            self.due.push(Access { stream, ..Access::new(Op::Write, 0, self.log) });
        }
        let place = self.write(self.table, 0);
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
            let place = self.write(self.bytes(filled, ratio), below + 1);
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

    /// Writes a new table of a level, where the tables of a memtable are level 0.
    fn write(&mut self, bytes: u64, level: usize) -> u32 {
        let place = self.free.pop_front().expect("levels leave room for a merge");
        let stream = self.hints.of_level(level);
        self.due.push(Access { stream, ..Access::new(Op::Write, self.offset(place), bytes) });
        place
    }

    fn request(&mut self, op: Op, offset: u64, len: u64) {
        self.due.push(Access::new(op, offset, len));
    }

    /// Returns the size in bytes of a table that is filled to `filled` / `ratio`, in whole blocks.
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use flashscope_block::Nanos;
    use proptest::prelude::*;

    use super::super::tests::{LARGE, assert_nothing_dead_is_wanted, ios_on};
    use super::super::{Ios, Target};
    use super::*;
    use crate::Stream;

    // The bytes written per memtable match the formula for any number of levels.
    #[test]
    fn written_bytes_per_memtable_match_the_formula() {
        for (length, ratio, levels) in [
            ("2MiB", 4, vec![4]),
            ("2480KiB", 4, vec![4, 2]),
            ("10MiB", 4, vec![4, 4, 2]),
            ("20MiB", 4, vec![4, 4, 4]),
            ("5MiB", 10, vec![10]),
            ("90MiB", 10, vec![10, 10, 4]),
        ] {
            // The size of a table is a whole number of its parts, which are multiples of the
            // logical block.
            let spec = format!("lsm?table=80KiB&memtable=160KiB&ratio={ratio}&length={length}");
            let ios = ios_on(&LARGE, &spec, 50_000);
            let log = Bytes::kib(160);
            let starts = ios.iter().enumerate().filter(|(_, io)| io.offset == Bytes(0));
            let starts: Vec<usize> = starts.map(|(i, _)| i).collect();
            let (last, between) = levels.split_last().unwrap();
            let half =
                f64::from(u8::try_from(between.len()).unwrap()) * (f64::from(ratio) + 1.0) / 2.0;
            let expected = 2.0 + half + f64::from(*last);
            assert!(starts.len() > 20);
            for pair in starts.windows(2) {
                let memtable = &ios[pair[0]..pair[1]];
                let bytes =
                    |op| memtable.iter().filter(|io| io.op == op).map(|io| io.len.0).sum::<u64>();
                let written = num(bytes(Op::Write)) / num(log.0);
                assert!((written - expected).abs() < 1e-9, "{spec}: {written}, not {expected}");
                // Data written below the memtable was read before, with the data that it replaces.
                let read = num(bytes(Op::Read)) / num(log.0);
                let replaced = num(between.len() as u64) * (f64::from(ratio) - 1.0) / 2.0;
                let read_expected = num(levels.len() as u64) + replaced + f64::from(*last);
                assert!((read - read_expected).abs() < 1e-9, "{spec}: {read}, not {read_expected}");
            }
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn num(bytes: u64) -> f64 {
        bytes as f64
    }

    // Deleted tables are trimmed completely and once, and never read afterwards.
    #[test]
    fn deleted_tables_are_trimmed_once_and_never_read() {
        assert_nothing_dead_is_wanted("lsm?trims=true");
        assert_nothing_dead_is_wanted("lsm?trims=true&table=100KiB&memtable=300KiB&ratio=7");
        let bytes = |op: Op| {
            let ios = ios_on(&LARGE, "lsm?trims=true&log=false&table=256KiB&memtable=1MiB", 50_000);
            num(ios.iter().filter(|io| io.op == op).map(|io| io.len.0).sum())
        };
        assert!((bytes(Op::Trim) / bytes(Op::Write) - 1.0).abs() < 0.01);
    }

    // Lookups have the requested share, and read only tables.
    #[test]
    fn lookups_have_the_requested_share_and_read_only_tables() {
        let ios = ios_on(&LARGE, "lsm?lookups=0.7&lookup=2KiB", 50_000);
        let found = ios.iter().filter(|io| io.len == Bytes::kib(2));
        assert!(found.clone().all(|io| io.op == Op::Read && io.offset >= Bytes::mib(4)));
        let share = num(found.count() as u64) / 5e4;
        assert!((share - 0.7).abs() < 0.01, "{share}");
    }

    // Each write has the stream of its level; reads and trims have none.
    #[test]
    fn hints_mark_writes_by_level() {
        let tree = "lsm?table=80KiB&memtable=160KiB&ratio=4&length=20MiB&trims=true";
        let written = |hints: &str| {
            let ios = ios_on(&LARGE, &format!("{tree}&hints={hints}"), 50_000);
            let mut bytes = [0.0; 6];
            for io in ios {
                assert!(io.op == Op::Write || io.stream == 0, "{io:?}");
                if io.op == Op::Write {
                    bytes[usize::from(io.stream)] += num(io.len.0);
                }
            }
            bytes.map(|of_stream| of_stream / bytes.iter().sum::<f64>())
        };
        // The log and the memtable are written once, two levels (4 + 1) / 2 times, and the last
        // level 4 times.
        let total = 1.0 + 1.0 + 2.5 + 2.5 + 4.0;
        let is = |shares: [f64; 6], of_streams: [f64; 6]| {
            shares.iter().zip(of_streams).all(|(share, of)| (share - of / total).abs() < 0.01)
        };
        assert!(is(written("none"), [total, 0.0, 0.0, 0.0, 0.0, 0.0]));
        assert!(is(written("rocksdb"), [0.0, 1.0, 1.0 + 2.5, 2.5, 4.0, 0.0]));
        assert!(is(written("levels"), [0.0, 1.0, 1.0, 2.5, 2.5, 4.0]));
    }

    proptest! {
        // Every place is free or belongs to exactly one table, for any sizes.
        #[test]
        fn places_belong_to_one_table(
            parts in 1u64..5, ratio in 2u64..13, room in 0u64..3000, seed in any::<u64>(),
        ) {
            let room = room + min_tables(parts);
            let capacity = Bytes::kib(64 * (room + parts));
            let spec = format!("lsm?table=64KiB&memtable={}KiB&ratio={ratio}", 64 * parts);
            let target = Target { capacity, seed, ..LARGE };
            let Ok(Ios::Application(mut stream)) = super::super::open(&spec, &target).map(|w| w.ios)
            else {
                panic!("{spec} is refused")
            };
            for _ in 0..2000 {
                let io = stream.next(Nanos(0)).unwrap();
                prop_assert!(io.end() <= capacity);
            }
            let Models::Lsm(model) = stream.model() else { panic!("another kind") };
            let tables = model.levels.iter().flat_map(|level| &level.tables);
            let there = tables.filter(|table| table.filled > 0).map(|table| table.place);
            let full = model.full.iter().map(|(_, _, place)| *place);
            let places: Vec<u32> = there.chain(full).chain(model.free.iter().copied()).collect();
            prop_assert_eq!(places.len() as u64, room);
            prop_assert_eq!(places.iter().collect::<HashSet<_>>().len(), places.len());
        }
    }
}
