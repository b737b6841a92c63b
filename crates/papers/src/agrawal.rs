//! N. Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX ATC 2008.

mod table_3;

pub use table_3::TABLE_3;
