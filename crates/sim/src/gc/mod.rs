//! Victim selection: which block of an allocation pool is cleaned next.
//!
//! A policy is one file and its line in the registry below.

mod greedy;

use crate::ftl::Layout;
use crate::nand::BlockId;

/// A policy that chooses the block to clean.
///
/// It knows the *candidates* of each pool: blocks that are full and that nothing else works on.
pub trait VictimPolicy {
    /// `block` has become a candidate, with `valid` of its pages valid.
    fn closed(&mut self, pool: u32, block: BlockId, valid: u32);

    /// A page of `block` was superseded and `valid` are left. Blocks that are no candidates are
    /// to be ignored.
    fn superseded(&mut self, pool: u32, block: BlockId, valid: u32);

    /// Chooses a candidate with at least one superseded page; it is a candidate no longer.
    fn take(&mut self, pool: u32) -> Option<BlockId>;
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
            fn closed(&mut self, pool: u32, block: BlockId, valid: u32) {
                match self { $(Policy::$policy(policy) => policy.closed(pool, block, valid),)+ }
            }
            #[inline]
            fn superseded(&mut self, pool: u32, block: BlockId, valid: u32) {
                match self { $(Policy::$policy(policy) => policy.superseded(pool, block, valid),)+ }
            }
            #[inline]
            fn take(&mut self, pool: u32) -> Option<BlockId> {
                match self { $(Policy::$policy(policy) => policy.take(pool),)+ }
            }
        }

        /// Every policy, in the order in which they are shown.
        pub const KINDS: &[Kind] = &[$($module::KIND),+];
    };
}

registry![greedy::Greedy];
