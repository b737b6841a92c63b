//! A list ordered by age.

use crate::footprint::{Size, fixed};

/// The value of a link at the end of the list, and of a node that is not in the list.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Link {
    newer: u32,
    older: u32,
}

const DETACHED: Link = Link { newer: NONE, older: NONE };

/// A doubly linked list through the numbers `0..nodes`, by age; every operation is O(1).
pub(crate) struct List {
    links: Vec<Link>,
    newest: u32,
    oldest: u32,
}

impl List {
    /// Returns the memory of a list.
    pub(crate) fn footprint(nodes: u32) -> Size {
        fixed::<Link>(nodes)
    }

    pub(crate) fn new(nodes: u32) -> Self {
        List { links: vec![DETACHED; nodes as usize], newest: NONE, oldest: NONE }
    }

    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    #[inline]
    fn contains(&self, node: u32) -> bool {
        self.links[node as usize].newer != NONE || self.newest == node
    }

    /// Makes `node` the newest of the list. Adds it if the list does not contain it.
    #[inline]
    pub(crate) fn make_newest(&mut self, node: u32) {
        self.remove(node);
        self.links[node as usize] = Link { newer: NONE, older: self.newest };
        match self.newest {
            NONE => self.oldest = node,
            next => self.links[next as usize].newer = node,
        }
        self.newest = node;
    }

    /// Makes `node` the oldest of the list. Adds it if the list does not contain it.
    pub(crate) fn make_oldest(&mut self, node: u32) {
        self.remove(node);
        self.links[node as usize] = Link { newer: self.oldest, older: NONE };
        match self.oldest {
            NONE => self.newest = node,
            next => self.links[next as usize].older = node,
        }
        self.oldest = node;
    }

    /// Removes `node`, if the list contains it.
    #[inline]
    pub(crate) fn remove(&mut self, node: u32) {
        if !self.contains(node) {
            return;
        }
        let Link { newer, older } = std::mem::replace(&mut self.links[node as usize], DETACHED);
        match newer {
            NONE => self.newest = older,
            _ => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.links[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(calls in prop::collection::vec((0u32..3, 0u32..6), 1..60)) {
            let mut list = List::new(6);
            let mut plain: Vec<u32> = Vec::new();
            for (call, node) in calls {
                plain.retain(|other| *other != node);
                match call {
                    0 => { list.make_newest(node); plain.push(node) }
                    1 => { list.make_oldest(node); plain.insert(0, node) }
                    _ => list.remove(node),
                }
                prop_assert_eq!(list.oldest(), plain.first().copied());
            }
            let mut order = Vec::new();
            while let Some(node) = list.oldest() {
                list.remove(node);
                order.push(node);
            }
            prop_assert_eq!(order, plain);
        }
    }
}
