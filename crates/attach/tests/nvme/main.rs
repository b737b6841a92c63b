//! An attached drive as an NVM subsystem over TCP. The host of the tests shares no code with the
//! target.

mod admin;
mod commands;
mod digest;
mod error_log;
mod fabrics;
mod faults;
#[path = "../../src/fixed.rs"]
mod fixed;
mod initiator;
mod late_data;
mod namespaces;
mod placed;
mod placement;
mod protection;
mod served;
mod session;
mod talk;
mod transport;
mod zoned;
mod zones;
