use flashscope_block::Bytes;
use flashscope_sim::budget::{Limit, set_limit};

/// How much memory simulated drives may take.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct MemoryArgs {
    /// Let simulated drives take so much memory together; one that needs more is refused [default: half of this
    /// machine's]
    #[arg(long = "memory", value_name = "SIZE")]
    limit: Option<Bytes>,
}

impl MemoryArgs {
    /// Sets the limit for the drives that this process makes from now on.
    pub fn apply(&self) {
        set_limit(self.limit.map_or_else(Limit::of_machine, Limit::of));
    }

    /// What was typed.
    #[must_use]
    pub fn given(&self) -> Option<Bytes> {
        self.limit
    }
}
