//! An attached drive as an NVM subsystem over TCP. The host of the tests shares no code with the
//! target.

mod admin;
mod commands;
mod digest;
mod fabrics;
mod faults;
#[path = "../../src/fixed.rs"]
mod fixed;
mod initiator;
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
