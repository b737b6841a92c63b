//! Compares a workload on a drive with variants of the workload, the drive or both.
//!
//! A [`Question`] holds the baseline and its variants, which set fields to other values. Its
//! simulations are the [`Trial`](crate::sweep::Trial)s of a sweep, with the same seeds for every
//! variant (common random numbers). Differences are thus more precise than the values themselves.
//! [`Answer`] collects the rows by variant, in any order of arrival.

mod answer;
mod compare;
mod question;

pub use answer::Answer;
pub use question::{BASE, MAX_REPEATS, Question, VariantRequest, WhatIfError, changes};

#[cfg(test)]
mod tests;
