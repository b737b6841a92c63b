use std::sync::atomic::{AtomicBool, Ordering};

use flashscope_sim::budget::Budget;

/// The resources that simulations share while several run at once.
#[derive(Debug, Clone)]
pub struct Resources<'a> {
    /// The most simulations at once. No outcome depends on it.
    pub jobs: usize,
    /// The memory of their drives.
    pub memory: Budget,
    /// Set to end all of them early.
    pub stop: &'a AtomicBool,
}

impl<'a> Resources<'a> {
    /// Returns resources for `jobs` simulations at once, with half of the machine's memory.
    #[must_use]
    pub fn new(jobs: usize, stop: &'a AtomicBool) -> Resources<'a> {
        Resources { jobs, memory: Budget::default(), stop }
    }

    /// True once the user has stopped the simulations.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the resources of one of several threads: its drive waits for memory that other drives have.
    #[must_use]
    pub fn of_thread(&self) -> Resources<'a> {
        Resources { memory: self.memory.waiting(), ..self.clone() }
    }
}
