//! Victim selection: the policies that choose the next block to garbage-collect.
//!
//! Each policy is one file and one line in the registry below.

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

use crate::footprint::Size;
use crate::nand::BlockId;
use crate::setup::Layout;
pub use crate::setup::{Ties, VictimOptions};

/// A policy that chooses the block to garbage-collect.
///
/// It tracks the *candidates* of each lane ([`Layout::lanes`]): the full blocks that no other
/// operation is using.
pub(crate) trait VictimPolicy {
    /// Adds `block`, with `valid` valid logical pages, to the candidates.
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32);

    /// Prefetches the state of `block`, one of whose pages will soon be superseded.
    fn prefetch_supersede(&self, _block: BlockId) {}

    /// Records that a page of `block` was superseded and that `valid` valid pages are left. Ignores
    /// a block that is not a candidate.
    fn superseded(&mut self, lane: u32, block: BlockId, valid: u32);

    /// Removes and returns the best candidate that `accept` accepts, among the candidates with at
    /// most [`Layout::max_valid`] valid pages. Calls `accept` in the policy's order of preference.
    /// Rejected candidates stay. A random policy draws again after a rejection, and offers each
    /// candidate at most once.
    fn take(&mut self, lane: u32, accept: impl FnMut(BlockId) -> bool) -> Option<BlockId>;

    /// Returns a guess of the block that [`VictimPolicy::take`] would choose now.
    fn likely(&self, _lane: u32) -> Option<BlockId> {
        None
    }

    /// Removes `block`, with `valid` valid pages, from the candidates.
    fn remove(&mut self, lane: u32, block: BlockId, valid: u32);
}

/// A registered policy.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in a profile.
    pub name: &'static str,
    /// One-sentence description of the chosen block.
    pub summary: &'static str,
    /// Publication that describes the policy.
    pub source: &'static str,
    /// Creates the policy for a drive of this layout.
    pub new: fn(&Layout) -> Policy,
    /// Returns the size of the memory that the policy needs.
    pub(crate) footprint: fn(&Layout) -> Size,
}

/// Generates [`Policy`] and [`KINDS`] from one list. The calls made for each page are then a
/// `match` instead of a virtual call.
macro_rules! registry {
    ($($module:ident :: $policy:ident),+ $(,)?) => {
        /// Any of the registered policies.
        pub enum Policy {
            $(#[doc = concat!("See [`KINDS`]: `", stringify!($module), "`.")]
            $policy($module::$policy),)+
        }

        impl VictimPolicy for Policy {
            #[inline]
            fn prefetch_supersede(&self, block: BlockId) {
                match self { $(Policy::$policy(policy) => policy.prefetch_supersede(block),)+ }
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

        /// All policies, in display order.
        pub const KINDS: &[Kind] = &[$($module::KIND),+];
    };
}

/// The policy for translation blocks, for which a profile has no setting.
pub(crate) const GREEDY: Kind = greedy::KIND;

registry![
    greedy::Greedy,
    fifo::Fifo,
    windowed_greedy::WindowedGreedy,
    d_choices::DChoices,
    random::Random,
    cost_benefit::CostBenefit,
];
