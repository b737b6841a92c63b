//! Victim selection: which block is cleaned next.
//!
//! A policy is one file and its line in the registry below.

mod buckets;
mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod lists;
mod random;
mod sample;
#[cfg(test)]
mod testing;
mod windowed_greedy;

use serde::{Deserialize, Serialize};

use crate::footprint::Size;
use crate::ftl::Layout;
use crate::nand::BlockId;

/// A policy that chooses the block to clean.
///
/// It knows the *candidates* of each lane ([`Layout::lanes`]): blocks that are full and that
/// nothing else works on.
pub trait VictimPolicy {
    /// `block` has become a candidate, with `valid` of its logical pages valid.
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32);

    /// A hint that a page of `block` is superseded soon.
    fn expect_supersede(&self, _block: BlockId) {}

    /// A page of `block` was superseded and `valid` are left. Blocks that are no candidates are
    /// to be ignored.
    fn superseded(&mut self, lane: u32, block: BlockId, valid: u32);

    /// Chooses among the candidates with at most [`Layout::most_valid`] valid pages, in the order
    /// in which the policy prefers them, the first that `accept` takes; it is a candidate no
    /// longer. Those that `accept` turns down stay as they are. A policy that draws at random
    /// draws anew, and in the end offers every candidate once.
    fn take(&mut self, lane: u32, accept: impl FnMut(BlockId) -> bool) -> Option<BlockId>;

    /// A hint which candidate [`VictimPolicy::take`] would choose now.
    fn likely(&self, _lane: u32) -> Option<BlockId> {
        None
    }

    /// `block`, a candidate with `valid` valid pages, is one no longer.
    fn remove(&mut self, lane: u32, block: BlockId, valid: u32);
}

/// What a profile says to the policies; each heeds what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// See [`crate::profile::Cleaning::ties`].
    pub ties: Ties,
    /// See [`crate::profile::Cleaning::window`]; at least 1.
    pub window: u32,
    /// See [`crate::profile::Cleaning::choices`]; at least 1.
    pub choices: u32,
}

/// Which of the blocks with equally few valid pages a greedy policy prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// The one that reached that number of valid pages first.
    Oldest,
    /// The one that reached that number of valid pages last.
    Youngest,
}

/// A registered policy.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in a profile.
    pub name: &'static str,
    /// What it chooses, in a sentence.
    pub summary: &'static str,
    /// Where it is described.
    pub source: &'static str,
    /// Makes one for a drive of this layout.
    pub new: fn(&Layout) -> Policy,
    /// What it takes.
    pub(crate) footprint: fn(&Layout) -> Size,
}

/// Makes [`Policy`] and [`KINDS`] from one list, so that a call on the path of a page is a
/// match and not a virtual call.
macro_rules! registry {
    ($($module:ident :: $policy:ident),+ $(,)?) => {
        /// Any registered policy.
        pub enum Policy {
            $(#[doc = concat!("See [`KINDS`]: `", stringify!($module), "`.")]
            $policy($module::$policy),)+
        }

        impl VictimPolicy for Policy {
            #[inline]
            fn expect_supersede(&self, block: BlockId) {
                match self { $(Policy::$policy(policy) => policy.expect_supersede(block),)+ }
            }
            #[inline]
            fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
                match self { $(Policy::$policy(policy) => policy.closed(lane, block, valid),)+ }
            }
            #[inline]
            fn superseded(&mut self, lane: u32, block: BlockId, valid: u32) {
                match self { $(Policy::$policy(policy) => policy.superseded(lane, block, valid),)+ }
            }
            #[inline]
            fn take(
                &mut self,
                lane: u32,
                accept: impl FnMut(BlockId) -> bool,
            ) -> Option<BlockId> {
                match self { $(Policy::$policy(policy) => policy.take(lane, accept),)+ }
            }
            fn likely(&self, lane: u32) -> Option<BlockId> {
                match self { $(Policy::$policy(policy) => policy.likely(lane),)+ }
            }
            fn remove(&mut self, lane: u32, block: BlockId, valid: u32) {
                match self { $(Policy::$policy(policy) => policy.remove(lane, block, valid),)+ }
            }
        }

        /// Every policy, in the order in which they are shown.
        pub const KINDS: &[Kind] = &[$($module::KIND),+];
    };
}

/// The policy for blocks that no profile says one for.
pub(crate) const GREEDY: Kind = greedy::KIND;

registry![
    greedy::Greedy,
    fifo::Fifo,
    windowed_greedy::WindowedGreedy,
    d_choices::DChoices,
    random::Random,
    cost_benefit::CostBenefit,
];
