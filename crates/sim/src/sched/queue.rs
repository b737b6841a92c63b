//! Lists through the nodes of a graph: a node is in one list at most.

use super::graph::{NONE, Node};

/// A list of nodes, oldest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    pub(super) first: u32,
    last: u32,
}

impl List {
    pub(super) const EMPTY: List = List { first: NONE, last: NONE };

    pub(super) const fn is_empty(self) -> bool {
        self.first == NONE
    }

    /// Adds a node that is in no list.
    pub(super) fn push(&mut self, nodes: &mut [Node], node: u32) {
        let last = std::mem::replace(&mut self.last, node);
        nodes[node as usize].links = Links { before: last, after: NONE };
        match last {
            NONE => self.first = node,
            last => nodes[last as usize].links.after = node,
        }
    }

    /// Removes a node from this list.
    pub(super) fn remove(&mut self, nodes: &mut [Node], node: u32) {
        let Links { before, after } = nodes[node as usize].links;
        match before {
            NONE => self.first = after,
            before => nodes[before as usize].links.after = after,
        }
        match after {
            NONE => self.last = before,
            after => nodes[after as usize].links.before = before,
        }
        nodes[node as usize].links = Links::NONE;
    }
}

/// The neighbours of a node in its list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Links {
    pub(super) before: u32,
    pub(super) after: u32,
}

impl Links {
    pub(super) const NONE: Links = Links { before: NONE, after: NONE };
}
