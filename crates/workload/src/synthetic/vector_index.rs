use flashscope_block::{Bytes, Op};
use rand::{Rng, RngExt};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::application::{Access, Due, MAX_REQUEST, REQUEST, Space, geometric, places};
use super::generator::threshold;
use super::values::Values;
use super::{APPLICATION, Application, Kind, Models, WorkloadError, field};

/// Nearest-neighbour search in a graph of vectors that is on the drive, as vector databases do it.
///
/// A node of the graph holds a vector and the places of its neighbours. A search takes some steps,
/// in each of which it reads the most promising nodes, except those that memory holds. An insertion
/// first searches for the neighbours of the new vector. It then writes the new node in place of the
/// oldest node, and rewrites the nodes of some neighbours, because they refer to the new node.
/// Numbers of steps are geometrically distributed. All defaults are chosen, not measured.
pub(super) const KIND: Kind = Kind {
    name: "vector-index",
    argument: None,
    summary: "searches in a graph of vectors read random nodes step by step, and insertions write the nodes of neighbours",
    source: "a model of this project, of graph indexes on drives such as that of DiskANN",
    leaves_out: Some(
        "frequent reads near the entry of the graph, insertions gathered in memory, and reads of a step in flight \
         together (set `--queue-depth`)",
    ),
    fields: &[
        field("node", Some("4KiB"), "bytes in a node, up to 1MiB"),
        field("steps", Some("10"), "mean number of steps of a search, 1 to 1000"),
        field("width", Some("4"), "nodes in a step, 1 to 64"),
        field("cached", Some("0.3"), "share of the nodes of a search that memory holds, 0 to 1"),
        field("inserts", Some("0.05"), "share of the searches that insert a vector, 0 to 1"),
        field("links", Some("16"), "neighbours whose nodes an insertion writes again, 0 to 256"),
        REQUEST,
    ],
    common: APPLICATION,
    open: |values, target| Application::open(values, target, |space| open(values, space)),
};

/// The minimum number of nodes in the target range.
const MIN_NODES: u64 = 1024;

fn open(values: &Values, space: Space) -> Result<Models, WorkloadError> {
    let unit = space.logical_block;
    let node = values.bytes("node", unit, unit.0..=Bytes::mib(1).0)?.unwrap_or_default();
    space.holds(values, MIN_NODES * node)?;
    let Some(nodes) = places(space.length / node) else {
        return Err(values.invalid("node", "the target range holds too many nodes"));
    };
    let (cached, inserts) = (values.share("cached")?, values.share("inserts")?);
    if cached == 1.0 && inserts == 0.0 {
        return Err(values.invalid("cached", "without insertions, memory must not hold all nodes"));
    }
    Ok(Models::VectorIndex(VectorIndex {
        node,
        nodes,
        steps: values.real("steps", 1.0..=1000.0)?.unwrap_or(1.0),
        width: values.whole("width", 1..=64)?.unwrap_or(1),
        cached: threshold(cached),
        inserts: threshold(inserts),
        links: values.whole("links", 0..=256)?.unwrap_or(0),
        request: values.bytes(REQUEST.name, unit, unit.0..=MAX_REQUEST.0)?.unwrap_or_default(),
        oldest: 0,
        due: Due::default(),
    }))
}

pub(super) struct VectorIndex {
    /// Bytes in a node.
    node: u64,
    nodes: u32,
    /// The mean number of steps of a search.
    steps: f64,
    width: u32,
    /// A node is in memory if its random number is below this.
    cached: u64,
    /// A search inserts a vector if its random number is below this.
    inserts: u64,
    links: u32,
    request: u64,
    /// The node that the next insertion replaces.
    oldest: u32,
    /// The reads and writes that are due.
    due: Due,
}

impl VectorIndex {
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> Access {
        loop {
            match self.due.next(self.request) {
                Some(access) => return access,
                None => self.search(rng),
            }
        }
    }

    /// Searches, and possibly inserts a vector.
    fn search(&mut self, rng: &mut Xoshiro256PlusPlus) {
        let visited = geometric(self.steps, rng) * u64::from(self.width);
        for _ in 0..visited {
            let node = rng.random_range(0..self.nodes);
            if rng.next_u64() >= self.cached {
                self.due.push(self.access(Op::Read, node));
            }
        }
        if rng.next_u64() < self.inserts {
            self.due.push(self.access(Op::Write, self.oldest));
            self.oldest = (self.oldest + 1) % self.nodes;
            for _ in 0..self.links {
                self.due.push(self.access(Op::Write, rng.random_range(0..self.nodes)));
            }
        }
    }

    fn access(&self, op: Op, node: u32) -> Access {
        Access::new(op, u64::from(node) * self.node, self.node)
    }
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)]
mod tests {
    use super::super::tests::{LARGE, ios_on, refused_on};

    use super::*;

    // The expected numbers follow from the definition, without the generator.
    #[test]
    fn reads_and_writes_have_their_shares() {
        let ios =
            ios_on(&LARGE, "vector-index?steps=5&width=3&cached=0.4&inserts=0.5&links=7", 400_000);
        let writes = ios.iter().filter(|io| io.op == Op::Write).count() as f64;
        let reads = ios.len() as f64 - writes;
        let expected = (5.0 * 3.0 * 0.6) / (0.5 * 8.0);
        assert!((reads / writes / expected - 1.0).abs() < 0.02, "{} {expected}", reads / writes);
        assert!(ios.iter().all(|io| io.len == Bytes::kib(4) && io.offset.0.is_multiple_of(4096)));
    }

    #[test]
    fn insertions_replace_the_oldest_nodes_in_order() {
        let spec = "vector-index?cached=1&inserts=1&links=0";
        let nodes = LARGE.capacity.0 / 4096;
        for (nth, io) in (0u64..).zip(ios_on(&LARGE, spec, 50_000)) {
            assert_eq!((io.op, io.offset.0), (Op::Write, nth % nodes * 4096), "IO {nth}");
        }
    }

    #[test]
    fn searches_that_issue_nothing_are_refused() {
        let message = refused_on(&LARGE, "vector-index?cached=1&inserts=0");
        assert!(message.contains("cached"), "{message}");
    }
}
