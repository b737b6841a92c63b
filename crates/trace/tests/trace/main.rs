//! Traces of all formats: reading, statistics, changes and damage.

mod changes;
mod damaged;
mod formats;
mod manifest;
mod statistics;
