use flashscope_document::sweep::Row;

use super::search::search;
use super::{Batch, Sampling, Space};

/// Explores a space. Returns the rows of all trials, in the order of points and repeats, or `None`
/// if `run` was stopped.
pub fn explore(space: &Space, run: &mut Batch<'_>) -> Option<Vec<Row>> {
    match space.sampling {
        Sampling::Search => search(space, run),
        _ => run(&space.trials()),
    }
}
