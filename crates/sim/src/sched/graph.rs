//! The unfinished commands, and the dependencies between them.

use flashscope_block::Nanos;

use super::command::{Command, Task, Ticket};
use super::queue::Links;

/// The number that stands for no node, group, edge or tally.
pub(super) const NONE: u32 = u32::MAX;

/// The number that stands for no owner.
pub(super) const NO_OWNER: u64 = u64::MAX;

/// The bit that marks the target of an edge as a tally instead of a node.
const TALLY: u32 = 1 << 31;

/// The bit that marks a follower that is ready, but did not wait: see [`Graph::note_ready`].
pub(super) const READY: u32 = 1 << 30;

/// The progress of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The node is free.
    Free,
    /// The command waits for other commands, its release or its time of arrival.
    Blocked,
    /// The command waits at its die.
    Queued,
    /// The die carries out the command, or has suspended it.
    Running,
}

/// A command, or a join, which is done when all nodes that it waits for are done.
///
/// The first cache line holds the fields for lists and dependencies.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Node {
    pub(super) state: State,
    /// The number of unfinished nodes for which this node is not ready: see [`Graph::note_ready`].
    pub(super) unready: u8,
    generation: u32,
    /// The number of nodes and tallies that this node waits for, plus one until it is released.
    blockers: u32,
    /// The first of the edges to the nodes that wait for this node.
    edges: u32,
    pub(super) links: Links,
    /// The next command of the row. It follows without the die becoming free.
    pub(super) then: u32,
    /// The label of the command in its chain: see [`Graph::chain`].
    label: u32,
    /// `None` for a join.
    pub(super) task: Option<Task>,
    /// The owner that is reported when the node is done; [`NO_OWNER`] for none.
    pub(super) owner: u64,
    /// The earliest time of arrival at its die; after the arrival, the actual time.
    pub(super) arrived: Nanos,
    /// The delay of the arrival after the end of the nodes that this node waits for.
    pub(super) delay: Nanos,
    pub(super) started: Nanos,
    /// The number of the node in the order of arrival at dies.
    pub(super) number: u64,
    /// The number of reads that had arrived at the die before this node.
    pub(super) reads_before: u64,
    /// The previous command of the chain.
    previous: Ticket,
}

impl Node {
    const FREE: Node = Node {
        state: State::Free,
        unready: 0,
        generation: 0,
        blockers: 0,
        edges: NONE,
        links: Links::NONE,
        then: NONE,
        label: NONE,
        task: None,
        owner: NO_OWNER,
        arrived: Nanos(0),
        delay: Nanos(0),
        started: Nanos(0),
        number: 0,
        reads_before: 0,
        previous: Ticket::DONE,
    };

    /// Returns when the node arrives at its die, if it waits for nothing else.
    pub(super) fn arrival(&self) -> Option<Nanos> {
        (self.blockers == 0).then_some(self.arrived)
    }

    /// Returns true if another command follows without the die becoming free.
    pub(super) const fn is_row(&self) -> bool {
        self.then != NONE
    }
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    /// The node that waits, or a [`TALLY`].
    to: u32,
    /// The next edge from the same node, or the next free one.
    next: u32,
}

/// The number of unfinished commands among those counted. A node can wait until it is 0.
#[derive(Debug, Clone, Copy)]
struct Tally {
    left: u32,
    /// The node that waits; or the next free tally.
    waiter: u32,
    /// See [`Graph::count`]; [`NONE`] for a free tally.
    key: u32,
}

/// The nodes, and the edges from each node to the nodes that wait for it.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    edges: Vec<Edge>,
    free_edge: u32,
    tallies: Vec<Tally>,
    free_tally: u32,
}

impl Graph {
    pub(super) const fn new() -> Graph {
        Graph {
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            edges: Vec::new(),
            free_edge: NONE,
            tallies: Vec::new(),
            free_tally: NONE,
        }
    }

    /// Adds a node that waits until it is released.
    #[inline]
    pub(super) fn add(&mut self, command: Option<Command>, owner: Option<u64>) -> Ticket {
        let node = match self.free_nodes.pop() {
            Some(node) => node,
            None => self.grow(),
        };
        let added = &mut self.nodes[node as usize];
        added.state = State::Blocked;
        added.unready = 0;
        added.blockers = 1;
        added.task = command.map(Task::from);
        added.owner = owner.unwrap_or(NO_OWNER);
        (added.arrived, added.delay) = (Nanos(0), Nanos(0));
        added.then = NONE;
        Ticket { node, generation: added.generation }
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let node = u32::try_from(self.nodes.len()).expect("fewer commands than a u32 counts");
        assert!(node < Ticket::NODES, "fewer commands than a ticket counts");
        self.nodes.push(Node::FREE);
        node
    }

