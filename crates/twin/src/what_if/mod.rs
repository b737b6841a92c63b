//! What would come of a workload on a drive with something changed, beside what comes of it as it is.
//!
//! A [`Question`] is the base, and variants of it: fields that are set otherwise. Its simulations are the
//! [`Trial`](crate::sweep::Trial)s of a sweep, with the same seeds for every variant (common random
//! numbers), so that a difference is known far better than what it is of. [`Answer`] puts their rows
//! together, variant by variant, in whatever order they come.

mod answer;
mod compare;
mod question;

pub use answer::Answer;
pub use question::{Asking, BASE, MOST_REPEATS, MOST_VARIANTS, Question, WhatIfError, changes};

#[cfg(test)]
mod tests;
