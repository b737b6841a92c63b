//! A drive and a workload that it never ran, together: what the one comes to on the other.
//!
//! Models know neither profiles nor traces, and the simulator knows no models; here they meet.

pub mod drawn;
pub mod fit;
pub mod predict;
pub mod simulate;
pub mod sweep;
pub mod what_if;
