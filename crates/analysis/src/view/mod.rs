//! Views of records for a screen: never more than it can show, whatever the size of the run.

mod colours;
mod histogram;
mod ios;

pub use colours::{ColourRow, Colours};
pub use histogram::{LatencyBin, LatencyHistogram};
pub use ios::Ios;
