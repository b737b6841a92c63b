//! Synthetic workloads that imitate traces which are not public.

mod eight;
mod traits;

pub use eight::{DEA2, EIGHT, LAIR62B, PROJ2, PRXY0, RSRCH0};
pub use traits::{Hot, Lengths, TraitSummary, Traits};
