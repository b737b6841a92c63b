use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_sim::budget::Budget;

/// The resources that simulations share while several run at once.
#[derive(Debug, Clone)]
pub struct Resources<'a> {
    /// The maximum number of simulations at once. No outcome depends on this number.
    pub jobs: usize,
    /// The memory that the simulated drives share.
    pub memory: Budget,
    /// The flag that ends all simulations early.
    pub stop: &'a AtomicBool,
}

impl<'a> Resources<'a> {
    /// Returns resources for `jobs` simulations at once, with half of the machine's memory.
    #[must_use]
    pub fn new(jobs: usize, stop: &'a AtomicBool) -> Resources<'a> {
        Resources { jobs, memory: Budget::default(), stop }
    }

    /// Returns true once the user has stopped the simulations.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the resources for one of several threads. A drive of that thread waits until other
    /// drives release enough memory.
    #[must_use]
    pub fn of_thread(&self) -> Resources<'a> {
        Resources { memory: self.memory.waiting(), ..self.clone() }
    }
}
