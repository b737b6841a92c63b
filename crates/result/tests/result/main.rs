//! Results on disk: records, and damage.

mod damaged;
mod records;
