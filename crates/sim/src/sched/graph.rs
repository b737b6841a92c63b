//! The commands that are not done, and which wait for which.

use flashscope_block::Nanos;

use super::command::{Command, Ticket};
use super::queue::Links;

/// No node, group or edge.
pub(super) const NONE: u32 = u32::MAX;

/// How far a command has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The node is free.
    Free,
    /// It waits for other commands.
    Blocked,
    /// It waits at its die.
    Queued,
    /// The die carries it out, or has suspended it.
    Running,
}

/// A command, or a join: something that is done when others are.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// `None` for a join.
    pub(super) command: Option<Command>,
    /// Returned when the node is done.
    pub(super) owner: Option<u64>,
    pub(super) state: State,
    generation: u32,
    /// How many nodes it waits for, and one more until it is released.
    blockers: u32,
    /// The edges to the nodes that wait for it.
    edges: u32,
    /// When it arrives at its die at the earliest.
    earliest: Nanos,
    /// The time from the end of what it waits for to its arrival.
    pub(super) delay: Nanos,
    /// Is true if the node goes when nothing is left that it waits for, though nobody released it.
    collects: bool,
    /// The command that follows without the die becoming free.
    pub(super) then: u32,
    pub(super) links: Links,
    /// The order of arrival at dies.
    pub(super) number: u64,
    pub(super) arrived: Nanos,
    pub(super) started: Nanos,
    /// Reads that had arrived at the die when it arrived.
    pub(super) reads_before: u64,
}

impl Node {
    /// Returns when the node arrives at its die, if it waits for nothing else.
    pub(super) fn arrival(&self) -> Option<Nanos> {
        (self.blockers == 0).then_some(self.earliest)
    }

    /// Returns true if another command follows without the die becoming free.
    pub(super) const fn is_row(&self) -> bool {
        self.then != NONE
    }
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    to: u32,
    next: u32,
}

/// The nodes, with the edges from each to those that wait for it.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    edges: Vec<Edge>,
    free_edges: Vec<u32>,
}

impl Graph {
    /// Adds a node that waits until it is released.
    pub(super) fn add(
        &mut self,
        command: Option<Command>,
        owner: Option<u64>,
        collects: bool,
    ) -> Ticket {
        let node = match self.free_nodes.pop() {
            Some(node) => node,
            None => self.grow(),
        };
        let generation = self.nodes[node as usize].generation;
        self.nodes[node as usize] = Node {
            command,
            owner,
            state: State::Blocked,
            generation,
            blockers: 1,
            edges: NONE,
            earliest: Nanos(0),
            delay: Nanos(0),
            collects,
            then: NONE,
            links: Links::NONE,
            number: 0,
            arrived: Nanos(0),
            started: Nanos(0),
            reads_before: 0,
        };
        Ticket { node, generation }
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let node = u32::try_from(self.nodes.len()).expect("fewer commands than a u32 counts");
        assert!(node < NONE, "fewer commands than a u32 counts");
        self.nodes.push(Node {
            command: None,
            owner: None,
            state: State::Free,
            generation: 0,
            blockers: 0,
            edges: NONE,
            earliest: Nanos(0),
            delay: Nanos(0),
            collects: false,
            then: NONE,
            links: Links::NONE,
            number: 0,
            arrived: Nanos(0),
            started: Nanos(0),
            reads_before: 0,
        });
        node
    }

    /// Returns the node of a ticket, unless it is done.
    #[inline]
    pub(super) fn node_of(&self, ticket: Ticket) -> Option<&Node> {
        self.nodes
            .get(ticket.node as usize)
            .filter(|node| node.state != State::Free && node.generation == ticket.generation)
    }

    /// Lets `later` wait for `earlier`, unless that is done.
    pub(super) fn follow(&mut self, later: Ticket, earlier: Ticket) {
        if self.node_of(earlier).is_none() || later == earlier {
            return;
        }
        debug_assert!(self.node_of(later).is_some_and(|node| node.state == State::Blocked));
        let head = self.nodes[earlier.node as usize].edges;
        let edge = Edge { to: later.node, next: head };
        let index = match self.free_edges.pop() {
            Some(index) => {
                self.edges[index as usize] = edge;
                index
            }
            None => {
                self.edges.push(edge);
                u32::try_from(self.edges.len() - 1).expect("fewer edges than a u32 counts")
            }
        };
        self.nodes[earlier.node as usize].edges = index;
        self.nodes[later.node as usize].blockers += 1;
    }

    /// Returns the nodes that are not done, in the order of their places.
    pub(super) fn unfinished(&self) -> Vec<u32> {
        let count = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        (0..count).filter(|node| self.nodes[*node as usize].state != State::Free).collect()
    }

    /// Lets `later` wait for all commands of a kind.
    pub(super) fn follow_all(&mut self, later: Ticket, of_kind: impl Fn(&Command) -> bool) {
        for node in 0..u32::try_from(self.nodes.len()).unwrap_or(NONE) {
            let Node { state, command, generation, .. } = &self.nodes[node as usize];
            if *state != State::Free && command.as_ref().is_some_and(&of_kind) {
                let earlier = Ticket { node, generation: *generation };
                self.follow(later, earlier);
            }
        }
    }

    /// Sets that a node arrives no earlier than `at`.
    pub(super) fn not_before(&mut self, node: u32, at: Nanos) {
        let node = &mut self.nodes[node as usize];
        node.earliest = node.earliest.max(at);
    }

    /// Takes away one of the things that a node waits for. Returns when it arrives at the earliest
    /// if that was the last one.
    pub(super) fn unblock(&mut self, node: u32) -> Option<Nanos> {
        let blocked = &mut self.nodes[node as usize];
        blocked.blockers -= 1;
        let (blockers, earliest) = (blocked.blockers, blocked.earliest);
        if blocked.collects && blockers == 1 && blocked.edges == NONE {
            self.free(node);
            return None;
        }
        (blockers == 0).then_some(earliest)
    }

    /// Sets that a collecting node no longer collects, because someone waits for it.
    pub(super) fn stop_collecting(&mut self, ticket: Ticket) {
        self.nodes[ticket.node as usize].collects = false;
    }

    /// Takes the next node that waits for this one.
    pub(super) fn take_follower(&mut self, node: u32) -> Option<u32> {
        let index = self.nodes[node as usize].edges;
        if index == NONE {
            return None;
        }
        let Edge { to, next } = self.edges[index as usize];
        self.free_edges.push(index);
        self.nodes[node as usize].edges = next;
        Some(to)
    }

    /// Frees a node that is done. Its tickets are of a command that is done from now on.
    pub(super) fn free(&mut self, node: u32) {
        let freed = &mut self.nodes[node as usize];
        debug_assert!(freed.state != State::Free && freed.edges == NONE);
        freed.state = State::Free;
        // 31 bits, so that a ticket fits beside a flag.
        freed.generation = (freed.generation + 1) & (u32::MAX >> 1);
        self.free_nodes.push(node);
    }

    /// Forgets every node.
    pub(super) fn clear(&mut self) {
        self.edges.clear();
        self.free_edges.clear();
        for index in 0..u32::try_from(self.nodes.len()).unwrap_or(NONE) {
            let node = &mut self.nodes[index as usize];
            node.edges = NONE;
            if node.state != State::Free {
                self.free(index);
            }
        }
    }
}