    /// Returns the ticket of an unfinished node.
    pub(super) fn ticket(&self, node: u32) -> Ticket {
        Ticket { node, generation: self.nodes[node as usize].generation }
    }

    /// Returns the node of a ticket, or `None` if its command is done.
    #[inline]
    pub(super) fn node_of(&self, ticket: Ticket) -> Option<&Node> {
        self.nodes
            .get(ticket.node as usize)
            .filter(|node| node.generation == ticket.generation && node.state != State::Free)
    }

    /// Makes `later` wait for `earlier`, unless `earlier` is done.
    #[inline]
    pub(super) fn follow(&mut self, later: Ticket, earlier: Ticket) {
        let Some(node) = self.node_of(earlier) else { return };
        // A command with two dependencies on another command waits for it once.
        let again = self.edges.get(node.edges as usize).is_some_and(|edge| edge.to == later.node);
        if again || later == earlier {
            return;
        }
        debug_assert!(self.node_of(later).is_some_and(|node| node.state == State::Blocked));
        self.add_edge(earlier.node, later.node);
        self.nodes[later.node as usize].blockers += 1;
    }

    /// Makes `later` ready only when `earlier` is done. Unlike [`Graph::follow`], this does not
    /// delay the arrival: `later` must be behind `earlier` in the queue of a die.
    pub(super) fn note_ready(&mut self, later: Ticket, earlier: Ticket) {
        if self.node_of(earlier).is_some() && later != earlier {
            self.add_edge(earlier.node, later.node | READY);
            self.nodes[later.node as usize].unready += 1;
        }
    }

    #[inline]
    fn add_edge(&mut self, from: u32, to: u32) {
        let head = &mut self.nodes[from as usize].edges;
        let edge = Edge { to, next: *head };
        if let Some(free) = self.edges.get_mut(self.free_edge as usize) {
            *head = self.free_edge;
            self.free_edge = free.next;
            *free = edge;
            return;
        }
        *head = u32::try_from(self.edges.len()).expect("fewer edges than a u32 counts");
        self.edges.push(edge);
    }

    /// Returns the unfinished nodes. The nodes that wait at dies are in the order of arrival.
    pub(super) fn unfinished(&self) -> Vec<u32> {
        let count = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let in_use = |node: &u32| self.nodes[*node as usize].state != State::Free;
        let mut unfinished: Vec<_> = (0..count).filter(in_use).collect();
        unfinished.sort_by_key(|node| self.nodes[*node as usize].number);
        unfinished
    }

    /// Makes `later` wait for all unfinished commands that `of_kind` accepts.
    pub(super) fn follow_all(&mut self, later: Ticket, of_kind: impl Fn(&Task) -> bool) {
        for node in 0..u32::try_from(self.nodes.len()).unwrap_or(NONE) {
            let Node { state, task, generation, .. } = &self.nodes[node as usize];
            if *state != State::Free && task.as_ref().is_some_and(&of_kind) {
                let earlier = Ticket { node, generation: *generation };
                self.follow(later, earlier);
            }
        }
    }

    /// Makes a command the newest of a chain. Each command of a chain is done before the next one.
    /// `previous` is the newest one so far.
    #[inline]
    pub(super) fn chain(&mut self, command: Ticket, label: u32, previous: Ticket) {
        let node = &mut self.nodes[command.node as usize];
        (node.label, node.previous) = (label, previous);
    }

    /// Returns the command with this label in the chain that ends with `newest`, or
    /// [`Ticket::DONE`] if there is none or if it is done.
    #[inline]
    pub(super) fn find_in_chain(&self, newest: Ticket, label: u32) -> Ticket {
        let mut next = newest;
        while let Some(node) = self.node_of(next) {
            if node.label == label {
                return next;
            }
            next = node.previous;
        }
        Ticket::DONE
    }

