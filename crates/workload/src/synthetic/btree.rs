use std::collections::VecDeque;

use flashscope_block::{Bytes, Op};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, BLOCK, MAX_PLACES, MAX_REQUEST, Space, places};
use super::clock::{Clock, Touch};
use super::generator::threshold;
use super::values::Values;
use super::zipf::Zipf;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// A B-tree with in-place page writes, as in most databases.
///
/// The tree takes the part of the target range that the log leaves: inner pages, the root first,
/// then leaves in random order of their keys. Each operation descends from the root to a leaf
/// through a page cache. The cache uses CLOCK and holds a share of the tree's pages, usually all
/// upper levels among them. A miss reads the page, and eviction writes the evicted page if it is
/// dirty. An update changes the leaf. An insert also changes the leaf, and one insert in `fanout` /
/// 2 splits it. A split changes the parent and writes a new leaf, which reuses a page emptied by
/// deletions. The tree size is therefore constant, and the model omits deletions.
///
/// With a log, each change appends an entry. After every `commit` changes, the log blocks with new
/// entries are written; the last block is rewritten until it is full. A full log triggers a
/// checkpoint: all dirty pages are written in address order, and the log restarts.
///
/// The model omits splits of inner pages (one per `fanout` / 2 leaf splits), read-ahead, and
/// writers' waits for the log.
pub(super) const KIND: Kind = Kind {
    name: "btree",
    argument: None,
    summary: "a B-tree under lookups, updates and inserts, through a page cache, with or without a \
              log",
    source: "Bayer and McCreight, Acta Informatica 1972; Comer, The Ubiquitous B-Tree, ACM Computing \
             Surveys 1979; cache: Corbato, MIT MAC-M-384, 1968; log: Mohan et al., ARIES, TODS 1992",
    leaves_out: Some(
        "splits of inner pages, reading ahead, deletions, and that writers wait for the log",
    ),
    fields: &[
        field("page", Some("8KiB"), "bytes in a page of the tree, up to 1MiB"),
        field("fanout", Some("100"), "how many entries a page holds, 4 to 10000"),
        field("cache", Some("0.1"), "share of the tree's pages in the page cache, up to 0.9"),
        field("lookups", Some("0.5"), "share of operations that change nothing, 0 to 1"),
        field("inserts", Some("0.2"), "share of changes that are inserts; all others are updates"),
        field(
            "exponent",
            Some("0"),
            "exponent of Zipf's law for the choice of leaves, up to 1.2; 0: all are equally likely",
        ),
        field("log", Some("0"), "bytes of the log, at the end of the target range; 0: no log"),
        field("commit", Some("1"), "with a log: number of changes per log write"),
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// Maximum share for the page cache: a cache nearly as large as the tree would leave no reads.
const MAX_CACHE: f64 = 0.9;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let page = values.bytes("page", space.logical_block, 512..=Bytes::mib(1).0)?.unwrap_or(1);
    let fanout = values.whole("fanout", 4..=10_000)?.unwrap_or(4);
    let log = Log::read(values, &space, (page / fanout).max(1))?;
    let log_bytes = log.as_ref().map_or(0, |log| log.length);
    let levels = Levels::new((space.length - log_bytes) / page, fanout);
    let Some(levels) = levels else {
        space.holds(values, log_bytes + (fanout + 1) * page)?;
        let rule = format!("there are more than {MAX_PLACES} pages of {}", Bytes(page));
        return Err(values.invalid("page", rule));
    };
    let rule = format!("it must be a number above 0 and up to {MAX_CACHE}");
    let cache = values.number("cache", &rule, |c: &f64| *c > 0.0 && *c <= MAX_CACHE)?;
    let cached = share_of(levels.pages, cache.unwrap_or(MAX_CACHE));
    // The pages that an operation pins at once: its path, and a new leaf.
    if cached <= levels.path.len() {
        let rule = format!("{cached} of {} pages are fewer than an operation needs", levels.pages);
        return Err(values.invalid("cache", rule));
    }
    let exponent = values.real("exponent", 0.0..=1.2)?;
    Ok(Models::BTree(BTree {
        page,
        fanout,
        leaves: Zipf::new(levels.leaves, exponent.unwrap_or_default(), Some(space.seed)),
        cache: Clock::new(levels.pages, cached),
        levels,
        lookups: threshold(values.share("lookups")?),
        inserts: threshold(values.share("inserts")?),
        log,
        due: VecDeque::new(),
        checkpoint: Vec::new(),
    }))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below the number of pages
fn share_of(pages: u32, share: f64) -> usize {
    (f64::from(pages) * share) as usize
}

/// The pages of the tree, level by level.
struct Levels {
    /// The first page of each level, from the root on.
    path: Vec<u32>,
    leaves: u64,
    pages: u32,
}

impl Levels {
    /// Returns the largest tree of at most `pages` pages; `None` if `pages` is too small for a root
    /// with its leaves, or larger than a workload may track.
    fn new(pages: u64, fanout: u64) -> Option<Levels> {
        let pages = places(pages)?;
        let counts = |leaves: u64| {
            let mut counts = vec![leaves];
            while let (Some(&above), true) = (counts.last(), counts.last() > Some(&1)) {
                counts.push(above.div_ceil(fanout));
            }
            counts
        };
        let fits = |leaves: u64| counts(leaves).iter().sum::<u64>() <= u64::from(pages);
        let (mut least, mut over) = (fanout, u64::from(pages) + 1);
        if !fits(least) {
            return None;
        }
        while over - least > 1 {
            let middle = u64::midpoint(least, over);
            *if fits(middle) { &mut least } else { &mut over } = middle;
        }
        let mut next = 0;
        let mut first = |count: u64| {
            let first = next;
            next += page_number(count);
            first
        };
        let path = counts(least).into_iter().rev().map(&mut first).collect();
        Some(Levels { path, leaves: least, pages: next })
    }
}

#[allow(clippy::cast_possible_truncation)] // pages are fewer than 2^32
fn page_number(page: u64) -> u32 {
    page as u32
}

pub(super) struct BTree {
    page: u64,
    fanout: u64,
    levels: Levels,
    leaves: Zipf,
    cache: Clock,
    /// An operation is a lookup if its random number is below this.
    lookups: u64,
    /// A change is an insert if its random number is below this.
    inserts: u64,
    log: Option<Log>,
    /// The IOs that operations caused and that are not issued yet.
    due: VecDeque<Access>,
    /// The changed pages that a checkpoint still has to write, in reverse order.
    checkpoint: Vec<u32>,
}

impl BTree {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            if let Some(access) = self.due.pop_front() {
                return access;
            }
            match self.checkpoint.pop() {
                Some(page) => return self.access(Op::Write, page),
                None => self.operate(rng),
            }
        }
    }

    fn operate(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let leaf = self.leaves.draw(1, rng).unit;
        let changes = rng.next_u64() >= self.lookups;
        self.descend(leaf, changes);
        if !changes {
            return;
        }
        if rng.next_u64() < self.inserts && rng.random_range(0..self.fanout) < 2 {
            self.split(leaf, rng);
        }
        let Some(log) = &mut self.log else { return };
        if log.append(&mut self.due) {
            self.checkpoint = self.cache.clean();
            self.checkpoint.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Descends from the root to a leaf.
    #[inline]
    fn descend(&mut self, leaf: u64, change: bool) {
        let last = self.levels.path.len() - 1;
        let mut span = self.fanout.pow(u32::try_from(last).unwrap_or_default());
        for level in 0..=last {
            let page = self.levels.path[level] + page_number(leaf / span);
            span /= self.fanout;
            self.touch(page, change && level == last, true);
        }
    }

    /// Splits a full leaf: half of it moves to an empty page, and the parent records that page.
    fn split(&mut self, leaf: u64, rng: &mut impl Rng) {
        let [.., parents, leaves] = self.levels.path[..] else { return };
        let emptied = rng.random_range(0..self.levels.leaves);
        self.touch(leaves + page_number(emptied), true, false);
        self.touch(parents + page_number(leaf / self.fanout), true, true);
    }

    /// Brings a page into the cache, and reads it unless the whole page is written.
    #[inline]
    fn touch(&mut self, page: u32, change: bool, read: bool) {
        let Touch::Miss { changed } = self.cache.touch(page, change) else { return };
        if let Some(old) = changed {
            let write = self.access(Op::Write, old);
            self.due.push_back(write);
        }
        if read {
            let read = self.access(Op::Read, page);
            self.due.push_back(read);
        }
    }

    fn access(&self, op: Op, page: u32) -> Access {
        Access::new(op, u64::from(page) * self.page, self.page)
    }
}

/// A circular log of changes, rewritten from its start when it is full.
struct Log {
    offset: u64,
    length: u64,
    /// The size of a block, the unit of log writes, in bytes.
    block: u64,
    entry: u64,
    /// The number of changes per commit.
    commit: u64,
    /// The number of entries since the start of the log.
    entries: u64,
    /// The number of written entries.
    written: u64,
}

impl Log {
    fn read(values: &Values, space: &Space, entry: u64) -> Result<Option<Log>, WorkloadError> {
        let block = BLOCK.max(space.logical_block);
        let commit = values.whole("commit", 1..=1000)?.unwrap_or(1);
        // A commit begins in a block that it shares with the previous commit.
        let least = (commit * entry).next_multiple_of(block.0) + block.0;
        let length: Option<Bytes> = values.quantity("log")?;
        if length.is_none_or(|length| length.0 == 0) {
            if values.given("commit").is_some() {
                return Err(values.invalid("commit", "it needs a `log`"));
            }
            return Ok(None);
        }
        if least > MAX_REQUEST.0 {
            let rule = format!("with entries of {} B, this is more than {MAX_REQUEST}", entry);
            return Err(values.invalid("commit", rule));
        }
        let most = (space.length / 2).max(least) / block.0 * block.0;
        let length = values.bytes("log", block, least..=most)?.unwrap_or(least);
        space.holds(values, length)?;
        let offset = (space.length - length) / block.0 * block.0;
        Ok(Some(Log { offset, length, block: block.0, entry, commit, entries: 0, written: 0 }))
    }

    /// Appends an entry. Returns true if the log is full.
    fn append(&mut self, due: &mut VecDeque<Access>) -> bool {
        self.entries += 1;
        let full = (self.entries + 1) * self.entry > self.length;
        if full || self.entries - self.written == self.commit {
            let first = self.written * self.entry / self.block * self.block;
            let end = (self.entries * self.entry).next_multiple_of(self.block);
            let offset = self.offset + first;
            due.push_back(Access::new(Op::Write, offset, end - first));
            self.written = self.entries;
        }
        if full {
            (self.entries, self.written) = (0, 0);
        }
        full
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LARGE, ios_on};
    use super::*;

    /// Returns the page reads and page writes of a tree of 10 240 pages for each change, and the
    /// share of inner pages in its reads. Each change also writes to the log, usually one block.
    fn per_change(fields: &str, inner: u64) -> [f64; 3] {
        let spec = format!("btree?page=4KiB&log=40MiB&length=80MiB&{fields}");
        let (mut changes, mut reads, mut inner_reads, mut writes) = (0.0, 0.0, 0.0, 0.0);
        for io in &ios_on(&LARGE, &spec, 300_000)[50_000..] {
            let in_log = io.offset >= Bytes::mib(40);
            match io.op {
                Op::Read => {
                    reads += 1.0;
                    inner_reads += f64::from(u8::from(io.offset.0 / 4096 < inner));
                }
                _ if in_log => changes += 1.0,
                _ => writes += 1.0,
            }
        }
        [reads / changes, writes / changes, inner_reads / reads]
    }

    // Each page below the root has a parent, and the tree has as many leaves as fit into the given
    // number of pages.
    #[test]
    fn a_tree_has_as_many_leaves_as_fit() {
        let Levels { path, leaves, pages } = Levels::new(10_240, 20).unwrap();
        // From the root to the leaves: 1, 2, 25, 487 and 9725 pages.
        assert_eq!((path.as_slice(), leaves, pages), (&[0, 1, 3, 28, 515][..], 9725, 10_240));
        assert!(Levels::new(20, 20).is_none());
        assert_eq!(Levels::new(21, 20).map(|levels| levels.leaves), Some(20));
        assert_eq!(Levels::new(22, 20).map(|levels| levels.pages), Some(21));
        assert!(Levels::new(1 << 32, 20).is_none());
    }

    // If all leaves are equally likely, an operation reads its leaf unless the cache holds it, and
    // the cache writes the changed leaves that it evicts. Let w be the share of operations that
    // change a leaf, and h the share of leaves in the cache. Then w / (1 − (1 − w) h) of the
    // evicted leaves have changed.
    #[test]
    fn reads_and_writes_per_operation() {
        for (cache, changes) in [(0.2, 1.0), (0.2, 0.5), (0.6, 0.25)] {
            let fields = format!("cache={cache}&lookups={}&inserts=0", 1.0 - changes);
            // 10 135 leaves, and 105 inner pages.
            let [reads, writes, inner] = per_change(&fields, 105);
            let hits = (10_240.0 * cache - 105.0) / 10_135.0;
            let expected = [(1.0 - hits) / changes, (1.0 - hits) / (1.0 - (1.0 - changes) * hits)];
            assert!(inner < 0.01, "{inner} of the reads are of inner pages");
            for (found, expected) in [reads, writes].into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 0.03, "{found}, not {expected}: {fields}");
            }
        }
    }

    // Each split writes a leaf that was not read.
    #[test]
    fn a_split_writes_a_leaf_that_was_not_read() {
        let [reads, writes, _] = per_change("cache=0.5&fanout=20&lookups=0&inserts=1", 515);
        // One insert in ten fills a leaf of twenty entries.
        assert!((writes / reads - 1.1).abs() < 0.02, "{writes} writes to {reads} reads");
    }

    // The log is written from start to end, and each block until it is full. Then all changed pages
    // are written in address order.
    #[test]
    fn log_and_checkpoints() {
        let spec = "btree?page=4KiB&fanout=40&log=64KiB&lookups=0&commit=10&length=40MiB&cache=0.3";
        let ios = ios_on(&LARGE, spec, 20_000);
        let start = Bytes::mib(40) - Bytes::kib(64);
        let log: Vec<_> = ios.iter().filter(|io| io.offset >= start).collect();
        // An entry has 102 bytes. 642 entries fill the log, in 64 commits of ten entries and one
        // commit of two.
        for commits in log.chunks_exact(65) {
            for (commit, io) in (0u64..).zip(commits) {
                let first = commit * 1020 / 4096 * 4096;
                let end =
                    (commit * 1020 + if commit < 64 { 1020 } else { 204 }).div_ceil(4096) * 4096;
                assert_eq!((io.offset - start, io.end() - start), (Bytes(first), Bytes(end)));
            }
        }
        let last = log.chunks_exact(65).next().unwrap()[64];
        let after = ios.iter().position(|io| io == last).unwrap() + 1;
        let checkpoint: Vec<_> = ios[after..].iter().take_while(|io| io.op == Op::Write).collect();
        assert!(checkpoint.len() > 500, "{} pages", checkpoint.len());
        assert!(checkpoint.windows(2).all(|pair| pair[0].end() <= pair[1].offset));
    }
}