    /// Counts a command, unless it is done, in the tally of `key`. `tally` is the last known number
    /// of that tally. Returns the current number. A tally is freed when all its commands are done,
    /// and its number may then stand for the tally of another key. The tallies in use therefore
    /// stay few, and in the processor's cache.
    #[inline]
    pub(super) fn count(&mut self, tally: u32, key: u32, command: Ticket) -> u32 {
        if self.node_of(command).is_none() {
            return tally;
        }
        let tally = if self.is_tally_empty(tally, key) { self.add_tally(key) } else { tally };
        self.add_edge(command.node, tally | TALLY);
        self.tallies[tally as usize].left += 1;
        tally
    }

    /// Returns the number of a new tally, which counts nothing yet.
    #[inline]
    fn add_tally(&mut self, key: u32) -> u32 {
        let new = Tally { left: 0, waiter: NONE, key };
        if let Some(free) = self.tallies.get_mut(self.free_tally as usize) {
            let index = std::mem::replace(&mut self.free_tally, free.waiter);
            *free = new;
            return index;
        }
        self.tallies.push(new);
        let index = u32::try_from(self.tallies.len() - 1).expect("fewer tallies than commands");
        assert!(index < TALLY, "fewer tallies than 31 bits count");
        index
    }

    /// Returns true if every command that the tally of `key` counts is done.
    #[inline]
    pub(super) fn is_tally_empty(&self, tally: u32, key: u32) -> bool {
        self.tallies.get(tally as usize).is_none_or(|tally| tally.key != key)
    }

    /// Makes `later` wait for the commands that the tally of `key` counts. After this call, the
    /// tally does not belong to the key.
    pub(super) fn follow_tally(&mut self, later: Ticket, tally: u32, key: u32) {
        if self.is_tally_empty(tally, key) {
            return;
        }
        let state = &mut self.tallies[tally as usize];
        (state.waiter, state.key) = (later.node, NONE);
        self.nodes[later.node as usize].blockers += 1;
    }

    /// Delays the arrival of a node to `at` or later.
    #[inline]
    pub(super) fn not_before(&mut self, node: u32, at: Nanos) {
        let node = &mut self.nodes[node as usize];
        node.arrived = node.arrived.max(at);
    }

    /// Removes one dependency of a node. If it was the last one, returns the earliest arrival of
    /// the node.
    #[inline]
    pub(super) fn unblock(&mut self, node: u32) -> Option<Nanos> {
        let blocked = &mut self.nodes[node as usize];
        blocked.blockers -= 1;
        (blocked.blockers == 0).then_some(blocked.arrived)
    }

    /// Removes and returns the next node that waits for `node`, which is done. If `node` was the
    /// last unfinished command of a tally, returns the node that waits for the tally. The result
    /// has the bit [`READY`] if the node is ready, but did not wait.
    #[inline]
    pub(super) fn take_follower(&mut self, node: u32) -> Option<u32> {
        loop {
            let head = &mut self.nodes[node as usize].edges;
            let index = *head;
            let edge = self.edges.get_mut(index as usize)?;
            let to = edge.to;
            *head = std::mem::replace(&mut edge.next, self.free_edge);
            self.free_edge = index;
            if to & TALLY == 0 {
                return Some(to);
            }
            if let Some(waiting) = self.count_down(to & !TALLY) {
                return Some(waiting);
            }
        }
    }

    /// Records that a command of a tally is done. If it was the last one, frees the tally, and
    /// returns the node that waits for it, if there is one.
    #[inline]
    fn count_down(&mut self, tally: u32) -> Option<u32> {
        let state = &mut self.tallies[tally as usize];
        state.left -= 1;
        if state.left > 0 {
            return None;
        }
        let waiter = std::mem::replace(&mut state.waiter, self.free_tally);
        state.key = NONE;
        self.free_tally = tally;
        (waiter != NONE).then_some(waiter)
    }

    /// Frees a node that is done. Its tickets then stand for a command that is done.
    #[inline]
    pub(super) fn free(&mut self, node: u32) {
        let freed = &mut self.nodes[node as usize];
        debug_assert!(freed.state != State::Free && freed.edges == NONE);
        freed.state = State::Free;
        freed.generation = (freed.generation + 1) & Ticket::GENERATIONS;
        self.free_nodes.push(node);
    }

    /// Removes every node.
    pub(super) fn clear(&mut self) {
        self.edges.clear();
        self.tallies.clear();
        (self.free_edge, self.free_tally) = (NONE, NONE);
        for index in 0..u32::try_from(self.nodes.len()).unwrap_or(NONE) {
            let node = &mut self.nodes[index as usize];
            node.edges = NONE;
            if node.state != State::Free {
                self.free(index);
            }
        }
    }
}
